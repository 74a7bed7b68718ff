//! The page's shell and assets. They are public and hold nothing; everything shown comes from `/api` with a token.

use super::guard::is_guarded;
use crate::error::{Problem, ProblemKind};
use axum::http::{Method, Uri, header};
use axum::response::{IntoResponse, Response};

const SHELL: &str = include_str!("../../page/index.html");
const ASSETS: &[(&str, &str, &str)] = &[
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../page/page.js")),
    ("/icon.svg", "image/svg+xml", include_str!("../../page/icon.svg")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../../page/page.css")),
];

/// Whatever no route takes: an asset, the shell for any page path, or nothing.
pub(super) async fn fallback(method: Method, uri: Uri) -> Response {
    let path = uri.path();
    let missing = || {
        Problem::new(ProblemKind::NotFound, format!("there is nothing at {path}"), "see /api/openapi.json")
            .into_response()
    };
    if is_guarded(path) || !matches!(method, Method::GET | Method::HEAD) {
        return missing();
    }
    if let Some((_, kind, content)) = ASSETS.iter().find(|(name, ..)| *name == path) {
        return ([(header::CONTENT_TYPE, *kind)], *content).into_response();
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if last.contains('.') {
        return missing();
    }
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], SHELL).into_response()
}
