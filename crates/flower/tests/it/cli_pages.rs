//! Pages of the command line as a person reads them, the packet that an agent gets, and typical errors.
//!
//! `INSTA_UPDATE=always cargo nextest run -p flower --test it cli_pages` stores changed pages; `git diff` shows them.

use crate::agents::stage::profile;
use crate::common::work::{prepare, put, tree};
use crate::common::{Flower, Output, eventually, finish};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;

/// Replaces what differs between two runs: times, ids, ports, and what the machine has.
const FILTERS: [(&str, &str); 17] = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
    (r"\b(just now|\d+[smh] ago)", "[ago]"),
    // The column is as wide as the time in it.
    (r"SINCE +WHY", "SINCE  WHY"),
    (r"\d+ minutes? without", "[left] without"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z", "[time]"),
    (r"\d{4}-\d\d-\d\d", "[date]"),
    (r"\b\d+\.\ds\b", "[seconds]"),
    (r"\b[0-9a-f]{64}\b", "[token]"),
    (r"\b([0-9a-f]{40}|[0-9a-f]{12})\b", "[commit]"),
    (r"process \d+", "process [pid]"),
    (r"flower \d+\.\d+\.\d+", "flower [version]"),
    (r"git \d+\.\d+\S*", "git [version]"),
    (r"\d+ MB (free|in)", "[size] $1"),
    // Other work of the daemon can come between two events, and its removal of a worktree anywhere after a landing.
    (r"(?m)^ +\d+  worktree remov.*\n", ""),
    (r"(?m)^ +\d+  (\w.* · .* · )", "[seq]  $1"),
    (r"\b([Ee]vent) \d+\b", "$1 [seq]"),
    (r"\b\d+ events\b", "[n] events"),
];

/// Compares a page with `snapshots/NAME.snap`.
fn assert_page(flower: &Flower, name: &str, page: &str) {
    let page = page.replace(env!("CARGO_BIN_EXE_flower"), "[flower]");
    let page = page.replace(flower.dir().to_str().expect("UTF-8"), "[dir]");
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (pattern, replacement) in FILTERS {
        settings.add_filter(pattern, replacement);
    }
    settings.bind(|| insta::assert_snapshot!(name, page));
}

/// The error of a command as a person reads it, with its exit code.
fn error_page(output: &Output) -> String {
    assert_eq!(output.stdout, "", "an error goes to standard error");
    format!("{}exit code {}\n", output.stderr, output.code)
}

fn as_agent(flower: &Flower, token: &str, args: &[&str]) -> String {
    let mut command = flower.command(args);
    command.env("FLOWER_TOKEN", token);
    let output = finish(command);
    assert_eq!(output.code, 0, "{args:?}: {output:?}");
    output.stdout
}

/// Claims a dispatch with a fresh packet and gives the packet. The worktree is ready then.
fn claim(flower: &Flower, dispatch: &str) -> Value {
    let packet = flower.json(&["dispatch", "packet", dispatch]);
    as_agent(flower, packet["token"].as_str().expect("a token"), &["claim", dispatch]);
    packet
}

/// Repository with a check, and the state of a day at work: brief 1 is landed, an agent has claimed brief 2, brief 3 waits for
/// an answer, brief 4 to be accepted, MAIN is frozen, and a landing waits for it.
fn day_at_work() -> Flower {
    let flower = Flower::new();
    let settings = "[checks]\ntest = { run = \"true\" }\n";
    put(&flower, &flower.repo.join("flower.toml"), settings);
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    prepare(&flower);
    flower.ok(&["project", "approve", "--yes"]);
    put(&flower, &flower.home.join("config.toml"), profile("play", &[], ""));

    let spec = flower.file("dark.md", "# Dark mode\n\nThe colours follow the system.\n");
    flower.ok(&["brief", "new", "Dark mode", "--spec", &spec]);
    flower.ok(&["brief", "accept", "1"]);
    flower.ok(&["brief", "note", "1", "Ask for the colours of the logo."]);
    flower.ok(&["brief", "ask", "1", "Is there a third theme?"]);
    flower.ok(&["brief", "answer", "1", "1", "No."]);
    flower.ok(&["dispatch", "1"]);
    let token = claim(&flower, "1")["token"].as_str().expect("a token").to_owned();
    let work = "echo dark > theme; git add theme; git commit --quiet --message 'Add the dark theme'";
    as_agent(&flower, &token, &["worktree", "shell", "b1-dark-mode", "--", "sh", "-ec", work]);
    as_agent(&flower, &token, &["handback", "1", "--fence", "1", "--summary", "The theme is there"]);
    eventually("dispatch 1 has landed and its worktree is removed", || {
        let is_landed = flower.json(&["dispatch", "show", "1"])["state"] == "landed";
        (is_landed && flower.json(&["worktree"]) == serde_json::json!([])).then_some(())
    });

    let spec = flower.file("settings.md", "# Settings\n\n- A switch for the theme.\n");
    flower.ok(&["brief", "new", "Settings", "--spec", &spec, "--needs", "1"]);
    flower.ok(&["brief", "accept", "2"]);
    flower.ok(&["brief", "link", "2", "address", "https://issues.example/77"]);
    let spec = flower.file("settings.md", "# Settings\n\n- A switch for the theme.\n- It is on the first page.\n");
    flower.ok(&["dispatch", "2"]);
    claim(&flower, "2");
    flower.ok(&["brief", "refine", "2", "--spec", &spec, "--why", "Where it is was not said"]);
    flower.ok(&["brief", "new", "Pictures for dark pages", "--kind", "research", "--needs", "2"]);
    flower.ok(&["brief", "ask", "3", "Which pages have pictures?"]);
    let spec = flower.file("print.md", "# Print\n\nPaper stays white.\n");
    flower.ok(&["brief", "new", "Print styles", "--kind", "fix", "--spec", &spec]);

    flower.ok(&["freeze", "release day"]);
    flower.ok(&["worktree", "new", "polish", "--linked"]);
    put(&flower, &tree(&flower, "polish").join("README.md"), "hello, world\n");
    let work = "git commit --quiet --all --message 'Greet the world'";
    flower.ok(&["worktree", "shell", "polish", "--", "sh", "-ec", work]);
    flower.ok(&["land", "polish"]);
    flower.ok(&["agent", "spawn", "play", "--worktree", "porch", "--standing"]);
    eventually("the agent is idle", || (flower.json(&["agent", "show", "play-1"])["state"] == "idle").then_some(()));
    flower
}

#[test]
fn pages_of_a_day_at_work() {
    let flower = day_at_work();
    for (name, args) in [
        ("brief", &["brief"] as &[&str]),
        ("brief-show-landed", &["brief", "show", "1"]),
        ("brief-show-at-work", &["brief", "show", "2"]),
        ("brief-trace", &["brief", "trace", "1"]),
        ("recall", &["brief", "show", "2", "--as-agent"]),
        ("status", &["status"]),
        ("queue", &["queue"]),
        ("queue-show", &["queue", "show", "1"]),
        ("worktree", &["worktree"]),
        ("worktree-show", &["worktree", "show", "polish"]),
        ("dispatch", &["dispatch"]),
        ("dispatch-show", &["dispatch", "show", "2"]),
        ("agent", &["agent"]),
        ("inbox", &["inbox"]),
        ("log-verify", &["log", "verify", "--tables"]),
        ("main", &["main"]),
        ("main-log", &["main", "log"]),
        ("doctor", &["doctor"]),
    ] {
        assert_page(&flower, name, &flower.ok(args));
    }
}

#[test]
fn the_packet_of_a_dispatch() {
    let flower = Flower::started();
    let spec = flower.file("dark.md", "# Dark mode\n\nThe colours follow the system.\n");
    flower.ok(&["brief", "new", "Dark mode", "--spec", &spec]);
    flower.ok(&["brief", "accept", "1"]);
    flower.ok(&["dispatch", "1"]);
    assert_page(&flower, "packet", &flower.ok(&["dispatch", "packet", "1"]));
}

/// On a machine that has git and no agent.
#[test]
fn profiles_name_what_is_missing() {
    let mut flower = Flower::new();
    let bin = flower.dir().join("bin");
    fs::create_dir(&bin).expect("a folder");
    let path = std::env::var_os("PATH").expect("a path");
    let git = std::env::split_paths(&path).map(|dir| dir.join("git")).find(|git| git.is_file()).expect("git");
    symlink(git, bin.join("git")).expect("a link");
    flower.env("PATH", bin.to_str().expect("UTF-8"));
    flower.start();
    assert_page(&flower, "agent-profiles", &flower.ok(&["agent", "profiles"]));
}

#[test]
fn help_of_the_program_and_of_a_nested_command() {
    let flower = Flower::new();
    assert_page(&flower, "help", &flower.ok(&["--help"]));
    assert_page(&flower, "help-brief-new", &flower.ok(&["brief", "new", "--help"]));
}

#[test]
fn errors_name_the_next_step() {
    let flower = Flower::started();
    assert_page(&flower, "error-not-found", &error_page(&flower.run(&["brief", "show", "99"])));
    assert_page(&flower, "error-usage", &error_page(&flower.run(&["brief", "shwo", "1"])));
}
