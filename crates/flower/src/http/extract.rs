//! Reading requests, with our own errors instead of the framework's.

use super::answer::Rejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Caller;
use flower_engine::profiles::mask::Mask;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// Far more than the longest spec, so that one that is too long is told so by the rules, in their words.
const MOST_JSON: usize = 8 * 1024 * 1024;
/// serde_json stops here too, but not inside of fields that it skips.
const MOST_LEVELS: usize = 127;
/// A body that is too large, yet not larger than this, is read and forgotten. The command line sends no larger ones.
const MOST_DISCARDED: u64 = 32 * 1024 * 1024;
const BODY_DEADLINE: Duration = Duration::from_secs(30);

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

/// The bytes of a JSON body, which may still be anything but large or deep. What an agent was lent is masked in it, so that it
/// reaches neither the log nor anybody who reads there.
pub(super) async fn read_json(request: Request) -> Result<Vec<u8>, Problem> {
    let mask = request.extensions().get::<Arc<Mask>>().cloned();
    let bytes = read(request, MOST_JSON).await?;
    let bytes = match mask {
        Some(mask) => mask.bytes(&bytes).into_owned(),
        None => bytes,
    };
    if is_deeper(&bytes, MOST_LEVELS) {
        return Err(Problem::usage(
            format!("the body is nested deeper than {MOST_LEVELS} levels"),
            "see /api/openapi.json",
        ));
    }
    Ok(bytes)
}

/// Bytes as they are: pictures, and what is typed.
pub(super) struct Bytes<const MOST: usize>(pub(super) Vec<u8>);

impl<S: Send + Sync, const MOST: usize> FromRequest<S> for Bytes<MOST> {
    type Rejection = Rejection;

    async fn from_request(request: Request, _: &S) -> Result<Self, Rejection> {
        if !is_picture(request.headers()) {
            return Err(Rejection::from(Problem::new(
                ProblemKind::UnsupportedType,
                "the body is not declared as bytes",
                "send `Content-Type: application/octet-stream`",
            )));
        }
        Ok(Bytes(read(request, MOST).await?))
    }
}

async fn read(request: Request, most: usize) -> Result<Vec<u8>, Problem> {
    let too_large = || {
        Problem::new(
            ProblemKind::TooLarge,
            format!("the body is larger than {most} bytes"),
            "send less; nothing was stored",
        )
    };
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if let Some(length) = declared.filter(|length| *length > most as u64) {
        if length <= MOST_DISCARDED {
            discard(request.into_body()).await;
        }
        return Err(too_large());
    }
    let body = Limited::new(request.into_body(), most).collect();
    match tokio::time::timeout(BODY_DEADLINE, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::usage(format!("the body broke off: {error}"), "send it again")),
        Err(_) => Err(Problem::new(ProblemKind::Timeout, "the body did not come in time", "send it again")),
    }
}

/// Reads a body that nobody wants, so that its sender gets to the answer instead of a connection that breaks.
async fn discard(mut body: axum::body::Body) {
    let all = async { while let Some(Ok(_)) = body.frame().await {} };
    // Whoever is slower hears the answer all the same, or not at all.
    let _ = tokio::time::timeout(BODY_DEADLINE, all).await;
}

/// Whether lists and objects stand inside each other more than `most` times. Brackets in texts do not count.
fn is_deeper(json: &[u8], most: usize) -> bool {
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
        if depth > most {
            return true;
        }
    }
    false
}

/// Declared as a picture, or as bytes that will turn out to be one.
pub(super) fn is_picture(headers: &HeaderMap) -> bool {
    ["application/octet-stream", "image/png", "image/jpeg", "image/webp", "image/gif"]
        .iter()
        .any(|kind| is_type(headers, kind))
}

pub(super) fn is_type(headers: &HeaderMap, expected: &str) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    declared.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(expected)
}

/// The parts of the path.
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

/// The query behind `?`.
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

/// Whoever the token belongs to; put there by the guard.
pub(super) struct Who(pub(super) Caller);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Rejection> {
        let caller = parts.extensions.get::<Caller>().cloned();
        Ok(Who(caller.ok_or_else(flower_engine::access::identity::unauthorized)?))
    }
}
