//! The direction of the modules, held by their text: doors → app → store → core, and nothing back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What each top-level module may use of the others.
const ALLOWED: &[(&str, &[&str])] = &[
    ("acp", &[]),
    ("api", &["app", "error", "mcp", "request", "view"]),
    ("app", &["acp", "error", "failpoint", "git", "home", "jail", "lock", "repository", "store", "terminal", "view"]),
    ("cli", &["client", "daemon", "error", "home", "jail", "mcp", "repository", "request", "scripted", "view"]),
    ("client", &["error", "home"]),
    ("daemon", &["api", "app", "client", "error", "home", "lock", "repository", "store"]),
    ("error", &["git", "store"]),
    ("failpoint", &[]),
    ("git", &["repository"]),
    ("home", &["error"]),
    ("jail", &[]),
    ("lock", &[]),
    ("mcp", &["app", "client", "error", "home", "request", "view"]),
    ("repository", &[]),
    ("request", &[]),
    ("scripted", &["acp"]),
    ("store", &[]),
    ("terminal", &["jail"]),
    ("view", &[]),
];

#[test]
fn modules_use_only_what_lies_below_them() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for file in rust_files(&source) {
        let inside = file.strip_prefix(&source).expect("below src");
        let module = inside.iter().next().and_then(|part| part.to_str()).expect("a name").trim_end_matches(".rs");
        if matches!(module, "lib" | "main") {
            continue;
        }
        let may = allowed.get(module).unwrap_or_else(|| panic!("`{module}` is new: say in ALLOWED what it may use"));
        let text = fs::read_to_string(&file).expect("readable");
        for used in text.split("crate::").skip(1).map(first_word) {
            let is_module = allowed.contains_key(used.as_str());
            if is_module && used != module && !may.contains(&used.as_str()) {
                wrong.push(format!("{} uses `{used}`", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "against the direction of ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn only_the_store_speaks_sql() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in rust_files(&source).into_iter().filter(|file| !file.starts_with(source.join("store"))) {
        let text = fs::read_to_string(&file).expect("readable");
        for sign in ["rusqlite", "SELECT ", "INSERT INTO"] {
            assert!(!text.contains(sign), "{} contains `{sign}`", file.display());
        }
    }
}

#[test]
fn nothing_but_the_log_writes_events() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let writers: Vec<PathBuf> = rust_files(&store)
        .into_iter()
        .filter(|file| fs::read_to_string(file).expect("readable").contains("INSERT INTO events"))
        .collect();
    assert_eq!(writers, [store.join("log.rs")]);
}

/// Refs move by `update-ref`; MAIN's branch is named only where it may move, and a proof can be made only where it is due.
#[test]
fn only_one_function_moves_main() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let holding = |sign: &str| -> Vec<PathBuf> {
        let holds = |file: &PathBuf| fs::read_to_string(file).expect("readable").contains(sign);
        let files = rust_files(&source).into_iter().filter(holds);
        files.map(|file| file.strip_prefix(&source).expect("below src").to_owned()).collect()
    };
    assert_eq!(holding("\"update-ref\", \"-m\", \"flower: landing\""), [Path::new("app/main_branch/moving.rs")]);
    assert_eq!(holding("VerifiedCommit { commit"), [Path::new("app/landing/checks.rs")], "only the checks make one");
    assert_eq!(holding("MainTurn { project"), [Path::new("app/main_branch/moving.rs")], "only who has the lock");
    // A branch that is gone is made again where it was; nothing else names MAIN's branch and moves refs.
    let mut both = holding("refs/heads/{}\", main.branch");
    both.retain(|file| holding("update-ref").contains(file));
    both.sort();
    assert_eq!(both, ["app/main_branch/moving.rs", "app/main_branch/put_right.rs"].map(PathBuf::from));
    for sign in ["reset --hard", "\"merge\", \"--ff", "\"branch\", \"-f\"", "\"checkout\", \"-B\""] {
        assert_eq!(holding(sign), [""; 0].map(PathBuf::from), "{sign}");
    }
}

#[test]
fn only_the_git_module_starts_git() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut starters = Vec::new();
    for file in rust_files(&source) {
        let text = fs::read_to_string(&file).expect("readable");
        let own = text.split("#[cfg(test)]").next().unwrap_or_default();
        let starts = ["new(\"git\"", "\"git\".into()", "\"git-", "bin/git\""].iter().any(|sign| own.contains(sign));
        if starts && !file.starts_with(source.join("git")) {
            starters.push(file.strip_prefix(&source).expect("below src").to_owned());
        }
    }
    assert!(starters.is_empty(), "these seem to start git: {starters:?}");
    let count = |sign: &str| fs::read_to_string(source.join("git/mod.rs")).expect("readable").matches(sign).count();
    assert_eq!(count("pub fn in_"), 3, "MAIN, its linked worktrees, and a jail; nothing else");
}

#[test]
fn only_the_jail_is_unsafe() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in rust_files(&source).into_iter().filter(|file| !file.starts_with(source.join("jail"))) {
        let text = fs::read_to_string(&file).expect("readable");
        assert!(!text.contains("unsafe "), "{} is unsafe", file.display());
        assert!(!text.contains("unsafe_code"), "{} allows itself to be unsafe", file.display());
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

fn first_word(text: &str) -> String {
    text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect()
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
