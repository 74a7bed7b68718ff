//! `/api/shells`: programs that a person runs in a worktree with what a profile lends.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Who};
use super::serve::Shutdown;
use axum::body::Body as ResponseBody;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::OpenShell;
use flower_contract::view::{ShellEndView, ShellView};
use flower_engine::App;
use flower_engine::agents::ShellRequest;
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Lends the worktree's jail what a dispatch to the profile would, and answers how to run a program in it. The operator's alone: the
/// answer has the values of keys. `GET /api/shells/{id}` keeps it open.
#[utoipa::path(post, path = "/api/worktrees/{name}/shells", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    request_body = OpenShell, responses((status = 200, body = ShellView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn open_shell(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Body(b): Body<OpenShell>,
) -> Answer<ShellView> {
    let request = ShellRequest { profile: b.profile, program: b.program, path: b.path };
    Ok(Json(app.agents.open_shell(&caller, &choice, &name, request).await?))
}

/// Keeps a shell open as long as the response is read: it ends with the connection.
#[utoipa::path(get, path = "/api/shells/{id}", tag = "worktrees", params(("id" = String, Path)),
    responses((status = 200, content_type = "text/event-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn hold_shell(
    State(app): State<Arc<App>>,
    Extension(shutdown): Extension<Shutdown>,
    Path(id): Path<String>,
) -> Result<impl IntoResponse, Rejection> {
    let hold = app.agents.hold_shell(&id)?;
    let signs = stream::unfold((hold, shutdown, false), |(hold, shutdown, is_greeted)| async move {
        if is_greeted {
            tokio::select! {
                () = shutdown.begun() => return None,
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {}
            }
        }
        Some((Ok::<_, Infallible>(": open\n\n"), (hold, shutdown, true)))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, ResponseBody::from_stream(signs)))
}

/// Ends a shell after its program has ended, and takes the login back.
#[utoipa::path(delete, path = "/api/shells/{id}", tag = "worktrees", params(("id" = String, Path)),
    responses((status = 200, body = ShellEndView)))]
pub(super) async fn end_shell(State(app): State<Arc<App>>, Path(id): Path<String>) -> Answer<ShellEndView> {
    Ok(Json(app.agents.end_shell(&id).await))
}
