//! Views of agents.

use crate::schema;
use crate::word::words;
use flower_core::agent::Ending;
use flower_core::readiness::DispatchKind;
use flower_core::{Permission, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

words! {
    AgentState {
        Starting = "starting",
        Working = "working",
        Waiting = "waiting",
        /// Its process runs, and it has sent nothing for a while.
        Quiet = "quiet",
        /// Its model has a limit or an outage, and is tried again later.
        Parked = "parked",
        Idle = "idle",
        Stopped = "stopped",
        Failed = "failed",
        /// Its process cannot be asked.
        Unknown = "unknown",
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// 0 for an agent that joined by itself.
    pub id: u64,
    pub name: String,
    /// `unknown` for an agent that joined by itself, unless its dispatch or its shell names one.
    pub profile: String,
    #[schema(value_type = schema::Role)]
    pub role: Role,
    pub standing: bool,
    /// flower did not start it: it came with a token, and has neither process nor transcript here.
    #[serde(default)]
    pub joined: bool,
    /// Empty for an agent that joined and has claimed nothing.
    pub project: String,
    /// Empty for an agent that works in none.
    pub worktree: String,
    pub brief: Option<u64>,
    pub dispatch: Option<u64>,
    /// 0 for the leading agent of a worktree, a higher number for additional ones.
    pub member: u64,
    pub state: AgentState,
    /// The source of the state.
    pub evidence: String,
    /// Seconds since the agent's last sign of life.
    pub quiet_seconds: Option<u64>,
    /// While it is `parked`: when its model is tried again.
    pub parked_until: Option<String>,
    /// How full the agent's context is; absent if the agent does not report it.
    pub context: Option<FillView>,
    /// The cost so far; absent if the agent does not report it.
    pub cost: Option<f64>,
    pub currency: Option<String>,
    pub tokens: Option<u64>,
    /// The model of its session, as the session reports it or flower chose it; absent if that is not known.
    pub model: Option<String>,
    /// Whether its session has flower's tools; absent if that is not known, or the agent runs in a terminal.
    pub tools: Option<bool>,
    pub pid: Option<u32>,
    /// The agent has a terminal to attach to.
    pub terminal: bool,
    pub restarts: u64,
    pub refreshes: u64,
    /// When the current state began.
    pub since: String,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub ended: Option<EndView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FillView {
    pub used: u64,
    pub size: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EndView {
    #[schema(value_type = schema::Ending)]
    pub how: Ending,
    pub why: String,
    /// The end of its output.
    pub output: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Acp,
    Pty,
}

/// Whether agents of a profile can run on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileView {
    pub profile: String,
    pub protocol: Protocol,
    pub command: Vec<String>,
    pub runs: bool,
    /// Each with how to solve it.
    pub missing: Vec<String>,
    pub version: Option<String>,
    /// Whether a session could be opened with this version of the program.
    pub trial: TrialView,
    /// The model that sessions must have.
    pub model: Option<String>,
    /// The profile does not run without a model.
    pub model_required: bool,
    /// What its agents report of what they spend; absent if that is not known.
    pub reports: Option<Vec<Reported>>,
    /// What of the operator's own configuration of the agent reaches the jail.
    pub configuration: String,
    pub needs: Vec<ProfileNeed>,
}

words! {
    /// Whether a session could be opened with a program.
    TrialState {
        NotTried = "not_tried",
        Worked = "worked",
        Failed = "failed",
        /// A program in a terminal has no handshake.
        NotNeeded = "not_needed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TrialView {
    pub state: TrialState,
    pub at: Option<String>,
    /// Why it failed.
    pub why: Option<String>,
    /// The model that the session reported.
    pub model: Option<String>,
}

words! {
    /// What agents report of what they spend.
    Reported { Cost = "cost", Tokens = "tokens" }
}

/// The name of a variable or a file, never its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileNeed {
    pub name: String,
    pub kind: NeedKind,
    pub there: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NeedKind {
    Env,
    File,
}

/// The kind of an entry in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A note of flower: started, ended, refreshed.
    Flower,
    /// A prompt to the agent.
    Prompt,
    Said,
    Thought,
    Tool,
    Plan,
    Permission,
    /// A line of standard error, or a line that is not ACP.
    Noise,
    /// What a program in a terminal printed, as plain lines.
    Output,
}

words! {
    /// The state of a tool call.
    ToolStatus { Pending = "pending", InProgress = "in_progress", Completed = "completed", Failed = "failed" }
}

words! {
    /// The state of a step in an agent's plan.
    StepStatus { Pending = "pending", InProgress = "in_progress", Completed = "completed" }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    pub at: String,
    pub kind: EntryKind,
    /// The whole entry as text: for a tool its title and its output, for a plan one line for each step.
    pub text: String,
    /// The text continues that of the entry before, without a gap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continues: bool,
    /// For a tool: the id of the call. `status` is its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<ToolStatus>,
    /// For a tool: what the call does, and what it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// For a plan. Plans that version 0.1 wrote have only `text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PlanStep>,
    /// Files that the entry is about; `diffs` has their changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<EntryDiff>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    pub text: String,
    pub status: StepStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryDiff {
    pub path: String,
    pub old: Option<String>,
    pub new: String,
}

/// A page of a transcript.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TranscriptView {
    pub entries: Vec<Entry>,
    /// The position of the next page.
    pub next: u64,
    /// More entries exist.
    pub more: bool,
    /// The transcript is complete.
    pub over: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PermissionView {
    pub id: u64,
    pub agent: String,
    pub worktree: String,
    pub brief: Option<u64>,
    pub title: String,
    /// The kind of tool, as reported by the agent.
    pub sort: String,
    pub paths: Vec<String>,
    /// Time to decide, counted from `at`.
    pub seconds: u64,
    pub at: String,
    pub allowed: Option<bool>,
}

impl From<Permission> for PermissionView {
    fn from(permission: Permission) -> PermissionView {
        PermissionView {
            id: permission.number.0,
            agent: permission.name,
            worktree: permission.worktree,
            brief: permission.brief.map(u64::from),
            title: permission.title,
            sort: permission.sort,
            paths: permission.paths,
            seconds: permission.seconds,
            at: permission.at,
            allowed: permission.allowed,
        }
    }
}

/// How agents of a profile did with one kind of dispatch. A figure that no agent reported is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScoreView {
    pub profile: String,
    pub model: Option<String>,
    #[schema(value_type = schema::DispatchKind)]
    pub kind: DispatchKind,
    /// Dispatches that have ended, without cancelled ones.
    pub ended: u64,
    pub landed: u64,
    /// Landed without a `fix` before.
    pub first_try: u64,
    /// The `fix` dispatches that followed.
    pub fixes: u64,
    pub failed: u64,
    /// Mean time of a dispatch.
    pub seconds: Option<u64>,
    /// All cost divided by the landings.
    pub cost_per_landing: Option<f64>,
    pub currency: Option<String>,
    pub tokens: Option<u64>,
}

/// Spending and its limit.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpendView {
    pub days: Vec<SpentView>,
    pub briefs: Vec<SpentView>,
    pub per_day: Option<f64>,
    pub per_brief: Option<f64>,
    pub tokens_per_day: Option<u64>,
}

/// Spending in a period. A value that no agent reported is absent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpentView {
    /// A day, or the number of a brief.
    pub of: String,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub currency: Option<String>,
}
