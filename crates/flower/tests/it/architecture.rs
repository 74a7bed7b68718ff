//! What neither crates nor types hold yet: which file writes the log, which function moves MAIN, and that the tables in
//! `docs` name tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn nothing_but_the_log_writes_events() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flower-store/src");
    let writers: Vec<PathBuf> = rust_files(&store)
        .into_iter()
        .filter(|file| fs::read_to_string(file).expect("readable").contains("INSERT INTO events"))
        .collect();
    assert_eq!(writers, [store.join("log.rs")]);
}

/// `flower_git::Repo` writes refs of flower's own and no others, so MAIN's branch moves through `MainBranch` alone. That is made
/// only where the proofs are asked for, and a proof only where it is due.
#[test]
fn only_one_function_moves_main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let holding_in = |folder: &str, sign: &str| -> Vec<PathBuf> {
        let source = crates.join(folder).join("src");
        let holds = |file: &PathBuf| fs::read_to_string(file).expect("readable").contains(sign);
        let files = rust_files(&source).into_iter().filter(holds);
        files.map(|file| file.strip_prefix(&source).expect("below src").to_owned()).collect()
    };
    let holding = |sign: &str| holding_in("flower-engine", sign);
    assert_eq!(holding("MainBranch"), [Path::new("merge_queue/main_branch/update.rs")]);
    for other in ["flower", "flower-store", "flower-jail", "flower-contract", "flower-core"] {
        assert_eq!(holding_in(other, "MainBranch::"), [""; 0].map(PathBuf::from), "{other}");
    }
    // The only refs that `Repo` can name when it writes.
    assert_eq!(holding_in("flower-git", "\"update-ref\""), ["main_branch.rs", "refs.rs"].map(PathBuf::from));
    assert_eq!(holding_in("flower-git", "[\"refs/flower/\", \"refs/heads/flower/\"]"), [Path::new("ids.rs")]);
    assert_eq!(holding("VerifiedCommit { commit"), [Path::new("merge_queue/checks.rs")], "only the checks make one");
    assert_eq!(
        holding("MainLock { project"),
        [Path::new("merge_queue/main_branch/update.rs")],
        "only who has the lock"
    );
    for sign in ["reset --hard", "\"merge\", \"--ff", "\"branch\", \"-f\"", "\"checkout\", \"-B\""] {
        for folder in ["flower-engine", "flower-git"] {
            assert_eq!(holding_in(folder, sign), [""; 0].map(PathBuf::from), "{sign}");
        }
    }
}

/// Each row of these tables names the tests that hold it, the compiler, or the reason why it is not tested.
#[test]
fn every_invariant_names_a_test_that_exists() {
    assert_rows_name_tests("docs/invariants.md", 60);
}

#[test]
fn every_attack_names_its_tests() {
    assert_rows_name_tests("docs/security.md", 67);
}

#[test]
fn every_reliability_figure_names_its_tests() {
    assert_rows_name_tests("docs/reliability.md", 17);
}

fn assert_rows_name_tests(table: &str, least: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(table)).expect("a table");
    let known = known_tests(&root);
    let mut ids = BTreeSet::new();
    for (id, held_by) in rows(&text) {
        assert!(ids.insert(id), "{table}: {id} is there twice");
        for part in held_by.split("; ") {
            let reason = ["the compiler: ", "not tested: "].iter().find_map(|begin| part.strip_prefix(begin));
            if let Some(reason) = reason {
                assert!(reason.len() > 10, "{table}: {id} has no reason: {part}");
                continue;
            }
            let names: Vec<&str> = part.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "{table}: {id} names no test: {part}");
            for name in names {
                assert!(known.contains(name), "{table}: {id} names `{name}`, which is no test");
            }
        }
    }
    assert!(ids.len() >= least, "{table} has only {} rows", ids.len());
}

/// First and last cell of each row of the tables whose last column says what holds a row.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let mut cells = line.trim().trim_matches('|').split('|').map(str::trim);
        let (first, last) = (cells.next().unwrap_or_default(), cells.next_back().unwrap_or_default());
        if !line.starts_with('|') {
            inside = false;
        } else if first == "id" {
            inside = matches!(last, "held by" | "tests");
        } else if inside && !first.starts_with('-') {
            found.push((first, last));
        }
    }
    found
}

/// Functions marked as tests, tests made by the macros that make two of one body, and the titles of the page's tests.
fn known_tests(root: &Path) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for file in ["crates", "xtask"].iter().flat_map(|folder| files_named(&root.join(folder), ".rs")) {
        let text = fs::read_to_string(file).expect("readable");
        let mut marked = false;
        for line in text.lines().map(str::trim_start) {
            marked |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some(function) = function.filter(|_| marked) {
                known.insert(first_word(function));
                marked = false;
            }
        }
        for made in ["on_both!(", "as_both!("] {
            known.extend(text.split(made).skip(1).map(|rest| first_word(rest.trim_start())));
        }
    }
    for file in files_named(&root.join("bloom/tests"), ".spec.ts") {
        let text = fs::read_to_string(file).expect("readable");
        known.extend(text.split("\ntest(\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
    }
    known
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    files_named(folder, ".rs")
}

fn files_named(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(files_named(&path, end));
        } else if path.to_str().is_some_and(|path| path.ends_with(end)) {
            files.push(path);
        }
    }
    files.sort();
    files
}
