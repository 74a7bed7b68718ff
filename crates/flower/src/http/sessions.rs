//! Browser sessions: a one-time link, and the session token that it is traded for.

use super::answer::Answer;
use super::extract::Who;
use super::guard::bearer;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use flower_contract::error::ProblemEnvelope;
use flower_contract::view::{OpenLink, Session};
use flower_engine::App;
use std::sync::Arc;

/// A one-time address that opens the page and begins a session.
#[utoipa::path(post, path = "/api/open-link", tag = "daemon", responses((status = 200, body = OpenLink)))]
pub(super) async fn open_link(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<OpenLink> {
    Ok(Json(app.access.open_link(&caller)?))
}

/// Exchanges the one-time code, sent as `Authorization: Bearer CODE`, for a session token.
#[utoipa::path(post, path = "/api/session", tag = "daemon",
    responses((status = 200, body = Session), (status = 401, body = ProblemEnvelope)))]
pub(super) async fn begin_session(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer<Session> {
    Ok(Json(app.access.begin_session(bearer(&headers).unwrap_or_default())?))
}
