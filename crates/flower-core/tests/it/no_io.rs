//! The rules do no IO: neither through a dependency nor through the standard library.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Dependencies that do no IO.
const PURE: &[&str] = &["serde", "serde_json", "sha2", "thiserror"];

/// Sections of the manifest that add no code to the crate.
const HARMLESS: &[&str] = &["[package]", "[dev-dependencies]", "[lints]"];

const FORBIDDEN: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::os",
    "std::io",
    "std::time",
    "SystemTime",
    "Instant",
    "tokio",
    "rand",
    "getrandom",
];

#[test]
fn dependencies_are_the_pure_ones() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line;
            let known = section == "[dependencies]" || HARMLESS.contains(&section);
            assert!(known, "{section} could bring in code that does IO; if it cannot, name it in this test");
        } else if section == "[dependencies]" {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            found.insert(name);
        }
    }
    let allowed: BTreeSet<&str> = PURE.iter().copied().collect();
    assert_eq!(found, allowed, "flower-core depends on pure libraries only; IO belongs into the crate `flower`");
    assert!(!root().join("build.rs").exists(), "a build script does IO");
}

#[test]
fn sources_touch_neither_files_nor_clocks_nor_chance() {
    let sources = sources(&root().join("src"));
    assert!(sources.len() > 20, "only {} source files were found", sources.len());
    let mut found = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let name = path.strip_prefix(root()).unwrap_or(&path).display();
            for word in FORBIDDEN.iter().filter(|word| mentions(line, word)) {
                found.push(format!("{name}:{}: `{word}`", number + 1));
            }
            if mentions(line, "std::{") {
                found.push(format!("{name}:{}: import each module of `std` by itself, so that it is seen", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "time, ids and files come in from outside this crate:\n{}", found.join("\n"));
}

#[test]
fn mentions_are_whole_words() {
    assert!(mentions("use std::fs;", "std::fs"));
    assert!(mentions("std::fs::read(x)", "std::fs"));
    assert!(mentions("let now = Instant::now();", "Instant"));
    assert!(mentions("use std::{fs, net};", "std::{"));
    assert!(!mentions("let operand = random_instant;", "rand"));
    assert!(!mentions("fn instantly()", "Instant"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// Whether `line` contains `word` as a whole word.
fn mentions(line: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back().is_some_and(is_letter);
        let after = word.ends_with(is_letter) && line[at + word.len()..].starts_with(is_letter);
        !before && !after
    })
}
