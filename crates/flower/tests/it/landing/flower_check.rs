//! `flower check`: what the queue would run, without landing. And what checks may name: paths, preparations, reuse.

use super::*;
use crate::common::finish;
use std::thread;

/// What `flower check` answers; the exit code says the same.
fn checked(flower: &Flower, name: &str, more: &[&str]) -> Value {
    let output = flower.run(&[&["check", name, "--json"], more].concat());
    let run: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let expected = match (&run["ok"], &run["merge"]["ok"]) {
        (Value::Bool(true), _) => 0,
        (_, Value::Bool(false)) => 4,
        _ => 1,
    };
    assert_eq!(output.code, expected, "{output:?}");
    run
}

/// Name and outcome of each check of a landing or a run.
fn outcomes(of: &Value) -> Vec<String> {
    let words = |check: &Value| {
        let how = match (&check["ok"], &check["skipped"], &check["reused"]) {
            (_, Value::Bool(true), _) => "skipped".to_owned(),
            (_, _, Value::String(origin)) => format!("reused {origin}"),
            (Value::Bool(true), ..) => "passed".to_owned(),
            _ => "failed".to_owned(),
        };
        format!("{}: {how}", check["name"].as_str().expect("a name"))
    };
    of["checks"].as_array().expect("checks").iter().map(words).collect()
}

/// No candidate is left on disk. What was prepared for a tree that has not landed stays for a while.
fn no_candidate_is_left(flower: &Flower) {
    let names = |dir: &Path| -> Vec<String> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    eventually("no candidate is left", || {
        let left = names(&flower.home.join("candidates/repo"));
        left.iter().all(|name| name.starts_with("prepared-")).then_some(())
    });
}

#[test]
fn it_checks_the_merge_with_main_and_its_green_result_counts_for_the_landing() {
    as_each_user_unserved(|flower| {
        serve(flower, &[("flower.toml", &check("ls; test ! -e a -o ! -e b"))]);
        new(flower, "one", &[]);
        change(flower, "one", "a", "a\n");
        let before = main_now(flower);
        let green = checked(flower, "one", &[]);
        assert_eq!(
            (&green["state"], outcomes(&green)),
            (&json!("passed"), vec!["test: passed".to_owned()]),
            "{green:#}"
        );
        assert_eq!((&green["merge"]["ok"], &green["merge"]["changed"]), (&json!(true), &json!(["a"])), "{green:#}");
        says(&green["checks"][0]["log"], "README.md");
        assert_main_is(flower, &before, "nothing lands");
        assert_eq!(flower.json(&["queue", "--all"]), json!([]), "nothing is queued");
        // From inside its directory it needs no name.
        let here = flower.json_in(&tree(flower, "one"), &["check"]);
        assert_eq!(outcomes(&here), ["test: reused when `one` was checked"], "{here:#}");
        let landed = lands(flower, "one");
        assert_eq!(outcomes(&landed), ["test: reused when `one` was checked"], "{landed:#}");
        let log = flower.ok(&["queue", "log", "1", "test"]);
        assert!(log.starts_with("passed before, when `one` was checked; reused"), "{log}");
        // Each is green alone, and their merge is not. A red result runs again.
        new(flower, "two", &["--from", "HEAD~1"]);
        change(flower, "two", "b", "b\n");
        for _ in 0..2 {
            let red = checked(flower, "two", &[]);
            assert_eq!(outcomes(&red), ["test: failed"], "{red:#}");
            says(&red["reason"], "the check `test` failed (1), on the merge with MAIN");
        }
        no_candidate_is_left(flower);
    });
}

#[test]
fn a_conflict_names_its_paths_and_ends_with_code_4() {
    let flower = serving(&[GREEN, ("a", "a\n")]);
    change(&flower, "one", "a", "one\n");
    change(&flower, "two", "a", "two\n");
    let both = checked(&flower, "one", &[]);
    assert_eq!(both["others"], json!([{ "worktree": "two", "reserved_by": null, "paths": ["a"] }]), "{both:#}");
    lands(&flower, "two");
    let conflict = checked(&flower, "one", &[]);
    assert_eq!((&conflict["merge"]["ok"], &conflict["merge"]["paths"]), (&json!(false), &json!(["a"])), "{conflict:#}");
    assert_eq!((&conflict["checks"], &conflict["state"]), (&json!([]), &json!("failed")), "{conflict:#}");
    let text = flower.run(&["check", "one"]);
    assert!(text.code == 4 && text.stderr.contains("`flower worktree sync one`"), "{text:?}");
}

#[test]
fn one_check_can_run_alone_and_an_unknown_one_is_named() {
    let text = "[checks]\nbroken = { run = \"false\" }\ntest = { run = \"echo it ran\" }\n";
    let flower = serving(&[("flower.toml", text)]);
    change(&flower, "one", "x", "x\n");
    put(&flower, &tree(&flower, "one").join("y"), "y\n");
    let alone = checked(&flower, "one", &["--check", "test"]);
    assert_eq!(outcomes(&alone), ["test: passed"], "{alone:#}");
    says(&alone["notes"], "1 file is changed and not committed");
    let unknown = flower.fails(&["check", "one", "--check", "lint"], 3);
    says(&unknown["hints"], "flower.toml has: `broken`, `test`");
    // The output of a red one is printed once, and so is the reason.
    for args in [&["check", "one"][..], &["land", "one", "--wait"]] {
        let output = flower.run(args);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(text.matches("the check `broken` failed (1)").count(), 1, "{text}");
    }
}

#[test]
fn a_red_check_prints_its_reason_and_its_last_lines_once() {
    let run = "seq 100; echo it is broken; exit 3";
    let flower = serving(&[("flower.toml", &format!("{}[land]\nretries = 0\n", check(run)))]);
    change(&flower, "one", "x", "x\n");
    for args in [&["check", "one"][..], &["land", "one", "--wait"]] {
        let output = flower.run(args);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code, 1, "{text}");
        assert_eq!(text.matches("it is broken").count(), 1, "{text}");
        assert_eq!(text.matches("failed (3)").count(), 1, "{text}");
        assert!(
            text.contains(" 99\n") && !text.contains(" 80\n") && !text.contains("its checks are running"),
            "{text}"
        );
    }
}

#[test]
fn a_run_ends_when_its_worktree_moves_or_it_is_cancelled() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &check(&format!("echo begun; sleep {mark}")))]);
    change(&flower, "one", "x", "x\n");
    let begun = || {
        eventually("it runs", || {
            let run = flower.api("GET", "/api/worktrees/one/check?project=repo").send();
            (run.status == 200 && run.json()["running"]["name"] == "test" && !running(mark).is_empty()).then_some(())
        });
    };
    let waits = || {
        let command = flower.command(&["check", "one"]);
        thread::spawn(move || finish(command))
    };
    let moved = waits();
    begun();
    // The same commit joins the run, instead of a second one.
    let joined = flower.api("POST", "/api/worktrees/one/check?project=repo").json(&json!({})).send().json();
    assert_eq!(joined["state"], "running", "{joined}");
    change(&flower, "one", "x", "y\n");
    let output = moved.join().unwrap();
    assert!(output.code == 1 && output.stderr.contains("the worktree has a newer commit"), "{output:?}");
    assert_ended(mark);
    let cancelled = waits();
    begun();
    assert_eq!(flower.api("DELETE", "/api/worktrees/one/check?project=repo").send().json()["state"], "cancelled");
    let output = cancelled.join().unwrap();
    assert!(output.code == 1 && output.stderr.contains("it was cancelled"), "{output:?}");
    assert_ended(mark);
    no_candidate_is_left(&flower);
    // A killed daemon leaves nothing behind, and the next one, which the client starts, has forgotten the run.
    let lost = waits();
    begun();
    let pid = rustix::process::Pid::from_raw(flower.pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let output = lost.join().unwrap();
    assert!(output.code == 1 && output.stderr.contains("the daemon has ended during the checks"), "{output:?}");
    assert!(output.stderr.contains("run them again"), "{output:?}");
    assert_ended(mark);
    no_candidate_is_left(&flower);
    flower.wait_for_pass("merge_queue");
    assert!(!flower.home.join("checks").exists(), "its logs are gone");
    assert_eq!(flower.api("GET", "/api/worktrees/one/check?project=repo").send().status, 404);
}

/// Checks `one`, and lands `two` while the first check runs. Gives the exit code and the run.
fn checked_while_two_lands(flower: &Flower, mark: u64) -> (i32, Value) {
    let command = flower.command(&["check", "one", "--json"]);
    let waits = thread::spawn(move || finish(command));
    eventually("it runs", || (!running(mark).is_empty()).then_some(()));
    lands(flower, "two");
    let output = waits.join().unwrap();
    let run: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.code, run)
}

#[test]
fn a_landing_that_is_ready_goes_first_and_the_run_starts_over_on_its_merge() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &check(&format!("ls; test -e two || sleep {mark}")))]);
    change(&flower, "one", "x", "x\n");
    change(&flower, "two", "two", "x\n");
    let (code, run) = checked_while_two_lands(&flower, mark);
    assert_eq!((code, outcomes(&run)), (0, vec!["test: passed".to_owned()]), "{run:#}");
    says(&run["checks"][0]["log"], "two");
    assert_eq!(run["merge"]["onto"], tip(&flower), "{run:#}");
    assert_ended(mark);
}

#[test]
fn a_run_that_a_landing_refuses_still_names_what_is_not_committed_and_others() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &check(&format!("test -e two || sleep {mark}")))]);
    change(&flower, "one", "README.md", "one\n");
    put(&flower, &tree(&flower, "one").join("later"), "not committed\n");
    change(&flower, "two", "two", "x\n");
    change(&flower, "two", "README.md", "two\n");
    let (_, run) = checked_while_two_lands(&flower, mark);
    says(&run["reason"], "it does not merge with MAIN in README.md");
    says(&run["notes"], "1 file is changed and not committed");
    assert_eq!(run["others"][0]["worktree"], "two", "{run:#}");
    assert_ended(mark);
}

/// A folder beside the repository that checks can read, with a FIFO in it.
fn fifo(flower: &Flower) -> (String, std::path::PathBuf) {
    let outside = flower.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    let fifo = outside.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    (format!("[land]\nretries = 1\n[worktree]\nread = [{}]\n", json!(outside)), fifo)
}

#[test]
fn a_busy_queue_does_not_starve_a_check() {
    let flower = Flower::new();
    let (settings, fifo) = fifo(&flower);
    let run = format!("test $FLOWER_LANDING != 0 || read word < {}", fifo.display());
    serve(&flower, &[("flower.toml", &format!("{}{settings}", check(&run)))]);
    for name in ["one", "a", "b", "c", "d"] {
        change(&flower, name, name, "x\n");
    }
    let shown = || flower.api("GET", "/api/worktrees/one/check?project=repo").send().json();
    let runs = || eventually("it runs", || (shown()["running"]["name"] == "test").then_some(()));
    let command = flower.command(&["check", "one", "--json"]);
    let waits = thread::spawn(move || finish(command));
    eventually("it is known", || (shown()["state"] != Value::Null).then_some(()));
    for name in ["a", "b", "c"] {
        runs();
        lands(&flower, name);
    }
    runs();
    // It has let enough of them pass: the next landing waits for it.
    let queued = queue(&flower, "d", &[]);
    eventually("the landing is ready", || (landing(&flower, queued)["state"] == "checking").then_some(()));
    flower.wait_for_pass("main_watch");
    assert_eq!((&shown()["state"], &landing(&flower, queued)["state"]), (&json!("running"), &json!("checking")));
    fs::write(&fifo, "go\n").unwrap();
    let output = waits.join().unwrap();
    let run: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!((output.code, outcomes(&run)), (0, vec!["test: passed".to_owned()]), "{run:#}");
    becomes(&flower, queued, "landed");
}

#[test]
fn a_failed_check_runs_again_as_in_a_landing() {
    let flower = Flower::new();
    let (settings, fifo) = fifo(&flower);
    let run = format!("read word < {}; echo $word; test $word = green", fifo.display());
    serve(&flower, &[("flower.toml", &format!("{}{settings}", check(&run)))]);
    change(&flower, "one", "x", "x\n");
    for (words, code) in [(["red\n", "green\n"], 0), (["red\n", "crimson\n"], 1)] {
        let command = flower.command(&["check", "one", "--json"]);
        let waits = thread::spawn(move || finish(command));
        for (word, attempt) in words.into_iter().zip(1..) {
            let shown = || flower.api("GET", "/api/worktrees/one/check?project=repo").send().json();
            eventually("it reads", || (shown()["running"]["attempt"] == attempt).then_some(()));
            fs::write(&fifo, word).unwrap();
        }
        let output = waits.join().unwrap();
        let run: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        assert_eq!((output.code, &run["checks"][0]["log"]), (code, &json!(words[1])), "{run:#}");
        let is_said = run["notes"].to_string().contains("the check `test` failed, and passed when it ran again");
        assert_eq!(is_said, code == 0, "{run:#}");
    }
}

#[test]
fn a_changed_flower_toml_counts_once_its_commands_are_approved() {
    let main = "[checks]\nmain = { run = \"echo of main\" }\n";
    let own = "own = { run = \"echo of one; test -e mended\" }\n[land]\nretries = 0\n";
    let flower = serving(&[("flower.toml", main)]);
    change(&flower, "one", "flower.toml", format!("{main}{own}"));
    let main = checked(&flower, "one", &[]);
    assert_eq!(main["checks"][0]["log"], "of main\n", "{main:#}");
    let commands = json!(["check main: echo of main", "check own: echo of one; test -e mended"]);
    assert_eq!(main["not_approved"]["commands"], commands, "{main:#}");
    says(&main["notes"], "so MAIN's checks run");
    says(&main["held"], "it adds the check `own`");
    // Only the operator approves.
    let token = flower.ok(&["token", "new", "--agent", "mara", "--worktree", "one"]).trim().to_owned();
    let body = json!({ "approve": main["not_approved"]["sha256"] });
    let refused = flower.request("POST", "/api/worktrees/one/check?project=repo").token(&token).json(&body).send();
    assert_eq!(refused.status, 403, "{}", refused.text());
    let own = checked(&flower, "one", &["--approve"]);
    assert_eq!(outcomes(&own), ["main: reused when `one` was checked", "own: failed"], "{own:#}");
    says(&own["checks"][1]["log"], "of one");
    // What was approved with a landing stays approved although that landing was rejected: only what is new waits.
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    assert!(!held["held"].to_string().contains("commands_not_approved"), "{held:#}");
    flower.ok(&["queue", "approve", &number(&held).to_string()]);
    becomes(&flower, number(&held), "rejected");
    change(&flower, "one", "mended", "x\n");
    let landed = lands(&flower, "one");
    says(&landed["checks"][1]["log"], "of one");
}

#[test]
fn a_worker_checks_its_own_worktree_and_no_other() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    change(&flower, "two", "y", "y\n");
    let token = flower.ok(&["token", "new", "--agent", "mara", "--worktree", "one"]).trim().to_owned();
    let call = |method: &str, name: &str| {
        let request = flower.request(method, &format!("/api/worktrees/{name}/check?project=repo")).token(&token);
        if method == "POST" { request.json(&json!({})).send().status } else { request.send().status }
    };
    assert_eq!((call("POST", "one"), call("GET", "one"), call("DELETE", "one")), (200, 200, 200));
    checked(&flower, "two", &[]);
    assert_eq!((call("POST", "two"), call("GET", "two"), call("DELETE", "two")), (403, 403, 403));
}

#[test]
fn a_check_runs_only_if_one_of_its_paths_changes() {
    let text = "[checks]\nweb = { run = \"true\", paths = [\"web/**\", \"*.lock\"] }\nall = { run = \"true\" }\n";
    let flower = serving(&[("flower.toml", text)]);
    for (name, path, web) in
        [("api", "api/main", "web: skipped"), ("web", "web/a/page", "web: passed"), ("lock", "npm.lock", "web: passed")]
    {
        change(&flower, name, path, "x\n");
        let landed = lands(&flower, name);
        assert_eq!(outcomes(&landed), [web, "all: passed"], "{landed:#}");
        if name == "api" {
            let shown = flower.ok(&["queue", "show", "1"]);
            assert!(shown.contains("- web  skipped, none of its paths changed"), "{shown}");
        }
    }
}

#[test]
fn checks_run_side_by_side() {
    let flower = Flower::new();
    let outside = flower.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    let fifo = |name: &str| outside.join(name);
    let run = |name: &str| json!(format!("echo begun; read line < {}; test $line = green", fifo(name).display()));
    for name in ["a", "b"] {
        assert!(Command::new("mkfifo").arg(fifo(name)).status().unwrap().success());
    }
    let text = format!(
        "[checks]\na = {{ run = {} }}\nb = {{ run = {} }}\nc = {{ run = \"false\" }}\n[worktree]\nread = [{}]\n[land]\nparallel = 2\nretries = 0\n",
        run("a"),
        run("b"),
        json!(outside)
    );
    serve(&flower, &[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    let queued = queue(&flower, "one", &[]).to_string();
    for name in ["a", "b"] {
        eventually("both run at once", || {
            (flower.run(&["queue", "log", &queued, name]).stdout == "begun\n").then_some(())
        });
    }
    // Once `b` has ended `c` runs, which fails: then `a` is ended too, whose result is missing.
    fs::write(fifo("b"), "green\n").unwrap();
    let landing = becomes(&flower, queued.parse().unwrap(), "rejected");
    assert_eq!(outcomes(&landing), ["b: passed", "c: failed"], "{landing:#}");
    says(&landing["reason"], "the check `c` failed");
}

#[test]
fn a_green_result_is_reused_only_if_nothing_it_depends_on_has_changed() {
    let text = "[checks]\ntest = { run = \"true\" }\nhistory = { run = \"git log --oneline\", reuse = false }\n[worktree]\ncarry = [\"build\"]\n";
    let flower = serving(&[("flower.toml", text), (".gitignore", "build/\n")]);
    fs::create_dir(flower.repo.join("build")).unwrap();
    put(&flower, &flower.repo.join("build/cache"), "1");
    change(&flower, "one", "x", "x\n");
    assert_eq!(outcomes(&checked(&flower, "one", &[])), ["test: passed", "history: passed"]);
    // Also by the next daemon.
    flower.restart();
    let again = ["test: reused when `one` was checked", "history: passed"];
    assert_eq!(outcomes(&checked(&flower, "one", &[])), again);
    put(&flower, &flower.repo.join("build/cache"), "other");
    assert_eq!(
        outcomes(&checked(&flower, "one", &[])),
        ["test: passed", "history: passed"],
        "a carried file has changed"
    );
    change(&flower, "one", "x", "y\n");
    assert_eq!(outcomes(&checked(&flower, "one", &[])), ["test: passed", "history: passed"], "the tree has changed");
    // A file that was damaged is forgotten.
    flower.ok(&["down"]);
    fs::write(flower.home.join("green-checks.json"), "{").unwrap();
    flower.start();
    assert_eq!(outcomes(&checked(&flower, "one", &[])), ["test: passed", "history: passed"]);
}

/// Checks that see what `prepare` has made. Its script is not named by the command, so that only the lock file decides.
const PREPARED: &str = "[checks]
prepare = [\"sh tools/p*.sh\", \"echo prepared > $HOME/prepared\"]
change = { run = \"cat deps/made $HOME/prepared; echo evil > deps/made; echo evil > $HOME/prepared\" }
test = { run = \"grep -q clean deps/made && grep -q prepared $HOME/prepared && test ! -e bad\" }
[land]
retries = 0
";
const MAKE_DEPS: &str = "mkdir -p deps; pwd > deps/where; echo clean > deps/made; echo run\n";

#[test]
fn what_a_rejected_branch_has_prepared_reaches_no_later_check() {
    as_each_user_unserved(|flower| {
        let files =
            [("flower.toml", PREPARED), ("tools/prepare.sh", MAKE_DEPS), ("app.lock", "1\n"), ("uv.lock", "1\n")];
        serve(flower, &files);
        fs::write(flower.repo.join(".git/info/exclude"), "deps/\n").unwrap();
        // The branch prepares something else with the same lock file, and is rejected.
        new(flower, "evil", &[]);
        put(flower, &tree(flower, "evil").join("tools/prepare.sh"), "mkdir deps; echo evil > deps/made\n");
        commit_inside(flower, "evil", "evil");
        let rejected = land(flower, "evil");
        assert_eq!(outcomes(&rejected), ["prepare: passed", "change: passed", "test: failed"], "{rejected:#}");
        // So is one that was only checked.
        checked(flower, "evil", &[]);
        new(flower, "one", &[]);
        change(flower, "one", "x", "x\n");
        let landed = lands(flower, "one");
        assert_eq!(outcomes(&landed), ["prepare: passed", "change: passed", "test: passed"], "{landed:#}");
        assert_eq!(landed["checks"][1]["log"], "clean\nprepared\n", "{landed:#}");
        // What has landed is reused, as it was before the checks changed it; also for the branch that would make it otherwise.
        new(flower, "two", &[]);
        change(flower, "two", "y", "y\n");
        let landed = lands(flower, "two");
        let reused = "prepare: reused in a commit that has landed, with the same lock files and commands";
        assert_eq!(outcomes(&landed), [reused, "change: passed", "test: passed"], "{landed:#}");
        assert_eq!(landed["checks"][1]["log"], "clean\nprepared\n", "{landed:#}");
        // Another lock file is prepared again.
        new(flower, "three", &[]);
        change(flower, "three", "uv.lock", "2\n");
        assert_eq!(outcomes(&lands(flower, "three"))[0], "prepare: passed");
        no_candidate_is_left(flower);
    });
}

#[test]
fn a_failed_preparation_is_a_failed_check_of_that_name() {
    let text = "[checks]\nprepare = [\"echo first\", \"echo second; exit 4\"]\ntest = { run = \"true\" }\n[land]\nretries = 0\n";
    let flower = serving(&[("flower.toml", text)]);
    change(&flower, "one", "x", "x\n");
    let landing = land(&flower, "one");
    assert_eq!(outcomes(&landing), ["prepare: failed"], "{landing:#}");
    says(&landing["reason"], "`[checks] prepare` failed (4)");
    assert_eq!(landing["checks"][0]["log"], "$ echo first\nfirst\n$ echo second; exit 4\nsecond\n", "{landing:#}");
    assert!(flower.ok(&["queue", "log", "1"]).ends_with("second\n"));
}

#[test]
fn a_check_has_no_network_and_its_log_says_so() {
    let run = "cat /proc/net/dev | tail -n +3 | cut -d: -f1; echo getaddrinfo EAI_AGAIN registry.example; exit 1";
    let flower = serving(&[("flower.toml", &format!("{}[land]\nretries = 0\n", check(run)))]);
    change(&flower, "one", "x", "x\n");
    let landing = land(&flower, "one");
    let log = landing["checks"][0]["log"].as_str().unwrap();
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    assert_eq!(lines[..2], ["lo", "getaddrinfo EAI_AGAIN registry.example"], "{log}");
    assert!(
        lines.len() == 3
            && lines[2].contains("flower: checks have no network")
            && lines[2].contains("[checks] prepare"),
        "{log}"
    );
}

#[test]
fn without_checks_every_place_says_so() {
    let flower = serving(&[]);
    let said =
        "no checks are configured, so every landing that merges reaches MAIN untested; `flower init` proposes some";
    change(&flower, "one", "x", "x\n");
    let up = flower.run(&["up"]);
    assert!(
        up.stdout.contains("no checks are configured, so every landing that merges reaches MAIN untested"),
        "{up:?}"
    );
    assert!(flower.ok(&["status"]).contains(said));
    assert_eq!(flower.json(&["status"])["main"]["unchecked"], true);
    let run = checked(&flower, "one", &[]);
    says(&run["reason"], "no checks are configured");
    let landed = flower.run(&["land", "one", "--wait"]);
    assert!(landed.code == 0 && landed.stderr.contains(said), "{landed:?}");
    let with = serving(&[GREEN]);
    assert!(!with.run(&["up"]).stdout.contains("no checks") && !with.ok(&["status"]).contains("no checks"));
}

#[test]
fn each_commit_of_a_rebase_is_announced_by_its_number() {
    let text = format!("{}[land]\nhistory = \"rebase\"\n", check("sleep 0.6"));
    let flower = serving(&[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    change(&flower, "one", "y", "y\n");
    let landed = flower.run(&["land", "one", "--wait"]);
    assert!(landed.code == 0 && landed.stderr.contains("check `test` is running on commit 1 of 2\n"), "{landed:?}");
    assert!(landed.stderr.contains("check `test` is running on commit 2 of 2\n"), "{landed:?}");
    assert!(!landed.stderr.contains("attempt"), "{landed:?}");
}
