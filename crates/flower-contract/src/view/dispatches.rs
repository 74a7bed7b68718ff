//! Views of dispatches, path leases and messages.

use super::{EventView, InboxItem, ReasonView};
use crate::schema;
use flower_core::dispatch::{DispatchState, Outcome};
use flower_core::readiness::DispatchKind;
use flower_core::{ActorType, Role};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DispatchView {
    pub id: u64,
    pub brief: u64,
    /// The title of the brief.
    pub title: String,
    #[schema(value_type = schema::DispatchKind)]
    pub kind: DispatchKind,
    #[schema(value_type = schema::DispatchState)]
    pub state: DispatchState,
    /// The version of the spec at the time of the request.
    pub spec_version: u64,
    pub project: Option<String>,
    pub worktree: Option<String>,
    /// The profile whose agents may claim it; absent if any agent may.
    pub agent: Option<String>,
    /// How many agents share the worktree.
    pub agents: u64,
    pub claim: Option<ClaimView>,
    /// The current or last holder.
    #[serde(default)]
    pub held_by: Option<String>,
    #[schema(value_type = Option<schema::Outcome>)]
    pub result: Option<Outcome>,
    /// Why it was cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
    /// Why it waits.
    pub waits: Vec<ReasonView>,
    /// What to know about an open one, such as a spending limit that does not hold for its agents.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// For a `fix`: the landing, and why it failed.
    pub of: Option<u64>,
    pub evidence: Option<String>,
    /// The commit at which the work started.
    pub base: Option<String>,
    pub by: String,
    pub requested_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    pub holder: String,
    pub fence: u64,
    /// When the claim expires without a further heartbeat.
    pub expires_at: String,
    pub since: String,
}

/// All that an agent needs to start. The only response that contains its token.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PacketView {
    pub dispatch: u64,
    pub agent: String,
    pub token: String,
    /// Markdown to paste into an agent.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HandBackView {
    #[serde(flatten)]
    pub dispatch: DispatchView,
    /// The landing of its commits.
    pub landing: Option<u64>,
    pub notes: Vec<String>,
}

/// The text of a brief for an agent.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallView {
    pub brief: u64,
    pub text: String,
    /// An upper estimate of the number of tokens.
    pub tokens: u64,
    pub budget: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LeaseView {
    pub id: u64,
    pub project: String,
    pub worktree: String,
    pub holder: String,
    pub brief: Option<u64>,
    pub patterns: Vec<String>,
    pub taken_at: String,
    pub expires_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MessageView {
    pub id: u64,
    /// `operator`, an agent, or a worktree.
    pub to: String,
    pub by: String,
    #[schema(value_type = schema::ActorType)]
    pub by_type: ActorType,
    pub at: String,
    pub text: String,
}

/// News that an agent has not read yet.
#[derive(Clone, Debug, Default)]
pub struct HeardView {
    pub messages: Vec<MessageView>,
    /// Events of its brief.
    pub news: Vec<EventView>,
    /// More news exist.
    pub more: bool,
}

/// News that an agent has taken from its inbox.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TakenView {
    pub messages: Vec<MessageView>,
    /// Events of its brief.
    pub news: Vec<EventView>,
    /// More news exist.
    pub more: bool,
    /// The same as items of the inbox, oldest first.
    pub items: Vec<InboxItem>,
    /// The same as the tool `check_inbox` answers.
    pub text: String,
}

/// Who a request was made by.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CallerView {
    pub name: String,
    #[schema(value_type = schema::Role)]
    pub role: Role,
    pub brief: Option<u64>,
    pub worktree: Option<String>,
    pub dispatch: Option<u64>,
}

/// A dispatch whose claim was renewed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BeatView {
    #[serde(flatten)]
    pub dispatch: DispatchView,
    /// Unread messages and events of its brief that wait for the caller.
    pub unread: u64,
}
