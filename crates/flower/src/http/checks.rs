//! `/api/worktrees/{name}/check`: the checks of a landing, without landing; and `/api/main/settings/try`, the checks of a proposed
//! `flower.toml`.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Query, Who, run_detached};
use super::landings::AfterQuery;
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{CheckRequest, LandSettings};
use flower_contract::view::CheckRunView;
use flower_engine::App;
use flower_engine::merge_queue::{CheckOptions, Subject};
use std::sync::Arc;

/// Starts the checks of a worktree on its merge with MAIN, or joins a run of the same commit.
#[utoipa::path(post, path = "/api/worktrees/{name}/check", tag = "checks", params(("name" = String, Path), ProjectQuery),
    request_body = CheckRequest, responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn check_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Body(b): Body<CheckRequest>,
) -> Answer<CheckRunView> {
    let options = CheckOptions { only: b.check, approve: b.approve };
    run_detached(async move { app.merge_queue.check_worktree(&caller, &choice, &name, options).await }).await
}

/// The newest run of the worktree's checks.
#[utoipa::path(get, path = "/api/worktrees/{name}/check", tag = "checks", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn show_check(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<CheckRunView> {
    Ok(Json(app.merge_queue.show_check(&choice, &Subject::Worktree(name)).await?))
}

/// Cancels the worktree's checks, unless they have ended.
#[utoipa::path(delete, path = "/api/worktrees/{name}/check", tag = "checks", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_check(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<CheckRunView> {
    run_detached(async move { app.merge_queue.cancel_check(&choice, &Subject::Worktree(name)).await }).await
}

/// The output of one of the worktree's checks, from a position on.
#[utoipa::path(get, path = "/api/worktrees/{name}/check/{check}/log", tag = "checks",
    params(("name" = String, Path), ("check" = String, Path), ProjectQuery, AfterQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn check_run_log(
    State(app): State<Arc<App>>,
    Path((name, check)): Path<(String, String)>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<AfterQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.merge_queue.check_run_log(&choice, &Subject::Worktree(name), &check, q.after).await?)
}

/// Runs the checks of a `flower.toml` that MAIN does not have, on MAIN with this file.
#[utoipa::path(post, path = "/api/main/settings/try", tag = "checks", params(ProjectQuery), request_body = LandSettings,
    responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn try_settings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<LandSettings>,
) -> Answer<CheckRunView> {
    run_detached(async move { app.merge_queue.try_settings(&caller, &project.into(), &b.text, None).await }).await
}

/// The newest trial of a `flower.toml`.
#[utoipa::path(get, path = "/api/main/settings/try", tag = "checks", params(ProjectQuery),
    responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn show_trial(
    State(app): State<Arc<App>>,
    Query(project): Query<ProjectQuery>,
) -> Answer<CheckRunView> {
    Ok(Json(app.merge_queue.show_check(&project.into(), &Subject::Proposal).await?))
}

/// Cancels the trial, unless it has ended.
#[utoipa::path(delete, path = "/api/main/settings/try", tag = "checks", params(ProjectQuery),
    responses((status = 200, body = CheckRunView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_trial(
    State(app): State<Arc<App>>,
    Query(project): Query<ProjectQuery>,
) -> Answer<CheckRunView> {
    run_detached(async move { app.merge_queue.cancel_check(&project.into(), &Subject::Proposal).await }).await
}

/// The output of one check of the trial, from a position on.
#[utoipa::path(get, path = "/api/main/settings/try/{check}/log", tag = "checks",
    params(("check" = String, Path), ProjectQuery, AfterQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn trial_log(
    State(app): State<Arc<App>>,
    Path(check): Path<String>,
    Query(project): Query<ProjectQuery>,
    Query(q): Query<AfterQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.merge_queue.check_run_log(&project.into(), &Subject::Proposal, &check, q.after).await?)
}
