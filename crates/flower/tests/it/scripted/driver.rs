//! Drives the scripted agent: a folder for it to work in, and the other end of its wire.

use crate::common::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A folder with a repository, and a home.
pub struct Place {
    pub dir: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let place = Place { dir: tempfile::Builder::new().prefix("scripted-").tempdir().expect("a folder") };
        fs::create_dir_all(place.work()).expect("a folder");
        let mut git = Command::new("git");
        let status = place.dress(git.args(["init", "--quiet"]).current_dir(place.work())).status().expect("git runs");
        assert!(status.success());
        place
    }

    pub fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    pub fn file(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    pub fn dress<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.dir.path().join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Tester").env(format!("GIT_{who}_EMAIL"), "tester@example.com");
        }
        command
    }

    /// An agent that has said hello, with a session.
    pub fn agent(&self, args: &[&str]) -> Driver {
        let mut driver = self.silent(args);
        driver.hello();
        driver.open(&self.work(), &json!([]));
        driver
    }

    pub fn silent(&self, args: &[&str]) -> Driver {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flower"));
        self.dress(command.arg("scripted-agent").args(args).current_dir(self.dir.path()));
        Driver::spawn(command)
    }
}

/// A client that is written out by hand.
pub struct Driver {
    pub child: Child,
    pub input: Option<ChildStdin>,
    pub lines: Receiver<String>,
    pub next: i64,
    pub session: Value,
    /// What has come meanwhile and was no answer.
    pub told: Vec<Value>,
    /// What was no JSON at all.
    pub noise: Vec<String>,
}

impl Driver {
    pub fn spawn(mut command: Command) -> Driver {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("flower runs");
        let output = child.stdout.take().expect("a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Driver { child, input, lines, next: 1, session: Value::Null, told: vec![], noise: vec![] }
    }

    pub fn raw(&mut self, line: &str) {
        let input = self.input.as_mut().expect("an open pipe");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    pub fn send(&mut self, method: &str, params: &Value) -> i64 {
        let id = self.next;
        self.next += 1;
        self.raw(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// The next message that is JSON, or nothing if it has ended.
    pub fn message(&mut self) -> Option<Value> {
        loop {
            let line = match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => line,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(error) => panic!("nothing was said: {error}; so far: {:?}", self.told),
            };
            match serde_json::from_str(&line) {
                Ok(message) => return Some(message),
                Err(_) => self.noise.push(line),
            }
        }
    }

    pub fn answer(&mut self, id: i64) -> Value {
        loop {
            let message = self.message().unwrap_or_else(|| panic!("it ended: {:?}", self.told));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    pub fn hello(&mut self) -> Value {
        self.ask("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }))
    }

    pub fn open(&mut self, cwd: &Path, servers: &Value) {
        let made = self.ask("session/new", &json!({ "cwd": cwd, "mcpServers": servers }));
        self.session = made["result"]["sessionId"].clone();
        assert!(self.session.is_string(), "{made}");
    }

    pub fn begin(&mut self, prompt: &str) -> i64 {
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": prompt }] });
        self.send("session/prompt", &params)
    }

    pub fn cancel(&mut self) {
        let session = self.session.clone();
        let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
        self.raw(&cancel.to_string());
    }

    /// A whole turn: how it stopped.
    pub fn prompt(&mut self, prompt: &str) -> String {
        let id = self.begin(prompt);
        let answer = self.answer(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub fn play(&mut self, steps: &str) -> String {
        self.prompt(&format!("```play\n{steps}\n```"))
    }

    /// Reads until it has said this.
    pub fn hears(&mut self, text: &str) {
        while !self.said().iter().any(|said| said.contains(text)) {
            let message = self.message().unwrap_or_else(|| panic!("it ended before `{text}`: {:?}", self.told));
            self.told.push(message);
        }
    }

    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.told.iter().filter(|message| message["method"] == "session/update");
        let updates = updates.map(|message| message["params"]["update"].clone());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    pub fn said(&self) -> Vec<String> {
        let texts = self.updates("agent_message_chunk").into_iter();
        texts.map(|update| update["content"]["text"].as_str().expect("a text").to_owned()).collect()
    }

    /// How its tool calls ended, with what they said.
    pub fn calls(&self) -> Vec<(String, String)> {
        let ended = self.updates("tool_call_update").into_iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        ended.map(|update| (text(&update["status"]), text(&update["content"][0]["content"]["text"]))).collect()
    }

    /// Everything until it has ended by itself.
    pub fn ends(&mut self) -> ExitStatus {
        while let Some(message) = self.message() {
            self.told.push(message);
        }
        self.child.wait().expect("it ends")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Inside a seal the end of its input ends the jail with all its processes.
        self.input = None;
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
