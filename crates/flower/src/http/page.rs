//! The page's shell and assets. They are public and contain no data: the page loads data from `/api` with a token.

use super::answer::Rejection;
use super::guard::is_guarded;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flower_contract::error::{Problem, ProblemKind};
use rust_embed::{Embed, EmbeddedFile};
use sha2::{Digest, Sha256};

/// The files that `cargo xtask bloom` builds. A debug build reads them at every request.
#[derive(Embed)]
#[folder = "../../bloom/build"]
#[allow_missing = true]
#[exclude = "*.br"]
struct Built;

const SHELL: &str = "shell.html";
const MISSING_PAGE: &str = "<!doctype html><html lang=\"en\"><title>flower</title>\
    <p>This flower was built without its page. `cargo xtask bloom` builds it; then build flower again.\n";
/// The folder of files whose names change with their content.
const IMMUTABLE: &str = "_app/immutable/";

/// Answers what no route matches: an asset, the shell for a path of the page, or 404.
pub(super) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path();
    let missing = || {
        let problem =
            Problem::new(ProblemKind::NotFound, format!("there is nothing at {path}"), "see /api/openapi.json");
        Rejection::from(problem).into_response()
    };
    if is_guarded(path) || !matches!(method, Method::GET | Method::HEAD) {
        return missing();
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    if !last.contains('.') {
        return shell();
    }
    let name = path.trim_start_matches('/');
    match Built::get(name).filter(|_| !name.ends_with(".gz") && name != SHELL) {
        Some(file) => asset(name, file, &headers),
        None => missing(),
    }
}

fn asset(name: &str, file: EmbeddedFile, asked: &HeaderMap) -> Response {
    let kind = HeaderValue::from_str(file.metadata.mimetype()).expect("a type of a known ending");
    let takes_gzip = asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let takes_gzip = takes_gzip.is_some_and(|value| value.split(',').any(|part| part.trim().starts_with("gzip")));
    let packed = Built::get(&format!("{name}.gz"));
    let small = packed.filter(|packed| takes_gzip && packed.data.len() < file.data.len());
    let is_small = small.is_some();
    let mut response = Body::from(small.unwrap_or(file).data.into_owned()).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_small {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if name.starts_with(IMMUTABLE) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
    response
}

fn shell() -> Response {
    let file = Built::get(SHELL);
    let html = file.as_ref().and_then(|file| std::str::from_utf8(&file.data).ok()).unwrap_or(MISSING_PAGE).to_owned();
    let policy = HeaderValue::from_str(&policy(&html)).expect("hashes are plain text");
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind), (header::CONTENT_SECURITY_POLICY, policy)], html).into_response()
}

/// The page may load only what flower itself serves. Its one inline script is named by its hash. Inline styles are allowed,
/// because the terminal and the editor need them; texts of agents are never rendered with styles.
fn policy(html: &str) -> String {
    let scripts = inline_scripts(html).map(|script| {
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        format!(" 'sha256-{hash}'")
    });
    let scripts: String = scripts.collect();
    format!("{}; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'", super::guard::POLICY)
}

fn inline_scripts(html: &str) -> impl Iterator<Item = &str> {
    html.split("<script>").skip(1).filter_map(|rest| rest.split_once("</script>").map(|(script, _)| script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inline_script_is_allowed_by_its_hash() {
        let html = "<p><script>alert(1)</script><script src=\"/a.js\"></script>";
        let hash = BASE64_STANDARD.encode(Sha256::digest("alert(1)"));
        let policy = policy(html);
        assert!(
            policy.ends_with(&format!("script-src 'self' 'sha256-{hash}'; style-src 'self' 'unsafe-inline'")),
            "{policy}"
        );
        assert_eq!(policy.matches("sha256-").count(), 1);
    }
}
