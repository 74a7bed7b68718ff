//! `/api/tools` and `/api/resources`, to which `flower mcp` forwards.

use super::answer::Rejection;
use super::extract::{Body, Path, Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::view::{ResourceView, ToolAnswer};
use flower_engine::App;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use utoipa::IntoParams;

/// Lists the names of the MCP tools that the caller's role can use.
#[utoipa::path(get, path = "/api/tools", tag = "tools",
    responses((status = 200, body = Vec<String>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn list_tools(State(app): State<Arc<App>>, Who(caller): Who) -> Json<Vec<&'static str>> {
    Json(app.tools.list(&caller).await)
}

/// Runs an MCP tool. The body contains its arguments.
#[utoipa::path(post, path = "/api/tools/{name}", tag = "tools", params(("name" = String, Path)), request_body = Object,
    responses((status = 200, body = ToolAnswer), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn call_tool(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(arguments): Body<Map<String, Value>>,
) -> Result<Json<ToolAnswer>, Rejection> {
    Ok(Json(app.tools.call(&caller, &name, arguments).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ResourceQuery {
    /// `flower://brief/N` or `flower://main`.
    uri: String,
}

/// Reads an MCP resource.
#[utoipa::path(get, path = "/api/resources", tag = "tools", params(ResourceQuery),
    responses((status = 200, body = ResourceView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn read_resource(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ResourceQuery>,
) -> Result<Json<ResourceView>, Rejection> {
    let text = app.tools.read_resource(&caller, &q.uri).await?;
    Ok(Json(ResourceView { uri: q.uri, text }))
}
