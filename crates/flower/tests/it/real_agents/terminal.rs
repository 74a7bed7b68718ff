//! Real agents in a terminal, by the profiles of the guide: flower starts them, keeps what they print, hands back what they have
//! committed, tells them why it was refused, and starts them again after a kill.

use super::acp::{birth_of, family, patiently};
use crate::common::guide::{config, terminal_profiles};
use crate::common::work::*;
use crate::common::{Flower, Output};
use crate::real_agents::agent::{AFTER, FILE, agents, path, without_network};
use crate::real_agents::model::{Model, Step};
use crate::real_agents::{claude, qwen};
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

const KEY: &str = "dummy-key-without-owner";
const WORKTREE: &str = "b1-greet-flower";
/// The beginning of each first prompt, by which the model knows its task.
const PROMPT: &str = "flower: agent=";
const REFUSED: &str = "your work was not taken";
/// The file in which the greeting goes on after a conflict.
const OTHER_FILE: &str = "GREETING.md";
const DONE: &str = "The greeting names flower now.";

/// The scenarios of each agent.
macro_rules! scenarios {
    ($($agent:ident: $works:ident, $refused:ident, $killed:ident;)*) => { $(
        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $works() {
            without_network(concat!("real_agents::terminal::", stringify!($works)), || works(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $refused() {
            without_network(concat!("real_agents::terminal::", stringify!($refused)), || is_refused(&$agent));
        }

        #[test]
        #[ignore = "starts a real agent: cargo xtask test --real-agents"]
        fn $killed() {
            without_network(concat!("real_agents::terminal::", stringify!($killed)), || is_killed(&$agent));
        }
    )* };
}

scenarios! {
    AIDER: aider_in_a_terminal, aider_hears_of_a_conflict, aider_is_killed_and_starts_again;
    QWEN: qwen_in_a_terminal, qwen_hears_of_what_it_has_not_committed, qwen_is_killed_and_starts_again;
    CLAUDE: claude_in_a_terminal, claude_hears_of_what_it_has_not_committed, claude_in_a_terminal_is_killed_and_starts_again;
}

/// What is different from one agent to the next.
struct Terminal {
    /// Its name in the guide.
    profile: &'static str,
    /// A word in the command lines of its processes.
    process: &'static str,
    /// Where its model is.
    set: fn(&Model) -> Vec<(&'static str, String)>,
    /// Runs a command with its own tool. None: it edits by text, and commits by itself.
    shell: Option<fn(&str) -> Step>,
    /// What it prints before its model answers.
    first_words: Option<&'static str>,
    /// What it leaves behind without a commit.
    litter: &'static str,
    /// Flower finds all that it needs; otherwise its launcher is one that npm would not make.
    is_installed_as_usual: bool,
}

const AIDER: Terminal = Terminal {
    profile: "aider",
    process: "bin/aider",
    set: |model| {
        vec![
            ("OPENAI_API_BASE", format!("{}/v1", model.url())),
            ("AIDER_MODEL", "openai/scripted".to_owned()),
            ("AIDER_CHECK_UPDATE", "false".to_owned()),
        ]
    },
    shell: None,
    first_words: Some("Aider v0.86"),
    litter: ".aider.chat.history.md",
    is_installed_as_usual: true,
};

const QWEN: Terminal = Terminal {
    profile: "qwen",
    process: "qwen",
    set: |model| vec![("OPENAI_BASE_URL", format!("{}/v1", model.url())), ("OPENAI_MODEL", "scripted".to_owned())],
    shell: Some(qwen::shell),
    first_words: Some("running headless"),
    litter: "litter.tmp",
    is_installed_as_usual: true,
};

const CLAUDE: Terminal = Terminal {
    profile: "claude-print",
    process: "claude",
    set: |model| {
        vec![
            ("ANTHROPIC_BASE_URL", model.url()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ]
    },
    shell: Some(claude::shell),
    // With `-p` it prints its last answer only.
    first_words: None,
    litter: "litter.tmp",
    is_installed_as_usual: false,
};

/// A served repository with an accepted brief, and the agent's profile as it stands in the guide.
struct Field {
    flower: Flower,
    model: Model,
    agent: &'static Terminal,
}

fn works(agent: &'static Terminal) {
    let field = Field::new(agent);
    match agent.shell {
        Some(shell) => field.model.play(vec![
            shell(&format!("echo left > {}", agent.litter)),
            shell(&format!("echo '{AFTER}' > {FILE}")),
            shell("git commit --all --message 'Greet flower'"),
            Step::say(DONE),
        ]),
        None => field.model.write(|told| edits(told, &format!("{FILE}\n```\n{AFTER}\n```\n{DONE}"))),
    }
    field.model.hold(Some(0));
    field.dispatch();
    field.wait_until_asked(1);
    let name = field.name();
    if let Some(words) = agent.first_words {
        patiently("its first words are read while it runs", || field.log().contains(words).then_some(()));
    }
    assert_eq!(field.agent()["state"], "working", "{:#}", field.agent());
    // Without a terminal of the reader's own.
    let mut following = field.flower.command(&["agent", "log", &name, "--follow"]);
    let following = following.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("flower runs");
    field.model.hold(None);
    field.assert_landed(AFTER);
    let followed = following.wait_with_output().expect("it ends with the agent");
    let log = field.log();
    for text in [&*String::from_utf8_lossy(&followed.stdout), &log] {
        assert!(text.contains(DONE) && text.contains("exit code 0"), "{text}");
        assert!(agent.first_words.is_none_or(|words| text.contains(words)), "{text}");
        assert!(!text.contains(KEY) && !text.contains('\u{1b}'), "{text}");
    }
    assert_eq!(field.agent()["restarts"], 0, "{}", field.told());
    let result = field.flower.json(&["dispatch", "show", "1"])["result"].clone();
    let summary = result["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("left in the worktree: ") && summary.contains(agent.litter), "{result:#}");
    assert!(!field.flower.repo.join(agent.litter).exists());
    eprintln!("{}: landed\n{log}", agent.profile);
}

/// Its first run ends with exit code 0 and with work that cannot be taken; the second one hears why.
fn is_refused(agent: &'static Terminal) {
    let field = Field::new(agent);
    let reason = match agent.shell {
        Some(shell) => {
            field.model.play(vec![
                Step::call_told(shell, |told| match told.contains(REFUSED) {
                    true => "git commit --all --message 'Greet flower'".to_owned(),
                    false => format!("echo '{AFTER}' > {FILE}"),
                }),
                Step::say(DONE),
            ]);
            field.dispatch();
            "something is not committed: `README.md`"
        }
        None => {
            field.model.write(|told| {
                let again = told.iter().any(|told| told.contains(REFUSED));
                let first = format!("{FILE}\n```\n{AFTER}\n```");
                let second = format!("{FILE}\n```\nhello, world\n```\n\n{OTHER_FILE}\n```\n{AFTER}\n```");
                edits(told, if again { &second } else { &first })
            });
            field.model.hold(Some(0));
            field.dispatch();
            field.wait_until_asked(1);
            // In the meantime MAIN gets another greeting.
            new(&field.flower, "other", &[]);
            inside_ok(
                &field.flower,
                "other",
                "echo 'hello, world' > README.md; git commit --quiet --all --message world",
            );
            field.flower.ok(&["land", "other", "--wait"]);
            field.model.hold(None);
            "it does not merge with MAIN as it stands: `README.md`"
        }
    };
    let (file, text) = if agent.shell.is_some() { (FILE, AFTER) } else { (OTHER_FILE, AFTER) };
    field.assert_landed_in(file, text);
    assert_eq!(field.agent()["restarts"], 1, "{}", field.told());
    let prompts: Vec<String> =
        field.model.asked().iter().map(|asked| asked.body.to_string()).filter(|body| body.contains(PROMPT)).collect();
    let heard = prompts.iter().filter(|body| body.contains(REFUSED)).collect::<Vec<_>>();
    assert!(!prompts[0].contains(REFUSED) && !heard.is_empty(), "{}", field.told());
    assert!(heard.iter().all(|body| body.contains(reason)), "{}", heard[0]);
    assert!(field.log().contains(reason), "{}", field.log());
}

/// All its processes are killed in the middle of its work.
fn is_killed(agent: &'static Terminal) {
    let field = Field::new(agent);
    let step = match agent.shell {
        Some(shell) => {
            field.model.play(vec![
                shell(&format!("echo '{AFTER}' > {FILE}")),
                shell("git commit --all --message 'Greet flower'"),
                Step::say(DONE),
            ]);
            1
        }
        None => {
            field.model.write(|told| edits(told, &format!("{FILE}\n```\n{AFTER}\n```\n{DONE}")));
            0
        }
    };
    field.model.hold(Some(step));
    field.dispatch();
    field.wait_until_asked(step + 1);
    let pid = field.agent()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process");
    let before = family(pid);
    let is_agent = |pid: &&u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        **pid != std::process::id() && String::from_utf8_lossy(&words).replace('\0', " ").contains(agent.process)
    };
    let killed: Vec<u32> = before.keys().filter(is_agent).copied().collect();
    assert!(!killed.is_empty(), "{before:?}");
    // The innermost first: those around it end with it.
    let innermost = *killed.last().expect("one");
    crate::agents::stage::kill(innermost);
    patiently("nothing of it is left", || {
        before.iter().all(|(pid, birth)| birth_of(*pid).as_ref() != Some(birth)).then_some(())
    });
    field.model.hold(None);
    field.assert_landed(AFTER);
    let view = field.agent();
    assert_eq!(view["restarts"], 1, "{view:#}\n{}", field.told());
    let log = field.log();
    assert!(log.contains(DONE) && log.contains("ended by signal 9"), "{log}");
}

/// What a model answers to aider: to its prompt, and for the message of a commit.
fn edits(told: &[String], answer: &str) -> Option<String> {
    let last = told.last()?;
    match last.contains("# Diffs:") {
        true => Some("Greet flower".to_owned()),
        false => last.contains(PROMPT).then(|| answer.to_owned()),
    }
}

impl Field {
    fn new(agent: &'static Terminal) -> Field {
        let (mut flower, model) = (Flower::new(), Model::start());
        flower.env("PATH", path().to_str().expect("UTF-8"));
        flower.env("OPENAI_API_KEY", KEY);
        flower.env("ANTHROPIC_API_KEY", KEY);
        put(&flower, &flower.repo.join("flower.toml"), "[checks]\ntest = { run = \"grep hello README.md\" }\n");
        flower.git(&flower.repo, &["add", "."]);
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
        prepare(&flower);
        let mut profile = terminal_profiles()[agent.profile].as_table().expect("a profile").clone();
        profile.insert("connect".to_owned(), vec![i64::from(model.port)].into());
        if !agent.is_installed_as_usual {
            profile.insert("read".to_owned(), vec![agents().to_str().expect("UTF-8")].into());
        }
        let mut set = profile.remove("set").and_then(|set| set.as_table().cloned()).unwrap_or_default();
        set.extend((agent.set)(&model).into_iter().map(|(name, value)| (name.to_owned(), value.into())));
        profile.insert("set".to_owned(), set.into());
        let profiles = toml::Table::from_iter([(agent.profile.to_owned(), profile.into())]);
        put(&flower, &flower.home.join("config.toml"), config(&profiles));
        flower.ok(&["project", "approve", "--yes"]);
        let plan = flower.file("plan.md", "# Greet flower\n\nThe greeting in README.md names flower.\n");
        flower.ok(&["brief", "new", "Greet flower", "--spec", &plan]);
        flower.ok(&["brief", "accept", "1"]);
        Field { flower, model, agent }
    }

    fn dispatch(&self) {
        let asked = self.flower.json(&["dispatch", "1", "--agent", self.agent.profile]);
        assert_eq!(asked["worktree"], WORKTREE, "{asked:#}");
    }

    /// Waits until the agent has sent so many requests with its prompt.
    fn wait_until_asked(&self, times: usize) {
        let prompts = || self.model.asked().iter().filter(|asked| asked.body.to_string().contains(PROMPT)).count();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            patiently("it asks its model", || (prompts() >= times).then_some(()));
        }));
        assert!(found.is_ok(), "{}", self.told());
    }

    fn agent(&self) -> Value {
        let agents = self.flower.json(&["agent", "--all"]);
        agents.get(0).unwrap_or_else(|| panic!("no agent: {agents:#}")).clone()
    }

    fn name(&self) -> String {
        self.agent()["name"].as_str().expect("a name").to_owned()
    }

    fn log(&self) -> String {
        let Output { stdout, .. } = self.flower.run(&["agent", "log", &self.name(), "--all"]);
        stdout
    }

    /// The whole story, to find out why it failed.
    fn told(&self) -> String {
        let dispatch = self.flower.json(&["dispatch", "show", "1"]);
        let agents = self.flower.json(&["agent", "--all"]);
        let log = agents.get(0).map(|_| self.log());
        format!("{}\n{agents:#}\n{dispatch:#}\n{:?}", log.unwrap_or_default(), self.model.trouble())
    }

    fn assert_landed(&self, text: &str) {
        self.assert_landed_in(FILE, text);
    }

    /// The file says this in MAIN, and MAIN is as it should be.
    fn assert_landed_in(&self, file: &str, text: &str) {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            patiently("it lands", || {
                let dispatch = self.flower.json(&["dispatch", "show", "1"]);
                let open = ["requested", "claimed", "executing", "handed_back"]
                    .iter()
                    .any(|state| dispatch["state"] == *state);
                (!open).then(|| assert_eq!(dispatch["state"], "landed", "{dispatch:#}"))
            });
            patiently("its agent retires", || (self.agent()["ended"]["how"] == "retired").then_some(()));
        }));
        assert!(found.is_ok(), "{}", self.told());
        assert_eq!(self.model.trouble(), [""; 0]);
        assert_eq!(fs::read_to_string(self.flower.repo.join(file)).expect("it has landed").trim(), text);
        let history = git(&self.flower, &self.flower.repo, &["log", "--format=%s", "main"]);
        assert!(history.lines().any(|commit| commit == "Greet flower"), "{history}");
        assert_eq!(self.flower.json(&["brief", "show", "1"])["status"], json!("landed"));
        assert_main_is_whole(&self.flower);
    }
}
