//! What a landing settles with itself: the alarm of what it adopts, and the approval of the commands that it brings. A kill
//! right after it was recorded loses neither.

use super::*;

#[test]
fn a_kill_once_an_adoption_is_recorded_leaves_no_alarm() {
    let flower = serving(&[GREEN]);
    put(&flower, &flower.repo.join("by-hand"), "x\n");
    flower.git(&flower.repo, &["add", "by-hand"]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "by hand"]);
    let mut daemon = dying_at(&flower, "landing.recorded");
    let _ = flower.run(&["main", "adopt"]);
    daemon.wait().expect("it dies");
    flower.start();
    assert_eq!(events(&flower, "landed").len(), 1, "it was recorded");
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]), (&json!("stable"), &Value::Null), "{main:#}");
    assert_eq!(flower.json(&["inbox"]), json!([]));
    assert_eq!(events(&flower, "main_settled").len(), 1);
}

#[test]
fn a_kill_once_an_approved_landing_is_recorded_keeps_the_approval_of_its_commands() {
    let flower = serving(&[]);
    change(&flower, "one", "flower.toml", "[checks]\ntest = { run = \"true\" }\n");
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    let mut daemon = dying_at(&flower, "landing.recorded");
    let _ = flower.run(&["queue", "approve", &number(&held).to_string()]);
    daemon.wait().expect("it dies");
    flower.start();
    assert_eq!(landing(&flower, number(&held))["state"], "landed");
    let commands = flower.api("GET", "/api/projects/repo/commands").send().json();
    assert_eq!(commands["approved"], true, "{commands}");
    change(&flower, "two", "two", "x\n");
    lands(&flower, "two");
}

#[test]
fn a_worktree_begins_at_the_recorded_tip_while_main_is_moved() {
    let flower = serving(&[GREEN]);
    let recorded = tip(&flower);
    change(&flower, "lane", "own", "x\n");
    put(&flower, &flower.repo.join("unvetted"), "x\n");
    flower.git(&flower.repo, &["add", "unvetted"]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "unvetted"]);
    for (name, seal) in [("sealed", "--sealed"), ("linked", "--linked")] {
        new(&flower, name, &[seal]);
        assert_eq!(inside_ok(&flower, name, "git rev-parse HEAD"), recorded, "{name}");
        assert!(!tree(&flower, name).join("unvetted").exists(), "{name}");
    }
    assert_eq!(inside_ok(&flower, "sealed", "git rev-parse origin/main"), recorded);
    // Nor does a sync bring it in.
    flower.ok(&["worktree", "sync", "lane"]);
    assert!(!tree(&flower, "lane").join("unvetted").exists());
    flower.ok(&["main", "restore"]);
    change(&flower, "sealed", "more", "x\n");
    lands(&flower, "sealed");
    assert!(!flower.repo.join("unvetted").exists(), "it came in with the worktree");
}
