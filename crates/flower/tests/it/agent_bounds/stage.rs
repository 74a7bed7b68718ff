//! A flower with agents that do what a brief says.

use crate::common::work::{prepare, put};
use crate::common::{Flower, HANG, eventually};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

pub struct Stage {
    pub flower: Flower,
}

impl Deref for Stage {
    type Target = Flower;

    fn deref(&self) -> &Flower {
        &self.flower
    }
}

/// A profile of the scripted agent, for a config.toml.
pub fn play(name: &str, flags: &[&str], fields: &str) -> String {
    let program = env!("CARGO_BIN_EXE_flower");
    let words: Vec<String> = [program, "scripted-agent"].iter().chain(flags).map(|word| format!("{word:?}")).collect();
    let patience = if fields.contains("turn_timeout") { "" } else { "turn_timeout = \"60s\"\n" };
    format!("[agents.{name}]\nprotocol = \"acp\"\ncommand = [{}]\nany_of = []\n{patience}{fields}\n", words.join(", "))
}

/// A profile of a shell script that speaks for itself.
pub fn shell(name: &str, protocol: &str, script: &str, fields: &str) -> String {
    format!("[agents.{name}]\nprotocol = \"{protocol}\"\ncommand = [\"sh\", \"-c\", '''\n{script}''']\n{fields}\n")
}

const SETTINGS: &str = "[checks]\nok = { run = \"true\" }\n[agents]\ndefault = \"play\"\nmax = 12\nrefresh_at = 0.8\n";

/// A brief that is being worked on.
#[derive(Clone, Copy)]
pub struct Work {
    pub brief: u64,
    pub dispatch: u64,
}

impl Stage {
    /// Serves a repository, with this below FLOWER_HOME/config.toml.
    pub fn new(config: &str) -> Stage {
        Stage::of(Flower::new(), config)
    }

    /// The plain scripted agent, with these fields in its profile.
    pub fn plain(fields: &str) -> Stage {
        Stage::new(&play("play", &[], fields))
    }

    pub fn of(flower: Flower, config: &str) -> Stage {
        put(&flower, &flower.repo.join("flower.toml"), SETTINGS);
        flower.git(&flower.repo, &["add", "."]);
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
        let stage = Stage { flower };
        stage.configure(config);
        prepare(&stage.flower);
        stage.ok(&["project", "approve", "--yes"]);
        stage
    }

    pub fn configure(&self, config: &str) {
        let dir = &self.flower.home;
        if !dir.exists() {
            fs::create_dir(dir).expect("a home");
            fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("for its owner alone");
        }
        fs::write(dir.join("config.toml"), config).expect("a file");
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.api("GET", path).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.api("POST", path).json(body).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// A brief whose spec is this script, accepted.
    pub fn brief(&self, title: &str, script: &str) -> u64 {
        let script: String = script.trim().lines().map(|line| format!("{}\n", line.trim())).collect();
        let spec = format!("# {title}\n\n```play\n{script}```\n");
        let made = self.post("/api/briefs", &json!({ "title": title, "spec": spec, "project": "repo" }));
        let brief = made["number"].as_u64().expect("a number");
        self.post(&format!("/api/briefs/{brief}/accept"), &json!({}));
        brief
    }

    pub fn dispatch(&self, brief: u64, profile: &str) -> Work {
        let made = self.post(&format!("/api/briefs/{brief}/dispatches"), &json!({ "agent": profile }));
        Work { brief, dispatch: made["id"].as_u64().expect("a number") }
    }

    /// Lets an agent of this profile play a script.
    pub fn plays(&self, profile: &str, title: &str, script: &str) -> Work {
        self.dispatch(self.brief(title, script), profile)
    }

    /// Until there is an agent for it.
    pub fn agent_of(&self, work: Work) -> String {
        eventually(&format!("an agent takes up dispatch {}", work.dispatch), || {
            let all = self.get("/api/agents?all=true");
            let ours = all.as_array().expect("a list").iter().find(|agent| agent["dispatch"] == work.dispatch)?;
            Some(ours["name"].as_str().expect("a name").to_owned())
        })
    }

    /// An agent of this profile that stays in a worktree and has nothing to do.
    pub fn standing(&self, profile: &str, worktree: &str) -> String {
        let made = self.json(&["agent", "spawn", profile, "--worktree", worktree, "--standing"]);
        made["name"].as_str().expect("a name").to_owned()
    }

    pub fn agent(&self, name: &str) -> Value {
        self.get(&format!("/api/agents/{name}"))
    }

    /// Waits until an agent is in this state.
    pub fn becomes(&self, name: &str, state: &str) -> Value {
        self.until(name, state, |agent| agent["state"] == state)
    }

    /// Waits until something is so with an agent.
    pub fn until(&self, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&format!("{name}: {what}"), || {
                last = self.agent(name);
                is_so(&last).then(|| last.clone())
            })
        }));
        found.unwrap_or_else(|_| panic!("{name} is never {what}:\n{last:#}\n{}", self.said(name)))
    }

    /// The whole transcript.
    pub fn log(&self, name: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut after = 0;
        loop {
            let page = self.get(&format!("/api/agents/{name}/log?after={after}"));
            all.extend(page["entries"].as_array().expect("a list").iter().cloned());
            after = page["next"].as_u64().expect("a position");
            if page["more"] == false {
                return all;
            }
        }
    }

    /// Its texts of one kind.
    pub fn texts(&self, name: &str, kind: &str) -> Vec<String> {
        let all = self.log(name).into_iter().filter(|entry| entry["kind"] == kind);
        all.map(|entry| entry["text"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// All of it, for a message that can be read.
    pub fn said(&self, name: &str) -> String {
        self.log(name).iter().fold(String::new(), |mut text, entry| {
            let _ = writeln!(text, "{}: {}", entry["kind"], entry["text"].as_str().unwrap_or_default());
            text
        })
    }

    /// Waits until its transcript has these words.
    pub fn hears(&self, name: &str, words: &str) -> String {
        let mut last = String::new();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("it says it", || {
                last = self.said(name);
                last.contains(words).then_some(())
            });
        }));
        assert!(found.is_ok(), "{name} never says `{words}`:\n{last}");
        last
    }

    /// Waits until the brief is part of MAIN.
    pub fn lands(&self, work: Work) {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(&format!("brief {} lands", work.brief), || {
                let brief = self.get(&format!("/api/briefs/{}", work.brief));
                (brief["status"] == "landed").then_some(())
            });
        }));
        if found.is_err() {
            let name = self.agent_of(work);
            panic!("it does not land: {:#}\n{:#}\n{}", self.shown_dispatch(work), self.agent(&name), self.said(&name));
        }
    }

    pub fn shown_dispatch(&self, work: Work) -> Value {
        self.get(&format!("/api/dispatches/{}", work.dispatch))
    }

    /// Waits until a dispatch waits for this reason, and gives the words for it.
    pub fn waits(&self, work: Work, code: &str) -> String {
        let mut last = Value::Null;
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("it waits", || {
                last = self.shown_dispatch(work);
                let reason = last["waits"].as_array()?.iter().find(|reason| reason["code"] == code)?;
                Some(reason["message"].as_str().expect("words").to_owned())
            })
        }));
        found.unwrap_or_else(|_| panic!("it does not wait because of {code}: {last:#}"))
    }

    /// All events of a kind, oldest first.
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        let all = self.json(&["trace", "--limit", "10000"]);
        all.as_array().expect("a list").iter().filter(|event| event["kind"] == kind).cloned().collect()
    }

    /// Waits for a permission that an agent asks for.
    pub fn asked(&self) -> Value {
        eventually("a permission is asked for", || {
            self.get("/api/inbox").as_array()?.iter().find(|item| item["kind"] == "permission").cloned()
        })
    }

    pub fn worktree(&self, name: &str) -> PathBuf {
        self.flower.home.join("worktrees/repo").join(name)
    }

    /// A command with a token of its own.
    pub fn token_for(&self, name: &str, role: &str) -> String {
        let made = self.json(&["token", "new", "--agent", name, "--role", role]);
        made["token"].as_str().expect("a token").to_owned()
    }

    /// The token that an agent of flower's has.
    pub fn token_of(&self, name: &str) -> String {
        let number = self.agent(name)["id"].as_u64().expect("a number");
        let file = self.flower.home.join(format!("agents/{number}/run.json"));
        let kept: Value = serde_json::from_str(&fs::read_to_string(file).expect("its run")).expect("JSON");
        kept["token"].as_str().expect("a token").to_owned()
    }

    /// A command with something more in its environment.
    pub fn with_env(&self, args: &[&str], env: &[(&str, &str)]) -> Command {
        let mut command = self.command(args);
        command.envs(env.iter().copied());
        command
    }
}

/// Asks for the status until `is_over`, which gets the number of answers. Each must come before a hang would be assumed.
pub fn assert_answers_until(stage: &Stage, mut is_over: impl FnMut(usize) -> bool) {
    let mut answered = 0;
    while !is_over(answered) {
        let asked = std::time::Instant::now();
        assert_eq!(stage.api("GET", "/api/status").send().status, 200);
        assert!(asked.elapsed() < HANG, "answer {answered} came after {:?}", asked.elapsed());
        answered += 1;
        std::thread::sleep(Duration::from_millis(4));
    }
}
