//! A person lives in MAIN: leaves files there, pulls, merges and resets by habit, and waits for landings.

use super::*;

#[test]
fn untracked_files_in_main_do_not_matter() {
    let flower = serving(&[GREEN]);
    put(&flower, &flower.repo.join("notes.txt"), "scratch\n");
    put(&flower, &flower.repo.join(".venv/lib/one.py"), "one\n");
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]), (&json!("stable"), &Value::Null), "{main:#}");
    change(&flower, "one", "x", "x\n");
    lands(&flower, "one");
    assert_eq!(events(&flower, "main_alarm"), [Value::Null; 0]);
    // One that a landing would overwrite is not.
    change(&flower, "two", "notes.txt", "theirs\n");
    let rejected = land(&flower, "two");
    assert_eq!((&rejected["state"], &rejected["paths"]), (&json!("rejected"), &json!(["notes.txt"])), "{rejected:#}");
    assert_eq!(fs::read_to_string(flower.repo.join("notes.txt")).unwrap(), "scratch\n");
    assert_eq!(fs::read_to_string(flower.repo.join(".venv/lib/one.py")).unwrap(), "one\n");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn an_untracked_file_in_the_way_rejects_before_the_checks_run() {
    let flower = serving(&[GREEN]);
    put(&flower, &flower.repo.join("notes.txt"), "scratch\n");
    change(&flower, "one", "notes.txt", "theirs\n");
    let checked = flower.run(&["check", "one"]);
    assert!(checked.code == 1 && checked.stderr.contains("flower main rescue notes.txt"), "{checked:?}");
    let rejected = land(&flower, "one");
    assert_eq!((&rejected["state"], &rejected["checks"]), (&json!("rejected"), &json!([])), "{rejected:#}");
    assert_eq!(rejected["paths"], json!(["notes.txt"]), "{rejected:#}");
    says(&rejected["reason"], "`flower main rescue notes.txt`, and land again");
    // Exactly what would land is in nothing's way.
    put(&flower, &flower.repo.join("notes.txt"), "theirs\n");
    lands(&flower, "one");
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(flower.json(&["main"])["state"], "stable");
}

#[test]
fn rescue_takes_untracked_files_only_if_they_are_named() {
    let flower = serving(&[GREEN, (".gitignore", ".env\n")]);
    put(&flower, &flower.repo.join("notes.txt"), "scratch\n");
    put(&flower, &flower.repo.join("docs/plan.md"), "plan\n");
    put(&flower, &flower.repo.join(".env"), "SECRET=1\n");
    let refused = flower.fails(&["main", "rescue"], 1);
    says(&refused["message"], "untracked files stay where they are");
    says(&refused["hints"], "flower main rescue docs/");
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    let rescued = flower.json(&["main", "rescue"]);
    assert_eq!((&rescued["state"], &rescued["files"]), (&json!("stable"), &json!(["README.md"])), "{rescued:#}");
    assert!(flower.repo.join("notes.txt").exists() && !tree(&flower, "rescue-1").join("notes.txt").exists());
    // From a folder below, too.
    let docs = flower.repo.join("docs");
    let rescued = flower.json_in(&docs, &["main", "rescue", "--as", "mine", "plan.md", "../notes.txt"]);
    assert_eq!(rescued["files"], json!(["docs/plan.md", "notes.txt"]), "{rescued:#}");
    assert_eq!(fs::read_to_string(tree(&flower, "mine").join("docs/plan.md")).unwrap(), "plan\n");
    assert!(!flower.repo.join("notes.txt").exists() && !docs.exists());
    for (path, code) in [("nowhere", 1), (".env", 1), ("../outside", 2), (".git/config", 2), ("/etc/passwd", 2)] {
        flower.fails(&["main", "rescue", path], code);
    }
    assert_eq!(fs::read_to_string(flower.repo.join(".env")).unwrap(), "SECRET=1\n");
    assert_main_is_whole(&flower);
}

#[test]
fn a_restore_keeps_untracked_files_that_are_in_its_way() {
    let flower = serving(&[GREEN, ("a", "a\n"), ("folder/b", "b\n")]);
    let before = main_now(&flower);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", "HEAD~1"]);
    put(&flower, &flower.repo.join("a"), "mine\n");
    put(&flower, &flower.repo.join("folder"), "mine too\n");
    let restored = flower.json(&["main", "restore"]);
    assert_eq!(restored["state"], "stable", "{restored:#}");
    assert_main_is(&flower, &before, "restored");
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    for (path, content) in [("a", "mine"), ("folder", "mine too")] {
        assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{kept}:{path}")]), content);
    }
}

#[test]
fn a_wait_ends_with_its_own_code_and_names_the_way_out() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    let waited = flower.run(&["land", "one", "--wait", "--timeout", "1s", "--json"]);
    let problem = waited.error(6);
    assert_eq!(problem["kind"], "still_waiting", "{problem}");
    for words in [
        "landing 1 is still queued",
        "`README.md` was changed in MAIN by hand",
        "flower main rescue",
        "flower main restore",
    ] {
        says(&problem["message"], words);
    }
    says(&problem["hints"], "flower queue cancel 1");
    // The same commits join the landing that waits.
    flower.fails(&["land", "one"], 4);
    let joined =
        flower.command(&["land", "one", "--wait", "--json"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    flower.ok(&["main", "restore"]);
    let joined = joined.wait_with_output().unwrap();
    let landed: Value = serde_json::from_slice(&joined.stdout).unwrap();
    assert_eq!((&landed["id"], &landed["state"]), (&json!(1), &json!("landed")), "{landed:#}");
    flower.fails(&["land", "one", "--timeout", "1s"], 2);
}

#[test]
fn approve_can_wait_for_the_landing() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "flower.toml", check("test -e README.md"));
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    let landed: Value = flower.json(&["queue", "approve", &number(&held).to_string(), "--wait"]);
    assert_eq!(landed["state"], "landed", "{landed:#}");
}

#[test]
fn a_second_freeze_without_a_reason_keeps_the_reason() {
    let flower = serving(&[GREEN]);
    flower.ok(&["freeze", "release week"]);
    assert_eq!(flower.json(&["freeze"])["frozen"], "release week");
    assert_eq!(flower.json(&["freeze", "two releases"])["frozen"], "two releases");
    flower.ok(&["thaw"]);
    assert_eq!(flower.json(&["freeze"])["frozen"], "frozen by hand");
}

#[test]
fn status_and_main_agree_about_main() {
    let flower = serving(&[GREEN, ("deep/down/file", "1\n")]);
    let agree = |state: &str| {
        // The status comes first: it must not need another command to look.
        assert_eq!(flower.json(&["status"])["main"]["state"], state);
        assert_eq!(flower.json(&["main"])["state"], state);
    };
    agree("stable");
    let file = flower.repo.join("deep/down/file");
    put(&flower, &file, "2\n");
    agree("dirty");
    put(&flower, &file, "1\n");
    agree("stable");
    flower.git(&flower.repo, &["checkout", "--quiet", "--detach"]);
    agree("moved");
    flower.git(&flower.repo, &["checkout", "--quiet", "main"]);
    agree("stable");
}

#[test]
fn a_landing_waits_for_the_branch_and_leaves_the_work_on_another_one_alone() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo 1 > one; git add -A; git commit -qm one");
    flower.git(&flower.repo, &["switch", "--quiet", "--create", "feature"]);
    put(&flower, &flower.repo.join("feature"), "mine\n");
    flower.git(&flower.repo, &["add", "feature"]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "feature"]);
    put(&flower, &flower.repo.join("README.md"), "edited\n");
    let landing = flower.json(&["land", "one"]);
    // At once and everywhere, with both ways out.
    let up = flower.json(&["up"]);
    says(&up["notices"], "this checkout is on `feature`");
    for next in
        [&flower.json(&["status"])["main"]["next"], &flower.json(&["main"])["alarm"]["next"], &landing["reason"]]
    {
        says(next, "git switch");
        says(next, "flower main restore");
    }
    flower.wait_until_idle("merge_queue");
    assert_eq!(flower.json(&["queue"])[0]["state"], "queued");
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]).trim(), "M README.md");
    assert_eq!(git(&flower, &flower.repo, &["log", "--format=%s", "-1"]), "feature");
    flower.git(&flower.repo, &["commit", "--quiet", "--all", "--message", "edited"]);
    flower.git(&flower.repo, &["switch", "--quiet", "main"]);
    assert_eq!(flower.json(&["status"])["main"]["state"], "stable");
    eventually("it lands", || (flower.json(&["queue", "show", "1"])["state"] == "landed").then_some(()));
    assert_eq!(git(&flower, &flower.repo, &["log", "--format=%s", "feature", "-1"]), "edited");
    assert_main_is_whole(&flower);
}

/// git in MAIN as a person uses it, with the hook. Returns whether git succeeded, and what it printed.
fn by_habit(flower: &Flower, args: &[&str]) -> (bool, String) {
    let mut git = Command::new("git");
    let output = flower.in_own_environment(git.args(args).current_dir(&flower.repo)).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A branch beside MAIN with one commit, which adds, changes and deletes files.
fn side(flower: &Flower, name: &str, base: &str) -> String {
    let dir = flower.dir().join(name);
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "-b", name, dir.to_str().unwrap(), base]);
    put(flower, &dir.join(format!("new folder/{name}")), name);
    put(flower, &dir.join("README.md"), format!("{name}\n"));
    fs::remove_file(dir.join("old")).unwrap();
    flower.git(&dir, &["add", "--all"]);
    flower.git(&dir, &["commit", "--quiet", "--message", name]);
    git(flower, &dir, &["rev-parse", "HEAD"])
}

const OLD: (&str, &str) = ("old", "old\n");

fn saved(flower: &Flower) -> String {
    git(flower, &flower.repo, &["for-each-ref", "--format=%(objectname)", "refs/flower/saved"])
}

#[test]
fn what_git_wrote_before_it_was_refused_is_put_back() {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN, OLD]);
        let first = git(flower, &flower.repo, &["rev-parse", "main~1"]);
        change(flower, "one", "mine", "mine\n");
        lands(flower, "one");
        let ahead = side(flower, "ahead", "main");
        let beside = side(flower, "beside", "main~1");
        put(flower, &flower.repo.join("notes.txt"), "untracked\n");
        let before = main_now(flower);
        let habits: [(&[&str], Option<&str>); 6] = [
            (&["merge", "--quiet", "ahead"], Some(&ahead)),
            (&["merge", "--quiet", "--no-edit", "beside"], None),
            (&["reset", "--quiet", "--hard", &first], Some(&first)),
            (&["reset", "--quiet", &first], Some(&first)),
            (&["checkout", "--quiet", "-B", "main", "beside"], Some(&beside)),
            (&["pull", "--quiet", "--no-rebase", "--no-edit", ".", "ahead"], Some(&ahead)),
        ];
        for (count, (args, commit)) in habits.into_iter().enumerate() {
            let (moved, said) = by_habit(flower, args);
            assert!(!moved && said.contains("flower puts them back"), "{args:?}: {said}");
            let event = eventually("it is put back", || events(flower, "main_put_back").get(count).cloned());
            let main = flower.json(&["main"]);
            assert_eq!(main["state"], "stable", "{args:?}: {main:#}");
            assert_main_is(flower, &before, &format!("{args:?}"));
            assert!(!flower.repo.join(".git/MERGE_HEAD").exists(), "{args:?}");
            let kept = event["body"]["commit"].as_str().unwrap();
            assert!(saved(flower).contains(kept), "{args:?}");
            assert!(commit.is_none_or(|commit| commit == kept), "{args:?}: {event}");
            says(&main["notes"], &format!("refs/flower/saved/{kept}"));
            assert_eq!(git(flower, &flower.repo, &["status", "--porcelain"]), "?? notes.txt", "{args:?}");
        }
        // Nothing waits.
        change(flower, "two", "two", "two\n");
        lands(flower, "two");
        assert_eq!(events(flower, "main_alarm"), [Value::Null; 0]);
    });
}

/// A MAIN with a commit of its own and one on a remote.
fn diverged(flower: &Flower) -> String {
    serve(flower, &[GREEN, OLD]);
    let beside = side(flower, "beside", "main");
    flower.git(&flower.repo, &["config", "remote.origin.url", "."]);
    flower.git(&flower.repo, &["config", "remote.origin.fetch", "+refs/heads/beside:refs/remotes/origin/main"]);
    for path in ["mine", "more"] {
        change(flower, "one", path, "mine\n");
        lands(flower, "one");
    }
    beside
}

#[test]
fn a_rebase_a_cherry_pick_and_a_revert_are_put_back() {
    as_each_user_unserved(|flower| {
        diverged(flower);
        put(flower, &flower.repo.join("notes.txt"), "untracked\n");
        let before = main_now(flower);
        let habits: [&[&str]; 7] = [
            &["pull", "--quiet", "--rebase", "origin", "beside"],
            &["rebase", "--quiet", "beside"],
            &["rebase", "--quiet", "--apply", "beside"],
            &["cherry-pick", "beside"],
            &["cherry-pick", "beside~1..beside", "beside"],
            &["revert", "--no-edit", "main"],
            &["merge", "--quiet", "--no-ff", "--no-edit", "beside"],
        ];
        for (count, args) in habits.into_iter().enumerate() {
            let (moved, said) = by_habit(flower, args);
            assert!(!moved && said.contains("flower puts them back"), "{args:?}: {said}");
            let event = eventually("it is put back", || events(flower, "main_put_back").get(count).cloned());
            let main = flower.json(&["main"]);
            assert_eq!(main["state"], "stable", "{args:?}: {main:#}");
            assert_main_is(flower, &before, &format!("{args:?}"));
            assert!(saved(flower).contains(event["body"]["commit"].as_str().unwrap()), "{args:?}");
            for state in ["rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_HEAD"]
            {
                assert!(!flower.repo.join(".git").join(state).exists(), "{args:?}: {state}");
            }
            let status = git(flower, &flower.repo, &["status"]);
            assert!(status.starts_with("On branch main") && !status.contains("rebas"), "{args:?}: {status}");
            assert_eq!(git(flower, &flower.repo, &["status", "--porcelain"]), "?? notes.txt", "{args:?}");
        }
        change(flower, "two", "two", "two\n");
        lands(flower, "two");
    });
}

#[test]
fn a_rebase_in_which_a_person_decided_something_stays_and_is_named() {
    let flower = Flower::new();
    diverged(&flower);
    change(&flower, "one", "README.md", "ours\n");
    lands(&flower, "one");
    let before = main_now(&flower);
    assert!(!by_habit(&flower, &["rebase", "--quiet", "beside"]).0, "it conflicts");
    put(&flower, &flower.repo.join("README.md"), "decided\n");
    flower.git(&flower.repo, &["add", "README.md"]);
    let (moved, said) = by_habit(&flower, &["-c", "core.editor=true", "rebase", "--continue"]);
    assert!(!moved && said.contains("only moves by landing"), "{said}");
    let main = flower.json(&["main"]);
    assert_eq!(main["state"], "moved", "{main:#}");
    says(&main["reason"], "`git rebase --abort` ends it");
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "decided\n");
    let restored = flower.json(&["main", "restore"]);
    assert_eq!(restored["state"], "stable", "{restored:#}");
    assert_main_is(&flower, &before, "restored");
    assert!(!flower.repo.join(".git/rebase-merge").exists());
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{kept}:README.md")]), "decided");
    // A cherry-pick, too.
    assert!(!by_habit(&flower, &["cherry-pick", "beside"]).0, "it conflicts");
    put(&flower, &flower.repo.join("README.md"), "decided\n");
    flower.git(&flower.repo, &["add", "README.md"]);
    assert!(!by_habit(&flower, &["-c", "core.editor=true", "cherry-pick", "--continue"]).0);
    assert_eq!(flower.json(&["main"])["state"], "dirty");
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "decided\n");
    assert_eq!(events(&flower, "main_put_back"), [Value::Null; 0]);
}

#[test]
fn what_a_rebase_has_put_aside_is_not_lost() {
    let flower = Flower::new();
    diverged(&flower);
    let before = main_now(&flower);
    put(&flower, &flower.repo.join("mine"), "edited\n");
    assert!(!by_habit(&flower, &["pull", "--quiet", "--rebase", "--autostash", "origin", "beside"]).0);
    let main = flower.json(&["main"]);
    assert_eq!(main["state"], "moved", "{main:#}");
    says(&main["reason"], "brings back files that git has put aside");
    let restored = flower.json(&["main", "restore"]);
    assert_main_is(&flower, &before, "restored");
    says(&restored["notes"], "what git had put aside for the rebase is kept as refs/flower/saved/");
    let kept = restored["notes"][0].as_str().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(git(&flower, &flower.repo, &["cat-file", "blob", &format!("{kept}:mine")]), "edited");
}

#[test]
fn without_the_hook_the_command_that_moved_main_is_named() {
    let flower = Flower::new();
    diverged(&flower);
    flower.git(&flower.repo, &["config", "core.hooksPath", ".husky"]);
    let before = main_now(&flower);
    let habits: [(&[&str], &str); 4] = [
        (&["pull", "--quiet", "--no-rebase", "--no-edit", "origin", "beside"], "(`git pull`)"),
        (&["pull", "--quiet", "--rebase", "origin", "beside"], "`flower main restore`, then `flower main pull`"),
        (&["merge", "--quiet", "--no-ff", "--no-edit", "beside"], "(`git merge`)"),
        (&["commit", "--quiet", "--allow-empty", "--message", "hand"], "(`git commit`)"),
    ];
    for (args, part) in habits {
        assert!(by_habit(&flower, args).0, "{args:?}");
        let main = flower.json(&["main"]);
        assert_eq!((&main["state"], &main["hook"]), (&json!("moved"), &json!("elsewhere")), "{args:?}: {main:#}");
        says(&main["reason"], part);
        says(&main["alarm"]["next"], "`flower main adopt`");
        flower.ok(&["main", "restore"]);
        assert_main_is(&flower, &before, &format!("{args:?}"));
    }
}

#[test]
fn one_byte_more_is_a_change_by_hand() {
    let flower = serving(&[GREEN, OLD, ("a", "a\n")]);
    side(&flower, "ahead", "main");
    let before = main_now(&flower);
    type Edit = fn(&Flower);
    let by_hand: [(&str, Edit); 4] = [
        ("a byte", |flower| put(flower, &flower.repo.join("README.md"), "ahead\n ")),
        ("a mode", |flower| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(flower.repo.join("README.md"), fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("another file", |flower| put(flower, &flower.repo.join("a"), "b\n")),
        ("something staged", |flower| {
            put(flower, &flower.repo.join("staged"), "staged\n");
            flower.git(&flower.repo, &["add", "staged"]);
        }),
    ];
    for (what, edit) in by_hand {
        // Without a daemon, so that the edit is there when flower looks.
        flower.ok(&["down"]);
        assert!(!by_habit(&flower, &["merge", "--quiet", "ahead"]).0);
        edit(&flower);
        let edited = files(&flower.repo);
        flower.start();
        let main = flower.json(&["main"]);
        assert_eq!(main["state"], "dirty", "{what}: {main:#}");
        assert_eq!(differences(&edited, &files(&flower.repo)), [""; 0], "{what}");
        let restored = flower.json(&["main", "restore"]);
        assert_eq!(restored["state"], "stable", "{what}: {restored:#}");
        assert_main_is(&flower, &before, what);
    }
    // Undone, only git's own files are left.
    flower.ok(&["down"]);
    assert!(!by_habit(&flower, &["merge", "--quiet", "ahead"]).0);
    put(&flower, &flower.repo.join("a"), "b\n");
    flower.start();
    assert_eq!(flower.json(&["main"])["state"], "dirty");
    put(&flower, &flower.repo.join("a"), "a\n");
    assert_eq!(flower.json(&["main"])["state"], "stable");
    assert_main_is(&flower, &before, "undone");
}

/// git compares times by the second: what it finds by content because of that, a copy of its index must find as well.
#[test]
fn an_edit_in_the_second_of_gits_last_look_is_found() {
    use std::os::unix::fs::MetadataExt;
    let flower = serving(&[GREEN, OLD, ("a", "a\n")]);
    side(&flower, "ahead", "main");
    flower.ok(&["down"]);
    let second = |file: &str| fs::metadata(flower.repo.join(file)).unwrap().mtime();
    eventually("git looks and a person edits within one second", || {
        put(&flower, &flower.repo.join("a"), "a\n");
        flower.git(&flower.repo, &["update-index", "--refresh"]);
        assert!(!by_habit(&flower, &["merge", "--quiet", "ahead"]).0);
        let looked = second("a");
        put(&flower, &flower.repo.join("a"), "b\n");
        let is_one = [second("a"), second(".git/index")] == [looked; 2];
        if !is_one {
            flower.git(&flower.repo, &["read-tree", "-u", "--reset", "HEAD"]);
        }
        is_one.then_some(())
    });
    // In a later second, as flower's copies of the index are made.
    let edited = second("a");
    eventually("the second is over", || {
        put(&flower, &flower.dir().join("clock"), "");
        (fs::metadata(flower.dir().join("clock")).unwrap().mtime() > edited).then_some(())
    });
    flower.start();
    let main = flower.json(&["main"]);
    says(&main["alarm"]["files"], "\"a\"");
    let restored = flower.json(&["main", "restore"]);
    assert_eq!(restored["state"], "stable", "{restored:#}");
    let saved = git(&flower, &flower.repo, &["for-each-ref", "--format=%(refname):a", "refs/flower/saved"]);
    let contents: Vec<String> = saved.lines().map(|file| git(&flower, &flower.repo, &["show", file])).collect();
    assert!(contents.iter().any(|content| content == "b"), "{saved}");
}

/// git has written no file of a commit by hand: all of them are the person's own.
#[test]
fn the_files_of_a_refused_commit_stay() {
    let flower = serving(&[GREEN, OLD]);
    put(&flower, &flower.repo.join("README.md"), "mine\n");
    assert!(!by_habit(&flower, &["commit", "--quiet", "--all", "--message", "mine"]).0);
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]["files"]), (&json!("dirty"), &json!(["README.md"])), "{main:#}");
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "mine\n");
    // Neither does a merge in which a person has decided something.
    flower.ok(&["main", "restore"]);
    side(&flower, "beside", "main");
    change(&flower, "one", "README.md", "ours\n");
    lands(&flower, "one");
    assert!(!by_habit(&flower, &["merge", "--quiet", "beside"]).0);
    put(&flower, &flower.repo.join("README.md"), "decided\n");
    flower.git(&flower.repo, &["add", "README.md"]);
    assert!(!by_habit(&flower, &["commit", "--quiet", "--no-edit"]).0);
    assert_eq!(flower.json(&["main"])["state"], "dirty");
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "decided\n");
    assert_eq!(events(&flower, "main_put_back"), [Value::Null; 0]);
}

#[test]
fn hostile_notes_of_refused_moves_do_no_harm() {
    let flower = serving(&[GREEN, OLD]);
    let note = flower.repo.join(".git/flower-tried");
    put(&flower, &flower.repo.join("README.md"), "mine\n");
    let edited = files(&flower.repo);
    let tree = git(&flower, &flower.repo, &["rev-parse", "main^{tree}"]);
    let lines =
        ["--help", "HEAD", "../../x", &"0".repeat(40), &"a".repeat(40), &tree, "ref:refs/heads/main", "\u{1b}[2J"];
    let hostile = [lines.join("\n"), "a".repeat(1 << 20), "\0\n".repeat(100)];
    for text in hostile {
        put(&flower, &note, text);
        assert_eq!(flower.json(&["main"])["state"], "dirty");
        assert_eq!(differences(&edited, &files(&flower.repo)), [""; 0]);
    }
    // Neither the hook nor the daemon waits for a FIFO.
    fs::remove_file(&note).unwrap();
    assert!(Command::new("mkfifo").arg(&note).status().unwrap().success());
    assert!(!by_habit(&flower, &["update-ref", "refs/heads/main", "HEAD~1"]).0);
    assert_eq!(flower.json(&["main"])["state"], "dirty");
    flower.ok(&["main", "restore"]);
    assert!(!note.exists());
    assert_eq!(events(&flower, "main_put_back"), [Value::Null; 0]);
}

/// A git that still holds the index has not finished: what it leaves is judged afterwards.
#[test]
fn the_checkout_is_not_put_back_while_git_holds_the_index() {
    let flower = serving(&[GREEN, OLD]);
    side(&flower, "ahead", "main");
    flower.ok(&["down"]);
    assert!(!by_habit(&flower, &["merge", "--quiet", "ahead"]).0);
    let (written, lock) = (files(&flower.repo), flower.repo.join(".git/index.lock"));
    put(&flower, &lock, "");
    flower.start();
    assert_eq!(flower.json(&["main"])["state"], "dirty");
    assert_eq!(differences(&written, &files(&flower.repo)), [""; 0]);
    fs::remove_file(lock).unwrap();
    eventually("it is put back", || (flower.json(&["main"])["state"] == "stable").then_some(()));
    assert_eq!(fs::read_to_string(flower.repo.join("old")).unwrap(), "old\n");
}

#[test]
fn a_project_that_is_removed_leaves_no_note() {
    let flower = serving(&[GREEN, OLD]);
    flower.ok(&["down"]);
    assert!(!by_habit(&flower, &["update-ref", "refs/heads/main", "HEAD~1"]).0);
    assert!(flower.repo.join(".git/flower-tried").exists());
    flower.start();
    flower.ok(&["project", "remove", "--yes", "repo"]);
    let names = fs::read_dir(flower.repo.join(".git")).unwrap().flatten().map(|entry| entry.file_name());
    let ours: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with("flower")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}
