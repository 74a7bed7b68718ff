//! Messages between agents and the operator, and the operator's inbox.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Query, Who};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::SendMessage;
use flower_contract::view::{HeardView, InboxItem, MessageView};
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// What waits for the operator. A worker gets its unread messages instead.
#[utoipa::path(get, path = "/api/inbox", tag = "inbox", responses((status = 200, body = Vec<InboxItem>)))]
pub(super) async fn inbox(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<InboxItem>> {
    Ok(Json(app.overview.inbox(&caller).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SeenQuery {
    /// Only messages up to this event: later ones were not shown yet.
    up_to: Option<u64>,
}

/// Marks the operator's messages as seen.
#[utoipa::path(post, path = "/api/inbox/seen", tag = "dispatches", params(SeenQuery),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn seen_messages(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<SeenQuery>,
) -> Result<StatusCode, Rejection> {
    app.messages.mark_seen(&caller, q.up_to).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a message to an agent, to all agents in a worktree, or to the operator.
#[utoipa::path(post, path = "/api/messages", tag = "dispatches", request_body = SendMessage,
    responses((status = 200, body = MessageView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn send_message(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<SendMessage>,
) -> Answer<MessageView> {
    Ok(Json(app.messages.send(&caller, &b.to, b.text).await?))
}

/// The unread messages of the calling agent. They count as read from now on.
#[utoipa::path(post, path = "/api/messages/take", tag = "dispatches", responses((status = 200, body = HeardView)))]
pub(super) async fn take_messages(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<HeardView> {
    Ok(Json(app.messages.unread(&caller, true).await?))
}
