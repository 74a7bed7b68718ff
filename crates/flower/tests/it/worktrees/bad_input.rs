//! Names, start points, and everything else that can be wrong before a worktree is made: a clear error with the next step, and nothing
//! left behind.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// Fails with this code and these words, and leaves nothing.
fn refused(flower: &Flower, args: &[&str], code: i32, words: &str) {
    let before = traces(flower);
    let error = flower.fails(args, code);
    says(&error["message"], words);
    assert_eq!(traces(flower), before, "{args:?}");
}

#[test]
fn names_that_are_not_ids_are_refused() {
    as_each_user(|flower| {
        let long = "x".repeat(42);
        let names = [
            "",
            "../../etc",
            "a/../../b",
            "/abs",
            "new\nline",
            ".git",
            ".",
            "..",
            "CON",
            "\u{202e}x",
            "é",
            "e\u{301}",
            "A",
            "a b",
            "a.b",
            "a_b",
            "main",
            "MAIN",
            "$(id)",
            "`id`",
            "a;id",
            "refs/heads/main",
            "a/b",
            "a\\b",
            "x.lock",
            "@{u}",
            "~",
            &long,
            "x\ty",
            "*",
        ];
        let before = traces(flower);
        for name in names {
            for verb in ["new", "remove", "restore"] {
                flower.run(&["worktree", verb, "--json", "--", name]).error(2);
            }
            let code = if name.is_empty() { 2 } else { 3 };
            assert_eq!(flower.run(&["worktree", "show", "--json", "--", name]).code, code, "{name:?}");
        }
        for option in ["-x", "--upload-pack=touch x", "--help=x"] {
            assert_eq!(flower.fails(&["worktree", "new", option], 2)["kind"], "usage", "{option}");
            assert_eq!(
                flower.run(&["worktree", "new", "--json", "--", option]).error(2)["kind"],
                "invalid",
                "{option}"
            );
        }
        assert_eq!(traces(flower), before);
        assert_main_is_whole(flower);
    });
}

#[test]
fn the_start_point_is_never_an_option_or_a_command() {
    as_each_user(|flower| {
        let mark = flower.repo.join("mark");
        let touch = |words: &str| format!("{words}touch {}", mark.display());
        let given = [
            "-x".to_owned(),
            "--upload-pack=touch".to_owned(),
            touch("--upload-pack="),
            touch("--exec="),
            touch("$(") + ")",
            touch("`") + "`",
            touch("x; "),
            touch("x | "),
            touch("ext::sh -c "),
            "--output=mark".to_owned(),
            "--".to_owned(),
            "-".to_owned(),
            "nothing".to_owned(),
            "refs/heads/../../../etc/passwd".to_owned(),
            "main..main".to_owned(),
            "main:README.md".to_owned(),
            "main^{tree}".to_owned(),
            "0000000000000000000000000000000000000000".to_owned(),
            "a b".to_owned(),
            "@{u}".to_owned(),
            "*".to_owned(),
        ];
        let before = traces(flower);
        for from in &given {
            let argument = format!("--from={from}");
            let output = flower.run(&["worktree", "new", "one", &argument, "--json"]);
            assert!([2, 3].contains(&output.code), "{from}: {output:?}");
            output.error(output.code);
            assert_eq!(traces(flower), before, "{from}");
            assert!(!mark.exists(), "{from}");
        }
        for from in ["two\nlines", "", " ", &"x".repeat(300)] {
            let argument = format!("--from={from}");
            assert_eq!(flower.fails(&["worktree", "new", "one", &argument], 2)["kind"], "invalid", "{from:?}");
        }
        assert_eq!(flower.fails(&["worktree", "new", "one", "--from", "-x"], 2)["kind"], "usage");
        assert_eq!(traces(flower), before);
        assert_main_is_whole(flower);
    });
}

#[test]
fn a_repository_that_cannot_have_worktrees_says_why() {
    let flower = Flower::started();
    let empty = flower.dir().join("empty");
    fs::create_dir(&empty).unwrap();
    git(&flower, &empty, &["init", "--quiet", "--initial-branch", "main"]);
    flower.json_in(&empty, &["init"]);
    let error = flower.run_in(&empty, &["worktree", "new", "one", "--json"]).error(1);
    says(&error["message"], "has no commits yet");
    says(&error["hints"], "git commit");
    assert_eq!(git(&flower, &empty, &["worktree", "list"]).lines().count(), 1);
    let bare = flower.dir().join("bare.git");
    git(&flower, flower.dir(), &["clone", "--quiet", "--bare", "repo", "bare.git"]);
    let error = flower.run_in(&bare, &["init", "--json"]).error(1);
    says(&error["message"], "is a bare repository");
    refused(&flower, &["worktree", "new", "one", "--from", "nowhere"], 3, "no commit, branch or tag");
    flower.git(&flower.repo, &["branch", "flower/one"]);
    refused(&flower, &["worktree", "new", "one"], 4, "there is a branch `flower/one` already");
    flower.git(&flower.repo, &["branch", "--quiet", "-D", "flower/one"]);
    flower.git(&flower.repo, &["branch", "flower"]);
    refused(&flower, &["worktree", "new", "one"], 1, "leaves no room");
    flower.git(&flower.repo, &["branch", "--quiet", "-m", "flower", "flora"]);
    let in_the_way = tree(&flower, "one");
    fs::create_dir_all(&in_the_way).unwrap();
    refused(&flower, &["worktree", "new", "one"], 4, "is in the way");
    fs::remove_dir(&in_the_way).unwrap();
    flower.json(&["worktree", "new", "one"]);
    assert_main_is_whole(&flower);
}

#[test]
fn a_repository_in_an_odd_state_has_worktrees_all_the_same() {
    let flower = served();
    let tip = commit_in_main(&flower, "second", "2");
    // Dirty: what is not committed in MAIN stays there.
    fs::write(flower.repo.join("README.md"), "changed\n").unwrap();
    new(&flower, "dirty", &[]);
    assert_eq!(inside_ok(&flower, "dirty", "cat README.md"), "hello");
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "M README.md".replace("M ", " M "));
    flower.git(&flower.repo, &["checkout", "--quiet", "README.md"]);
    // On no branch, and on another.
    flower.git(&flower.repo, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    new(&flower, "detached", &[]);
    assert_eq!(git(&flower, &tree(&flower, "detached"), &["rev-parse", "HEAD"]), tip);
    flower.git(&flower.repo, &["switch", "--quiet", "--create", "other", "HEAD"]);
    new(&flower, "other", &[]);
    assert_eq!(git(&flower, &tree(&flower, "other"), &["rev-parse", "HEAD"]), tip, "MAIN's branch is `main`");
    flower.git(&flower.repo, &["switch", "--quiet", "main"]);
    // From inside of another worktree, its own project is meant.
    let deep = flower.json_in(&tree(&flower, "dirty"), &["worktree", "new", "deep"]);
    assert_eq!((&deep["project"], &deep["base"]), (&serde_json::json!("repo"), &serde_json::json!(tip)));
    for name in ["dirty", "detached", "other", "deep"] {
        let one = show(&flower, name);
        assert_eq!(
            (&one["notes"], &one["ahead"], &one["behind"]),
            (&serde_json::json!([]), &serde_json::json!(0), &serde_json::json!(0)),
            "{name}"
        );
    }
    assert_main_is_whole(&flower);
}

#[test]
fn a_branch_of_another_name_and_a_shallow_clone_serve_as_main() {
    let flower = served();
    for n in 0..3 {
        commit_in_main(&flower, &format!("f{n}"), "x");
    }
    let url = format!("file://{}", flower.repo.display());
    git(&flower, flower.dir(), &["clone", "--quiet", "--depth", "2", &url, "shallow"]);
    let shallow = flower.dir().join("shallow");
    flower.git(&shallow, &["branch", "--quiet", "-m", "trunk"]);
    flower.git(&shallow, &["config", "user.name", "Tester"]);
    flower.git(&shallow, &["config", "user.email", "tester@example.com"]);
    flower.json_in(&shallow, &["init"]);
    flower.json_in(&shallow, &["worktree", "new", "one"]);
    let script = "git log --format=%s | wc -l; echo x > x; git add x; git commit -qm x; git fsck --no-dangling";
    let output = flower.run_in(&shallow, &["worktree", "shell", "one", "--", "sh", "-ec", script]);
    assert_eq!((output.code, output.stdout.trim()), (0, "2"), "{output:?}");
    let one = flower.json_in(&shallow, &["worktree", "show", "one"]);
    assert_eq!((&one["ahead"], &one["notes"]), (&serde_json::json!(1), &serde_json::json!([])), "{one}");
    git(&flower, &shallow, &["fsck", "--no-dangling"]);
    // On no branch, and none is called `main`.
    flower.git(&shallow, &["checkout", "--quiet", "--detach"]);
    flower.json_in(&shallow, &["worktree", "new", "two"]);
    let two = flower.json_in(&shallow, &["worktree", "show", "two"]);
    assert_eq!((&two["state"], &two["notes"]), (&serde_json::json!("ready"), &serde_json::json!([])), "{two}");
}

#[test]
fn without_git_it_says_so() {
    let flower = Flower::new();
    let bin = flower.dir().join("bin");
    fs::create_dir(&bin).unwrap();
    let mut up = flower.command(&["up"]);
    up.env("PATH", &bin);
    assert_eq!(crate::common::finish(up).code, 0);
    refused(&flower, &["worktree", "new", "one", "--linked"], 5, "git cannot be started");
    assert_eq!(flower.json(&["worktree"]), serde_json::json!([]));
}

#[test]
fn a_git_that_hangs_is_ended_at_its_deadline() {
    let flower = Flower::new();
    let bin = flower.dir().join("bin");
    put(&flower, &bin.join("git"), format!("#!/bin/sh\necho $$ >> {}/pids\nexec sleep 600\n", flower.dir().display()));
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut up = flower.command(&["up"]);
    up.env("PATH", path);
    assert_eq!(crate::common::finish(up).code, 0);
    let start = Instant::now();
    refused(&flower, &["worktree", "new", "one"], 5, "did not end within");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    let pids = fs::read_to_string(flower.dir().join("pids")).unwrap();
    for pid in pids.lines() {
        eventually("it is ended", || (!Path::new(&format!("/proc/{pid}/exe")).exists()).then_some(()));
    }
}
