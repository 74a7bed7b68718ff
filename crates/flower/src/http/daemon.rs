//! The daemon: its status, its end, and the doctor.

use super::answer::{Answer, Rejection};
use super::extract::{ProjectQuery, Query, Who};
use super::serve::Shutdown;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use flower_contract::view::{Finding, StatusView};
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatusQuery {
    /// Examines MAIN first, as `/api/main` does.
    #[serde(default)]
    live: bool,
}

#[utoipa::path(get, path = "/api/status", tag = "daemon", params(ProjectQuery, StatusQuery),
    responses((status = 200, body = StatusView)))]
pub(super) async fn status(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Query(q): Query<StatusQuery>,
) -> Answer<StatusView> {
    Ok(Json(app.overview.status(&caller, project.into(), q.live).await?))
}

/// Stops the daemon after the requests that are in progress.
#[utoipa::path(post, path = "/api/shutdown", tag = "daemon", responses((status = 202)))]
pub(super) async fn shutdown(Extension(shutdown): Extension<Shutdown>) -> Result<StatusCode, Rejection> {
    shutdown.begin();
    Ok(StatusCode::ACCEPTED)
}

/// Examines the installation and all projects.
#[utoipa::path(get, path = "/api/doctor", tag = "daemon", responses((status = 200, body = Vec<Finding>)))]
pub(super) async fn doctor(State(app): State<Arc<App>>) -> Answer<Vec<Finding>> {
    Ok(Json(app.overview.doctor(false).await?))
}

/// Examines the installation and all projects, and repairs what can be repaired without loss.
#[utoipa::path(post, path = "/api/doctor", tag = "daemon", responses((status = 200, body = Vec<Finding>)))]
pub(super) async fn mend(State(app): State<Arc<App>>) -> Answer<Vec<Finding>> {
    Ok(Json(app.overview.doctor(true).await?))
}
