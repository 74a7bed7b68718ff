//! Worktrees with a real git, a real daemon and a real jail: their life, what they keep, and the attacks that must fail.

mod attacks_on_main;
mod bad_input;
mod caches;
mod crashes;
mod disk;
mod hostile_commits;
mod hostile_linked;
mod hostile_private;
mod lent;
mod life;
mod listed_places;
mod nested_repositories;
mod network;
mod observed;
mod operators_commits;
mod ordinary_git;
mod removal;
mod secrets;
mod setup;
mod special_files;
mod sync;
mod wild;

use crate::common::work::*;
use crate::common::{Flower, HANG, eventually};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A served repository whose commits have an author.
fn served() -> Flower {
    let flower = Flower::new();
    prepare(&flower);
    flower
}

/// With one worktree, called `one`.
fn with_one(more: &[&str]) -> Flower {
    let flower = served();
    new(&flower, "one", more);
    flower
}

fn private(flower: &Flower, name: &str) -> PathBuf {
    flower.home.join("seals/repo").join(name).join("private.git")
}

/// A commit in MAIN that flower takes for its tip.
fn commit_in_main(flower: &Flower, path: &str, content: &str) -> String {
    put(flower, &flower.repo.join(path), content);
    flower.git(&flower.repo, &["add", "--force", path]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", path]);
    record_main(flower);
    git(flower, &flower.repo, &["rev-parse", "HEAD"])
}

/// Lets flower take MAIN as it is for its tip: by registering it anew, or by adopting it where worktrees are alive.
fn record_main(flower: &Flower) {
    // What flower has not looked at yet it takes as it finds it.
    if flower.json(&["project"]) == serde_json::json!([]) {
        return;
    }
    if flower.json(&["worktree"]) == serde_json::json!([]) {
        flower.ok(&["project", "remove", "repo"]);
        flower.ok(&["init"]);
        return;
    }
    let landing = flower.json(&["main", "adopt"])["landing"]["id"].to_string();
    flower.run(&["queue", "approve", &landing]);
    crate::common::eventually("MAIN is adopted", || {
        (flower.json(&["queue", "show", &landing])["state"] == "landed").then_some(())
    });
}

fn remove(flower: &Flower, name: &str) {
    flower.ok(&["worktree", "remove", name]);
    settled(flower);
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
