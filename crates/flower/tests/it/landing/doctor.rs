//! `flower doctor` after ordinary use: green, and `--fix` deletes nothing that could be work.

use super::*;

fn findings(flower: &Flower, args: &[&str]) -> Vec<Value> {
    let output = flower.run(&[&["doctor", "--json"], args].concat());
    let all: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    all.as_array().expect("a list").clone()
}

/// Every check is `ok`.
fn assert_green(flower: &Flower, what: &str) {
    let bad: Vec<Value> = findings(flower, &[]).into_iter().filter(|finding| finding["state"] != "ok").collect();
    assert!(bad.is_empty(), "{what}: {bad:#?}");
    flower.ok(&["doctor"]);
}

fn refs(flower: &Flower) -> Vec<String> {
    let all = git(flower, &flower.repo, &["for-each-ref", "--format=%(refname) %(objectname)", "refs/flower"]);
    all.lines().map(str::to_owned).collect()
}

/// A commit in MAIN that no landing brought.
fn commit_by_hand(flower: &Flower, path: &str) -> String {
    put(flower, &flower.repo.join(path), path);
    flower.git(&flower.repo, &["add", path]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", path]);
    tip(flower)
}

#[test]
fn doctor_is_green_after_ordinary_use_and_its_fix_keeps_every_ref() {
    let flower = serving(&[GREEN]);
    let remote = flower.dir().join("remote.git");
    flower.git(flower.dir(), &["clone", "--quiet", "--bare", flower.repo.to_str().unwrap(), remote.to_str().unwrap()]);
    flower.git(&flower.repo, &["remote", "add", "origin", remote.to_str().unwrap()]);
    flower.ok(&["main", "pull"]);
    assert_green(&flower, "a pull");
    let restored = commit_by_hand(&flower, "restored");
    flower.ok(&["main", "restore"]);
    assert_green(&flower, "a restore");
    let rescued = commit_by_hand(&flower, "rescued");
    flower.ok(&["main", "rescue"]);
    assert_green(&flower, "a rescue");
    // Two that wait for the operator, one that was cancelled, and one that replaced another.
    for name in ["waits", "cancelled", "replaced"] {
        change(&flower, name, ".gitattributes", format!("# {name}\n"));
        assert_eq!(land(&flower, name)["state"], "approval", "{name}");
    }
    let cancelled = number(&flower.json(&["queue"])[1]).to_string();
    flower.ok(&["queue", "cancel", &cancelled]);
    change(&flower, "replaced", "more", "more\n");
    assert_eq!(land(&flower, "replaced")["state"], "approval");
    assert_green(&flower, "landings");
    let before = refs(&flower);
    assert!(before.iter().any(|name| name.starts_with("refs/flower/landing/")), "{before:?}");
    findings(&flower, &["--fix"]);
    assert_eq!(refs(&flower), before, "`--fix` found something to mend");
    for commit in [&restored, &rescued] {
        let kept = git(
            &flower,
            &flower.repo,
            &["for-each-ref", "--format=%(refname)", "--contains", commit, "refs/flower/saved"],
        );
        assert!(!kept.is_empty(), "{commit} is kept: {before:?}");
    }
}

#[test]
fn what_is_left_over_is_deleted_only_where_another_ref_has_its_commit() {
    let flower = serving(&[GREEN]);
    let known = tip(&flower);
    let only = git(&flower, &flower.repo, &["commit-tree", "-p", "main", "-m", "nowhere else", "main^{tree}"]);
    let tree = git(&flower, &flower.repo, &["rev-parse", "main^{tree}"]);
    for (name, object) in
        [("landing/90", &known), ("landing/91", &only), ("keep/gone/x", &only), ("keep/gone/tree", &tree)]
    {
        flower.git(&flower.repo, &["update-ref", &format!("refs/flower/{name}"), object]);
    }
    let bad: Vec<Value> = findings(&flower, &[]).into_iter().filter(|finding| finding["state"] == "bad").collect();
    assert_eq!(bad.len(), 1, "{bad:#?}");
    says(&bad[0]["evidence"], "refs/flower/landing/91");
    findings(&flower, &["--fix"]);
    assert_eq!(refs(&flower).len(), 2, "{:?}", refs(&flower));
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", &format!("refs/flower/saved/{only}")]), only);
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", &format!("refs/flower/saved/{tree}")]), tree);
    assert_green(&flower, "mended");
}

#[test]
fn removing_a_project_keeps_branches_with_work_and_names_them() {
    let flower = serving(&[GREEN]);
    change(&flower, "landed", "landed", "x\n");
    lands(&flower, "landed");
    retired(&flower, "landed");
    let work = change(&flower, "work", "work", "x\n");
    flower.ok(&["worktree", "remove", "work"]);
    // This one is removed before its work lands, so its branch is kept until then.
    change(&flower, "early", "early", "x\n");
    flower.ok(&["worktree", "remove", "early"]);
    settled(&flower);
    new(&flower, "late", &["--from", "flower/early"]);
    change(&flower, "late", "late", "x\n");
    lands(&flower, "late");
    retired(&flower, "late");
    settled(&flower);
    let preview = flower.api("GET", "/api/projects/repo/removal").send().json();
    assert_eq!(preview["branches_left"], json!(["flower/work"]), "{preview:#}");
    let removed = flower.json(&["project", "remove", "repo"]);
    assert_eq!(removed, preview, "what is shown before is what happens");
    says(&removed["archives_left"], "work");
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "refs/heads/flower/work"]), work);
    let left = git(&flower, &flower.repo, &["for-each-ref", "--format=%(refname)", "refs/flower", "refs/heads/flower"]);
    assert_eq!(left, "refs/heads/flower/work");
    // Without FLOWER_HOME the work is still there; with it, the worktree comes back.
    flower.ok(&["init"]);
    flower.ok(&["worktree", "restore", "work"]);
    assert_eq!(fs::read_to_string(tree(&flower, "work").join("work")).unwrap(), "x\n");
}
