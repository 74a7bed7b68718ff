//! `/api/main`: MAIN, its history, what settles an alarm, its remote and its settings; `/api/halt`.

use super::answer::Answer;
use super::extract::{Body, ChosenProject, ProjectQuery, Query, Who, run_detached};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{LandSettings, Rescue, Why};
use flower_contract::view::{
    HaltView, HistoryEntry, LandingView, MainProof, MainView, ProposalView, PullView, RescueView, ThawView,
};
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Commits of a page unless the query names a number.
const PAGE: u64 = 100;
const MAX_PAGE: u64 = 10_000;

/// The current state of MAIN.
#[utoipa::path(get, path = "/api/main", tag = "main", params(ProjectQuery),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn show_main(State(app): State<Arc<App>>, ChosenProject(choice): ChosenProject) -> Answer<MainView> {
    Ok(Json(app.merge_queue.main_view(&choice).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// At most 10,000.
    limit: Option<u64>,
}

/// The history of MAIN by landing and brief.
#[utoipa::path(get, path = "/api/main/log", tag = "main", params(ProjectQuery, LogQuery),
    responses((status = 200, body = Vec<HistoryEntry>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn main_log(
    State(app): State<Arc<App>>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<LogQuery>,
) -> Answer<Vec<HistoryEntry>> {
    Ok(Json(app.merge_queue.main_log(&choice, q.limit.unwrap_or(PAGE).min(MAX_PAGE)).await?))
}

/// Whether MAIN is in the state that the log records.
#[utoipa::path(get, path = "/api/main/verify", tag = "main", params(ProjectQuery),
    responses((status = 200, body = MainProof), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn verify_main(
    State(app): State<Arc<App>>,
    ChosenProject(choice): ChosenProject,
) -> Answer<MainProof> {
    Ok(Json(app.merge_queue.verify_main(&choice).await?))
}

/// Moves changes that were made in MAIN by hand into a worktree.
#[utoipa::path(post, path = "/api/main/rescue", tag = "main", params(ProjectQuery), request_body = Rescue,
    responses((status = 200, body = RescueView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn rescue_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<Rescue>,
) -> Answer<RescueView> {
    run_detached(async move { app.merge_queue.rescue_main(&caller, &project.into(), b.name, &b.paths).await }).await
}

/// Queues commits that were made in MAIN by hand as a landing with checks.
#[utoipa::path(post, path = "/api/main/adopt", tag = "main", params(ProjectQuery),
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn adopt_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
) -> Answer<LandingView> {
    run_detached(async move { app.merge_queue.adopt_main(&caller, &project.into()).await }).await
}

/// Resets MAIN to the commit that the log records.
#[utoipa::path(post, path = "/api/main/restore", tag = "main", params(ProjectQuery),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn restore_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
) -> Answer<MainView> {
    run_detached(async move { app.merge_queue.restore_main(&caller, &project.into()).await }).await
}

/// Queues the new commits of MAIN's remote.
#[utoipa::path(post, path = "/api/main/pull", tag = "main", params(ProjectQuery),
    responses((status = 200, body = PullView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn pull_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
) -> Answer<PullView> {
    run_detached(async move { app.merge_queue.pull_main(&caller, &project.into()).await }).await
}

/// Pushes MAIN to its remote now.
#[utoipa::path(post, path = "/api/main/push", tag = "main", params(ProjectQuery),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn push_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
) -> Answer<MainView> {
    run_detached(async move { app.merge_queue.push_main(&caller, &project.into()).await }).await
}

#[utoipa::path(post, path = "/api/main/freeze", tag = "main", params(ProjectQuery), request_body = Why,
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn freeze(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<Why>,
) -> Answer<MainView> {
    Ok(Json(app.merge_queue.freeze(&caller, &project.into(), b.why).await?))
}

#[utoipa::path(post, path = "/api/main/thaw", tag = "main", params(ProjectQuery),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn thaw(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
) -> Answer<MainView> {
    Ok(Json(app.merge_queue.thaw(&caller, &project.into()).await?))
}

/// Resumes landings and agents in all projects.
#[utoipa::path(post, path = "/api/thaw", tag = "main", responses((status = 200, body = ThawView)))]
pub(super) async fn thaw_all(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<ThawView> {
    Ok(Json(ThawView { thawed: app.merge_queue.thaw_all(&caller).await? }))
}

/// Stops landings, checks and agents in all projects.
#[utoipa::path(post, path = "/api/halt", tag = "main", request_body = Why, responses((status = 200, body = HaltView)))]
pub(super) async fn halt(State(app): State<Arc<App>>, Who(caller): Who, Body(b): Body<Why>) -> Answer<HaltView> {
    Ok(Json(app.agents.halt(&caller, b.why).await?))
}

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AnewQuery {
    /// Propose one from the files of the repository, also if MAIN or its checkout has one.
    #[serde(default)]
    anew: bool,
}

/// A proposed `flower.toml`.
#[utoipa::path(get, path = "/api/main/settings", tag = "main", params(ProjectQuery, AnewQuery),
    responses((status = 200, body = ProposalView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn propose_settings(
    State(app): State<Arc<App>>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<AnewQuery>,
) -> Answer<ProposalView> {
    Ok(Json(app.merge_queue.propose_settings(&choice, q.anew).await?))
}

/// Queues a `flower.toml` as a landing.
#[utoipa::path(post, path = "/api/main/settings", tag = "main", params(ProjectQuery), request_body = LandSettings,
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn land_settings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<LandSettings>,
) -> Answer<LandingView> {
    run_detached(async move { app.merge_queue.land_settings(&caller, &project.into(), &b.text).await }).await
}
