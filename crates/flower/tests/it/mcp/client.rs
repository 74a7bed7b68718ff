//! Clients that are written out by hand, so that a test decides about every byte.

use crate::common::http::{Answer, Chunks, Request};
use crate::common::{Flower, PATIENCE};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// What a client speaks. The newest one has neither `initialize` nor sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    June2025,
    November2025,
    July2026,
}

pub const ERAS: [Era; 3] = [Era::June2025, Era::November2025, Era::July2026];

impl Era {
    pub fn version(self) -> &'static str {
        match self {
            Era::June2025 => "2025-06-18",
            Era::November2025 => "2025-11-25",
            Era::July2026 => "2026-07-28",
        }
    }

    /// The parameters as this era sends them.
    fn dress(self, mut params: Value) -> Value {
        if self == Era::July2026 {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version(),
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        params
    }

    fn hello(self) -> Value {
        json!({ "protocolVersion": self.version(), "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } })
    }
}

/// A client of either transport.
pub trait Client {
    fn era(&self) -> Era;

    /// The whole answer to a request.
    fn ask(&mut self, method: &str, params: Value) -> Value;

    /// The text of a tool's answer, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{tool}: {answer}"));
        (text.to_owned(), result["isError"].as_bool().unwrap_or_default())
    }

    /// The text of an answer that is none of an error.
    fn done(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        // A brief has a section of its own for what is next.
        let says = text.lines().last().is_some_and(|line| line.starts_with("Next: ")) || text.contains("\n## Next\n");
        assert!(says, "{tool}: {text}");
        text
    }

    /// The text of an error, which names the next step.
    fn fails(&mut self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error && text.contains("\nnext: "), "{tool}: {text}");
        text
    }
}

/// `flower mcp` and both ends of its pipes.
pub struct Piped {
    era: Era,
    pub child: Child,
    pub input: Option<ChildStdin>,
    lines: Receiver<Value>,
    pub told: Vec<Value>,
    next: u64,
}

impl Piped {
    /// With the identity of this token, or as a new worker.
    pub fn start(flower: &Flower, era: Era, token: Option<&str>) -> Piped {
        let mut command = flower.command(&["mcp"]);
        command.envs(token.map(|token| ("FLOWER_TOKEN", token)));
        let mut client = Piped::spawn(command, era);
        client.begin();
        client
    }

    pub fn spawn(mut command: Command, era: Era) -> Piped {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("flower runs");
        let output = child.stdout.take().expect("a pipe");
        let input = child.stdin.take();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not the protocol: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Piped { era, child, input, lines, told: vec![], next: 1 }
    }

    /// The handshake that the era requires.
    pub fn begin(&mut self) -> Value {
        if self.era == Era::July2026 {
            return self.ask("server/discover", json!({}));
        }
        let answer = self.ask("initialize", self.era.hello());
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("an open pipe");
        input.write_all(bytes).and_then(|()| input.flush()).expect("flower reads");
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// The next message, of any sort.
    pub fn next(&mut self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a message")
    }

    /// Sends a request and does not wait.
    pub fn begin_to_ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": self.era.dress(params) }));
        id
    }

    /// The notification of this sort that comes next.
    pub fn told(&mut self, method: &str) -> Value {
        if let Some(at) = self.told.iter().position(|message| message["method"] == method) {
            return self.told.remove(at);
        }
        loop {
            let message = self.next();
            if message["method"] == method {
                return message;
            }
        }
    }
}

impl Client for Piped {
    fn era(&self) -> Era {
        self.era
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_to_ask(method, params);
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// A client over HTTP.
pub struct Http {
    era: Era,
    port: u16,
    token: String,
    pub session: Option<String>,
    next: u64,
}

impl Http {
    pub fn start(flower: &Flower, era: Era, token: &str) -> Http {
        let mut client = Http { era, port: flower.port(), token: token.to_owned(), session: None, next: 1 };
        client.begin();
        client
    }

    fn begin(&mut self) -> Value {
        if self.era == Era::July2026 {
            return self.ask("server/discover", json!({}));
        }
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": self.era.hello() });
        let answer = self.post(&hello).send();
        self.session = answer.header("mcp-session-id").map(str::to_owned);
        assert!(answer.status == 200 && self.session.is_some(), "{answer:?}");
        let ready = self.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).send();
        assert_eq!(ready.status, 202, "{ready:?}");
        messages(&answer).pop().expect("an answer")
    }

    /// A request with everything that the era puts into headers.
    pub fn post(&self, message: &Value) -> Request {
        let mut request = self.bare("POST").json(message);
        if self.era == Era::July2026 {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            request = request.header("Mcp-Method", &text(&message["method"]));
            let name = [&message["params"]["name"], &message["params"]["uri"]].map(text).concat();
            if !name.is_empty() {
                request = request.header("Mcp-Name", &name);
            }
        }
        request
    }

    pub fn bare(&self, method: &str) -> Request {
        let request = Request::new(self.port, method, "/mcp").token(&self.token);
        let request = request.header("Accept", "application/json, text/event-stream");
        let request = match self.session.is_some() || self.era == Era::July2026 {
            true => request.header("MCP-Protocol-Version", self.era.version()),
            false => request,
        };
        self.session.iter().fold(request, |request, session| request.header("Mcp-Session-Id", session))
    }

    pub fn request(&mut self, method: &str, params: Value) -> Request {
        let id = self.next;
        self.next += 1;
        self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": self.era.dress(params) }))
    }
}

impl Client for Http {
    fn era(&self) -> Era {
        self.era
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).send();
        messages(&answer).pop().unwrap_or_else(|| panic!("{method}: {answer:?}"))
    }
}

/// The messages of an answer, which is JSON or a stream of events.
pub fn messages(answer: &Answer) -> Vec<Value> {
    if answer.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        return vec![answer.json()];
    }
    let text = answer.text();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    data.filter(|data| !data.is_empty()).map(|data| serde_json::from_str(data).expect("JSON")).collect()
}

/// The next message of a stream that stays open, or nothing at its end.
pub fn next_message(frames: &mut BufReader<Chunks>) -> Option<Value> {
    loop {
        let mut line = String::new();
        if frames.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(data) = line.strip_prefix("data:").map(str::trim).filter(|data| !data.is_empty()) {
            return serde_json::from_str(data).ok();
        }
    }
}
