//! MAIN according to the log: where its branch should be, whether the queue is frozen, and which changes from outside
//! flower were found.

use crate::Event;
use crate::aggregate::{Aggregate, Context, subject};
use crate::event::{
    Draft, Landed, MainAlarm, MainEvent, MainPutBack, MainRecorded, MainSettled, PushFailed, Pushed, QueueFrozen,
    QueueThawed, Stream,
};
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use serde::{Deserialize, Serialize};

words! {
    /// What is wrong with MAIN.
    Alarm ("alarm") {
        /// The branch is not at the commit where flower left it.
        Moved = "moved",
        /// Files in the checkout were edited.
        Dirty = "dirty",
        /// The checkout is on another branch, or on none.
        Detached = "detached",
        /// The branch does not exist any more.
        Gone = "gone",
    }
}

words! {
    /// How an alarm ended.
    Settlement ("settlement") {
        Adopted = "adopted",
        Restored = "restored",
        Rescued = "rescued",
        /// The change was undone by hand.
        Undone = "undone",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Main {
    pub branch: String,
    pub tip: String,
    /// The commit of the branch when flower started to manage it.
    pub began: String,
    pub frozen: Option<String>,
    /// Frozen by `flower halt`, so that one thaw lifts the halt of all projects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub halted: bool,
    pub alarm: Option<Raised>,
    pub push: Option<Push>,
    /// Files that git had written by hand and flower has put back, until the next landing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_back: Option<PutBack>,
    /// The time of the last landing, freeze, alarm or settlement.
    pub since: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raised {
    pub what: Alarm,
    pub found: Option<String>,
    pub text: String,
    pub files: Vec<String>,
    pub at: String,
}

/// A move of MAIN's branch by hand that was refused, and whose files flower has put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutBack {
    /// The commit that git tried to move to.
    pub commit: String,
    /// Whether a remote has it.
    pub upstream: bool,
    pub at: String,
}

/// The last attempt to push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    pub remote: String,
    pub commit: String,
    /// The reason, if the attempt failed.
    pub failure: Option<String>,
    pub at: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Records where the branch should be from now on.
    Record {
        branch: String,
        tip: String,
    },
    Freeze {
        why: Option<String>,
    },
    /// Freezes the queue, unless it is frozen already.
    Halt {
        why: String,
    },
    Thaw,
    Alarm {
        what: Alarm,
        found: Option<String>,
        text: String,
        files: Vec<String>,
    },
    Settle {
        how: Settlement,
        tip: String,
        worktree: Option<String>,
    },
    /// The checkout, which git had moved to a commit by hand, is at the recorded tip again.
    PutBack {
        commit: String,
        upstream: bool,
        files: Vec<String>,
    },
    Pushed {
        remote: String,
        commit: String,
    },
    PushFailed {
        remote: String,
        commit: String,
        why: String,
    },
}

const WHY_CHARS: usize = 500;
/// Maximum files that an alarm lists; enough to recognize the change.
pub const MAX_FILES: usize = 50;

pub(crate) fn step(world: &World, project: &str, step: &Step) -> Result<Vec<Draft>, Refusal> {
    world.require_project(project)?;
    let name = || project.to_owned();
    let main = world.mains.get(project);
    let event: Event = match step {
        Step::Record { branch, tip } => {
            if main.is_some_and(|main| main.branch == *branch && main.tip == *tip) {
                return Ok(Vec::new());
            }
            MainRecorded { project: name(), branch: branch.clone(), tip: tip.clone() }.into()
        }
        Step::Freeze { why } => {
            let why = why.as_deref().map(|why| text::line("reason", why, WHY_CHARS)).transpose()?;
            let frozen = require(world, project)?.frozen.as_ref();
            // Without a reason, the reason of an earlier freeze stays.
            let why = why.or_else(|| frozen.cloned()).unwrap_or_else(|| "frozen by hand".to_owned());
            if frozen == Some(&why) {
                return Ok(Vec::new());
            }
            QueueFrozen { project: name(), why, halt: false }.into()
        }
        Step::Halt { why } => {
            let why = text::line("reason", why, WHY_CHARS)?;
            if require(world, project)?.frozen.is_some() {
                return Ok(Vec::new());
            }
            QueueFrozen { project: name(), why, halt: true }.into()
        }
        Step::Thaw => {
            if require(world, project)?.frozen.is_none() {
                return Ok(Vec::new());
            }
            QueueThawed { project: name() }.into()
        }
        Step::Alarm { what, found, text, files } => {
            let known = require(world, project)?.alarm.as_ref();
            // An alarm is recorded again only if it becomes more serious than edits; further edits add no alarm.
            if known.is_some_and(|known| (known.what, &known.found) == (*what, found)) {
                return Ok(Vec::new());
            }
            let files = files.iter().take(MAX_FILES).cloned().collect();
            let text = text::cut(text, WHY_CHARS);
            MainAlarm { project: name(), what: *what, found: found.clone(), text, files }.into()
        }
        Step::Settle { how, tip, worktree } => {
            let known = require(world, project)?;
            if known.alarm.is_none() && known.tip == *tip {
                return Ok(Vec::new());
            }
            MainSettled { project: name(), how: *how, tip: tip.clone(), worktree: worktree.clone() }.into()
        }
        Step::PutBack { commit, upstream, files } => {
            require(world, project)?;
            let files = files.iter().take(MAX_FILES).cloned().collect();
            MainPutBack { project: name(), commit: commit.clone(), upstream: *upstream, files }.into()
        }
        Step::Pushed { remote, commit } => {
            Pushed { project: name(), remote: remote.clone(), commit: commit.clone() }.into()
        }
        Step::PushFailed { remote, commit, why } => {
            let why = text::cut(why, WHY_CHARS);
            PushFailed { project: name(), remote: remote.clone(), commit: commit.clone(), why }.into()
        }
    };
    Ok(vec![Draft { stream: Stream::Project(project.to_owned()), brief: None, event }])
}

fn require<'a>(world: &'a World, project: &str) -> Result<&'a Main, Refusal> {
    world.mains.get(project).ok_or_else(|| Refusal::NoMain { project: project.to_owned() })
}

impl Main {
    /// MAIN before its first record in the log.
    pub fn unrecorded(branch: String, tip: String, since: String) -> Main {
        let began = tip.clone();
        Main { branch, began, tip, frozen: None, halted: false, alarm: None, push: None, put_back: None, since }
    }

    /// A landing has moved the branch.
    pub fn land(&mut self, landed: &Landed, at: &str) {
        self.tip.clone_from(&landed.merge_commit);
        self.put_back = None;
        at.clone_into(&mut self.since);
    }
}

impl Aggregate for Main {
    subject!(Main "MAIN", MainEvent, String);

    fn create(change: MainEvent<'_>, context: &Context<'_>) -> Option<Main> {
        let MainEvent::MainRecorded(new) = change else { return None };
        Some(Main::unrecorded(new.branch.clone(), new.tip.clone(), context.at.to_owned()))
    }

    fn evolve(&mut self, change: MainEvent<'_>, context: &Context<'_>) {
        let at = context.at;
        let push = |remote: &str, commit: &str, failure: Option<&str>| {
            let failure = failure.map(str::to_owned);
            Some(Push { remote: remote.to_owned(), commit: commit.to_owned(), failure, at: at.to_owned() })
        };
        match change {
            MainEvent::MainRecorded(e) => {
                self.branch.clone_from(&e.branch);
                self.tip.clone_from(&e.tip);
            }
            MainEvent::QueueFrozen(e) => {
                self.frozen = Some(e.why.clone());
                self.halted = e.halt;
            }
            MainEvent::QueueThawed(_) => {
                self.frozen = None;
                self.halted = false;
            }
            MainEvent::MainAlarm(e) => {
                let (found, text, files) = (e.found.clone(), e.text.clone(), e.files.clone());
                self.alarm = Some(Raised { what: e.what, found, text, files, at: at.to_owned() });
            }
            MainEvent::MainSettled(e) => {
                self.alarm = None;
                self.tip.clone_from(&e.tip);
            }
            MainEvent::MainPutBack(e) => {
                // A branch that moved stays an alarm until the operator settles it.
                if self.alarm.as_ref().is_some_and(|alarm| alarm.what == Alarm::Dirty) {
                    self.alarm = None;
                }
                let (commit, upstream) = (e.commit.clone(), e.upstream);
                self.put_back = Some(PutBack { commit, upstream, at: at.to_owned() });
            }
            MainEvent::Pushed(e) => {
                self.push = push(&e.remote, &e.commit, None);
                return;
            }
            MainEvent::PushFailed(e) => {
                self.push = push(&e.remote, &e.commit, Some(&e.why));
                return;
            }
        }
        at.clone_into(&mut self.since);
    }
}
