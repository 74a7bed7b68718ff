//! `/api/agents/NAME/terminal`: streams the output of an agent's terminal, and takes keys for it.

use super::answer::Rejection;
use super::extract::{Body, Bytes, Path, Query, Who};
use super::guard::bearer;
use super::serve::Shutdown;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::IntoResponse;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::TerminalSize;
use flower_core::Door;
use flower_engine::App;
use flower_engine::agents::terminals::TerminalReader;
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// More than a person types or pastes at once.
const MAX_KEYS: usize = 64 * 1024;
/// How often the token of a reader is checked again: it may have been revoked.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The trailer with the exit code of the program. Absent if the stream ends before the program.
const EXIT_TRAILER: &str = "x-flower-exit";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TerminalQuery {
    /// Begin with the byte at this position, or with the oldest that is kept. Without it, begin with the current screen.
    after: Option<u64>,
}

/// The output of an agent's terminal, until its program ends. The header `x-flower-offset` is the position of the first
/// byte, and the trailer `x-flower-exit` the exit code. A reader that falls far behind is disconnected, and can resume from
/// its position.
#[utoipa::path(get, path = "/api/agents/{name}/terminal", tag = "agents", params(("name" = String, Path), TerminalQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn show_terminal(
    State(app): State<Arc<App>>,
    Extension(shutdown): Extension<Shutdown>,
    Who(caller): Who,
    headers: HeaderMap,
    Path(name): Path<String>,
    Query(q): Query<TerminalQuery>,
) -> Result<impl IntoResponse, Rejection> {
    let watching = app.agents.watch_terminal(&caller, &name, q.after).await?;
    let position = watching.output.position();
    let token = bearer(&headers).unwrap_or_default().to_owned();
    let token_check =
        tokio::time::interval_at(tokio::time::Instant::now() + TOKEN_CHECK_INTERVAL, TOKEN_CHECK_INTERVAL);
    let reader = Reader { app, watching, shutdown, token, token_check, at: position };
    let frames = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next().await? {
            Piece::Bytes(bytes) => Some((Ok::<_, Infallible>(Frame::data(bytes.into())), Some(reader))),
            Piece::End(trailers) => Some((Ok(Frame::trailers(trailers)), None)),
        }
    });
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (header::TRAILER.as_str(), EXIT_TRAILER.to_owned()),
        ("x-flower-offset", position.to_string()),
    ];
    Ok((headers, axum::body::Body::new(StreamBody::new(frames))))
}

/// Types keys into an agent's terminal.
#[utoipa::path(post, path = "/api/agents/{name}/terminal/keys", tag = "agents", params(("name" = String, Path)),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn type_keys(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Bytes(keys): Bytes<MAX_KEYS>,
) -> Result<StatusCode, Rejection> {
    app.agents.type_keys(&caller, &name, &keys).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Resizes an agent's terminal, for all its readers.
#[utoipa::path(post, path = "/api/agents/{name}/terminal/size", tag = "agents", params(("name" = String, Path)),
    request_body = TerminalSize, responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn resize_terminal(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Body(b): Body<TerminalSize>,
) -> Result<StatusCode, Rejection> {
    app.agents.resize_terminal(&caller, &name, b.columns, b.rows)?;
    Ok(StatusCode::NO_CONTENT)
}

struct Reader {
    app: Arc<App>,
    watching: TerminalReader,
    shutdown: Shutdown,
    token: String,
    token_check: tokio::time::Interval,
    /// The position that the reader expects next.
    at: u64,
}

enum Piece {
    Bytes(Vec<u8>),
    End(HeaderMap),
}

impl Reader {
    /// None when the stream ends before the program.
    async fn next(&mut self) -> Option<Piece> {
        loop {
            tokio::select! {
                next = self.watching.output.next() => return match next {
                    Some((at, bytes)) if at == self.at => {
                        self.at += bytes.len() as u64;
                        Some(Piece::Bytes(bytes))
                    }
                    // The output in between is no longer kept. A reader that connects again gets its new position.
                    Some(_) => None,
                    None => {
                        let code = self.watching.terminal.ended().await;
                        Some(Piece::End(HeaderMap::from_iter([(EXIT_TRAILER.parse().ok()?, HeaderValue::from(code))])))
                    }
                },
                () = self.shutdown.begun() => return None,
                _ = self.token_check.tick() => {
                    self.app.access.identify(&self.token, Door::Api).await.ok()?;
                }
            }
        }
    }
}
