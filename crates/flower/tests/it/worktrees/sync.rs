//! `flower worktree sync`: MAIN's newest commit goes in if no process works there and everything is committed.

use super::*;
use serde_json::json;

fn sync(flower: &Flower, name: &str) -> Value {
    flower.json(&["worktree", "sync", name])
}

#[test]
fn a_clean_worktree_gets_what_main_has() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        let dir = tree(&flower, "one");
        assert_eq!(sync(&flower, "one")["merged"], true, "nothing to do");
        inside_ok(&flower, "one", "echo mine > mine; git add mine; git commit -qm mine");
        let tip = commit_in_main(&flower, "theirs", "theirs");
        assert_eq!(show(&flower, "one")["behind"], 2);
        let synced = sync(&flower, "one");
        assert_eq!((&synced["merged"], &synced["reason"]), (&json!(true), &Value::Null), "{seal}: {synced}");
        assert_eq!(synced["worktree"]["behind"], 0, "{seal}: {synced}");
        assert!(dir.join("theirs").exists() && dir.join("mine").exists());
        assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "", "{seal}");
        git(&flower, &flower.repo, &["merge-base", "--is-ancestor", &tip, "flower/one"]);
        let head = inside_ok(&flower, "one", "git status --porcelain; git rev-parse HEAD");
        assert_eq!(head, git(&flower, &flower.repo, &["rev-parse", "flower/one"]), "{seal}");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn work_in_progress_is_left_alone_and_told_why() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        let dir = tree(&flower, "one");
        let tip = commit_in_main(&flower, "theirs", "theirs");
        let running = Running::inside(&flower, "one");
        let busy = sync(&flower, "one");
        assert_eq!(busy["merged"], false, "{busy}");
        says(&busy["reason"], "is at work there");
        drop(running);
        std::fs::write(dir.join("README.md"), "changed\n").unwrap();
        let dirty = sync(&flower, "one");
        assert_eq!(dirty["merged"], false, "{dirty}");
        says(&dirty["reason"], "not committed");
        assert!(!dir.join("theirs").exists());
        assert_eq!(std::fs::read_to_string(dir.join("README.md")).unwrap(), "changed\n");
        // It is there for the agent inside to merge.
        if seal == "--sealed" {
            assert_eq!(inside_ok(&flower, "one", "git rev-parse origin/main"), tip);
            inside_ok(&flower, "one", "git commit -qam wip; git merge -q --no-edit origin/main; test -e theirs");
            assert_eq!(show(&flower, "one")["behind"], 0);
        }
        assert_main_is_whole(&flower);
    }
}

#[test]
fn the_shell_that_asks_is_not_taken_for_work() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        let dir = tree(&flower, "one");
        commit_in_main(&flower, "theirs", "theirs");
        // The shell goes on after the command, so it is its parent.
        let in_shell = |command: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{command}; code=$?; exit $code"), "sh"]).arg(&flower.program);
            flower.in_own_environment(&mut shell).current_dir(&dir).output().expect("a shell")
        };
        let other = Running::beside(&flower, &dir);
        let left = in_shell("\"$1\" worktree sync");
        assert!(String::from_utf8_lossy(&left.stdout).contains(&format!("process {} (", other.0.id())), "{left:?}");
        drop(other);
        let removal = in_shell("\"$1\" worktree remove");
        let refusal = String::from_utf8_lossy(&removal.stderr);
        assert!(!removal.status.success() && refusal.contains("(sh) is at work in"), "{refusal}");
        let synced = in_shell("\"$1\" worktree sync");
        assert!(synced.status.success() && dir.join("theirs").exists(), "{synced:?}");
    }
}

/// As Claude Code does, which a person starts in the directory.
#[test]
fn a_program_that_runs_flower_mcp_is_at_work() {
    let flower = with_one(&["--linked"]);
    let dir = tree(&flower, "one");
    commit_in_main(&flower, "theirs", "theirs");
    let mut agent = Command::new("sh");
    agent.args(["-c", "\"$1\" mcp; true", "sh"]).arg(&flower.program).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut agent = flower.in_own_environment(&mut agent).current_dir(&dir).spawn().expect("a shell");
    let is_mcp = |pid: &rustix::process::Pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0mcp\0"))
    };
    eventually("flower mcp runs", || children(agent.id()).iter().any(is_mcp).then_some(()));
    let busy = sync(&flower, "one");
    assert_eq!(busy["merged"], false, "{busy}");
    says(&busy["reason"], &format!("process {} (", agent.id()));
    assert!(!dir.join("theirs").exists());
    drop(agent.stdin.take());
    agent.wait().expect("it ends with its input");
    assert_eq!(sync(&flower, "one")["merged"], true);
}

#[test]
fn a_conflict_names_its_paths_and_changes_nothing() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        let dir = tree(&flower, "one");
        inside_ok(&flower, "one", "echo mine > README.md; echo x > mine; git add -A; git commit -qm mine");
        commit_in_main(&flower, "README.md", "theirs\n");
        let (before, head) = (snapshot(&dir), git(&flower, &flower.repo, &["rev-parse", "flower/one"]));
        let error = flower.fails(&["worktree", "sync", "one"], 4);
        assert_eq!(error["kind"], "conflict");
        says(&error["message"], "README.md");
        says(&error["hints"], "flower worktree shell one");
        assert_eq!(differences(&before, &snapshot(&dir)), [""; 0], "{seal}");
        assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one"]), head);
        assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "", "{seal}");
        assert_eq!(
            inside_ok(&flower, "one", "git status --porcelain; test ! -e .git/MERGE_HEAD; git rev-parse HEAD"),
            head
        );
        assert_main_is_whole(&flower);
    }
}
