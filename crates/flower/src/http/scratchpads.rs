//! `/api/scratchpads`.

use super::answer::Answer;
use super::extract::{Body, Path, Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{NewScratchpad, WriteScratchpad};
use flower_contract::view::ScratchpadView;
use flower_core::{BriefId, ScratchpadId};
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ScratchpadQuery {
    brief: Option<u64>,
    #[serde(default)]
    after: u64,
    limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/scratchpads", tag = "scratchpads", params(ScratchpadQuery),
    responses((status = 200, body = Vec<ScratchpadView>)))]
pub(super) async fn list_scratchpads(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ScratchpadQuery>,
) -> Answer<Vec<ScratchpadView>> {
    Ok(Json(app.briefs.scratchpads(&caller, q.brief.map(BriefId), q.after, q.limit).await?))
}

#[utoipa::path(post, path = "/api/scratchpads", tag = "scratchpads", request_body = NewScratchpad,
    responses((status = 200, body = ScratchpadView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create_scratchpad(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<NewScratchpad>,
) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.create_scratchpad(&caller, b.title, b.brief.map(BriefId), b.text).await?))
}

#[utoipa::path(get, path = "/api/scratchpads/{number}", tag = "scratchpads", params(("number" = u64, Path)),
    responses((status = 200, body = ScratchpadView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_scratchpad(
    State(app): State<Arc<App>>,
    Path(number): Path<ScratchpadId>,
) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.scratchpad(number).await?))
}

#[utoipa::path(put, path = "/api/scratchpads/{number}", tag = "scratchpads", params(("number" = u64, Path)),
    request_body = WriteScratchpad,
    responses((status = 200, body = ScratchpadView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn write_scratchpad(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<ScratchpadId>,
    Body(b): Body<WriteScratchpad>,
) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.write_scratchpad(&caller, number, b.text, b.append, b.base).await?))
}
