//! Extractors, whose rejections are a [`Problem`] instead of the framework's errors, and what all handlers share.

use super::answer::{Answer, Rejection};
use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Caller;
use flower_engine::App;
use flower_engine::access::identity::unauthorized;
use flower_engine::profiles::mask::Mask;
use flower_engine::projects::ProjectChoice;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument as _;
use utoipa::IntoParams;

/// Far more than the longest spec, so that the rules, with their own message, refuse a spec that is too long.
const MAX_JSON_BYTES: usize = 8 * 1024 * 1024;
/// serde_json has the same limit, but does not apply it inside fields that it skips.
const MAX_LEVELS: usize = 127;
/// A body that is too large is read and discarded up to this size, which is more than the command line sends.
const MAX_DISCARDED_BYTES: u64 = 32 * 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A JSON body. Other content types are refused, so that a form on a web page cannot send one.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        if !is_type(request.headers(), "application/json") {
            return Err(Rejection::from(Problem::new(
                ProblemKind::UnsupportedType,
                "the body is not declared as JSON",
                "send `Content-Type: application/json`",
            )));
        }
        let bytes = read_json(request).await?;
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            Problem::usage(format!("the body is not what was expected: {error}"), "see /api/openapi.json")
        })?;
        Ok(Body(value))
    }
}

/// Reads a JSON body with bounded size and depth, and does not parse it. Secrets that were lent to the calling agent are
/// masked, so that they never reach the log.
pub(super) async fn read_json(request: Request) -> Result<Vec<u8>, Problem> {
    let mask = request.extensions().get::<Arc<Mask>>().cloned();
    let bytes = read(request, MAX_JSON_BYTES).await?;
    let bytes = match mask {
        Some(mask) => mask.bytes(&bytes).into_owned(),
        None => bytes,
    };
    if is_deeper(&bytes, MAX_LEVELS) {
        return Err(Problem::usage(
            format!("the body is nested deeper than {MAX_LEVELS} levels"),
            "see /api/openapi.json",
        ));
    }
    Ok(bytes)
}

/// A binary body of at most `MAX` bytes: a picture, or keys that were typed.
pub(super) struct Bytes<const MAX: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const MAX: usize> FromRequest<S> for Bytes<MAX> {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        if !is_picture(request.headers()) {
            return Err(Rejection::from(Problem::new(
                ProblemKind::UnsupportedType,
                "the body is not declared as bytes",
                "send `Content-Type: application/octet-stream`",
            )));
        }
        Ok(Bytes(read(request, MAX).await?))
    }
}

async fn read(request: Request, max: usize) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        Problem::new(
            ProblemKind::TooLarge,
            format!("the body is larger than {max} bytes"),
            "send less; nothing was stored",
        )
    };
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(length) = declared.filter(|length| *length > max as u64) {
        if length <= MAX_DISCARDED_BYTES {
            discard(request.into_body()).await;
        }
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), max).collect();
    match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::usage(format!("the body ended early: {error}"), "send it again")),
        Err(_) => Err(Problem::new(ProblemKind::Timeout, "the body did not arrive in time", "send it again")),
    }
}

/// Reads a body to its end, so that the sender reads the answer instead of seeing a broken connection.
async fn discard(mut body: axum::body::Body) {
    let all = async { while let Some(Ok(_)) = body.frame().await {} };
    // After the timeout the answer is sent all the same.
    let _ = tokio::time::timeout(BODY_TIMEOUT, all).await;
}

/// Whether lists and objects are nested more than `max` levels deep. Brackets in strings do not count.
fn is_deeper(json: &[u8], max: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match (in_text, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_text = !in_text,
            (false, b'[' | b'{') => depth += 1,
            (false, b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > max {
            return true;
        }
    }
    false
}

/// Whether the content type is that of a picture, or of plain bytes.
pub(super) fn is_picture(headers: &HeaderMap) -> bool {
    ["application/octet-stream", "image/png", "image/jpeg", "image/webp", "image/gif"]
        .iter()
        .any(|kind| is_type(headers, kind))
}

pub(super) fn is_type(headers: &HeaderMap, expected: &str) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
}

/// Parameters of the path.
pub(super) struct Path<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        let axum::extract::Path(value) = path.map_err(|error| {
            Problem::usage(format!("the address is not understood: {error}"), "see /api/openapi.json")
        })?;
        Ok(Path(value))
    }
}

/// Parameters of the query. Several of these in one handler read different parameters of the same query.
pub(super) struct Query<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        let axum::extract::Query(value) = query.map_err(|error| {
            Problem::usage(format!("the query is not understood: {error}"), "see /api/openapi.json")
        })?;
        Ok(Query(value))
    }
}

/// The owner of the request's token, which [`super::guard`] has identified.
pub(super) struct Who(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let caller = parts.extensions.get::<Caller>().cloned();
        Ok(Who(caller.ok_or_else(unauthorized)?))
    }
}

/// Names a project, or a directory inside its repository.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectQuery {
    pub(super) project: Option<String>,
    /// A directory; its project is the one whose repository contains it.
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
}

impl From<ProjectQuery> for ProjectChoice {
    fn from(query: ProjectQuery) -> ProjectChoice {
        ProjectChoice { name: query.project, dir: query.dir }
    }
}

/// The project of a [`ProjectQuery`], limited to what the caller may read: a worker is bound to its own project.
pub(super) struct ChosenProject(pub(super) ProjectChoice);

impl FromRequestParts<Arc<App>> for ChosenProject {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Rejection> {
        let Who(caller) = Who::from_request_parts(parts, app).await?;
        let Query(query) = Query::<ProjectQuery>::from_request_parts(parts, app).await?;
        Ok(ChosenProject(app.access.choice(&caller, query.into()).await?))
    }
}

/// Parameters of lists that leave out ended entries.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Include ended entries, newest first.
    #[serde(default)]
    pub(super) all: bool,
    pub(super) limit: Option<u64>,
}

impl ListQuery {
    /// The limit; without one, `page` if ended entries are included, because they grow without end.
    pub(super) fn limit_or(&self, page: u64) -> u64 {
        self.limit.unwrap_or(if self.all { page } else { u64::MAX >> 1 })
    }
}

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BriefQuery {
    pub(super) brief: Option<u64>,
}

#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct WorktreeQuery {
    pub(super) worktree: Option<String>,
}

/// Runs `work` on a task of its own, so that it is finished even if the client disconnects.
pub(super) async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Answer<T> {
    Ok(Json(tokio::spawn(work.in_current_span()).await.map_err(|error| Problem::bug(error.to_string()))??))
}
