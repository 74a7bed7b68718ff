//! The daemon is killed in the middle of something: the next one takes it back or finishes it.

use super::*;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

/// A daemon whose git, when its arguments contain `at`, does its work and then stays until it is killed.
fn with_git_that_stays(flower: &Flower, at: &str) {
    with_git(flower, &format!("*'{at}'*"));
}

/// The same where `OBJECTS:ARGUMENTS` are as in `pattern`, for objects in a place of their own. Gives the file that is there
/// once that is reached.
pub(super) fn with_git(flower: &Flower, pattern: &str) -> PathBuf {
    let (bin, reached) = (flower.dir().join("bin"), flower.dir().join("reached"));
    let real =
        std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|dir| dir.join("git")).find(|git| git.is_file());
    let script = format!(
        "#!/bin/sh\ncase \"$GIT_OBJECT_DIRECTORY:$*\" in\n{pattern}) {real} \"$@\"; echo $$ > {reached}; exec sleep 600;;\n*) exec {real} \"$@\";;\nesac\n",
        real = real.expect("git").display(),
        reached = reached.display(),
    );
    let _ = fs::remove_file(&reached);
    put(flower, &bin.join("git"), script);
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    flower.ok(&["down"]);
    let mut up = flower.command(&["up"]);
    up.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    assert_eq!(crate::common::finish(up).code, 0);
    reached
}

/// Kills the daemon, and the git that stays, once that is reached; then starts it with the real one.
pub(super) fn crash(flower: &Flower) {
    let reached = flower.dir().join("reached");
    let staying = eventually("it is reached", || {
        fs::read_to_string(&reached).ok().and_then(|pid| pid.trim().parse::<i32>().ok())
    });
    kill(i32::try_from(flower.pid()).unwrap());
    kill(staying);
    start_again(flower);
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually("it is gone", || (!Path::new(&format!("/proc/{pid}/exe")).exists()).then_some(()));
}

fn start_again(flower: &Flower) {
    // The last thread of a killed daemon closes its files, the socket among them.
    let lock = flower.home.join("lock");
    eventually("its lock is free", || {
        (flower_engine::lock::lock_state(&lock) == flower_engine::lock::LockState::Free).then_some(())
    });
    flower.start();
}

#[test]
fn a_worktree_that_was_being_made_is_taken_back() {
    for at in ["read-tree --reset -u", "update-ref --stdin"] {
        let flower = served();
        let before = traces(&flower);
        with_git_that_stays(&flower, at);
        std::thread::scope(|scope| {
            let making = scope.spawn(|| flower.run(&["worktree", "new", "one", "--json"]));
            crash(&flower);
            assert_ne!(making.join().unwrap().code, 0);
        });
        eventually("it is taken back", || (flower.json(&["worktree"]) == json!([])).then_some(()));
        eventually("nothing is left", || (traces(&flower) == before).then_some(()));
        new(&flower, "one", &[]);
        assert_eq!(inside_ok(&flower, "one", "git status --porcelain; cat README.md"), "hello", "{at}");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn a_removal_goes_on_where_it_was() {
    for at in ["status --porcelain=v1", "update-ref --stdin", "merge-base --is-ancestor"] {
        let flower = with_one(&[]);
        inside_ok(&flower, "one", "echo u > u; echo x > x; git add x; git commit -qm x; echo y >> x; rm README.md");
        let before = snapshot(&tree(&flower, "one"));
        with_git_that_stays(&flower, at);
        flower.ok(&["worktree", "remove", "one"]);
        crash(&flower);
        settled(&flower);
        assert!(!tree(&flower, "one").exists());
        flower.ok(&["worktree", "restore", "one"]);
        assert_eq!(differences(&before, &snapshot(&tree(&flower, "one"))), [""; 0], "{at}");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn a_restore_goes_on_where_it_was() {
    for at in ["read-tree --reset -u", "update-ref --stdin"] {
        let flower = with_one(&[]);
        inside_ok(&flower, "one", "echo u > u; echo x > x; git add x; git commit -qm x; echo y >> x; rm README.md");
        let before = snapshot(&tree(&flower, "one"));
        remove(&flower, "one");
        with_git_that_stays(&flower, at);
        std::thread::scope(|scope| {
            let restoring = scope.spawn(|| flower.run(&["worktree", "restore", "one", "--json"]));
            crash(&flower);
            assert_ne!(restoring.join().unwrap().code, 0);
        });
        eventually("it is ready", || (show(&flower, "one")["state"] == "ready").then_some(()));
        assert_eq!(differences(&before, &snapshot(&tree(&flower, "one"))), [""; 0], "{at}");
        assert_eq!(inside_ok(&flower, "one", "git status --porcelain"), " D README.md\n M x\n?? u", "{at}");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn a_setup_that_was_cut_off_has_failed_and_says_what_to_do() {
    for seal in ["--sealed", "--linked"] {
        as_each_user(|flower| {
            let settings = "[worktree]\nsetup = [\"touch reached; sleep 3\", \"touch never\"]\n";
            commit_in_main(flower, "flower.toml", settings);
            flower.ok(&["project", "approve", "--yes"]);
            std::thread::scope(|scope| {
                let making = scope.spawn(|| flower.run(&["worktree", "new", "one", seal, "--json"]));
                let reached = tree(flower, "one").join("reached");
                eventually("its setup runs", || reached.exists().then_some(()));
                kill(i32::try_from(flower.pid()).unwrap());
                assert_ne!(making.join().unwrap().code, 0);
            });
            start_again(flower);
            let one = eventually("it is noticed", || {
                Some(show(flower, "one")).filter(|one| one["setup"]["state"] != "running")
            });
            let setup = json!({ "state": "failed", "command": "touch reached; sleep 3", "code": null });
            assert_eq!((&one["state"], &one["setup"]), (&json!("ready"), &setup), "{seal}: {one}");
            says(&one["notes"], "the daemon ended during setup: run `touch reached; sleep 3`");
            says(&one["notes"], "flower worktree shell one");
            assert!(!tree(flower, "one").join("never").exists());
            assert_eq!(inside_ok(flower, "one", "ls reached"), "reached");
        });
    }
}

#[test]
fn a_commit_that_was_being_mirrored_leaves_nothing_uncommitted() {
    for at in ["update-ref --stdin", "read-tree --reset HEAD"] {
        let flower = with_one(&[]);
        with_git_that_stays(&flower, at);
        std::thread::scope(|scope| {
            // A command that leaves waits until it is mirrored.
            scope.spawn(|| inside(&flower, "one", "echo x > x; git add x; git commit -qm x"));
            crash(&flower);
        });
        let one = show(&flower, "one");
        assert_eq!((&one["dirty"], &one["ahead"]), (&json!(false), &json!(1)), "{at}: {one}");
        assert_eq!(git(&flower, &tree(&flower, "one"), &["status", "--porcelain"]), "", "{at}");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn locks_of_a_killed_git_are_removed_before_the_next_entry() {
    let flower = with_one(&[]);
    let private = flower.home.join("seals/repo/one/private.git");
    let locks = ["index.lock", "HEAD.lock", "refs/heads/flower/one.lock"].map(|name| private.join(name));
    let there = || locks.iter().filter(|lock| lock.exists()).count();
    let commit = "echo x >> x; git add x; git commit -qm x";
    // One who is inside may hold them.
    let running = Running::after(
        &flower,
        "one",
        "cd $(git rev-parse --git-dir) && touch index.lock HEAD.lock refs/heads/flower/one.lock",
    );
    assert_ne!(inside(&flower, "one", commit).code, 0);
    assert_eq!(there(), locks.len());
    drop(running);
    inside_ok(&flower, "one", commit);
    assert_eq!((there(), &show(&flower, "one")["ahead"]), (0, &json!(1)));
}
