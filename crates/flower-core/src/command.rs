//! The commands that flower accepts. The doors translate requests into commands; the rules answer with events or a
//! refusal.

use crate::boot_time::BootTime;
use crate::brief::{BriefKind, Status};
use crate::event::{Image, LeaseBreached, WorktreeDiverged, WorktreeRemoved};
use crate::ids::{AgentId, BriefId, DispatchId, Fence, LandingId, LeaseId, PermissionId, ScratchpadId, WorktreeId};
use crate::link::LinkKind;
use crate::{agent, brief, dispatch, landing, lease, main_branch, permission, review, token, worktree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    CreateBrief(brief::Request),
    ProposePlan {
        brief: BriefId,
        markdown: String,
    },
    /// Accepts the proposed plan, or the result in review. With a version, only if that version is the newest.
    Accept {
        brief: BriefId,
        version: Option<u64>,
    },
    Refine {
        brief: BriefId,
        markdown: String,
        base: Option<u64>,
        why: Option<String>,
    },
    SetStatus {
        brief: BriefId,
        status: Status,
        why: Option<String>,
    },
    EditBrief {
        brief: BriefId,
        changes: BriefChanges,
    },
    AddNeed {
        brief: BriefId,
        needs: BriefId,
    },
    DropNeed {
        brief: BriefId,
        needs: BriefId,
    },
    AddNote {
        brief: BriefId,
        text: String,
        comment: bool,
        images: Vec<Image>,
    },
    Ask {
        brief: BriefId,
        text: String,
        /// The work cannot go on without the answer.
        help: bool,
    },
    Answer {
        brief: BriefId,
        question: u64,
        text: String,
    },
    AddLink {
        brief: BriefId,
        kind: LinkKind,
        target: String,
        label: Option<String>,
    },
    CreateScratchpad {
        title: String,
        brief: Option<BriefId>,
        text: Option<String>,
    },
    WriteScratchpad {
        number: ScratchpadId,
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
    /// The repository of a project lies elsewhere from now on.
    MoveProject {
        name: String,
        root: String,
    },
    RenameProject {
        name: String,
        to: String,
    },
    IssueToken(token::Request),
    RevokeToken {
        id: String,
    },
    RequestWorktree(worktree::Request),
    /// The worktree was created or restored.
    FinishWorktree {
        number: WorktreeId,
        path: String,
    },
    FailWorktree {
        number: WorktreeId,
        why: String,
    },
    /// The branch now has the commits that were made inside the worktree, and the operator's commit is kept under
    /// another ref.
    DivergeWorktree(WorktreeDiverged),
    RemoveWorktree {
        number: WorktreeId,
    },
    /// The worktree was deleted from the disk; the archive says what was kept.
    WorktreeGone(WorktreeRemoved),
    RestoreWorktree {
        number: WorktreeId,
    },
    DropArchive {
        number: WorktreeId,
    },
    ApproveCommands {
        project: String,
        sha256: String,
    },
    /// MAIN's tip was merged into a lane, or could not be merged.
    NoteSync {
        number: WorktreeId,
        onto: String,
        why_not: Option<String>,
    },
    QueueLanding(landing::Request),
    Landing {
        number: LandingId,
        step: landing::Step,
    },
    Main {
        project: String,
        step: main_branch::Step,
    },
    RequestDispatch(dispatch::Request),
    /// Dispatches the brief, if it requests automatic dispatch and is ready.
    AutoDispatch {
        brief: BriefId,
    },
    Dispatch {
        number: DispatchId,
        step: dispatch::Step,
    },
    /// A heartbeat of the holder of a dispatch. It is stored outside the log.
    Heartbeat {
        dispatch: DispatchId,
        fence: Fence,
        moment: BootTime,
    },
    TakeLease(lease::Request),
    ReleaseLease {
        number: LeaseId,
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
        number: AgentId,
        step: agent::Step,
    },
    AskPermission(permission::Request),
    DecidePermission {
        number: PermissionId,
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
    pub epic: Option<Option<BriefId>>,
    pub auto_dispatch: Option<bool>,
    pub design_loop: Option<bool>,
    pub add_projects: Vec<String>,
    pub drop_projects: Vec<String>,
}

impl Command {
    /// The existing brief that the command acts on, if there is one.
    pub fn brief(&self) -> Option<BriefId> {
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
            | MoveProject { .. }
            | RenameProject { .. }
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
