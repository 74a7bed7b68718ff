//! Commits that are odd, in conflict, enormous or in the way of something: each lands whole or is rejected, and no
//! file is lost.

use super::*;
use std::fmt::Write as _;

#[test]
fn nothing_new_is_refused_with_the_next_step() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &["--lane"]);
    let error = flower.fails(&["land", "one"], 1);
    says(&error["message"], "has nothing that is not in MAIN");
    put(&flower, &tree(&flower, "one").join("x"), "x\n");
    let error = flower.fails(&["land", "one"], 1);
    says(&error["message"], "nothing new is committed in `one`, but files are changed");
    says(&error["hints"], "git add -A && git commit");
    commit_inside(&flower, "one", "x");
    lands(&flower, "one");
    says(&flower.fails(&["land", "one"], 1)["message"], "has nothing that is not in MAIN");
    inside_ok(&flower, "one", "git checkout -q --detach; git update-ref -d refs/heads/flower/one");
    let error = flower.run(&["land", "one", "--json"]);
    assert_ne!(error.code, 0, "{error:?}");
    assert_eq!(flower.json(&["queue"]), json!([]));
}

#[test]
fn commits_that_others_have_landed_are_nothing_new() {
    let flower = serving(&[GREEN]);
    for name in ["one", "two"] {
        new(&flower, name, &["--linked"]);
        put(&flower, &tree(&flower, name).join("x"), "x\n");
        commit_inside(&flower, name, name);
    }
    new(&flower, "empty", &["--linked"]);
    inside_ok(&flower, "empty", "git commit -q --allow-empty -m empty");
    lands(&flower, "one");
    let before = main_now(&flower);
    for name in ["two", "empty"] {
        let landing = land(&flower, name);
        assert_eq!(landing["state"], "rejected", "{name}: {landing:#}");
        says(&landing["reason"], "MAIN has all of it already");
        assert_main_is(&flower, &before, name);
    }
}

#[test]
fn a_conflict_names_the_paths_and_who_was_there() {
    let flower = serving(&[GREEN, ("a", "1\n"), ("b", "1\n")]);
    for name in ["one", "two"] {
        change(&flower, name, "a", format!("{name}\n"));
        change(&flower, name, name, "work\n");
    }
    let first = lands(&flower, "one");
    let before = main_now(&flower);
    let output = flower.run(&["land", "two", "--wait", "--json"]);
    assert_eq!(output.code, 4, "{output:?}");
    let landing = settlement(&output);
    assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!(["a"])), "{landing:#}");
    says(&landing["reason"], &format!("since then landing {} (Land one) changed it", number(&first)));
    says(&landing["reason"], "flower worktree sync two");
    let rejected = events(&flower, "landing_rejected");
    assert_eq!(rejected[0]["body"]["landed_there"], json!([first["id"]]), "{rejected:?}");
    assert_main_is(&flower, &before, "in conflict");
    // As it says: merged there, settled, landed.
    inside(&flower, "two", "git merge -q main");
    put(&flower, &tree(&flower, "two").join("a"), "both\n");
    commit_inside(&flower, "two", "settled");
    lands(&flower, "two");
    assert_eq!(fs::read_to_string(flower.repo.join("a")).unwrap(), "both\n");
}

#[test]
fn a_branch_rewritten_while_it_waits_lands_as_it_was_gated() {
    for seal in ["--sealed", "--linked"] {
        let flower = serving(&[GREEN]);
        new(&flower, "one", &[seal]);
        let gated = change(&flower, "one", "AGENTS.md", "harmless\n");
        let held = land(&flower, "one");
        assert_eq!(held["state"], "approval", "{held:#}");
        inside_ok(
            &flower,
            "one",
            "echo evil > AGENTS.md; git commit -qa --amend -m evil; git reflog expire --expire=now --all",
        );
        show(&flower, "one");
        let landed = approve(&flower, number(&held));
        assert_eq!(landed["commit"], gated.as_str(), "{landed:#}");
        assert_eq!(fs::read_to_string(flower.repo.join("AGENTS.md")).unwrap(), "harmless\n", "{seal}");
        assert_main_is_whole(&flower);
    }
}

/// Nothing in common with MAIN: what is new comes beside what is there, and what is there twice does not merge.
#[test]
fn an_unrelated_history_takes_nothing_away() {
    let flower = serving(&[GREEN, ("a", "a\n")]);
    let before = main_now(&flower);
    for (name, file) in [("apart", "new"), ("over", "a")] {
        new(&flower, name, &["--linked"]);
        inside_ok(
            &flower,
            name,
            &format!(
                "blob=$(echo unrelated | git hash-object -w --stdin)
                 git update-ref refs/heads/flower/{name} $(git commit-tree -m unrelated $(printf '100644 blob %s\\t{file}\\n' $blob | git mktree))"
            ),
        );
    }
    let landing = land(&flower, "over");
    assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!(["a"])), "{landing:#}");
    assert_main_is(&flower, &before, "in conflict");
    lands(&flower, "apart");
    let after = main_now(&flower);
    let differs = differences(&before.1, &after.1);
    assert!(differs.len() == 1 && differs[0].starts_with("new: nothing"), "{differs:?}");
    assert_main_is_whole(&flower);
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn very_many_files_wait_for_the_operator_and_land() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &["--linked"]);
    let mut stream = String::from("blob\nmark :1\ndata 5\nmany\n\n");
    let author = "committer T <t@example.com> 1700000000 +0000";
    write!(stream, "commit refs/heads/flower/one\n{author}\ndata 4\nmany\nfrom {}\n", tip(&flower)).unwrap();
    let files = count(20_000, 100_000);
    for number in 0..files {
        writeln!(stream, "M 100644 :1 many/{}/{number}", number / 1_000).unwrap();
    }
    let file = flower.file("stream", stream);
    let mut import = Command::new("git");
    let import = flower.in_own_environment(import.args(["fast-import", "--quiet"]).current_dir(&flower.repo));
    assert!(import.stdin(fs::File::open(file).unwrap()).status().unwrap().success());
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], &format!("it changes {files} files"));
    approve(&flower, number(&held));
    assert_eq!(fs::read_dir(flower.repo.join("many/19")).unwrap().count(), 1_000);
    assert_main_is_whole(&flower);
}

#[test]
fn a_merge_that_undoes_what_has_landed_waits_for_the_operator() {
    let flower = serving(&[GREEN, ("a", "1\n2\n3\n")]);
    let cases = [
        ("ours", "git merge -q -s ours origin/main -m merged", "landed"),
        ("amended", "git merge -q origin/main -m merged; git rm -q landed; git commit -q --amend --no-edit", "landed"),
    ];
    for (name, _, _) in cases {
        new(&flower, name, &[]);
        change(&flower, name, name, "work\n");
    }
    for name in ["honest", "settled"] {
        new(&flower, name, &[]);
        change(&flower, name, if name == "honest" { "honest" } else { "a" }, "1\nsettled\n3\n");
    }
    new(&flower, "first", &["--linked"]);
    change(&flower, "first", "a", "1\nfirst\n3\n");
    change(&flower, "first", "landed", "landed\n");
    lands(&flower, "first");
    for (name, script, path) in cases {
        eventually("MAIN's tip is there", || {
            (inside_ok(&flower, name, "git rev-parse origin/main") == tip(&flower)).then_some(())
        });
        inside_ok(&flower, name, script);
        let before = main_now(&flower);
        let held = land(&flower, name);
        assert_eq!(held["state"], "approval", "{name}: {held:#}");
        says(&held["reason"], "merges otherwise than git would: it may undo what has landed");
        says(&held["paths"], &format!("\"{path}\""));
        assert_main_is(&flower, &before, name);
    }
    // A merge as git makes it, or one that resolves a conflict, needs no approval.
    inside_ok(&flower, "honest", "git merge -q origin/main -m merged");
    lands(&flower, "honest");
    inside(&flower, "settled", "git merge -q origin/main");
    put(&flower, &tree(&flower, "settled").join("a"), "1\nboth\n3\n");
    commit_inside(&flower, "settled", "settled");
    lands(&flower, "settled");
    assert_eq!(fs::read_to_string(flower.repo.join("landed")).unwrap(), "landed\n");
    assert_eq!(fs::read_to_string(flower.repo.join("a")).unwrap(), "1\nboth\n3\n");
}

#[test]
fn ignored_files_in_main_are_not_overwritten() {
    let flower = serving(&[GREEN, (".gitignore", ".env\ncache\n*.o\n"), ("d/x", "x\n")]);
    put(&flower, &flower.repo.join(".env"), "SECRET=precious\n");
    put(&flower, &flower.repo.join("cache/warm"), "precious\n");
    put(&flower, &flower.repo.join("d/x.o"), "precious\n");
    let before = main_now(&flower);
    let cases = [
        ("a file for a file", "echo mine > .env; git add -f .env", ".env"),
        ("a folder for a file", "mkdir .env; echo mine > .env/x; git add -f .env", ".env/x"),
        ("a file for a folder", "echo mine > cache; git add -f cache", "cache"),
        ("a file into a folder", "mkdir cache; echo mine > cache/warm; git add -f cache", "cache/warm"),
        ("a link for a file", "ln -s README.md .env; git add -f .env", ".env"),
        ("a folder that becomes a file, with more in it", "git rm -qr d; echo mine > d; git add d", "d"),
    ];
    for (number, (what, script, path)) in cases.into_iter().enumerate() {
        let name = format!("w{number}");
        new(&flower, &name, &["--linked"]);
        inside_ok(&flower, &name, &format!("{script}; git commit -qm mine"));
        let landing = land(&flower, &name);
        assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!([path])), "{what}: {landing:#}");
        says(&landing["reason"], "are not overwritten");
        assert_main_is(&flower, &before, what);
        assert_eq!(flower.json(&["main"])["state"], "stable", "{what}");
    }
    // A file of another name in the same folder is in the way of no other.
    new(&flower, "beside", &["--linked"]);
    inside_ok(&flower, "beside", "mkdir cache; echo mine > cache/cold; git add -f cache; git commit -qm cold");
    lands(&flower, "beside");
    assert_eq!(fs::read_to_string(flower.repo.join("cache/warm")).unwrap(), "precious\n");
}

#[test]
fn an_untracked_file_in_its_way_rejects_a_landing() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "landed\n");
    put(&flower, &flower.repo.join("x"), "precious\n");
    let rejected = land(&flower, "one");
    assert_eq!((&rejected["state"], &rejected["paths"]), (&json!("rejected"), &json!(["x"])), "{rejected:#}");
    says(&rejected["reason"], "flower main rescue x");
    assert_eq!(fs::read_to_string(flower.repo.join("x")).unwrap(), "precious\n");
    fs::rename(flower.repo.join("x"), flower.dir().join("x")).unwrap();
    lands(&flower, "one");
    assert_eq!(fs::read_to_string(flower.repo.join("x")).unwrap(), "landed\n");
}

#[test]
fn files_become_folders_and_links_and_back() {
    let flower = serving(&[GREEN, ("file", "1\n"), ("folder/a/b", "2\n"), ("folder/c", "3\n"), ("program", "4\n")]);
    let steps = [
        "git rm -q file; mkdir file; echo deep > file/deep; git rm -qr folder; echo flat > folder; ln -s README.md link; chmod +x program",
        "git rm -qr file; ln -s folder file; git rm -q folder; mkdir folder; echo new > folder/c; git rm -q link; mkdir link; echo x > link/x",
        "git rm -qr folder file link; echo plain > file; echo plain > folder; chmod -x program; ln -s file link",
    ];
    for (number, step) in steps.iter().enumerate() {
        let name = format!("w{number}");
        new(&flower, &name, &["--linked"]);
        inside_ok(&flower, &name, &format!("{step}; git add --all; git commit -qm step"));
        let expected = files(&tree(&flower, &name));
        lands(&flower, &name);
        let plain = |all: &Snapshot| -> Snapshot {
            let own = all.iter().filter(|(name, _)| !name.to_string_lossy().starts_with(".flower"));
            own.map(|(name, (mode, content))| (name.clone(), (mode & 0o170_100, content.clone()))).collect()
        };
        assert_eq!(differences(&plain(&expected), &plain(&files(&flower.repo))), [""; 0], "step {number}");
        assert_main_is_whole(&flower);
        assert_eq!(flower.json(&["main"])["state"], "stable", "step {number}");
    }
}

#[test]
fn binaries_and_line_ends_land_as_git_has_them() {
    for (what, setting) in [("plain", "input"), ("converted", "true")] {
        let attributes = "* text=auto\n*.bat text eol=crlf\n*.sh text eol=lf\n*.raw -text\n";
        let flower = Flower::new();
        if what == "converted" {
            flower.git(&flower.repo, &["config", "core.autocrlf", setting]);
        }
        serve(&flower, &[GREEN, (".gitattributes", attributes)]);
        let binary: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        let contents: [(&str, &[u8]); 6] = [
            ("data.bin", &binary),
            ("unix.txt", b"a\nb\n"),
            ("dos.txt", b"a\r\nb\r\n"),
            ("run.bat", b"a\r\nb\r\n"),
            ("run.sh", b"a\nb\n"),
            ("mixed.raw", b"a\r\nb\nc\r"),
        ];
        for round in ["first", "second"] {
            new(&flower, round, &["--linked"]);
            for (name, content) in contents {
                let more: &[u8] = if round == "second" { content } else { b"" };
                put(&flower, &tree(&flower, round).join(name), [content, more].concat());
            }
            commit_inside(&flower, round, round);
            lands(&flower, round);
            assert_main_is_whole(&flower);
            assert_eq!(flower.json(&["main"])["state"], "stable", "{what}, {round}");
            // As a fresh checkout has them.
            let fresh = flower.dir().join(format!("fresh-{round}"));
            git(&flower, &flower.repo, &["worktree", "add", "--quiet", "--detach", fresh.to_str().unwrap(), "main"]);
            for (name, _) in contents {
                let (main, fresh) = (fs::read(flower.repo.join(name)).unwrap(), fs::read(fresh.join(name)).unwrap());
                assert!(main == fresh, "{what}, {round}: {name} is otherwise in MAIN");
            }
        }
        assert_eq!(fs::read(flower.repo.join("data.bin")).unwrap(), [binary.clone(), binary].concat());
        assert_eq!(fs::read(flower.repo.join("run.bat")).unwrap(), b"a\r\nb\r\na\r\nb\r\n");
    }
}

#[test]
fn names_of_every_sort_land_and_go() {
    let flower = serving(&[GREEN]);
    let names = [
        "with space",
        " leading and trailing ",
        "grüße.txt",
        "e\u{301}.txt",
        "日本語/ファイル",
        "🌸",
        "-rf",
        "--help",
        "\"quoted\"",
        "it's",
        "a*b?[c]",
        ":(glob)x",
        ":!y",
        "!z",
        "#comment",
        "$(id)",
        "`id`",
        "a;b",
        "a&b|c",
        "%s%n",
        "~",
        "a:b",
        "CON",
        "very/deep/very/deep/very/deep/very/deep/very/deep/very/deep/x",
    ];
    new(&flower, "one", &["--lane"]);
    for name in names {
        put(&flower, &tree(&flower, "one").join(name), name);
    }
    commit_inside(&flower, "one", "names");
    lands(&flower, "one");
    for name in names {
        assert_eq!(fs::read_to_string(flower.repo.join(name)).unwrap(), name);
    }
    assert_main_is_whole(&flower);
    for (number, name) in names.iter().enumerate() {
        let path = tree(&flower, "one").join(name);
        if number % 2 == 0 { fs::remove_file(path).unwrap() } else { put(&flower, &path, "changed") }
    }
    commit_inside(&flower, "one", "half of them go");
    lands(&flower, "one");
    for (number, name) in names.iter().enumerate() {
        let found = fs::read_to_string(flower.repo.join(name)).ok();
        assert_eq!(found.as_deref(), if number % 2 == 0 { None } else { Some("changed") }, "{name}");
    }
    assert_main_is_whole(&flower);
}

#[test]
fn a_file_renamed_in_main_is_changed_under_its_new_name() {
    let flower = serving(&[GREEN, ("src/a", "1\n2\n3\n4\n5\n"), ("src/b", "b\n")]);
    new(&flower, "two", &["--linked"]);
    change(&flower, "two", "src/a", "1\n2\nthree\n4\n5\n");
    change(&flower, "two", "src/new", "new\n");
    new(&flower, "one", &["--linked"]);
    inside_ok(&flower, "one", "git mv src lib; git commit -qm renamed");
    lands(&flower, "one");
    lands(&flower, "two");
    assert_eq!(fs::read_to_string(flower.repo.join("lib/a")).unwrap(), "1\n2\nthree\n4\n5\n");
    assert_eq!(fs::read_to_string(flower.repo.join("src/new")).unwrap(), "new\n", "git does not move a new file");
    assert!(!flower.repo.join("src/a").exists() && flower.repo.join("lib/b").exists());
    assert_main_is_whole(&flower);
}

#[test]
fn settings_that_cannot_be_read_do_not_land() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "flower.toml", "[checks\n");
    let before = main_now(&flower);
    let landing = land(&flower, "one");
    assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!(["flower.toml"])), "{landing:#}");
    says(&landing["reason"], "flower.toml cannot be read");
    assert_main_is(&flower, &before, "broken settings");
}

#[test]
fn a_change_too_large_to_inspect_waits_for_the_operator() {
    let flower = serving(&[GREEN]);
    let mut content = vec![b'x'; 9 << 20];
    content[0] = 0;
    change(&flower, "one", "large.bin", &content);
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], "1 of its files are larger than 8 MB");
    approve(&flower, number(&held));
    assert!(fs::read(flower.repo.join("large.bin")).unwrap() == content);
}
