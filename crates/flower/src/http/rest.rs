//! The smaller resources: status, sessions, projects, inbox, search, scratchpads, pictures, tokens.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Bytes, Path, Query, Who};
use super::guard::bearer;
use super::serve::Shutdown;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{IssueToken, NewProject, NewScratchpad, WriteScratchpad};
use flower_contract::schema;
use flower_contract::view::{
    InboxItem, NewToken, OpenLink, ProjectView, RemovedProject, ScratchpadView, SearchHit, Session, StatusView,
    TokenView,
};
use flower_core::Role;
use flower_core::event::Image;
use flower_engine::App;
use flower_engine::briefs::images::MAX_BYTES;
use flower_engine::projects::ProjectChoice;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
}

#[utoipa::path(get, path = "/api/status", tag = "daemon", params(ProjectQuery), responses((status = 200, body = StatusView)))]
pub(super) async fn status(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ProjectQuery>,
) -> Answer<StatusView> {
    Ok(Json(app.overview.status(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?))
}

/// Ends the daemon, after what is under way.
#[utoipa::path(post, path = "/api/shutdown", tag = "daemon", responses((status = 202)))]
pub(super) async fn shutdown(Extension(shutdown): Extension<Shutdown>) -> Result<StatusCode, Rejection> {
    shutdown.begin();
    Ok(StatusCode::ACCEPTED)
}

/// A one-time address that opens the page with a session.
#[utoipa::path(post, path = "/api/open-link", tag = "daemon", responses((status = 200, body = OpenLink)))]
pub(super) async fn open_link(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<OpenLink> {
    Ok(Json(app.access.open_link(&caller)?))
}

/// Trades the one-time code, sent as `Authorization: Bearer CODE`, for a session token.
#[utoipa::path(post, path = "/api/session", tag = "daemon",
    responses((status = 200, body = Session), (status = 401, body = ProblemEnvelope)))]
pub(super) async fn begin_session(State(app): State<Arc<App>>, headers: HeaderMap) -> Answer<Session> {
    Ok(Json(app.access.begin_session(bearer(&headers).unwrap_or_default())?))
}

#[utoipa::path(get, path = "/api/projects", tag = "projects", responses((status = 200, body = Vec<ProjectView>)))]
pub(super) async fn list_projects(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<ProjectView>> {
    Ok(Json(app.registration.list(&caller).await?))
}

/// Makes the repository a project, or finds that it is one.
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    responses((status = 200, body = ProjectView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn register_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<NewProject>,
) -> Answer<ProjectView> {
    Ok(Json(app.registration.register(&caller, &b.dir, b.name).await?))
}

#[utoipa::path(delete, path = "/api/projects/{name}", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = RemovedProject), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn remove_project(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<RemovedProject> {
    Ok(Json(app.registration.remove(&caller, &name).await?))
}

/// What removing the project would leave behind, and where.
#[utoipa::path(get, path = "/api/projects/{name}/removal", tag = "projects", params(("name" = String, Path)),
    responses((status = 200, body = RemovedProject), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn preview_removal(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
) -> Answer<RemovedProject> {
    Ok(Json(app.registration.preview_removal(&caller, &name).await?))
}

/// What waits for the operator. A worker gets the messages that it has not taken yet.
#[utoipa::path(get, path = "/api/inbox", tag = "inbox", responses((status = 200, body = Vec<InboxItem>)))]
pub(super) async fn inbox(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<InboxItem>> {
    Ok(Json(app.overview.inbox(&caller).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    q: String,
    limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/search", tag = "search", params(SearchQuery), responses((status = 200, body = Vec<SearchHit>)))]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<SearchQuery>,
) -> Answer<Vec<SearchHit>> {
    Ok(Json(app.briefs.search(&caller, q.q, q.limit).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PadQuery {
    brief: Option<u64>,
    #[serde(default)]
    after: u64,
    limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/scratchpads", tag = "scratchpads", params(PadQuery),
    responses((status = 200, body = Vec<ScratchpadView>)))]
pub(super) async fn list_scratchpads(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<PadQuery>,
) -> Answer<Vec<ScratchpadView>> {
    Ok(Json(app.briefs.scratchpads(&caller, q.brief, q.after, q.limit).await?))
}

#[utoipa::path(post, path = "/api/scratchpads", tag = "scratchpads", request_body = NewScratchpad,
    responses((status = 200, body = ScratchpadView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create_scratchpad(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<NewScratchpad>,
) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.create_scratchpad(&caller, b.title, b.brief, b.text).await?))
}

#[utoipa::path(get, path = "/api/scratchpads/{number}", tag = "scratchpads", params(("number" = u64, Path)),
    responses((status = 200, body = ScratchpadView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_scratchpad(State(app): State<Arc<App>>, Path(number): Path<u64>) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.scratchpad(number).await?))
}

#[utoipa::path(put, path = "/api/scratchpads/{number}", tag = "scratchpads", params(("number" = u64, Path)),
    request_body = WriteScratchpad,
    responses((status = 200, body = ScratchpadView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn write_scratchpad(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<WriteScratchpad>,
) -> Answer<ScratchpadView> {
    Ok(Json(app.briefs.write_scratchpad(&caller, number, b.text, b.append, b.base).await?))
}

/// Stores a picture: PNG, JPEG, WebP or GIF, up to 10 MB. A note refers to it by its hash.
#[utoipa::path(post, path = "/api/images", tag = "images", request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = schema::Image), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn put_image(State(app): State<Arc<App>>, Bytes(bytes): Bytes<MAX_BYTES>) -> Answer<Image> {
    Ok(Json(app.briefs.put_image(bytes).await?))
}

#[utoipa::path(get, path = "/api/images/{sha256}", tag = "images", params(("sha256" = String, Path)),
    responses((status = 200, content_type = "image/*"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn get_image(
    State(app): State<Arc<App>>,
    Path(sha256): Path<String>,
) -> Result<impl IntoResponse, Rejection> {
    let (image, bytes) = app.briefs.image(&sha256).await?;
    let headers = [
        (header::CONTENT_TYPE, image.media_type),
        // Named by its content, so it never changes.
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable".to_owned()),
    ];
    Ok((headers, bytes))
}

#[utoipa::path(get, path = "/api/tokens", tag = "tokens", responses((status = 200, body = Vec<TokenView>)))]
pub(super) async fn list_tokens(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<TokenView>> {
    Ok(Json(app.access.tokens(&caller).await?))
}

#[utoipa::path(post, path = "/api/tokens", tag = "tokens", request_body = IssueToken,
    responses((status = 200, body = NewToken), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn issue_token(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<IssueToken>,
) -> Answer<NewToken> {
    Ok(Json(app.access.issue_token(&caller, b.agent, b.role.unwrap_or(Role::Worker), b.brief, b.worktree, None).await?))
}

#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "tokens", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn revoke_token(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Rejection> {
    app.access.revoke_token(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
