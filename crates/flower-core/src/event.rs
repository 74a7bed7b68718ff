//! The stored forms of events. Every stored form must stay readable for ever: kinds and fields are added, never
//! renamed, and every form ever written has a golden file.

use crate::actor::{ActorType, Role};
use crate::agent::{Author, Ending};
use crate::aggregate::Context;
use crate::brief::{BriefKind, Status};
use crate::description::Description;
use crate::ids::{
    AgentId, BriefId, DispatchId, Fence, LandingId, LeaseId, MessageId, PermissionId, ScratchpadId, WorktreeId,
};
use crate::landing::{Check, HoldReason, Priority, Source, Verdict};
use crate::link::LinkKind;
use crate::main_branch::{Alarm, Settlement};
use crate::message::Recipient;
use crate::readiness::DispatchKind;
use crate::review::Remark;
use crate::worktree::{Seal, WorktreeKind};
use serde::{Deserialize, Serialize};

/// The schema version that this program writes. Events of a newer version are kept and shown, but not interpreted.
pub const SCHEMA: u64 = 1;

/// Defines each event as a struct, [`Event`] over all of them, and for each noun an enum over the events that change it.
macro_rules! events {
    ($(
        $(#[$noun_doc:meta])*
        $noun:ident($change:ident $(by $key:ident: $id:ty)?) {
            $($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$meta:meta])* $field:ident: $type:ty),* $(,)? })*
        }
    )*) => {
        $($(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
            pub struct $name { $($(#[$meta])* pub $field: $type),* }

            impl From<$name> for Event {
                fn from(event: $name) -> Event { Event::$name(event) }
            }
        )*)*

        $(changes! { $(#[$noun_doc])* $change { $($name)* } $(by $key: $id)? })*

        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Event {
            $($($name($name),)*)*
            /// Written by another version of flower. It is kept and shown, and has no effect.
            Unknown { kind: String, body: String },
        }

        /// The noun that an event changes, with the event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Subject<'a> {
            $($noun($change<'a>),)*
            /// The event was written by another version of flower.
            Unknown,
        }

        /// Every kind that this program understands.
        pub const KINDS: &[&str] = &[$($($kind),*),*];

        impl Event {
            pub fn kind(&self) -> &str {
                match self {
                    $($(Event::$name(_) => $kind,)*)*
                    Event::Unknown { kind, .. } => kind,
                }
            }

            pub fn subject(&self) -> Subject<'_> {
                match self {
                    $($(Event::$name(event) => Subject::$noun($change::$name(event)),)*)*
                    Event::Unknown { .. } => Subject::Unknown,
                }
            }

            /// The body as compact JSON: strings, whole numbers, booleans, lists and objects, so that any JSON library
            /// writes the same text again.
            pub fn encode(&self) -> String {
                match self {
                    $($(Event::$name(event) => serde_json::to_string(event).expect("events are plain data"),)*)*
                    Event::Unknown { body, .. } => body.clone(),
                }
            }

            pub fn decode(kind: &str, schema: u64, body: &str) -> Result<Event, serde_json::Error> {
                match kind {
                    $($($kind if schema == SCHEMA => serde_json::from_str(body).map(Event::$name),)*)*
                    _ => Ok(Event::Unknown { kind: kind.to_owned(), body: body.to_owned() }),
                }
            }
        }
    };
}

/// Defines the enum over the events that change one noun, with the id of the thing that each event changes.
macro_rules! changes {
    ($(#[$doc:meta])* $change:ident { $($name:ident)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $change<'a> { $($name(&'a $name),)* }
    };
    ($(#[$doc:meta])* $change:ident { $($name:ident)* } by $key:ident: $id:ty) => {
        changes! { $(#[$doc])* $change { $($name)* } }

        impl $change<'_> {
            pub fn id(&self) -> $id {
                match self { $($change::$name(event) => event.$key.clone(),)* }
            }
        }
    };
}

events! {
    /// Changes of a brief.
    Brief(BriefEvent) {
        BriefCreated = "brief_created" {
            number: BriefId,
            title: String,
            kind: BriefKind,
            /// The first one is the primary project.
            projects: Vec<String>,
            epic: Option<BriefId>,
            depends_on: Vec<BriefId>,
            auto_dispatch: bool,
            design_loop: bool,
        }
        PlanProposed = "plan_proposed" { version: u64, base: u64, markdown: String }
        /// The spec of this version was accepted.
        SpecSnapshot = "spec_snapshot" { version: u64 }
        Refinement = "refinement" { version: u64, base: u64, why: Option<String>, markdown: String }
        StatusChanged = "status_changed" { from: Status, to: Status, why: Option<String> }
        BriefRenamed = "brief_renamed" { from: String, to: String }
        KindChanged = "kind_changed" { from: BriefKind, to: BriefKind }
        EpicChanged = "epic_changed" { from: Option<BriefId>, to: Option<BriefId> }
        ProjectsChanged = "projects_changed" { projects: Vec<String> }
        DispatchOptionsChanged = "dispatch_options_changed" { auto_dispatch: bool, design_loop: bool }
        DependencyAdded = "dependency_added" { needs: BriefId }
        DependencyDropped = "dependency_dropped" { needs: BriefId }
        DependencyMet = "dependency_met" { needs: BriefId }
        CommentAdded = "comment_added" { text: String, images: Vec<Image> }
        NoteAdded = "note_added" { text: String, images: Vec<Image> }
        QuestionAsked = "question_asked" {
            question: u64,
            text: String,
            /// The work cannot go on without the answer.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            help: bool,
        }
        DecisionMade = "decision_made" { question: u64, text: String }
        LinkAdded = "link_added" { kind: LinkKind, target: String, label: String }
        ParticipantJoined = "participant_joined" {
            name: String,
            #[serde(rename = "type")]
            sort: ActorType,
            role: Role,
            worktree: Option<String>,
            wave: Option<u64>,
        }
    }
    /// Changes of a scratchpad.
    Scratchpad(ScratchpadEvent by number: ScratchpadId) {
        ScratchpadCreated = "scratchpad_created" { number: ScratchpadId, title: String, brief: Option<BriefId> }
        /// The whole text, or with `append` the text that was added.
        ScratchpadWritten = "scratchpad_written" { number: ScratchpadId, version: u64, append: bool, text: String }
    }
    /// Changes of a project.
    Project(ProjectEvent) {
        ProjectRegistered = "project_registered" { name: String, root: String }
        ProjectRemoved = "project_removed" { name: String }
        /// The repository of a project lies elsewhere from now on.
        ProjectMoved = "project_moved" { name: String, from: String, root: String }
        /// The former name leads to the new one, and no other project can take it.
        ProjectRenamed = "project_renamed" { from: String, to: String }
        /// The commands of the project's `flower.toml` that may run, by the SHA-256 of their list.
        CommandsApproved = "commands_approved" { project: String, sha256: String }
        /// Commits that change paths on which another agent holds a lease.
        LeaseBreached = "lease_breached" { project: String, worktree: String, commit: String, by: Option<String>, holder: String, paths: Vec<String> }
    }
    /// Changes of a token.
    Token(TokenEvent) {
        /// The token itself is never stored, only its SHA-256.
        TokenIssued = "token_issued" {
            id: String,
            agent: String,
            role: Role,
            brief: Option<BriefId>,
            worktree: Option<String>,
            sha256: String,
            /// For a packet: the dispatch that the token may claim, or with `member` assist.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            dispatch: Option<DispatchId>,
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            member: bool,
        }
        TokenRevoked = "token_revoked" { id: String }
    }
    /// Changes of a worktree.
    Worktree(WorktreeEvent by number: WorktreeId) {
        /// The creation of a worktree starts. `worktree_created` or `worktree_failed` follows.
        WorktreeRequested = "worktree_requested" {
            number: WorktreeId,
            project: String,
            name: String,
            #[serde(rename = "sort")]
            kind: WorktreeKind,
            seal: Seal,
            base: String,
            from: String,
            brief: Option<BriefId>,
        }
        WorktreeCreated = "worktree_created" { number: WorktreeId, name: String, branch: String, path: String }
        WorktreeFailed = "worktree_failed" { number: WorktreeId, why: String }
        /// Commits were made on the branch both inside the worktree and by the operator. The branch has the commits from
        /// inside; the operator's commit is kept under another ref.
        WorktreeDiverged = "worktree_diverged" { number: WorktreeId, operators: String, inside: String, kept_at: String }
        /// MAIN's tip was merged into a worktree, or could not be merged.
        WorktreeSynced = "worktree_synced" { number: WorktreeId, onto: String, why_not: Option<String> }
        /// The removal of a worktree starts, and cannot be cancelled.
        WorktreeRemoving = "worktree_removing" { number: WorktreeId }
        /// The archive of a removed worktree: what was kept, and until when.
        WorktreeRemoved = "worktree_removed" {
            number: WorktreeId,
            tip: String,
            branch_kept: bool,
            files: u64,
            bytes: u64,
            left_out: Vec<String>,
            until: String,
        }
        WorktreeRestoring = "worktree_restoring" { number: WorktreeId }
        WorktreeRestored = "worktree_restored" { number: WorktreeId, path: String }
        ArchiveDropped = "archive_dropped" { number: WorktreeId }
    }
    /// Changes of a landing.
    Landing(LandingEvent by number: LandingId) {
        /// The commit of a landing is fixed: later changes of the branch do not affect it.
        LandingQueued = "landing_queued" {
            number: LandingId,
            project: String,
            source: Source,
            worktree: Option<String>,
            worktree_number: Option<WorktreeId>,
            commit: String,
            title: String,
            briefs: Vec<BriefId>,
            priority: Priority,
            of: Option<LandingId>,
            /// For a revert: the reason that the operator gave.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
            /// For a revert: whether a `fix` is dispatched after it has landed. Otherwise the briefs are parked.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            fix: bool,
        }
        /// The commit was merged with MAIN's tip, outside MAIN's checkout, and the checks start.
        LandingChecking = "landing_checking" {
            number: LandingId,
            onto: String,
            merge_commit: String,
            /// MAIN is moved forward to `merge_commit`, a commit of its remote: the number of the remote's commits on the
            /// first-parent history above `onto`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            upstream: Option<u64>,
        }
        LandingHeld = "landing_held" {
            number: LandingId,
            /// In words.
            why: Vec<String>,
            paths: Vec<String>,
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            reasons: Vec<HoldReason>,
        }
        LandingApproved = "landing_approved" {
            number: LandingId,
            /// The checks that the landing removes or changes in `flower.toml` need not pass.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            waive: bool,
        }
        LandingRequeued = "landing_requeued" { number: LandingId, why: String }
        ChecksRan = "checks_ran" { number: LandingId, attempt: u64, checks: Vec<Check> }
        CheckFlaked = "check_flaked" { number: LandingId, check: String }
        /// MAIN moved from `onto` to `merge_commit`.
        Landed = "landed" {
            number: LandingId,
            project: String,
            commit: String,
            onto: String,
            merge_commit: String,
            note: Option<String>,
        }
        LandingRejected = "landing_rejected" {
            number: LandingId,
            verdict: Verdict,
            why: String,
            paths: Vec<String>,
            /// For a conflict: the landings that changed the same paths.
            landed_there: Vec<LandingId>,
        }
        LandingCancelled = "landing_cancelled" { number: LandingId, why: Option<String> }
        RolledBack = "rolled_back" { number: LandingId, by: LandingId }
    }
    /// Changes of the MAIN of a project.
    Main(MainEvent by project: String) {
        /// The position of MAIN's branch when flower starts to manage it.
        MainRecorded = "main_recorded" { project: String, branch: String, tip: String }
        QueueFrozen = "queue_frozen" {
            project: String,
            why: String,
            /// By `flower halt`, which stops all projects.
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            halt: bool,
        }
        QueueThawed = "queue_thawed" { project: String }
        MainAlarm = "main_alarm" {
            project: String,
            what: Alarm,
            found: Option<String>,
            text: String,
            files: Vec<String>,
        }
        MainSettled = "main_settled" { project: String, how: Settlement, tip: String, worktree: Option<String> }
        /// git was refused to move MAIN's branch to `commit` and had written files already. They are as before again, and the
        /// commit is kept. `upstream`: a remote has it.
        MainPutBack = "main_put_back" { project: String, commit: String, upstream: bool, files: Vec<String> }
        Pushed = "pushed" { project: String, remote: String, commit: String }
        PushFailed = "push_failed" { project: String, remote: String, commit: String, why: String }
    }
    /// Changes of a dispatch.
    Dispatch(DispatchEvent by number: DispatchId) {
        DispatchRequested = "dispatch_requested" {
            number: DispatchId,
            brief: BriefId,
            kind: DispatchKind,
            spec_version: u64,
            project: Option<String>,
            worktree: Option<String>,
            profile: Option<String>,
            agents: u64,
            /// flower requested the dispatch automatically, because the brief was ready.
            auto: bool,
            of: Option<LandingId>,
            evidence: Option<String>,
        }
        /// The lease lasts this many seconds after the last heartbeat, measured by the boot clock.
        DispatchClaimed = "dispatch_claimed" {
            number: DispatchId,
            holder: String,
            fence: Fence,
            seconds: u64,
            boot: String,
            boot_ms: u64,
            token: Option<String>,
            packet: Option<String>,
            worktree: Option<String>,
        }
        /// The worktree is ready at this commit, and the work starts.
        DispatchExecuting = "dispatch_executing" { number: DispatchId, base: Option<String> }
        DispatchExpired = "dispatch_expired" {
            number: DispatchId,
            fence: Fence,
            holder: String,
            /// Absent if the lease ended because heartbeats stopped.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            why: Option<String>,
        }
        DispatchHandedBack = "dispatch_handed_back" {
            number: DispatchId,
            fence: Fence,
            holder: String,
            summary: String,
            not_done: Option<String>,
            tip: Option<String>,
            commits: Vec<String>,
        }
        /// A hand-back that came after another agent had claimed the dispatch. It is stored without effect.
        DispatchLate = "dispatch_late" { number: DispatchId, fence: Fence, holder: String, summary: String }
        DispatchFailed = "dispatch_failed" {
            number: DispatchId,
            fence: Fence,
            holder: String,
            summary: String,
            not_done: Option<String>,
        }
        DispatchCancelled = "dispatch_cancelled" { number: DispatchId, why: Option<String> }
        DispatchLanded = "dispatch_landed" { number: DispatchId }
    }
    /// Changes of a lease.
    Lease(LeaseEvent by number: LeaseId) {
        LeaseTaken = "lease_taken" {
            number: LeaseId,
            project: String,
            worktree: String,
            holder: String,
            patterns: Vec<String>,
            seconds: u64,
            boot: String,
            boot_ms: u64,
        }
        LeaseReleased = "lease_released" { number: LeaseId, why: String }
    }
    /// Messages between agents, and to and from the operator.
    Message(MessageEvent) {
        MessageSent = "message_sent" {
            number: MessageId,
            kind: Recipient,
            to: String,
            from_worktree: Option<String>,
            text: String,
            /// For a review comment: the line that it is about.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            about: Option<Remark>,
        }
    }
    /// Changes of an agent.
    Agent(AgentEvent by number: AgentId) {
        /// An agent should run from now on; `member` 0 is the lead.
        AgentStarted = "agent_started" {
            number: AgentId,
            name: String,
            profile: String,
            role: Role,
            standing: bool,
            project: String,
            worktree: String,
            dispatch: Option<DispatchId>,
            member: u64,
        }
        AgentAssigned = "agent_assigned" { number: AgentId, dispatch: DispatchId }
        AgentRestarted = "agent_restarted" { number: AgentId, restarts: u64, why: String }
        /// A session of the agent is open: with this model, as far as that is known, and with flower's tools or without.
        AgentConnected = "agent_connected" { number: AgentId, model: Option<String>, tools: Option<bool> }
        /// The agent continues from the note with a fresh context, under the same name.
        AgentRefreshed = "agent_refreshed" {
            number: AgentId,
            note: String,
            author: Author,
            used: Option<u64>,
            size: Option<u64>,
        }
        /// As far as the agent reports them; the cost is in millionths of the currency.
        AgentSpent = "agent_spent" {
            number: AgentId,
            brief: Option<BriefId>,
            dispatch: Option<DispatchId>,
            tokens: Option<u64>,
            cost: Option<u64>,
            currency: Option<String>,
        }
        AgentStopped = "agent_stopped" { number: AgentId, how: Ending, why: String, output: Option<String> }
    }
    /// Requests for permission, and their decisions.
    Permission(PermissionEvent by number: PermissionId) {
        PermissionAsked = "permission_asked" {
            number: PermissionId,
            agent: AgentId,
            name: String,
            worktree: String,
            title: String,
            sort: String,
            paths: Vec<String>,
            seconds: u64,
        }
        PermissionDecided = "permission_decided" { number: PermissionId, allow: bool, why: Option<String> }
    }
    /// Events about the log itself.
    Log(LogEvent) {
        /// A caller tried an action that its token does not allow.
        CallRefused = "call_refused" { what: String, why: String }
        /// The operator continued although the log ended before the event that the head file proves. The event records what
        /// was lost.
        LossAccepted = "loss_accepted" { proved_seq: u64, proved_hash: String, found_seq: u64, found_hash: String }
    }
}

/// A picture in the blob store, named by the SHA-256 of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub sha256: String,
    /// `image/png`, `image/jpeg`, `image/webp` or `image/gif`.
    pub media_type: String,
    pub bytes: u64,
    pub width: u64,
    pub height: u64,
}

/// The object that an event belongs to. Versions count up without gaps inside a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    Brief(BriefId),
    Scratchpad(ScratchpadId),
    Project(String),
    Token(String),
    Worktree(WorktreeId),
    Landing(LandingId),
    Dispatch(DispatchId),
    Lease(LeaseId),
    Message(MessageId),
    Agent(AgentId),
    Permission(PermissionId),
    /// The log itself.
    Log,
}

impl std::fmt::Display for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stream::Brief(number) => write!(f, "brief/{number}"),
            Stream::Scratchpad(number) => write!(f, "scratchpad/{number}"),
            Stream::Project(name) => write!(f, "project/{name}"),
            Stream::Token(id) => write!(f, "token/{id}"),
            Stream::Worktree(number) => write!(f, "worktree/{number}"),
            Stream::Landing(number) => write!(f, "landing/{number}"),
            Stream::Dispatch(number) => write!(f, "dispatch/{number}"),
            Stream::Lease(number) => write!(f, "lease/{number}"),
            Stream::Message(number) => write!(f, "message/{number}"),
            Stream::Agent(number) => write!(f, "agent/{number}"),
            Stream::Permission(number) => write!(f, "permission/{number}"),
            Stream::Log => write!(f, "log"),
        }
    }
}

/// An event that was decided but is not yet recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub stream: Stream,
    /// The brief whose trace shows the event.
    pub brief: Option<BriefId>,
    pub event: Event,
}

impl Draft {
    pub fn brief(number: BriefId, event: impl Into<Event>) -> Draft {
        Draft { stream: Stream::Brief(number), brief: Some(number), event: event.into() }
    }
}

/// An event as it is stored in the log. All texts are unparsed, so that even a damaged row can be read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub seq: u64,
    pub stream: String,
    pub version: u64,
    pub kind: String,
    pub schema: u64,
    pub actor_type: String,
    pub actor_name: String,
    pub door: String,
    /// RFC 3339 in UTC, always with six digits of a second.
    pub at: String,
    pub brief: Option<BriefId>,
    pub body: String,
    pub prev: String,
    pub hash: String,
}

impl Recorded {
    pub fn event(&self) -> Result<Event, serde_json::Error> {
        Event::decode(&self.kind, self.schema, &self.body)
    }

    pub fn context(&self) -> Context<'_> {
        Context { brief: self.brief, at: &self.at, by: &self.actor_name }
    }

    /// The description of the event for its readers.
    pub fn description(&self) -> Description {
        Description::of_stored(&self.kind, self.schema, &self.body)
    }
}
