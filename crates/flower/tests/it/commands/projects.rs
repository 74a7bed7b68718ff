//! Which project is meant: by name, by folder, from inside a worktree, or by there being only one.

use super::{assert_has, numbers};
use crate::common::Flower;
use serde_json::json;
use std::fs;

#[test]
fn the_project_is_found_from_every_folder_of_the_repository() {
    let flower = Flower::started();
    let deep = flower.repo.join("src/deep");
    fs::create_dir_all(&deep).unwrap();
    let worktree = flower.dir().join("elsewhere/tree");
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "-b", "feature", worktree.to_str().unwrap()]);
    fs::create_dir(worktree.join("inside")).unwrap();
    for (i, dir) in [&flower.repo, &deep, &worktree, &worktree.join("inside")].into_iter().enumerate() {
        let made = flower.json_in(dir, &["brief", "new", &format!("from {}", dir.display())]);
        assert_eq!(made["projects"], json!([{ "name": "repo", "primary": true }]), "{}", dir.display());
        assert_eq!(numbers(&flower.json_in(dir, &["brief"])).len(), i + 1);
        assert_eq!(flower.json_in(dir, &["status"])["project"], "repo");
        assert_eq!(flower.json_in(dir, &["up"])["project"], "repo");
    }
    assert_eq!(flower.json(&["project"]).as_array().map(Vec::len), Some(1), "a worktree is no project of its own");
}

#[test]
fn two_projects_are_kept_apart() {
    let flower = Flower::started();
    let other = flower.make_repository("Other Project!");
    let project = flower.json_in(&other, &["init"]);
    assert_has(&project, &["name", "root", "at"]);
    assert_eq!(project["name"], "other-project");
    flower.ok(&["brief", "new", "of repo"]);
    assert_eq!(flower.json_in(&other, &["brief", "new", "of other"])["projects"][0]["name"], "other-project");
    assert_eq!(numbers(&flower.json(&["brief"])), [1]);
    assert_eq!(numbers(&flower.json_in(&other, &["brief"])), [2], "numbers are global");
    assert_eq!(numbers(&flower.json(&["brief", "--project", "other-project"])), [2]);
    assert_eq!(numbers(&flower.json(&["--project", "repo", "brief"])), [1]);
    assert_eq!(numbers(&flower.json(&["brief", "--all"])), [1, 2]);
    let error = flower.fails(&["brief", "--project", "third"], 3);
    assert!(error["hints"][0].as_str().is_some_and(|hint| hint.contains("repo")), "{error}");
    // Outside of both it is not clear which one is meant.
    let outside = flower.run_in(flower.dir(), &["brief", "new", "of whom?", "--json"]).error(2);
    assert!(outside["hints"][0].as_str().is_some_and(|hint| hint.contains("--project")), "{outside}");
    assert_eq!(flower.json_in(flower.dir(), &["brief", "new", "of repo", "--project", "repo"])["number"], 3);
    let both = flower.json(&["brief", "edit", "3", "--add-project", "other-project"]);
    assert_eq!(
        both["projects"],
        json!([{ "name": "repo", "primary": true }, { "name": "other-project", "primary": false }])
    );
    assert_eq!(numbers(&flower.json_in(&other, &["brief"])), [2, 3]);
    flower.ok(&["brief", "edit", "3", "--drop-project", "repo"]);
    assert_eq!(flower.fails(&["brief", "edit", "3", "--drop-project", "other-project"], 1)["kind"], "refused");
    // Removed, its briefs and their trace stay.
    assert!(other.join(".git/flower.lock").exists());
    let removed = flower.json(&["project", "remove", "other-project"]);
    assert_has(&removed, &["removed", "branches_left", "archives_left", "archive"]);
    assert_eq!((&removed["removed"], &removed["branches_left"]), (&json!("other-project"), &json!([])));
    assert!(!other.join(".git/flower.lock").exists(), "something is left in the repository");
    assert_eq!(flower.json(&["brief", "show", "2"])["title"], "of other");
    assert_eq!(flower.fails(&["project", "remove", "other-project"], 3)["kind"], "not_found");
}

#[test]
fn projects_get_names_that_are_free_and_fit() {
    let flower = Flower::started();
    for (folder, expected) in [("a/repo", "repo-2"), ("b/repo", "repo-3"), ("…", "project"), ("-x.", "x")] {
        let root = flower.make_repository(folder);
        assert_eq!(flower.json_in(&root, &["init"])["name"], expected, "{folder}");
        assert_eq!(flower.json_in(&root, &["init"])["name"], expected, "a second time");
    }
    let root = flower.make_repository("named");
    for name in ["a b", "-x", "..", "ü", ""] {
        let name = format!("--name={name}");
        assert_eq!(flower.run_in(&root, &["init", &name, "--json"]).error(2)["kind"], "invalid", "{name}");
    }
    assert_eq!(flower.run_in(&root, &["init", "--name", "repo", "--json"]).error(4)["kind"], "conflict");
    // What was refused is not held: another flower may have it.
    let other = Flower::new();
    assert_eq!(other.json_in(&root, &["init", "--name", "mine"])["name"], "mine");
    let error = flower.run_in(&root, &["init", "--json"]).error(4);
    assert!(error["message"].as_str().is_some_and(|m| m.contains("another flower")), "{error}");
    let error = other.run_in(&root, &["init", "--name", "yours", "--json"]).error(4);
    assert!(error["message"].as_str().is_some_and(|m| m.contains("is project `mine` already")), "{error}");
    assert_eq!(flower.run_in(flower.dir(), &["init", "--json"]).error(1)["kind"], "refused");
}

#[test]
fn without_any_project_a_brief_has_no_home() {
    let flower = Flower::new();
    let error = flower.run_in(flower.dir(), &["brief", "new", "x", "--json"]).error(1);
    assert!(error["hints"][0].as_str().is_some_and(|hint| hint.contains("flower init")), "{error}");
    assert_eq!(flower.json_in(flower.dir(), &["brief"]), json!([]));
    assert_eq!(flower.json_in(flower.dir(), &["up"])["project"], json!(null));
    // The first brief of a repository makes it a project.
    assert_eq!(flower.json(&["brief", "new", "x"])["projects"][0]["name"], "repo");
}
