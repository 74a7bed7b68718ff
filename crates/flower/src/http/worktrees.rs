//! `/api/worktrees`, and `/api/archives` of removed ones.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Query, Who, run_detached};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{NewWorktree, Restore};
use flower_contract::view::{ArchiveView, EnterView, SyncView, WorktreeView};
use flower_core::worktree::{Seal, WorktreeKind};
use flower_core::{BriefId, WorktreeId};
use flower_engine::App;
use flower_engine::worktrees::NewWorktree as WorktreeOptions;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[utoipa::path(get, path = "/api/worktrees", tag = "worktrees", params(ProjectQuery), responses((status = 200, body = Vec<WorktreeView>)))]
pub(super) async fn list_worktrees(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
) -> Answer<Vec<WorktreeView>> {
    Ok(Json(app.worktrees.list(&caller, &choice).await?))
}

#[utoipa::path(post, path = "/api/worktrees", tag = "worktrees", params(ProjectQuery), request_body = NewWorktree,
    responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<NewWorktree>,
) -> Answer<WorktreeView> {
    let options = WorktreeOptions {
        name: b.name,
        kind: b.kind.unwrap_or(WorktreeKind::Ephemeral),
        seal: b.seal.unwrap_or(Seal::Sealed),
        from: b.from,
        brief: b.brief.map(BriefId),
        no_setup: b.no_setup,
        lfs_pointers: b.lfs_pointers,
    };
    run_detached(async move {
        let project = app.registration.project_for_new(&caller, &project.into()).await?;
        app.worktrees.create(&caller, &project, options).await
    })
    .await
}

#[utoipa::path(get, path = "/api/worktrees/{name}", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = WorktreeView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<WorktreeView> {
    Ok(Json(app.worktrees.show(&choice, &name).await?))
}

/// Removes a worktree. Uncommitted files and commits that are not in MAIN are archived and can be restored.
#[utoipa::path(delete, path = "/api/worktrees/{name}", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn remove_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(project): Query<ProjectQuery>,
) -> Answer<WorktreeView> {
    run_detached(async move { app.worktrees.remove(&caller, &project.into(), &name).await }).await
}

/// Imports new commits of the worktree, and merges MAIN into it.
#[utoipa::path(post, path = "/api/worktrees/{name}/sync", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = SyncView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn sync_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<SyncView> {
    run_detached(async move { app.worktrees.sync(&choice, &name).await }).await
}

#[utoipa::path(post, path = "/api/worktrees/{name}/restore", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    request_body = Restore, responses((status = 200, body = WorktreeView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn restore_worktree(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<Restore>,
) -> Answer<WorktreeView> {
    run_detached(async move { app.worktrees.restore(&caller, &project.into(), &name, b.number.map(WorktreeId)).await })
        .await
}

/// The command that runs a program inside the worktree, on this machine.
#[utoipa::path(post, path = "/api/worktrees/{name}/enter", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = EnterView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn enter_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<EnterView> {
    Ok(Json(app.worktrees.enter(&choice, &name).await?))
}

/// Imports new commits of the worktree.
#[utoipa::path(post, path = "/api/worktrees/{name}/mirror", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn mirror_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Result<StatusCode, Rejection> {
    run_detached(async move { app.worktrees.mirror_named(&choice, &name).await }).await.map(|_| StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// A position in bytes.
    #[serde(default)]
    after: u64,
}

/// The output of the setup commands, from a position on.
#[utoipa::path(get, path = "/api/worktrees/{name}/setup-log", tag = "worktrees", params(("name" = String, Path), ProjectQuery, LogQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn setup_log(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<LogQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.worktrees.setup_log(&choice, &name, q.after).await?)
}

#[utoipa::path(get, path = "/api/archives", tag = "worktrees", params(ProjectQuery), responses((status = 200, body = Vec<ArchiveView>)))]
pub(super) async fn archives(
    State(app): State<Arc<App>>,
    Query(project): Query<ProjectQuery>,
) -> Answer<Vec<ArchiveView>> {
    Ok(Json(app.worktrees.archives(&project.into()).await?))
}

/// Deletes the archive of a removed worktree.
#[utoipa::path(delete, path = "/api/archives/{number}", tag = "worktrees", params(("number" = u64, Path)),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn drop_archive(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<WorktreeId>,
) -> Result<StatusCode, Rejection> {
    app.worktrees.drop_archive(&caller, number).await?;
    Ok(StatusCode::NO_CONTENT)
}
