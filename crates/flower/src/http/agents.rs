//! `/api/agents`, their profiles and keys, their requests for permission, and their spending.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, ListQuery, Path, ProjectQuery, Query, Who, run_detached};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Decide, GiveKeys, SpawnAgent, Why};
use flower_contract::view::{
    AgentView, MessageView, PermissionView, ProfileView, ScoreView, SpendView, TranscriptView,
};
use flower_core::{BriefId, PermissionId, Role};
use flower_engine::App;
use flower_engine::agents::SpawnRequest;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Agents of a page unless the query names a number.
const PAGE: u64 = 200;

/// Agents that flower runs, in their current state.
#[utoipa::path(get, path = "/api/agents", tag = "agents", params(ProjectQuery, ListQuery), responses((status = 200, body = Vec<AgentView>)))]
pub(super) async fn list_agents(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<AgentView>> {
    Ok(Json(app.agents.list(&caller, &choice, q.all, q.limit.unwrap_or(PAGE)).await?))
}

/// Starts an agent for a brief, or a standing agent in a worktree.
#[utoipa::path(post, path = "/api/agents", tag = "agents", params(ProjectQuery), request_body = SpawnAgent,
    responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn spawn_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<SpawnAgent>,
) -> Answer<AgentView> {
    let spawn = SpawnRequest {
        profile: b.profile,
        name: b.name,
        worktree: b.worktree,
        brief: b.brief.map(BriefId),
        standing: b.standing,
        role: b.role.unwrap_or(Role::Worker),
    };
    run_detached(async move { app.agents.spawn(&caller, &project.into(), spawn).await }).await
}

#[utoipa::path(get, path = "/api/agents/{name}", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_agent(State(app): State<Arc<App>>, Path(name): Path<String>) -> Answer<AgentView> {
    Ok(Json(app.agents.show(&name).await?))
}

/// Stops an agent and every process that it started.
#[utoipa::path(post, path = "/api/agents/{name}/stop", tag = "agents", params(("name" = String, Path)),
    request_body = Why, responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn stop_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<Why>,
) -> Answer<AgentView> {
    run_detached(async move { app.agents.stop(&caller, &name, b.why).await }).await
}

/// Replaces an agent by a fresh session that continues from a hand-over note.
#[utoipa::path(post, path = "/api/agents/{name}/refresh", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = AgentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn refresh_agent(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<AgentView> {
    Ok(Json(app.agents.refresh(&caller, &name).await?))
}

/// Asks an agent for a hand-over note, which it adds to its brief. It goes on afterwards.
#[utoipa::path(post, path = "/api/agents/{name}/note", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = MessageView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn ask_for_note(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<MessageView> {
    Ok(Json(app.agents.ask_for_note(&caller, &name).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LogQuery {
    /// A position in the transcript; without it, the newest entries.
    after: Option<u64>,
    /// If there is no entry after the position, wait up to 20 seconds for one.
    #[serde(default)]
    wait: bool,
}

/// The transcript of an agent: its output, its tool calls, and the prompts that it received.
#[utoipa::path(get, path = "/api/agents/{name}/log", tag = "agents", params(("name" = String, Path), LogQuery),
    responses((status = 200, body = TranscriptView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn agent_log(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(q): Query<LogQuery>,
) -> Answer<TranscriptView> {
    Ok(Json(app.agents.log(&name, q.after, q.wait).await?))
}

/// Profiles of agents, whether each can run on this machine, and what is missing if not.
#[utoipa::path(get, path = "/api/agent-profiles", tag = "agents", responses((status = 200, body = Vec<ProfileView>)))]
pub(super) async fn profiles(State(app): State<Arc<App>>) -> Answer<Vec<ProfileView>> {
    Ok(Json(app.profiles.list().await?))
}

/// Tries a profile: starts its program in a jail without any network and opens a session. No model is asked. A profile that
/// cannot run is returned as it is.
#[utoipa::path(post, path = "/api/agent-profiles/{name}/try", tag = "agents", params(("name" = String, Path)),
    responses((status = 200, body = ProfileView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn try_profile(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<ProfileView> {
    Ok(Json(app.agents.try_profile(&caller, &name).await?))
}

/// Names of environment variables of the operator that profiles need.
#[utoipa::path(get, path = "/api/agent-keys", tag = "agents", responses((status = 200, body = Vec<String>)))]
pub(super) async fn wanted_keys(State(app): State<Arc<App>>) -> Answer<Vec<String>> {
    Ok(Json(app.profiles.wanted_keys()?))
}

/// Values of these environment variables. The daemon keeps them in memory only and never shows them.
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

/// Requests for permission that wait for the operator.
#[utoipa::path(get, path = "/api/permissions", tag = "agents", responses((status = 200, body = Vec<PermissionView>)))]
pub(super) async fn list_permissions(State(app): State<Arc<App>>) -> Answer<Vec<PermissionView>> {
    Ok(Json(app.agents.permissions().await?))
}

#[utoipa::path(post, path = "/api/permissions/{number}", tag = "agents", params(("number" = u64, Path)),
    request_body = Decide, responses((status = 200, body = PermissionView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn decide_permission(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<PermissionId>,
    Body(b): Body<Decide>,
) -> Answer<PermissionView> {
    Ok(Json(app.agents.decide_permission(&caller, number, b.allow, b.why).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct StatsQuery {
    /// Only dispatches of the last days.
    #[param(minimum = 1, maximum = 3650)]
    days: Option<u32>,
}

/// How agents did, by profile, model and kind of dispatch: what landed at the first try, fixes, time, and cost per landing.
#[utoipa::path(get, path = "/api/agent-stats", tag = "agents", params(ProjectQuery, StatsQuery),
    responses((status = 200, body = Vec<ScoreView>)))]
pub(super) async fn agent_stats(
    State(app): State<Arc<App>>,
    Query(project): Query<ProjectQuery>,
    Query(q): Query<StatsQuery>,
) -> Answer<Vec<ScoreView>> {
    Ok(Json(app.agents.stats(&project.into(), q.days.map(|days| days.clamp(1, 3_650))).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SpendingQuery {
    /// Only this brief, instead of the most expensive ones.
    brief: Option<u64>,
}

/// Cost and tokens of agents, as far as agents report them.
#[utoipa::path(get, path = "/api/spending", tag = "agents", params(SpendingQuery),
    responses((status = 200, body = SpendView)))]
pub(super) async fn spending(State(app): State<Arc<App>>, Query(q): Query<SpendingQuery>) -> Answer<SpendView> {
    Ok(Json(app.profiles.spending(q.brief.map(BriefId)).await?))
}
