//! Dispatch: how a brief becomes work. A request waits until an agent claims it; a claim has one holder, a lease, and a
//! fence number that only grows; a hand-back ends the claim.

mod claim;
mod hand_back;
mod request;

pub use request::Request;
pub(crate) use request::{auto, request};

use crate::aggregate::{Aggregate, Context, subject};
use crate::boot_time::{BootTime, Heartbeat};
use crate::event::{
    DispatchCancelled, DispatchEvent, DispatchExecuting, DispatchExpired, DispatchLanded, Draft, LeaseReleased, Stream,
    TokenIssued,
};
use crate::ids::{BriefId, DispatchId, Fence, LandingId};
use crate::link::LinkKind;
use crate::readiness::DispatchKind;
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use crate::{Event, brief};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

words! {
    DispatchState ("dispatch state") {
        Requested = "requested",
        Claimed = "claimed",
        Executing = "executing",
        HandedBack = "handed_back",
        Landed = "landed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

pub use DispatchState as State;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    pub number: DispatchId,
    pub brief: BriefId,
    pub kind: DispatchKind,
    pub state: State,
    /// The version of the spec at the time of the request.
    pub spec_version: u64,
    /// The project in which the work happens; `None` for a brief without a project.
    pub project: Option<String>,
    pub worktree: Option<String>,
    /// The agent profile that the dispatch is for; `None` if any agent may claim it.
    pub profile: Option<String>,
    /// How many agents share the worktree.
    pub agents: u64,
    /// The landing that a `fix` repairs, and the reason for it.
    pub of: Option<LandingId>,
    pub evidence: Option<String>,
    /// The newest fence that was given out; 0 before the first claim.
    pub fence: Fence,
    pub claim: Option<Claim>,
    /// Ids of the tokens that may each claim the dispatch once.
    pub packets: Vec<String>,
    /// The claims that were made, oldest first.
    pub runs: Vec<Run>,
    /// The commit at which the work started.
    pub base: Option<String>,
    pub result: Option<Outcome>,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
    pub by: String,
    pub requested_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    pub holder: String,
    pub fence: Fence,
    pub seconds: u64,
    pub beat: Heartbeat,
    pub at: String,
}

/// A claim that was made, and the token that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub fence: Fence,
    pub holder: String,
    /// Absent if the operator made the claim.
    pub token: Option<String>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub summary: String,
    pub not_done: Option<String>,
    /// The newest commit of the branch, if the branch has commits of its own.
    pub tip: Option<String>,
    pub commits: Vec<String>,
}

/// Maximum claims of a dispatch that are stored, and maximum packets that can be unused at once.
const MAX_RUNS: usize = 32;

impl Aggregate for Dispatch {
    subject!(Dispatch "dispatch", DispatchEvent, DispatchId);

    fn create(change: DispatchEvent<'_>, context: &Context<'_>) -> Option<Dispatch> {
        let DispatchEvent::DispatchRequested(new) = change else { return None };
        Some(Dispatch {
            number: new.number,
            brief: new.brief,
            kind: new.kind,
            state: State::Requested,
            spec_version: new.spec_version,
            project: new.project.clone(),
            worktree: new.worktree.clone(),
            profile: new.profile.clone(),
            agents: new.agents,
            of: new.of,
            evidence: new.evidence.clone(),
            fence: Fence::default(),
            claim: None,
            packets: Vec::new(),
            runs: Vec::new(),
            base: None,
            result: None,
            cancelled: None,
            by: context.by.to_owned(),
            requested_at: context.at.to_owned(),
            ended_at: None,
        })
    }

    fn evolve(&mut self, change: DispatchEvent<'_>, context: &Context<'_>) {
        let at = context.at;
        match change {
            // A late hand-back is stored without effect.
            DispatchEvent::DispatchRequested(_) | DispatchEvent::DispatchLate(_) => {}
            DispatchEvent::DispatchClaimed(claimed) => {
                self.state = State::Claimed;
                self.fence = claimed.fence;
                let (holder, fence) = (claimed.holder.clone(), claimed.fence);
                let beat = Heartbeat { boot: claimed.boot.clone(), at: claimed.boot_ms };
                self.claim =
                    Some(Claim { holder: holder.clone(), fence, seconds: claimed.seconds, beat, at: at.to_owned() });
                self.packets.retain(|packet| claimed.packet.as_ref() != Some(packet));
                keep_last(&mut self.runs, Run { fence, holder, token: claimed.token.clone() });
            }
            DispatchEvent::DispatchExecuting(executing) => {
                self.state = State::Executing;
                self.base.clone_from(&executing.base);
            }
            DispatchEvent::DispatchExpired(_) => {
                self.state = State::Requested;
                self.claim = None;
            }
            DispatchEvent::DispatchHandedBack(back) => {
                self.end(State::HandedBack, at);
                self.result = Some(Outcome {
                    summary: back.summary.clone(),
                    not_done: back.not_done.clone(),
                    tip: back.tip.clone(),
                    commits: back.commits.clone(),
                });
            }
            DispatchEvent::DispatchFailed(failed) => {
                self.end(State::Failed, at);
                let (summary, not_done) = (failed.summary.clone(), failed.not_done.clone());
                self.result = Some(Outcome { summary, not_done, tip: None, commits: Vec::new() });
            }
            DispatchEvent::DispatchCancelled(cancelled) => {
                self.cancelled.clone_from(&cancelled.why);
                self.end(State::Cancelled, at);
            }
            DispatchEvent::DispatchLanded(_) => self.end(State::Landed, at),
        }
    }
}

impl Dispatch {
    /// Stores the token of a packet, which may claim the dispatch once.
    pub fn add_packet(&mut self, token: &TokenIssued) {
        if !token.member {
            keep_last(&mut self.packets, token.id.clone());
        }
    }

    fn end(&mut self, state: State, at: &str) {
        self.state = state;
        self.claim = None;
        self.ended_at = Some(at.to_owned());
    }

    /// Whether the dispatch can still be worked on.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Requested | State::Claimed | State::Executing)
    }

    /// Whether no further event can change the dispatch.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Landed | State::Failed | State::Cancelled)
    }

    /// Whether the newest claim was made with this token.
    pub fn is_run_by(&self, token: &str) -> bool {
        self.runs.last().is_some_and(|run| run.token.as_deref() == Some(token))
    }

    /// Whether any stored claim was made with this token.
    pub fn was_run_by(&self, token: &str) -> bool {
        self.runs.iter().any(|run| run.token.as_deref() == Some(token))
    }
}

fn keep_last<T>(list: &mut Vec<T>, new: T) {
    if list.len() >= MAX_RUNS {
        list.remove(0);
    }
    list.push(new);
}

/// A change of a dispatch's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Claim {
        /// The name of the holder; absent: the caller.
        holder: Option<String>,
        /// The token that allows the claim, if it is not the caller's own.
        packet: Option<String>,
        seconds: u64,
        moment: BootTime,
    },
    /// The worktree is ready at this commit, and the work starts.
    Execute {
        fence: Fence,
        base: Option<String>,
    },
    HandBack(HandBack),
    /// The holder has sent no heartbeat for the length of its lease.
    Expire {
        moment: BootTime,
    },
    Cancel {
        why: Option<String>,
    },
    /// The brief has landed in MAIN.
    Land,
    /// Commits that were found on the branch, oldest first, with their titles.
    Commits(Vec<(String, String)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandBack {
    pub fence: Fence,
    pub summary: String,
    pub not_done: Option<String>,
    pub failed: bool,
    pub tip: Option<String>,
    pub commits: Vec<String>,
}

/// Maximum commits that are linked to one brief; the branch has the others.
pub const MAX_COMMITS: usize = 50;
const WHY_CHARS: usize = 500;

pub(crate) fn step(
    world: &World,
    caller: &crate::Caller,
    number: DispatchId,
    step: &Step,
) -> Result<Vec<Draft>, Refusal> {
    let dispatch = world.dispatch(number)?;
    let wanted = |wanted: &'static str| Refusal::DispatchState { number, state: dispatch.state, wanted };
    match step {
        Step::Claim { holder, packet, seconds, moment } => {
            let claim = claim::Wish { holder: holder.as_deref(), packet: packet.as_deref(), seconds: *seconds, moment };
            claim::decide(world, caller, dispatch, &claim)
        }
        Step::Execute { fence, base } => match dispatch.state {
            State::Claimed if dispatch.fence == *fence => {
                Ok(vec![draft(dispatch, DispatchExecuting { number, base: base.clone() })])
            }
            State::Executing if dispatch.fence == *fence => Ok(Vec::new()),
            _ => Err(wanted("claimed")),
        },
        Step::HandBack(back) => hand_back::decide(world, dispatch, caller, back),
        Step::Expire { moment } => match &dispatch.claim {
            Some(claim) if world.is_over(dispatch, claim, moment) => Ok(expire(world, dispatch, claim, None)),
            // A heartbeat came in time, or the claim has already ended.
            _ => Ok(Vec::new()),
        },
        Step::Cancel { why } => {
            if !dispatch.is_open() {
                return Err(wanted("open"));
            }
            let why = why.as_deref().map(|why| text::line("reason", why, WHY_CHARS)).transpose()?;
            let mut drafts = vec![draft(dispatch, DispatchCancelled { number, why })];
            if let Some(claim) = &dispatch.claim {
                drafts.extend(release_all(world, dispatch, &claim.holder, "the dispatch was cancelled"));
            }
            Ok(drafts)
        }
        Step::Land => match dispatch.state {
            State::HandedBack => Ok(vec![draft(dispatch, DispatchLanded { number })]),
            _ => Err(wanted("handed back")),
        },
        Step::Commits(commits) => Ok(links(world, dispatch, commits)),
    }
}

/// Checks that a heartbeat belongs to the current claim. A heartbeat is not part of the history, so it creates no
/// event.
pub(crate) fn require_current_claim(world: &World, number: DispatchId, fence: Fence) -> Result<(), Refusal> {
    let dispatch = world.dispatch(number)?;
    match &dispatch.claim {
        Some(claim) if claim.fence == fence => Ok(()),
        _ if fence == dispatch.fence && fence > Fence::default() => {
            Err(Refusal::DispatchState { number, state: dispatch.state, wanted: "claimed" })
        }
        _ => Err(stale(dispatch, fence)),
    }
}

/// Ends the claim; the dispatch then waits for the next claim.
pub(crate) fn expire(world: &World, dispatch: &Dispatch, claim: &Claim, why: Option<String>) -> Vec<Draft> {
    let (number, fence, holder) = (dispatch.number, claim.fence, claim.holder.clone());
    let said = why.clone().unwrap_or_else(|| "its holder was not heard of any more".to_owned());
    let mut drafts = vec![draft(dispatch, DispatchExpired { number, fence, holder, why })];
    drafts.extend(release(world, dispatch, &claim.holder, &said));
    drafts
}

/// Releases the path leases of the holder of a run and of its members.
pub(crate) fn release_all(world: &World, dispatch: &Dispatch, holder: &str, why: &str) -> Vec<Draft> {
    let mut holders: BTreeSet<&str> = [holder].into();
    let beside = world.leases.values().filter(|lease| lease.brief == Some(dispatch.brief));
    holders.extend(beside.map(|lease| lease.holder.as_str()));
    holders.into_iter().flat_map(|holder| release(world, dispatch, holder, why)).collect()
}

/// Releases the path leases that one agent holds in the worktree of the dispatch.
pub(crate) fn release(world: &World, dispatch: &Dispatch, holder: &str, why: &str) -> Vec<Draft> {
    let of_run = |lease: &&crate::lease::Lease| {
        lease.holder == holder
            && Some(&lease.worktree) == dispatch.worktree.as_ref()
            && Some(&lease.project) == dispatch.project.as_ref()
    };
    let leases = world.leases.values().filter(|lease| lease.live).filter(of_run);
    leases.map(|lease| lease.draft(LeaseReleased { number: lease.number, why: why.to_owned() })).collect()
}

fn links(world: &World, dispatch: &Dispatch, commits: &[(String, String)]) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let linked = world.briefs.get(&dispatch.brief).map_or(0, |brief| usize::try_from(brief.commits).unwrap_or(0));
    for (target, title) in commits.iter().take(MAX_COMMITS.saturating_sub(linked)) {
        drafts.extend(brief::link::once(world, dispatch.brief, LinkKind::Commit, target, &text::cut(title, 200)));
    }
    drafts
}

pub(crate) fn draft(dispatch: &Dispatch, event: impl Into<Event>) -> Draft {
    Draft { stream: Stream::Dispatch(dispatch.number), brief: Some(dispatch.brief), event: event.into() }
}

fn stale(dispatch: &Dispatch, given: Fence) -> Refusal {
    let holder = dispatch.claim.as_ref().map(|claim| claim.holder.clone());
    Refusal::StaleFence { number: dispatch.number, given, newest: dispatch.fence, holder }
}

impl World {
    /// The time of the last heartbeat of a claim's holder.
    pub fn last_heartbeat(&self, dispatch: &Dispatch, claim: &Claim) -> Heartbeat {
        match self.beats.get(&dispatch.number) {
            Some((fence, beat)) if *fence == claim.fence => beat.clone(),
            _ => claim.beat.clone(),
        }
    }

    pub(crate) fn is_over(&self, dispatch: &Dispatch, claim: &Claim, moment: &BootTime) -> bool {
        moment.is_over(&self.last_heartbeat(dispatch, claim), claim.seconds)
    }
}
