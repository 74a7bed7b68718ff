//! Worktrees from the outside: making them, what runs inside, and whether MAIN is whole.

use super::{Flower, Output, eventually};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Whether tests run in their full length: `FLOWER_SOAK=1`.
pub fn is_soak() -> bool {
    std::env::var_os("FLOWER_SOAK").is_some_and(|value| value == "1")
}

/// `short` in every test run, `full` with `FLOWER_SOAK=1`.
pub fn count(short: usize, full: usize) -> usize {
    if is_soak() { full } else { short }
}

pub fn prepare(flower: &Flower) {
    flower.git(&flower.repo, &["config", "user.name", "Tester"]);
    flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
    flower.start();
}

/// The daemon, which dies at this failpoint.
pub fn dying_at(flower: &Flower, place: &str) -> Child {
    flower.ok(&["down"]);
    let mut daemon = flower.command(&["up", "--foreground"]);
    daemon.env("FLOWER_FAIL_AT", place).stdout(Stdio::null()).stderr(Stdio::null());
    let child = daemon.spawn().expect("flower runs");
    // Not with a command, which would start a daemon of its own.
    eventually("the daemon listens", || UnixStream::connect(flower.home.join("flower.sock")).ok());
    child
}

/// The test as an ordinary user; with `FLOWER_SOAK=1` also as root, as whom all other tests run where root runs them.
pub fn as_each_user(test: impl Fn(&Flower)) {
    as_each_user_unserved(|flower| {
        prepare(flower);
        test(flower);
    });
}

/// Before flower has seen the repository.
pub fn as_each_user_unserved(test: impl Fn(&Flower)) {
    let ordinary = Flower::of_ordinary_user();
    if is_soak() || ordinary.is_none() {
        test(&Flower::new());
    }
    ordinary.iter().for_each(test);
}

pub fn new(flower: &Flower, name: &str, more: &[&str]) -> Value {
    flower.json(&[&["worktree", "new", name], more].concat())
}

pub fn show(flower: &Flower, name: &str) -> Value {
    flower.json(&["worktree", "show", name])
}

pub fn tree(flower: &Flower, name: &str) -> PathBuf {
    flower.home.join("worktrees/repo").join(name)
}

/// A shell script in the worktree, inside its seal.
pub fn inside(flower: &Flower, name: &str, script: &str) -> Output {
    flower.run(&["worktree", "shell", name, "--", "sh", "-ec", script])
}

/// What a script says that succeeds.
pub fn inside_ok(flower: &Flower, name: &str, script: &str) -> String {
    let output = inside(flower, name, script);
    assert_eq!(output.code, 0, "{script}: {output:?}");
    output.stdout.trim_end().to_owned()
}

/// Something that runs inside until the test ends it.
pub struct Running(pub Child);

impl Running {
    pub fn inside(flower: &Flower, name: &str) -> Running {
        Running::after(flower, name, "true")
    }

    /// Once `script` has succeeded.
    pub fn after(flower: &Flower, name: &str, script: &str) -> Running {
        Running::start(flower, name, &format!("{script} && echo ready && exec sleep 300"), "ready\n")
    }

    /// A script inside, as soon as it has said `word`.
    pub fn start(flower: &Flower, name: &str, script: &str, word: &str) -> Running {
        let mut command = flower.command(&["worktree", "shell", name, "--", "sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("flower runs");
        let mut said = vec![0; word.len()];
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut said).expect("it says that it runs");
        assert_eq!(String::from_utf8_lossy(&said), word);
        Running(child)
    }

    /// A process of the operator's whose working directory is there.
    pub fn beside(flower: &Flower, dir: &Path) -> Running {
        let mut command = Command::new("sleep");
        flower.in_own_environment(command.arg("300").current_dir(dir));
        Running(command.spawn().expect("sleep runs"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What it waits for is asked to end, and ends with everything that it has started; then it ends by itself.
        let children = children(self.0.id());
        for child in &children {
            let _ = rustix::process::kill_process(*child, rustix::process::Signal::TERM);
        }
        if children.is_empty() {
            let _ = self.0.kill();
        }
        let _ = self.0.wait();
    }
}

pub fn children(of: u32) -> Vec<rustix::process::Pid> {
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let started = threads.map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let pid = |pid: &str| rustix::process::Pid::from_raw(pid.parse().ok()?);
    started.flat_map(|text| text.split_whitespace().filter_map(pid).collect::<Vec<_>>()).collect()
}

/// What git says to the operator.
pub fn git(flower: &Flower, dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = flower.in_own_environment(command.args(args).current_dir(dir)).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A file that belongs to the user flower runs as.
pub fn put(flower: &Flower, path: &Path, content: impl AsRef<[u8]>) {
    let above = path.parent().expect("a folder");
    let first_new = above.ancestors().take_while(|dir| !dir.exists()).last().map(Path::to_owned);
    fs::create_dir_all(above).expect("a folder");
    fs::write(path, content).expect("a file");
    flower.give(first_new.as_deref().unwrap_or(path));
}

/// Waits until no removal is under way, and gives what is kept.
pub fn settled(flower: &Flower) -> Value {
    eventually(&format!("the removal ends, see {}", flower.home.join("daemon.log").display()), || {
        let live = flower.json(&["worktree"]);
        let busy = live.as_array().expect("a list").iter().any(|worktree| worktree["state"] == "removing");
        (!busy).then_some(())
    });
    flower.json(&["worktree", "archive"])
}

/// Waits until the daemon runs no git that reads working trees, and for a moment has not begun another.
pub fn no_git_runs(flower: &Flower) {
    let mut quiet = 0;
    eventually("the daemon runs no git", || {
        let busy = children(flower.pid()).iter().any(|child| {
            let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            !String::from_utf8_lossy(&words).contains("cat-file\0--batch-command")
        });
        quiet = if busy { 0 } else { quiet + 1 };
        (quiet >= 10).then_some(())
    });
}

/// MAIN is as it was committed, and its repository is sound.
pub fn assert_main_is_whole(flower: &Flower) {
    git(flower, &flower.repo, &["fsck", "--full", "--no-dangling"]);
    assert_eq!(git(flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(git(flower, &flower.repo, &["symbolic-ref", "HEAD"]), "refs/heads/main");
}

/// The type, permissions and content of each file.
pub type Snapshot = BTreeMap<OsString, (u32, Vec<u8>)>;

/// Everything below `root` but git's own file at its top.
pub fn snapshot(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    collect(root, root, &mut all);
    all.remove(std::ffi::OsStr::new(".git"));
    all
}

/// Everything below `root`, a checkout, but git's own folder.
pub fn files(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    for entry in fs::read_dir(root).expect("a folder").flatten().filter(|entry| entry.file_name() != ".git") {
        take(root, &entry.path(), &mut all);
    }
    all
}

fn collect(root: &Path, dir: &Path, all: &mut Snapshot) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())).flatten() {
        take(root, &entry.path(), all);
    }
}

fn take(root: &Path, path: &Path, all: &mut Snapshot) {
    let found = fs::symlink_metadata(path).expect("it is there");
    let content = if found.is_symlink() {
        fs::read_link(path).expect("a link").into_os_string().into_encoded_bytes()
    } else if found.is_file() && found.len() < 1 << 20 {
        fs::read(path).expect("readable")
    } else {
        Vec::new()
    };
    all.insert(path.strip_prefix(root).expect("below").into(), (found.mode(), content));
    if found.is_dir() {
        collect(root, path, all);
    }
}

/// What is different, for a message that can be read.
pub fn differences(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let said = |side: Option<&(u32, Vec<u8>)>| match side {
        None => "nothing".to_owned(),
        Some((mode, content)) => format!("{mode:o} {:?}", String::from_utf8_lossy(&content[..content.len().min(40)])),
    };
    differs.map(|name| format!("{}: {} -> {}", name.display(), said(before.get(name)), said(after.get(name)))).collect()
}

/// Some text of an error or a note.
pub fn says(value: &Value, words: &str) {
    assert!(value.to_string().contains(words), "`{words}` is not said: {value}");
}

/// A program that leaves a mark, and passes on what it is given.
pub struct Trap {
    pub program: PathBuf,
    pub mark: PathBuf,
}

impl Trap {
    pub fn new(flower: &Flower) -> Trap {
        let trap = Trap { program: flower.dir().join("trap"), mark: flower.dir().join("mark") };
        put(flower, &trap.program, format!("#!/bin/sh\ntouch {}\ncat\n", trap.mark.display()));
        fs::set_permissions(&trap.program, fs::Permissions::from_mode(0o755)).unwrap();
        trap
    }

    pub fn assert_untouched(&self, what: &str) {
        assert!(!self.mark.exists(), "{what}: the program ran");
    }
}

/// Every hook, as `core.hooksPath` and `.git/hooks` would have them.
pub fn plant_hooks(flower: &Flower, trap: &Trap, at: &Path) {
    for hook in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-merge",
        "pre-merge-commit",
        "prepare-commit-msg",
        "post-rewrite",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "pre-push",
        "update",
        "pre-receive",
        "post-receive",
        "post-update",
        "pre-rebase",
    ] {
        put(flower, &at.join(hook), fs::read(&trap.program).unwrap());
        fs::set_permissions(at.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
}
