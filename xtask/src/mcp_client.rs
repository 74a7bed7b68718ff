//! A small client of the Model Context Protocol: one JSON document per line, over the pipes of a program. Nothing that it
//! waits for can keep it for ever, and its program ends with it.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{Conversation, Program, Running, seconds};

const PROTOCOL: &str = "2025-06-18";
/// The longest line that is read, and how many may wait to be looked at.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
const MOST_LINES: usize = 64;
/// Making a worktree is part of an answer.
const PATIENCE: Duration = seconds(30);

pub(crate) struct McpClient {
    input: ChildStdin,
    lines: Receiver<Result<String, String>>,
    running: Running,
    last_id: u64,
}

/// What a tool said.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// It did not do what was asked.
    pub(crate) refused: bool,
}

impl McpClient {
    /// Starts the server and shakes hands with it.
    pub(crate) fn start(program: Program) -> Result<Self, String> {
        let Conversation { running, input, output } = program.converse()?;
        let (sender, lines) = sync_channel(MOST_LINES);
        thread::spawn(move || read(output, &sender));
        let mut client = Self { input, lines, running, last_id: 0 };
        let client_info = json!({ "name": "flower-demo", "version": "1" });
        let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client_info });
        let answered = client.request("initialize", &hello)?;
        if answered["serverInfo"]["name"].as_str().is_none() {
            return Err(format!("that is no MCP server: {answered}"));
        }
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let parts = result["content"].as_array().ok_or_else(|| format!("`{tool}` has no content: {result}"))?;
        let text: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        Ok(Answer { text: text.join("\n"), refused: result["isError"] == true })
    }

    /// Says that nothing more comes, and waits until the server has left.
    pub(crate) fn close(self) -> Result<(), String> {
        drop(self.input);
        let status = self.running.wait(seconds(10))?;
        if status.success() { Ok(()) } else { Err(format!("the MCP server left with {status}")) }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line?,
                Err(RecvTimeoutError::Timeout) => return Err(format!("no answer to `{method}` in {PATIENCE:?}")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("the MCP server left instead of answering `{method}`"));
                }
            };
            let message: Value =
                serde_json::from_str(&line).map_err(|error| format!("the MCP server wrote no JSON: {error}"))?;
            // Whatever else it says is not for us.
            if message["id"] != id {
                continue;
            }
            return match message.get("error") {
                Some(error) => Err(format!("`{method}` was answered with {error}")),
                None => Ok(message["result"].clone()),
            };
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let sent = self.input.write_all(format!("{message}\n").as_bytes()).and_then(|()| self.input.flush());
        sent.map_err(|error| format!("the MCP server does not listen: {error}"))
    }
}

/// Hands line after line over, until there are no more or nobody wants them.
fn read(output: impl Read, lines: &SyncSender<Result<String, String>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = String::new();
        let next = match output.by_ref().take(MOST_BYTES).read_line(&mut line) {
            Ok(0) => return,
            Ok(_) if line.ends_with('\n') => Ok(line),
            Ok(_) => Err(format!("the MCP server wrote a line of more than {MOST_BYTES} bytes, or half of one")),
            Err(error) => Err(format!("the MCP server cannot be read: {error}")),
        };
        let over = next.is_err();
        if lines.send(next).is_err() || over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers two lines and leaves.
    fn script(script: &str) -> Result<McpClient, String> {
        McpClient::start(Program::new("sh", seconds(10)).args(["-c", script]))
    }

    const HELLO: &str = r#"read -r l; echo '{"id":1,"result":{"serverInfo":{"name":"x"}}}'; read -r l;"#;

    #[test]
    fn a_tool_is_called_and_what_is_for_others_is_left_out() {
        let answer = r#"read -r l; echo '{"method":"news"}'; echo '{"id":2,"result":{"isError":true,"content":[{"text":"no"}]}}'; read -r l"#;
        let mut client = script(&format!("{HELLO} {answer}; exit 0")).unwrap();
        let answer = client.call("any", &json!({})).unwrap();
        assert_eq!((answer.text.as_str(), answer.refused), ("no", true));
        client.close().unwrap();
    }

    #[test]
    fn a_server_that_leaves_or_babbles_is_an_error() {
        let left = script(&format!("{HELLO} exit 0")).unwrap().call("any", &json!({})).err().unwrap();
        assert!(left.contains("left") || left.contains("listen"), "{left}");
        assert!(script("echo hello").err().unwrap().contains("no JSON"));
    }
}
