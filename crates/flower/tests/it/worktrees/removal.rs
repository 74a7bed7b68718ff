//! Removing loses nothing: what git has not is archived, and `restore` brings it back as it was.

use super::*;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Everything that a worktree can hold and a commit does not.
const MESS: &str = r#"
    echo changed > README.md
    echo staged > staged; git add staged; echo 'and changed' > staged
    git rm -q --cached untracked-again
    rm gone
    rm -r old; echo 'a file now' > old
    echo untracked > 'with space and "quotes"'
    mkdir -p deep/er; echo x > deep/er/file; : > deep/empty; chmod 0750 deep/er
    printf 'KEY=1\n' > .env; chmod 0600 .env
    mkdir -p ignored.d/sub; echo i > ignored.d/sub/i; : > ignored.d/empty
    echo '#!/bin/sh' > tool; chmod 0755 tool
    ln -s README.md link; ln -s /nonexistent/target dangling; ln -s ../.. outside; ln -s deep linked-dir
    printf x > "$(printf 'not-utf8-\377')"
    git init -q nested; echo n > nested/n; git -C nested add n
    git -C nested -c user.name=N -c user.email=n@example.com commit -qm nested
    chmod 0700 moded
    mkdir sealed; echo s > sealed/s; chmod 0444 sealed/s; chmod 0555 sealed
"#;

fn messy(flower: &Flower, seal: &str) {
    for (path, content) in [
        ("gone", "g"),
        ("old/file", "o"),
        ("untracked-again", "u"),
        ("moded", "m"),
        (".gitignore", ".env\nignored.d\n*.big\n"),
    ] {
        commit_in_main(flower, path, content);
    }
    new(flower, "one", &[seal]);
    inside_ok(flower, "one", MESS);
}

#[test]
fn uncommitted_files_come_back_unchanged() {
    as_each_user(|flower| {
        for seal in ["--sealed", "--linked"] {
            messy(flower, seal);
            let dir = tree(flower, "one");
            let state =
                "git status --porcelain=v2 -z --untracked-files=all --ignored | tr '\\0' '\\n'; git diff --cached";
            let (before, seen) = (snapshot(&dir), inside_ok(flower, "one", state));
            remove(flower, "one");
            assert!(!dir.exists());
            assert_main_is_whole(flower);
            flower.ok(&["worktree", "restore", "one"]);
            assert_eq!(differences(&before, &snapshot(&dir)), [""; 0], "{seal}");
            assert_eq!(inside_ok(flower, "one", state), seen, "{seal}");
            assert_eq!(
                inside_ok(flower, "one", "git -C nested status --porcelain; git -C nested log --format=%s"),
                "nested"
            );
            assert_eq!(flower.json(&["worktree", "archive"]), json!([]), "what was restored is kept no longer");
            // And again, from what was restored.
            remove(flower, "one");
            flower.ok(&["worktree", "restore", "one"]);
            assert_eq!(differences(&before, &snapshot(&dir)), [""; 0], "{seal}, the second time");
            remove(flower, "one");
            let number = flower.json(&["worktree", "archive"])[0]["number"].to_string();
            flower.ok(&["worktree", "archive", "--drop", &number]);
            flower.git(&flower.repo, &["update-ref", "-d", "refs/heads/flower/one"]);
            flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", "HEAD~5"]);
            assert_main_is_whole(flower);
        }
    });
}

#[test]
fn empty_directories_come_back_and_no_others() {
    as_each_user(|flower| {
        commit_in_main(flower, ".gitignore", "ignored\n");
        commit_in_main(flower, "tracked/deep/file", "x");
        commit_in_main(flower, "gone/deep/file", "x");
        commit_in_main(flower, "left/file", "x");
        for (name, seal) in [("one", "--sealed"), ("two", "--linked")] {
            new(flower, name, &[seal]);
            inside_ok(
                flower,
                name,
                "mkdir -p empty a/b/c tracked/empty untracked/empty ignored/empty/er; touch untracked/file
                 mkdir -m 0500 locked; rm -r gone; rm left/file",
            );
            let dir = tree(flower, name);
            let before = snapshot(&dir);
            for round in ["first", "second"] {
                remove(flower, name);
                flower.ok(&["worktree", "restore", name]);
                assert_eq!(differences(&before, &snapshot(&dir)), [""; 0], "{seal}, the {round} time");
            }
        }
    });
}

#[test]
fn only_so_many_empty_directories_are_kept() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "mkdir many; cd many; seq 10050 | xargs mkdir");
    remove(&flower, "one");
    flower.ok(&["worktree", "restore", "one"]);
    assert_eq!(fs::read_dir(tree(&flower, "one").join("many")).unwrap().count(), 10_000);
}

#[test]
fn the_private_repository_comes_back_with_its_stash_and_branches() {
    let flower = with_one(&[]);
    let said = inside_ok(
        &flower,
        "one",
        "echo a > a; git add a; git commit -qm a
         echo stashed > README.md; git stash push -q -m kept
         git switch -qc other; echo o > o; git add o; git commit -qm o; git tag mark; git switch -q -
         git config flower.test yes; git rev-parse HEAD other mark stash@{0}",
    );
    remove(&flower, "one");
    // Nothing of it depends on what MAIN's repository throws away meanwhile.
    flower.git(&flower.repo, &["reflog", "expire", "--expire=now", "--all"]);
    flower.git(&flower.repo, &["gc", "--quiet", "--prune=now"]);
    flower.ok(&["worktree", "restore", "one"]);
    let state = "git rev-parse HEAD other mark stash@{0}; git fsck --no-dangling";
    assert_eq!(inside_ok(&flower, "one", state), said);
    assert_eq!(inside_ok(&flower, "one", "git stash pop -q; cat README.md; git config flower.test"), "stashed\nyes");
    assert_main_is_whole(&flower);
}

#[test]
fn what_is_too_large_is_left_out_and_said_so() {
    let flower = served();
    commit_in_main(&flower, ".gitignore", "*.big\n*.small\n");
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "truncate -s 300M build.big; truncate -s 300M precious; echo s > one.small; echo u > u");
    remove(&flower, "one");
    let kept = &flower.json(&["worktree", "archive"])[0];
    assert_eq!(kept["left_out"], json!(["build.big"]), "{kept}");
    assert_eq!((&kept["number"], &kept["name"]), (&json!(1), &json!("one")));
    assert!(kept["bytes"].as_u64().is_some_and(|bytes| (300 << 20..301 << 20).contains(&bytes)), "{kept}");
    let page = flower.ok(&["worktree", "archive"]);
    for word in ["one", "build.big", kept["until"].as_str().unwrap().split_at(10).0] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let (removed, until) = (kept["removed_at"].as_str().unwrap(), kept["until"].as_str().unwrap());
    let days = until.parse::<jiff::Timestamp>().unwrap().duration_since(removed.parse().unwrap()).as_hours() / 24;
    assert!((29..=30).contains(&days), "{removed} {until}");
    flower.ok(&["worktree", "restore", "one"]);
    let names = inside_ok(&flower, "one", "ls; stat -c %s precious");
    assert_eq!(names, "README.md\none.small\nprecious\nu\n314572800");
}

#[test]
fn a_branch_goes_only_when_its_work_is_in_main() {
    let flower = served();
    let has = |name: &str| !git(&flower, &flower.repo, &["branch", "--list", &format!("flower/{name}")]).is_empty();
    let kept = |name: &str| {
        let all = flower.json(&["worktree", "archive"]);
        let found = all.as_array().unwrap().iter().find(|kept| kept["name"] == name).cloned().unwrap();
        found["branch_kept"].as_bool().unwrap()
    };
    let work = |name: &str| {
        inside_ok(
            &flower,
            name,
            &format!("echo {name} > {name}; git add .; git commit -qm 1; echo 2 >> {name}; git commit -qam 2"),
        )
    };
    for name in ["untouched", "merged", "squashed", "undone", "unmerged"] {
        new(&flower, name, &[]);
    }
    for name in ["merged", "squashed", "undone", "unmerged"] {
        work(name);
    }
    inside_ok(&flower, "undone", "git revert --no-edit HEAD HEAD~1");
    flower.git(
        &flower.repo,
        &["-c", "core.hooksPath=/dev/null", "merge", "--quiet", "--no-ff", "--no-edit", "flower/merged"],
    );
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "merge", "--quiet", "--squash", "flower/squashed"]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "squashed"]);
    commit_in_main(&flower, "later", "later");
    for (name, stays) in [("untouched", false), ("merged", false), ("squashed", false), ("unmerged", true)] {
        remove(&flower, name);
        assert_eq!((has(name), kept(name)), (stays, stays), "{name}");
    }
    // Even of what is in MAIN every commit can be brought back.
    flower.ok(&["worktree", "restore", "squashed"]);
    assert_eq!(inside_ok(&flower, "squashed", "git log --format=%s -2"), "2\n1");
    assert_main_is_whole(&flower);
}

#[test]
fn an_archive_is_dropped_for_good() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo secret > u; echo x > x; git add x; git commit -qm x");
    remove(&flower, "one");
    let folder = flower.home.join("archive/1");
    assert!(folder.exists());
    assert_eq!(flower.json(&["worktree", "archive", "--drop", "1"]), json!({ "dropped": 1 }));
    assert_eq!(flower.json(&["worktree", "archive"]), json!([]));
    eventually("it is deleted", || (!folder.exists()).then_some(()));
    assert_eq!(git(&flower, &flower.repo, &["for-each-ref", "refs/flower"]), "");
    // Dropped before, never there, and a worktree that is still in use.
    new(&flower, "two", &[]);
    for number in ["1", "7", "2"] {
        let error = flower.fails(&["worktree", "archive", "--drop", number], 3);
        assert_eq!(error["message"], format!("there is no archive {number}"));
        assert_eq!(error["hints"], json!(["`flower worktree archive` lists what is kept"]));
    }
    assert_eq!(show(&flower, "two")["state"], "ready");
    assert_eq!(flower.fails(&["worktree", "restore", "one"], 3)["kind"], "not_found");
    assert_eq!(flower.fails(&["worktree", "remove", "one"], 3)["kind"], "not_found");
}

#[test]
fn a_worktree_with_running_processes_is_not_removed() {
    as_each_user(|flower| {
        for (name, seal) in [("sealed", "--sealed"), ("linked", "--linked")] {
            new(flower, name, &[seal]);
            std::fs::create_dir(tree(flower, name).join("sub")).unwrap();
            let refused = |who: &str| {
                let error = flower.fails(&["worktree", "remove", name], 1);
                assert_eq!(error["kind"], "refused");
                says(&error["message"], who);
                assert!(tree(flower, name).exists());
                assert_eq!(show(flower, name)["state"], "ready");
            };
            let running = Running::inside(flower, name);
            refused("is at work in");
            drop(running);
            let beside = Running::beside(flower, &tree(flower, name).join("sub"));
            refused(&format!("process {} (", beside.0.id()));
            drop(beside);
            remove(flower, name);
            assert!(!tree(flower, name).exists());
        }
    });
}

/// After a landing flower merges MAIN's tip into the worktree, inside its jail. A removal waits for that.
#[test]
fn a_removal_waits_for_a_merge_of_flowers_own() {
    let flower = with_one(&["--sealed"]);
    let hook = "h=$(git rev-parse --git-path hooks)/post-merge; mkdir -p $(dirname $h); \
                printf '#!/bin/sh\\ntouch started; sleep 1\\n' > $h; chmod +x $h";
    inside_ok(&flower, "one", hook);
    commit_in_main(&flower, "theirs", "theirs");
    let merging = flower.command(&["worktree", "sync", "one"]).stdout(Stdio::null()).spawn().expect("flower runs");
    let _merging = Running(merging);
    eventually("the merge runs", || tree(&flower, "one").join("started").exists().then_some(()));
    remove(&flower, "one");
    assert!(!tree(&flower, "one").exists());
}

#[test]
fn a_name_can_be_used_again_and_each_of_its_lives_restored() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo first > life");
    remove(&flower, "one");
    new(&flower, "one", &["--linked"]);
    inside_ok(&flower, "one", "echo second > life");
    remove(&flower, "one");
    let numbers: Vec<u64> = flower
        .json(&["worktree", "archive"])
        .as_array()
        .unwrap()
        .iter()
        .map(|kept| kept["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers.len(), 2);
    let life = || std::fs::read_to_string(tree(&flower, "one").join("life")).unwrap();
    flower.ok(&["worktree", "restore", "one", "--number", "1"]);
    assert_eq!((life().as_str(), &show(&flower, "one")["seal"]), ("first\n", &json!("sealed")));
    let taken = flower.fails(&["worktree", "restore", "one", "--number", "2"], 4);
    assert_eq!(taken["kind"], "conflict");
    remove(&flower, "one");
    flower.ok(&["worktree", "restore", "one", "--number", "2"]);
    assert_eq!((life().as_str(), &show(&flower, "one")["seal"]), ("second\n", &json!("linked")));
    remove(&flower, "one");
    // Without a number it is the one that was removed last.
    flower.ok(&["worktree", "restore", "one"]);
    assert_eq!(life(), "second\n");
    assert_eq!(flower.fails(&["worktree", "restore", "one", "--number", "9"], 3)["kind"], "not_found");
    assert_eq!(flower.fails(&["worktree", "restore", "two", "--number", "1"], 3)["kind"], "not_found");
}

#[test]
fn files_in_the_way_of_a_restore_are_not_changed() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x; echo u > u");
    remove(&flower, "one");
    let dir = tree(&flower, "one");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("foreign"), "mine").unwrap();
    let error = flower.fails(&["worktree", "restore", "one"], 4);
    says(&error["message"], "is in the way");
    assert_eq!(std::fs::read_to_string(dir.join("foreign")).unwrap(), "mine");
    std::fs::remove_dir_all(&dir).unwrap();
    let tip = git(&flower, &flower.repo, &["rev-parse", "flower/one"]);
    flower.git(&flower.repo, &["update-ref", "refs/heads/flower/one", "main"]);
    let error = flower.fails(&["worktree", "restore", "one"], 4);
    says(&error["message"], "has moved since");
    says(&error["hints"], "git branch -m flower/one");
    flower.git(&flower.repo, &["branch", "-m", "flower/one", "mine"]);
    flower.ok(&["worktree", "restore", "one"]);
    assert_eq!(git(&flower, &dir, &["rev-parse", "HEAD"]), tip);
    assert_eq!(inside_ok(&flower, "one", "cat u; git rev-parse HEAD"), format!("u\n{tip}"));
}

#[test]
fn a_removal_that_was_cut_short_is_finished_at_the_next_start() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo u > u; echo x > x; git add x; git commit -qm x");
    flower.ok(&["worktree", "remove", "one"]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(flower.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    eventually("the daemon is gone", || (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    flower.start();
    assert_eq!(settled(&flower).as_array().map(Vec::len), Some(1));
    flower.ok(&["worktree", "restore", "one"]);
    assert_eq!(inside_ok(&flower, "one", "cat u x"), "u\nx");
}

#[test]
fn a_second_removal_never_takes_the_next_worktree_of_that_name() {
    let flower = with_one(&[]);
    for round in 0..5 {
        let codes = std::thread::scope(|scope| {
            let tries: Vec<_> =
                (0..3).map(|_| scope.spawn(|| flower.run(&["worktree", "remove", "one", "--json"]).code)).collect();
            tries.into_iter().map(|attempt| attempt.join().unwrap()).collect::<Vec<_>>()
        });
        // Late ones find it gone, or going.
        assert!(codes.contains(&0) && codes.iter().all(|code| [0, 1, 3].contains(code)), "{codes:?}");
        eventually("the name is free", || (flower.run(&["worktree", "new", "one"]).code == 0).then_some(()));
        settled(&flower);
        let one = show(&flower, "one");
        assert_eq!((&one["state"], &one["notes"]), (&json!("ready"), &json!([])), "round {round}");
    }
    assert_main_is_whole(&flower);
}

#[test]
fn main_is_never_removed() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        put(flower, &flower.repo.join("precious"), "not committed");
        let link = flower.dir().join("link");
        symlink(&flower.repo, &link).unwrap();
        let before = snapshot(&flower.repo);
        let root = flower.repo.to_str().unwrap();
        let slash = format!("{root}/");
        let up = format!("../../../{}", flower.repo.file_name().unwrap().to_str().unwrap());
        let names = [
            "main",
            "MAIN",
            "Main",
            ".",
            "..",
            "./",
            "repo",
            "REPO",
            root,
            &slash,
            link.to_str().unwrap(),
            &up,
            "",
            "/",
            "one/..",
            "one/",
        ];
        for name in names {
            let output = flower.run(&["worktree", "remove", name, "--json"]);
            assert!([2, 3].contains(&output.code), "{name}: {output:?}");
            let restored = flower.run(&["worktree", "restore", name, "--json"]);
            assert!([2, 3].contains(&restored.code), "{name}: {restored:?}");
            assert_eq!(differences(&before, &snapshot(&flower.repo)), [""; 0], "{name}");
        }
        // Nor over the API, with any form of its address.
        for name in ["main", "%2e%2e", "..%2f..%2frepo", "%2e", "one%2f..", "main%00"] {
            let answer = flower.api("DELETE", &format!("/api/worktrees/{name}?project=repo")).send();
            assert!((400..500).contains(&answer.status), "{name}: {answer:?}");
        }
        assert_eq!(show(flower, "one")["state"], "ready");
        assert_eq!(differences(&before, &snapshot(&flower.repo)), [""; 0]);
        assert!(fs::read_dir(&flower.repo).is_ok_and(|entries| entries.count() > 1));
    });
}

#[test]
fn a_directory_that_forbids_its_own_removal_goes_all_the_same() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        inside_ok(flower, "one", "mkdir -p cache/a/b; echo x > cache/a/b/x; chmod -R a-w cache; chmod 0555 .");
        let before = snapshot(&tree(flower, "one"));
        remove(flower, "one");
        flower.ok(&["worktree", "restore", "one"]);
        let after = snapshot(&tree(flower, "one"));
        assert_eq!(differences(&before, &after), [""; 0]);
        assert!(after.keys().any(|name| name.as_bytes() == b"cache/a/b/x"));
        for dir in ["cache", "cache/a", "cache/a/b"] {
            fs::set_permissions(tree(flower, "one").join(dir), fs::Permissions::from_mode(0o755)).unwrap();
        }
    });
}
