//! A project gets another name. What it has goes on, and the old name leads to the new one.

use super::*;
use crate::common::eventually;

#[test]
fn everything_of_a_renamed_project_goes_on() {
    let flower = Flower::new();
    prepare(&flower);
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo 1 > one; git add -A; git commit -qm one");
    new(&flower, "linked", &["--linked"]);
    flower.ok(&["brief", "new", "Dark mode"]);
    flower.ok(&["freeze"]);
    flower.ok(&["land", "one"]);
    // As it is recorded, without the space.
    let renamed = flower.json(&["project", "rename", "repo", "shop "]);
    assert_eq!((&renamed["name"], &renamed["root"]), (&"shop".into(), &flower.repo.to_str().unwrap().into()));
    for again in [false, true] {
        if again {
            flower.restart();
            flower.ok(&["log", "rebuild"]);
        }
        assert_eq!(flower.json(&["up"])["project"], "shop");
        assert_eq!(flower.json(&["main"])["project"], "shop");
        assert_eq!(flower.json(&["brief", "show", "1"])["projects"][0]["name"], "shop");
        let worktrees = flower.json(&["worktree"]);
        let worktrees = worktrees.as_array().unwrap();
        assert_eq!(worktrees.len(), 2);
        for worktree in worktrees {
            assert_eq!(worktree["project"], "shop", "{worktree}");
            assert_eq!(worktree["path"], tree(&flower, worktree["name"].as_str().unwrap()).to_str().unwrap());
        }
        let trace = flower.json(&["trace", "--project", "shop"]);
        let kinds: Vec<&str> = trace.as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
        for kind in ["project_registered", "project_renamed", "worktree_created", "landing_queued", "queue_frozen"] {
            assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
        }
    }
    flower.ok(&["thaw"]);
    eventually("the waiting landing lands", || {
        (flower.json(&["queue", "show", "1"])["state"] == "landed").then_some(())
    });
    assert_eq!(flower.json(&["queue", "show", "1"])["project"], "shop");
    inside_ok(&flower, "linked", "echo 1 > linked; git add -A; git commit -qm linked");
    flower.ok(&["land", "linked", "--wait"]);
    new(&flower, "later", &[]);
    inside_ok(&flower, "later", "echo 1 > later; git add -A; git commit -qm later");
    flower.ok(&["land", "later", "--wait"]);
    flower.ok(&["doctor"]);
    flower.ok(&["main", "verify"]);
    flower.ok(&["log", "verify"]);
}

#[test]
fn the_old_name_is_an_error_that_names_the_new_one() {
    let flower = Flower::started();
    flower.ok(&["project", "rename", "repo", "shop"]);
    for args in
        [&["status", "--project", "repo"][..], &["project", "rename", "repo", "x"], &["project", "remove", "repo"]]
    {
        let error = flower.fails(args, 3);
        says(&error["message"], "project `repo` is called `shop` now");
        says(&error["hints"], "--project shop");
    }
    let page = flower.api("GET", "/api/worktrees?project=repo").send();
    assert_eq!(page.status, 404, "{page:?}");
    assert!(page.text().contains("is called `shop` now"), "{page:?}");
    // No other project takes it, and it gets its own back.
    let other = flower.make_repository("other");
    let error = flower.run_in(&other, &["init", "--name", "repo", "--no-settings", "--json"]).error(4);
    says(&error["message"], "project `shop` was called `repo` before");
    flower.json_in(&other, &["init", "--no-settings"]);
    assert_eq!(flower.fails(&["project", "rename", "other", "repo"], 4)["kind"], "conflict");
    assert_eq!(flower.fails(&["project", "rename", "other", "shop"], 4)["kind"], "conflict");
    flower.fails(&["project", "rename", "shop", "a b"], 2);
    flower.ok(&["project", "rename", "shop", "store"]);
    says(&flower.fails(&["status", "--project", "repo"], 3)["message"], "is called `store` now");
    flower.ok(&["project", "rename", "store", "repo"]);
    says(&flower.fails(&["status", "--project", "shop"], 3)["message"], "is called `repo` now");
    // With the project its former names are free.
    flower.ok(&["project", "remove", "repo"]);
    flower.ok(&["project", "rename", "other", "shop"]);
}

#[test]
fn a_new_project_with_the_name_of_a_renamed_one_has_folders_of_its_own() {
    let flower = Flower::new();
    prepare(&flower);
    flower.ok(&["project", "rename", "repo", "shop"]);
    flower.ok(&["project", "remove", "shop"]);
    let shop = flower.make_repository("shop");
    assert_eq!(flower.json_in(&shop, &["up"])["project"], "shop");
    let path = flower.json_in(&shop, &["worktree", "new", "one", "--linked"])["path"].clone();
    assert_eq!(path, flower.home.join("worktrees/shop/one").to_str().unwrap());
    flower.ok(&["down"]);
    let shown = flower.json_in(&shop, &["worktree", "show", "one"]);
    assert_eq!((&shown["path"], &shown["state"]), (&path, &"ready".into()), "{shown:#}");
}

#[test]
fn only_the_operator_moves_and_renames() {
    let flower = Flower::started();
    let issued = flower.json(&["token", "new", "--agent", "night", "--role", "orchestrator"]);
    let token = issued["token"].as_str().unwrap();
    let bodies = [("move", serde_json::json!({ "path": flower.repo })), ("rename", serde_json::json!({ "name": "x" }))];
    for (verb, body) in bodies {
        let address = format!("/api/projects/repo/{verb}");
        let refused = flower.request("POST", &address).token(token).json(&body).send();
        assert_eq!(refused.status, 403, "{refused:?}");
    }
}
