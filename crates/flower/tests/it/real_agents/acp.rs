//! Real agents that flower starts by itself, by its own profiles and their ACP adapters: a brief is dispatched, and the
//! rest happens without the operator.

use super::{claude, codex, gemini, opencode};
use crate::common::Flower;
use crate::common::work::*;
use crate::real_agents::agent::{AFTER, BEFORE, FILE, path, without_network};
use crate::real_agents::model::{Model, Step, number_in};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One that works takes some seconds; two of them on a busy machine take longer.
const DEADLINE: Duration = Duration::from_secs(180);
const KEY: &str = "dummy-key-without-owner";
const TITLE: &str = "Greet flower";
pub(super) const WORKTREE: &str = "b1-greet-flower";
/// What MAIN never has.
const BROKEN: &str = "BROKEN.md";
/// Only the question for a hand-over note has these words, and what is answered to it.
const ASKED_FOR_NOTE: &str = "hand-over note for it";
const NOTE: &str = "The greeting is not written yet; nothing was tried.";

/// The scenarios of each agent.
macro_rules! scenarios {
    ($($agent:ident: $by_itself:ident, $asks:ident, $stopped:ident, $refreshed:ident, $resumed:ident;)*) => { $(
        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $by_itself() {
            without_network(concat!("real_agents::acp::", stringify!($by_itself)), || works_by_itself(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $asks() {
            without_network(concat!("real_agents::acp::", stringify!($asks)), || asks_and_is_killed(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $stopped() {
            without_network(concat!("real_agents::acp::", stringify!($stopped)), || is_stopped(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $refreshed() {
            without_network(concat!("real_agents::acp::", stringify!($refreshed)), || is_refreshed(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $resumed() {
            without_network(concat!("real_agents::acp::", stringify!($resumed)), || is_resumed(&$agent));
        }
    )* };
}

scenarios! {
    CLAUDE: claude_by_itself, claude_asks_and_outlives_a_kill, claude_is_stopped_with_all_of_it, claude_is_refreshed,
        claude_outlives_the_daemon;
    CODEX: codex_by_itself, codex_asks_and_outlives_a_kill, codex_is_stopped_with_all_of_it, codex_is_refreshed,
        codex_outlives_the_daemon;
    GEMINI: gemini_by_itself, gemini_asks_and_outlives_a_kill, gemini_is_stopped_with_all_of_it, gemini_is_refreshed,
        gemini_outlives_the_daemon;
    OPENCODE: opencode_by_itself, opencode_asks_and_outlives_a_kill, opencode_is_stopped_with_all_of_it,
        opencode_is_refreshed, opencode_outlives_the_daemon;
}

/// What a person allows, the jail does not.
#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_may_not_even_if_it_may() {
    without_network("real_agents::acp::claude_may_not_even_if_it_may", || {
        let field = Field::new(&CLAUDE, "10m");
        let main = field.flower.repo.join(BROKEN);
        field.model.play(vec![
            (CLAUDE.outside)(&main),
            failed(&CLAUDE, "MAIN cannot be written."),
            Step::say("It was tried."),
        ]);
        field.dispatch();
        let permission = patiently("it asks", || {
            let permissions = field.flower.api("GET", "/api/permissions").send().json();
            permissions[0]["id"].as_u64()
        });
        assert_eq!(field.agent()["state"], "waiting");
        field.flower.ok(&["agent", "allow", &permission.to_string()]);
        // Its turn may be cancelled before it asks its model again.
        patiently("it is handed back", || {
            (field.flower.json(&["dispatch", "show", "1"])["state"] == "failed").then_some(())
        });
        let tried = &field.results()[0];
        assert!(tried.contains("EROFS") || tried.contains("ead-only"), "{tried}");
        assert!(field.entries().iter().any(|entry| says(entry, "permission", "allowed by a person")));
        field.assert_main_untouched();
    });
}

/// What is different from one agent to the next.
pub(super) struct Acp {
    pub(super) profile: &'static str,
    version: &'static str,
    /// Steps before flower's tools can be called.
    pub(super) first: fn() -> Vec<Step>,
    edit: fn(&str, &str, &str) -> Vec<Step>,
    pub(super) shell: fn(&str) -> Step,
    /// Makes a file with its own tool.
    outside: fn(&Path) -> Step,
    /// What it calls a tool of flower.
    tool: fn(&str) -> String,
    /// It asks before it does anything, or before it leaves its folder.
    asks: bool,
    asks_to_leave: bool,
    tells_context: bool,
    tells_cost: bool,
    /// Its transcript has what a command has printed.
    tells_output: bool,
    tells_tokens: bool,
    /// A resumed session has the results of its tools.
    keeps_results: bool,
    /// It loses a session that is loaded in the minute in which it began: both write the same file.
    names_files_by_minute: bool,
    /// The model that the session reports.
    model: &'static str,
}

fn mcp_tool(name: &str) -> String {
    format!("mcp__flower__{name}")
}

pub(super) const CLAUDE: Acp = Acp {
    profile: "claude",
    version: "0.99.1",
    first: Vec::new,
    edit: claude::edit,
    shell: claude::shell,
    outside: |path| Step::call("Write", json!({ "file_path": path, "content": "broken" })),
    tool: mcp_tool,
    asks: true,
    asks_to_leave: true,
    tells_context: true,
    tells_cost: true,
    tells_tokens: true,
    tells_output: true,
    keeps_results: true,
    names_files_by_minute: false,
    model: "default",
};

pub(super) const CODEX: Acp = Acp {
    profile: "codex",
    version: "2.6.0",
    first: || {
        vec![Step::call("tool_search", json!({ "query": "flower reserve_paths add_note hand_back", "limit": 8 }))]
    },
    edit: codex::edit,
    shell: codex::shell,
    outside: |path| {
        let patch = format!("*** Begin Patch\n*** Add File: {}\n+broken\n*** End Patch\n", path.display());
        Step::call("apply_patch", json!(patch))
    },
    tool: mcp_tool,
    asks: false,
    asks_to_leave: false,
    tells_context: true,
    tells_cost: false,
    tells_tokens: true,
    tells_output: true,
    keeps_results: true,
    names_files_by_minute: false,
    model: "gpt-5.5",
};

pub(super) const GEMINI: Acp = Acp {
    profile: "gemini",
    version: "0.61.0",
    first: Vec::new,
    edit: gemini::edit,
    shell: gemini::shell,
    outside: |path| Step::call("write_file", json!({ "file_path": path, "content": "broken" })),
    tool: |name| format!("mcp_flower_{name}"),
    asks: true,
    // It refuses by itself.
    asks_to_leave: false,
    tells_context: false,
    tells_cost: false,
    tells_tokens: true,
    tells_output: false,
    keeps_results: false,
    names_files_by_minute: true,
    model: "gemini-2.5-pro",
};

pub(super) const OPENCODE: Acp = Acp {
    profile: "opencode",
    version: "1.18.33",
    first: Vec::new,
    edit: opencode::edit,
    shell: opencode::shell,
    outside: |path| Step::call("write", json!({ "filePath": path, "content": "broken" })),
    tool: |name| format!("flower_{name}"),
    // Of flower's tools it does not ask.
    asks: false,
    asks_to_leave: true,
    tells_context: true,
    tells_cost: true,
    // Only those of its last request, which are not counted.
    tells_tokens: false,
    tells_output: true,
    keeps_results: true,
    names_files_by_minute: false,
    model: "scripted/model",
};

/// A served repository with an accepted brief, and a flower that finds the agents on its PATH.
pub(super) struct Field {
    pub(super) flower: Flower,
    pub(super) model: Model,
    agent: &'static Acp,
    main: Snapshot,
}

impl Acp {
    pub(super) fn call(&self, name: &str, arguments: Value) -> Step {
        Step::call(&(self.tool)(name), arguments)
    }

    /// With the numbers that stand in the first prompt.
    pub(super) fn hand_back(&self) -> Step {
        Step::call_as_told(&(self.tool)("hand_back"), |told| {
            let (dispatch, fence) = (number_in(told, "dispatch=")?, number_in(told, "fence=")?);
            Ok(json!({ "dispatch": dispatch, "fence": fence, "summary": "It greets flower." }))
        })
    }
}

fn failed(agent: &Acp, why: &'static str) -> Step {
    Step::call_as_told(&(agent.tool)("hand_back"), move |told| {
        let (dispatch, fence) = (number_in(told, "dispatch=")?, number_in(told, "fence=")?);
        Ok(json!({ "dispatch": dispatch, "fence": fence, "summary": why, "failed": true }))
    })
}

/// Whether an entry of a transcript is of this kind and has these words.
pub(super) fn says(entry: &Value, kind: &str, words: &str) -> bool {
    entry["kind"] == kind && entry["text"].as_str().is_some_and(|text| text.contains(words))
}

fn works_by_itself(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let profiles = field.flower.json(&["agent", "profiles"]);
    let own = profiles.as_array().into_iter().flatten().find(|one| one["profile"] == agent.profile);
    let own = own.unwrap_or_else(|| panic!("{profiles:#}"));
    assert_eq!(own["trial"]["state"], "not_tried", "{own:#}");
    let tried = field.flower.json(&["agent", "profiles", agent.profile, "--try"]);
    assert_eq!((&tried[0]["trial"]["state"], &tried[0]["trial"]["why"]), (&json!("worked"), &json!(null)), "{tried:#}");
    assert_eq!((&own["runs"], &own["version"]), (&json!(true), &json!(agent.version)), "{own:#}");

    let script = field.whole_work();
    let steps = script.len();
    field.model.play(script);
    field.model.hold(Some(steps - 2));
    let begun = Instant::now();
    field.dispatch();

    field.wait_for_step(steps - 2);
    let view = field.agent();
    assert_eq!(view["state"], "working", "{view:#}");
    assert_eq!((&view["model"], &view["tools"]), (&json!(agent.model), &json!(true)), "{view:#}");
    let (used, size) = (&view["context"]["used"], &view["context"]["size"]);
    let is_told = used.as_u64() > Some(0) && size.as_u64() > Some(100_000);
    assert_eq!(is_told, agent.tells_context, "{view:#}");
    let results = field.results();
    let shell = results.iter().find(|result| result.contains("ended=")).unwrap_or_else(|| panic!("{results:?}"));
    assert!(!shell.contains("ended=0"), "{shell}");
    field.assert_main_untouched();
    let held = Instant::now();
    field.model.hold(None);
    field.assert_landed();
    let took = (held - begun, held.elapsed());
    eprintln!(
        "{}: {:.1} s to the hand-back, {:.1} s more until landed",
        agent.profile,
        took.0.as_secs_f32(),
        took.1.as_secs_f32()
    );

    let entries = field.entries();
    let told = || entries.iter().map(|entry| format!("{entry}\n")).collect::<String>();
    let has = |kind: &str, words: &str| entries.iter().any(|entry| says(entry, kind, words));
    // What is said comes in pieces.
    let said: String =
        entries.iter().filter(|entry| entry["kind"] == "said").filter_map(|entry| entry["text"].as_str()).collect();
    // Its work may land before it has said so; then its turn is cancelled.
    let has_ended = said.contains("It is handed back.") || has("flower", "no longer holds its work");
    assert!(has("prompt", "dispatch=1") && has_ended, "{}", told());
    assert!(has("tool", "add_note") && has("tool", "hand_back") && has("tool", "build.sh"), "{}", told());
    if agent.tells_output {
        assert!(has("tool", "built it") && has("tool", "ended="), "{}", told());
    }
    let diffs: Vec<&Value> = entries.iter().filter_map(|entry| entry["diffs"].get(0)).collect();
    let ours = |diff: &&&Value| diff["path"].as_str().is_some_and(|path| path.ends_with(FILE));
    assert!(
        diffs.iter().find(ours).is_some_and(|diff| diff["new"].as_str().unwrap_or("").contains(AFTER)),
        "{}",
        told()
    );
    assert!(!entries.iter().any(|entry| entry.to_string().contains(KEY)), "{}", told());
    if agent.asks {
        let allowed = |entry: &&Value| {
            says(entry, "permission", "allowed by the policy") && says(entry, "permission", "hand_back")
        };
        assert!(entries.iter().find(allowed).is_some(), "{}", told());
    }
    if agent.asks_to_leave {
        assert!(has("permission", "because of no decision in time"), "{}", told());
    }
    let view = field.agent();
    assert_eq!((&view["state"], &view["restarts"]), (&json!("stopped"), &json!(0)), "{view:#}");
    assert_eq!(view["tokens"].as_u64() > Some(0), agent.tells_tokens, "{view:#}");
    assert_eq!(view["tokens"].is_null(), !agent.tells_tokens, "what is not told is not 0: {view:#}");
    assert_eq!(view["cost"].as_f64() > Some(0.0), agent.tells_cost, "{view:#}");
    assert_eq!(view["cost"].is_null(), !agent.tells_cost, "what is not told is not 0: {view:#}");
    let trace = field.flower.json(&["trace", "--limit", "1000"]);
    for kind in ["note_added", "dispatch_handed_back"] {
        let event = trace.as_array().into_iter().flatten().find(|event| event["kind"] == kind);
        let event = event.unwrap_or_else(|| panic!("no {kind}: {trace:#}"));
        assert_eq!((&event["door"], &event["actor"]["type"]), (&json!("mcp"), &json!("agent")), "{event:#}");
    }
}

/// It asks, goes on with the answer, and after a kill continues in its session.
fn asks_and_is_killed(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let mut script = field.whole_work();
    let asking = (agent.first)().len();
    let question = json!({ "brief": 1, "text": "Which greeting?", "kind": "question" });
    script.insert(asking, agent.call("add_note", question));
    let next = std::mem::replace(&mut script[asking + 1], Step::say(""));
    script[asking + 1] = Step::once_told("The friendly one", next);
    let last = script.len() - 2;
    field.model.play(script);
    field.model.hold(Some(last));
    field.dispatch();
    patiently("it asks", || {
        let inbox = field.flower.json(&["inbox"]);
        inbox.to_string().contains("Which greeting?").then_some(())
    });
    patiently("it waits for an answer", || (field.agent()["state"] == "waiting").then_some(()));
    field.flower.ok(&["brief", "answer", "1", "1", "The friendly one"]);
    field.wait_for_step(last);
    let pid = field.agent()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process");
    let before = family(pid);
    assert!(before.len() >= 3, "the jail and the agent: {before:?}");
    field.wait_until_resumable();
    let asked = if agent.keeps_results { 0 } else { field.go_on() };
    crate::agents::stage::kill(pid);
    patiently("nothing of it is left", || {
        before.iter().all(|(pid, birth)| birth_of(*pid).as_ref() != Some(birth)).then_some(())
    });
    field.model.hold(None);
    if !agent.keeps_results {
        field.assert_remembers(asked);
    }
    field.assert_landed();
    let view = field.agent();
    assert_eq!((&view["restarts"], &view["model"]), (&json!(1), &json!(agent.model)), "{view:#}");
    let entries = field.entries();
    assert!(entries.iter().any(|entry| says(entry, "flower", "session resumed")), "{entries:#?}");
}

fn is_stopped(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let script = field.whole_work();
    let last = script.len() - 2;
    field.model.play(script);
    field.model.hold(Some(last));
    field.dispatch();
    field.wait_for_step(last);
    let view = field.agent();
    let pid = view["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process");
    let before = family(pid);
    assert!(before.len() >= 3, "the jail, the adapter, the agent: {before:?}");
    let start = Instant::now();
    let name = field.name();
    field.flower.ok(&["agent", "stop", &name]);
    eprintln!("{}: stopped after {:.1} s", agent.profile, start.elapsed().as_secs_f32());
    let left: Vec<_> = before.iter().filter(|(pid, birth)| birth_of(**pid).as_ref() == Some(*birth)).collect();
    assert!(left.is_empty(), "left behind: {left:?}");
    assert_eq!(field.agent()["state"], "stopped");
    assert_eq!(field.flower.json(&["dispatch", "show", "1"])["state"], "requested");
    field.assert_main_untouched();
}

fn is_refreshed(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let script = field.whole_work();
    // Before anything is edited, so that the fresh one can do all of it.
    let middle = (agent.first)().len() + 2;
    field.model.play(script);
    field.model.answer(ASKED_FOR_NOTE, NOTE);
    field.model.hold(Some(middle));
    field.dispatch();
    field.wait_for_step(middle);
    let name = field.name();
    field.flower.ok(&["agent", "refresh", &name]);
    patiently("a fresh one begins", || (field.agent()["refreshes"] == 1).then_some(()));
    field.model.hold(None);
    field.assert_landed();
    let entries = field.entries();
    let prompts: Vec<&Value> = entries.iter().filter(|entry| entry["kind"] == "prompt").collect();
    assert!(
        prompts.iter().any(|entry| says(entry, "prompt", NOTE) && says(entry, "prompt", "## Hand-over")),
        "{prompts:#?}"
    );
    assert!(entries.iter().any(|entry| says(entry, "flower", "the hand-over note is by agent")), "{entries:#?}");
    assert_eq!(field.name(), name, "it keeps its name");
}

fn is_resumed(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let script = field.whole_work();
    let last = script.len() - 2;
    field.model.play(script);
    field.model.hold(Some(last));
    field.dispatch();
    field.wait_for_step(last);
    let pid = field.agent()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process");
    let before = family(pid);
    field.wait_until_resumable();
    let daemon = i32::try_from(field.flower.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a daemon");
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).expect("it runs");
    patiently("nothing of it outlives the daemon", || {
        before.iter().all(|(pid, birth)| birth_of(*pid).as_ref() != Some(birth)).then_some(())
    });
    let asked = field.model.asked_for(last);
    field.model.hold(None);
    let asked = if agent.keeps_results { asked } else { field.go_on() };
    field.flower.start();
    if agent.keeps_results {
        // With all that its tools have answered before: it remembers.
        patiently("it is back where it was", || (field.model.asked_for(last) > asked).then_some(()));
    } else {
        field.assert_remembers(asked);
    }
    field.assert_landed();
    let entries = field.entries();
    assert!(entries.iter().any(|entry| says(entry, "flower", "session resumed")), "{entries:#?}");
}

impl Field {
    pub(super) fn new(agent: &'static Acp, ask_timeout: &str) -> Field {
        let (mut flower, model) = (Flower::new(), Model::start());
        flower.env("PATH", path().to_str().expect("UTF-8"));
        flower.env("ANTHROPIC_API_KEY", KEY);
        flower.env("ANTHROPIC_BASE_URL", &model.url());
        flower.env("OPENAI_API_KEY", KEY);
        flower.env("GEMINI_API_KEY", KEY);
        let settings = [
            ("flower.toml", "[checks]\ntest = { run = \"sh build.sh\" }\n"),
            ("build.sh", "cat README.md > built && echo built it\n"),
            (".gitignore", "built\n"),
        ];
        for (name, content) in settings {
            put(&flower, &flower.repo.join(name), content);
        }
        flower.git(&flower.repo, &["add", "."]);
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
        prepare(&flower);
        put(&flower, &flower.home.join("config.toml"), config(&model, ask_timeout));
        flower.ok(&["project", "approve", "--yes"]);
        let plan = flower.file("plan.md", "# Greet flower\n\nThe greeting names flower.\n");
        flower.ok(&["brief", "new", TITLE, "--spec", &plan]);
        flower.ok(&["brief", "accept", "1"]);
        let main = files(&flower.repo);
        Field { flower, model, agent, main }
    }

    /// Reserves, notes, edits, builds, commits, tries to write MAIN in two ways, and hands back.
    pub(super) fn whole_work(&self) -> Vec<Step> {
        let (agent, main) = (self.agent, &self.flower.repo);
        let tree = tree(&self.flower, WORKTREE);
        let mut script = (agent.first)();
        script.push(agent.call("reserve_paths", json!({ "patterns": [FILE] })));
        script.push(agent.call("add_note", json!({ "brief": 1, "text": "The greeting names flower." })));
        script.extend((agent.edit)(tree.join(FILE).to_str().expect("UTF-8"), BEFORE, AFTER));
        script.push((agent.shell)("sh build.sh && grep flower built"));
        script.push((agent.shell)(&format!("git add {FILE} && git commit --message 'Greet flower'")));
        script.push((agent.shell)(&format!("echo broken > {}; echo ended=$?", main.join(FILE).display())));
        script.push((agent.outside)(&main.join(BROKEN)));
        script.push(agent.hand_back());
        script.push(Step::say("It is handed back."));
        script
    }

    pub(super) fn dispatch(&self) {
        let asked = self.flower.json(&["dispatch", "1", "--agent", self.agent.profile]);
        assert_eq!(asked["worktree"], WORKTREE, "{asked:#}");
    }

    pub(super) fn agent(&self) -> Value {
        let agents = self.flower.json(&["agent", "--all"]);
        agents.get(0).unwrap_or_else(|| panic!("no agent: {agents:#}")).clone()
    }

    fn name(&self) -> String {
        self.agent()["name"].as_str().expect("a name").to_owned()
    }

    pub(super) fn entries(&self) -> Vec<Value> {
        let all = self.flower.json(&["agent", "log", &self.name(), "--all"]);
        all.as_array().cloned().unwrap_or_default()
    }

    /// What the tools have answered, as far as it got.
    pub(super) fn results(&self) -> Vec<String> {
        let asked = self.model.asked();
        asked.into_iter().map(|asked| asked.results).max_by_key(Vec::len).unwrap_or_default()
    }

    /// The whole story, to find out why it failed.
    pub(super) fn told(&self) -> String {
        let log = self.flower.run(&["agent", "log", &self.name(), "--all"]);
        format!("{}\n{:#}\n{:?}\n{:?}", log.stdout, self.agent(), self.model.trouble(), self.results())
    }

    fn wait_for_step(&self, step: usize) {
        let start = Instant::now();
        while self.model.asked_for(step) == 0 {
            let ended = self.model.trouble().first().cloned();
            assert!(ended.is_none() && start.elapsed() < DEADLINE, "step {step} is not asked for: {}", self.told());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the session of the agent can be found again.
    fn wait_until_resumable(&self) {
        if !self.agent.names_files_by_minute {
            return;
        }
        let entries = self.entries();
        let started = entries.iter().rfind(|entry| says(entry, "flower", "session started")).expect("a session");
        let began = started["at"].as_str().and_then(|at| at.get(14..16)?.parse::<u64>().ok()).expect("a minute");
        patiently("another minute", || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
            (now.as_secs() / 60 % 60 != began).then_some(())
        });
    }

    /// What is left to do after a kill, from the next request on. Returns how many requests there were before.
    fn go_on(&self) -> usize {
        self.model.go_on(vec![self.agent.hand_back(), Step::say("It is handed back.")]);
        self.model.asked().len()
    }

    /// The first request after a resume has what was said before it.
    fn assert_remembers(&self, asked: usize) {
        let first = patiently("it is back", || {
            self.model.asked().into_iter().skip(asked).find(|asked| !asked.tools.is_empty())
        });
        assert!(first.body.to_string().contains("Going on."), "{}", self.told());
    }

    fn assert_main_untouched(&self) {
        assert_eq!(differences(&self.main, &files(&self.flower.repo)), [""; 0]);
        assert_main_is_whole(&self.flower);
    }

    pub(super) fn assert_landed(&self) {
        let flower = &self.flower;
        let start = Instant::now();
        loop {
            let dispatch = flower.json(&["dispatch", "show", "1"]);
            if dispatch["state"] == "landed" {
                break;
            }
            let open =
                ["requested", "claimed", "executing", "handed_back"].iter().any(|state| dispatch["state"] == *state);
            assert!(open && start.elapsed() < DEADLINE, "it does not land: {dispatch:#}\n{}", self.told());
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(self.model.trouble(), [""; 0]);
        patiently("its agent retires", || (self.agent()["ended"]["how"] == "retired").then_some(()));
        assert_eq!(fs::read_to_string(flower.repo.join(FILE)).unwrap().trim(), AFTER);
        assert!(!flower.repo.join(BROKEN).exists());
        let history = git(flower, &flower.repo, &["log", "--format=%an: %s", "main"]);
        assert!(history.lines().any(|commit| commit == "Tester: Greet flower"), "{history}");
        assert_main_is_whole(flower);
    }
}

/// What the operator has to say of a model that is elsewhere: where it is, and that it may be reached.
fn config(model: &Model, ask_timeout: &str) -> String {
    let provider = json!({ "name": "scripted", "base_url": format!("{}/v1", model.url()), "wire_api": "responses",
        "env_key": "OPENAI_API_KEY", "request_max_retries": 0, "stream_max_retries": 0 });
    // Plugins and apps ask the network for more, and wait for it. A login shell begins with a PATH of its own.
    let codex = json!({ "model": "gpt-5.5", "model_provider": "scripted", "model_providers": { "scripted": provider },
        "check_for_update_on_startup": false, "allow_login_shell": false, "analytics": { "enabled": false },
        "features": { "plugins": false, "apps": false } });
    let options = json!({ "baseURL": format!("{}/v1", model.url()), "apiKey": "{env:OPENAI_API_KEY}" });
    let limits = json!({ "name": "Scripted", "tool_call": true, "limit": { "context": 200_000, "output": 8_000 },
        "cost": { "input": 100, "output": 100 } });
    let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options,
        "models": { "model": limits } });
    let opencode =
        json!({ "model": OPENCODE.model, "small_model": OPENCODE.model, "provider": { "scripted": provider } });
    let (port, url) = (model.port, model.url());
    format!(
        "[agents.claude]\nconnect = [{port}]\nask_timeout = \"{ask_timeout}\"\n\n\
         [agents.codex]\nconnect = [{port}]\n[agents.codex.set]\nCODEX_CONFIG = '{codex}'\n\n\
         [agents.gemini]\nconnect = [{port}]\nask_timeout = \"{ask_timeout}\"\nmodel = \"{}\"\n\
         [agents.gemini.set]\nGOOGLE_GEMINI_BASE_URL = \"{url}\"\n\n\
         [agents.opencode]\nconnect = [{port}]\nask_timeout = \"{ask_timeout}\"\nmodel = \"{}\"\n\
         [agents.opencode.set]\nOPENCODE_CONFIG_CONTENT = '{opencode}'\n",
        GEMINI.model, OPENCODE.model
    )
}

pub(super) fn patiently<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < DEADLINE, "{what}: not within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A process and all below it, each with its time of birth: a number alone may be given again.
pub(super) fn family(pid: u32) -> BTreeMap<u32, String> {
    let mut all = BTreeMap::new();
    let mut next = vec![pid];
    while let Some(pid) = next.pop() {
        let Some(birth) = birth_of(pid) else { continue };
        all.insert(pid, birth);
        let tasks = fs::read_dir(PathBuf::from(format!("/proc/{pid}/task"))).into_iter().flatten().flatten();
        for task in tasks {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            next.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    all
}

/// Of a process that is at work; a zombie is not.
pub(super) fn birth_of(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    (fields.first() != Some(&"Z")).then(|| fields.get(19).map(|birth| (*birth).to_owned())).flatten()
}
