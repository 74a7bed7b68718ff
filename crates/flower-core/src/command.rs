//! The commands that flower accepts. The doors translate requests into commands; the rules answer with events or a
//! refusal.

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
        /// A spec that is given at creation is a proposed plan, which waits for acceptance.
        spec: Option<String>,
        /// The first one is the primary project.
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
    /// Accepts the proposed plan, or the result in review. With a version, only if that version is the newest.
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
    /// The worktree was created or restored.
    FinishWorktree {
        number: u64,
        path: String,
    },
    FailWorktree {
        number: u64,
        why: String,
    },
    /// The branch now has the commits that were made inside the worktree, and the operator's commit is kept under
    /// another ref.
    DivergeWorktree(WorktreeDiverged),
    RemoveWorktree {
        number: u64,
    },
    /// The worktree was deleted from the disk; the archive says what was kept.
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
    /// MAIN's tip was merged into a lane, or could not be merged.
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
    /// Dispatches the brief, if it requests automatic dispatch and is ready.
    AutoDispatch {
        brief: u64,
    },
    Dispatch {
        number: u64,
        step: dispatch::Step,
    },
    /// A heartbeat of the holder of a dispatch. It is stored outside the log.
    Heartbeat {
        dispatch: u64,
        fence: u64,
        moment: BootTime,
    },
    TakeLease(lease::Request),
    ReleaseLease {
        number: u64,
        why: String,
        /// Releases the lease only if it has run out at this time.
        over: Option<BootTime>,
    },
    BreachLease(LeaseBreached),
    SendMessage {
        to: String,
        text: String,
    },
    /// Adds a comment on a line of a worktree's changes.
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
    /// Records that a caller tried an action that its token does not allow.
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

/// The changes of `brief edit`; absent means unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BriefChanges {
    pub title: Option<String>,
    pub kind: Option<BriefKind>,
    /// `Some(None)` removes the brief from its epic.
    pub epic: Option<Option<u64>>,
    pub auto_dispatch: Option<bool>,
    pub design_loop: Option<bool>,
    pub add_projects: Vec<String>,
    pub drop_projects: Vec<String>,
}

impl Command {
    /// The existing brief that the command acts on, if there is one.
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
