//! What the gate lets in, what it holds back for the operator, and what never reaches MAIN.

use super::*;
use std::os::unix::fs::PermissionsExt;

const SEALS: [&str; 2] = ["--sealed", "--linked"];

#[test]
fn no_hook_of_a_tracked_folder_runs_at_a_landing() {
    as_each_user_unserved(|flower| {
        flower.git(&flower.repo, &["config", "core.hooksPath", ".husky"]);
        serve(flower, &[GREEN]);
        let trap = Trap::new(flower);
        for (name, seal) in ["sealed", "linked"].into_iter().zip(SEALS) {
            new(flower, name, &[seal]);
            plant_hooks(flower, &trap, &tree(flower, name).join(".husky"));
            put(flower, &tree(flower, name).join(name), "work\n");
            // A commit there by hand may run its own hooks, so the test turns them off.
            inside(flower, name, "git add --all; git -c core.hooksPath=/dev/null commit -qm hooks");
            let _ = fs::remove_file(&trap.mark);
            let held = land(flower, name);
            trap.assert_untouched(&format!("{name}: the gate"));
            if seal == "--sealed" {
                assert_eq!(held["state"], "approval", "{held:#}");
                says(&held["reason"], "it changes hooks");
                approve(flower, number(&held));
            } else {
                // They are in MAIN by now, where git would find them.
                assert_eq!(held["state"], "landed", "{held:#}");
            }
            assert!(flower.repo.join(name).exists() && flower.repo.join(".husky/post-merge").exists());
            trap.assert_untouched(&format!("{name}: the landing"));
        }
        settled(flower);
        flower.ok(&["main"]);
        trap.assert_untouched("what follows a landing");
        let mut checkout = Command::new("git");
        let own = flower.in_own_environment(checkout.args(["checkout", "HEAD", "README.md"]).current_dir(&flower.repo));
        let _ = own.output();
        assert!(trap.mark.exists(), "it is no trap at all");
    });
}

#[test]
fn files_that_configure_mains_git_need_the_operator() {
    as_each_user_unserved(|flower| {
        flower.git(&flower.repo, &["config", "core.hooksPath", "tools/hooks"]);
        flower.git(&flower.repo, &["config", "core.attributesFile", "conf/attributes"]);
        flower.git(&flower.repo, &["config", "include.path", "../conf/git"]);
        serve(flower, &[GREEN]);
        let own = [
            ("tools/hooks/post-index-change", "core.hookspath"),
            ("conf/attributes", "core.attributesfile"),
            ("conf/git", "include.path"),
        ];
        let programs = [".cargo/config.toml", "rust-toolchain.toml", ".yarnrc.yml", ".pnpmfile.cjs", "mise.toml"];
        let named = own.map(|(path, key)| (path, format!("git's setting `{key}` of MAIN names")));
        let listed = programs.map(|path| (path, "which programs the build tools run".to_owned()));
        for (at, (path, why)) in named.into_iter().chain(listed).enumerate() {
            let name = format!("w{at}");
            change(flower, &name, path, "x\n");
            let held = land(flower, &name);
            assert_eq!(held["state"], "approval", "{path}: {held:#}");
            says(&held["reason"], &why);
            says(&held["paths"], path);
            flower.ok(&["queue", "cancel", &number(&held).to_string()]);
        }
        change(flower, "plain", "tools/other", "x\n");
        lands(flower, "plain");
    });
}

/// A worktree with these commits is turned down at the gate for this reason, and MAIN is the same to the last file.
fn assert_refused(flower: &Flower, name: &str, what: &str, words: &str) {
    let before = main_now(flower);
    let output = flower.run(&["land", name, "--wait", "--json"]);
    assert_ne!(output.code, 0, "{what}: {output:?}");
    // What a sealed worktree's mirror does not let out is no landing at all.
    if !output.stdout.is_empty() {
        let landing = settlement(&output);
        assert_eq!(landing["state"], "rejected", "{what}: {landing:#}");
        assert!(landing["reason"].as_str().unwrap_or_default().contains(words), "{what}: `{words}`: {landing:#}");
    } else {
        assert_eq!(show(flower, name)["seal"], "sealed", "{what}: a linked one is always judged: {output:?}");
        let message = output.error(1)["message"].to_string();
        let reasons =
            ["git finds fault with its new commits", "differ only in upper and lower case", "would become a submodule"];
        assert!(reasons.iter().any(|reason| message.contains(reason)), "{what}: {message}");
    }
    assert_main_is(flower, &before, what);
}

#[test]
fn a_link_to_an_ignored_file_is_refused() {
    links("linked", "--linked");
}

#[test]
fn a_link_to_an_ignored_file_stays_in_a_sealed_worktree() {
    links("sealed", "--sealed");
}

fn links(name: &str, seal: &str) {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN, (".gitignore", ".env\nprivate\n"), ("src/a", "a\n")]);
        put(flower, &flower.repo.join(".env"), "PASSWORD=not-for-others\n");
        put(flower, &flower.repo.join("private/key"), "not-for-others\n");
        let absolute = format!("ln -s {}/.env leak", flower.repo.display());
        let links = [
            ("beside it", "ln -s .env leak"),
            ("from below", "ln -s ../.env src/leak"),
            ("in a roundabout way", "ln -s src/../.env leak"),
            ("through a link", "ln -s . here; ln -s here/.env leak"),
            ("into a folder", "ln -s private leak"),
            ("by its whole name", &absolute),
            ("out of MAIN and in again", "ln -s ../repo/.env leak"),
            ("into git's own folder", "ln -s .git/config leak"),
            (
                "past a link to a folder, with a file that only looks like it",
                "mkdir -p real s; echo x > real/x; echo x > s/.env; ln -s ../real s/d; ln -s d/../.env s/leak; git add -f s/.env",
            ),
            (
                "out of MAIN past a link to a folder",
                "mkdir -p real s/t s/home; echo x > real/x; echo x > s/home/token; ln -s ../../real s/t/d;
                 ln -s d/../../home/token s/t/leak",
            ),
        ];
        new(flower, name, &[seal]);
        for (what, script) in links {
            inside_ok(flower, name, &format!("{script}; git add --all; git commit -qm leak"));
            assert_refused(flower, name, &format!("{name}, {what}"), "which MAIN does not have");
            inside_ok(flower, name, "git reset -q --hard HEAD~1");
        }
        // One that is in MAIN already, and harmless, is not turned by a change of another.
        inside_ok(
            flower,
            name,
            "mkdir -p deep/er s; echo x > deep/er/x; echo x > deep/f; ln -s ../deep/er s/d; ln -s d/../f s/ok;
             git add --all; git commit -qm links",
        );
        let kept = land_with(flower, name, &["--title", "harmless links"]);
        assert_eq!(kept["state"], "landed", "{kept:#}");
        retired(flower, name);
        new(flower, name, &[seal]);
        for (what, script) in [
            ("a link that another turns", "rm s/d; ln -s ../src s/d"),
            ("a link whose target goes", "git rm -q deep/f"),
        ] {
            inside_ok(flower, name, &format!("{script}; git add --all; git commit -qm turn"));
            assert_refused(flower, name, &format!("{name}, {what}"), "the link `s/ok` leads to");
            inside_ok(flower, name, "git reset -q --hard HEAD~1");
        }
        // A link to a file of MAIN is allowed.
        inside_ok(flower, name, &format!("ln -s ../README.md src/{name}; git add --all; git commit -qm link"));
        lands(flower, name);
        assert_eq!(fs::read_to_string(flower.repo.join("src").join(name)).unwrap(), "hello\n");
    });
}

/// Each makes `$entry`, or `$tree` itself: what it is, and what is said of it.
const HOSTILE: &[(&str, &str, &str)] = &[
    (
        "a file .git/config",
        "inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree); entry=\"040000 tree $inner\t.git\"",
        "git's own folder",
    ),
    (
        "a folder .git below another",
        "inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
         inner=$(printf '040000 tree %s\\t.git\\n' $inner | git mktree); entry=\"040000 tree $inner\tsub\"",
        "git's own folder",
    ),
    ("a file .GIT", "entry=\"100644 blob $blob\t.GIT\"", "git's own folder"),
    ("a file git~1", "entry=\"100644 blob $blob\tgit~1\"", "git's own folder"),
    ("a link .Git", "entry=\"120000 blob $blob\t.Git\"", "git's own folder"),
    ("a folder ..", "inner=$(printf '100644 blob %s\\ta\\n' $blob | git mktree); entry=\"040000 tree $inner\t..\"", "out of the repository"),
    ("a twin in case", "entry=\"100644 blob $blob\treadme.MD\"", "upper and lower case"),
    (
        "a twin in composed characters",
        "tree=$( (git ls-tree HEAD; printf '100644 blob %s\\tcaf\\303\\251\\n100644 blob %s\\tcafe\\314\\201\\n' $blob $blob) | git mktree)",
        "upper and lower case or composed characters",
    ),
    (
        "two folders that are twins",
        "inner=$(printf '100644 blob %s\\ta\\n' $blob | git mktree)
         tree=$( (git ls-tree HEAD; printf '040000 tree %s\\tDir\\n040000 tree %s\\tdir\\n' $inner $inner) | git mktree)",
        "upper and lower case",
    ),
    ("a submodule", "entry=\"160000 commit $(git rev-parse HEAD)\tsub\"", "is a submodule"),
    (
        "a submodule whose address is an option",
        "list=$(printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = -u./payload\\n' | git hash-object -w --stdin)
         tree=$( (git ls-tree HEAD; printf '100644 blob %s\\t.gitmodules\\n160000 commit %s\\tx\\n' $list $(git rev-parse HEAD)) | git mktree)",
        "is a submodule",
    ),
    ("a name that hides", "entry=\"100644 blob $blob\tno$(printf '\\342\\200\\256')txt\"", "cannot be seen"),
    ("a program with the rights of its owner", "tree=$(git hash-object -t tree --literally -w setuid)", "has the mode 104755"),
    ("a link out of MAIN", "entry=\"120000 blob $(printf ../../outside | git hash-object -w --stdin)\tlink\"", "which MAIN does not have"),
];

fn plant(flower: &Flower, name: &str, script: &str, end: &str) {
    inside_ok(
        flower,
        name,
        &format!(
            "blob=$(echo content | git hash-object -w --stdin); entry=
             {script}
             if [ -n \"$entry\" ]; then tree=$( (git ls-tree HEAD; printf '%s\\n' \"$entry\") | git mktree --missing); fi
             commit=$(git commit-tree -p HEAD -m hostile $tree)
             {end}
             git update-ref refs/heads/flower/{name} $commit"
        ),
    );
}

/// git makes no such tree: MAIN's files, and one with a mode that is not git's.
fn put_setuid_tree(flower: &Flower, name: &str) {
    let empty = git(flower, &flower.repo, &["hash-object", "-w", "-t", "blob", "/dev/null"]);
    let mut tree_object = b"104755 su\0".to_vec();
    tree_object.extend((0..empty.len()).step_by(2).map(|at| u8::from_str_radix(&empty[at..at + 2], 16).unwrap()));
    put(flower, &tree(flower, name).join("setuid"), tree_object);
}

fn hostile_commits(end: &str, seal: &str) {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN]);
        new(flower, "one", &[seal]);
        put_setuid_tree(flower, "one");
        let base = inside_ok(flower, "one", "git rev-parse HEAD");
        for (what, script, words) in HOSTILE {
            // What an older commit of it had is judged by what git keeps of it: names and modes.
            let only_now =
                ["is a submodule", "which MAIN", "upper and lower"].iter().any(|sign| words.starts_with(sign));
            if !end.is_empty() && only_now {
                continue;
            }
            plant(flower, "one", script, end);
            assert_refused(flower, "one", what, words);
            inside_ok(flower, "one", &format!("git update-ref refs/heads/flower/one {base}"));
        }
        inside_ok(
            flower,
            "one",
            "git reset -q --hard; rm -f setuid; echo good > good; git add good; git commit -qm good",
        );
        lands(flower, "one");
        // Its own objects are in the repository, but nothing of MAIN leads to them.
        assert_eq!(flower.json(&["main", "verify"])["ok"], true);
    });
}

#[test]
fn hostile_names_modes_and_links_of_a_linked_worktree_are_refused() {
    hostile_commits("", "--linked");
}

#[test]
fn hostile_names_modes_and_links_of_a_sealed_worktree_are_refused() {
    hostile_commits("", "--sealed");
}

/// A later commit takes it out again: history would keep it.
#[test]
fn hostile_content_of_an_older_commit_is_refused_too() {
    hostile_commits("commit=$(git commit-tree -p $commit -m harmless HEAD^{tree}); echo x > x
        commit=$(git commit-tree -p $commit -m x $( (git ls-tree HEAD; printf '100644 blob %s\\tx\\n' $blob) | git mktree))", "--linked");
}

/// Files that decide which commands run, for people or for agents.
const DELICATE: &[(&str, &str)] = &[
    (".gitattributes", "filters"),
    ("sub/.gitattributes", "filters"),
    (".gitmodules", "submodules"),
    (".husky/pre-commit", "hooks"),
    (".githooks/x", "hooks"),
    (".envrc", "hooks"),
    (".claude/settings.json", "instructions for agents"),
    ("sub/.claude/x", "instructions for agents"),
    (".codex/config.toml", "instructions for agents"),
    (".mcp.json", "instructions for agents"),
    ("AGENTS.md", "instructions for agents"),
    ("sub/agents.md", "instructions for agents"),
    ("CLAUDE.md", "instructions for agents"),
    (".github/workflows/ci.yml", "CI"),
    (".gitlab-ci.yml", "CI"),
    ("Jenkinsfile", "CI"),
    (".vscode/tasks.json", "editors"),
    ("flower.toml", "flower's own settings"),
];

#[test]
fn each_delicate_path_waits_for_the_operator() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &["--linked"]);
    for (path, words) in DELICATE {
        put(
            &flower,
            &tree(&flower, "one").join(path),
            format!("{}# more\n", if *path == "flower.toml" { GREEN.1 } else { "" }),
        );
        commit_inside(&flower, "one", path);
        let before = main_now(&flower);
        let held = land(&flower, "one");
        assert_eq!(held["state"], "approval", "{path}: {held:#}");
        says(&held["reason"], words);
        assert_eq!(held["paths"], json!([path]), "{held:#}");
        assert_main_is(&flower, &before, path);
        inside_ok(&flower, "one", "git reset -q --hard HEAD~1");
    }
    // Ordinary files that are only called alike go through.
    for path in ["claude.txt", "src/hooks/mod.rs", "docs/github.md", "flower.toml.md"] {
        put(&flower, &tree(&flower, "one").join(path), "x\n");
    }
    commit_inside(&flower, "one", "ordinary");
    lands(&flower, "one");
}

#[test]
fn only_the_operator_approves_a_delicate_path() {
    as_each_user_unserved(|flower| {
        serve(flower, &[GREEN, (".gitattributes", "*.txt text\n")]);
        new(flower, "one", &[]);
        for (path, _) in DELICATE.iter().filter(|(path, _)| *path != "flower.toml" && *path != ".gitattributes") {
            put(flower, &tree(flower, "one").join(path), "# nothing\n");
        }
        // Taking one away is a change, too.
        fs::remove_file(tree(flower, "one").join(".gitattributes")).unwrap();
        commit_inside(flower, "one", "all of them");
        let before = main_now(flower);
        let held = land(flower, "one");
        assert_eq!(held["state"], "approval", "{held:#}");
        let paths = held["paths"].to_string();
        for (path, _) in DELICATE.iter().filter(|(path, _)| *path != "flower.toml") {
            assert!(paths.contains(&format!("\"{path}\"")), "{path}: {paths}");
        }
        says(&flower.json(&["inbox"]), &format!("flower queue approve {}", number(&held)));
        let show = number(&held).to_string();
        for role in ["worker", "orchestrator", "ops"] {
            let token = flower.json(&["token", "new", "--agent", role, "--role", role])["token"].clone();
            let mut command = flower.command(&["queue", "approve", &show, "--json"]);
            command.env("FLOWER_TOKEN", token.as_str().expect("a token"));
            let error = crate::common::finish(command).error(1);
            assert_eq!(error["kind"], "forbidden", "{role}: {error}");
            assert_eq!(landing(flower, number(&held))["state"], "approval", "{role}");
        }
        assert_main_is(flower, &before, "before it is approved");
        approve(flower, number(&held));
        assert!(flower.repo.join(".claude/settings.json").exists() && !flower.repo.join(".gitattributes").exists());
        assert_main_is_whole(flower);
    });
}

/// What becomes of a branch while its checks run, in the worktree and in MAIN's repository.
fn rewritten(what: &str, in_worktree: &str, in_main: &[&[&str]]) {
    as_each_user_unserved(|flower| {
        serve(flower, &[("flower.toml", &check("sleep 2; test ! -e evil"))]);
        for (name, seal) in ["sealed", "linked"].into_iter().zip(SEALS) {
            new(flower, name, &[seal]);
            let gated = change(flower, name, name, "as gated\n");
            let landing = queue(flower, name, &[]);
            becomes(flower, landing, "checking");
            inside_ok(flower, name, &in_worktree.replace("NAME", name));
            for args in in_main {
                let args: Vec<String> = args.iter().map(|arg| arg.replace("NAME", name)).collect();
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                flower.git(&flower.repo, &args);
            }
            // It came in time.
            assert_eq!(super::landing(flower, landing)["state"], "checking", "{what}: too late");
            let landed = becomes(flower, landing, "landed");
            assert_eq!(landed["commit"], gated.as_str(), "{what}: {landed:#}");
            assert_eq!(tip(flower), landed["merge_commit"], "{what}");
            assert_eq!(git(flower, &flower.repo, &["diff", "--name-only", "main~1", "main"]), name, "{what}");
            assert_eq!(fs::read_to_string(flower.repo.join(name)).unwrap(), "as gated\n", "{what}");
            assert!(!flower.repo.join("evil").exists(), "{what}");
            assert_main_is_whole(flower);
        }
    });
}

const EVIL: &str = "echo evil > NAME; echo evil > evil; git add --all;";

#[test]
fn a_branch_that_is_amended_during_its_checks_lands_as_it_was_gated() {
    rewritten("amended", &format!("{EVIL} git commit -q --amend -m evil"), &[]);
}

#[test]
fn a_branch_that_grows_during_its_checks_lands_as_it_was_gated() {
    rewritten("more commits", &format!("{EVIL} git commit -q -m evil"), &[]);
}

/// Its objects are kept too, even if git collects garbage.
#[test]
fn a_branch_that_is_deleted_during_its_checks_lands_as_it_was_gated() {
    rewritten(
        "deleted",
        "git checkout -q --detach HEAD~1; git update-ref -d refs/heads/flower/NAME; git reflog expire --expire=now --all",
        &[&["update-ref", "-d", "refs/heads/flower/NAME"], &["gc", "--quiet", "--prune=now"]],
    );
}

#[test]
fn a_secret_of_main_does_not_land() {
    secrets("linked", "--linked");
}

#[test]
fn a_secret_of_main_does_not_land_from_a_sealed_worktree() {
    secrets("sealed", "--sealed");
}

fn secrets(name: &str, seal: &str) {
    as_each_user_unserved(|flower| {
        serve(
            flower,
            &[GREEN, (".gitignore", ".env*\n!.env.example\n"), (".env.example", "API_TOKEN=put-yours-here\n")],
        );
        let canaries = ["canary-7f3a91-token", "canary-7f3a91-quoted pass", "canary-7f3a91-local"];
        put(
            flower,
            &flower.repo.join(".env"),
            format!("# ours\nPORT=8080\nAPI_TOKEN={}\nexport DB_PASSWORD=\"{}\"\n", canaries[0], canaries[1]),
        );
        put(flower, &flower.repo.join(".env.local"), format!("SECRET_KEY='{}'\n", canaries[2]));
        let own = flower.token();
        new(flower, name, &[seal]);
        let commit = |file: &str, message: &str| {
            format!("printf '%s' '{file}' > file; git add file; git commit -qm '{message}'")
        };
        let cases = [
            ("in a file", commit(&format!("before {} after", canaries[0]), "x")),
            ("another", commit(canaries[1], "x")),
            ("of another file", commit(canaries[2], "x")),
            ("flower's own", commit(&own, "x")),
            ("in an older commit", format!("{}; {}", commit(canaries[0], "x"), commit("harmless", "y"))),
            ("in a message", commit("harmless", &format!("ends\n\nwith {}", canaries[0]))),
            ("in a title", commit("harmless", &format!("it is {}", canaries[0]))),
            ("in a name", format!("echo x > {}; git add --all; git commit -qm x", canaries[0])),
        ];
        for (what, script) in cases {
            inside_ok(flower, name, &script);
            assert_refused(flower, name, &format!("{name}, {what}"), "one of your own secrets");
            inside_ok(
                flower,
                name,
                "git reset -q --hard; git reset -q --hard $(git rev-list --max-parents=1 HEAD | tail -1)",
            );
        }
        inside_ok(flower, name, &format!("echo 8080 put-yours-here > {name}; git add --all; git commit -qm port"));
        lands(flower, name);
        let said = all_that_is_said(flower);
        for canary in canaries.into_iter().chain([own.as_str()]) {
            assert!(!said.contains(canary), "`{canary}` is told to everybody");
        }
    });
}

/// What is committed is what counts: rights of files come along, and nothing else of them.
#[test]
fn programs_stay_programs() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &[]);
    let program = tree(&flower, "one").join("run.sh");
    put(&flower, &program, "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o6777)).unwrap();
    commit_inside(&flower, "one", "program");
    lands(&flower, "one");
    let mode = fs::metadata(flower.repo.join("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7111, 0o111, "{mode:o}");
}
