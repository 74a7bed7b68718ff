//! A flower with scripted agents, and what there is to be seen of them.

use crate::common::http::Answer;
pub use crate::common::work::count;
use crate::common::work::{prepare, put, tree};
use crate::common::{Flower, PATIENCE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

/// The text of a profile of a scripted agent with these flags.
pub fn profile(name: &str, flags: &[&str], more: &str) -> String {
    let program = env!("CARGO_BIN_EXE_flower");
    let words: Vec<&str> = [program, "scripted-agent"].into_iter().chain(flags.iter().copied()).collect();
    let command = json!(words);
    format!("[agents.{name}]\nprotocol = \"acp\"\ncommand = {command}\nany_of = []\n{more}\n")
}

/// A plan that the lead of the dispatch plays.
pub fn plan(script: &str) -> String {
    format!("```play\n{}\n```\n", script.trim())
}

/// A step that ends when the test opens it: see [`Stage::open`].
pub const GATE: &str = "run n=0; while [ ! -e go ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n + 1)); done; rm go";

pub struct Stage {
    pub flower: Flower,
}

impl Stage {
    /// With the profile `play` for everything, and room for four agents.
    pub fn new() -> Stage {
        Stage::with("max = 4", &profile("play", &[], ""))
    }

    /// With this below `[agents]` of `flower.toml`, beside `default = "play"`, and these profiles.
    pub fn with(agents: &str, profiles: &str) -> Stage {
        Stage::serving(&format!("[agents]\ndefault = \"play\"\n{agents}\n"), profiles, &[])
    }

    /// With this `flower.toml`, these profiles, and these files in MAIN.
    pub fn serving(settings: &str, profiles: &str, files: &[(&str, &str)]) -> Stage {
        let flower = Flower::new();
        for (path, content) in files.iter().chain(&[("flower.toml", settings)]) {
            put(&flower, &flower.repo.join(path), content);
            flower.git(&flower.repo, &["add", "--force", path]);
        }
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "files"]);
        prepare(&flower);
        flower.ok(&["project", "approve", "--yes"]);
        let stage = Stage { flower };
        stage.set_profiles(profiles);
        stage
    }

    /// Other profiles from here on.
    pub fn set_profiles(&self, profiles: &str) {
        put(&self.flower, &self.flower.home.join("config.toml"), profiles);
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.flower.api("GET", path).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.try_post(path, body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn try_post(&self, path: &str, body: &Value) -> Answer {
        self.flower.api("POST", path).json(body).send()
    }

    /// An accepted brief. The script is what its lead plays, or a whole spec with blocks of its own.
    pub fn brief(&self, title: &str, script: &str) -> u64 {
        self.brief_with(title, script, &json!({}))
    }

    pub fn brief_with(&self, title: &str, script: &str, more: &Value) -> u64 {
        let spec = if script.contains("```play") { script.to_owned() } else { plan(script) };
        let mut body = json!({ "title": title, "spec": format!("# {title}\n\n{spec}"), "project": "repo" });
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        let brief = number(&self.post("/api/briefs", &body)["number"]);
        self.post(&format!("/api/briefs/{brief}/accept"), &json!({}));
        brief
    }

    /// A dispatch for a brief.
    pub fn dispatch(&self, brief: u64) -> u64 {
        self.dispatch_with(brief, &json!({}))
    }

    /// With `agent`, `agents`, `worktree` and so on.
    pub fn dispatch_with(&self, brief: u64, more: &Value) -> u64 {
        number(&self.post(&format!("/api/briefs/{brief}/dispatches"), more)["id"])
    }

    /// A brief with this script, dispatched.
    pub fn play(&self, title: &str, script: &str) -> u64 {
        self.dispatch(self.brief(title, script))
    }

    pub fn show(&self, dispatch: u64) -> Value {
        self.get(&format!("/api/dispatches/{dispatch}"))
    }

    /// Every dispatch of a brief, oldest first.
    pub fn dispatches_of(&self, brief: u64) -> Vec<Value> {
        let mut all = list(&self.get(&format!("/api/dispatches?all=true&brief={brief}")));
        all.reverse();
        all
    }

    /// The codes of why a dispatch waits.
    pub fn waits(&self, dispatch: u64) -> Vec<String> {
        list(&self.show(dispatch)["waits"]).iter().map(|reason| text(&reason["code"])).collect()
    }

    /// `flower agent show NAME`.
    pub fn agent(&self, name: &str) -> Value {
        self.get(&format!("/api/agents/{name}"))
    }

    /// Those that live, oldest first.
    pub fn agents(&self) -> Vec<Value> {
        list(&self.get("/api/agents?project=repo"))
    }

    /// Also those that have ended, newest first.
    pub fn all_agents(&self) -> Vec<Value> {
        list(&self.get("/api/agents?project=repo&all=true"))
    }

    /// The newest agent that works on a dispatch, or did; waits for it.
    pub fn agent_of(&self, dispatch: u64) -> String {
        self.until(&format!("an agent for dispatch {dispatch}"), || self.newest_of(dispatch))
    }

    pub fn newest_of(&self, dispatch: u64) -> Option<String> {
        self.all_agents().iter().find(|agent| agent["dispatch"] == dispatch).map(|agent| text(&agent["name"]))
    }

    /// Everything in the transcript of an agent, with the kind of each entry before it.
    pub fn log(&self, name: &str) -> String {
        let mut said = String::new();
        self.read_log(name, |page| {
            said.push_str(page);
            false
        });
        said
    }

    /// Page by page, until `is_enough`.
    fn read_log(&self, name: &str, mut is_enough: impl FnMut(&str) -> bool) -> bool {
        let mut after = 0;
        loop {
            let page = self.get(&format!("/api/agents/{name}/log?after={after}"));
            let lines = list(&page["entries"]);
            let lines = lines.iter().map(|entry| format!("{}: {}\n", text(&entry["kind"]), text(&entry["text"])));
            if is_enough(&lines.collect::<String>()) {
                return true;
            }
            if page["more"] != true {
                return false;
            }
            after = number(&page["next"]);
        }
    }

    /// What waits for the operator, of one kind.
    pub fn inbox(&self, kind: &str) -> Vec<Value> {
        list(&self.get("/api/inbox")).into_iter().filter(|item| item["kind"] == kind).collect()
    }

    /// All events of a kind, oldest first.
    pub fn events(&self, kind: &str) -> Vec<Value> {
        let all = list(&self.flower.json(&["trace", "--limit", "10000"]));
        all.into_iter().filter(|event| event["kind"] == kind).collect()
    }

    /// Asks until there is an answer. A failure says what the agents did meanwhile.
    pub fn until<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        self.within(PATIENCE, what, &mut ask)
    }

    pub fn within<T>(&self, time: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            if start.elapsed() > time {
                panic!("{what}: not within {time:?}\n{}", self.story());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a dispatch is in this state.
    pub fn becomes(&self, dispatch: u64, state: &str) -> Value {
        self.until(&format!("dispatch {dispatch} is {state}"), || {
            Some(self.show(dispatch)).filter(|dispatch| dispatch["state"] == state)
        })
    }

    /// Waits until an agent is in this state.
    pub fn agent_becomes(&self, name: &str, state: &str) -> Value {
        self.until(&format!("agent {name} is {state}"), || {
            Some(self.agent(name)).filter(|agent| agent["state"] == state)
        })
    }

    /// Waits until the transcript of an agent has these words.
    pub fn hears(&self, name: &str, words: &str) {
        self.until(&format!("agent {name}: `{words}`"), || {
            self.read_log(name, |page| page.contains(words)).then_some(())
        });
    }

    /// Waits until an agent has ended and nothing of it runs.
    pub fn agent_ends(&self, name: &str) -> Value {
        self.until(&format!("agent {name} ends"), || {
            Some(self.agent(name)).filter(|agent| agent["ended_at"].is_string() && agent["pid"].is_null())
        })
    }

    /// Opens the gate in the worktree of this dispatch once the agent has reached it: a commit before would take the file along.
    pub fn open(&self, dispatch: u64) {
        self.until("the gate is reached", || {
            let name = self.newest_of(dispatch)?;
            self.log(&name).lines().any(|line| line.starts_with("tool: n=0; while [ ! -e go ]")).then_some(())
        });
        let tree = tree(&self.flower, &text(&self.show(dispatch)["worktree"]));
        self.until("its worktree is there", || fs::write(tree.join("go"), "").ok());
    }

    /// A file in MAIN.
    pub fn landed(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.flower.repo.join(path)).ok()
    }

    /// Processes of this flower with this word in their command, but for the daemon and its jailers.
    pub fn processes(&self, word: &str) -> Vec<i32> {
        let place = self.flower.dir().as_os_str().as_encoded_bytes().to_vec();
        let all = fs::read_dir("/proc").expect("processes").flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|window| window == part);
        let ours = |pid: &i32| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let is_it = command.split(|byte| *byte == 0).any(|given| given == word.as_bytes());
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            is_it && (has(&command, &place) || has(&environment, &place))
        };
        pids.filter(ours).collect()
    }

    /// Those of them that a process has started, and what these have.
    pub fn processes_below(&self, above: u32, word: &str) -> Vec<i32> {
        let parent = |pid: i32| -> Option<i32> {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
        };
        let is_below = |pid: &i32| {
            let mut at = *pid;
            while let Some(next) = parent(at).filter(|next| *next > 1) {
                if u32::try_from(next) == Ok(above) {
                    return true;
                }
                at = next;
            }
            false
        };
        self.processes(word).into_iter().filter(is_below).collect()
    }

    /// Waits until no process has this word in its command.
    pub fn gone(&self, word: &str) {
        self.until(&format!("no process `{word}`"), || self.processes(word).is_empty().then_some(()));
    }

    /// Kills the daemon at any point of its work.
    pub fn kill_daemon(&self) {
        let pid = self.flower.pid();
        kill(pid);
        let start = Instant::now();
        loop {
            // Its first thread may be gone long before the others have let go of the socket.
            let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if threads == 0 || (threads == 1 && stat.contains(") Z ")) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "the daemon does not die");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the agents did, for a message that can be read.
    fn story(&self) -> String {
        let Ok(answer) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.all_agents())) else {
            return "the daemon does not answer".to_owned();
        };
        let mut story = String::new();
        for agent in answer.iter().rev() {
            let log = self.log(&text(&agent["name"]));
            // Of what it was told, the first lines are enough.
            let said = log.lines().filter(|line| line.starts_with(|c: char| c.is_lowercase())).map(|line| {
                let end = line.char_indices().nth(200).map_or(line.len(), |(at, _)| at);
                &line[..end]
            });
            story.push_str(&format!("== {agent}\n{}\n", said.collect::<Vec<_>>().join("\n")));
        }
        for path in ["/api/dispatches?all=true", "/api/landings?project=repo&all=true", "/api/inbox"] {
            story.push_str(&format!("== {path}\n{}\n", self.flower.api("GET", path).send().text()));
        }
        let log = fs::read_to_string(self.flower.home.join("daemon.log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(20).collect();
        story.push_str(&last.into_iter().rev().collect::<Vec<_>>().join("\n"));
        story
    }
}

/// `kill -9`.
pub fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process")).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
}

pub fn pid(agent: &Value) -> u32 {
    agent["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).unwrap_or_else(|| panic!("no process: {agent}"))
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

pub fn list(value: &Value) -> Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}")).clone()
}
