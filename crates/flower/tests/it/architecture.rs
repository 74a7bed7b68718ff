//! What neither crates nor types hold yet: which file writes the log, which function moves MAIN, and that the map's
//! invariants have tests.

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

/// Refs move by `update-ref`; MAIN's branch is named only where it may move, and a proof can be made only where it is due.
#[test]
fn only_one_function_moves_main() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../flower-engine/src");
    let holding = |sign: &str| -> Vec<PathBuf> {
        let holds = |file: &PathBuf| fs::read_to_string(file).expect("readable").contains(sign);
        let files = rust_files(&source).into_iter().filter(holds);
        files.map(|file| file.strip_prefix(&source).expect("below src").to_owned()).collect()
    };
    assert_eq!(holding("\"update-ref\", \"-m\", \"flower: landing\""), [Path::new("main_branch/moving.rs")]);
    assert_eq!(holding("VerifiedCommit { commit"), [Path::new("landing/checks.rs")], "only the checks make one");
    assert_eq!(holding("MainTurn { project"), [Path::new("main_branch/moving.rs")], "only who has the lock");
    // A branch that is gone is made again where it was; nothing else names MAIN's branch and moves refs.
    let mut both = holding("refs/heads/{}\", main.branch");
    both.retain(|file| holding("update-ref").contains(file));
    both.sort();
    assert_eq!(both, ["main_branch/moving.rs", "main_branch/put_right.rs"].map(PathBuf::from));
    for sign in ["reset --hard", "\"merge\", \"--ff", "\"branch\", \"-f\"", "\"checkout\", \"-B\""] {
        assert_eq!(holding(sign), [""; 0].map(PathBuf::from), "{sign}");
    }
}

/// ARCHITECTURE.md names a test for each of its invariants; each of these tests exists.
#[test]
fn every_invariant_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the map");
    let all: String = ["crates", "xtask"]
        .iter()
        .flat_map(|folder| rust_files(&root.join(folder)))
        .map(|file| fs::read_to_string(file).expect("readable"))
        .collect();
    let invariants: Vec<&str> = map.lines().filter(|line| line.starts_with("| I")).collect();
    assert!(invariants.len() >= 10, "the table of invariants is gone");
    for line in invariants {
        let names: Vec<&str> = line.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "no test: {line}");
        for name in names {
            let exists =
                ["fn {}(", "on_both!({},", "as_both!({},"].iter().any(|form| all.contains(&form.replace("{}", name)));
            assert!(exists, "no test `{name}`: {line}");
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
