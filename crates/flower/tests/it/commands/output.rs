//! How answers look: codes, errors, colours only in a terminal, help and completions.

use super::with_briefs;
use crate::common::{Flower, finish};
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn every_exit_code_means_what_it_says() {
    let flower = with_briefs(&["one"]);
    let plan = flower.file("plan.md", "plan");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    for (args, code, kind) in [
        (&["brief", "status", "1", "landed"][..], 1, "refused"),
        (&["brief", "show"], 2, "usage"),
        (&["brief", "show", "x"], 2, "usage"),
        (&["brief", "show", "-1"], 2, "usage"),
        (&["brief", "show", "18446744073709551616"], 2, "usage"),
        (&["brief", "--limit", "0"], 2, "usage"),
        (&["brief", "--no-such-option"], 2, "usage"),
        (&["brief", "edit", "1"], 2, "usage"),
        (&["nonsense"], 2, "usage"),
        (&["log"], 2, "usage"),
        (&[], 2, "usage"),
        (&["brief", "new", ""], 2, "invalid"),
        (&["brief", "show", "18446744073709551615"], 3, "not_found"),
        (&["brief", "diff", "1", "2"], 3, "not_found"),
        (&["brief", "refine", "1", "--spec", &plan, "--base", "7"], 4, "conflict"),
    ] {
        assert_eq!(flower.fails(args, code)["kind"], kind, "{args:?}");
    }
    // The parser's own errors say in JSON what they say in text.
    let missing = flower.fails(&["brief", "status", "1"], 2);
    assert!(missing["message"].as_str().is_some_and(|m| m.contains("<STATUS>")), "{missing}");
    let unknown = flower.fails(&["brief", "status", "1", "planed"], 2);
    assert!(unknown["message"].as_str().is_some_and(|m| m.contains("did you mean `planned`?")), "{unknown}");
    let similar = flower.fails(&["brief", "shwo", "1"], 2);
    assert!(similar["hints"].to_string().contains("show"), "{similar}");
}

#[test]
fn an_error_in_text_has_its_reason_and_a_hint_on_standard_error() {
    let flower = with_briefs(&["one"]);
    let output = flower.run(&["brief", "status", "1", "done"]);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    assert!(output.stderr.starts_with("error: brief 1 is `draft`"), "{output:?}");
    assert!(output.stderr.contains("\n  hint: `flower brief plan 1 --spec FILE`"), "{output:?}");
}

/// One call of each command that a person looks at.
const LOOKS: &[&[&str]] = &[
    &["brief"],
    &["brief", "show", "1"],
    &["brief", "trace", "1"],
    &["brief", "diff", "1"],
    &["brief", "note", "1", "x"],
    &["status"],
    &["queue"],
    &["queue", "--all"],
    &["queue", "show", "1"],
    &["main"],
    &["main", "log"],
    &["main", "verify"],
    &["diff", "one"],
    &["inbox"],
    &["search", "mode"],
    &["scratchpad"],
    &["token"],
    &["project"],
    &["trace"],
    &["up"],
    &["log", "verify"],
    &["brief", "show", "99"],
    &["nonsense"],
    &["--help"],
    &["brief", "new", "--help"],
];

fn with_everything() -> Flower {
    let flower = with_briefs(&["Dark mode"]);
    let plan = flower.file("plan.md", "# Plan\n- a mode\n");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    flower.ok(&["brief", "ask", "1", "Which?"]);
    flower.ok(&["scratchpad", "new", "pad"]);
    flower.ok(&["token", "new", "--agent", "rose"]);
    flower.ok(&["worktree", "new", "one"]);
    let commit = ["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "x"];
    flower.ok(&[&["worktree", "shell", "one", "--", "git"], &commit[..], &["--allow-empty"]].concat());
    flower.ok(&["freeze"]);
    flower.ok(&["land", "one"]);
    fs::write(flower.repo.join("README.md"), "by hand\n").unwrap();
    flower
}

/// Runs it in a terminal of its own and gives what that shows.
fn in_terminal(flower: &Flower, args: &[&str], environment: &[(&str, &str)]) -> String {
    let command = flower.command(&[]);
    let line = format!("{} {}", command.get_program().to_str().unwrap(), args.join(" "));
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(&flower.repo);
    terminal.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.env("TERM", "xterm").envs(environment.iter().copied()).stdin(Stdio::null());
    finish(terminal).stdout
}

#[test]
fn without_a_terminal_there_are_no_escape_codes() {
    let flower = with_everything();
    for args in LOOKS {
        let mut command = flower.command(args);
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
        let output = finish(command);
        let said = format!("{}{}", output.stdout, output.stderr);
        assert!(!said.is_empty() && !said.contains('\u{1b}'), "{args:?}: {said:?}");
    }
    // `--watch` stays; its first page is enough.
    let mut watching = flower.command(&["status", "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut page = [0; 16];
    std::io::Read::read_exact(watching.stdout.as_mut().unwrap(), &mut page).unwrap();
    let _ = watching.kill();
    let _ = watching.wait();
    assert!(!page.contains(&0x1b), "{:?}", String::from_utf8_lossy(&page));
}

#[test]
fn in_a_terminal_there_are_colours_unless_they_are_declined() {
    let flower = with_everything();
    assert!(in_terminal(&flower, &["brief"], &[]).contains('\u{1b}'), "this test would see colours");
    for args in LOOKS.iter().filter(|args| !matches!(args, [.., "--help"] | ["nonsense"])) {
        for (args, environment) in [
            (args.to_vec(), &[("NO_COLOR", "1")][..]),
            ([args, &["--no-color"][..]].concat(), &[]),
            ([args, &["--json"][..]].concat(), &[]),
        ] {
            let said = in_terminal(&flower, &args, environment);
            assert!(!said.is_empty() && !said.contains('\u{1b}'), "{args:?} {environment:?}: {said:?}");
        }
    }
}

#[test]
fn text_of_others_does_nothing_to_the_terminal() {
    let flower = with_briefs(&["one"]);
    // The rules refuse such a text; an older log may hold one.
    flower.ok(&["down"]);
    let database = rusqlite::Connection::open(flower.home.join("flower.db")).unwrap();
    database
        .execute("UPDATE briefs SET state = replace(state, '\"one\"', '\"\\u001b]52;c;eHg=\\u0007\"')", [])
        .unwrap();
    drop(database);
    assert_eq!(flower.json(&["brief", "show", "1"])["title"], "\u{1b}]52;c;eHg=\u{7}");
    for args in [&["brief"][..], &["brief", "show", "1"]] {
        let said = flower.ok(args);
        assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{args:?}: {said:?}");
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    let flower = Flower::new();
    for (shell, sign) in [("bash", "complete -F"), ("zsh", "#compdef flower"), ("fish", "complete -c flower")] {
        let script = flower.ok(&["completions", shell]);
        assert!(script.contains(sign) && script.contains("scratchpad") && script.contains("no-color"), "{shell}");
    }
    let mut bash = Command::new("bash").args(["-n", "-"]).stdin(Stdio::piped()).spawn().expect("bash");
    bash.stdin.take().unwrap().write_all(flower.ok(&["completions", "bash"]).as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success(), "bash does not read it");
    assert_eq!(flower.fails(&["completions", "cmd.exe"], 2)["kind"], "usage");
    assert!(!flower.home.exists(), "completions need no daemon");
}

#[test]
fn help_and_version_are_answers() {
    let flower = Flower::new();
    assert_eq!(flower.ok(&["--version"]), format!("flower {}\n", flower_contract::VERSION));
    let help = flower.ok(&["--help"]);
    for word in ["up", "brief", "inbox", "trace", "search", "--json", "--project", "--no-color"] {
        assert!(help.contains(word), "{word}");
    }
    assert!(flower.ok(&["brief", "refine", "--help"]).contains("--base <VERSION>"));
    assert!(flower.ok(&["help", "brief", "new"]).contains("--needs <N>"));
    assert!(!flower.home.exists(), "help needs no daemon");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let flower = with_briefs(&["one"]);
    for args in [&["log", "export"][..], &["--help"]] {
        let mut child = flower.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = crate::common::Output::from(child.wait_with_output().unwrap());
        assert!(!output.stderr.contains("panicked"), "{output:?}");
        assert_eq!(output.code, 0, "{output:?}");
    }
}
