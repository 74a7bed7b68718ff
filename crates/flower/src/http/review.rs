//! Changes to read: commits, diffs and files of worktrees and landings, and comments on lines.

use super::answer::{Answer, Rejection};
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::NewComment;
use flower_contract::schema;
use flower_contract::view::{CommentView, CommitView};
use flower_core::LandingId;
use flower_core::review::Side;
use flower_engine::App;
use flower_engine::review::LineComment;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

/// Commits of a worktree that are not in MAIN, newest first.
#[utoipa::path(get, path = "/api/worktrees/{name}/commits", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = Vec<CommitView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn worktree_commits(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<Vec<CommitView>> {
    Ok(Json(app.review.commits(&choice, &name).await?))
}

/// Comments on lines of a worktree's changes.
#[utoipa::path(get, path = "/api/worktrees/{name}/comments", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    responses((status = 200, body = Vec<CommentView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn list_comments(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
) -> Answer<Vec<CommentView>> {
    Ok(Json(app.review.comments(&choice, &name).await?))
}

/// Comments on a line. The comment is sent to the agent that has reserved the file, otherwise to the agent that leads the
/// work, otherwise to the next agent that starts in the worktree.
#[utoipa::path(post, path = "/api/worktrees/{name}/comments", tag = "worktrees", params(("name" = String, Path), ProjectQuery),
    request_body = NewComment, responses((status = 200, body = CommentView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn comment(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<NewComment>,
) -> Answer<CommentView> {
    let NewComment { file, line, side, text, quote } = b;
    let comment = LineComment { file, line, side: side.unwrap_or(Side::New), text, quote };
    Ok(Json(app.review.comment(&caller, &project.into(), &name, comment).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    /// Only the changed files and the number of changed lines in each.
    #[serde(default)]
    stat: bool,
    /// Only this commit of the worktree.
    commit: Option<String>,
    /// The changes that are not committed, untracked files included.
    #[serde(default)]
    uncommitted: bool,
}

/// The changes of a worktree against MAIN, or those that are not committed.
#[utoipa::path(get, path = "/api/worktrees/{name}/diff", tag = "landings", params(("name" = String, Path), ProjectQuery, DiffQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn diff_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<DiffQuery>,
) -> Result<Vec<u8>, Rejection> {
    if q.uncommitted {
        return Ok(app.review.diff_uncommitted(&choice, &name, q.stat).await?);
    }
    Ok(app.review.diff_worktree(&choice, &name, q.commit.as_deref(), q.stat).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FileQuery {
    /// The path, as the diff names it.
    file: String,
    /// `old`: as MAIN had it when the branch was created. `new`, the default: as the branch has it.
    #[param(value_type = Option<schema::Side>)]
    side: Option<Side>,
    /// With `new`, as this commit of the worktree has it; with `old`, as the commit before.
    commit: Option<String>,
}

/// A file of a worktree, to show the lines around its changes.
#[utoipa::path(get, path = "/api/worktrees/{name}/file", tag = "landings", params(("name" = String, Path), ProjectQuery, FileQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn file_of_worktree(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<FileQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.review.file_of(&choice, &name, q.commit.as_deref(), &q.file, q.side.unwrap_or(Side::New)).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LandingDiffQuery {
    /// Only the changed files and the number of changed lines in each.
    #[serde(default)]
    stat: bool,
}

/// The changes of a landing in MAIN, as merged or as they would be merged.
#[utoipa::path(get, path = "/api/landings/{number}/diff", tag = "landings",
    params(("number" = u64, Path), LandingDiffQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn diff_landing(
    State(app): State<Arc<App>>,
    Path(number): Path<LandingId>,
    Query(q): Query<LandingDiffQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.review.diff_landing(number, q.stat).await?)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LandingFileQuery {
    /// The path, as the diff names it.
    file: String,
    /// `old`: as MAIN had it before the landing. `new`, the default: as the landing has it.
    #[param(value_type = Option<schema::Side>)]
    side: Option<Side>,
}

/// A file of a landing, to show the lines around its changes.
#[utoipa::path(get, path = "/api/landings/{number}/file", tag = "landings",
    params(("number" = u64, Path), LandingFileQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn file_of_landing(
    State(app): State<Arc<App>>,
    Path(number): Path<LandingId>,
    Query(q): Query<LandingFileQuery>,
) -> Result<Vec<u8>, Rejection> {
    Ok(app.review.file_of_landing(number, &q.file, q.side.unwrap_or(Side::New)).await?)
}
