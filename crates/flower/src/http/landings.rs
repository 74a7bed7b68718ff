//! Landings, and MAIN.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Path, Query, Who};
use super::worktrees::{Which, spawned};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Land, LandSettings, Rescue, RevertRequest, Why};
use flower_contract::schema;
use flower_contract::view::{
    HaltView, HistoryEntry, LandingView, MainProof, MainView, ProposalView, PullView, RescueView,
};
use flower_core::landing::{Priority, Revert};
use flower_core::review::Side;
use flower_engine::App;
use flower_engine::merge_queue::LandOptions;
use flower_engine::projects::ProjectChoice;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::IntoParams;

/// More than a person reads at once.
const PAGE: u64 = 100;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// Also what has ended, newest first.
    #[serde(default)]
    all: bool,
    limit: Option<u64>,
}

/// What waits to land, in the order in which it will.
#[utoipa::path(get, path = "/api/landings", tag = "landings", params(ListQuery), responses((status = 200, body = Vec<LandingView>)))]
pub(super) async fn list_landings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<LandingView>> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    let limit = q.limit.unwrap_or(if q.all { PAGE } else { u64::MAX >> 1 });
    Ok(Json(app.merge_queue.queue(&caller, &choice, q.all, limit).await?))
}

/// Queues what is committed in a worktree.
#[utoipa::path(post, path = "/api/worktrees/{name}/land", tag = "landings", params(("name" = String, Path), Which),
    request_body = Land, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn land(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    Body(b): Body<Land>,
) -> Answer<LandingView> {
    let wish = LandOptions { briefs: b.briefs, title: b.title, priority: b.priority.unwrap_or(Priority::Normal) };
    spawned(async move { app.merge_queue.land(&caller, &which.into(), &name, wish).await }).await
}

#[utoipa::path(get, path = "/api/landings/{number}", tag = "landings", params(("number" = u64, Path)),
    responses((status = 200, body = LandingView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_landing(State(app): State<Arc<App>>, Path(number): Path<u64>) -> Answer<LandingView> {
    Ok(Json(app.merge_queue.show(number).await?))
}

#[utoipa::path(post, path = "/api/landings/{number}/cancel", tag = "landings", params(("number" = u64, Path)),
    request_body = Why, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Why>,
) -> Answer<LandingView> {
    spawned(async move { app.merge_queue.cancel(&caller, number, b.why).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ApproveQuery {
    /// Let it in without the checks that it removes or changes in `flower.toml`.
    #[serde(default)]
    waive: bool,
}

/// Lets in what the gate holds back, and the commands that it brings along.
#[utoipa::path(post, path = "/api/landings/{number}/approve", tag = "landings", params(("number" = u64, Path), ApproveQuery),
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn approve_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Query(q): Query<ApproveQuery>,
) -> Answer<LandingView> {
    Ok(Json(app.merge_queue.approve(&caller, number, q.waive).await?))
}

/// Queues the reverse of it. Once that has landed its briefs are parked, or a `fix` is dispatched.
#[utoipa::path(post, path = "/api/landings/{number}/revert", tag = "landings", params(("number" = u64, Path)),
    request_body = RevertRequest, responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn revert_landing(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<RevertRequest>,
) -> Answer<LandingView> {
    let revert = Revert { of: number, why: b.why, fix: b.fix };
    spawned(async move { app.merge_queue.revert(&caller, revert).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AfterQuery {
    /// Bytes that are known already.
    #[serde(default)]
    after: u64,
}

/// The output of one of its checks.
#[utoipa::path(get, path = "/api/landings/{number}/checks/{check}/log", tag = "landings",
    params(("number" = u64, Path), ("check" = String, Path), AfterQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn check_log(
    State(app): State<Arc<App>>,
    Path((number, check)): Path<(u64, String)>,
    Query(q): Query<AfterQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.merge_queue.check_log(number, &check, q.after).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    #[serde(default)]
    stat: bool,
    /// One of its commits, instead of all of them.
    commit: Option<String>,
}

/// Its changes against MAIN.
#[utoipa::path(get, path = "/api/worktrees/{name}/diff", tag = "landings", params(("name" = String, Path), DiffQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn diff_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(q): Query<DiffQuery>,
) -> Result<Vec<u8>, Rejection> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    Ok(app.review.diff_worktree(&choice, &name, q.commit.as_deref(), q.stat).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FileQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// As the diff names it.
    file: String,
    /// `old` as MAIN had it when the branch left; `new`, as the branch has it, unless it is said.
    #[param(value_type = Option<schema::Side>)]
    side: Option<Side>,
    /// As this one of its commits has it, or the one before.
    commit: Option<String>,
}

/// A file, for what stands around its changes.
#[utoipa::path(get, path = "/api/worktrees/{name}/file", tag = "landings", params(("name" = String, Path), FileQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn file_of_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(q): Query<FileQuery>,
) -> Result<Vec<u8>, Rejection> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    Ok(app.review.file_of(&choice, &name, q.commit.as_deref(), &q.file, q.side.unwrap_or(Side::New)).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LandingDiffQuery {
    #[serde(default)]
    stat: bool,
}

/// What it changes in MAIN, as it was merged or would be.
#[utoipa::path(get, path = "/api/landings/{number}/diff", tag = "landings",
    params(("number" = u64, Path), LandingDiffQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn diff_landing(
    State(app): State<Arc<App>>,
    Path(number): Path<u64>,
    Query(q): Query<LandingDiffQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.review.diff_landing(number, q.stat).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LandingFileQuery {
    /// As the diff names it.
    file: String,
    /// `old` as MAIN had it before; `new` unless it is said.
    #[param(value_type = Option<schema::Side>)]
    side: Option<Side>,
}

/// A file, for what stands around its changes.
#[utoipa::path(get, path = "/api/landings/{number}/file", tag = "landings",
    params(("number" = u64, Path), LandingFileQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn file_of_landing(
    State(app): State<Arc<App>>,
    Path(number): Path<u64>,
    Query(q): Query<LandingFileQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.review.file_of_landing(number, &q.file, q.side.unwrap_or(Side::New)).await?)
}

/// MAIN, looked at live.
#[utoipa::path(get, path = "/api/main", tag = "main", params(Which),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn show_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<MainView> {
    Ok(Json(app.merge_queue.main_view(&app.access.choice(&caller, which.into()).await?).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    limit: Option<u64>,
}

/// MAIN's history by landing and brief.
#[utoipa::path(get, path = "/api/main/log", tag = "main", params(LogQuery),
    responses((status = 200, body = Vec<HistoryEntry>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn main_log(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<LogQuery>,
) -> Answer<Vec<HistoryEntry>> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    Ok(Json(app.merge_queue.main_log(&choice, q.limit.unwrap_or(PAGE).min(10_000)).await?))
}

/// Whether MAIN is what the log says.
#[utoipa::path(get, path = "/api/main/verify", tag = "main", params(Which),
    responses((status = 200, body = MainProof), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn verify_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<MainProof> {
    Ok(Json(app.merge_queue.verify_main(&app.access.choice(&caller, which.into()).await?).await?))
}

/// Makes what was done in MAIN by hand a worktree.
#[utoipa::path(post, path = "/api/main/rescue", tag = "main", params(Which), request_body = Rescue,
    responses((status = 200, body = RescueView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn rescue_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<Rescue>,
) -> Answer<RescueView> {
    spawned(async move { app.merge_queue.rescue_main(&caller, &which.into(), b.name).await }).await
}

/// Takes commits that were made in MAIN by hand in, through the checks.
#[utoipa::path(post, path = "/api/main/adopt", tag = "main", params(Which),
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn adopt_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<LandingView> {
    spawned(async move { app.merge_queue.adopt_main(&caller, &which.into()).await }).await
}

/// Puts MAIN back to where the log has it.
#[utoipa::path(post, path = "/api/main/restore", tag = "main", params(Which),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn restore_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<MainView> {
    spawned(async move { app.merge_queue.restore_main(&caller, &which.into()).await }).await
}

/// Queues what is new at MAIN's remote.
#[utoipa::path(post, path = "/api/main/pull", tag = "main", params(Which),
    responses((status = 200, body = PullView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn pull_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<PullView> {
    spawned(async move { app.merge_queue.pull_main(&caller, &which.into()).await }).await
}

/// Pushes MAIN to its remote now.
#[utoipa::path(post, path = "/api/main/push", tag = "main", params(Which),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn push_main(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<MainView> {
    spawned(async move {
        let choice = which.into();
        app.merge_queue.push_main(&caller, &choice).await?;
        app.merge_queue.main_view(&choice).await
    })
    .await
}

#[utoipa::path(post, path = "/api/main/freeze", tag = "main", params(Which), request_body = Why,
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn freeze(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<Why>,
) -> Answer<MainView> {
    Ok(Json(app.merge_queue.freeze(&caller, &which.into(), b.why).await?))
}

#[utoipa::path(post, path = "/api/main/thaw", tag = "main", params(Which),
    responses((status = 200, body = MainView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn thaw(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<MainView> {
    Ok(Json(app.merge_queue.thaw(&caller, &which.into()).await?))
}

/// Everything stopped, in all projects.
#[utoipa::path(post, path = "/api/halt", tag = "main", request_body = Why, responses((status = 200, body = HaltView)))]
pub(super) async fn halt(State(app): State<Arc<App>>, Who(caller): Who, Body(b): Body<Why>) -> Answer<HaltView> {
    let why = b.why.clone().unwrap_or_else(|| "halted".to_owned());
    let halted = app.agents.halt(&caller, b.why).await?;
    Ok(Json(HaltView { halted, why }))
}

/// The `flower.toml` that flower would write.
#[utoipa::path(get, path = "/api/main/settings", tag = "main", params(Which),
    responses((status = 200, body = ProposalView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn propose_settings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<ProposalView> {
    Ok(Json(app.merge_queue.propose_settings(&app.access.choice(&caller, which.into()).await?).await?))
}

/// Queues a `flower.toml`.
#[utoipa::path(post, path = "/api/main/settings", tag = "main", params(Which), request_body = LandSettings,
    responses((status = 200, body = LandingView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn land_settings(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<LandSettings>,
) -> Answer<LandingView> {
    spawned(async move { app.merge_queue.land_settings(&caller, &which.into(), &b.text).await }).await
}
