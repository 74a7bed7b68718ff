//! Agents that flower runs: starting and stopping them, what they do, what they ask for, what they cost.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Path, Query, Who};
use super::worktrees::{Which, spawned};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Decide, GiveKeys, SpawnAgent, Why};
use flower_contract::view::{AgentView, PermissionView, ProfileView, SpendView, TranscriptView};
use flower_core::Role;
use flower_engine::App;
use flower_engine::agents::SpawnRequest;
use flower_engine::projects::ProjectChoice;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::IntoParams;

const PAGE: u64 = 200;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// Also those that have ended, newest first.
    #[serde(default)]
    all: bool,
    limit: Option<u64>,
}

/// Agents that flower runs, as they are at this moment.
#[utoipa::path(get, path = "/api/agents", tag = "agents", params(ListQuery), responses((status = 200, body = Vec<AgentView>)))]
pub(super) async fn list_agents(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<AgentView>> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    Ok(Json(app.agents.list(&caller, &choice, q.all, q.limit.unwrap_or(PAGE)).await?))
}

/// Starts one: for a brief, or to stay in a worktree.
#[utoipa::path(post, path = "/api/agents", tag = "agents", params(Which), request_body = SpawnAgent,
    responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn spawn_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<SpawnAgent>,
) -> Answer<AgentView> {
    let spawn = SpawnRequest {
        profile: b.profile,
        name: b.name,
        worktree: b.worktree,
        brief: b.brief,
        standing: b.standing,
        role: b.role.unwrap_or(Role::Worker),
    };
    spawned(async move { app.agents.spawn(&caller, &which.into(), spawn).await }).await
}

#[utoipa::path(get, path = "/api/agents/{name}", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_agent(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer<AgentView> {
    Ok(Json(app.agents.show(&name).await?))
}

/// Stops it with everything it started.
#[utoipa::path(post, path = "/api/agents/{name}/stop", tag = "agents", params(("name" = String, Path)),
    request_body = Why, responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn stop_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<Why>,
) -> Answer<AgentView> {
    spawned(async move { app.agents.stop(&caller, &name, b.why).await }).await
}

/// Lets a fresh one go on from a hand-over note.
#[utoipa::path(post, path = "/api/agents/{name}/refresh", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn refresh_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<AgentView> {
    Ok(Json(app.agents.refresh(&caller, &name).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// A position; the last of it unless said.
    after: Option<u64>,
    /// Waits a while for more, if there is none.
    #[serde(default)]
    wait: bool,
}

/// What it said and did, and what it was told.
#[utoipa::path(get, path = "/api/agents/{name}/log", tag = "agents", params(("name" = String, Path), LogQuery),
    responses((status = 200, body = TranscriptView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn agent_log(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(q): Query<LogQuery>,
) -> Answer<TranscriptView> {
    let page = app.agents.log(&name, q.after).await?;
    match q.after.filter(|_| q.wait && page.entries.is_empty() && !page.over) {
        Some(after) => {
            app.agents.wait_for_log(&name, after).await?;
            Ok(Json(app.agents.log(&name, q.after).await?))
        }
        None => Ok(Json(page)),
    }
}

/// Which agents can run on this machine, and what is missing for the others.
#[utoipa::path(get, path = "/api/agent-profiles", tag = "agents", responses((status = 200, body = Vec<ProfileView>)))]
pub(super) async fn profiles(State(app): State<Arc<App>>) -> Answer<Vec<ProfileView>> {
    Ok(Json(app.profiles.list().await?))
}

/// Names of the variables that profiles want from the operator's environment.
#[utoipa::path(get, path = "/api/agent-keys", tag = "agents", responses((status = 200, body = Vec<String>)))]
pub(super) async fn wanted_keys(State(app): State<Arc<App>>) -> Answer<Vec<String>> {
    Ok(Json(app.profiles.wanted_keys()?))
}

/// Their values. They are held in memory only, and never shown.
#[utoipa::path(post, path = "/api/agent-keys", tag = "agents", request_body = GiveKeys,
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn give_keys(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<GiveKeys>,
) -> Result<StatusCode, Rejection> {
    app.agents.give_keys(&caller, b.values)?;
    Ok(StatusCode::NO_CONTENT)
}

/// What agents wait for a person to allow.
#[utoipa::path(get, path = "/api/permissions", tag = "agents", responses((status = 200, body = Vec<PermissionView>)))]
pub(super) async fn list_permissions(State(app): State<Arc<App>>) -> Answer<Vec<PermissionView>> {
    Ok(Json(app.agents.permissions().await?))
}

#[utoipa::path(post, path = "/api/permissions/{number}", tag = "agents", params(("number" = u64, Path)),
    request_body = Decide, responses((status = 200, body = PermissionView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn decide_permission(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Decide>,
) -> Answer<PermissionView> {
    Ok(Json(app.agents.decide_permission(&caller, number, b.allow, b.why).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SpendingQuery {
    /// Only this one, instead of the dearest.
    brief: Option<u64>,
}

/// What agents have used, as far as they say.
#[utoipa::path(get, path = "/api/spending", tag = "agents", params(SpendingQuery),
    responses((status = 200, body = SpendView)))]
pub(super) async fn spending(State(app): State<Arc<App>>, Query(q): Query<SpendingQuery>) -> Answer<SpendView> {
    Ok(Json(app.profiles.spending(q.brief).await?))
}
