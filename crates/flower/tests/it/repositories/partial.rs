//! Partial clones: what is missing is fetched at once, where flower needs it.

use super::*;

/// Moves the remote away, as a network that is down.
fn offline(flower: &Flower, from: &Path) -> PathBuf {
    let away = flower.dir().join("away");
    fs::rename(from, &away).unwrap();
    away
}

/// Runs the command that the hint of an error names.
fn follow(flower: &Flower, error: &Value) {
    let command = error["hints"][0].as_str().unwrap().split('`').nth(1).unwrap().to_owned();
    let mut shell = std::process::Command::new("sh");
    flower.in_own_environment(shell.args(["-c", &command]));
    assert_eq!(crate::common::finish(shell).code, 0, "{command}");
}

#[test]
fn a_worktree_of_a_partial_clone_gets_all_files_and_git_works_in_it() {
    let flower = Flower::new();
    let from = upstream(&flower);
    clone_as_repo(&flower, &from, &["--filter=blob:none", "--no-checkout"]);
    flower.start();
    assert_eq!(notices(&flower).0, ["partial"]);
    new(&flower, "one", &[]);
    let away = offline(&flower, &from);
    let script = "git status --porcelain; cat changing folder/deep/*; git show HEAD:changing; git diff HEAD --stat; \
                  echo new > new; git add new; git commit -qm new; git gc -q; git fsck; git log --oneline | wc -l";
    let said = inside_ok(&flower, "one", script);
    assert_eq!(said, "version 3\ncontent 1\ncontent 2\ncontent 3\nversion 3\n5");
    assert_eq!(git(&flower, &flower.repo, &["show", "flower/one:new"]), "new");
    // Files of earlier commits are not here, and git says that.
    let old = inside(&flower, "one", "git log -p -- changing");
    assert!(old.stderr.contains("promisor"), "{old:?}");
    fs::rename(away, &from).unwrap();
    // With the whole history in MAIN, also inside.
    flower.git(&flower.repo, &["fetch", "--quiet", "--refetch", "--no-filter"]);
    new(&flower, "two", &[]);
    assert!(inside_ok(&flower, "two", "git log -p -- changing").contains("version 1"));
    assert_eq!(notices(&flower).0, [""; 0]);
}

#[test]
fn a_clone_without_folders_is_refused_and_the_hint_helps() {
    let flower = Flower::new();
    let from = upstream(&flower);
    clone_as_repo(&flower, &from, &["--filter=tree:0"]);
    flower.start();
    let error = flower.fails(&["worktree", "new", "one"], 1);
    says(&error["message"], "lacks folders");
    follow(&flower, &error);
    new(&flower, "one", &[]);
    assert!(inside_ok(&flower, "one", "git log -p -- changing").contains("version 1"));
}

#[test]
fn a_partial_clone_without_its_remote_is_refused_and_the_hint_helps() {
    let flower = Flower::new();
    let from = upstream(&flower);
    clone_as_repo(&flower, &from, &["--filter=blob:none", "--no-checkout"]);
    flower.start();
    let away = offline(&flower, &from);
    let brief = flower.json(&["brief", "new", "Work", "--kind", "research"])["number"].to_string();
    for refused in [&["worktree", "new", "one"][..], &["worktree", "new", "one", "--linked"], &["dispatch", &brief]] {
        let error = flower.fails(refused, 5);
        says(&error["message"], "partial clone");
    }
    let error = flower.fails(&["worktree", "new", "one"], 5);
    assert_eq!(flower.json(&["worktree"]), serde_json::json!([]));
    fs::rename(&away, &from).unwrap();
    follow(&flower, &error);
    offline(&flower, &from);
    for (name, seal) in [("one", "--sealed"), ("two", "--linked")] {
        new(&flower, name, &[seal]);
        assert_eq!(fs::read_to_string(tree(&flower, name).join("changing")).unwrap(), "version 3\n");
    }
    // Only the missing spec is a reason now.
    says(&flower.fails(&["dispatch", &brief], 1)["message"], "no spec");
}

#[test]
fn work_lands_in_a_partial_clone_and_commits_of_the_remote_too() {
    let flower = Flower::new();
    let from = upstream(&flower);
    clone_as_repo(&flower, &from, &["--filter=blob:none"]);
    flower.start();
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo new > new; git add new; git commit -qm new");
    flower.ok(&["land", "one", "--wait"]);
    put(&flower, &from.join("changing"), "version 4\n");
    put(&flower, &from.join("added"), "added\n");
    flower.git(&from, &["add", "."]);
    flower.git(&from, &["commit", "--quiet", "--message", "more"]);
    flower.ok(&["main", "pull", "--wait"]);
    for (path, text) in [("new", "new\n"), ("changing", "version 4\n"), ("added", "added\n")] {
        assert_eq!(fs::read_to_string(flower.repo.join(path)).unwrap(), text);
    }
}

#[test]
fn settings_that_are_only_at_the_remote_do_not_open_main() {
    let flower = Flower::new();
    let from = upstream(&flower);
    put(&flower, &from.join("flower.toml"), "[land]\napprove = \"operator\"\n");
    flower.git(&from, &["add", "."]);
    flower.git(&from, &["commit", "--quiet", "--message", "settings"]);
    clone_as_repo(&flower, &from, &["--filter=blob:none", "--no-checkout"]);
    flower.start();
    says(&flower.json(&["main"])["notes"], "only at the remote");
    new(&flower, "one", &[]);
    assert!(!flower.json(&["main"])["notes"].to_string().contains("only at the remote"));
}
