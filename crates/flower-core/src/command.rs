//! What can be asked of flower. The doors translate into these; the rules answer with events or a refusal.

use crate::boot_time::BootTime;
use crate::brief::{BriefKind, Status};
use crate::event::{Image, LeaseBreached, WorktreeDiverged, WorktreeRemoved};
use crate::link::LinkKind;
use crate::{agent, dispatch, landing, lease, main_branch, permission, review, token, worktree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    CreateBrief {
        title: String,
        kind: BriefKind,
        /// A spec given at birth waits as a proposed plan.
        spec: Option<String>,
        /// The first is the primary one.
        projects: Vec<String>,
        epic: Option<u64>,
        needs: Vec<u64>,
        auto_dispatch: bool,
        design_loop: bool,
    },
    ProposePlan {
        brief: u64,
        markdown: String,
    },
    /// Accepts what waits: a plan, or the result in review. With a version, only if that is what waits.
    Accept {
        brief: u64,
        version: Option<u64>,
    },
    Refine {
        brief: u64,
        markdown: String,
        base: Option<u64>,
        why: Option<String>,
    },
    SetStatus {
        brief: u64,
        status: Status,
        why: Option<String>,
    },
    EditBrief {
        brief: u64,
        changes: BriefChanges,
    },
    AddNeed {
        brief: u64,
        needs: u64,
    },
    DropNeed {
        brief: u64,
        needs: u64,
    },
    AddNote {
        brief: u64,
        text: String,
        comment: bool,
        images: Vec<Image>,
    },
    Ask {
        brief: u64,
        text: String,
    },
    Answer {
        brief: u64,
        question: u64,
        text: String,
    },
    AddLink {
        brief: u64,
        kind: LinkKind,
        target: String,
        label: Option<String>,
    },
    CreateScratchpad {
        title: String,
        brief: Option<u64>,
        text: Option<String>,
    },
    WriteScratchpad {
        number: u64,
        text: String,
        append: bool,
        base: Option<u64>,
    },
    RegisterProject {
        name: String,
        root: String,
    },
    RemoveProject {
        name: String,
    },
    IssueToken(token::Request),
    RevokeToken {
        id: String,
    },
    RequestWorktree(worktree::Request),
    /// It is made, or brought back.
    FinishWorktree {
        number: u64,
        path: String,
    },
    FailWorktree {
        number: u64,
        why: String,
    },
    /// The branch is now what was committed inside, and the operator's commit is kept elsewhere.
    DivergeWorktree(WorktreeDiverged),
    RemoveWorktree {
        number: u64,
    },
    /// It is gone from the disk; this was kept.
    WorktreeGone(WorktreeRemoved),
    RestoreWorktree {
        number: u64,
    },
    DropArchive {
        number: u64,
    },
    ApproveCommands {
        project: String,
        sha256: String,
    },
    /// A lane was brought up to date with MAIN, or why not.
    NoteSync {
        number: u64,
        onto: String,
        why_not: Option<String>,
    },
    QueueLanding(landing::Request),
    Landing {
        number: u64,
        step: landing::Step,
    },
    Main {
        project: String,
        step: main_branch::Step,
    },
    RequestDispatch(dispatch::Request),
    /// Dispatches the brief if it wants to be, and can be.
    AutoDispatch {
        brief: u64,
    },
    Dispatch {
        number: u64,
        step: dispatch::Step,
    },
    /// A sign of life of whoever holds a dispatch: it is kept beside the log.
    Heartbeat {
        dispatch: u64,
        fence: u64,
        moment: BootTime,
    },
    TakeLease(lease::Request),
    ReleaseLease {
        number: u64,
        why: String,
        /// Only if its time is over by then.
        over: Option<BootTime>,
    },
    BreachLease(LeaseBreached),
    SendMessage {
        to: String,
        text: String,
    },
    /// Says something about a line of a worktree's changes.
    Remark(review::Request),
    StartAgent(agent::Request),
    Agent {
        number: u64,
        step: agent::Step,
    },
    AskPermission(permission::Request),
    DecidePermission {
        number: u64,
        allow: bool,
        why: Option<String>,
    },
    /// For the record: somebody tried what their token does not reach.
    NoteRefused {
        what: String,
        why: String,
    },
    AcceptLoss {
        proved_seq: u64,
        proved_hash: String,
        found_seq: u64,
        found_hash: String,
    },
}

/// What `brief edit` changes; absent means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefChanges {
    pub title: Option<String>,
    pub kind: Option<BriefKind>,
    /// `Some(None)` takes it out of its epic.
    pub epic: Option<Option<u64>>,
    pub auto_dispatch: Option<bool>,
    pub design_loop: Option<bool>,
    pub add_projects: Vec<String>,
    pub drop_projects: Vec<String>,
}

impl Command {
    /// The brief it acts on, where it is one that exists already.
    pub fn brief(&self) -> Option<u64> {
        use Command::*;
        match self {
            ProposePlan { brief, .. }
            | Accept { brief, .. }
            | Refine { brief, .. }
            | SetStatus { brief, .. }
            | EditBrief { brief, .. }
            | AddNeed { brief, .. }
            | DropNeed { brief, .. }
            | AddNote { brief, .. }
            | Ask { brief, .. }
            | Answer { brief, .. }
            | AddLink { brief, .. } => Some(*brief),
            CreateScratchpad { brief, .. } => *brief,
            RequestWorktree(request) => request.brief,
            QueueLanding(request) => request.briefs.first().copied(),
            RequestDispatch(request) => Some(request.brief),
            AutoDispatch { brief } => Some(*brief),
            CreateBrief { .. }
            | WriteScratchpad { .. }
            | RegisterProject { .. }
            | RemoveProject { .. }
            | IssueToken(_)
            | RevokeToken { .. }
            | FinishWorktree { .. }
            | FailWorktree { .. }
            | DivergeWorktree(_)
            | RemoveWorktree { .. }
            | WorktreeGone(_)
            | RestoreWorktree { .. }
            | DropArchive { .. }
            | ApproveCommands { .. }
            | NoteSync { .. }
            | Landing { .. }
            | Main { .. }
            | Dispatch { .. }
            | Heartbeat { .. }
            | TakeLease(_)
            | ReleaseLease { .. }
            | BreachLease(_)
            | SendMessage { .. }
            | Remark(_)
            | StartAgent(_)
            | Agent { .. }
            | AskPermission(_)
            | DecidePermission { .. }
            | NoteRefused { .. }
            | AcceptLoss { .. } => None,
        }
    }
}
