//! Landing on the command line: what each command gives, and how it ends.

use super::assert_has;
use crate::common::{Flower, Output, eventually, finish};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const LANDING: &[&str] = &["id", "worktree", "briefs", "commit", "merge_commit", "state", "reason", "checks", "batch"];
const MAIN: &[&str] = &["project", "branch", "tip", "recorded_tip", "state", "protection", "served", "since"];
const STATES: &[&str] = &["queued", "checking", "approval", "landed", "rejected", "rolled_back", "cancelled"];

/// A served repository with a check that is red once there is a file called `broken`.
fn served() -> Flower {
    let flower = Flower::new();
    name_author(&flower, &flower.repo);
    fs::write(flower.repo.join("flower.toml"), "[checks]\ntest = { run = \"sh check.sh\" }\n").unwrap();
    fs::write(flower.repo.join("check.sh"), "echo looking\ntest ! -e broken\n").unwrap();
    by_hand(&flower, "settings");
    flower.start();
    flower.ok(&["project", "approve", "--yes"]);
    flower
}

pub(super) fn name_author(flower: &Flower, repo: &Path) {
    flower.git(repo, &["config", "user.name", "Tester"]);
    flower.git(repo, &["config", "user.email", "tester@example.com"]);
}

/// A commit in MAIN that no landing brings.
fn by_hand(flower: &Flower, message: &str) {
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", message]);
}

/// A new worktree in which a file is committed.
fn worktree(flower: &Flower, name: &str, file: &str, text: &str) {
    flower.ok(&["worktree", "new", name]);
    commit(flower, name, file, text);
}

fn commit(flower: &Flower, name: &str, file: &str, text: &str) {
    let script = format!("printf '{text}' > {file} && git add . && git commit --quiet --message 'Add {file}'");
    flower.ok(&["worktree", "shell", name, "--", "sh", "-c", &script]);
}

/// Both documents of a command that answers and then fails: the one on standard output, and the error.
fn both(output: &Output, code: i32) -> (Value, Value) {
    let document = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let alone = Output { code: output.code, stdout: String::new(), stderr: output.stderr.clone() };
    (document, alone.error(code))
}

fn says(value: &Value, part: &str) {
    assert!(value.as_str().is_some_and(|text| text.contains(part)), "`{part}` is not in {value}");
}

fn state(flower: &Flower, landing: &str) -> String {
    let landing = flower.json(&["queue", "show", landing]);
    let state = landing["state"].as_str().unwrap().to_owned();
    assert!(STATES.contains(&state.as_str()), "{landing}");
    state
}

fn waiting(flower: &Flower, args: &[&str]) -> Child {
    flower.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("flower runs")
}

fn ended(child: Child) -> Output {
    child.wait_with_output().expect("flower ends").into()
}

/// What the terminal has shown so far.
fn typescript(flower: &Flower) -> PathBuf {
    flower.dir().join("typescript")
}

/// In a terminal of its own, with something typed into it.
pub(super) fn typed(flower: &Flower, dir: &Path, args: &[&str], environment: &[(&str, &str)], text: &str) -> Output {
    let command = flower.command(&[]);
    let line = format!("{} {}", command.get_program().to_str().unwrap(), args.join(" "));
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--flush", "--return", "--command", &line]).arg(typescript(flower)).current_dir(dir);
    terminal.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    terminal.env("TERM", "xterm").envs(environment.iter().copied());
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    ended(child)
}

#[test]
fn a_worktree_lands_is_found_again_and_is_taken_back() {
    let flower = served();
    flower.ok(&["brief", "new", "Dark mode"]);
    flower.ok(&["worktree", "new", "dark", "--brief", "1"]);
    commit(&flower, "dark", "dark.css", "black\\n");
    let diff = flower.json(&["diff", "dark"]);
    assert_eq!(diff["worktree"], "dark");
    says(&diff["diff"], "+black");
    assert!(flower.ok(&["diff", "dark"]).contains("\n+black\n"));
    assert!(flower.ok(&["diff", "dark", "--stat"]).contains("dark.css | 1 +"));

    let landing = flower.json(&["land", "dark", "--wait"]);
    assert_has(&landing, LANDING);
    assert_has(&landing["checks"][0], &["name", "ok", "seconds", "log"]);
    assert_eq!(
        (&landing["id"], &landing["worktree"], &landing["briefs"], &landing["state"], &landing["title"]),
        (&json!(1), &json!("dark"), &json!([1]), &json!("landed"), &json!("Dark mode"))
    );
    assert_eq!((&landing["checks"][0]["name"], &landing["checks"][0]["ok"]), (&json!("test"), &json!(true)));
    assert_eq!(landing["checks"][0]["log"], "looking\n");
    assert_eq!(fs::read_to_string(flower.repo.join("dark.css")).unwrap(), "black\n");
    assert_eq!(flower.json(&["brief", "show", "1"])["status"], "landed");

    assert_eq!(flower.json(&["queue"]), json!([]));
    assert!(flower.ok(&["queue"]).contains("flower land WORKTREE"), "an empty queue says what to do");
    let all = flower.json(&["queue", "--all", "--limit", "5"]);
    assert_eq!((all.as_array().map(Vec::len), &all[0]["id"]), (Some(1), &json!(1)));
    assert!(
        flower.ok(&["queue", "--all"]).starts_with("L  STATE   TITLE      WORKTREE  BRIEFS  WHY\n1  landed  Dark mode")
    );
    assert_eq!(flower.json(&["queue", "show", "1"])["merge_commit"], landing["merge_commit"]);
    assert!(flower.ok(&["queue", "show", "1"]).contains("flower revert 1"));
    assert_eq!(flower.ok(&["queue", "log", "1"]), "looking\n");
    assert_eq!(flower.ok(&["queue", "log", "1", "test", "--follow"]), "looking\n");
    assert_eq!(flower.json(&["queue", "log", "1"]), json!({ "landing": 1, "check": "test", "log": "looking\n" }));

    let main = flower.json(&["main"]);
    assert_has(&main, MAIN);
    assert_eq!((&main["state"], &main["tip"]), (&json!("stable"), &landing["merge_commit"]));
    assert_eq!(main["tip"], main["recorded_tip"]);
    assert!(flower.ok(&["main"]).starts_with("MAIN of repo  stable\n"));
    let history = flower.json(&["main", "log"]);
    assert_eq!((&history[0]["landing"], &history[0]["briefs"]), (&json!(1), &json!([1])));
    assert_eq!(history[1]["landing"], json!(null));
    assert_eq!(flower.json(&["main", "log", "--limit", "1"]).as_array().map(Vec::len), Some(1));
    let page = flower.ok(&["main", "log"]);
    assert!(page.contains("#1\n") && page.contains("  –  ") && page.contains("not from a landing"), "{page}");
    let proof = flower.json(&["main", "verify"]);
    assert_has(&proof, MAIN);
    assert_eq!((&proof["ok"], &proof["landings"], &proof["problems"]), (&json!(true), &json!(1), &json!([])));

    let reverted = flower.json(&["revert", "1", "--why", "too dark", "--wait"]);
    assert_has(&reverted, LANDING);
    assert_eq!((&reverted["state"], &reverted["reverts"]), (&json!("landed"), &json!(1)));
    assert!(!flower.repo.join("dark.css").exists());
    assert_eq!(state(&flower, "1"), "rolled_back");
    assert!(flower.ok(&["main", "log"]).contains("1 rolled back"));
    says(&flower.fails(&["revert", "1", "--why", "x"], 1)["message"], "rolled back");
}

#[test]
fn a_landing_that_fails_gives_its_reason_and_exit_code() {
    let flower = served();
    worktree(&flower, "red", "broken", "x");
    let (landing, error) = both(&flower.run(&["land", "red", "--wait", "--json"]), 1);
    assert_has(&landing, LANDING);
    assert_eq!((&landing["state"], &error["kind"]), (&json!("rejected"), &json!("refused")));
    says(&error["message"], "landing 1 was rejected: the check `test` failed");
    says(&error["hints"][0], "`flower queue log 1 test`");
    let told = flower.run(&["land", "red", "--wait"]);
    assert_eq!(told.code, 1, "the same commit once more: {told:?}");
    assert!(told.stdout.contains("✗ test"), "{told:?}");
    let order = ["landing 2: ", "error: landing 2 was rejected", "  hint: "].map(|part| told.stderr.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "progress, then the error: {told:?}");
    assert!(flower.ok(&["queue", "show", "2"]).contains("the end of the output of `test`:\n  looking\n"));

    for name in ["left", "right"] {
        worktree(&flower, name, "same.txt", name);
    }
    flower.ok(&["land", "left", "--wait", "--title", "The left one"]);
    let (landing, error) = both(&flower.run(&["land", "right", "--wait", "--json"]), 4);
    assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!(["same.txt"])));
    assert_eq!(error["kind"], "conflict");
    says(&error["message"], "The left one");
    says(&error["hints"][0], "`flower worktree sync right`");
}

#[test]
fn a_landing_that_needs_approval_waits_in_the_inbox() {
    let flower = served();
    flower.ok(&["brief", "new", "Quicker checks"]);
    worktree(&flower, "toml", "flower.toml", "[checks]\\ntest = { run = \"true\" }\\n");
    let (landing, error) = both(&flower.run(&["land", "toml", "--brief", "1", "--wait", "--json"]), 1);
    assert_eq!((&landing["state"], &landing["briefs"]), (&json!("approval"), &json!([1])));
    says(&error["message"], "it waits for the operator");
    says(&error["hints"][0], "`flower queue approve 1`");
    let item = &flower.json(&["inbox"])[0];
    assert_eq!(
        (&item["kind"], &item["landing"], &item["brief"], &item["next"]),
        (&json!("approval"), &json!(1), &json!(1), &json!("flower queue approve 1"))
    );
    assert!(flower.ok(&["inbox"]).starts_with("approval landing 1: Quicker checks  "));
    assert!(flower.ok(&["status"]).contains("1 waiting, next: landing 1 (Quicker checks), it waits for the operator"));
    assert_has(&flower.json(&["queue", "approve", "1"]), LANDING);
    eventually("it lands", || (state(&flower, "1") == "landed").then_some(()));
    assert_eq!(flower.json(&["inbox"]), json!([]));
    assert_eq!(flower.fails(&["queue", "approve", "1"], 1)["kind"], "refused");
}

#[test]
fn a_frozen_queue_holds_everything_until_it_thaws() {
    let flower = served();
    worktree(&flower, "one", "one.txt", "1");
    worktree(&flower, "two", "two.txt", "2");
    let frozen = flower.json(&["freeze", "demo at noon"]);
    assert_has(&frozen, MAIN);
    assert_eq!((&frozen["state"], &frozen["reason"]), (&json!("frozen"), &json!("demo at noon")));
    assert!(flower.ok(&["main"]).contains("`flower thaw`"));
    let queued = flower.json(&["land", "one"]);
    assert_eq!(queued["state"], "queued");
    says(&queued["reason"], "demo at noon");
    assert!(flower.ok(&["land", "two", "--priority", "high"]).contains("follow it: `flower queue show 2`"));
    let order: Vec<Value> = flower.json(&["queue"]).as_array().unwrap().iter().map(|l| l["id"].clone()).collect();
    assert_eq!(order, [2, 1], "by priority");
    assert_eq!(flower.json(&["queue", "--limit", "1"]).as_array().map(Vec::len), Some(1));
    assert!(flower.ok(&["queue"]).contains("the queue is frozen: demo at noon"));
    let status = flower.json(&["status"]);
    assert_eq!((&status["queue"], &status["main"]["state"]), (&json!(2), &json!("frozen")));
    assert_eq!(status["next_landing"]["id"], 2);
    assert!(flower.ok(&["status"]).starts_with("    MAIN  frozen, main at "));
    assert_eq!(flower.fails(&["queue", "log", "1"], 1)["kind"], "refused", "no check has run");

    // A waiting command is told; a cancellation has a reason.
    let waits = waiting(&flower, &["revert", "1", "--why", "x"]);
    assert_eq!(ended(waits).code, 1, "it has not landed");
    let cancelled = flower.json(&["queue", "cancel", "2", "not today"]);
    assert_eq!((&cancelled["state"], &cancelled["reason"]), (&json!("cancelled"), &json!("not today")));
    assert_eq!(flower.fails(&["queue", "cancel", "2"], 1)["kind"], "refused");
    assert_eq!(flower.json(&["thaw"])["state"], "stable");
    eventually("it lands", || (state(&flower, "1") == "landed").then_some(()));

    assert_eq!(flower.json(&["halt", "smoke"]), json!({ "halted": ["repo"], "why": "smoke" }));
    assert_eq!(flower.json(&["main"])["reason"], "smoke");
    assert!(flower.ok(&["halt"]).contains("resume all of them: `flower thaw`"));
}

#[test]
fn waiting_outlives_the_daemon_and_sees_a_cancellation() {
    let flower = served();
    worktree(&flower, "one", "one.txt", "1");
    flower.ok(&["freeze"]);
    let waits = waiting(&flower, &["land", "one", "--wait", "--json"]);
    eventually("it is queued", || (flower.json(&["queue"]) != json!([])).then_some(()));
    flower.restart();
    flower.ok(&["thaw"]);
    let output = ended(waits);
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert_eq!(serde_json::from_str::<Value>(&output.stdout).unwrap()["state"], "landed");

    flower.ok(&["freeze"]);
    worktree(&flower, "two", "two.txt", "2");
    let waits = waiting(&flower, &["land", "two", "--wait", "--json"]);
    eventually("it is queued", || (flower.json(&["queue"]) != json!([])).then_some(()));
    flower.ok(&["queue", "cancel", "2", "changed my mind"]);
    let (landing, error) = both(&ended(waits), 1);
    assert_eq!(landing["state"], "cancelled");
    says(&error["message"], "changed my mind");
    says(&error["hints"][0], "flower land two --wait");
}

#[test]
fn mistakes_are_told_apart() {
    let flower = served();
    worktree(&flower, "one", "one.txt", "1");
    for args in [
        &["queue", "show", "7"][..],
        &["queue", "log", "7"],
        &["queue", "cancel", "7"],
        &["queue", "approve", "7"],
        &["revert", "7", "--why", "x"],
        &["land", "nowhere"],
        &["diff", "nowhere"],
        &["land", "one", "--brief", "7"],
        &["main", "--project", "nowhere"],
    ] {
        assert_eq!(flower.fails(args, 3)["kind"], "not_found", "{args:?}");
    }
    let error = flower.fails(&["land", "one", "--priority", "hihg"], 2);
    assert_eq!(error["kind"], "usage");
    says(&error["message"], "did you mean `high`?");
    says(&flower.fails(&["revert", "1"], 2)["hints"][0], "flower revert 1 --why TEXT");
    for args in [&["queue", "--limit", "0"][..], &["queue", "show", "x"], &["land", ""], &["land"], &["main", "sing"]] {
        assert_eq!(flower.fails(args, 2)["kind"], "usage", "{args:?}");
    }
    assert_eq!(flower.fails(&["land", "one", "--title", "a\u{7}b"], 2)["kind"], "invalid");
    flower.ok(&["land", "one", "--wait"]);
    flower.ok(&["worktree", "new", "empty"]);
    says(&flower.fails(&["land", "empty"], 1)["message"], "nothing that is not in MAIN");
    assert_eq!(flower.fails(&["queue", "log", "1", "lint"], 3)["kind"], "not_found");
    for verb in ["rescue", "adopt", "pull", "push"] {
        assert_eq!(flower.fails(&["main", verb], 1)["kind"], "refused", "{verb}");
    }
    // An agent neither lets anything in nor touches MAIN.
    let token = flower.ok(&["token", "new", "--agent", "rose"]);
    for args in [&["queue", "approve", "1"][..], &["thaw"], &["main", "restore"], &["main", "rescue"], &["halt"]] {
        let mut agent = flower.command(args);
        agent.arg("--json").env("FLOWER_TOKEN", token.trim());
        assert_eq!(finish(agent).error(1)["kind"], "forbidden", "{args:?}");
    }
}

#[test]
fn a_change_of_main_by_hand_raises_an_alarm_with_three_ways_out() {
    let flower = served();
    fs::write(flower.repo.join("README.md"), "edited\n").unwrap();
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]["files"]), (&json!("dirty"), &json!(["README.md"])));
    let page = flower.ok(&["main"]);
    assert!(page.starts_with("MAIN of repo  dirty\n") && page.contains("`flower main rescue`"), "{page}");
    let item = &flower.json(&["inbox"])[0];
    assert_eq!((&item["kind"], &item["brief"]), (&json!("alarm"), &json!(null)));
    says(&item["next"], "flower main");
    assert!(flower.ok(&["inbox"]).contains("alarm MAIN of repo"));
    assert!(flower.ok(&["status"]).contains("dirty, main at "));
    let (proof, error) = both(&flower.run(&["main", "verify", "--json"]), 1);
    assert_eq!(proof["ok"], false);
    says(&error["message"], "README.md");

    let rescued = flower.json(&["main", "rescue", "--as", "kept"]);
    assert_has(&rescued, MAIN);
    assert_eq!((&rescued["state"], &rescued["worktree"]["name"]), (&json!("stable"), &json!("kept")));
    assert_eq!(rescued["files"], json!(["README.md"]));
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "hello\n");
    assert_eq!(flower.json(&["inbox"]), json!([]));
    assert_eq!(flower.json(&["land", "kept", "--wait"])["state"], "landed");

    fs::write(flower.repo.join("hand.txt"), "by hand\n").unwrap();
    by_hand(&flower, "by hand");
    let page = flower.ok(&["main"]);
    assert!(page.contains("moved\n") && page.contains("recorded"), "{page}");
    let adopted = flower.json(&["main", "adopt", "--wait"]);
    assert_has(&adopted, MAIN);
    assert_has(&adopted["landing"], LANDING);
    assert_eq!((&adopted["state"], &adopted["landing"]["state"]), (&json!("stable"), &json!("landed")));

    fs::write(flower.repo.join("hand.txt"), "again\n").unwrap();
    by_hand(&flower, "again");
    let restored = flower.json(&["main", "restore"]);
    assert_has(&restored, MAIN);
    assert_eq!(restored["state"], "stable");
    assert_eq!(fs::read_to_string(flower.repo.join("hand.txt")).unwrap(), "by hand\n");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn the_remote_is_pulled_through_the_queue_and_pushed_to() {
    let flower = served();
    let remote = flower.dir().join("remote.git");
    flower.git(flower.dir(), &["clone", "--quiet", "--bare", "repo", "remote.git"]);
    flower.git(&flower.repo, &["remote", "add", "origin", remote.to_str().unwrap()]);
    let nothing = flower.json(&["main", "pull"]);
    assert_has(&nothing, MAIN);
    assert_eq!(nothing["landing"], json!(null));
    flower.git(flower.dir(), &["clone", "--quiet", "remote.git", "elsewhere"]);
    let elsewhere = flower.dir().join("elsewhere");
    name_author(&flower, &elsewhere);
    fs::write(elsewhere.join("theirs.txt"), "theirs\n").unwrap();
    flower.git(&elsewhere, &["add", "."]);
    flower.git(&elsewhere, &["commit", "--quiet", "--message", "theirs"]);
    flower.git(&elsewhere, &["push", "--quiet", "origin", "main"]);
    let pulled = flower.json(&["main", "pull", "--wait"]);
    assert_eq!((&pulled["remote"], &pulled["landing"]["state"]), (&json!("origin"), &json!("landed")));
    assert!(flower.repo.join("theirs.txt").exists());
    assert!(flower.ok(&["main", "pull"]).contains("MAIN has all commits of origin"));
    worktree(&flower, "ours", "ours.txt", "ours");
    flower.ok(&["land", "ours", "--wait"]);
    let pushed = flower.json(&["main", "push"]);
    assert_has(&pushed, MAIN);
    assert_eq!((&pushed["push"]["commit"], &pushed["push"]["failure"]), (&pushed["tip"], &json!(null)));
    flower.git(&elsewhere, &["pull", "--quiet"]);
    assert!(elsewhere.join("ours.txt").exists());
}

#[test]
fn a_diff_is_coloured_for_a_person_only() {
    let flower = served();
    worktree(&flower, "one", "one.txt", "1\\n");
    let dir = &flower.repo;
    let shown = typed(&flower, dir, &["diff", "one"], &[], "").stdout;
    assert!(shown.contains("\u{1b}[32m+1\u{1b}[0m"), "{shown:?}");
    for plain in [
        typed(&flower, dir, &["diff", "one", "--no-color"], &[], "").stdout,
        typed(&flower, dir, &["diff", "one"], &[("NO_COLOR", "1")], "").stdout,
        flower.ok(&["diff", "one"]),
    ] {
        assert!(plain.contains("+1") && !plain.contains('\u{1b}'), "{plain:?}");
    }
    // What is printed can be applied.
    fs::write(flower.dir().join("one.diff"), flower.ok(&["diff", "one"])).unwrap();
    flower.git(dir, &["apply", "--check", "../one.diff"]);
}

/// The folder below `dir` in which the checks of a landing run.
fn candidate(dir: &Path) -> Option<PathBuf> {
    let entries: Vec<PathBuf> = fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).collect();
    if entries.iter().any(|path| path.ends_with("check.sh")) {
        return Some(dir.to_owned());
    }
    entries.iter().filter(|path| path.is_dir() && !path.is_symlink()).find_map(|path| candidate(path))
}

#[test]
fn a_check_is_followed_while_it_runs() {
    let flower = served();
    let script = "echo begun\\nuntil test -e go; do sleep 0.05; done\\necho done\\n";
    worktree(&flower, "slow", "check.sh", script);
    let begun = |landing: &str| {
        eventually("its check is running", || {
            let shown = flower.run(&["queue", "show", landing, "--json"]);
            let running = serde_json::from_str::<Value>(&shown.stdout).is_ok_and(|l| l["running"]["name"] == "test");
            (running && flower.run(&["queue", "log", landing]).stdout == "begun\n").then_some(())
        });
    };
    let go = || fs::write(candidate(&flower.home.join("candidates")).expect("a candidate").join("go"), "").unwrap();
    flower.ok(&["land", "slow"]);
    begun("1");
    assert!(flower.ok(&["queue", "show", "1"]).contains("`flower queue log 1 --follow`"));
    assert!(flower.ok(&["status"]).contains("1 waiting, next: landing 1 (Add check.sh), being checked"));
    let follows = waiting(&flower, &["queue", "log", "1", "--follow"]);
    go();
    let output = ended(follows);
    assert_eq!((output.code, output.stdout.as_str()), (0, "begun\ndone\n"), "{output:?}");
    assert_eq!(state(&flower, "1"), "landed");

    // A command that waits in a terminal shows it too.
    worktree(&flower, "next", "next.txt", "1");
    let shown = std::thread::scope(|scope| {
        scope.spawn(|| {
            begun("2");
            eventually("it is shown", || fs::read_to_string(typescript(&flower)).ok()?.contains("begun").then_some(()));
            go();
        });
        typed(&flower, &flower.repo, &["land", "next", "--wait", "--no-color"], &[], "")
    });
    assert_eq!(shown.code, 0, "{shown:?}");
    let parts = ["landing 2: check `test` is running\r\n", "begun\r\n", "done\r\n", "✓ test", "landing 2: landed\r\n"];
    let order = parts.map(|part| shown.stdout.find(part));
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?} {shown:?}");
}
