//! The client of the daemon: one request per connection, over its unix socket or `FLOWER_URL`.

use flower_contract::error::{Problem, ProblemEnvelope, ProblemKind};
use flower_engine::home::Home;
use flower_engine::lock;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};

/// Where the daemon is.
#[derive(Clone, Debug)]
pub enum Address {
    Socket(Home),
    /// From `FLOWER_URL`: host and port.
    Tcp(String),
}

#[derive(Clone, Debug)]
pub struct Client {
    address: Address,
    token: String,
    /// The door that the trace names: `cli` or `mcp`.
    door: &'static str,
    /// Refuse a daemon of another version.
    strict: bool,
    timeout: Duration,
    /// Starts or awaits the next daemon, so that a read can be repeated.
    restart: Option<Restart>,
    /// Whether a daemon has answered before.
    answered: Arc<AtomicBool>,
}

type RestartFuture = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send>>;

#[derive(Clone)]
struct Restart(Arc<dyn Fn() -> RestartFuture + Send + Sync>);

impl std::fmt::Debug for Restart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restart")
    }
}

/// Why there is no response.
enum Failure {
    /// The daemon ended before it answered.
    Gone(Problem),
    Other(Problem),
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        match failure {
            Failure::Gone(problem) | Failure::Other(problem) => problem,
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::Other(problem)
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Long enough to verify or rebuild a log of millions of events.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(600);
/// Long enough for a large checkout and its setup commands.
const LONG_RESPONSE_TIMEOUT: Duration = Duration::from_secs(4 * 3600);

impl Client {
    pub fn new(address: Address, token: String) -> Client {
        Client {
            address,
            token,
            door: "cli",
            strict: true,
            timeout: RESPONSE_TIMEOUT,
            restart: None,
            answered: Arc::default(),
        }
    }

    /// Also accepts a daemon of another version, to stop it.
    pub fn lenient(self) -> Client {
        Client { strict: false, ..self }
    }

    /// Acts for an agent that uses MCP.
    pub fn for_agent(self) -> Client {
        Client { door: "mcp", ..self }
    }

    /// Waits long enough for a large checkout and its setup commands.
    pub fn with_long_timeout(self) -> Client {
        Client { timeout: LONG_RESPONSE_TIMEOUT, ..self }
    }

    /// Repeats a read once if the daemon ends before it answers, after `restart` has started or awaited the next daemon. Calls
    /// that change something are not repeated: the daemon may have executed them.
    pub fn with_restart<F>(self, restart: impl Fn() -> F + Send + Sync + 'static) -> Client
    where
        F: Future<Output = Result<(), Problem>> + Send + 'static,
    {
        Client { restart: Some(Restart(Arc::new(move || Box::pin(restart())))), ..self }
    }

    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Problem> {
        decode(&self.read(path).await?)
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Problem> {
        self.json(Method::POST, path, Some(body)).await
    }

    pub async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Problem> {
        self.json(Method::PATCH, path, Some(body)).await
    }

    pub async fn put<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Problem> {
        self.json(Method::PUT, path, Some(body)).await
    }

    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Problem> {
        self.json(Method::DELETE, path, None::<&()>).await
    }

    pub async fn bytes(&self, path: &str) -> Result<Bytes, Problem> {
        self.read(path).await
    }

    /// The whole response to a call that changes nothing.
    async fn read(&self, path: &str) -> Result<Bytes, Problem> {
        match (self.try_read(path).await, &self.restart) {
            (Err(Failure::Gone(_)), Some(Restart(restart))) => {
                restart().await?;
                Ok(self.try_read(path).await?)
            }
            (answer, _) => Ok(answer?),
        }
    }

    async fn try_read(&self, path: &str) -> Result<Bytes, Failure> {
        collect(self.send(Method::GET, path, "application/json", Vec::new()).await?).await
    }

    /// A call without a body, whose response has no content.
    pub async fn call(&self, method: Method, path: &str) -> Result<(), Problem> {
        Ok(self.send(method, path, "application/json", Vec::new()).await.map(drop)?)
    }

    /// A call with a JSON body, whose response has no content.
    pub async fn tell(&self, path: &str, body: &impl Serialize) -> Result<(), Problem> {
        let body = serde_json::to_vec(body).expect("requests are plain data");
        Ok(self.send(Method::POST, path, "application/json", body).await.map(drop)?)
    }

    pub async fn upload<T: DeserializeOwned>(&self, path: &str, bytes: Vec<u8>) -> Result<T, Problem> {
        decode(&collect(self.send(Method::POST, path, "application/octet-stream", bytes).await?).await?)
    }

    /// A call with a binary body, whose response has no content.
    pub async fn send_bytes(&self, path: &str, bytes: Vec<u8>) -> Result<(), Problem> {
        Ok(self.send(Method::POST, path, "application/octet-stream", bytes).await.map(drop)?)
    }

    /// A response whose body is read piece by piece.
    pub async fn open(&self, path: &str) -> Result<Response<Incoming>, Problem> {
        Ok(self.send(Method::GET, path, "application/json", Vec::new()).await?)
    }

    /// The body of a response, which is read piece by piece.
    pub async fn stream(&self, path: &str) -> Result<Incoming, Problem> {
        Ok(self.open(path).await?.into_body())
    }

    /// The live events at `path`.
    pub async fn events(&self, path: &str) -> Result<Events, Problem> {
        Ok(Events { body: self.stream(path).await?, buffer: Vec::new() })
    }

    async fn json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Result<T, Problem> {
        let body = body.map_or_else(Vec::new, |body| serde_json::to_vec(body).expect("requests are plain data"));
        decode(&collect(self.send(method, path, "application/json", body).await?).await?)
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: Vec<u8>) -> Result<Response<Incoming>, Failure> {
        let host = match &self.address {
            Address::Socket(_) => "localhost",
            Address::Tcp(host) => host,
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", kind)
            .header("x-flower-door", self.door)
            .header("connection", "close")
            // Trailers say whether a body is complete.
            .header("te", "trailers")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| {
                Problem::usage(format!("the request cannot be sent: {error}"), "check FLOWER_TOKEN and FLOWER_URL")
            })?;
        let response = match tokio::time::timeout(self.timeout, self.exchange(request)).await {
            Ok(response) => response?,
            Err(_) => {
                return Err(Failure::Other(Problem::unreachable(
                    "the daemon does not answer",
                    "`flower down`, then `flower up`; FLOWER_HOME/daemon.log shows what it was doing",
                )));
            }
        };
        self.answered.store(true, Ordering::Relaxed);
        if self.strict {
            self.require_same_version(&response)?;
        }
        if response.status().is_success() { Ok(response) } else { Err(problem(response).await.into()) }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        match &self.address {
            Address::Socket(home) => {
                let stream = connect(&home.socket()).await.map_err(|error| {
                    let has_answered = self.answered.load(Ordering::Relaxed);
                    match has_answered && !was_killed(home, &error) {
                        // A daemon that was stopped between two calls is not started again.
                        true => Failure::Other(self.unreachable(&error)),
                        // The daemon answered when this client was created, and has ended since.
                        false => Failure::Gone(self.unreachable(&error)),
                    }
                })?;
                self.exchange_over(TokioIo::new(stream), request).await
            }
            Address::Tcp(host) => {
                let connecting = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(host));
                let stream = connecting.await.map_err(|_| self.unreachable(&std::io::ErrorKind::TimedOut.into()))?;
                let stream = stream.map_err(|error| self.unreachable(&error))?;
                self.exchange_over(TokioIo::new(stream), request).await
            }
        }
    }

    async fn exchange_over<S>(
        &self,
        io: TokioIo<S>,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        let closed = |error: hyper::Error| {
            Failure::Gone(Problem::unreachable(
                format!("the daemon closed the connection: {error}"),
                "try again; `flower up` starts the daemon",
            ))
        };
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.map_err(closed)?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(closed)
    }

    fn require_same_version(&self, response: &Response<Incoming>) -> Result<(), Problem> {
        let version = response.headers().get("x-flower-version").and_then(|version| version.to_str().ok());
        match version {
            Some(version) if version == flower_contract::VERSION => Ok(()),
            version => Err(Problem::unreachable(
                format!(
                    "the daemon is flower {}, this is flower {}",
                    version.unwrap_or("of unknown version"),
                    flower_contract::VERSION
                ),
                "run `flower down`, then `flower up`, with the flower that you want to use",
            )),
        }
    }

    fn unreachable(&self, error: &std::io::Error) -> Problem {
        match &self.address {
            Address::Socket(home) => Problem::unreachable(
                format!("no daemon answers in {}: {error}", home.dir().display()),
                "start it: `flower up`",
            ),
            Address::Tcp(host) => Problem::unreachable(
                format!("no daemon answers at {host}: {error}"),
                "check FLOWER_URL; while it is set, flower starts no daemon",
            ),
        }
    }
}

/// A connection to the live stream.
pub struct Events {
    body: Incoming,
    buffer: Vec<u8>,
}

/// An event larger than any that flower writes.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

impl Events {
    /// The next event, or nothing at the connection's end.
    pub async fn next<T: DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let frame: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(event) = parse(&frame) {
                    return Some(event);
                }
            }
            if self.buffer.len() > MAX_EVENT_BYTES {
                return None;
            }
            let frame = self.body.frame().await?.ok()?;
            self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
    }
}

fn parse<T: DeserializeOwned>(frame: &[u8]) -> Option<T> {
    let text = std::str::from_utf8(frame).ok()?;
    // The data of an event is all its `data` lines, joined by newlines.
    let data = text.lines().filter_map(|line| match line.split_once(':').unwrap_or((line, "")) {
        ("data", value) => Some(value.strip_prefix(' ').unwrap_or(value)),
        _ => None,
    });
    serde_json::from_str(&data.collect::<Vec<_>>().join("\n")).ok()
}

/// Connects to a socket whose path may be longer than a socket address allows.
pub async fn connect(path: &Path) -> std::io::Result<UnixStream> {
    let (_folder, short) = flower_jail::short_path(path)?;
    UnixStream::connect(short).await
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::bug(format!("the daemon's response cannot be parsed: {error}")))
}

async fn problem(response: Response<Incoming>) -> Problem {
    let status = response.status();
    let bytes = collect(response).await.unwrap_or_default();
    match serde_json::from_slice::<ProblemEnvelope>(&bytes) {
        Ok(envelope) => envelope.error,
        Err(_) => {
            let kind = if status.is_server_error() { ProblemKind::Unreachable } else { ProblemKind::Usage };
            Problem::new(
                kind,
                format!("the daemon answered {status}"),
                "check that FLOWER_URL names a daemon of flower",
            )
        }
    }
}

async fn collect(response: Response<Incoming>) -> Result<Bytes, Failure> {
    let body = response.into_body().collect().await;
    body.map(|body| body.to_bytes()).map_err(|error| {
        Failure::Gone(Problem::unreachable(format!("the daemon closed the connection: {error}"), "try again"))
    })
}

/// Whether no daemon runs although the last one has left its socket: one that was stopped removes it.
fn was_killed(home: &Home, error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::ConnectionRefused && lock::lock_state(&home.lock()) == lock::LockState::Free
}

/// The value percent-encoded, for one segment of a path or one value of a query.
pub fn escape(value: &str) -> String {
    /// All but the unreserved characters of RFC 3986.
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(value, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_value_is_escaped_so_that_it_stays_one_value() {
        assert_eq!(escape("aZ09-._~"), "aZ09-._~");
        assert_eq!(escape("a b/c?d&e=é%+"), "a%20b%2Fc%3Fd%26e%3D%C3%A9%25%2B");
    }

    #[test]
    fn the_data_of_an_event_may_have_several_lines() {
        for (frame, expected) in [
            ("data: {\"a\":1}\n\n", Some(json!({ "a": 1 }))),
            ("data:{\"a\":1}\n\n", Some(json!({ "a": 1 }))),
            (": note\nid: 7\nevent: x\ndata: {\ndata: \"a\":1\ndata\ndata: }\n\n", Some(json!({ "a": 1 }))),
            ("database: 1\n\n", None),
            (": only a comment\n\n", None),
        ] {
            assert_eq!(parse::<Value>(frame.as_bytes()), expected, "{frame:?}");
        }
    }
}
