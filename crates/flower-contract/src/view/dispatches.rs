//! Dispatches, path leases and messages as the outside sees them.

use super::{EventView, ReasonView};
use crate::schema;
use flower_core::dispatch::{DispatchState, Outcome};
use flower_core::readiness::DispatchKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DispatchView {
    pub id: u64,
    pub brief: u64,
    /// The brief's.
    pub title: String,
    #[schema(value_type = schema::DispatchKind)]
    pub kind: DispatchKind,
    #[schema(value_type = schema::DispatchState)]
    pub state: DispatchState,
    /// Of the spec that it was asked for with.
    pub spec_version: u64,
    pub project: Option<String>,
    pub worktree: Option<String>,
    /// The profile that it is for; none is whoever claims it.
    pub agent: Option<String>,
    /// How many agents share the worktree.
    pub agents: u64,
    pub claim: Option<ClaimView>,
    /// Who holds it, or held it last.
    #[serde(default)]
    pub held_by: Option<String>,
    #[schema(value_type = Option<schema::Outcome>)]
    pub result: Option<Outcome>,
    /// Why it waits, in words.
    pub waits: Vec<ReasonView>,
    /// The landing that a `fix` is about, and what went wrong.
    pub of: Option<u64>,
    pub evidence: Option<String>,
    /// The commit at which the work began.
    pub base: Option<String>,
    pub by: String,
    pub requested_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    pub holder: String,
    pub fence: u64,
    /// If nobody hears of the holder until then.
    pub expires_at: String,
    pub since: String,
}

/// All that an agent needs to begin. The only time that its token is shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PacketView {
    pub dispatch: u64,
    pub agent: String,
    pub token: String,
    /// Markdown, to be pasted.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HandBackView {
    #[serde(flatten)]
    pub dispatch: DispatchView,
    /// The landing that it is on its way with.
    pub landing: Option<u64>,
    pub notes: Vec<String>,
}

/// A brief as an agent reads it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RecallView {
    pub brief: u64,
    pub text: String,
    /// As flower counts them, on the safe side.
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
    pub by_type: String,
    pub at: String,
    pub text: String,
}

/// What an agent has not heard yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct HeardView {
    pub messages: Vec<MessageView>,
    /// What happened to its brief.
    pub news: Vec<EventView>,
    /// There is more than was given at once.
    pub more: bool,
}
