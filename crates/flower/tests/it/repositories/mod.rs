//! Repositories as they are found: partial, shallow, sparse, with LFS, submodules, other hooks, moved and deleted.

mod as_found;
mod hooks;
mod lfs;
mod moves;
mod notices;
mod partial;
mod renames;

use crate::common::Flower;
use crate::common::work::*;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A repository beside the one of the test, with several commits, that allows partial clones.
fn upstream(flower: &Flower) -> PathBuf {
    let root = flower.make_repository("upstream");
    flower.git(&root, &["config", "uploadpack.allowFilter", "true"]);
    for n in 1..=3 {
        put(flower, &root.join(format!("folder/deep/file-{n}")), format!("content {n}\n"));
        put(flower, &root.join("changing"), format!("version {n}\n"));
        flower.git(&root, &["add", "."]);
        flower.git(&root, &["commit", "--quiet", "--message", &format!("commit {n}")]);
    }
    root
}

/// Replaces the repository of the test by a clone of `upstream`.
fn clone_as_repo(flower: &Flower, upstream: &Path, options: &[&str]) {
    fs::remove_dir_all(&flower.repo).unwrap();
    let url = format!("file://{}", upstream.display());
    let target = flower.repo.to_str().unwrap();
    flower.git(flower.dir(), &[&["clone", "--quiet"], options, &[&url, target]].concat());
    flower.git(&flower.repo, &["config", "user.name", "Tester"]);
    flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
}

/// The kinds of notices about the repository, except that it has no checks, and the words of all of them.
fn notices(flower: &Flower) -> (Vec<String>, Value) {
    let project = flower.json(&["init"]);
    let notices = project["notices"].clone();
    let kinds = notices.as_array().into_iter().flatten().map(|notice| notice["kind"].as_str().unwrap().to_owned());
    (kinds.filter(|kind| kind != "no_checks").collect(), notices)
}
