//! A client of the MCP server that the session was given.

use agent_client_protocol_schema::v1::McpServerStdio;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

/// `hand_back` examines the worktree, which can take long.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);
/// Messages that wait to be written or read.
const MAX_QUEUED: usize = 16;

/// Reads and writes on tasks of their own, so that a cancelled call leaves no partial line behind.
pub(super) struct Tools {
    _child: Child,
    to: mpsc::Sender<Value>,
    from: mpsc::Receiver<Value>,
    next: u64,
}

impl Tools {
    pub(super) async fn start(server: &McpServerStdio, dir: &Path) -> Result<Tools, String> {
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
        let mut tools = Tools { _child: child, to, from, next: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "scripted", "version": flower_contract::VERSION },
        });
        tools.ask("initialize", hello).await?;
        tools.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(tools)
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
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        let answer = async {
            while let Some(message) = self.from.recv().await {
                if message["id"].as_u64() == Some(id) && message.get("method").is_none() {
                    return Ok(message);
                }
            }
            Err("the MCP server has ended".to_owned())
        };
        let late = |_| Err(format!("no answer to `{method}` within {CALL_TIMEOUT:?}"));
        tokio::time::timeout(CALL_TIMEOUT, answer).await.unwrap_or_else(late)
    }

    async fn send(&self, message: Value) -> Result<(), String> {
        self.to.send(message).await.map_err(|_| "the MCP server has ended".to_owned())
    }
}
