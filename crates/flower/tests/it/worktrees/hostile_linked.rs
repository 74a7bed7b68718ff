//! A program in a linked worktree can write git's own files, MAIN's among them. flower looks at the worktree,
//! and nothing that was planted runs.

use super::*;
use std::os::unix::ffi::OsStrExt;

/// Writes a git configuration with every program in it that git knows of.
pub(super) fn armed(trap: &Trap) -> String {
    let program = trap.program.display();
    format!(
        "[core]\n\tfsmonitor = {program}\n\thooksPath = {hooks}\n\tpager = {program}\n\teditor = {program}\n\
         \tsshCommand = {program}\n\taskPass = {program}\n\tgitProxy = {program}\n\talternateRefsCommand = {program}\n\
         [filter \"trap\"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n\
         [filter \"long\"]\n\tprocess = {program}\n\
         [diff]\n\texternal = {program}\n[diff \"trap\"]\n\ttextconv = {program}\n\tcommand = {program}\n\
         [merge \"trap\"]\n\tdriver = {program} %O %A %B\n\
         [gpg]\n\tprogram = {program}\n[commit]\n\tgpgSign = true\n[credential]\n\thelper = !{program}\n\
         [uploadpack]\n\tpackObjectsHook = {program}\n[pager]\n\tstatus = {program}\n\tworktree = {program}\n\
         [alias]\n\tst = !{program}\n[sequence]\n\teditor = {program}\n[trailer \"x\"]\n\tcommand = {program}\n\
         [gc]\n\tauto = 1\n[maintenance]\n\tauto = true\n[submodule]\n\trecurse = true\n",
        hooks = trap.program.with_file_name("hooks").display(),
    )
}

pub(super) const ATTRIBUTES: &str = "*.txt filter=trap diff=trap merge=trap\n*.long filter=long\n";

fn append(path: &Path, text: impl AsRef<[u8]>) {
    let mut content = fs::read(path).unwrap_or_default();
    content.extend_from_slice(text.as_ref());
    fs::write(path, content).unwrap();
}

type Plant = fn(&Flower, &Trap, &Path);

/// What it is, how it is planted in the worktree `one`, and whether the operator's own `git status` there would fall for it.
const PLANTS: &[(&str, Plant, bool)] = &[
    (
        "26: .git is a repository of its own",
        |flower, trap, dir| {
            fs::remove_file(dir.join(".git")).unwrap();
            git(flower, dir, &["init", "--quiet"]);
            append(&dir.join(".git/config"), armed(trap));
        },
        true,
    ),
    (
        "26: .git leads to a repository of its own",
        |flower, trap, dir| {
            let own = flower.make_repository("own");
            append(&own.join(".git/config"), armed(trap));
            fs::write(dir.join(".git"), format!("gitdir: {}/.git\n", own.display())).unwrap();
        },
        true,
    ),
    (
        "27: commondir leads to a repository of its own",
        |flower, trap, _| {
            let own = flower.make_repository("own");
            append(&own.join(".git/config"), armed(trap));
            fs::write(flower.repo.join(".git/worktrees/one/commondir"), format!("{}/.git\n", own.display())).unwrap();
        },
        false,
    ),
    (
        "28: filters and everything else in MAIN's configuration",
        |flower, trap, _| {
            append(&flower.repo.join(".git/config"), armed(trap));
        },
        true,
    ),
    (
        "28: a filter in a file that is included",
        |flower, trap, _| {
            fs::write(flower.dir().join("included"), armed(trap)).unwrap();
            append(&flower.repo.join(".git/config"), "[include]\n\tpath = ../../included\n");
        },
        true,
    ),
    (
        "28: a filter in a file that is included in this worktree only",
        |flower, trap, _| {
            fs::write(flower.dir().join("included"), armed(trap)).unwrap();
            append(
                &flower.repo.join(".git/config"),
                "[includeIf \"gitdir:**/worktrees/one\"]\n\tpath = ../../included\n",
            );
        },
        true,
    ),
    (
        "28: a filter in a file that is included on this branch only",
        |flower, trap, _| {
            fs::write(flower.dir().join("included"), armed(trap)).unwrap();
            append(&flower.repo.join(".git/config"), "[includeIf \"onbranch:flower/**\"]\n\tpath = ../../included\n");
        },
        true,
    ),
    (
        "28: a filter whose name is no UTF-8",
        |flower, trap, dir| {
            let mut section = b"[filter \"\xff\xfe\"]\n\tclean = ".to_vec();
            section.extend_from_slice(trap.program.as_os_str().as_bytes());
            append(&flower.repo.join(".git/config"), section);
            append(&dir.join(".gitattributes"), b"*.txt filter=\xff\xfe\n");
        },
        true,
    ),
    (
        "28: attributes in MAIN's repository",
        |flower, trap, dir| {
            fs::remove_file(dir.join(".gitattributes")).unwrap();
            append(&flower.repo.join(".git/config"), armed(trap));
            fs::create_dir_all(flower.repo.join(".git/info")).unwrap();
            append(&flower.repo.join(".git/info/attributes"), ATTRIBUTES);
        },
        true,
    ),
    (
        "29: config.worktree",
        |flower, trap, _| {
            append(&flower.repo.join(".git/config"), "[extensions]\n\tworktreeConfig = true\n");
            fs::write(flower.repo.join(".git/worktrees/one/config.worktree"), armed(trap)).unwrap();
        },
        true,
    ),
    (
        "59: a repository behind a gitlink",
        |flower, trap, dir| {
            let nested = dir.join("nested");
            flower.git(dir, &["init", "--quiet", "nested"]);
            put(flower, &nested.join("l.txt"), "one\n");
            flower.git(&nested, &["add", "."]);
            flower.git(&nested, &["commit", "--quiet", "--message", "nested"]);
            flower.git(dir, &["add", "nested"]);
            flower.git(dir, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "gitlink"]);
            no_git_runs(flower);
            append(&nested.join(".git/config"), armed(trap));
            put(flower, &nested.join("l.txt"), "two\n");
        },
        true,
    ),
    (
        "hooks in MAIN's repository",
        |flower, trap, _| {
            plant_hooks(flower, trap, &flower.repo.join(".git/hooks"));
        },
        false,
    ),
];

#[test]
fn no_redirection_to_another_repository_is_followed() {
    nothing_runs(|what| what.starts_with("26") || what.starts_with("27"));
}

#[test]
fn no_filter_runs() {
    nothing_runs(|what| what.starts_with("28"));
}

#[test]
fn no_repository_behind_a_gitlink_runs_anything() {
    nothing_runs(|what| what.starts_with("59"));
}

#[test]
fn no_setting_of_a_worktree_and_no_hook_runs_anything() {
    nothing_runs(|what| what.starts_with("29") || what.starts_with("hooks"));
}

fn nothing_runs(wanted: fn(&str) -> bool) {
    as_each_user(|flower| nothing_runs_for(flower, wanted));
}

fn nothing_runs_for(flower: &Flower, wanted: fn(&str) -> bool) {
    let trap = Trap::new(flower);
    plant_hooks(flower, &trap, &trap.program.with_file_name("hooks"));
    for (path, content) in [("a.txt", "a\n"), ("b.long", "b\n"), (".gitattributes", ATTRIBUTES)] {
        commit_in_main(flower, path, content);
    }
    let clean = fs::read(flower.repo.join(".git/config")).unwrap();
    let wanted: Vec<_> = PLANTS.iter().filter(|(what, _, _)| wanted(what)).collect();
    assert!(!wanted.is_empty());
    for (what, plant, works) in wanted {
        new(flower, "one", &["--linked"]);
        let dir = tree(flower, "one");
        // Something to look at for every filter, driver and hook: changes that have the same size, and a merge.
        commit_in_main(flower, "in-main.txt", what);
        put(flower, &dir.join("a.txt"), "x\n");
        flower.git(&dir, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--all", "--message", "x"]);
        // Every git that the daemon runs for the commits above has read its settings already.
        no_git_runs(flower);
        plant(flower, &trap, &dir);
        assert!(!trap.mark.exists(), "{what}: the test itself ran it");
        let look = |verbs: &[&[&str]]| {
            for args in verbs {
                flower.run(args);
                trap.assert_untouched(&format!("{what}: {args:?}"));
            }
        };
        look(&[&["worktree", "sync", "one"]]);
        put(flower, &dir.join("a.txt"), "y\n");
        put(flower, &dir.join("b.long"), "c\n");
        look(&[&["worktree"]]);
        // Read twice, as what was read once may be remembered.
        std::thread::sleep(std::time::Duration::from_millis(120));
        look(&[&["worktree", "show", "one"], &["worktree", "sync", "one"]]);
        if *works {
            let mut status = Command::new("git");
            let _ = flower.in_own_environment(status.args(["status"]).current_dir(&dir)).output();
            assert!(trap.mark.exists(), "{what}: it is no trap at all");
            fs::remove_file(&trap.mark).unwrap();
        }
        flower.ok(&["worktree", "remove", "one"]);
        settled(flower);
        trap.assert_untouched(&format!("{what}: remove"));
        let restored = flower.run(&["worktree", "restore", "one"]);
        trap.assert_untouched(&format!("{what}: restore"));
        assert_eq!(restored.code, 0, "{what}: {restored:?}");
        // As before, for the next.
        fs::write(flower.repo.join(".git/config"), &clean).unwrap();
        for left in ["hooks", "info/attributes"] {
            let path = flower.repo.join(".git").join(left);
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        }
        let _ = fs::remove_dir_all(flower.dir().join("own"));
        remove(flower, "one");
        forget(flower);
        assert_main_is_whole(flower);
    }
}

#[test]
fn no_program_that_a_repository_configures_runs() {
    as_each_user_unserved(|flower| {
        let trap = Trap::new(flower);
        plant_hooks(flower, &trap, &trap.program.with_file_name("hooks"));
        for (path, content) in [("a.txt", "a\n"), ("b.long", "b\n"), (".gitattributes", ATTRIBUTES)] {
            commit_in_main(flower, path, content);
        }
        let config = flower.repo.join(".git/config");
        let clean = fs::read(&config).unwrap();
        let everywhere = armed(&trap);
        put(flower, &flower.dir().join("included"), &everywhere);
        let include = |section: &str| format!("[{section}]\n\tpath = {}\n", flower.dir().join("included").display());
        let hostile = [
            ("in it and included", everywhere.clone() + &include("include")),
            ("included for worktrees", include("includeIf \"gitdir:**/worktrees/*\"")),
            ("included for branches", include("includeIf \"onbranch:flower/*\"")),
        ];
        for (round, (what, text)) in hostile.iter().enumerate() {
            fs::write(&config, &clean).unwrap();
            append(&config, text);
            plant_hooks(flower, &trap, &flower.repo.join(".git/hooks"));
            let (sealed, linked) = (format!("sealed{round}"), format!("linked{round}"));
            for args in [
                &["init"][..],
                &["up"],
                &["worktree", "new", &sealed],
                &["worktree", "new", &linked, "--linked"],
                &["worktree"],
                &["worktree", "show", &sealed],
                &["worktree", "sync", &linked],
                &["worktree", "remove", &sealed],
                &["worktree", "remove", &linked],
            ] {
                let output = flower.run(args);
                trap.assert_untouched(&format!("{what}: {args:?}"));
                assert_eq!(output.code, 0, "{what}: {args:?}: {output:?}");
            }
            settled(flower);
            trap.assert_untouched(&format!("{what}: after the removal"));
        }
        // It would have run.
        fs::write(&config, &clean).unwrap();
        append(&config, &everywhere);
        let mut status = Command::new("git");
        let _ = flower.in_own_environment(status.args(["status"]).current_dir(&flower.repo)).output();
        assert!(trap.mark.exists(), "it is no trap at all");
    });
}

/// A repository that was unpacked from somewhere can have links where flower writes.
#[test]
fn no_link_in_gits_own_folder_is_followed() {
    as_each_user_unserved(|flower| {
        let precious = flower.dir().join("user/.bashrc");
        put(flower, &precious, "precious\n");
        put(flower, &flower.repo.join(".git/info/exclude"), "echo evil\n");
        let plant = |name: &str| {
            let link = flower.repo.join(".git").join(name);
            std::os::unix::fs::symlink(&precious, &link).unwrap();
            link
        };
        let lock = plant("flower.lock");
        let error = flower.run(&["init", "--json"]).error(5);
        says(&error["message"], "flower.lock");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious\n");
        fs::remove_file(lock).unwrap();
        plant("info/exclude.flower");
        new(flower, "one", &[]);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious\n");
        let exclude = fs::read_to_string(flower.repo.join(".git/info/exclude")).unwrap();
        assert!(exclude.starts_with("echo evil\n") && exclude.contains("/.flower/"), "{exclude}");
    });
}
