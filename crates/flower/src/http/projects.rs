//! `/api/projects`, and the commands of their `flower.toml`.

use super::answer::Answer;
use super::extract::{Body, Path, Who, run_detached};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Approve, MoveProject, NewProject, RenameProject};
use flower_contract::view::{CommandsView, ProjectView, RemovedProject};
use flower_engine::App;
use std::sync::Arc;

#[utoipa::path(get, path = "/api/projects", tag = "projects", responses((status = 200, body = Vec<ProjectView>)))]
pub(super) async fn list_projects(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<ProjectView>> {
    Ok(Json(app.registration.list(&caller).await?))
}

/// Makes a repository a project. Does nothing if it is one.
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    responses((status = 200, body = ProjectView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn register_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<NewProject>,
) -> Answer<ProjectView> {
    run_detached(async move { app.registration.register(&caller, &b.dir, b.name).await }).await
}

#[utoipa::path(delete, path = "/api/projects/{name}", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = RemovedProject), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn remove_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<RemovedProject> {
    run_detached(async move { app.registration.remove(&caller, &name).await }).await
}

/// What would remain after the removal of a project, and where.
#[utoipa::path(get, path = "/api/projects/{name}/removal", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = RemovedProject), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn preview_removal(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<RemovedProject> {
    Ok(Json(app.registration.preview_removal(&caller, &name).await?))
}

/// Records that the repository of a project lies elsewhere now, and repairs its worktrees.
#[utoipa::path(post, path = "/api/projects/{name}/move", tag = "projects", params(("name" = String, Path)),
    request_body = MoveProject, responses((status = 200, body = ProjectView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn move_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<MoveProject>,
) -> Answer<ProjectView> {
    run_detached(async move { app.registration.relocate(&caller, &name, &b.path).await }).await
}

/// Gives a project another name. Requests with the old name are refused, and name the new one.
#[utoipa::path(post, path = "/api/projects/{name}/rename", tag = "projects", params(("name" = String, Path)),
    request_body = RenameProject, responses((status = 200, body = ProjectView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn rename_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<RenameProject>,
) -> Answer<ProjectView> {
    run_detached(async move { app.registration.rename(&caller, &name, &b.name).await }).await
}

/// The commands of the project's `flower.toml`, and whether they are approved.
#[utoipa::path(get, path = "/api/projects/{name}/commands", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = CommandsView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn commands(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer<CommandsView> {
    Ok(Json(app.worktrees.project_commands(&name).await?))
}

/// Approves these commands. A changed command needs approval again.
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
