//! Worktrees with a real git, a real daemon and a real jail: their life, what they keep, and the attacks that must fail.

mod attacks_on_main;
mod bad_input;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod disk;
mod hostile_commits;
mod hostile_linked;
mod hostile_private;
mod life;
#[path = "../reliability/namespace.rs"]
mod namespace;
mod observed;
mod ordinary_git;
mod removal;
mod secrets;
mod setup;
mod sync;
mod wild;

use common::{Flower, Output, eventually};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A served repository whose commits have an author.
fn served() -> Flower {
    let flower = Flower::new();
    prepare(&flower);
    flower
}

fn prepare(flower: &Flower) {
    flower.git(&flower.repo, &["config", "user.name", "Tester"]);
    flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
    flower.start();
}

/// With one worktree, called `one`.
fn with_one(more: &[&str]) -> Flower {
    let flower = served();
    new(&flower, "one", more);
    flower
}

/// The test as whoever runs it and, if that is root, again as an ordinary user.
fn as_each_user(test: impl Fn(&Flower)) {
    as_each_user_unserved(|flower| {
        prepare(flower);
        test(flower);
    });
}

/// Before flower has seen the repository.
fn as_each_user_unserved(test: impl Fn(&Flower)) {
    for flower in std::iter::once(Flower::new()).chain(Flower::of_ordinary_user()) {
        test(&flower);
    }
}

fn new(flower: &Flower, name: &str, more: &[&str]) -> Value {
    flower.json(&[&["worktree", "new", name], more].concat())
}

fn show(flower: &Flower, name: &str) -> Value {
    flower.json(&["worktree", "show", name])
}

fn tree(flower: &Flower, name: &str) -> PathBuf {
    flower.home.join("worktrees/repo").join(name)
}

fn private(flower: &Flower, name: &str) -> PathBuf {
    flower.home.join("seals/repo").join(name).join("private.git")
}

/// A shell script in the worktree, inside its seal.
fn inside(flower: &Flower, name: &str, script: &str) -> Output {
    flower.run(&["worktree", "shell", name, "--", "sh", "-ec", script])
}

/// What a script says that succeeds.
fn inside_ok(flower: &Flower, name: &str, script: &str) -> String {
    let output = inside(flower, name, script);
    assert_eq!(output.code, 0, "{script}: {output:?}");
    output.stdout.trim_end().to_owned()
}

/// Something that runs inside until the test ends it.
struct Running(Child);

impl Running {
    fn inside(flower: &Flower, name: &str) -> Running {
        Running::after(flower, name, "true")
    }

    /// Once `script` has succeeded.
    fn after(flower: &Flower, name: &str, script: &str) -> Running {
        Running::start(flower, name, &format!("{script} && echo ready && exec sleep 300"), "ready\n")
    }

    /// A script inside, as soon as it has said `word`.
    fn start(flower: &Flower, name: &str, script: &str, word: &str) -> Running {
        let mut command = flower.command(&["worktree", "shell", name, "--", "sh", "-c", script]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("flower runs");
        let mut said = vec![0; word.len()];
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut said).expect("it says that it runs");
        assert_eq!(String::from_utf8_lossy(&said), word);
        Running(child)
    }

    /// A process of the operator's whose working directory is there.
    fn beside(flower: &Flower, dir: &Path) -> Running {
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

fn children(of: u32) -> Vec<rustix::process::Pid> {
    let text = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?)).collect()
}

/// What git says to the operator.
fn git(flower: &Flower, dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    let output = flower.in_own_environment(command.args(args).current_dir(dir)).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// A commit in MAIN.
fn commit_in_main(flower: &Flower, path: &str, content: &str) -> String {
    put(flower, &flower.repo.join(path), content);
    flower.git(&flower.repo, &["add", "--force", path]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", path]);
    git(flower, &flower.repo, &["rev-parse", "HEAD"])
}

/// A file that belongs to whoever flower runs as.
fn put(flower: &Flower, path: &Path, content: impl AsRef<[u8]>) {
    let above = path.parent().expect("a folder");
    let first_new = above.ancestors().take_while(|dir| !dir.exists()).last().map(Path::to_owned);
    fs::create_dir_all(above).expect("a folder");
    fs::write(path, content).expect("a file");
    flower.give(first_new.as_deref().unwrap_or(path));
}

fn remove(flower: &Flower, name: &str) {
    flower.ok(&["worktree", "remove", name]);
    settled(flower);
}

/// Waits until no removal is under way, and gives what is kept.
fn settled(flower: &Flower) -> Value {
    eventually(&format!("the removal ends, see {}", flower.home.join("daemon.log").display()), || {
        let live = flower.json(&["worktree"]);
        let busy = live.as_array().expect("a list").iter().any(|worktree| worktree["state"] == "removing");
        (!busy).then_some(())
    });
    flower.json(&["worktree", "archive"])
}

/// Drops every archive and every branch of flower's, for the next round.
fn forget(flower: &Flower) {
    for kept in flower.json(&["worktree", "archive"]).as_array().expect("a list") {
        flower.ok(&["worktree", "archive", "--drop", &kept["number"].to_string()]);
    }
    for branch in git(flower, &flower.repo, &["for-each-ref", "--format=%(refname)", "refs/heads/flower"]).lines() {
        flower.git(&flower.repo, &["update-ref", "-d", branch]);
    }
}

/// MAIN is as it was committed, and its repository is sound.
fn assert_main_is_whole(flower: &Flower) {
    git(flower, &flower.repo, &["fsck", "--full", "--no-dangling"]);
    assert_eq!(git(flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(git(flower, &flower.repo, &["symbolic-ref", "HEAD"]), "refs/heads/main");
}

/// Everything that making a worktree could leave behind.
fn traces(flower: &Flower) -> Vec<String> {
    let mut traces = vec![
        git(flower, &flower.repo, &["for-each-ref"]),
        git(flower, &flower.repo, &["worktree", "list", "--porcelain"]),
    ];
    for folder in ["worktrees", "seals"] {
        let projects = fs::read_dir(flower.home.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = projects
            .flat_map(|project| fs::read_dir(project.path()).into_iter().flatten().flatten())
            .map(|entry| entry.path().display().to_string())
            .collect();
        names.sort();
        traces.extend(names);
    }
    traces
}

/// What a file is to whoever looks at it: its sort, permissions, and content.
type Snapshot = BTreeMap<OsString, (u32, Vec<u8>)>;

/// Everything below `root` but git's own file at its top.
fn snapshot(root: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    collect(root, root, &mut all);
    all.remove(std::ffi::OsStr::new(".git"));
    all
}

fn collect(root: &Path, dir: &Path, all: &mut Snapshot) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())).flatten() {
        let path = entry.path();
        let found = fs::symlink_metadata(&path).expect("it is there");
        let content = if found.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else if found.is_file() && found.len() < 1 << 20 {
            fs::read(&path).expect("readable")
        } else {
            Vec::new()
        };
        all.insert(path.strip_prefix(root).expect("below").into(), (found.mode(), content));
        if found.is_dir() {
            collect(root, &path, all);
        }
    }
}

/// What is different, for a message that can be read.
fn differences(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let names: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differs = names.into_iter().filter(|name| before.get(*name) != after.get(*name));
    let said = |side: Option<&(u32, Vec<u8>)>| match side {
        None => "nothing".to_owned(),
        Some((mode, content)) => format!("{mode:o} {:?}", String::from_utf8_lossy(&content[..content.len().min(40)])),
    };
    differs.map(|name| format!("{}: {} -> {}", name.display(), said(before.get(name)), said(after.get(name)))).collect()
}

/// Some text of an error or a note.
fn says(value: &Value, words: &str) {
    assert!(value.to_string().contains(words), "`{words}` is not said: {value}");
}
