//! Landing with a real git, a real daemon and a real jail: what reaches MAIN, what does not, and what becomes of MAIN when
//! others change it by hand.

mod adoption;
mod bad_input;
mod checks;
mod diff;
mod doctor;
mod flower_check;
mod gate;
mod guard;
mod index_lock;
mod life;
mod person;
mod served;
mod settings;
mod upstream;

use crate::common::work::*;
use crate::common::{Flower, Output, eventually};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Settings with one check that is always green.
const GREEN: (&str, &str) = ("flower.toml", "[checks]\ntest = { run = \"true\" }\n");

/// Serves a repository whose MAIN has these files from the beginning, with its commands approved.
fn serve(flower: &Flower, files: &[(&str, &str)]) {
    for (path, content) in files {
        put(flower, &flower.repo.join(path), content);
        flower.git(&flower.repo, &["add", "--force", path]);
    }
    flower.git(&flower.repo, &["commit", "--quiet", "--allow-empty", "--message", "files"]);
    prepare(flower);
    if files.iter().any(|(path, _)| *path == "flower.toml") {
        flower.ok(&["project", "approve", "--yes"]);
    }
}

fn serving(files: &[(&str, &str)]) -> Flower {
    let flower = Flower::new();
    serve(&flower, files);
    flower
}

/// Settings with one check.
fn check(run: &str) -> String {
    format!("[checks]\ntest = {{ run = {} }}\n", json!(run))
}

/// A number in the command line of all that a check runs, by which its processes are found.
fn mark() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    7_000_000_000 + u64::from(std::process::id()) * 100 + NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Processes that have a mark in their command line.
fn running(mark: u64) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let lines = all.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&mark.to_string())).collect()
}

/// Every process with this mark ends within five seconds.
fn assert_ended(mark: u64) {
    let start = std::time::Instant::now();
    while !running(mark).is_empty() {
        assert!(start.elapsed() < std::time::Duration::from_secs(5), "still there: {:#?}", running(mark));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Commits a file in a worktree, which is made if need be.
fn change(flower: &Flower, name: &str, path: &str, content: impl AsRef<[u8]>) -> String {
    if !tree(flower, name).exists() {
        new(flower, name, &["--linked"]);
    }
    put(flower, &tree(flower, name).join(path), content);
    commit_inside(flower, name, path)
}

/// Commits all that is in a worktree, and gives the commit.
fn commit_inside(flower: &Flower, name: &str, message: &str) -> String {
    let script = format!("git add --all; git commit --quiet --message '{message}'; git rev-parse HEAD");
    inside_ok(flower, name, &script)
}

/// How a landing is once it goes on no further by itself; the exit code says the same.
fn land(flower: &Flower, name: &str) -> Value {
    land_with(flower, name, &[])
}

fn land_with(flower: &Flower, name: &str, more: &[&str]) -> Value {
    settlement(&flower.run(&[&["land", name, "--wait", "--json"], more].concat()))
}

/// The landing that a command has waited for.
fn settlement(output: &Output) -> Value {
    let landing: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let landing = if landing["landing"].is_object() { landing["landing"].clone() } else { landing };
    let expected: &[i32] = match landing["state"].as_str() {
        Some("landed") => &[0],
        Some("rejected") => &[1, 4],
        _ => &[1],
    };
    assert!(expected.contains(&output.code), "{output:?}");
    landing
}

/// Lands what is committed in a worktree.
fn lands(flower: &Flower, name: &str) -> Value {
    let landing = land(flower, name);
    assert_eq!(landing["state"], "landed", "{landing:#}");
    landing
}

/// Queues it, and does not wait.
fn queue(flower: &Flower, name: &str, more: &[&str]) -> u64 {
    number(&flower.json(&[&["land", name], more].concat()))
}

fn number(landing: &Value) -> u64 {
    landing["id"].as_u64().unwrap_or_else(|| panic!("no landing: {landing}"))
}

fn landing(flower: &Flower, number: u64) -> Value {
    flower.json(&["queue", "show", &number.to_string()])
}

/// Waits until a landing is in this state.
fn becomes(flower: &Flower, number: u64, state: &str) -> Value {
    let mut last = Value::Null;
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually(&format!("landing {number} is {state}"), || {
            last = landing(flower, number);
            let ended = last["ended_at"].is_string();
            (last["state"] == state || ended).then_some(())
        });
    }));
    assert!(found.is_ok() && last["state"] == state, "landing {number} is not {state}: {last:#}");
    last
}

/// Lets a landing in that waits for the operator, and waits for it.
fn approve(flower: &Flower, number: u64) -> Value {
    flower.ok(&["queue", "approve", &number.to_string()]);
    becomes(flower, number, "landed")
}

/// Waits until a worktree whose work has landed is gone.
fn retired(flower: &Flower, name: &str) {
    eventually(&format!("`{name}` goes"), || {
        let all = flower.json(&["worktree"]);
        all.as_array().expect("a list").iter().all(|worktree| worktree["name"] != name).then_some(())
    });
}

/// Where MAIN's branch is.
fn tip(flower: &Flower) -> String {
    git(flower, &flower.repo, &["rev-parse", "refs/heads/main"])
}

/// Where MAIN's branch is, and every file of its checkout.
fn main_now(flower: &Flower) -> (String, Snapshot) {
    (tip(flower), files(&flower.repo))
}

/// Nothing of MAIN has changed since.
fn assert_main_is(flower: &Flower, before: &(String, Snapshot), what: &str) {
    let (tip, files) = main_now(flower);
    assert_eq!(tip, before.0, "{what}: MAIN's branch");
    assert_eq!(differences(&before.1, &files), [""; 0], "{what}: MAIN's files");
}

/// All events of a kind, oldest first.
fn events(flower: &Flower, kind: &str) -> Vec<Value> {
    let all = flower.json(&["trace", "--limit", "10000"]);
    all.as_array().expect("a list").iter().filter(|event| event["kind"] == kind).cloned().collect()
}

/// Everything that flower tells about landings: events, the queue, and what waits for the operator.
fn all_that_is_said(flower: &Flower) -> String {
    let lists: [&[&str]; 4] = [&["trace", "--limit", "10000"], &["queue", "--all"], &["inbox"], &["main"]];
    lists.iter().map(|args| flower.json(args).to_string()).collect()
}
