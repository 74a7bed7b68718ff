//! The directory of a worktree is an ordinary git worktree to the operator, who may commit in it.

use super::*;
use crate::common::{Output, finish};
use serde_json::json;

/// Commits files of the worktree with ordinary git, as the operator does. An empty text deletes the file.
fn commit_outside(flower: &Flower, name: &str, files: &[(&str, &str)]) -> String {
    let dir = tree(flower, name);
    for (path, text) in files {
        match *text {
            "" => fs::remove_file(dir.join(path)).unwrap(),
            text => put(flower, &dir.join(path), text),
        }
    }
    flower.git(&dir, &["add", "--all"]);
    flower.git(&dir, &["-c", "maintenance.auto=false", "commit", "--quiet", "--message", files[0].0]);
    git(flower, &dir, &["rev-parse", "HEAD"])
}

/// Something inside that began before the operator's commit and goes on with `script` after it.
fn both(flower: &Flower, script: &str, operators: impl FnOnce() -> String) -> String {
    let wait = format!("echo ready; while [ ! -e /tmp/go ]; do sleep 0.02; done; set -e; {script}");
    let mut running = Running::start(flower, "one", &wait, "ready\n");
    let commit = operators();
    put(flower, &flower.home.join("seals/repo/one/tmp/go"), "");
    assert!(running.0.wait().expect("it ends").success(), "{script}");
    fs::remove_file(flower.home.join("seals/repo/one/tmp/go")).unwrap();
    commit
}

/// Runs a command that a hint or note names, word by word.
fn follow(flower: &Flower, text: &Value, begin: &str) -> Output {
    let text = text.as_str().map_or_else(|| text[0].as_str().unwrap().to_owned(), str::to_owned);
    let command = text.split('`').find(|part| part.starts_with(begin)).unwrap_or_else(|| panic!("{begin}: {text}"));
    let mut shell = Command::new("sh");
    let program = flower.command(&[]).get_program().to_owned();
    let script = format!("flower() {{ \"$FLOWER_OF_TEST\" \"$@\"; }}; {command}");
    flower.in_own_environment(shell.args(["-c", &script]).current_dir(&flower.repo));
    shell.env("FLOWER_OF_TEST", program);
    finish(shell)
}

fn head_inside(flower: &Flower) -> String {
    inside_ok(flower, "one", "git status --porcelain; git rev-parse HEAD")
}

/// What the log has about divergences.
fn diverged(flower: &Flower) -> Vec<Value> {
    let events = flower.json(&["trace"]);
    let all = events.as_array().expect("a list");
    all.iter().filter(|event| event["kind"] == "worktree_diverged").map(|event| event["body"].clone()).collect()
}

#[test]
fn commits_of_the_operator_are_inside_at_entry_and_the_inside_is_clean() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let commit = commit_outside(flower, "one", &[("hello", "hello\n"), ("folder/deep", "x\n"), ("README.md", "")]);
        assert_eq!(head_inside(flower), commit);
        // Work goes on from there, on both sides in turn.
        let next = inside_ok(
            flower,
            "one",
            "echo more >> hello; git commit -qam more; git rev-parse HEAD; git merge-base HEAD~1 HEAD",
        );
        let (next, parent) = next.split_once('\n').unwrap();
        assert_eq!((parent, git(flower, &flower.repo, &["rev-parse", "flower/one"]).as_str()), (commit.as_str(), next));
        let last = commit_outside(flower, "one", &[("hello", "again\n")]);
        let amended = {
            flower.git(
                &tree(flower, "one"),
                &["-c", "maintenance.auto=false", "commit", "--quiet", "--amend", "-m", "b"],
            );
            git(flower, &flower.repo, &["rev-parse", "flower/one"])
        };
        assert_ne!(amended, last);
        assert_eq!(head_inside(flower), amended, "a commit that the operator has rewritten");
        assert_eq!(git(flower, &tree(flower, "one"), &["status", "--porcelain"]), "");
        assert_eq!(diverged(flower), [json!(null); 0]);
        assert_main_is_whole(flower);
    });
}

#[test]
fn a_sync_brings_commits_of_the_operator_in_before_it_merges_main() {
    let flower = with_one(&[]);
    commit_outside(&flower, "one", &[("mine", "mine\n"), ("README.md", "mine\n")]);
    commit_in_main(&flower, "theirs", "theirs\n");
    assert_eq!(flower.json(&["worktree", "sync", "one"])["merged"], true);
    let head = git(&flower, &flower.repo, &["rev-parse", "flower/one"]);
    assert_eq!(head_inside(&flower), head);
    // A conflict with MAIN is settled inside, as the hint says.
    commit_in_main(&flower, "README.md", "theirs\n");
    let error = flower.fails(&["worktree", "sync", "one"], 4);
    let merge = follow(&flower, &error["hints"][0], "flower worktree shell");
    assert_eq!(merge.code, 1, "git names the conflict: {merge:?}");
    assert!(merge.stdout.contains("CONFLICT"), "{merge:?}");
    inside_ok(&flower, "one", "echo both > README.md; git add -A; git commit -q --no-edit");
    assert_eq!(show(&flower, "one")["behind"], 0);
    assert_eq!(git(&flower, &tree(&flower, "one"), &["status", "--porcelain"]), "");
    assert_main_is_whole(&flower);
}

#[test]
fn if_both_sides_commit_both_stay_on_branches_and_a_sync_merges_them() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let script = "echo in > in; git add in; git commit -qm in";
        let operators = both(flower, script, || commit_outside(flower, "one", &[("mine", "mine\n")]));
        let inside = git(flower, &flower.repo, &["rev-parse", "flower/one"]);
        let branch = format!("flower/one.operator-{}", &operators[..12]);
        assert_eq!(git(flower, &flower.repo, &["rev-parse", &branch]), operators);
        let kept_at = format!("refs/heads/{branch}");
        let recorded = json!({ "number": 1, "operators": operators, "inside": inside, "kept_at": kept_at });
        assert_eq!(diverged(flower), [recorded]);
        let one = show(flower, "one");
        says(&one["notes"], &operators);
        flower.restart();
        assert_eq!(show(flower, "one")["notes"], one["notes"]);
        let synced = follow(flower, &one["notes"], "flower worktree sync");
        assert_eq!(synced.code, 0, "{synced:?}");
        let head = git(flower, &flower.repo, &["rev-parse", "flower/one"]);
        for commit in [&operators, &inside] {
            git(flower, &flower.repo, &["merge-base", "--is-ancestor", commit, "flower/one"]);
        }
        assert_eq!(head_inside(flower), head);
        assert_eq!(git(flower, &tree(flower, "one"), &["status", "--porcelain"]), "");
        assert_eq!(show(flower, "one")["notes"], json!([]));
        assert_eq!(git(flower, &flower.repo, &["branch", "--list", &branch]), "");
        assert_main_is_whole(flower);
    });
}

#[test]
fn if_both_sides_change_the_same_lines_the_hint_settles_it() {
    let flower = with_one(&[]);
    let script = "echo inside > README.md; git commit -qm inside README.md";
    let files = [("README.md", "operator\n"), ("mine", "mine\n")];
    let operators = both(&flower, script, || commit_outside(&flower, "one", &files));
    let error = flower.fails(&["worktree", "sync", "one"], 4);
    says(&error["message"], "README.md");
    let settled = follow(&flower, &error["hints"], "flower worktree shell");
    assert_eq!(settled.code, 0, "{settled:?}");
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    git(&flower, &flower.repo, &["merge-base", "--is-ancestor", &operators, "flower/one"]);
    assert_eq!(git(&flower, &flower.repo, &["show", "flower/one:README.md"]), "inside");
    assert_eq!(git(&flower, &flower.repo, &["show", "flower/one:mine"]), "mine");
    assert_eq!(head_inside(&flower), git(&flower, &flower.repo, &["rev-parse", "flower/one"]));
    assert_eq!(flower.json(&["worktree", "sync", "one"])["merged"], true);
}

#[test]
fn a_commit_that_the_operator_lets_go_is_reported_no_more() {
    let flower = with_one(&[]);
    let script = "echo in > in; git add in; git commit -qm in";
    both(&flower, script, || commit_outside(&flower, "one", &[("mine", "mine\n")]));
    let notes = show(&flower, "one")["notes"].clone();
    assert_eq!(follow(&flower, &notes, "git branch -D").code, 0);
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    // A branch that is rewritten inside displaces no commit of the operator.
    inside_ok(&flower, "one", "git commit -q --amend -m again");
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    assert_eq!(diverged(&flower).len(), 1);
}

#[test]
fn what_is_staged_or_under_way_inside_stays_and_the_reason_is_given() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo staged > README.md; git add README.md");
    put(&flower, &tree(&flower, "one").join("README.md"), "operator\n");
    let commit = commit_outside(&flower, "one", &[("README.md", "operator\n")]);
    let entered = inside(&flower, "one", "git show :README.md");
    assert_eq!((entered.code, entered.stdout.as_str()), (0, "staged\n"), "{entered:?}");
    assert!(entered.stderr.contains("is not seen inside"), "{entered:?}");
    let error = flower.fails(&["worktree", "sync", "one"], 4);
    assert_eq!(follow(&flower, &error["hints"], "flower worktree shell").code, 0);
    assert_eq!(follow(&flower, &error["hints"], "flower worktree sync").code, 0);
    assert_eq!(head_inside(&flower), commit);
    // A rebase, and another branch.
    inside_ok(&flower, "one", "git switch -qc other");
    let next = commit_outside(&flower, "one", &[("next", "next\n")]);
    let on_other =
        inside_ok(&flower, "one", "git rev-parse HEAD flower/one; git switch -qf flower/one; git status --porcelain");
    assert_eq!(on_other, format!("{commit}\n{next}"));
    inside_ok(&flower, "one", "git rebase -q --exec false HEAD~1 || true");
    commit_outside(&flower, "one", &[("last", "last\n")]);
    let entered = inside(&flower, "one", "git rev-parse flower/one");
    assert_eq!(entered.stdout.trim_end(), next, "{entered:?}");
    assert!(entered.stderr.contains("under way inside"), "{entered:?}");
    inside_ok(&flower, "one", "git rebase --abort; git status --porcelain");
    assert_eq!(head_inside(&flower), git(&flower, &flower.repo, &["rev-parse", "flower/one"]));
}

#[test]
fn refs_that_protect_borrowed_commits_are_deleted_when_a_later_one_protects_them() {
    let flower = with_one(&[]);
    for n in 0..4 {
        commit_in_main(&flower, &format!("file-{n}"), "x\n");
        flower.ok(&["worktree", "sync", "one"]);
    }
    let kept = git(&flower, &flower.repo, &["for-each-ref", "refs/flower/keep"]);
    assert!(kept.lines().count() <= 2, "{kept}");
    inside_ok(&flower, "one", "git fsck --no-dangling");
}
