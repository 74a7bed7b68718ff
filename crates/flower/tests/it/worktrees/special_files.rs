//! FIFOs in place of files that git reads: looking at a worktree ends within two seconds, and others do not wait for it.

use super::*;
use std::time::{Duration, Instant};

/// What flower promises for one look, and what a loaded machine takes to start the command.
const LOOK: Duration = Duration::from_secs(2 + 2);
/// For everything else that is asked for about such a worktree.
const BOUND: Duration = Duration::from_secs(60);

/// Where the FIFO is, and what is said about it.
const PLACES: &[(&str, &str, &str)] = &[
    ("attributes", "mkfifo .gitattributes", "is a FIFO"),
    ("ignore", "mkfifo .gitignore", "is a FIFO"),
    ("deep", "mkdir -p a/b; mkfifo a/b/.gitignore; touch a/b/c", "did not end within 2 s"),
    ("refs", "git commit -q --allow-empty -m x; mkfifo $(git rev-parse --git-dir)/packed-refs", "is a FIFO"),
    (
        "config",
        "cd $(git rev-parse --git-dir); git commit-graph write 2>/dev/null; touch HEAD; rm config; mkfifo config",
        "is a FIFO",
    ),
    ("link", "mkfifo f; ln -s f .gitattributes", "is a FIFO"),
];

fn within(bound: Duration, what: &str, act: impl FnOnce() -> crate::common::Output) -> crate::common::Output {
    let start = Instant::now();
    let output = act();
    assert!(start.elapsed() <= bound, "{what} took {:?}: {output:?}", start.elapsed());
    assert_ne!(output.code, 70, "{what}: {output:?}");
    output
}

#[test]
fn a_look_at_a_worktree_ends_despite_fifos_in_place_of_files() {
    as_each_user(|flower| {
        new(flower, "well", &[]);
        for (name, plant, _) in PLACES {
            new(flower, name, &[]);
            inside(flower, name, plant);
        }
        for (name, _, words) in PLACES {
            let seen = within(LOOK, name, || flower.run(&["worktree", "show", name, "--json"]));
            assert!(seen.stdout.contains(words), "{name}: `{words}`: {seen:?}");
        }
        // Side by side: all of them together take no longer than one.
        let all = within(LOOK, "the list", || flower.run(&["worktree", "--json"]));
        let all: Value = serde_json::from_str(&all.stdout).expect("JSON");
        let well = all.as_array().unwrap().iter().find(|one| one["name"] == "well").unwrap();
        assert_eq!((&well["dirty"], &well["state"]), (&Value::from(false), &Value::from("ready")), "{well}");
        assert!(!well["notes"].to_string().contains("did not end"), "{well}");
        within(LOOK, "status", || flower.run(&["status"]));
        for (name, _, _) in PLACES {
            within(BOUND, &format!("sync {name}"), || flower.run(&["worktree", "sync", name]));
            within(BOUND, &format!("diff {name}"), || flower.run(&["diff", name]));
            within(BOUND, &format!("land {name}"), || flower.run(&["land", name]));
            within(BOUND, &format!("remove {name}"), || flower.run(&["worktree", "remove", name]));
        }
        settled(flower);
        let left = flower.json(&["worktree"]);
        assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    });
}
