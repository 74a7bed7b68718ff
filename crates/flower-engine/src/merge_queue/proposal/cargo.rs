//! Rust with Cargo.

use super::{Part, Tree, check_name, in_folder, manifest_of};

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    tree.projects(&["Cargo.toml"], &["Cargo.lock"]).iter().map(|dir| part(tree, dir)).collect()
}

fn part(tree: &Tree, dir: &str) -> Part {
    let manifest = tree.toml(dir, "Cargo.toml");
    let is_workspace = manifest.contains_key("workspace");
    // Without `--workspace` only the package at the top is tested.
    let scope = if is_workspace { " --workspace" } else { "" };
    let locked = if tree.has(dir, "Cargo.lock") { " --locked" } else { "" };
    let what = if is_workspace { "a Rust workspace" } else { "Rust" };
    Part {
        found: format!("{}: {what}", manifest_of(dir, "Cargo.toml")),
        programs: vec!["cargo"],
        install: vec![in_folder(dir, &format!("cargo fetch{locked}"))],
        checks: vec![(check_name(dir, "rust"), in_folder(dir, &format!("cargo test{scope}{locked} --offline")))],
        carry: vec![manifest_of(dir, "target")],
    }
}
