//! Messages between agents and the operator, and the operator's inbox.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Query, Who};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::SendMessage;
use flower_contract::view::{CallerView, InboxItem, MessageView, TakenView};
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// What waits for the operator. A worker gets its own inbox instead: unread messages, and unread events of its brief.
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

/// The unread messages of the calling agent, and the unread events of its brief. They count as read from now on.
#[utoipa::path(post, path = "/api/messages/take", tag = "dispatches", responses((status = 200, body = TakenView)))]
pub(super) async fn take_messages(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<TakenView> {
    Ok(Json(app.overview.take_inbox(&caller).await?))
}

/// Who the token of the request belongs to.
#[utoipa::path(get, path = "/api/caller", tag = "dispatches", responses((status = 200, body = CallerView)))]
pub(super) async fn show_caller(Who(caller): Who) -> Json<CallerView> {
    Json(CallerView {
        name: caller.actor.name,
        role: caller.role,
        brief: caller.brief.map(u64::from),
        worktree: caller.worktree,
        dispatch: caller.run.map(|run| run.dispatch.0),
    })
}
