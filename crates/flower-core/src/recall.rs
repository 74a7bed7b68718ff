//! Recall: the text that an agent reads as its brief, limited to a budget of tokens. The command line and the agents'
//! own tool return the same bytes.
//!
//! Texts by other authors are quoted with their origin, so that they cannot hide content or look like flower's own
//! words. Content that does not fit is left out, the least useful first, and the text ends with a list of what was left
//! out and how to read it.

mod calls;
mod cuts;
mod fit;
mod head;
mod next;
mod page;
mod quote;

use crate::actor::Actor;
use crate::brief::{BriefKind, Status};
use crate::ids::{BriefId, DispatchId, Fence};
use crate::link::LinkKind;
use crate::readiness::DispatchKind;
use crate::refusal::Refusal;

pub use crate::dispatch::DispatchState as RunState;
pub use calls::Calls;
pub use next::{Step, next};
pub use quote::{block as quoted, inline};

/// Below this limit the essential parts are not certain to fit.
pub const MIN_TOKENS: u64 = 500;
/// A longer text does not serve as a brief.
pub const MAX_TOKENS: u64 = 50_000;
pub const DEFAULT_TOKENS: u64 = 4_000;

/// Everything about a brief that can matter to the agent that works on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recall {
    pub brief: About,
    pub run: Option<Run>,
    pub place: Option<Place>,
    pub main: Option<MainNow>,
    pub spec: Option<Spec>,
    /// What a landing runs on the merge with MAIN.
    pub checks: Vec<Check>,
    /// Newest first.
    pub changes: Vec<Change>,
    /// Newest first.
    pub questions: Vec<Question>,
    pub needs: Vec<Neighbour>,
    pub dependents: Vec<Neighbour>,
    /// Agents at work on the brief besides the holder.
    pub participants: Vec<Participant>,
    pub leases: Vec<Held>,
    /// Newest first.
    pub trace: Vec<Happening>,
    pub links: Vec<Linked>,
    /// Messages that the holder has not read.
    pub unread: u64,
    /// How the reader calls flower.
    pub calls: Calls,
}

#[derive(Clone, Debug, PartialEq)]
pub struct About {
    pub number: BriefId,
    pub title: String,
    pub kind: BriefKind,
    pub status: Status,
    pub projects: Vec<String>,
    /// Number and title.
    pub epic: Option<(BriefId, String)>,
}

/// The author of a text, and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub by: Actor,
    pub at: String,
}

/// The dispatch that the work is done under.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub dispatch: DispatchId,
    pub kind: DispatchKind,
    pub state: RunState,
    pub fence: Fence,
    pub holder: Option<String>,
    /// The version of the spec at the time of the dispatch; 0 if there was none.
    pub spec_version: u64,
    /// The reason for a fix.
    pub evidence: Option<Written>,
    /// How many agents were asked for.
    pub agents: u64,
}

/// A text and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub text: String,
    pub origin: Origin,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub worktree: String,
    pub branch: String,
    pub path: String,
    pub sealed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MainNow {
    pub branch: String,
    pub tip: String,
    /// `stable`, or another state of the brief's spec.
    pub state: String,
    pub reason: Option<String>,
    /// What landed since the reader's branch left MAIN.
    pub moved: Option<Moved>,
}

/// MAIN's commits that a branch does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    pub commits: u64,
    /// The paths that both MAIN and the branch changed, or that its agent has reserved.
    pub shared: Vec<String>,
}

/// A check of MAIN's `flower.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub command: String,
    /// It runs only if one of these changes; empty if it always runs.
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// The version that is shown: the accepted one where the work follows it, otherwise the newest.
    pub version: u64,
    pub newest: u64,
    pub accepted: Option<u64>,
    pub markdown: String,
    pub origin: Origin,
}

/// The change from one version of the spec to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub from: u64,
    pub to: u64,
    pub why: Option<String>,
    pub origin: Origin,
    /// A unified diff.
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    pub number: u64,
    pub asked: Written,
    pub answer: Option<Written>,
}

/// A brief that this one needs, or that needs this one.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    pub number: BriefId,
    pub title: String,
    pub status: Status,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Participant {
    pub name: String,
    pub worktree: Option<String>,
}

/// A lease on paths.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub holder: String,
    pub worktree: String,
    pub patterns: Vec<String>,
    pub minutes_left: u64,
}

/// An event of the trace, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Happening {
    pub seq: u64,
    pub kind: String,
    pub origin: Origin,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    pub kind: LinkKind,
    pub target: String,
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Recalled {
    /// Markdown.
    pub text: String,
    /// Never more than the budget.
    pub tokens: u64,
    pub cut: Vec<Cut>,
}

/// A part that was left out, and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    pub what: String,
    pub how: String,
}

impl Recall {
    /// A recall that contains only the brief itself.
    pub fn of(brief: About) -> Recall {
        Recall {
            brief,
            run: None,
            place: None,
            main: None,
            spec: None,
            checks: Vec::new(),
            changes: Vec::new(),
            questions: Vec::new(),
            needs: Vec::new(),
            dependents: Vec::new(),
            participants: Vec::new(),
            leases: Vec::new(),
            trace: Vec::new(),
            links: Vec::new(),
            unread: 0,
            calls: Calls::Tools,
        }
    }

    /// The run's version of the spec and the newest version, if they differ.
    pub fn moved(&self) -> Option<(u64, u64)> {
        let (run, spec) = (self.run.as_ref()?, self.spec.as_ref()?);
        (spec.newest > run.spec_version).then_some((run.spec_version, spec.newest))
    }

    /// Whether no other agent works, or will work, in the same worktree or on the brief.
    pub fn is_alone(&self) -> bool {
        let holder = self.run.as_ref().and_then(|run| run.holder.as_ref());
        let single = self.run.as_ref().is_none_or(|run| run.agents <= 1);
        single && self.participants.is_empty() && self.leases.iter().all(|lease| Some(&lease.holder) == holder)
    }
}

impl RunState {
    /// Whether an agent works under this state.
    pub fn is_live(self) -> bool {
        matches!(self, RunState::Claimed | RunState::Executing)
    }
}

/// Renders the text. The same input and budget give the same bytes.
pub fn render(input: &Recall, budget: u64) -> Result<Recalled, Refusal> {
    if !(MIN_TOKENS..=MAX_TOKENS).contains(&budget) {
        return Err(Refusal::BadBudget { given: budget, least: MIN_TOKENS, most: MAX_TOKENS });
    }
    let (text, cut) = fit::fit(input, budget as usize * TOKEN_BYTES);
    Ok(Recalled { tokens: tokens(&text), text, cut })
}

/// Average bytes per token, as a lower limit: no model's tokens are shorter on average, in prose or in code.
pub const TOKEN_BYTES: usize = 3;

/// A likely upper limit for the number of tokens of a text.
pub fn tokens(text: &str) -> u64 {
    text.len().div_ceil(TOKEN_BYTES) as u64
}
