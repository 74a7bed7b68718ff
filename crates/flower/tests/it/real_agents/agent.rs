//! What every real agent gets and has to do: a repository that flower serves, a brief that is dispatched, a worktree, a
//! model that tells it each step, and a jail in which it finds all of that and nothing else.

use crate::common::work::*;
use crate::common::{Flower, Output, eventually};
use crate::real_agents::model::{Model, Step, number_in};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The folder of the agents, as `cargo xtask test --real-agents` has installed them.
const AGENTS: &str = "FLOWER_REAL_AGENTS";
/// Set inside the network namespace.
const INSIDE: &str = "FLOWER_TEST_INSIDE_NETWORK";
/// For a whole session of an agent; one that works takes some seconds.
const DEADLINE: Duration = Duration::from_secs(180);
/// Of each stream of an agent's output; what comes after is read and dropped.
const MOST_OUTPUT: usize = 1 << 20;
/// The worktree that the agent works in.
const WORKTREE: &str = "work";
/// The file that it changes, what it says at first, and what it is to say.
pub const FILE: &str = "README.md";
pub const BEFORE: &str = "hello";
pub const AFTER: &str = "hello, flower";
/// What flower's tools are called everywhere.
const TOOLS: [&str; 5] = ["start_work", "recall_brief", "reserve_paths", "add_note", "hand_back"];

/// What is different from one agent to the next.
pub struct Agent {
    /// Steps before flower's tools can be called.
    pub first: Vec<Step>,
    /// Changes a file with the agent's own tool: its path, what it says, what it is to say.
    pub edit: fn(&str, &str, &str) -> Vec<Step>,
    /// Runs a command with the agent's own tool.
    pub shell: fn(&str) -> Step,
    /// Starts it with a prompt.
    pub start: fn(&Stage, &str) -> Output,
}

pub struct Stage {
    pub flower: Flower,
    pub model: Model,
    brief: u64,
    dispatch: u64,
    token: String,
    /// What a person gives to the agent.
    packet: String,
}

/// With an agent that is started by hand.
pub fn on_loopback(test: &str, body: impl FnOnce(&Stage)) {
    without_network(test, || body(&Stage::new()));
}

/// Runs the test again where there is no network but loopback: an agent that wants to go elsewhere cannot.
pub fn without_network(test: &str, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut unshare = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        unshare.arg("--map-root-user");
    }
    let output = unshare
        .args(["--net", "sh", "-c", r#"ip link set lo up && exec "$@""#, "sh"])
        .arg(std::env::current_exe().expect("the test program"))
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.expect("`unshare` of util-linux can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "it failed in a network of its own, which needs `unshare --net` and `ip`: {said}");
    assert!(said.contains("1 passed"), "`{test}` did not run: {said}");
}

/// Claims the work, recalls, reserves, edits, commits, notes and hands back; all of it arrives, and lands.
pub fn does_its_work(stage: &Stage, agent: Agent) {
    let (brief, dispatch) = (stage.brief, stage.dispatch);
    let tool = |name: &str| format!("mcp__flower__{name}");
    let mut script = agent.first;
    let claimed = script.len();
    script.push(Step::call(&tool("start_work"), json!({ "dispatch": dispatch, "paths": [FILE] })));
    script.push(Step::call(&tool("recall_brief"), json!({ "brief": brief })));
    script.push(Step::call(&tool("reserve_paths"), json!({ "patterns": ["docs/**"] })));
    script.extend((agent.edit)(&stage.path(FILE), BEFORE, AFTER));
    script.push((agent.shell)(&format!("git add {FILE}")));
    script.push((agent.shell)("git commit --message 'Greet flower'"));
    script.push(Step::call(&tool("add_note"), json!({ "brief": brief, "text": "The greeting names flower." })));
    script.push(hands_back(&tool("hand_back"), dispatch, claimed));
    script.push(Step::say("It is handed back."));
    let steps = script.len();
    stage.model.play(script);

    let output = (agent.start)(stage, &format!("Do the work of dispatch {dispatch}, and hand it back."));

    let (told, asked, results) = (stage.told(&output), stage.model.asked(), stage.results());
    assert_eq!(stage.model.trouble(), [""; 0], "{told}");
    assert_eq!(output.code, 0, "{told}");
    assert_eq!(results.len(), steps - 1, "every step was done: {told}");
    let offered = &asked.last().expect("the agent asked the model").tools;
    assert!(TOOLS.iter().all(|name| offered.contains(&tool(name))), "flower's tools are offered: {offered:?}");
    assert!(results[claimed + 1].contains("greeting"), "the plan is recalled: {told}");
    // The model server must not get the token.
    assert!(!asked.iter().any(|asked| asked.body.to_string().contains(&stage.token)), "the model hears no token");

    stage.assert_recorded("mcp");
    stage.assert_landed();
}

/// Hands back with the fence that the result of the claim has.
fn hands_back(tool: &str, dispatch: u64, claimed: usize) -> Step {
    Step::call_with(tool, move |results| {
        let fence = number_in(&results[claimed], "fence")?;
        Ok(json!({ "dispatch": dispatch, "fence": fence, "summary": "It greets flower." }))
    })
}

/// The shortest run with a packet: two calls of flower.
pub fn calls_flower_twice(stage: &Stage, agent: Agent) {
    let dispatch = stage.dispatch;
    let tool = |name: &str| format!("mcp__flower__{name}");
    let mut script = agent.first;
    let claimed = script.len();
    script.push(Step::call(&tool("start_work"), json!({ "dispatch": dispatch })));
    script.push((agent.shell)(&format!("echo '{AFTER}' > {FILE} && git commit --all --message 'Greet flower'")));
    script.push(hands_back(&tool("hand_back"), dispatch, claimed));
    script.push(Step::say("It is handed back."));
    let steps = script.len();
    stage.model.play(script);
    let output = (agent.start)(stage, &stage.packet);
    let told = stage.told(&output);
    assert_eq!((stage.model.trouble(), output.code, stage.results().len()), (vec![], 0, steps - 1), "{told}");
    stage.assert_lands();
    stage.assert_landed();
}

/// The same without any tool of flower's: with the command line, which it finds inside with a token of its own.
pub fn works_by_commands(stage: &Stage, agent: &Agent) {
    let (brief, dispatch, shell) = (stage.brief, stage.dispatch, agent.shell);
    let mut script = vec![shell(&format!("flower claim {dispatch} --json"))];
    script.extend((agent.edit)(&stage.path(FILE), BEFORE, AFTER));
    script.push(shell(&format!("git add {FILE} && git commit --message 'Greet flower'")));
    script.push(shell(&format!("flower brief note {brief} 'The greeting names flower.'")));
    script.push(Step::call_later(move |results| {
        let fence = number_in(&results[0], "fence")?;
        Ok(shell(&format!("flower handback {dispatch} --fence {fence} --summary 'It greets flower.'; echo ended=$?")))
    }));
    script.push(Step::say("It is handed back."));
    let steps = script.len();
    stage.model.play(script);
    let output = (agent.start)(stage, "Do the work of the dispatch, and hand it back.");
    let (told, results) = (stage.told(&output), stage.results());
    assert_eq!((stage.model.trouble(), output.code), (vec![], 0), "{told}");
    assert_eq!(results.len(), steps - 1, "every step was done: {told}");
    assert!(results[steps - 2].contains("ended=0"), "{told}");
    stage.assert_recorded("cli");
    stage.assert_landed();
}

/// Told to change MAIN and to read what is the operator's, it cannot.
pub fn cannot_leave(stage: &Stage, agent: &Agent) {
    let flower = &stage.flower;
    let (main, token, other) = (flower.repo.join(FILE), flower.home.join("token"), Model::start());
    let operators = fs::read_to_string(&token).expect("the operator's token").trim().to_owned();
    let connect = |port: u16| {
        let program = format!("net.connect({port}, '127.0.0.1').on('connect', () => process.exit(0))");
        format!("node -e \"{program}.on('error', () => process.exit(9))\"")
    };
    let tried = [
        (connect(stage.model.port), true),
        (format!("cat {}", stage.path(FILE)), true),
        (connect(other.port), false),
        (format!("cat {}", token.display()), false),
        (format!("echo broken > {}", main.display()), false),
        (format!("rm -rf {}", flower.repo.join(".git").display()), false),
        (format!("git push {} HEAD:main", flower.repo.display()), false),
    ];
    let mut script: Vec<Step> =
        tried.iter().map(|(line, _)| (agent.shell)(&format!("{line}; echo ended=$?"))).collect();
    script.push(Step::say("It was tried."));
    stage.model.play(script);
    let before = files(&flower.repo);
    let output = (agent.start)(stage, "Change MAIN.");
    let (told, asked, results) = (stage.told(&output), stage.model.asked(), stage.results());
    assert_eq!(results.len(), tried.len(), "all of it was tried: {told}");
    for ((line, works), result) in tried.iter().zip(&results) {
        let code = result.rsplit_once("ended=").map(|(_, after)| after.split_whitespace().next().unwrap_or_default());
        assert_eq!(code.map(|code| code == "0"), Some(*works), "{line}: {result}");
    }
    assert!(
        !asked.iter().any(|asked| asked.body.to_string().contains(&operators)),
        "the operator's token goes to no model"
    );
    assert_eq!(differences(&before, &files(&flower.repo)), [""; 0]);
    assert_main_is_whole(flower);
}

impl Stage {
    /// A served repository with a planned brief that is dispatched into a worktree.
    fn new() -> Stage {
        let (flower, model) = (Flower::new(), Model::start());
        put(&flower, &flower.repo.join("flower.toml"), settings(&model));
        flower.git(&flower.repo, &["add", "flower.toml"]);
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
        prepare(&flower);
        flower.ok(&["project", "approve", "--yes"]);
        let plan = flower.file("plan.md", "# Greet flower\n\nThe greeting names flower.\n");
        let brief =
            flower.json(&["brief", "new", "Greet flower", "--spec", &plan])["number"].as_u64().expect("a number");
        flower.ok(&["brief", "accept", &brief.to_string()]);
        new(&flower, WORKTREE, &[]);
        let asked = flower.json(&["dispatch", &brief.to_string(), "--worktree", WORKTREE]);
        let dispatch = asked["id"].as_u64().expect("a number");
        let packet = flower.json(&["dispatch", "packet", &dispatch.to_string()]);
        let text = |name: &str| packet[name].as_str().expect("a text").to_owned();
        let (token, packet) = (text("token"), text("text"));
        let stage = Stage { flower, model, brief, dispatch, token, packet };
        let found = stage.run(
            &[],
            &["sh", "-ec", "for name in claude codex node flower; do command -v $name; done; flower --version"],
        );
        assert_eq!(found.code, 0, "a program on the PATH of the caller is found inside: {found:?}");
        stage
    }

    /// Puts a file below the home that the agent has inside.
    pub fn put_at_home(&self, path: &str, content: &str) {
        let script = format!("mkdir -p \"$(dirname ~/{path})\" && cat > ~/{path}");
        let args = ["worktree", "shell", WORKTREE, "--", "sh", "-ec", &script];
        let output = self.flower.run_with_input(&args, content.as_bytes());
        assert_eq!(output.code, 0, "{path}: {output:?}");
    }

    /// A file of that home, as what runs inside calls it.
    pub fn at_home(&self, path: &str) -> String {
        self.flower.dir().join("user").join(path).to_str().expect("UTF-8").to_owned()
    }

    /// A file of the worktree.
    fn path(&self, file: &str) -> String {
        let tree = tree(&self.flower, WORKTREE).canonicalize().expect("the worktree");
        tree.join(file).to_str().expect("UTF-8").to_owned()
    }

    /// Runs an agent inside, with nothing in its environment but what the jail sets and `variables`.
    pub fn run(&self, variables: &[(&str, &str)], agent: &[&str]) -> Output {
        let variables: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        let enter = ["worktree", "shell", WORKTREE, "--", "env"];
        let mut command = self.flower.command(&[&enter, variables.as_slice(), agent].concat());
        // The jail takes the token over: it stands in no file and in no list of arguments.
        command.env("PATH", path()).env("FLOWER_TOKEN", &self.token);
        let start = Instant::now();
        let output = within(DEADLINE, command);
        eprintln!("{} ended with {} after {:.1} s", agent[0], output.code, start.elapsed().as_secs_f32());
        output
    }

    /// What the tools have answered, as far as the agent got.
    fn results(&self) -> Vec<String> {
        let asked = self.model.asked();
        asked.into_iter().map(|asked| asked.results).max_by_key(Vec::len).unwrap_or_default()
    }

    /// The whole session, to find out why it failed.
    fn told(&self, output: &Output) -> String {
        let mut text = format!("{output:#?}\n");
        for asked in self.model.asked() {
            text.push_str(&format!(
                "{}\n  was told: {:?}\n  says: {:?}\n",
                asked.path,
                asked.results.last(),
                asked.reply
            ));
        }
        text
    }

    /// The change is in MAIN, and MAIN is as it should be.
    fn assert_landed(&self) {
        let flower = &self.flower;
        assert_eq!(fs::read_to_string(flower.repo.join(FILE)).unwrap().trim(), AFTER);
        let history = git(flower, &flower.repo, &["log", "--format=%an: %s", "main"]);
        assert!(history.lines().any(|commit| commit == "Tester: Greet flower"), "{history}");
        assert_main_is_whole(flower);
    }

    /// What was handed back lands, and flower has recorded who did what, and by which door.
    fn assert_recorded(&self, door: &str) {
        self.assert_lands();
        let trace = self.flower.json(&["trace", "--limit", "1000"]);
        for kind in ["dispatch_claimed", "note_added", "dispatch_handed_back"] {
            let event = trace.as_array().into_iter().flatten().find(|event| event["kind"] == kind);
            let event = event.unwrap_or_else(|| panic!("no {kind}: {trace:#}"));
            assert_eq!((&event["door"], &event["actor"]["type"]), (&json!(door), &json!("agent")), "{event:#}");
        }
    }

    /// What was handed back lands.
    fn assert_lands(&self) {
        let (brief, dispatch) = (self.brief.to_string(), self.dispatch.to_string());
        let mut last = Value::Null;
        eventually("what was handed back lands", || {
            last = self.flower.json(&["dispatch", "show", &dispatch]);
            (last["state"] != "handed_back").then_some(())
        });
        assert_eq!(last["state"], "landed", "{last:#}");
        assert_eq!(self.flower.json(&["brief", "show", &brief])["status"], "landed");
    }
}

/// The agents can be read, and the model can be reached. Any change may land.
fn settings(model: &Model) -> String {
    let read: Value = json!([agents()]);
    format!("[worktree]\nread = {read}\nconnect = [{}]\n\n[checks]\ntest = {{ run = \"true\" }}\n", model.port)
}

pub fn agents() -> PathBuf {
    let folder = std::env::var_os(AGENTS);
    let folder = folder.unwrap_or_else(|| panic!("{AGENTS} is not set; run `cargo xtask test --real-agents`"));
    PathBuf::from(folder).canonicalize().expect("the folder of the agents")
}

/// The agents, then the system; flower is found by itself.
pub fn path() -> OsString {
    let system = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(agents().join("bin")).chain(std::env::split_paths(&system));
    std::env::join_paths(all).expect("no colons")
}

/// Runs to the end, or to the deadline: then everything of it ends.
fn within(deadline: Duration, mut command: Command) -> Output {
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("flower runs");
    let (stdout, stderr) = (bounded(child.stdout.take()), bounded(child.stderr.take()));
    let start = Instant::now();
    let mut late = false;
    let status = loop {
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if start.elapsed() > deadline && !late {
            late = true;
            // What runs inside ends with it: flower holds its lifeline.
            let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
            let _ = rustix::process::kill_process_group(group.expect("a process"), rustix::process::Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    let output = Output { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) };
    assert!(!late, "still at work after {deadline:?}: {output:?}");
    output
}

/// Reads all of it, so that the writer never waits for a full pipe, and keeps the beginning.
fn bounded(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let Some(mut pipe) = pipe else { return String::new() };
        let mut kept = Vec::new();
        let mut piece = vec![0; 64 << 10];
        while let Ok(read @ 1..) = pipe.read(&mut piece) {
            let room = MOST_OUTPUT.saturating_sub(kept.len());
            kept.extend_from_slice(&piece[..read.min(room)]);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

#[test]
fn a_program_past_its_deadline_is_ended_with_its_children() {
    let mark = format!("30{}", std::process::id());
    let ended = std::panic::catch_unwind(|| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("echo begun; sleep {mark} & sleep {mark}; true")]);
        within(Duration::from_millis(300), command)
    });
    let message = ended.expect_err("it is late").downcast::<String>().expect("a message");
    assert!(message.contains("still at work") && message.contains("begun"), "{message}");
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let mut lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    assert!(!lines.any(|line| String::from_utf8_lossy(&line).contains(&mark)), "nothing is left");
}

#[test]
fn output_without_end_is_not_kept() {
    let mut command = Command::new("sh");
    command.args(["-c", "head -c 3000000 /dev/zero"]);
    assert_eq!(within(DEADLINE, command).stdout.len(), MOST_OUTPUT);
}
