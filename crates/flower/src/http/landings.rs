//! `/api/landings`: the merge queue.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, ListQuery, Path, ProjectQuery, Query, Who, run_detached};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Land, RevertRequest, Why};
use flower_contract::view::LandingView;
use flower_core::landing::{Priority, Revert};
use flower_core::{BriefId, LandingId};
use flower_engine::App;
use flower_engine::merge_queue::LandOptions;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Landings of a page with ended ones, unless the query names a number.
const PAGE: u64 = 100;

/// Landings in the queue, in the order in which they are processed.
#[utoipa::path(get, path = "/api/landings", tag = "landings", params(ProjectQuery, ListQuery), responses((status = 200, body = Vec<LandingView>)))]
pub(super) async fn list_landings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<LandingView>> {
    Ok(Json(app.merge_queue.queue(&caller, &choice, q.all, q.limit_or(PAGE)).await?))
}

/// Queues the commits of a worktree.
#[utoipa::path(post, path = "/api/worktrees/{name}/land", tag = "landings", params(("name" = String, Path), ProjectQuery),
    request_body = Land, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn land(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<Land>,
) -> Answer<LandingView> {
    let options = LandOptions {
        briefs: b.briefs.into_iter().map(BriefId).collect(),
        title: b.title,
        priority: b.priority.unwrap_or(Priority::Normal),
        join: b.join,
    };
    run_detached(async move { app.merge_queue.land(&caller, &project.into(), &name, options).await }).await
}

#[utoipa::path(get, path = "/api/landings/{number}", tag = "landings", params(("number" = u64, Path)),
    responses((status = 200, body = LandingView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_landing(State(app): State<Arc<App>>, Path(number): Path<LandingId>) -> Answer<LandingView> {
    Ok(Json(app.merge_queue.show(number).await?))
}

#[utoipa::path(post, path = "/api/landings/{number}/cancel", tag = "landings", params(("number" = u64, Path)),
    request_body = Why, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<LandingId>,
    Body(b): Body<Why>,
) -> Answer<LandingView> {
    run_detached(async move { app.merge_queue.cancel(&caller, number, b.why).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ApproveQuery {
    /// Do not run checks that the landing removes from `flower.toml` or changes.
    #[serde(default)]
    waive: bool,
}

/// Approves a landing that waits for the operator, with the commands that it adds.
#[utoipa::path(post, path = "/api/landings/{number}/approve", tag = "landings", params(("number" = u64, Path), ApproveQuery),
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn approve_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<LandingId>,
    Query(q): Query<ApproveQuery>,
) -> Answer<LandingView> {
    Ok(Json(app.merge_queue.approve(&caller, number, q.waive).await?))
}

/// Queues a revert of the landing. Once the revert has landed, the briefs are parked or a `fix` is dispatched.
#[utoipa::path(post, path = "/api/landings/{number}/revert", tag = "landings", params(("number" = u64, Path)),
    request_body = RevertRequest, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn revert_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<LandingId>,
    Body(b): Body<RevertRequest>,
) -> Answer<LandingView> {
    let revert = Revert { of: number, why: b.why, fix: b.fix };
    run_detached(async move { app.merge_queue.revert(&caller, revert).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AfterQuery {
    /// A position in bytes.
    #[serde(default)]
    pub(super) after: u64,
}

/// The output of a check, from a position on.
#[utoipa::path(get, path = "/api/landings/{number}/checks/{check}/log", tag = "landings",
    params(("number" = u64, Path), ("check" = String, Path), AfterQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn check_log(
    State(app): State<Arc<App>>,
    Path((number, check)): Path<(LandingId, String)>,
    Query(q): Query<AfterQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.merge_queue.check_log(number, &check, q.after).await?)
}
