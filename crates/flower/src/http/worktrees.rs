//! Worktrees, what is kept of removed ones, and the commands that projects bring along.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Path, Query, Who};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::{Problem, ProblemEnvelope};
use flower_contract::request::{Approve, NewComment, NewWorktree, Restore};
use flower_contract::view::{
    ArchiveView, CommandsView, CommentView, CommitView, EnterView, Finding, SyncView, WorktreeView,
};
use flower_core::review::Side;
use flower_core::worktree::{Seal, WorktreeKind};
use flower_engine::App;
use flower_engine::projects::ProjectChoice;
use flower_engine::review::LineComment;
use flower_engine::worktrees::NewWorktree as Wanted;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use tracing::Instrument as _;
use utoipa::IntoParams;

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
}

impl From<Which> for ProjectChoice {
    fn from(which: Which) -> ProjectChoice {
        ProjectChoice { name: which.project, dir: which.dir }
    }
}

#[utoipa::path(get, path = "/api/worktrees", tag = "worktrees", params(Which), responses((status = 200, body = Vec<WorktreeView>)))]
pub(super) async fn list_worktrees(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
) -> Answer<Vec<WorktreeView>> {
    let choice = app.access.choice(&caller, which.into()).await?;
    Ok(Json(app.worktrees.list(&caller, &choice).await?))
}

#[utoipa::path(post, path = "/api/worktrees", tag = "worktrees", params(Which), request_body = NewWorktree,
    responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<NewWorktree>,
) -> Answer<WorktreeView> {
    let wanted = Wanted {
        name: b.name,
        kind: b.kind.unwrap_or(WorktreeKind::Ephemeral),
        seal: b.seal.unwrap_or(Seal::Sealed),
        from: b.from,
        brief: b.brief,
        no_setup: b.no_setup,
        lfs_pointers: b.lfs_pointers,
    };
    // On a task of its own: whoever asked may hang up, what was begun is finished.
    spawned(async move {
        let project = app.registration.project_for_new(&caller, &which.into()).await?;
        app.worktrees.create(&caller, &project, wanted).await
    })
    .await
}

#[utoipa::path(get, path = "/api/worktrees/{name}", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = WorktreeView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<WorktreeView> {
    Ok(Json(app.worktrees.show(&app.access.choice(&caller, which.into()).await?, &name).await?))
}

/// Removes it. What is not committed, and what is not in MAIN, is kept and can be restored.
#[utoipa::path(delete, path = "/api/worktrees/{name}", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn remove_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<WorktreeView> {
    spawned(async move { app.worktrees.remove(&caller, &which.into(), &name).await }).await
}

/// Brings new commits out and MAIN's newest in.
#[utoipa::path(post, path = "/api/worktrees/{name}/sync", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = SyncView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn sync_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<SyncView> {
    let choice = app.access.choice(&caller, which.into()).await?;
    spawned(async move { app.worktrees.sync(&choice, &name).await }).await
}

#[utoipa::path(post, path = "/api/worktrees/{name}/restore", tag = "worktrees", params(("name" = String, Path), Which),
    request_body = Restore, responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn restore_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    Body(b): Body<Restore>,
) -> Answer<WorktreeView> {
    spawned(async move { app.worktrees.restore(&caller, &which.into(), &name, b.number).await }).await
}

/// How to run something inside of it, on this machine.
#[utoipa::path(post, path = "/api/worktrees/{name}/enter", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = EnterView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn enter_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<EnterView> {
    Ok(Json(app.worktrees.enter(&app.access.choice(&caller, which.into()).await?, &name).await?))
}

/// What it has that MAIN has not, newest first.
#[utoipa::path(get, path = "/api/worktrees/{name}/commits", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = Vec<CommitView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn worktree_commits(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<Vec<CommitView>> {
    Ok(Json(app.review.commits(&app.access.choice(&caller, which.into()).await?, &name).await?))
}

/// What was said about lines of its changes.
#[utoipa::path(get, path = "/api/worktrees/{name}/comments", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 200, body = Vec<CommentView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn list_comments(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Answer<Vec<CommentView>> {
    Ok(Json(app.review.comments(&app.access.choice(&caller, which.into()).await?, &name).await?))
}

/// Says something about a line. It reaches the agent that has reserved the file, or else the one that leads the work, or else
/// whoever comes into the worktree next.
#[utoipa::path(post, path = "/api/worktrees/{name}/comments", tag = "worktrees", params(("name" = String, Path), Which),
    request_body = NewComment, responses((status = 200, body = CommentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn comment(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    Body(b): Body<NewComment>,
) -> Answer<CommentView> {
    let NewComment { file, line, side, text, quote } = b;
    let saying = LineComment { file, line, side: side.unwrap_or(Side::New), text, quote };
    Ok(Json(app.review.comment(&caller, &which.into(), &name, saying).await?))
}

/// Looks whether anything was committed inside.
#[utoipa::path(post, path = "/api/worktrees/{name}/mirror", tag = "worktrees", params(("name" = String, Path), Which),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn mirror_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
) -> Result<StatusCode, Rejection> {
    let choice = app.access.choice(&caller, which.into()).await?;
    spawned(async move { app.worktrees.mirror_named(&choice, &name).await }).await.map(|_| StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// Bytes that are known already.
    #[serde(default)]
    after: u64,
}

/// The output of its setup commands.
#[utoipa::path(get, path = "/api/worktrees/{name}/setup-log", tag = "worktrees", params(("name" = String, Path), LogQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn setup_log(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(q): Query<LogQuery>,
) -> Result<Vec<u8>, Rejection> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    Ok(app.worktrees.setup_log(&choice, &name, q.after).await?)
}

#[utoipa::path(get, path = "/api/archives", tag = "worktrees", params(Which), responses((status = 200, body = Vec<ArchiveView>)))]
pub(super) async fn archives(State(app): State<Arc<App>>, Query(which): Query<Which>) -> Answer<Vec<ArchiveView>> {
    Ok(Json(app.worktrees.archives(&which.into()).await?))
}

/// Deletes what was kept of a removed worktree.
#[utoipa::path(delete, path = "/api/archives/{number}", tag = "worktrees", params(("number" = u64, Path)),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn drop_archive(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
) -> Result<StatusCode, Rejection> {
    app.worktrees.drop_archive(&caller, number).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The commands that the project's `flower.toml` brings along.
#[utoipa::path(get, path = "/api/projects/{name}/commands", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = CommandsView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn commands(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer<CommandsView> {
    Ok(Json(app.worktrees.project_commands(&name).await?))
}

/// Lets them run, as long as they stay as they are.
#[utoipa::path(post, path = "/api/projects/{name}/commands", tag = "projects", params(("name" = String, Path)),
    request_body = Approve, responses((status = 200, body = CommandsView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn approve(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<Approve>,
) -> Answer<CommandsView> {
    Ok(Json(app.worktrees.approve_commands(&caller, &name, &b.sha256).await?))
}

/// Looks for what is wrong.
#[utoipa::path(get, path = "/api/doctor", tag = "daemon", responses((status = 200, body = Vec<Finding>)))]
pub(super) async fn doctor(State(app): State<Arc<App>>) -> Answer<Vec<Finding>> {
    Ok(Json(app.overview.doctor(false).await?))
}

/// Looks for what is wrong, and mends it where that is safe.
#[utoipa::path(post, path = "/api/doctor", tag = "daemon", responses((status = 200, body = Vec<Finding>)))]
pub(super) async fn mend(State(app): State<Arc<App>>) -> Answer<Vec<Finding>> {
    Ok(Json(app.overview.doctor(true).await?))
}

pub(super) async fn spawned<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Answer<T> {
    Ok(Json(tokio::spawn(work.in_current_span()).await.map_err(|error| Problem::bug(error.to_string()))??))
}
