//! `/api/leases`: reserved paths, and the hooks of commits.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Query, Who, WorktreeQuery};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Commit, TakeLease};
use flower_contract::view::LeaseView;
use flower_core::LeaseId;
use flower_engine::App;
use flower_engine::projects::ProjectChoice;
use std::sync::Arc;
use std::time::Duration;

#[utoipa::path(get, path = "/api/leases", tag = "dispatches", params(ProjectQuery, WorktreeQuery), responses((status = 200, body = Vec<LeaseView>)))]
pub(super) async fn list_leases(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<WorktreeQuery>,
) -> Answer<Vec<LeaseView>> {
    Ok(Json(app.leases.list(&caller, &choice, q.worktree.as_deref()).await?))
}

#[utoipa::path(post, path = "/api/leases", tag = "dispatches", params(ProjectQuery, WorktreeQuery), request_body = TakeLease,
    responses((status = 200, body = LeaseView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn take_lease(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<WorktreeQuery>,
    Body(b): Body<TakeLease>,
) -> Answer<LeaseView> {
    let time = b.seconds.map(Duration::from_secs);
    Ok(Json(app.leases.take(&caller, &choice, q.worktree.as_deref(), b.patterns, time, b.holder).await?))
}

/// Releases all leases of the caller in the worktree.
#[utoipa::path(delete, path = "/api/leases", tag = "dispatches", params(ProjectQuery, WorktreeQuery),
    responses((status = 200, body = Vec<LeaseView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn release_leases(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<WorktreeQuery>,
) -> Answer<Vec<LeaseView>> {
    Ok(Json(app.leases.release(&caller, &choice, None, q.worktree.as_deref()).await?))
}

#[utoipa::path(delete, path = "/api/leases/{number}", tag = "dispatches", params(("number" = u64, Path)),
    responses((status = 200, body = Vec<LeaseView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn release_lease(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<LeaseId>,
) -> Answer<Vec<LeaseView>> {
    Ok(Json(app.leases.release(&caller, &ProjectChoice::default(), Some(number), None).await?))
}

/// Called by the hooks of a worktree: before a commit with its paths, after it with the new commit.
#[utoipa::path(post, path = "/api/worktrees/{name}/commit", tag = "dispatches", params(("name" = String, Path), ProjectQuery),
    request_body = Commit, responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn commit(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Body(b): Body<Commit>,
) -> Result<StatusCode, Rejection> {
    match b.made {
        Some(commit) => app.leases.end_commit(&caller, &choice, &name, &commit).await?,
        None => app.leases.begin_commit(&caller, &choice, &name, &b.paths).await?,
    }
    Ok(StatusCode::NO_CONTENT)
}
