//! A person lives in MAIN: leaves files there, pulls, merges and resets by habit, and waits for landings.

use super::*;

#[test]
fn untracked_files_in_main_do_not_matter() {
    let flower = serving(&[GREEN]);
    put(&flower, &flower.repo.join("notes.txt"), "scratch\n");
    put(&flower, &flower.repo.join(".venv/lib/one.py"), "one\n");
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]), (&json!("stable"), &Value::Null), "{main:#}");
    change(&flower, "one", "x", "x\n");
    lands(&flower, "one");
    assert_eq!(events(&flower, "main_alarm"), [Value::Null; 0]);
    // One that a landing would overwrite is not.
    change(&flower, "two", "notes.txt", "theirs\n");
    let rejected = land(&flower, "two");
    assert_eq!((&rejected["state"], &rejected["paths"]), (&json!("rejected"), &json!(["notes.txt"])), "{rejected:#}");
    assert_eq!(fs::read_to_string(flower.repo.join("notes.txt")).unwrap(), "scratch\n");
    assert_eq!(fs::read_to_string(flower.repo.join(".venv/lib/one.py")).unwrap(), "one\n");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn rescue_takes_untracked_files_only_if_they_are_named() {
    let flower = serving(&[GREEN, (".gitignore", ".env\n")]);
    put(&flower, &flower.repo.join("notes.txt"), "scratch\n");
    put(&flower, &flower.repo.join("docs/plan.md"), "plan\n");
    put(&flower, &flower.repo.join(".env"), "SECRET=1\n");
    let refused = flower.fails(&["main", "rescue"], 1);
    says(&refused["message"], "untracked files stay where they are");
    says(&refused["hints"], "flower main rescue docs/");
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    let rescued = flower.json(&["main", "rescue"]);
    assert_eq!((&rescued["state"], &rescued["files"]), (&json!("stable"), &json!(["README.md"])), "{rescued:#}");
    assert!(flower.repo.join("notes.txt").exists() && !tree(&flower, "rescue-1").join("notes.txt").exists());
    // From a folder below, too.
    let docs = flower.repo.join("docs");
    let rescued = flower.json_in(&docs, &["main", "rescue", "--as", "mine", "plan.md", "../notes.txt"]);
    assert_eq!(rescued["files"], json!(["docs/plan.md", "notes.txt"]), "{rescued:#}");
    assert_eq!(fs::read_to_string(tree(&flower, "mine").join("docs/plan.md")).unwrap(), "plan\n");
    assert!(!flower.repo.join("notes.txt").exists() && !docs.exists());
    for (path, code) in [("nowhere", 1), (".env", 1), ("../outside", 2), (".git/config", 2), ("/etc/passwd", 2)] {
        flower.fails(&["main", "rescue", path], code);
    }
    assert_eq!(fs::read_to_string(flower.repo.join(".env")).unwrap(), "SECRET=1\n");
    assert_main_is_whole(&flower);
}

#[test]
fn a_restore_keeps_untracked_files_that_are_in_its_way() {
    let flower = serving(&[GREEN, ("a", "a\n"), ("folder/b", "b\n")]);
    let before = main_now(&flower);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", "HEAD~1"]);
    put(&flower, &flower.repo.join("a"), "mine\n");
    put(&flower, &flower.repo.join("folder"), "mine too\n");
    let restored = flower.json(&["main", "restore"]);
    assert_eq!(restored["state"], "stable", "{restored:#}");
    assert_main_is(&flower, &before, "restored");
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    for (path, content) in [("a", "mine"), ("folder", "mine too")] {
        assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{kept}:{path}")]), content);
    }
}

#[test]
fn a_wait_ends_with_its_own_code_and_names_the_way_out() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    let waited = flower.run(&["land", "one", "--wait", "--timeout", "1s", "--json"]);
    let problem = waited.error(6);
    assert_eq!(problem["kind"], "still_waiting", "{problem}");
    for words in [
        "landing 1 is still queued",
        "`README.md` was changed in MAIN by hand",
        "flower main rescue",
        "flower main restore",
    ] {
        says(&problem["message"], words);
    }
    says(&problem["hints"], "flower queue cancel 1");
    // The same commits join the landing that waits.
    flower.fails(&["land", "one"], 4);
    let joined =
        flower.command(&["land", "one", "--wait", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    flower.ok(&["main", "restore"]);
    let joined = joined.wait_with_output().unwrap();
    let landed: Value = serde_json::from_slice(&joined.stdout).unwrap();
    assert_eq!((&landed["id"], &landed["state"]), (&json!(1), &json!("landed")), "{landed:#}");
    flower.fails(&["land", "one", "--timeout", "1s"], 2);
}

#[test]
fn approve_can_wait_for_the_landing() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "flower.toml", check("test -e README.md"));
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    let landed: Value = flower.json(&["queue", "approve", &number(&held).to_string(), "--wait"]);
    assert_eq!(landed["state"], "landed", "{landed:#}");
}

#[test]
fn a_second_freeze_without_a_reason_keeps_the_reason() {
    let flower = serving(&[GREEN]);
    flower.ok(&["freeze", "release week"]);
    assert_eq!(flower.json(&["freeze"])["frozen"], "release week");
    assert_eq!(flower.json(&["freeze", "two releases"])["frozen"], "two releases");
    flower.ok(&["thaw"]);
    assert_eq!(flower.json(&["freeze"])["frozen"], "frozen by hand");
}

#[test]
fn status_and_main_agree_about_main() {
    let flower = serving(&[GREEN, ("deep/down/file", "1\n")]);
    let agree = |state: &str| {
        // The status comes first: it must not need another command to look.
        assert_eq!(flower.json(&["status"])["main"]["state"], state);
        assert_eq!(flower.json(&["main"])["state"], state);
    };
    agree("stable");
    let file = flower.repo.join("deep/down/file");
    put(&flower, &file, "2\n");
    agree("dirty");
    put(&flower, &file, "1\n");
    agree("stable");
    flower.git(&flower.repo, &["checkout", "--quiet", "--detach"]);
    agree("moved");
    flower.git(&flower.repo, &["checkout", "--quiet", "main"]);
    agree("stable");
}
