//! A client of the MCP server that the session was given, over pipes or over HTTP.

use agent_client_protocol_schema::v1::{McpServer, McpServerHttp, McpServerStdio};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// `hand_back` examines the worktree, which can take long.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Until the server has told its tools.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Messages that wait to be written or read.
const MAX_QUEUED: usize = 16;
/// Of one answer over HTTP.
const MAX_BYTES: usize = 16 << 20;
const PROTOCOL: &str = "2025-06-18";

pub(super) struct Tools {
    wire: Wire,
    next: u64,
    /// The names of the tools that the server has told.
    pub(super) names: Vec<String>,
}

enum Wire {
    Pipes(Pipes),
    Http(Box<Http>),
}

/// Reads and writes on tasks of their own, so that a cancelled call leaves no partial line behind.
struct Pipes {
    _child: Child,
    to: mpsc::Sender<Value>,
    from: mpsc::Receiver<Value>,
}

struct Http {
    url: Uri,
    headers: Vec<(String, String)>,
    session: Option<String>,
}

impl Tools {
    /// Connects, and asks for the list of tools.
    pub(super) async fn start(server: &McpServer, dir: &Path) -> Result<Tools, String> {
        let starting = async {
            let wire = match server {
                McpServer::Stdio(server) => Wire::Pipes(Pipes::start(server, dir)?),
                McpServer::Http(server) => Wire::Http(Box::new(Http::new(server)?)),
                _ => return Err("the MCP server uses another transport".to_owned()),
            };
            let mut tools = Tools { wire, next: 0, names: Vec::new() };
            let hello = json!({
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": { "name": "scripted", "version": flower_contract::VERSION },
            });
            tools.ask("initialize", hello).await?;
            tools.tell(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
            let list = tools.ask("tools/list", json!({})).await?;
            let listed = list["result"]["tools"].as_array().into_iter().flatten();
            tools.names = listed.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
            Ok(tools)
        };
        let late = |_| Err(format!("the MCP server has told no tools within {START_TIMEOUT:?}"));
        tokio::time::timeout(START_TIMEOUT, starting).await.unwrap_or_else(late)
    }

    /// Calls a tool. The inner result is the tool's answer or error, the outer one fails if the server does not answer.
    pub(super) async fn call(&mut self, name: &str, arguments: &Value) -> Result<Result<String, String>, String> {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await?;
        if let Some(error) = answer.get("error") {
            return Ok(Err(error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned)));
        }
        let texts = answer["result"]["content"].as_array().into_iter().flatten();
        let text: Vec<&str> = texts.filter_map(|block| block["text"].as_str()).collect();
        let is_error = answer["result"]["isError"].as_bool().unwrap_or_default();
        Ok(if is_error { Err(text.join("\n")) } else { Ok(text.join("\n")) })
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let is_answer = |message: &Value| message["id"].as_u64() == Some(id) && message.get("method").is_none();
        let answer = async {
            match &mut self.wire {
                Wire::Pipes(pipes) => {
                    pipes.send(message).await?;
                    while let Some(message) = pipes.from.recv().await {
                        if is_answer(&message) {
                            return Ok(message);
                        }
                    }
                    Err("the MCP server has ended".to_owned())
                }
                Wire::Http(http) => {
                    let said = http.send(&message).await?;
                    said.into_iter().find(is_answer).ok_or_else(|| "the MCP server did not answer".to_owned())
                }
            }
        };
        let late = |_| Err(format!("no answer to `{method}` within {CALL_TIMEOUT:?}"));
        tokio::time::timeout(CALL_TIMEOUT, answer).await.unwrap_or_else(late)
    }

    async fn tell(&mut self, message: Value) -> Result<(), String> {
        match &mut self.wire {
            Wire::Pipes(pipes) => pipes.send(message).await,
            Wire::Http(http) => http.send(&message).await.map(drop),
        }
    }
}

impl Pipes {
    fn start(server: &McpServerStdio, dir: &Path) -> Result<Pipes, String> {
        let mut child = Command::new(&server.command)
            .args(&server.args)
            .envs(server.env.iter().map(|variable| (&variable.name, &variable.value)))
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", server.command.display()))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the MCP server has no pipes".to_owned());
        };
        let (to, mut outgoing) = mpsc::channel::<Value>(MAX_QUEUED);
        tokio::spawn(async move {
            while let Some(message) = outgoing.recv().await {
                if input.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let (incoming, from) = mpsc::channel(MAX_QUEUED);
        tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let Ok(message) = serde_json::from_str(&line) else { continue };
                if incoming.send(message).await.is_err() {
                    return;
                }
            }
        });
        Ok(Pipes { _child: child, to, from })
    }

    async fn send(&self, message: Value) -> Result<(), String> {
        self.to.send(message).await.map_err(|_| "the MCP server has ended".to_owned())
    }
}

impl Http {
    fn new(server: &McpServerHttp) -> Result<Http, String> {
        let url = server.url.parse().map_err(|error| format!("{}: {error}", server.url))?;
        let headers = server.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        Ok(Http { url, headers, session: None })
    }

    /// Posts a message on a connection of its own. Returns what is answered, as JSON or as a stream of events.
    async fn send(&mut self, message: &Value) -> Result<Vec<Value>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the MCP server cannot be reached: {error}");
        let authority = self.url.authority().ok_or("the MCP server has no address")?;
        let stream = TcpStream::connect(authority.as_str()).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        tokio::spawn(connection);
        let mut request = Request::post(self.url.path())
            .header("host", authority.as_str())
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("connection", "close");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", PROTOCOL);
        }
        let request = request.body(Full::new(Bytes::from(message.to_string()))).map_err(|error| failed(&error))?;
        let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let session = answer.headers().get("mcp-session-id").and_then(|session| session.to_str().ok());
        self.session = session.map(str::to_owned).or(self.session.take());
        let (status, body) = (answer.status(), Limited::new(answer.into_body(), MAX_BYTES));
        let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
        let text = String::from_utf8_lossy(&body).into_owned();
        if !status.is_success() {
            return Err(format!("the MCP server answers {status}: {text}"));
        }
        let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        Ok(lines.filter_map(|line| serde_json::from_str(line.trim()).ok()).collect())
    }
}
