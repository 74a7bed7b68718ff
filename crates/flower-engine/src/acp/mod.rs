//! The Agent Client Protocol, from the side of whoever drives an agent: JSON-RPC, one message per line.
//!
//! An agent may say anything at all, so everything it says is bounded here: the length of a line, how much of what is no
//! protocol is put up with, and how much waits to be looked at. When nobody reads, the agent waits.

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

/// The version of the wire that is spoken.
pub const VERSION: u16 = 1;
/// What waits to be looked at; then the agent waits.
const WAITING: usize = 64;
/// Lines that are no protocol, in all, before it is taken for something else than an agent.
const MOST_NOISE: u64 = 10_000;
/// Far more than any message of an agent, including one with an image.
const MAX_LINE: usize = 32 << 20;
const METHOD_NOT_FOUND: i64 = -32601;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AcpError {
    #[error("it ended")]
    Ended,
    #[error("`{method}` was not answered within {seconds} s")]
    Deadline { method: String, seconds: u64 },
    #[error("it refused `{method}`: {message}")]
    Refused { method: String, code: i64, message: String },
    #[error("its answer to `{method}` cannot be read: {why}")]
    Unreadable { method: String, why: String },
    #[error("{0}")]
    Slow(String),
    #[error("it says too much that is no ACP ({MOST_NOISE} lines)")]
    Noise,
    #[error("it sent a line of more than {} MB", MAX_LINE >> 20)]
    TooLong,
}

/// What an agent says by itself.
#[derive(Debug)]
pub enum Incoming {
    Update(Box<SessionUpdate>),
    /// Of a sort that this flower does not know.
    Unknown(String),
    Permission(Value, Box<RequestPermissionRequest>),
    /// Anything else that wants an answer: its id, its method and its parameters.
    Asked(Value, String, Value),
    /// A line that is no protocol, as it came.
    Noise(String),
}

type Answer = Result<Value, AcpError>;
type Pending = Arc<Mutex<Option<HashMap<u64, (String, oneshot::Sender<Answer>)>>>>;

/// One end of the wire. The other one is the agent.
pub struct Connection {
    say: mpsc::Sender<String>,
    pending: Pending,
    next: AtomicU64,
}

impl Connection {
    /// Speaks on these until either of them ends.
    pub fn new<R, W>(from: R, to: W) -> (Connection, mpsc::Receiver<Incoming>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (say, mut said) = mpsc::channel::<String>(WAITING);
        let (hear, heard) = mpsc::channel(WAITING);
        let pending: Pending = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(async move {
            let mut to = to;
            while let Some(line) = said.recv().await {
                if to.write_all(line.as_bytes()).await.is_err() || to.flush().await.is_err() {
                    return;
                }
            }
        });
        let waiting = pending.clone();
        tokio::spawn(async move {
            let why = listen(BoundedLines::new(from, MAX_LINE), &hear, &waiting).await;
            // From here on nothing is answered any more.
            let open = waiting.lock().expect("no panic while held").take();
            for (_, (_, answer)) in open.into_iter().flatten() {
                let _ = answer.send(Err(why.clone()));
            }
        });
        (Connection { say, pending, next: AtomicU64::new(1) }, heard)
    }

    /// Asks, and waits for the answer.
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
        let asked = async {
            self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
            answered.await.unwrap_or(Err(AcpError::Ended))
        };
        let answer = match tokio::time::timeout(deadline, asked).await {
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

    /// Says something that wants no answer.
    pub async fn tell<P: Serialize>(&self, method: &str, params: &P) -> Result<(), AcpError> {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    pub async fn answer<R: Serialize>(&self, id: &Value, result: &R) -> Result<(), AcpError> {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })).await
    }

    pub async fn refuse(&self, id: &Value, why: &str) -> Result<(), AcpError> {
        let error = json!({ "code": METHOD_NOT_FOUND, "message": why });
        self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error })).await
    }

    async fn send(&self, message: Value) -> Result<(), AcpError> {
        self.say.send(format!("{message}\n")).await.map_err(|_| AcpError::Ended)
    }
}

/// Reads until the agent ends or violates a limit.
async fn listen<R: AsyncRead + Unpin>(
    mut from: BoundedLines<R>,
    hear: &mpsc::Sender<Incoming>,
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
        let said = match serde_json::from_str::<Value>(&line) {
            Ok(Value::Object(message)) => understand(Value::Object(message), pending),
            _ => Some(Incoming::Noise(line)),
        };
        if matches!(said, Some(Incoming::Noise(_))) {
            noise += 1;
            if noise >= MOST_NOISE {
                return AcpError::Noise;
            }
        }
        if let Some(said) = said
            && hear.send(said).await.is_err()
        {
            return AcpError::Ended;
        }
    }
}

/// Answers go to whoever asked; the rest is for whoever listens.
fn understand(mut message: Value, pending: &Pending) -> Option<Incoming> {
    let method = message["method"].as_str().map(str::to_owned);
    let id = message.get("id").filter(|id| !id.is_null()).cloned();
    let params = message["params"].take();
    match (method.as_deref(), id) {
        (Some("session/update"), None) => Some(update(params)),
        (Some("session/request_permission"), Some(id)) => match serde_json::from_value(params.clone()) {
            Ok(request) => Some(Incoming::Permission(id, Box::new(request))),
            Err(_) => Some(Incoming::Asked(id, "session/request_permission".to_owned(), params)),
        },
        (Some(method), Some(id)) => Some(Incoming::Asked(id, method.to_owned(), params)),
        (Some(method), None) => Some(Incoming::Unknown(method.to_owned())),
        (None, Some(id)) => {
            let asked = id.as_u64().and_then(|id| pending.lock().expect("no panic while held").as_mut()?.remove(&id));
            let Some((method, answer)) = asked else { return Some(Incoming::Noise(message.to_string())) };
            let _ = answer.send(result(method, message));
            None
        }
        (None, None) => Some(Incoming::Noise(message.to_string())),
    }
}

fn update(mut params: Value) -> Incoming {
    let update = params["update"].take();
    let kind = update["sessionUpdate"].as_str().unwrap_or("without a name").to_owned();
    match serde_json::from_value(update) {
        Ok(update) => Incoming::Update(Box::new(update)),
        Err(_) => Incoming::Unknown(kind),
    }
}

fn result(method: String, mut message: Value) -> Answer {
    match (message.get("error").is_some_and(|error| !error.is_null()), message.get("result").is_some()) {
        (true, true) => Err(AcpError::Unreadable { method, why: "it is a result and an error".to_owned() }),
        (true, false) => {
            let error = &message["error"];
            let (code, text) = (error["code"].as_i64().unwrap_or(0), error["message"].as_str().unwrap_or("no reason"));
            let detail = match &error["data"] {
                Value::Null => String::new(),
                Value::String(text) => format!(" ({text})"),
                other => format!(" ({other})"),
            };
            Err(AcpError::Refused { method, code, message: format!("{text}{detail}").chars().take(1_000).collect() })
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
    async fn answers_reach_whoever_asked_whatever_comes_in_between() {
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
        assert!(matches!(heard.recv().await, Some(Incoming::Noise(_))), "nobody asked for 77");
    }

    #[tokio::test]
    async fn refusals_and_nonsense_are_told_apart() {
        for (says, expected) in [
            (r#"{"id":1,"error":{"code":-32000,"message":"log in"}}"#, "it refused `x`: log in"),
            (r#"{"id":1,"result":{},"error":{"code":1}}"#, "cannot be read: it is a result and an error"),
            (r#"{"id":1}"#, "it has no result"),
        ] {
            let (connection, _heard, mut agent) = pair();
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            let asked = tokio::spawn(async move { connection.call::<_, Value>("x", &(), SOON).await });
            // It may have answered before it was asked: then nobody waits for it, and it has to say so again.
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            agent.write_all(format!("{says}\n").as_bytes()).await.unwrap();
            let error = asked.await.unwrap().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[tokio::test]
    async fn whoever_ends_or_is_silent_keeps_nobody_waiting() {
        let (connection, _heard, agent) = pair();
        let silent = connection.call::<_, Value>("x", &(), Duration::from_millis(30)).await;
        assert!(matches!(silent, Err(AcpError::Deadline { .. })));
        drop(agent);
        let gone = connection.call::<_, Value>("x", &(), SOON).await;
        assert!(matches!(gone, Err(AcpError::Ended)));
    }

    #[tokio::test]
    async fn noise_is_borne_for_a_while_only() {
        let (connection, mut heard, mut agent) = pair();
        let flood = tokio::spawn(async move {
            for _ in 0..MOST_NOISE + 10 {
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
