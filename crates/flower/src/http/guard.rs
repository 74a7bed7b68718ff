//! What every request passes before anything else looks at it: the host it names, the page it comes from, its token.

use super::answer::Rejection;
use super::extract::{is_picture, is_type};
use super::places::Places;
use super::serve::KeptPlace;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::{Caller, Door, Role};
use flower_engine::App;
use flower_engine::access::identity::unauthorized;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) struct Gate {
    pub(super) app: Arc<App>,
    /// Absent on the unix socket, which no browser can reach.
    pub(super) port: Option<u16>,
    pub(super) places: Places,
}

/// The number of a request in the daemon's log.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

#[tracing::instrument(name = "request", skip_all, fields(
    id = REQUESTS.fetch_add(1, Ordering::Relaxed), method = %request.method(), path = request.uri().path()
))]
pub(super) async fn check(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let guarded = is_guarded(request.uri().path());
    let is_kept = request.extensions().get::<KeptPlace>().is_some();
    let called = format!("{} {}", request.method(), request.uri().path());
    let mut response = match admit(&gate, &mut request).await {
        Ok(()) => {
            let caller = request.extensions().get::<Caller>().cloned();
            let place = match caller.as_ref().and_then(|caller| caller.token.as_deref()) {
                Some(token) => gate.places.take(token).map(Some),
                None => Ok(None),
            };
            let response = match place {
                Ok(Some(place)) => place.hold(next.run(request).await),
                Ok(None) => next.run(request).await,
                Err(problem) => Rejection::from(problem).into_response(),
            };
            // Tools record it themselves, whichever way they were called.
            let refused = response.status() == StatusCode::FORBIDDEN && !called.contains(" /api/tools/");
            if let Some(caller) = caller.filter(|_| refused) {
                gate.app.access.record_refused(&caller, &called, "its token does not reach that far").await;
            }
            response
        }
        Err(response) => *response,
    };
    secure(response.headers_mut());
    if is_kept {
        // Everyone gives a kept place back after one answer.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if guarded {
        response.headers_mut().insert("x-flower-version", HeaderValue::from_static(flower_contract::VERSION));
    }
    response
}

async fn admit(gate: &Gate, request: &mut Request) -> Result<(), Box<Response>> {
    let headers = request.headers();
    let no = |problem: Problem| Err(Box::new(Rejection::from(problem).into_response()));
    if let Err(problem) = host(headers, request.uri(), gate.port).and_then(|()| origin(headers, gate.port)) {
        return no(problem);
    }
    if query_has_token(request.uri()) {
        return no(Problem::usage(
            "a token does not belong into an address",
            "send it as `Authorization: Bearer TOKEN`",
        ));
    }
    let path = request.uri().path();
    // Trading a one-time code is the one call whose credential is not a token; the handler checks it.
    let trades_code = path == "/api/session" && request.method() == Method::POST;
    if !is_guarded(path) || trades_code {
        return Ok(());
    }
    let Some(token) = bearer(headers) else { return no(unauthorized()) };
    match gate.app.access.identify(token, door(headers, path)).await {
        Ok(caller) if caller.role != Role::Operator && request.extensions().get::<KeptPlace>().is_some() => {
            no(Problem::unreachable("the last connections are kept for the operator", "try again in a moment"))
        }
        Ok(caller) => {
            if !request.method().is_safe() && !is_declared(request.headers()) {
                return no(Problem::new(
                    ProblemKind::UnsupportedType,
                    "the body is declared as what a form on a web page could send",
                    "send `Content-Type: application/json`",
                ));
            }
            gate.app.dispatcher.record_heartbeat(&caller).await;
            if let Some(mask) = gate.app.agents.mask_of(&caller) {
                request.extensions_mut().insert(mask);
            }
            request.extensions_mut().insert(caller);
            Ok(())
        }
        Err(problem) if problem.kind == ProblemKind::Unauthorized => {
            let Some(wait) = gate.app.access.invalid_tokens.record(Instant::now()) else { return no(problem) };
            tokio::time::sleep(wait).await;
            let mut response = Rejection::from(problem).into_response();
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            Err(Box::new(response))
        }
        Err(problem) => no(problem),
    }
}

/// Whether a path needs a token, known or not. All others are pages.
pub(super) fn is_guarded(path: &str) -> bool {
    ["/api", "/mcp"].iter().any(|p| path == *p || path.strip_prefix(p).is_some_and(|rest| rest.starts_with('/')))
}

/// The door that the trace will name: flower's own programs say which of them they are.
fn door(headers: &HeaderMap, path: &str) -> Door {
    match headers.get("x-flower-door").map(HeaderValue::as_bytes) {
        _ if !path.starts_with("/api") => Door::Mcp,
        Some(b"cli") => Door::Cli,
        Some(b"mcp") => Door::Mcp,
        _ => Door::Api,
    }
}

/// Whether the content type is one that no form sends; calls without a body have none.
fn is_declared(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CONTENT_TYPE) || is_type(headers, "application/json") || is_picture(headers)
}

/// The token of an `Authorization: Bearer` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Only the names of this machine with our own port: a page that points its own name at us is turned away.
fn host(headers: &HeaderMap, uri: &Uri, port: Option<u16>) -> Result<(), Problem> {
    let Some(port) = port else { return Ok(()) };
    let mut hosts = headers.get_all(header::HOST).iter();
    let bad = |message: &str| Err(Problem::usage(message, "name one host: 127.0.0.1 or localhost, with flower's port"));
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return bad("a request names exactly one host");
    };
    // An absolute address in the request line must not say something else than the header.
    let named = uri.authority().map(|authority| authority.as_str());
    let host = host.to_str().unwrap_or_default();
    let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let is_ours = |name: &str| ours.iter().any(|our| our.eq_ignore_ascii_case(name));
    if is_ours(host) && named.is_none_or(is_ours) {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::Forbidden, "that host is not this flower", "use the address that `flower up` prints"))
}

/// A browser says which page a request comes from; only ours may send any.
fn origin(headers: &HeaderMap, port: Option<u16>) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let ours = port.is_some_and(|port| {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| origin == format!("http://{name}:{port}"))
    });
    if ours && headers.get_all(header::ORIGIN).iter().count() == 1 {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::Forbidden, "another page may not call flower", "use the page that `flower up` opens"))
}

fn query_has_token(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        ["token", "access_token", "session", "authorization"].iter().any(|name| key.eq_ignore_ascii_case(name))
    })
}

/// What a page of ours may load and do.
pub(super) const POLICY: &str = "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; \
                                 form-action 'none'; frame-ancestors 'none'";

fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // The page's shell has its own, in which its script is named.
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
