//! A repository that was made inside of a worktree, behind a gitlink, in place of a submodule or untracked: nothing that its
//! configuration, attributes or hooks name runs when the operator uses plain git in the worktree's directory.

use super::*;

/// As root and as an ordinary user, where the tests run as root.
fn as_root_and_user(test: impl Fn(&Flower)) {
    for flower in [Some(Flower::new()), Flower::of_ordinary_user()].into_iter().flatten() {
        prepare(&flower);
        test(&flower);
    }
}

fn mark(flower: &Flower) -> PathBuf {
    flower.dir().join("mark")
}

/// Lines for a shell that stands at the top of a work tree: a repository at `path` with a program behind every setting, filter
/// and hook that git runs. Its HEAD is what the index has there, so that git goes on to look for changes.
fn armed(flower: &Flower, path: &str) -> String {
    format!(
        r#"
        ( entry=$(git ls-files --stage {path} | cut -d' ' -f2)
          mkdir -p {path} && cd {path} && rm -rf .git && git init -q . || exit 0
          echo one > l.txt; echo '*.txt filter=evil diff=evil' > .gitattributes
          git add . && git -c user.name=x -c user.email=x@example.com commit -qm x
          printf '#!/bin/sh\ntouch {mark}\ncat\n' > .git/evil; chmod +x .git/evil
          for key in core.fsmonitor filter.evil.clean filter.evil.smudge diff.evil.textconv diff.external core.pager; do
              git config $key "$PWD/.git/evil"
          done
          mkdir -p .git/hooks
          for hook in post-index-change post-checkout reference-transaction pre-commit post-commit; do
              cp .git/evil .git/hooks/$hook
          done
          [ -z "$entry" ] || echo $entry > .git/HEAD
          echo two > l.txt; echo new > new.txt ) 2>/dev/null
        "#,
        mark = mark(flower).display(),
    )
}

/// What operators and their editors and prompts do all day.
const PLAIN_GIT: &[&[&str]] = &[
    &["status", "--short"],
    &["diff"],
    &["diff", "--stat"],
    &["diff", "HEAD"],
    &["diff", "--submodule=diff"],
    &["describe", "--always", "--dirty"],
    &["update-index", "--refresh"],
    &["add", "-u"],
    &["add", "-A"],
    &["status", "--porcelain=v2", "--branch"],
    &["stash"],
    &["stash", "pop"],
    &["stash", "-u"],
    &["stash", "pop"],
    &["commit", "--all", "--message", "by the operator", "--author", "O <o@example.com>"],
    &["add", "-A"],
    &["status"],
    &["checkout", "-q", "."],
    &["reset", "-q"],
    &["status"],
    &["add", "-A"],
    &["log", "--oneline", "-3"],
];

fn operator_uses_git(flower: &Flower, what: &str) {
    operator_uses(flower, what, PLAIN_GIT);
}

/// Runs it in the worktree's directory and looks for the mark after each command.
fn operator_uses(flower: &Flower, what: &str, commands: &[&[&str]]) {
    let dir = tree(flower, "one");
    for (round, args) in commands.iter().enumerate() {
        put(flower, &dir.join("README.md"), format!("changed {round}\n"));
        let mut plain = Command::new("git");
        let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
        let _ = flower.in_own_environment(plain.args(identity).args(*args).current_dir(&dir)).output();
        assert!(!mark(flower).exists(), "{what}: `git {}` ran a program from inside", args.join(" "));
        gitlinks_are_marked(flower, &dir);
    }
}

/// `git add -A` takes a repository as a gitlink; flower marks it as soon as the index has moved.
fn gitlinks_are_marked(flower: &Flower, dir: &Path) {
    eventually("every gitlink is marked", || {
        let index = git(flower, dir, &["ls-files", "--stage", "-t"]);
        (!index.lines().any(|line| line.starts_with("H 160000 "))).then_some(())
    });
}

/// MAIN gets a submodule `lib` at `path`, whose clone MAIN has.
fn add_submodule(flower: &Flower, path: &str) {
    let lib = flower.dir().join("lib");
    if !lib.exists() {
        flower.make_repository("lib");
    }
    let url = lib.to_str().unwrap();
    flower.git(&flower.repo, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, path]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "submodule"]);
    // No landing adds a submodule. With worktrees alive it is in MAIN's branch, which was moved by hand.
    if flower.json(&["worktree"]) == serde_json::json!([]) {
        record_main(flower);
    }
}

#[test]
fn the_trap_of_these_tests_works_in_an_ordinary_repository() {
    let flower = served();
    add_submodule(&flower, "vendor/lib");
    let mut shell = Command::new("sh");
    let script = format!("{}\ngit status", armed(&flower, "vendor/lib"));
    let _ = flower.in_own_environment(shell.args(["-c", &script]).current_dir(&flower.repo)).output();
    assert!(mark(&flower).exists());
}

#[test]
fn a_gitlink_that_main_does_not_have_stays_inside() {
    as_root_and_user(|flower| {
        new(flower, "one", &[]);
        let commit = "git add vendor/lib && git commit -qm gitlink";
        inside(flower, "one", &format!("{}\n{commit}", armed(flower, "vendor/lib")));
        let seen = show(flower, "one");
        says(&seen["notes"], "`vendor/lib` would become a submodule, which MAIN does not have there");
        says(&seen["notes"], "git rm --cached vendor/lib");
        operator_uses_git(flower, "a new gitlink");
        // The next step that is named leads out of it.
        inside_ok(
            flower,
            "one",
            "git rm -q --cached vendor/lib && echo vendor/ > .gitignore && git add .gitignore && git commit -qm mended",
        );
        let seen = show(flower, "one");
        assert!(!seen["notes"].to_string().contains("would become a submodule"), "{seen}");
        operator_uses_git(flower, "an ignored repository");
    });
}

/// Ways to put a repository where MAIN has its submodule `vendor/lib`.
const WAYS: &[(&str, &str)] = &[
    ("in place", ""),
    ("its folder is renamed", "mv vendor/lib vendor/old; mkdir -p vendor/lib"),
    ("the folder above is renamed", "mv vendor old; mkdir -p vendor/lib"),
    ("the folders are deleted", "rm -rf vendor; mkdir -p vendor/lib"),
    ("a link leads to another folder", "mkdir -p other; rm -rf vendor; ln -s other vendor"),
    ("the top is renamed", "mkdir ../up; mv ../one ../up/one; mkdir -p ../one; cd ../one"),
    ("git removes it first", "git rm -rfq vendor/lib; git checkout -qf HEAD -- vendor/lib"),
];

#[test]
fn no_repository_takes_the_place_of_a_submodule() {
    as_root_and_user(|flower| {
        add_submodule(flower, "vendor/lib");
        for (what, way) in WAYS {
            new(flower, "one", &[]);
            let script = format!("set +e\n{way}\n{}\ntrue", armed(flower, "vendor/lib"));
            inside_ok(flower, "one", &script);
            let planted = tree(flower, "one").join("vendor/lib/.git");
            assert!(fs::symlink_metadata(&planted).is_err(), "{what}: {} is there", planted.display());
            operator_uses(flower, what, &PLAIN_GIT[..4]);
            // A commit inside moves the operator's index.
            inside_ok(flower, "one", "echo more > more; git add more; git commit -qm more");
            operator_uses(flower, &format!("{what}, and a commit"), &PLAIN_GIT[..9]);
            remove(flower, "one");
            forget(flower);
        }
    });
}

/// Commits inside what MAIN has as a submodule.
fn takes_in(flower: &Flower, path: &str) -> String {
    let commit = git(flower, &flower.dir().join("lib"), &["rev-parse", "HEAD"]);
    format!("git update-index --add --cacheinfo 160000,{commit},{path}; git commit -qm link")
}

/// The hook in MAIN's repository marks what `git add` takes in, before the operator's next command.
#[test]
fn a_repository_that_the_operator_adds_runs_nothing_without_a_daemon() {
    as_root_and_user(|flower| {
        new(flower, "one", &[]);
        inside_ok(flower, "one", &format!("{}\ntrue", armed(flower, "x")));
        flower.ok(&["down"]);
        let dir = tree(flower, "one");
        for args in
            [&["add", "-A"][..], &["add", "-A"], &["add", "."], &["status"], &["stash"], &["commit", "-qam", "x"]]
        {
            let mut plain = Command::new("git");
            let _ = flower.in_own_environment(plain.args(args).current_dir(&dir)).output();
            assert!(!mark(flower).exists(), "`git {}` ran a program from inside", args.join(" "));
        }
    });
}

#[test]
fn a_repository_that_the_operator_adds_runs_nothing() {
    as_root_and_user(|flower| {
        new(flower, "one", &[]);
        inside_ok(flower, "one", &format!("{}\ntrue", armed(flower, "x")));
        let dir = tree(flower, "one");
        for args in [&["status"][..], &["add", "-A"], &["status"], &["diff"], &["diff", "--stat"]] {
            let mut plain = Command::new("git");
            let _ = flower.in_own_environment(plain.args(args).current_dir(&dir)).output();
            assert!(!mark(flower).exists(), "`git {}` ran a program from inside", args.join(" "));
        }
        gitlinks_are_marked(flower, &dir);
        assert_eq!(git(flower, &dir, &["ls-files", "-t", "--", "x"]), "S x");
        operator_uses_git(flower, "an untracked repository");
    });
}

#[test]
fn a_repository_is_set_aside_when_main_gets_a_submodule_there() {
    as_root_and_user(|flower| {
        new(flower, "one", &[]);
        inside_ok(flower, "one", &format!("{}\ntrue", armed(flower, "third/lib")));
        add_submodule(flower, "third/lib");
        inside_ok(flower, "one", &format!("{}; git ls-files --error-unmatch third/lib", takes_in(flower, "third/lib")));
        assert!(!tree(flower, "one").join("third/lib/.git").exists());
        assert!(flower.home.join("seals/repo/one/nested-1.git/evil").exists(), "nothing is lost");
        operator_uses_git(flower, "a submodule that came later");
    });
}

#[test]
fn a_new_submodule_stays_inside_while_an_older_jail_could_replace_it() {
    let flower = served();
    new(&flower, "one", &[]);
    let script = format!(
        "echo ready; while [ ! -e go ]; do sleep 0.05; done; link=$(cat go); {}; {}\n\
         echo merged > merged; exec sleep 300",
        "git update-index --add --cacheinfo 160000,$link,third/lib; git commit -qm link",
        armed(&flower, "third/lib")
    );
    let running = Running::start(&flower, "one", &script, "ready\n");
    add_submodule(&flower, "third/lib");
    put(&flower, &flower.dir().join("go"), git(&flower, &flower.dir().join("lib"), &["rev-parse", "HEAD"]));
    fs::rename(flower.dir().join("go"), tree(&flower, "one").join("go")).unwrap();
    eventually("it has merged", || tree(&flower, "one").join("merged").exists().then_some(()));
    says(&show(&flower, "one")["notes"], "while something runs inside that was started before");
    operator_uses_git(&flower, "while it runs");
    drop(running);
    let seen = show(&flower, "one");
    assert!(!seen["notes"].to_string().contains("started before"), "{seen}");
    operator_uses_git(&flower, "after it has ended");
}

/// What is changed in a submodule stays inside, from one command to the next, and the operator's files are as they were.
#[test]
fn submodules_can_be_built_in_and_stay_as_they_are_outside() {
    as_each_user(|flower| {
        add_submodule(flower, "vendor/lib");
        new(flower, "one", &[]);
        inside_ok(
            flower,
            "one",
            "grep -q hello vendor/lib/README.md; mkdir vendor/lib/build; echo o > vendor/lib/build/o",
        );
        inside_ok(
            flower,
            "one",
            "test -e vendor/lib/build/o; test -z \"$(git status --porcelain)\"; echo x > vendor/x",
        );
        let dir = tree(flower, "one");
        assert!(!dir.join("vendor/lib/build").exists());
        assert!(dir.join("vendor/x").exists(), "everything around it is the worktree's");
        assert_eq!(fs::read_to_string(dir.join("vendor/lib/README.md")).unwrap(), "hello\n");
    });
}

/// The repository is as it was once flower has left it.
#[test]
fn the_operators_configuration_is_written_and_taken_back() {
    let flower = served();
    new(&flower, "one", &[]);
    let dir = tree(&flower, "one");
    assert_eq!(git(&flower, &dir, &["config", "diff.ignoreSubmodules"]), "all");
    assert_eq!(git(&flower, &flower.repo, &["config", "--default", "none", "diff.ignoreSubmodules"]), "none");
    remove(&flower, "one");
    flower.ok(&["project", "remove", "repo"]);
    let config = fs::read_to_string(flower.repo.join(".git/config")).unwrap();
    assert!(!config.contains("extensions"), "{config}");
}
