//! MAIN is changed by another program than flower: the change is noticed, landings wait, and every way out keeps the change.

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// The way around the fence, as the fence itself names it.
const BY_HAND: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];

fn by_hand(flower: &Flower, args: &[&str]) {
    flower.git(&flower.repo, &[&BY_HAND, args].concat());
}

/// A commit in MAIN by hand.
fn commit_by_hand(flower: &Flower, path: &str, content: &str) -> String {
    put(flower, &flower.repo.join(path), content);
    flower.git(&flower.repo, &["add", path]);
    by_hand(flower, &["commit", "--quiet", "--message", path]);
    tip(flower)
}

/// The message of git in MAIN when the hook refuses.
fn refused(flower: &Flower, args: &[&str]) -> String {
    let mut git = Command::new("git");
    let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
    let output = flower.in_own_environment(git.args(identity).args(args).current_dir(&flower.repo)).output().unwrap();
    assert!(!output.status.success(), "git {args:?} is let through");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn main_state(flower: &Flower) -> Value {
    flower.json(&["main"])
}

/// MAIN is at this commit, clean, and landings go on.
fn assert_stable(flower: &Flower, at: &str, what: &str) {
    let main = main_state(flower);
    assert_eq!(main["state"], "stable", "{what}: {main:#}");
    assert_eq!(main["tip"], at, "{what}: {main:#}");
    assert_eq!(tip(flower), at, "{what}");
    assert_main_is_whole(flower);
    assert_eq!(flower.json(&["inbox"]), json!([]), "{what}");
}

/// The time until the log has an alarm; no request reads MAIN meanwhile.
fn alarm_after(flower: &Flower, act: impl FnOnce()) -> (Value, Duration) {
    let before = flower.events();
    act();
    let start = Instant::now();
    let alarm = eventually("an alarm", || {
        let answer = flower.api("GET", &format!("/api/trace?after={before}&limit=100")).send();
        answer.json().as_array()?.iter().find(|event| event["kind"] == "main_alarm").cloned()
    });
    (alarm, start.elapsed())
}

/// A commit on top of MAIN that nothing leads to yet.
fn loose_commit(flower: &Flower) -> String {
    git(flower, &flower.repo, &["commit-tree", "-p", "main", "-m", "from nowhere", "main~1^{tree}"])
}

type Bypass = fn(&Flower);

const BYPASSES: [(&str, Bypass); 5] = [
    ("-c core.hooksPath", |flower| {
        by_hand(flower, &["commit", "--quiet", "--allow-empty", "--message", "by hand"]);
    }),
    ("GIT_CONFIG_COUNT", |flower| {
        let mut git = Command::new("git");
        flower.in_own_environment(&mut git).current_dir(&flower.repo);
        git.args(["commit", "--quiet", "--allow-empty", "--message", "by hand"]);
        git.env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "core.hooksPath")
            .env("GIT_CONFIG_VALUE_0", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }),
    ("the ref's file is written", |flower| {
        let commit = loose_commit(flower);
        put(flower, &flower.repo.join(".git/refs/heads/main"), format!("{commit}\n"));
    }),
    ("packed refs are edited", |flower| {
        let commit = loose_commit(flower);
        flower.git(&flower.repo, &["pack-refs", "--all"]);
        assert!(!flower.repo.join(".git/refs/heads/main").exists());
        let packed = flower.repo.join(".git/packed-refs");
        let text = fs::read_to_string(&packed).unwrap();
        let (old, new) = (format!("{} refs/heads/main", tip(flower)), format!("{commit} refs/heads/main"));
        fs::write(packed, text.replace(&old, &new)).unwrap();
        assert_eq!(tip(flower), commit);
    }),
    ("a lock is written and renamed", |flower| {
        let commit = loose_commit(flower);
        let lock = flower.repo.join(".git/refs/heads/main.lock");
        put(flower, &lock, format!("{commit}\n"));
        fs::rename(lock, flower.repo.join(".git/refs/heads/main")).unwrap();
    }),
];

#[test]
fn every_bypass_of_the_hook_is_found_within_two_seconds() {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN]);
        let recorded = tip(flower);
        let before = main_now(flower);
        let mut slowest = Duration::ZERO;
        for (what, bypass) in BYPASSES {
            let (alarm, took) = alarm_after(flower, || bypass(flower));
            slowest = slowest.max(took);
            let moved = tip(flower);
            assert_ne!(moved, recorded, "{what}: it is no bypass at all");
            assert_eq!(alarm["body"]["what"], "moved", "{what}: {alarm}");
            assert_eq!(alarm["body"]["found"], moved.as_str(), "{what}: {alarm}");
            let main = main_state(flower);
            assert_eq!(main["state"], "moved", "{what}: {main:#}");
            assert_eq!((&main["tip"], &main["recorded_tip"]), (&json!(moved), &json!(recorded)), "{what}");
            let inbox = flower.json(&["inbox"]);
            assert_eq!((&inbox[0]["kind"], inbox.as_array().unwrap().len()), (&json!("alarm"), 1), "{what}: {inbox:#}");
            says(&inbox, "flower main adopt");
            flower.ok(&["main", "restore"]);
            assert_stable(flower, &recorded, what);
            assert_main_is(flower, &before, what);
            // It is kept, and can be read.
            git(flower, &flower.repo, &["merge-base", "--is-ancestor", &moved, &format!("refs/flower/saved/{moved}")]);
        }
        eprintln!("the slowest of {} alarms came after {slowest:?}", BYPASSES.len());
        assert!(slowest < Duration::from_secs(2), "{slowest:?}");
    });
}

#[test]
fn nothing_lands_until_the_alarm_is_settled() {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN]);
        let ways: [(&str, &[&str], &str); 3] = [
            ("adopted", &["main", "adopt", "--wait"], "landed"),
            ("restored", &["main", "restore"], ""),
            ("rescued", &["main", "rescue"], ""),
        ];
        for (name, way, _) in ways {
            change(flower, name, name, "work\n");
            commit_by_hand(flower, &format!("hand-{name}"), "by hand\n");
            let moved = tip(flower);
            let waiting = queue(flower, name, &[]);
            flower.wait_for_pass("merge_queue");
            // The alarm may first be about the edited file, until the watch has seen the commit too.
            eventually("the queue names the moved branch", || {
                let queued = landing(flower, waiting);
                assert_eq!(queued["state"], "queued", "{name}: {queued:#}");
                let reason = queued["reason"].as_str().unwrap_or_default();
                reason.starts_with("landings wait, because MAIN's branch was moved by hand").then_some(())
            });
            assert_eq!(tip(flower), moved, "{name}");
            flower.ok(way);
            becomes(flower, waiting, "landed");
            assert_eq!(flower.repo.join(format!("hand-{name}")).exists(), name == "adopted", "{name}");
            assert!(flower.repo.join(name).exists());
            assert_stable(flower, &tip(flower), name);
            let settled = events(flower, "main_settled");
            assert_eq!(settled.last().unwrap()["body"]["how"], name);
        }
        assert_eq!(flower.json(&["main", "verify"])["ok"], true);
    });
}

#[test]
fn the_fence_refuses_and_names_the_way_out() {
    let flower = serving(&[GREEN, ("a", "a\n")]);
    flower.git(&flower.repo, &["branch", "side", "HEAD~1"]);
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "../side", "side"]);
    put(&flower, &flower.dir().join("side/b"), "b\n");
    flower.git(&flower.dir().join("side"), &["add", "b"]);
    flower.git(&flower.dir().join("side"), &["commit", "--quiet", "--message", "b"]);
    let before = main_now(&flower);
    assert_eq!(main_state(&flower)["hook"], "installed");
    let moves: [&[&str]; 8] = [
        &["commit", "--quiet", "--allow-empty", "--message", "x"],
        &["commit", "--quiet", "--amend", "--message", "x"],
        &["merge", "--quiet", "--no-edit", "side"],
        &["reset", "--quiet", "--hard", "HEAD~1"],
        &["update-ref", "refs/heads/main", "HEAD~1"],
        &["update-ref", "-d", "refs/heads/main"],
        &["branch", "--move", "main", "other"],
        &["rebase", "--quiet", "side"],
    ];
    for args in moves {
        let said = refused(&flower, args);
        for words in ["only moves by landing", "flower worktree new", "flower main rescue", "flower main pull"] {
            assert!(said.contains(words), "{args:?}: {said}");
        }
        assert_eq!(tip(&flower), before.0, "{args:?}");
        // git may have changed files before it was refused.
        flower.ok(&["main", "restore"]);
        assert_stable(&flower, &before.0, &format!("{args:?}"));
        assert_main_is(&flower, &before, &format!("{args:?}"));
    }
    // Packed, it is as safe as before.
    flower.git(&flower.repo, &["pack-refs", "--all"]);
    for args in [&["update-ref", "-d", "refs/heads/main"][..], &["update-ref", "-d", "refs/heads/main", &before.0]] {
        refused(&flower, args);
        assert_eq!(tip(&flower), before.0, "{args:?}");
    }
}

#[test]
fn the_hook_allows_git_commands_that_do_not_move_main() {
    let flower = serving(&[GREEN]);
    let at = tip(&flower);
    change(&flower, "one", "x", "x\n");
    let harmless: [&[&str]; 9] = [
        &["pack-refs", "--all"],
        &["gc", "--quiet"],
        &["gc", "--quiet", "--prune=now"],
        &["tag", "v1"],
        &["branch", "side"],
        &["branch", "-D", "side"],
        &["update-ref", "refs/heads/main", &at, &at],
        &["fetch", "--quiet", "."],
        &["notes", "add", "--message", "a note", "HEAD"],
    ];
    for args in harmless {
        flower.git(&flower.repo, args);
        assert_stable(&flower, &at, &format!("{args:?}"));
    }
    lands(&flower, "one");
    flower.git(&flower.repo, &["gc", "--quiet", "--prune=now"]);
    assert_stable(&flower, &tip(&flower), "after a landing");
    assert_eq!(events(&flower, "main_alarm"), [Value::Null; 0]);
}

#[test]
fn a_hook_that_was_there_is_still_called_and_comes_back() {
    let flower = Flower::new();
    let (hook, seen) = (flower.repo.join(".git/hooks/reference-transaction"), flower.dir().join("seen"));
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; cat; }} >> {}\nif [ \"$1\" = prepared ] && grep -q refused {0}; then exit 1; fi\n",
        seen.display()
    );
    put(&flower, &hook, &script);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    serve(&flower, &[GREEN]);
    fs::write(&seen, "").unwrap();
    assert_eq!(main_state(&flower)["hook"], "installed");
    let head = tip(&flower);
    flower.git(&flower.repo, &["tag", "v1"]);
    let said = fs::read_to_string(&seen).unwrap();
    assert!(said.contains("prepared\n") && said.contains("committed\n"), "{said}");
    assert!(said.contains(&format!("{head} refs/tags/v1\n")), "{said}");
    // Its own no counts.
    refused(&flower, &["tag", "refused"]);
    assert_eq!(git(&flower, &flower.repo, &["tag"]), "v1");
    fs::write(&seen, "").unwrap();
    assert!(refused(&flower, &["commit", "--allow-empty", "--message", "x"]).contains("only moves by landing"));
    // flower's own git runs no hook.
    fs::write(&seen, "").unwrap();
    change(&flower, "one", "x", "x\n");
    fs::write(&seen, "").unwrap();
    lands(&flower, "one");
    retired(&flower, "one");
    assert_eq!(fs::read_to_string(&seen).unwrap(), "");
    flower.restart();
    flower.ok(&["project", "remove", "--yes", "repo"]);
    assert_eq!(fs::read_to_string(&hook).unwrap(), script);
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o755);
    let names = fs::read_dir(hook.parent().unwrap()).unwrap().flatten().map(|entry| entry.file_name());
    let ours: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("reference-transaction")).collect();
    assert_eq!(ours, ["reference-transaction"]);
}

/// Edits of every sort, and what they leave: content by name, in the checkout.
fn edit(flower: &Flower) -> Snapshot {
    put(flower, &flower.repo.join("README.md"), "edited\n");
    put(flower, &flower.repo.join("new folder/ünder.txt"), "new\n");
    put(flower, &flower.repo.join("staged"), "staged\n");
    flower.git(&flower.repo, &["add", "staged"]);
    put(flower, &flower.repo.join("staged"), "staged, then edited\n");
    fs::remove_file(flower.repo.join("old")).unwrap();
    fs::set_permissions(flower.repo.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("README.md", flower.repo.join("link")).unwrap();
    flower.give(&flower.repo.join("link"));
    files(&flower.repo)
}

/// What of the edits git does not track.
const UNTRACKED: [&str; 2] = ["new folder", "link"];

fn tracked(all: &Snapshot) -> Snapshot {
    let is_tracked = |name: &str| UNTRACKED.iter().all(|untracked| !name.starts_with(untracked));
    all.iter().filter(|(name, _)| is_tracked(&name.to_string_lossy())).map(|(k, v)| (k.clone(), v.clone())).collect()
}

const FILES: [(&str, &str); 4] = [GREEN, ("old", "old\n"), ("run", "#!/bin/sh\n"), (".gitignore", ".env\nbuild\n")];

fn ignored(flower: &Flower) {
    put(flower, &flower.repo.join(".env"), "SECRET_TOKEN=canary-7f3a91\n");
    put(flower, &flower.repo.join("build/out"), "built\n");
}

/// Both snapshots have the same files, apart from what git ignores and the folders around them.
fn assert_same_files(expected: &Snapshot, found: &Snapshot, what: &str) {
    let own = |all: &Snapshot| -> Snapshot {
        let ignored = |name: &str| {
            name.starts_with(".env") || name.starts_with("build") || name.starts_with(".flower") || name == ".git"
        };
        // Of its rights git keeps whether a file can be run.
        let plain = |(name, (mode, content)): (&std::ffi::OsString, &(u32, Vec<u8>))| {
            (name.clone(), (mode & 0o170_100, content.clone()))
        };
        let is_folder = |mode: u32| mode & 0o170_000 == 0o040_000;
        all.iter()
            .filter(|(name, (mode, _))| !ignored(&name.to_string_lossy()) && !is_folder(*mode))
            .map(plain)
            .collect()
    };
    assert_eq!(differences(&own(expected), &own(found)), [""; 0], "{what}");
}

/// A commit's files, checked out beside everything else.
fn files_of(flower: &Flower, commit: &str) -> Snapshot {
    let dir = flower.dir().join(format!("look-{commit}"));
    git(flower, &flower.repo, &["worktree", "add", "--quiet", "--detach", dir.to_str().unwrap(), commit]);
    let found = files(&dir);
    git(flower, &flower.repo, &["worktree", "remove", "--force", dir.to_str().unwrap()]);
    found
}

#[test]
fn edits_in_main_are_noticed_and_undone_by_restore_without_loss() {
    let flower = serving(&FILES);
    ignored(&flower);
    let before = main_now(&flower);
    let edited = edit(&flower);
    let main = main_state(&flower);
    assert_eq!(main["state"], "dirty", "{main:#}");
    assert_eq!(main["alarm"]["files"], json!(["README.md", "old", "run", "staged"]), "{main:#}");
    says(&main["alarm"]["next"], "flower main rescue");
    let restored = flower.json(&["main", "restore"]);
    assert_eq!(restored["state"], "stable", "{restored:#}");
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(kept.starts_with("refs/flower/saved/"), "{restored:#}");
    let restored = main_now(&flower);
    assert_same_files(&before.1, &tracked(&restored.1), "restored");
    assert_same_files(&tracked(&edited), &files_of(&flower, &kept), "what is kept");
    assert_eq!(fs::read_to_string(flower.repo.join("new folder/ünder.txt")).unwrap(), "new\n");
    assert_eq!(fs::read_link(flower.repo.join("link")).unwrap(), Path::new("README.md"));
    // What was staged and edited since is kept as it was staged.
    let saved = git(&flower, &flower.repo, &["for-each-ref", "--format=%(refname)", "refs/flower/saved/index-*"]);
    assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{saved}:staged")]), "staged");
}

#[test]
fn saved_files_outlive_the_removal_of_a_project() {
    let flower = serving(&FILES);
    let edited = edit(&flower);
    let restored = flower.json(&["main", "restore"]);
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    let removed = flower.json(&["project", "remove", "--yes", "repo"]);
    says(&removed, &kept);
    assert_same_files(&tracked(&edited), &files_of(&flower, &kept), "what is kept");
    let left = git(&flower, &flower.repo, &["for-each-ref", "--format=%(refname)", "refs/flower"]);
    assert!(left.lines().all(|name| name.starts_with("refs/flower/saved/")), "{left}");
}

/// A merge by hand in MAIN that ended in a conflict and was left there.
#[test]
fn a_merge_that_stopped_halfway_is_put_right_without_loss() {
    for way in ["restore", "rescue"] {
        let flower = serving(&[GREEN, ("a", "1\n")]);
        change(&flower, "one", "x", "x\n");
        new(&flower, "side", &["--linked"]);
        change(&flower, "side", "a", "side\n");
        change(&flower, "ours", "a", "ours\n");
        lands(&flower, "ours");
        let before = main_now(&flower);
        refused(&flower, &["merge", "--quiet", "flower/side"]);
        let conflict = fs::read_to_string(flower.repo.join("a")).unwrap();
        assert!(conflict.contains("<<<<<<<"), "{conflict}");
        let main = main_state(&flower);
        assert_eq!((&main["state"], &main["alarm"]["files"]), (&json!("dirty"), &json!(["a"])), "{main:#}");
        let settled = flower.json(&["main", way]);
        assert_stable(&flower, &before.0, way);
        assert_main_is(&flower, &before, way);
        let kept = if way == "restore" {
            let name = settled["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
            git(&flower, &flower.repo, &["cat-file", "blob", &format!("{name}:a")]) + "\n"
        } else {
            fs::read_to_string(tree(&flower, "rescue-1").join("a")).unwrap()
        };
        assert_eq!(kept, conflict, "{way}");
        lands(&flower, "one");
        assert_main_is_whole(&flower);
    }
}

#[test]
fn edits_undone_by_hand_end_the_alarm() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let (alarm, took) = alarm_after(&flower, || put(&flower, &flower.repo.join("README.md"), "edited\n"));
    assert_eq!(alarm["body"]["what"], "dirty", "{alarm}");
    eprintln!("an edit was found after {took:?}");
    let waiting = queue(&flower, "one", &[]);
    flower.wait_for_pass("merge_queue");
    says(&landing(&flower, waiting)["reason"], "`README.md` was changed in MAIN by hand");
    flower.git(&flower.repo, &["checkout", "--quiet", "README.md"]);
    becomes(&flower, waiting, "landed");
    assert_eq!(events(&flower, "main_settled")[0]["body"]["how"], "undone");
    assert_ne!(tip(&flower), before.0);
}

#[test]
fn rescue_makes_all_of_it_a_worktree_and_landings_go_on() {
    as_each_user_unserved(|flower| {
        serve(flower, &FILES);
        ignored(flower);
        let before = main_now(flower);
        change(flower, "one", "one", "work\n");
        let first = commit_by_hand(flower, "first", "first\n");
        let second = commit_by_hand(flower, "second", "second\n");
        let edited = edit(flower);
        let waiting = queue(flower, "one", &[]);
        let rescued = flower.json(&["main", "rescue", "new folder", "link"]);
        assert_eq!((&rescued["state"], &rescued["left"]), (&json!("stable"), &json!([])), "{rescued:#}");
        let name = rescued["worktree"]["name"].as_str().unwrap();
        assert_eq!(name, "rescue-1");
        assert_same_files(&edited, &files(&tree(flower, name)), "the worktree");
        let history = inside_ok(flower, name, "git status --porcelain; git log --format=%H");
        assert!(history.contains(&first) && history.contains(&second), "{history}");
        assert!(!tree(flower, name).join(".env").exists());
        // The landing that waited has gone on.
        becomes(flower, waiting, "landed");
        retired(flower, "one");
        let main = main_now(flower);
        assert_eq!(differences(&before.1, &main.1).len(), 1, "{:?}", differences(&before.1, &main.1));
        assert_stable(flower, &main.0, "rescued");
        // And so does what was rescued.
        lands(flower, name);
        let mut expected = edited;
        expected.extend(main.1.into_iter().filter(|(name, _)| name == "one"));
        assert_same_files(&expected, &files(&flower.repo), "MAIN in the end");
        assert_eq!(fs::read_to_string(flower.repo.join(".env")).unwrap(), "SECRET_TOKEN=canary-7f3a91\n");
        assert_eq!(fs::read_to_string(flower.repo.join("build/out")).unwrap(), "built\n");
        assert_main_is_whole(flower);
    });
}

#[test]
fn adopt_runs_the_checks() {
    let flower = serving(&[("flower.toml", &check("test ! -e bad"))]);
    let recorded = tip(&flower);
    let hand = commit_by_hand(&flower, "good", "good\n");
    let adopted = settlement(&flower.run(&["main", "adopt", "--wait", "--json"]));
    assert_eq!((&adopted["state"], &adopted["source"]), (&json!("landed"), &json!("adopted")), "{adopted:#}");
    assert_eq!(adopted["checks"][0]["ok"], true, "{adopted:#}");
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "main^1", "main^2"]), format!("{recorded}\n{hand}"));
    assert_stable(&flower, &tip(&flower), "adopted");
    change(&flower, "one", "x", "x\n");
    commit_by_hand(&flower, "bad", "bad\n");
    let moved = main_now(&flower);
    let adopted = settlement(&flower.run(&["main", "adopt", "--wait", "--json"]));
    assert_eq!(adopted["state"], "rejected", "{adopted:#}");
    says(&adopted["reason"], "the check `test` failed");
    assert_eq!(main_state(&flower)["state"], "moved");
    assert_main_is(&flower, &moved, "a red adoption");
    let waiting = queue(&flower, "one", &[]);
    flower.ok(&["main", "restore"]);
    becomes(&flower, waiting, "landed");
    assert!(!flower.repo.join("bad").exists());
    assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("refs/flower/saved/{}:bad", moved.0)]), "bad");
}

#[test]
fn a_commit_that_changes_nothing_can_be_adopted() {
    let flower = serving(&[GREEN]);
    by_hand(&flower, &["commit", "--quiet", "--allow-empty", "--message", "a note"]);
    let hand = tip(&flower);
    let adopted = settlement(&flower.run(&["main", "adopt", "--wait", "--json"]));
    assert_eq!(adopted["state"], "landed", "{adopted:#}");
    assert_stable(&flower, &tip(&flower), "adopted");
    git(&flower, &flower.repo, &["merge-base", "--is-ancestor", &hand, "main"]);
}

#[test]
fn adopting_commits_leaves_edits_where_they_are() {
    let flower = serving(&[GREEN]);
    commit_by_hand(&flower, "committed", "committed\n");
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    put(&flower, &flower.repo.join("untracked"), "untracked\n");
    let edited = files(&flower.repo);
    let adopted = settlement(&flower.run(&["main", "adopt", "--wait", "--json"]));
    assert_eq!(adopted["state"], "landed", "{adopted:#}");
    assert_eq!(differences(&edited, &files(&flower.repo)), [""; 0]);
    let main = main_state(&flower);
    assert_eq!(main["state"], "dirty", "{main:#}");
    assert_eq!(main["alarm"]["files"], json!(["README.md"]));
    assert_eq!(flower.json(&["main", "rescue", "untracked"])["state"], "stable");
    assert_same_files(&edited, &files(&tree(&flower, "rescue-1")), "the rescued edits");
}

#[test]
fn commits_that_are_gone_come_back_by_restore() {
    let flower = serving(&[GREEN, ("a", "a\n")]);
    let before = main_now(&flower);
    by_hand(&flower, &["reset", "--quiet", "--hard", "HEAD~1"]);
    assert!(!flower.repo.join("a").exists());
    assert_eq!(main_state(&flower)["state"], "moved");
    says(&flower.fails(&["main", "adopt"], 1)["hints"], "flower main restore");
    flower.ok(&["main", "restore"]);
    assert_stable(&flower, &before.0, "moved back");
    assert_main_is(&flower, &before, "moved back");
    by_hand(&flower, &["commit", "--quiet", "--amend", "--message", "another"]);
    let amended = tip(&flower);
    assert_eq!(main_state(&flower)["state"], "moved");
    flower.ok(&["main", "restore"]);
    assert_stable(&flower, &before.0, "amended");
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", &format!("refs/flower/saved/{amended}")]), amended);
}

#[test]
fn a_checkout_of_something_else_is_put_back() {
    let flower = serving(&[GREEN, ("a", "a\n")]);
    let before = main_now(&flower);
    change(&flower, "one", "x", "x\n");
    flower.git(&flower.repo, &["branch", "side", "HEAD~1"]);
    let aways: [(&str, &[&[&str]]); 4] = [
        ("detached", &[&["checkout", "--quiet", "--detach"]]),
        ("detached elsewhere", &[&["checkout", "--quiet", "HEAD~1"]]),
        ("another branch", &[&["checkout", "--quiet", "side"]]),
        (
            "the branch is gone",
            &[&["checkout", "--quiet", "--detach"], &["-c", "core.hooksPath=/dev/null", "branch", "-D", "main"]],
        ),
    ];
    for (what, commands) in aways {
        for args in commands {
            flower.git(&flower.repo, args);
        }
        put(&flower, &flower.repo.join("README.md"), what);
        let main = main_state(&flower);
        assert_eq!(main["state"], "moved", "{what}: {main:#}");
        says(&main["alarm"]["next"], "flower main restore");
        let waiting = queue(&flower, "one", &[]);
        flower.wait_for_pass("merge_queue");
        assert_eq!(landing(&flower, waiting)["state"], "queued", "{what}");
        flower.ok(&["queue", "cancel", &waiting.to_string()]);
        let restored = flower.json(&["main", "restore"]);
        assert_eq!(restored["state"], "stable", "{what}: {restored:#}");
        assert_stable(&flower, &before.0, what);
        assert_main_is(&flower, &before, what);
        let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
        assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{kept}:README.md")]), what);
    }
    lands(&flower, "one");
}

#[test]
fn a_repository_that_is_moved_away_is_served_again_once_it_is_back() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let away = flower.dir().join("away");
    fs::rename(&flower.repo, &away).unwrap();
    for args in [
        &["main", "--project", "repo"][..],
        &["land", "one", "--project", "repo"],
        &["main", "restore", "--project", "repo"],
    ] {
        let output = flower.run_in(flower.dir(), &[args, &["--json"]].concat());
        assert_ne!(output.code, 0, "{args:?}: {output:?}");
        says(&output.error(output.code)["message"], "repo");
    }
    assert!(!flower.repo.exists(), "it was made again");
    fs::rename(&away, &flower.repo).unwrap();
    assert_main_is(&flower, &before, "back");
    assert_stable(&flower, &before.0, "back");
    lands(&flower, "one");
    assert_eq!(events(&flower, "main_alarm"), [Value::Null; 0]);
}

#[test]
fn a_project_without_commits_gets_its_fence_with_the_first_one() {
    let flower = serving(&[]);
    let empty = flower.dir().join("empty");
    flower.git(flower.dir(), &["init", "--quiet", "--initial-branch", "main", "empty"]);
    flower.json_in(&empty, &["init"]);
    put(&flower, &empty.join("a.txt"), "a\n");
    flower.git(&empty, &["add", "."]);
    flower.git(&empty, &["commit", "--quiet", "--message", "first"]);
    assert_eq!(flower.json_in(&empty, &["main"])["hook"], "installed");
    assert!(empty.join(".git/hooks/reference-transaction").exists());
}
