//! `/mcp`: MCP over HTTP. The guard has checked host, origin and token; here every session is bound to the token that
//! opened it, and the number of sessions per token is limited.

mod local;
mod session_limits;

use super::answer::Rejection;
use super::extract::{is_type, read_json};
use super::guard::bearer;
use super::serve::Shutdown;
use crate::mcp::{MAX_BYTES, Server};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::chain::sha256;
use flower_engine::App;
use flower_engine::access::identity::unauthorized;
use futures_util::StreamExt;
use http_body_util::Full;
use hyper::body::Bytes;
use local::Local;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use session_limits::SessionLimits;
use std::sync::Arc;
use std::time::Duration;

const SESSION_HEADER: &str = "mcp-session-id";
/// A session without calls ends after this time, which is longer than an agent thinks between two calls.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3600);

struct Mcp {
    local: Arc<Local>,
    service: StreamableHttpService<Server<Local>, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    limits: SessionLimits,
}

/// `port` is that of the listener; a unix socket has none.
pub(super) fn route(app: Arc<App>, port: Option<u16>, shutdown: Shutdown) -> MethodRouter<Arc<App>> {
    let local = Arc::new(Local { app, shutdown });
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE_TIMEOUT);
    let sessions = Arc::new(sessions);
    // The guard has checked host and origin; the library checks them a second time, with the same values.
    let mut config = StreamableHttpServerConfig::default().with_max_request_body_bytes(MAX_BYTES);
    config = match port {
        Some(port) => {
            let ours = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
            config.with_allowed_origins(ours.clone().map(|name| format!("http://{name}"))).with_allowed_hosts(ours)
        }
        None => config.disable_allowed_hosts(),
    };
    let backend = local.clone();
    let service = StreamableHttpService::new(
        move || Ok(Server::new(backend.clone())),
        sessions.clone(),
        config.enforce_origin_validation(),
    );
    let mcp = Arc::new(Mcp { local, service, sessions, limits: SessionLimits::default() });
    any(serve).with_state(mcp)
}

async fn serve(State(mcp): State<Arc<Mcp>>, request: Request) -> Response {
    mcp.answer(request).await.map_err(Rejection::from).into_response()
}

impl Mcp {
    async fn answer(&self, request: Request) -> Result<Response, Problem> {
        let token = bearer(request.headers()).ok_or_else(unauthorized)?.to_owned();
        let owner = sha256(token.as_bytes());
        if let Some(session) = session(request.headers())?
            && !self.limits.owns(&owner, session)
        {
            return Err(Problem::new(ProblemKind::NotFound, "there is no such session", "begin with `initialize`"));
        }
        let (mut parts, body) = request.into_parts();
        // The library requires a Host header, which clients of the unix socket may omit.
        parts.headers.entry(header::HOST).or_insert(HeaderValue::from_static("localhost"));
        let is_get = parts.method == Method::GET;
        let is_post = parts.method == Method::POST;
        let bytes = match is_post {
            true => read_json(Request::from_parts(parts.clone(), body)).await?,
            false => Vec::new(),
        };
        if is_post && serde_json::from_slice::<serde::de::IgnoredAny>(&bytes).is_err() {
            return Ok(json_rpc_error(-32700, "the body is not JSON"));
        }
        let is_json = is_type(&parts.headers, "application/json");
        let request = Request::from_parts(parts, Full::new(Bytes::from(bytes)));
        let answer = self.service.handle(request).await;
        if is_post && is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return Ok(json_rpc_error(-32600, "the body is not a JSON-RPC message"));
        }
        if let Some(session) = session(answer.headers())? {
            for ended in self.limits.open(owner, session, &self.sessions).await {
                let _ = self.sessions.close_session(&ended).await;
            }
        }
        let (parts, body) = answer.into_parts();
        let stream = Body::new(body).into_data_stream();
        // The response to a call is sent to its end. A listening stream ends with the daemon or with its token.
        let body = if is_get {
            let gone = self.local.changes_for(token).for_each(|_| std::future::ready(()));
            Body::from_stream(stream.take_until(Box::pin(gone)))
        } else {
            Body::from_stream(stream)
        };
        Ok(Response::from_parts(parts, body))
    }
}

/// The session that the headers name.
fn session(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut named = headers.get_all(SESSION_HEADER).iter();
    match (named.next(), named.next()) {
        (None, _) => Ok(None),
        (Some(session), None) => Ok(Some(session.to_str().unwrap_or_default())),
        _ => Err(Problem::usage("a request belongs to one session", "send `Mcp-Session-Id` once")),
    }
}

fn json_rpc_error(code: i32, message: &str) -> Response {
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}
