//! Checks every request before anything else reads it: its Host, its Origin and its token.

use super::answer::Rejection;
use super::call_limits::CallLimits;
use super::extract::{is_picture, is_type};
use super::serve::ReservedConnection;
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
    pub(super) limits: CallLimits,
}

/// The number of a request in the daemon's log.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

#[tracing::instrument(name = "request", skip_all, fields(
    id = REQUESTS.fetch_add(1, Ordering::Relaxed), method = %request.method(), path = request.uri().path()
))]
pub(super) async fn check(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let guarded = is_guarded(request.uri().path());
    let is_reserved = request.extensions().get::<ReservedConnection>().is_some();
    let called = format!("{} {}", request.method(), request.uri().path());
    let mut response = match admit(&gate, &mut request).await {
        Ok(()) => {
            let caller = request.extensions().get::<Caller>().cloned();
            let slot = match caller.as_ref().and_then(|caller| caller.token.as_deref()) {
                Some(token) => gate.limits.take(token).map(Some),
                None => Ok(None),
            };
            let response = match slot {
                Ok(Some(slot)) => slot.hold(next.run(request).await),
                Ok(None) => next.run(request).await,
                Err(problem) => Rejection::from(problem).into_response(),
            };
            // Tools record refusals themselves, over HTTP and over MCP.
            let refused = response.status() == StatusCode::FORBIDDEN && !called.contains(" /api/tools/");
            if let Some(caller) = caller.filter(|_| refused) {
                gate.app.access.record_refused(&caller, &called, "its token does not reach that far").await;
            }
            response
        }
        Err(response) => *response,
    };
    secure(response.headers_mut());
    if is_reserved {
        // A reserved connection is released after each response.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if guarded {
        response.headers_mut().insert("x-flower-version", HeaderValue::from_static(flower_contract::VERSION));
    }
    response
}

async fn admit(gate: &Gate, request: &mut Request) -> Result<(), Box<Response>> {
    let headers = request.headers();
    let refuse = |problem: Problem| Err(Box::new(Rejection::from(problem).into_response()));
    if let Err(problem) = host(headers, request.uri(), gate.port).and_then(|()| origin(headers, gate.port)) {
        return refuse(problem);
    }
    if query_has_token(request.uri()) {
        return refuse(Problem::usage(
            "a token must not be part of an address",
            "send it as `Authorization: Bearer TOKEN`",
        ));
    }
    let path = request.uri().path();
    // The one call whose credential is a one-time code instead of a token; the handler checks it.
    let is_code_exchange = path == "/api/session" && request.method() == Method::POST;
    if !is_guarded(path) || is_code_exchange {
        return Ok(());
    }
    let Some(token) = bearer(headers) else { return refuse(unauthorized()) };
    match gate.app.access.identify(token, door(headers, path)).await {
        Ok(caller) if caller.role != Role::Operator && request.extensions().get::<ReservedConnection>().is_some() => {
            refuse(Problem::unreachable("the last connections are reserved for the operator", "try again in a moment"))
        }
        Ok(caller) => {
            if !request.method().is_safe() && !is_declared(request.headers()) {
                return refuse(Problem::new(
                    ProblemKind::UnsupportedType,
                    "the content type is one that a form on a web page can send",
                    "send `Content-Type: application/json`",
                ));
            }
            gate.app.dispatcher.record_heartbeat(&caller).await;
            gate.app.agents.record_call(&caller);
            if let Some(mask) = gate.app.agents.mask_of(&caller) {
                request.extensions_mut().insert(mask);
            }
            request.extensions_mut().insert(caller);
            Ok(())
        }
        Err(problem) if problem.kind == ProblemKind::Unauthorized => {
            let Some(wait) = gate.app.access.record_invalid_token(Instant::now()) else { return refuse(problem) };
            tokio::time::sleep(wait).await;
            let mut response = Rejection::from(problem).into_response();
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            Err(Box::new(response))
        }
        Err(problem) => refuse(problem),
    }
}

/// Whether a path needs a token, even if no route matches it. All other paths belong to the page.
pub(super) fn is_guarded(path: &str) -> bool {
    ["/api", "/mcp"].iter().any(|p| path == *p || path.strip_prefix(p).is_some_and(|rest| rest.starts_with('/')))
}

/// The door that the trace names. flower's own programs send it in a header.
fn door(headers: &HeaderMap, path: &str) -> Door {
    match headers.get("x-flower-door").map(HeaderValue::as_bytes) {
        _ if !path.starts_with("/api") => Door::Mcp,
        Some(b"cli") => Door::Cli,
        Some(b"mcp") => Door::Mcp,
        _ => Door::Api,
    }
}

/// Whether the content type is one that no form can send. Calls without a body need none.
fn is_declared(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CONTENT_TYPE) || is_type(headers, "application/json") || is_picture(headers)
}

/// The token of an `Authorization: Bearer` header.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Accepts only loopback names with this daemon's port. This refuses pages whose own name resolves to this address (DNS
/// rebinding).
fn host(headers: &HeaderMap, uri: &Uri, port: Option<u16>) -> Result<(), Problem> {
    let Some(port) = port else { return Ok(()) };
    let mut hosts = headers.get_all(header::HOST).iter();
    let refuse = |message: &str| {
        Err(Problem::usage(message, "send one Host header: 127.0.0.1 or localhost, with flower's port"))
    };
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return refuse("a request needs exactly one Host header");
    };
    // An absolute address in the request line must not name another host than the header.
    let named = uri.authority().map(|authority| authority.as_str());
    let host = host.to_str().unwrap_or_default();
    let allowed = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    let is_allowed = |name: &str| allowed.iter().any(|own| own.eq_ignore_ascii_case(name));
    if is_allowed(host) && named.is_none_or(is_allowed) {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        "request rejected: unexpected Host header",
        "use the address that `flower up` prints",
    ))
}

/// A browser sends the origin of the page that makes a request; only flower's own page may make requests.
fn origin(headers: &HeaderMap, port: Option<u16>) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let ours = port.is_some_and(|port| {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| origin == format!("http://{name}:{port}"))
    });
    if ours && headers.get_all(header::ORIGIN).iter().count() == 1 {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        "request rejected: unexpected Origin header",
        "use the page that `flower up` opens",
    ))
}

fn query_has_token(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    query.split('&').any(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        ["token", "access_token", "session", "authorization"].iter().any(|name| key.eq_ignore_ascii_case(name))
    })
}

/// The content security policy of every response.
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
    // The page's shell has a policy of its own, which names its inline script.
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
