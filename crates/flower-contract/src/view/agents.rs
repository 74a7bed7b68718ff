//! Agents that flower runs, as the outside sees them.

use crate::schema;
use flower_core::agent::Ending;
use flower_core::{Permission, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    Starting,
    Working,
    Waiting,
    Idle,
    Stopped,
    Failed,
    Unknown,
}

impl AgentState {
    pub fn as_str(self) -> &'static str {
        match self {
            AgentState::Starting => "starting",
            AgentState::Working => "working",
            AgentState::Waiting => "waiting",
            AgentState::Idle => "idle",
            AgentState::Stopped => "stopped",
            AgentState::Failed => "failed",
            AgentState::Unknown => "unknown",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    pub id: u64,
    pub name: String,
    pub profile: String,
    #[schema(value_type = schema::Role)]
    pub role: Role,
    pub standing: bool,
    pub project: String,
    pub worktree: String,
    pub brief: Option<u64>,
    pub dispatch: Option<u64>,
    /// 0 leads; the others work beside it.
    pub member: u64,
    pub state: AgentState,
    /// What the state was told by.
    pub evidence: String,
    /// Since it was last heard of.
    pub quiet_seconds: Option<u64>,
    /// How full its context is; absent where it does not say.
    pub context: Option<FillView>,
    /// What it has cost so far; absent where it does not say.
    pub cost: Option<f64>,
    pub currency: Option<String>,
    pub tokens: Option<u64>,
    pub pid: Option<u32>,
    /// It has one to attach to.
    pub terminal: bool,
    pub restarts: u64,
    pub refreshes: u64,
    /// When its state was last another one.
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
    /// The last of what it said.
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
    /// Each with what to do about it.
    pub missing: Vec<String>,
    pub version: Option<String>,
    pub needs: Vec<ProfileNeed>,
}

/// A variable or a file, never what is in it.
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

/// What an entry of a transcript is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// flower, of the agent: started, ended, refreshed.
    Flower,
    /// What it was told.
    Prompt,
    Said,
    Thought,
    Tool,
    Plan,
    Permission,
    /// A line on its standard error, or one that is no protocol.
    Noise,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Entry {
    pub at: String,
    pub kind: EntryKind,
    pub text: String,
    /// Of a tool: the call it is about, and where that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What it is about, and with a diff what it was and became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<EntryDiff>,
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
    /// Where the next page begins.
    pub next: u64,
    /// There is more already.
    pub more: bool,
    /// Nothing will follow.
    pub over: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PermissionView {
    pub id: u64,
    pub agent: String,
    pub worktree: String,
    pub brief: Option<u64>,
    pub title: String,
    /// Of tool, as the agent says.
    pub sort: String,
    pub paths: Vec<String>,
    /// How long somebody may think about it, from `at` on.
    pub seconds: u64,
    pub at: String,
    pub allowed: Option<bool>,
}

impl From<Permission> for PermissionView {
    fn from(permission: Permission) -> PermissionView {
        PermissionView {
            id: permission.number,
            agent: permission.name,
            worktree: permission.worktree,
            brief: permission.brief,
            title: permission.title,
            sort: permission.sort,
            paths: permission.paths,
            seconds: permission.seconds,
            at: permission.at,
            allowed: permission.allowed,
        }
    }
}

/// What was used, and where it ends.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpendView {
    pub days: Vec<SpentView>,
    pub briefs: Vec<SpentView>,
    pub per_day: Option<f64>,
    pub per_brief: Option<f64>,
    pub tokens_per_day: Option<u64>,
}

/// What no agent told is absent, not nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpentView {
    /// A day, or the number of a brief.
    pub of: String,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub currency: Option<String>,
}
