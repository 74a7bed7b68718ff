//! The client side of the Agent Client Protocol: JSON-RPC, one message per line.
//!
//! The output of an agent is untrusted, so all of it is bounded here: the length of a line, the number of lines that are no
//! ACP, and the messages that wait to be processed. While they are not processed, reading pauses and the agent blocks.

pub use agent_client_protocol_schema::v1 as schema;

use crate::bounded_lines::{BoundedLines, Line};
use schema::{RequestPermissionRequest, SessionUpdate};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

/// The version of the protocol.
pub const VERSION: u16 = 1;
/// Messages that wait in each direction.
const CHANNEL_CAPACITY: usize = 64;
/// Lines that are no ACP, in one connection, before the program is taken for something else than an agent.
const MAX_NOISE_LINES: u64 = 10_000;
/// Far more than any message of an agent, including one with an image.
const MAX_LINE_BYTES: usize = 32 << 20;
/// Larger data of an error is dropped.
const MAX_ERROR_DATA_BYTES: usize = 64 << 10;
const METHOD_NOT_FOUND: i64 = -32601;
/// The error code for a missing login.
pub const AUTH_REQUIRED: i64 = -32000;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AcpError {
    #[error("the agent closed the connection")]
    Ended,
    #[error("`{method}` was not answered within {seconds} s")]
    Deadline { method: String, seconds: u64 },
    #[error("the agent refused `{method}`: {message}")]
    Refused { method: String, code: i64, message: String, data: Box<Value> },
    #[error("the answer to `{method}` is invalid: {why}")]
    Unreadable { method: String, why: String },
    #[error("{0}")]
    Slow(String),
    #[error("the agent wrote {MAX_NOISE_LINES} lines that are no ACP")]
    Noise,
    #[error("the agent wrote a line of more than {} MB", MAX_LINE_BYTES >> 20)]
    TooLong,
}

/// A message that the agent sends by itself.
#[derive(Debug)]
pub enum Incoming {
    Update(Box<SessionUpdate>),
    /// A notification or an update of an unknown kind.
    Unknown(String),
    Permission(Value, Box<RequestPermissionRequest>),
    /// Any other request: its id, method and parameters.
    Request(Value, String, Value),
    /// A line that is no ACP, unchanged.
    Noise(String),
}

type CallResult = Result<Value, AcpError>;
type Pending = Arc<Mutex<Option<HashMap<u64, (String, oneshot::Sender<CallResult>)>>>>;

/// A connection to an agent.
pub struct Connection {
    outgoing: mpsc::Sender<String>,
    pending: Pending,
    next: AtomicU64,
}

impl Connection {
    /// Reads and writes these streams until one of them ends.
    pub fn new<R, W>(from: R, to: W) -> (Connection, mpsc::Receiver<Incoming>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, mut lines) = mpsc::channel::<String>(CHANNEL_CAPACITY);
        let (sender, incoming) = mpsc::channel(CHANNEL_CAPACITY);
        let pending: Pending = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(async move {
            let mut to = to;
            while let Some(line) = lines.recv().await {
                if to.write_all(line.as_bytes()).await.is_err() || to.flush().await.is_err() {
                    return;
                }
            }
        });
        let waiting = pending.clone();
        tokio::spawn(async move {
            let why = read_messages(BoundedLines::new(from, MAX_LINE_BYTES), &sender, &waiting).await;
            // No answer can arrive any more; without the map, later calls fail at once.
            let open = waiting.lock().expect("no panic while held").take();
            for (_, (_, answer)) in open.into_iter().flatten() {
                let _ = answer.send(Err(why.clone()));
            }
        });
        (Connection { outgoing, pending, next: AtomicU64::new(1) }, incoming)
    }

    /// Sends a request and waits for its response.
    pub async fn call<P: Serialize, R: DeserializeOwned>(
        &self,
        method: &str,
        params: &P,
        deadline: Duration,
    ) -> Result<R, AcpError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        {
            let mut pending = self.pending.lock().expect("no panic while held");
            let Some(pending) = pending.as_mut() else { return Err(AcpError::Ended) };
            pending.insert(id, (method.to_owned(), answer));
        }
        let exchange = async {
            self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
            answered.await.unwrap_or(Err(AcpError::Ended))
        };
        let answer = match tokio::time::timeout(deadline, exchange).await {
            Ok(answer) => answer?,
            Err(_) => {
                let mut pending = self.pending.lock().expect("no panic while held");
                pending.as_mut().and_then(|pending| pending.remove(&id));
                return Err(AcpError::Deadline { method: method.to_owned(), seconds: deadline.as_secs() });
            }
        };
        serde_json::from_value(answer)
            .map_err(|error| AcpError::Unreadable { method: method.to_owned(), why: error.to_string() })
    }

    /// Sends a notification, which has no response.
    pub async fn notify<P: Serialize>(&self, method: &str, params: &P) -> Result<(), AcpError> {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    pub async fn respond<R: Serialize>(&self, id: &Value, result: &R) -> Result<(), AcpError> {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })).await
    }

    pub async fn respond_error(&self, id: &Value, why: &str) -> Result<(), AcpError> {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": why });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error })).await
    }

    async fn send(&self, message: Value) -> Result<(), AcpError> {
        self.outgoing.send(format!("{message}\n")).await.map_err(|_| AcpError::Ended)
    }
}

/// Reads messages until the stream ends or exceeds a limit, and returns which.
async fn read_messages<R: AsyncRead + Unpin>(
    mut from: BoundedLines<R>,
    sender: &mpsc::Sender<Incoming>,
    pending: &Pending,
) -> AcpError {
    let mut noise = 0;
    loop {
        let line = match from.next().await {
            Ok(Some(Line::Whole(line))) => String::from_utf8_lossy(&line).into_owned(),
            Ok(Some(Line::TooLong)) => return AcpError::TooLong,
            Ok(Some(Line::Unfinished(_)) | None) | Err(_) => return AcpError::Ended,
        };
        if line.trim().is_empty() {
            continue;
        }
        let incoming = match serde_json::from_str::<Value>(&line) {
            Ok(Value::Object(message)) => handle_message(Value::Object(message), pending),
            _ => Some(Incoming::Noise(line)),
        };
        if matches!(incoming, Some(Incoming::Noise(_))) {
            noise += 1;
            if noise >= MAX_NOISE_LINES {
                return AcpError::Noise;
            }
        }
        if let Some(incoming) = incoming
            && sender.send(incoming).await.is_err()
        {
            return AcpError::Ended;
        }
    }
}

/// Passes a response to the call that waits for it; returns every other message.
fn handle_message(mut message: Value, pending: &Pending) -> Option<Incoming> {
    let method = message["method"].as_str().map(str::to_owned);
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    let params = message["params"].take();
    match (method.as_deref(), id) {
        (Some("session/update"), None) => Some(update(params)),
        (Some("session/request_permission"), Some(id)) => match serde_json::from_value(params.clone()) {
            Ok(request) => Some(Incoming::Permission(id, Box::new(request))),
            Err(_) => Some(Incoming::Request(id, "session/request_permission".to_owned(), params)),
        },
        (Some(method), Some(id)) => Some(Incoming::Request(id, method.to_owned(), params)),
        (Some(method), None) => Some(Incoming::Unknown(method.to_owned())),
        (None, Some(id)) => {
            let call = id.as_u64().and_then(|id| pending.lock().expect("no panic while held").as_mut()?.remove(&id));
            let Some((method, answer)) = call else { return Some(Incoming::Noise(message.to_string())) };
            let _ = answer.send(result(method, message));
            None
        }
        (None, None) => Some(Incoming::Noise(message.to_string())),
    }
}

fn update(mut params: Value) -> Incoming {
    let update = params["update"].take();
    let kind = update["sessionUpdate"].as_str().unwrap_or("unnamed").to_owned();
    match serde_json::from_value(update) {
        Ok(update) => Incoming::Update(Box::new(update)),
        Err(_) => Incoming::Unknown(kind),
    }
}

fn result(method: String, mut message: Value) -> CallResult {
    match (message.get("error").is_some_and(|error| !error.is_null()), message.get("result").is_some()) {
        (true, true) => Err(AcpError::Unreadable { method, why: "it has a result and an error".to_owned() }),
        (true, false) => {
            let error = &message["error"];
            let (code, text) = (error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or("no reason"));
            let detail = match &error["data"] {
                Value::Null => String::new(),
                Value::String(text) => format!(" ({text})"),
                other => format!(" ({other})"),
            };
            let message = format!("{text}{detail}").chars().take(1_000).collect();
            let data = if detail.len() > MAX_ERROR_DATA_BYTES { Value::Null } else { error["data"].clone() };
            Err(AcpError::Refused { method, code, message, data: Box::new(data) })
        }
        (false, true) => Ok(message["result"].take()),
        (false, false) => Err(AcpError::Unreadable { method, why: "it has no result".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, duplex, split};

    const SOON: Duration = Duration::from_secs(5);

    /// A connection, and the agent's end of it.
    fn pair() -> (Connection, mpsc::Receiver<Incoming>, tokio::io::DuplexStream) {
        let (ours, theirs) = duplex(1 << 20);
        let (from, to) = split(ours);
        let (connection, heard) = Connection::new(from, to);
        (connection, heard, theirs)
    }

    #[tokio::test]
    async fn a_response_reaches_its_call_between_other_messages() {
        let (connection, mut heard, mut agent) = pair();
        let asking = connection.call::<_, Value>("initialize", &(), SOON);
        let answering = async {
            let mut asked = vec![0; 200];
            let read = agent.read(&mut asked).await.unwrap();
            assert!(String::from_utf8_lossy(&asked[..read]).contains("\"method\":\"initialize\""));
            let says = concat!(
                "hello?\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"a\",\"update\":",
                "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}}}}\n",
                "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"new\"}}}\n",
                "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n",
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"fine\":true}}\n"
            );
            agent.write_all(says.as_bytes()).await.unwrap();
        };
        let (answer, ()) = tokio::join!(asking, answering);
        assert_eq!(answer.unwrap()["fine"], true);
        assert!(matches!(heard.recv().await, Some(Incoming::Noise(line)) if line == "hello?"));
        assert!(matches!(heard.recv().await, Some(Incoming::Update(_))));
        assert!(matches!(heard.recv().await, Some(Incoming::Unknown(kind)) if kind == "new"));
        assert!(matches!(heard.recv().await, Some(Incoming::Noise(_))), "no call has the id 77");
    }

    #[tokio::test]
    async fn refusals_and_invalid_responses_have_different_errors() {
        for (says, expected) in [
            (r#"{"id":1,"error":{"code":-32000,"message":"log in"}}"#, "the agent refused `x`: log in"),
            (r#"{"id":1,"result":{},"error":{"code":1}}"#, "is invalid: it has a result and an error"),
            (r#"{"id":1}"#, "it has no result"),
        ] {
            let (connection, _heard, mut agent) = pair();
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            let asked = tokio::spawn(async move { connection.call::<_, Value>("x", &(), SOON).await });
            // The first response may arrive before the call, and is then dropped; so it is sent again.
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            let error = asked.await.unwrap().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn a_call_ends_when_the_agent_is_silent_or_gone() {
        let (connection, _heard, agent) = pair();
        let silent = connection.call::<_, Value>("x", &(), Duration::from_millis(30)).await;
        assert!(matches!(silent, Err(AcpError::Deadline { .. })));
        drop(agent);
        let gone = connection.call::<_, Value>("x", &(), SOON).await;
        assert!(matches!(gone, Err(AcpError::Ended)));
    }

    #[tokio::test]
    async fn too_much_noise_ends_the_connection() {
        let (connection, mut heard, mut agent) = pair();
        let flood = tokio::spawn(async move {
            for _ in 0..MAX_NOISE_LINES + 10 {
                if agent.write_all(b"what?\n").await.is_err() {
                    break;
                }
            }
            agent
        });
        let asking = connection.call::<_, Value>("x", &(), SOON);
        let draining = async { while heard.recv().await.is_some() {} };
        let (answer, ()) = tokio::join!(asking, draining);
        assert!(matches!(answer, Err(AcpError::Noise)));
        drop(flood);
    }
}
