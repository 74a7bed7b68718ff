//! What a new worktree gets: playbooks, house rules, setup commands, carried folders, submodules.

use super::*;
use serde_json::json;

/// The test as each user, with this `flower.toml`.
fn with_settings(text: &str, test: impl Fn(&Flower)) {
    as_each_user(|flower| {
        commit_in_main(flower, "flower.toml", text);
        test(flower);
    });
}

#[test]
fn playbooks_are_there_to_read_and_not_for_git() {
    for seal in ["--sealed", "--linked"] {
        with_settings("[worktree]\nplaybooks = [\"notes.md\", \"books\", \"README.md\", \"missing.md\"]\n", |flower| {
            fs::write(flower.repo.join(".git/info/exclude"), "# mine\nnotes.md\nbooks\n").unwrap();
            put(flower, &flower.repo.join("notes.md"), "read this");
            put(flower, &flower.repo.join("books/deep/one.md"), "one");
            new(flower, "one", &[seal]);
            assert_eq!(
                inside_ok(flower, "one", "cat notes.md; echo; cat books/deep/one.md; test -s .flower/house-rules.md"),
                "read this\none"
            );
            assert_eq!(inside_ok(flower, "one", "git status --porcelain; cat README.md"), "hello", "{seal}");
            assert_eq!(git(flower, &tree(flower, "one"), &["status", "--porcelain"]), "", "{seal}");
            assert_eq!(git(flower, &flower.repo, &["status", "--porcelain"]), "", "{seal}");
            if seal == "--sealed" {
                for write in [
                    "echo x > notes.md",
                    "echo x > books/deep/one.md",
                    "echo x > books/new",
                    "rm books/deep/one.md",
                    "echo x > .flower/house-rules.md",
                ] {
                    assert_ne!(inside(flower, "one", write).code, 0, "{write}");
                }
                assert_eq!(inside_ok(flower, "one", "cat notes.md"), "read this");
            }
            assert_eq!(fs::read_to_string(flower.repo.join("notes.md")).unwrap(), "read this");
            // A later worktree gets what MAIN has by then.
            put(flower, &flower.repo.join("notes.md"), "read that");
            new(flower, "two", &[seal]);
            assert_eq!(inside_ok(flower, "two", "cat notes.md"), "read that");
            let exclude = fs::read_to_string(flower.repo.join(".git/info/exclude")).unwrap();
            assert!(exclude.starts_with("# mine\nnotes.md\nbooks\n"), "{exclude}");
            assert_eq!(exclude.matches("/.flower/").count(), 1, "{exclude}");
        });
    }
}

#[test]
fn nothing_outside_of_the_repository_is_linked_or_carried() {
    as_each_user(|flower| {
        put(flower, &flower.dir().join("user/.ssh/id_rsa"), "secret");
        let absolute = flower.dir().join("user/.ssh/id_rsa");
        for list in ["playbooks", "carry"] {
            for path in [
                "../../.ssh/id_rsa",
                "../user/.ssh/id_rsa",
                absolute.to_str().unwrap(),
                "a/../../user/.ssh",
                ".git/config",
                ".git",
                "~/../x/..",
                "",
                "/",
                "./x/../../y",
            ] {
                commit_in_main(flower, "flower.toml", &format!("[worktree]\n{list} = [\"{path}\"]\n"));
                let before = traces(flower);
                let error = flower.fails(&["worktree", "new", "one"], 1);
                says(&error["message"], "does not stay inside");
                assert_eq!(traces(flower), before, "{list} {path}");
            }
        }
        // Links are not followed, neither in MAIN nor in what is checked out.
        fs::write(flower.repo.join(".git/info/exclude"), "link\ndir\n").unwrap();
        std::os::unix::fs::symlink(flower.dir().join("user/.ssh"), flower.repo.join("link")).unwrap();
        fs::create_dir(flower.repo.join("dir")).unwrap();
        std::os::unix::fs::symlink(&absolute, flower.repo.join("dir/key")).unwrap();
        for list in ["playbooks", "carry"] {
            let paths = "[\"link\", \"link/id_rsa\", \"dir/key\", \"dir\"]";
            commit_in_main(flower, "flower.toml", &format!("[worktree]\n{list} = {paths}\n"));
            new(flower, "one", &[]);
            let found = inside_ok(flower, "one", "cat link link/id_rsa dir/key 2>/dev/null || true");
            assert_eq!(found, "", "{list}");
            assert_eq!(fs::read_to_string(&absolute).unwrap(), "secret");
            remove(flower, "one");
            forget(flower);
        }
    });
}

/// A branch may have a link where MAIN has a folder. What is carried there would land wherever it leads.
#[test]
fn nothing_is_written_through_a_link_that_is_checked_out() {
    as_each_user(|flower| {
        let outside = flower.dir().join("outside");
        fs::create_dir(&outside).unwrap();
        flower.give(&outside);
        flower.git(&flower.repo, &["switch", "--quiet", "--create", "hostile"]);
        for link in ["cache", "books", ".flower"] {
            std::os::unix::fs::symlink(&outside, flower.repo.join(link)).unwrap();
        }
        flower.git(&flower.repo, &["add", "."]);
        flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "links"]);
        flower.git(&flower.repo, &["switch", "--quiet", "main"]);
        commit_in_main(flower, ".gitignore", "cache\nbooks\n");
        commit_in_main(
            flower,
            "flower.toml",
            "[worktree]\ncarry = [\"cache/built\"]\nplaybooks = [\"books/one.md\"]\n",
        );
        put(flower, &flower.repo.join("cache/built"), "built");
        put(flower, &flower.repo.join("books/one.md"), "one");
        for seal in ["--sealed", "--linked"] {
            new(flower, "one", &[seal, "--from", "hostile"]);
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{seal}: written through a link");
            remove(flower, "one");
            forget(flower);
        }
        // Also one that leads nowhere.
        fs::remove_dir(&outside).unwrap();
        new(flower, "one", &["--from", "hostile"]);
        assert!(!outside.exists());
    });
}

#[test]
fn what_is_carried_keeps_its_times_and_is_a_copy() {
    with_settings("[worktree]\ncarry = [\"target\", \"missing\"]\n", |flower| {
        fs::write(flower.repo.join(".git/info/exclude"), "target\n").unwrap();
        put(flower, &flower.repo.join("target/debug/built"), "built");
        put(flower, &flower.repo.join("target/tool"), "#!/bin/sh");
        git(flower, &flower.repo, &["--exec-path"]);
        for (path, date) in [("target/debug/built", "2001-02-03"), ("target/debug", "2002-03-04")] {
            assert!(Command::new("touch").args(["-d", date]).arg(flower.repo.join(path)).status().unwrap().success());
        }
        fs::set_permissions(flower.repo.join("target/tool"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .unwrap();
        new(flower, "one", &[]);
        for path in ["target/debug/built", "target/debug", "target/tool"] {
            let (old, new) =
                (fs::metadata(flower.repo.join(path)).unwrap(), fs::metadata(tree(flower, "one").join(path)).unwrap());
            assert_eq!((old.mode(), old.modified().unwrap()), (new.mode(), new.modified().unwrap()), "{path}");
            assert_ne!((old.dev(), old.ino()), (new.dev(), new.ino()), "{path}");
        }
        inside_ok(flower, "one", "echo changed > target/debug/built");
        assert_eq!(fs::read_to_string(flower.repo.join("target/debug/built")).unwrap(), "built");
        assert_eq!(show(flower, "one")["dirty"], false);
    });
}

#[test]
fn a_pattern_carries_the_ignored_folders_of_a_workspace() {
    with_settings("[worktree]\ncarry = [\"**/node_modules\", \"packages/*/dist\"]\n", |flower| {
        commit_in_main(flower, ".gitignore", "node_modules\ndist\nbuild\n");
        commit_in_main(flower, "packages/one/package.json", "{}");
        for path in ["node_modules/a", "packages/one/node_modules/b", "packages/one/dist/c", "build/node_modules/d"] {
            put(flower, &flower.repo.join(path), "carried");
        }
        new(flower, "one", &[]);
        let seen = inside_ok(flower, "one", "cat node_modules/a packages/one/node_modules/b packages/one/dist/c; ls");
        assert_eq!(seen, "carriedcarriedcarriedREADME.md\nflower.toml\nnode_modules\npackages");
        assert_eq!(show(flower, "one")["dirty"], false);
    });
    with_settings("[worktree]\ncarry = [\"**/../x\"]\n", |flower| {
        says(&flower.fails(&["worktree", "new", "one"], 1)["message"], "`..`");
    });
}

#[test]
fn settings_that_widen_the_jail_wait_for_approval() {
    as_each_user(|flower| {
        let read = flower.dir().join("models/key");
        put(flower, &read, "precious");
        let settings = format!("[worktree]\nnetwork = \"open\"\nconnect = [5432]\nread = [{read:?}]\n");
        commit_in_main(flower, "flower.toml", &settings);
        for args in [&["worktree", "new", "one"][..], &["worktree", "new", "one", "--no-setup"]] {
            says(&flower.fails(args, 1)["hints"], "flower project approve repo");
        }
        let approved = flower.json(&["project", "approve", "--yes"]);
        let opened = json!(["(reach any network)", "(connect to port 5432)", format!("(read {})", read.display())]);
        assert_eq!(approved["commands"], opened);
        new(flower, "one", &[]);
        assert_eq!(inside_ok(flower, "one", &format!("cat {}", read.display())), "precious");
        // Another file than the one that was approved.
        remove(flower, "one");
        commit_in_main(flower, "flower.toml", "[worktree]\nread = [\"/etc/hostname\", \"/root\"]\n");
        flower.ok(&["worktree", "restore", "one"]);
        let refused = flower.run(&["worktree", "shell", "one", "--", "true"]);
        assert_eq!(refused.code, 1, "{refused:?}");
    });
}

#[test]
fn setup_commands_wait_for_approval_and_again_when_they_change() {
    with_settings("[worktree]\nsetup = [\"echo ran >> ran.log\"]\n", |flower| {
        let before = traces(flower);
        let error = flower.fails(&["worktree", "new", "one"], 1);
        says(&error["hints"], "flower project approve repo");
        assert_eq!(traces(flower), before);
        new(flower, "without", &["--no-setup"]);
        assert!(!tree(flower, "without").join("ran.log").exists());
        // No terminal is there to ask.
        let error = flower.fails(&["project", "approve"], 2);
        says(&error["hints"], "--yes");
        assert_eq!(flower.fails(&["worktree", "new", "one"], 1)["kind"], "refused");
        let shown = flower.run(&["project", "approve"]);
        assert!(shown.stderr.contains("echo ran >> ran.log"), "{shown:?}");
        let approved = flower.json(&["project", "approve", "--yes"]);
        assert_eq!((&approved["approved"], &approved["commands"]), (&json!(true), &json!(["echo ran >> ran.log"])));
        let one = new(flower, "one", &[]);
        assert_eq!(one["setup"]["state"], "done", "{one}");
        assert_eq!(fs::read_to_string(tree(flower, "one").join("ran.log")).unwrap(), "ran\n");
        assert_eq!(flower.json(&["project", "approve", "repo"])["approved"], true, "nothing is asked twice");
        // What lies uncommitted counts for nothing; what is committed counts anew.
        fs::write(flower.repo.join("flower.toml"), "[worktree]\nsetup = [\"touch evil\"]\n").unwrap();
        new(flower, "two", &[]);
        assert!(!tree(flower, "two").join("evil").exists());
        flower.git(
            &flower.repo,
            &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--all", "--message", "other commands"],
        );
        ["without", "one", "two"].iter().for_each(|name| remove(flower, name));
        record_main(flower);
        assert_eq!(flower.fails(&["worktree", "new", "three"], 1)["kind"], "refused");
        // An approval is for what was read.
        let body = json!({ "sha256": approved["sha256"] });
        let answer = flower.api("POST", "/api/projects/repo/commands").json(&body).send();
        assert_eq!((answer.status, answer.kind().as_str()), (409, "conflict"));
        flower.ok(&["project", "approve", "repo", "--yes"]);
        new(flower, "three", &[]);
        assert!(tree(flower, "three").join("evil").exists());
        // From another branch's file nothing is taken.
        let agent = flower.json(&["token", "new", "--agent", "rose"])["token"].as_str().unwrap().to_owned();
        let body = json!({ "sha256": flower.json(&["project", "approve"])["sha256"] });
        let answer = flower.request("POST", "/api/projects/repo/commands").token(&agent).json(&body).send();
        assert_eq!(answer.status, 403, "an agent approves nothing: {answer:?}");
        assert_eq!(flower.fails(&["project", "approve", "absent"], 3)["kind"], "not_found");
    });
}

#[test]
fn setup_that_fails_leaves_the_worktree_and_shows_its_output() {
    for seal in ["--sealed", "--linked"] {
        with_settings(
            "[worktree]\nsetup = [\"echo first\", \"echo to-stdout; echo to-stderr >&2; exit 9\", \"touch never\"]\n",
            |flower| {
                flower.ok(&["project", "approve", "--yes"]);
                let output = flower.run(&["worktree", "new", "one", seal]);
                assert_eq!(output.code, 1, "{output:?}");
                for word in ["first", "to-stdout", "to-stderr", "ended with 9", "flower worktree shell one"] {
                    assert!(output.stderr.contains(word), "{word}: {output:?}");
                }
                assert_eq!(
                    output.stderr.matches("to-stdout").count(),
                    2,
                    "once as output, once in the command: {output:?}"
                );
                let one = show(flower, "one");
                assert_eq!(
                    (&one["state"], &one["setup"]["state"], &one["setup"]["code"]),
                    (&json!("ready"), &json!("failed"), &json!(9))
                );
                assert!(!tree(flower, "one").join("never").exists());
                assert_eq!(inside(flower, "one", "true").code, 0);
            },
        );
    }
}

#[test]
fn setup_commands_of_a_sealed_worktree_run_inside() {
    as_each_user(|flower| {
        let mark = flower.dir().join("mark");
        let commands = format!("touch {} || true", mark.display());
        commit_in_main(flower, "flower.toml", &format!("[worktree]\nsetup = [\"{commands}\", \"pwd > where\"]\n"));
        flower.ok(&["project", "approve", "--yes"]);
        let one = new(flower, "one", &[]);
        assert_eq!(one["setup"]["state"], "done");
        assert!(!mark.exists(), "a setup command ran outside");
        assert_eq!(
            fs::read_to_string(tree(flower, "one").join("where")).unwrap().trim(),
            one["path"].as_str().unwrap()
        );
    });
}

#[test]
fn submodules_are_filled_from_mains_own_clones() {
    as_each_user(|flower| {
        let library = flower.make_repository("library");
        put(flower, &library.join("lib.c"), "int x;\n");
        flower.git(&library, &["add", "."]);
        flower.git(&library, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "lib"]);
        let url = library.to_str().unwrap();
        flower
            .git(&flower.repo, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "vendor/lib"]);
        flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "submodule"]);
        record_main(flower);
        for (name, seal) in [("one", "--sealed"), ("two", "--linked")] {
            new(flower, name, &[seal]);
            assert_eq!(inside_ok(flower, name, "cat vendor/lib/lib.c; git status --porcelain"), "int x;", "{seal}");
            assert_eq!(git(flower, &tree(flower, name), &["status", "--porcelain"]), "", "{seal}");
            assert_eq!(show(flower, name)["dirty"], false);
            inside_ok(flower, name, "echo 'int y;' > vendor/lib/lib.c; echo n > vendor/lib/new");
            remove(flower, name);
            flower.ok(&["worktree", "restore", name]);
            assert_eq!(inside_ok(flower, name, "cat vendor/lib/lib.c vendor/lib/new"), "int y;\nn", "{seal}");
        }
        assert_main_is_whole(flower);
    });
}

#[test]
fn lfs_is_refused_unless_pointers_are_enough() {
    for folder in ["", "assets/", "assets/deep/er/"] {
        as_each_user(|flower| {
            let attributes = format!("{folder}.gitattributes");
            commit_in_main(flower, &attributes, "*.bin filter=lfs diff=lfs merge=lfs -text\n");
            let file = format!("{folder}a.bin");
            let oid = "0".repeat(64);
            let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 5");
            commit_in_main(flower, &file, &format!("{pointer}\n"));
            let before = traces(flower);
            let error = flower.fails(&["worktree", "new", "one"], 1);
            says(&error["hints"], "--lfs-pointers");
            eventually("nothing is left", || (traces(flower) == before).then_some(()));
            new(flower, "one", &["--lfs-pointers"]);
            let seen = inside_ok(flower, "one", &format!("cat {file}; git status --porcelain"));
            assert_eq!(seen, pointer, "{folder}");
        });
    }
}

#[test]
fn attributes_without_lfs_are_no_reason_to_refuse() {
    let flower = served();
    commit_in_main(&flower, "docs/.gitattributes", "*.md text\n");
    commit_in_main(&flower, "docs/lfs.md", "filter=lfs is what LFS would say\n");
    new(&flower, "one", &[]);
    assert_eq!(show(&flower, "one")["state"], "ready");
}

#[test]
fn with_a_broken_flower_toml_a_worktree_is_there_to_correct_it_in_without_a_network() {
    with_settings("[worktree\n", |flower| {
        says(&flower.json(&["main"])["notes"], "flower.toml cannot be read");
        new(flower, "one", &[]);
        let interfaces = inside_ok(flower, "one", "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' '");
        assert_eq!(interfaces, "lo");
    });
}
