//! The trace of all events, and the log itself: verify, export, rebuild.

use super::answer::{Answer, Rejection};
use super::extract::{Query, Who};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use flower_contract::error::ProblemEnvelope;
use flower_contract::view::{EventView, RebuildView, VerifyView};
use flower_engine::App;
use flower_engine::log::trace::{Of, Window};
use futures_util::stream;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceQuery {
    /// Only events of this project.
    project: Option<String>,
    /// Events after this one, oldest first.
    after: Option<u64>,
    /// The newest events before this one.
    before: Option<u64>,
    limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/trace", tag = "log", params(TraceQuery),
    responses((status = 200, body = Vec<EventView>), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn trace(State(app): State<Arc<App>>, Query(q): Query<TraceQuery>) -> Answer<Vec<EventView>> {
    let of = q.project.map_or(Of::All, Of::Project);
    Ok(Json(app.log.trace(Window { of, after: q.after, before: q.before, limit: q.limit }).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct VerifyQuery {
    /// Also compare the tables with the log.
    #[serde(default)]
    tables: bool,
}

#[utoipa::path(get, path = "/api/log/verify", tag = "log", params(VerifyQuery),
    responses((status = 200, body = VerifyView), (status = 403, body = ProblemEnvelope)))]
pub(super) async fn verify(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<VerifyQuery>,
) -> Answer<VerifyView> {
    Ok(Json(app.log.verify(&caller, q.tables).await?))
}

/// The whole log, one event per line, in order. Each line contains everything that its hash covers.
#[utoipa::path(get, path = "/api/log/export", tag = "log",
    responses((status = 200, content_type = "application/x-ndjson", body = EventView)))]
pub(super) async fn export(State(app): State<Arc<App>>) -> Result<impl IntoResponse, Rejection> {
    let pages = stream::try_unfold((app, 0), |(app, after)| async move {
        let page = app.log.events(Window { after: Some(after), ..Window::default() }).await;
        let page = page.map_err(|problem| std::io::Error::other(problem.message))?;
        let Some(last) = page.last().map(|event| event.seq) else { return Ok(None) };
        let mut lines = Vec::new();
        for event in &page {
            serde_json::to_writer(&mut lines, &EventView::from(event))?;
            lines.push(b'\n');
        }
        Ok::<_, std::io::Error>(Some((lines, (app, last))))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(pages)))
}

#[utoipa::path(post, path = "/api/log/rebuild", tag = "log",
    responses((status = 200, body = RebuildView), (status = 403, body = ProblemEnvelope)))]
pub(super) async fn rebuild(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<RebuildView> {
    Ok(Json(app.log.rebuild(&caller).await?))
}

/// Records the loss of the end of the log, and allows writing again.
#[utoipa::path(post, path = "/api/log/accept-loss", tag = "log",
    responses((status = 200, body = Vec<EventView>), (status = 403, body = ProblemEnvelope)))]
pub(super) async fn accept_loss(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<EventView>> {
    Ok(Json(app.log.accept_loss(&caller).await?))
}
