//! A repository that was moved is recognised, a copy is a project of its own, and nothing hangs while it is away.

use super::*;
use crate::common::eventually;
use std::process::Command;

/// Two worktrees of flower with a commit each, one of a person, and a landing that waits.
fn at_work(flower: &Flower) {
    put(flower, &flower.repo.join(".git/info/exclude"), "inner\n");
    prepare(flower);
    new(flower, "one", &[]);
    inside_ok(flower, "one", "echo 1 > one; git add -A; git commit -qm one");
    new(flower, "two", &["--linked"]);
    let of_person = flower.dir().join("mine");
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "-b", "mine", of_person.to_str().unwrap()]);
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "-b", "inner", "inner"]);
    flower.ok(&["freeze"]);
    flower.ok(&["land", "one"]);
}

fn move_away(flower: &mut Flower, name: &str) -> PathBuf {
    let (from, to) = (flower.repo.clone(), flower.dir().join(name));
    fs::rename(&from, &to).unwrap();
    flower.repo = to;
    from
}

/// What was there before the move goes on.
fn goes_on(flower: &Flower) {
    assert_eq!(flower.json(&["main"])["state"], "frozen");
    for dir in [tree(flower, "one"), tree(flower, "two"), flower.dir().join("mine"), flower.repo.join("inner")] {
        git(flower, &dir, &["status"]);
        let common = git(flower, &dir, &["rev-parse", "--git-common-dir"]);
        assert_eq!(PathBuf::from(common), flower.repo.join(".git"), "{}", dir.display());
    }
    let listed = git(flower, &flower.repo, &["worktree", "list", "--porcelain"]);
    assert!(listed.contains(&flower.repo.join("inner").display().to_string()), "{listed}");
    assert!(!listed.contains("prunable"), "{listed}");
    inside_ok(flower, "one", "git log --oneline; git fsck; echo 2 > later; git add -A; git commit -qm later");
    inside_ok(flower, "two", "echo 2 > two; git add -A; git commit -qm two");
    let mut by_hand = Command::new("git");
    by_hand.args(["commit", "--allow-empty", "--message", "by hand"]).current_dir(&flower.repo);
    let hook = flower.in_own_environment(&mut by_hand).output().unwrap();
    assert!(String::from_utf8_lossy(&hook.stderr).contains("only moves by landing"), "{hook:?}");
    flower.ok(&["thaw"]);
    eventually("the waiting landing lands", || {
        (flower.json(&["queue", "show", "1"])["state"] == "landed").then_some(())
    });
    for name in ["one", "two"] {
        flower.ok(&["land", name, "--wait"]);
    }
    new(flower, "three", &[]);
    flower.ok(&["main", "verify"]);
    flower.ok(&["doctor"]);
    assert_main_is_whole(flower);
    flower.restart();
    assert_eq!(flower.json(&["main"])["state"], "stable");
    flower.ok(&["doctor"]);
}

#[test]
fn a_moved_repository_is_recognised_by_flower_up() {
    let mut flower = Flower::of_ordinary_user().unwrap_or_else(Flower::new);
    at_work(&flower);
    let from = move_away(&mut flower, "elsewhere");
    let up = flower.json(&["up"]);
    assert_eq!((&up["project"], &up["moved_from"]), (&"repo".into(), &from.to_str().unwrap().into()), "{up}");
    assert_eq!(flower.json(&["project"]).as_array().unwrap().len(), 1);
    assert!(flower.json(&["up"])["moved_from"].is_null());
    let trace = flower.json(&["trace"]);
    let moved = trace.as_array().unwrap().iter().find(|event| event["kind"] == "project_moved").expect("an event");
    assert_eq!(moved["body"]["root"], flower.repo.to_str().unwrap());
    goes_on(&flower);
}

#[test]
fn a_repository_that_moved_while_no_daemon_ran_is_moved_by_command() {
    let mut flower = Flower::new();
    at_work(&flower);
    flower.ok(&["down"]);
    move_away(&mut flower, "elsewhere");
    let away = flower.dir().to_owned();
    let moved = flower.json_in(&away, &["project", "move", "elsewhere"]);
    assert_eq!(moved["root"], flower.repo.to_str().unwrap());
    move_away(&mut flower, "again");
    let moved = flower.json_in(&away, &["project", "move", "repo", flower.repo.to_str().unwrap()]);
    assert_eq!(moved["moved_from"], flower.dir().join("elsewhere").to_str().unwrap());
    goes_on(&flower);
}

#[test]
fn a_move_that_is_killed_is_completed_by_the_next_one() {
    for name in flower_engine::failpoint::MOVE_NAMES {
        let mut flower = Flower::new();
        at_work(&flower);
        let mut daemon = dying_at(&flower, name);
        move_away(&mut flower, "elsewhere");
        assert_eq!(flower.run(&["up"]).code, 5, "{name}");
        assert!(!daemon.wait().unwrap().success(), "{name}");
        assert_eq!(flower.start()["project"], "repo");
        assert_eq!(flower.json(&["project"]).as_array().unwrap().len(), 1);
        goes_on(&flower);
    }
}

#[test]
fn a_repository_of_an_older_flower_is_recognised_by_its_lock_and_its_commit() {
    let mut flower = Flower::new();
    at_work(&flower);
    flower.ok(&["down"]);
    fs::remove_file(flower.repo.join(".git/flower-project")).unwrap();
    // Another project that is away too, and has other commits.
    let other = flower.make_repository("other");
    put(&flower, &other.join("file"), "other\n");
    flower.git(&other, &["add", "."]);
    flower.git(&other, &["commit", "--quiet", "--message", "other"]);
    flower.json_in(&other, &["up"]);
    fs::rename(&other, flower.dir().join("other-away")).unwrap();
    move_away(&mut flower, "elsewhere");
    assert_eq!(flower.start()["project"], "repo");
    fs::rename(flower.dir().join("other-away"), &other).unwrap();
    goes_on(&flower);
}

#[test]
fn a_repository_that_is_away_hangs_nothing_and_goes_on_when_it_is_back() {
    let mut flower = Flower::new();
    at_work(&flower);
    flower.ok(&["thaw"]);
    flower.ok(&["brief", "new", "work", "--kind", "research"]);
    let back = flower.repo.clone();
    flower.ok(&["freeze"]);
    flower.json(&["worktree", "new", "late"]);
    inside_ok(&flower, "late", "echo 1 > late; git add -A; git commit -qm late");
    flower.ok(&["land", "late"]);
    move_away(&mut flower, "elsewhere");
    let away = flower.dir().to_owned();
    // Both by name and in the moved folder.
    for (dir, more) in [(&away, &["--project", "repo"][..]), (&flower.repo, &[])] {
        let status = flower.json_in(dir, &[&["status"], more].concat());
        says(&status["main"]["reason"], "no repository any more");
        says(&status["main"]["next"], "flower project move repo PATH");
        for args in [&["main"][..], &["land", "two"], &["worktree", "new", "never"], &["diff", "two"]] {
            let error = flower.run_in(dir, &[args, more, &["--json"]].concat()).error(1);
            says(&error["hints"], "flower project move repo PATH");
        }
    }
    flower.run_in(&away, &["thaw", "--project", "repo"]);
    let findings = flower.run_in(&away, &["doctor", "--json"]);
    assert!(findings.stdout.contains("flower project move repo PATH"), "{findings:?}");
    let project = &flower.json_in(&away, &["project"])[0];
    says(&project["missing"], "no repository any more");
    fs::rename(&flower.repo, &back).unwrap();
    flower.repo = back;
    flower.ok(&["thaw"]);
    eventually("the landing lands", || (flower.json(&["queue"]) == serde_json::json!([])).then_some(()));
    assert_eq!(fs::read_to_string(flower.repo.join("late")).unwrap(), "1\n");
    flower.ok(&["doctor"]);
}

#[test]
fn a_program_inside_prevents_the_move_until_it_has_ended() {
    let mut flower = Flower::new();
    prepare(&flower);
    new(&flower, "one", &[]);
    let running = Running::inside(&flower, "one");
    move_away(&mut flower, "elsewhere");
    let error = flower.fails(&["up"], 1);
    says(&error["message"], "a program runs in worktree `one`");
    drop(running);
    assert_eq!(flower.start()["project"], "repo");
    inside_ok(&flower, "one", "git status; echo 1 > one; git add -A; git commit -qm one");
    flower.ok(&["land", "one", "--wait"]);
}

#[test]
fn a_copy_is_a_project_of_its_own_and_the_original_goes_on() {
    let flower = Flower::new();
    at_work(&flower);
    let copy = flower.dir().join("copy");
    let copied = Command::new("cp").args(["-a".as_ref(), flower.repo.as_os_str(), copy.as_os_str()]).status().unwrap();
    assert!(copied.success());
    let up = flower.json_in(&copy, &["up"]);
    assert_eq!(up["project"], "copy", "{up}");
    says(&up["notices"], "a copy of");
    assert_eq!(flower.json_in(&copy, &["up"])["project"], "copy");
    assert_eq!(flower.json(&["up"])["project"], "repo");
    // It cannot take the place of the original.
    let error = flower.fails(&["project", "move", "repo", copy.to_str().unwrap()], 4);
    says(&error["message"], "is still at");
    says(&error["hints"], "`flower up` in it");
    assert!(!error["hints"].to_string().contains("`mv "), "it would end inside of the copy: {error}");
    flower.ok(&["doctor"]);
    flower.json_in(&copy, &["worktree", "new", "fresh"]);
    let made = ["worktree", "shell", "fresh", "--", "sh", "-ec", "echo 1 > c; git add -A; git commit -qm c"];
    assert_eq!(flower.run_in(&copy, &made).code, 0);
    assert_eq!(flower.run_in(&copy, &["land", "fresh", "--wait"]).code, 0);
    assert!(copy.join("c").exists() && !flower.repo.join("c").exists());
    flower.git(&copy, &["worktree", "prune"]);
    flower.json_in(&copy, &["worktree"]);
    goes_on_here(&flower);
}

#[test]
fn a_copy_does_not_take_the_worktrees_of_an_original_that_is_away() {
    let mut flower = Flower::new();
    at_work(&flower);
    let copy = flower.dir().join("copy");
    let copied = Command::new("cp").args(["-a".as_ref(), flower.repo.as_os_str(), copy.as_os_str()]).status().unwrap();
    assert!(copied.success());
    assert_eq!(flower.json_in(&copy, &["up"])["project"], "copy");
    flower.ok(&["down"]);
    let dot_git = flower.dir().join("mine/.git");
    let before = fs::read_to_string(&dot_git).unwrap();
    let back = move_away(&mut flower, "elsewhere");
    assert_eq!(flower.json_in(&copy, &["up"])["project"], "copy");
    assert_eq!(fs::read_to_string(&dot_git).unwrap(), before);
    // A move of the copy does not take them either.
    flower.ok(&["down"]);
    let moved = flower.dir().join("moved-copy");
    fs::rename(&copy, &moved).unwrap();
    assert_eq!(flower.json_in(&moved, &["up"])["project"], "copy");
    assert_eq!(fs::read_to_string(&dot_git).unwrap(), before);
    fs::rename(&flower.repo, &back).unwrap();
    flower.repo = back;
    goes_on_here(&flower);
}

#[test]
fn a_clone_in_the_old_place_does_not_become_the_project() {
    let mut flower = Flower::new();
    at_work(&flower);
    flower.ok(&["down"]);
    let from = move_away(&mut flower, "elsewhere");
    flower.git(flower.dir(), &["clone", "--quiet", flower.repo.to_str().unwrap(), from.to_str().unwrap()]);
    let away = flower.dir().to_owned();
    // Each of these starts a daemon.
    for _ in 0..2 {
        assert_eq!(flower.json_in(&away, &["project"])[0]["root"], from.to_str().unwrap());
        flower.ok(&["down"]);
        assert!(!from.join(".git/flower-project").exists());
    }
    let up = flower.start();
    assert_eq!((&up["project"], &up["moved_from"]), (&"repo".into(), &from.to_str().unwrap().into()), "{up}");
    goes_on(&flower);
}

/// As [`goes_on`], for a repository beside which there is a copy.
fn goes_on_here(flower: &Flower) {
    goes_on(flower);
    assert_eq!(flower.json(&["project"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_move_to_what_is_not_the_repository_is_refused() {
    let mut flower = Flower::new();
    prepare(&flower);
    new(&flower, "one", &[]);
    let other = flower.make_repository("other");
    put(&flower, &other.join("file"), "other\n");
    flower.git(&other, &["add", "."]);
    flower.git(&other, &["commit", "--quiet", "--amend", "--message", "other"]);
    // Two repositories that were made within one second begin with the same commit.
    flower.git(&other, &["reflog", "expire", "--expire=now", "--all"]);
    flower.git(&other, &["gc", "--quiet", "--prune=now"]);
    let from = move_away(&mut flower, "elsewhere");
    let plain = flower.dir().join("plain");
    fs::create_dir(&plain).unwrap();
    let below = flower.repo.join("below");
    fs::create_dir(&below).unwrap();
    for (to, why) in [(&other, "another repository"), (&plain, "not the top folder"), (&below, "not the top folder")] {
        let error = flower.fails(&["project", "move", "repo", to.to_str().unwrap()], 1);
        says(&error["message"], why);
    }
    assert!(!other.join(".git/flower-project").exists());
    // Another project that lies at the old path does not become this one.
    fs::rename(&other, &from).unwrap();
    flower.json(&["up"]);
    assert_eq!(flower.json(&["up"])["project"], "repo");
    let second = flower.json_in(&from, &["up"]);
    assert_ne!(second["project"], "repo", "{second}");
    flower.ok(&["doctor"]);
    let error = flower.run_in(&from, &["project", "move", "repo", from.to_str().unwrap(), "--json"]).error(4);
    says(&error["message"], "is still at");
    let unknown = flower.fails(&["project", "move", "nope", "."], 3);
    says(&unknown["hints"], "repo");
}
