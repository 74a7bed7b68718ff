//! What a person types out of habit: no name inside a worktree, `#9` for 9, one thaw after a halt, a profile that is not there.

use crate::agents::stage::profile;
use crate::common::work::{inside_ok, new, prepare, put, says, tree};
use crate::common::{Flower, eventually};
use serde_json::json;

fn served() -> Flower {
    let flower = Flower::new();
    prepare(&flower);
    flower
}

#[test]
fn the_worktree_is_the_one_of_the_working_directory() {
    let flower = served();
    new(&flower, "price", &[]);
    inside_ok(&flower, "price", "mkdir deep; echo 1 > deep/one; git add .; git commit --quiet --message 'Add one'");
    let deep = tree(&flower, "price").join("deep");
    for args in [&["worktree", "show"][..], &["worktree", "sync"]] {
        let shown = flower.json_in(&deep, args);
        assert!(shown["name"] == "price" || shown["worktree"]["name"] == "price" || shown["name"] == json!("price"));
    }
    let path = flower.run_in(&deep, &["worktree", "path"]);
    assert_eq!(path.stdout.trim(), tree(&flower, "price").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(flower.run_in(&deep, &["worktree", "shell", "--", "cat", "deep/one"]).stdout, "1\n");
    assert!(flower.run_in(&deep, &["diff"]).stdout.contains("deep/one"));
    let sent = flower.run_in(&deep, &["comment", "deep/one:1", "why one?"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(flower.json_in(&deep, &["comment"])[0]["text"], "why one?");
    assert_eq!(flower.run_in(&deep, &["comment", "deep/one:1"]).code, 2, "the text is missing");
    // Inside the seal the environment names it.
    let inside = inside_ok(&flower, "price", "test -n \"$FLOWER_WORKTREE\" && echo $FLOWER_WORKTREE");
    assert_eq!(inside, "price");

    // Another project than that of the directory.
    flower.make_repository("other");
    flower.json_in(&flower.dir().join("other"), &["up"]);
    let wrong = flower.run_in(&deep, &["land", "--project", "other", "--json"]).error(2);
    says(&wrong["message"], "worktree `price` of project `repo`");

    let landed = flower.run_in(&deep, &["land", "--wait"]);
    assert_eq!(landed.code, 0, "{landed:?}");
    // MAIN's own directory is no worktree.
    for args in [&["land"][..], &["diff"], &["comment"], &["worktree", "show"], &["worktree", "remove"]] {
        let missing = flower.fails(args, 2);
        says(&missing["message"], "no worktree is named");
        says(&missing["hints"][0], "`flower worktree`");
    }
}

#[test]
fn a_number_may_have_its_sign_and_the_queue_shows_one_landing() {
    let flower = served();
    flower.ok(&["brief", "new", "Dark mode"]);
    assert_eq!(flower.json(&["brief", "show", "#1"])["number"], 1);
    assert_eq!(flower.json(&["brief", "new", "Child", "--needs", "#1"])["depends_on"], json!([1]));
    new(&flower, "w", &["--brief", "#1"]);
    inside_ok(&flower, "w", "echo 1 > one; git add .; git commit --quiet --message 'Add one'");
    flower.ok(&["freeze"]);
    flower.ok(&["land", "w"]);
    assert_eq!(flower.json(&["queue", "1"]), flower.json(&["queue", "show", "#1"]));
    assert_eq!(flower.fails(&["queue", "9"], 3)["kind"], "not_found");
    let wrong = flower.fails(&["brief", "show", "#"], 2);
    says(&wrong["message"], "such as `9` or `#9`");
    says(&flower.fails(&["queue", "--limit", "0"], 2)["message"], "at least 1");
}

#[test]
fn one_thaw_lifts_a_halt_and_all_thaws_what_was_frozen() {
    let flower = served();
    let other = flower.make_repository("other");
    flower.json_in(&other, &["up"]);
    let third = flower.make_repository("third");
    flower.json_in(&third, &["up"]);
    for dir in [&flower.repo, &other, &third] {
        flower.json_in(dir, &["main"]);
    }
    flower.json_in(&third, &["freeze", "release week"]);
    assert_eq!(flower.json(&["halt", "smoke"])["halted"], json!(["other", "repo", "third"]));
    let thawed = flower.json(&["thaw"]);
    assert_eq!(thawed["state"], "stable");
    says(&thawed["notes"].as_array().unwrap().last().unwrap().clone(), "the halt is lifted in other");
    assert_eq!(flower.json_in(&other, &["main"])["state"], "stable");
    // A freeze by hand is no halt: its reason outlives both.
    assert_eq!(flower.json_in(&third, &["main"])["reason"], "release week");
    assert_eq!(flower.json(&["thaw", "--all"]), json!({ "thawed": ["third"] }));
    assert_eq!(flower.ok(&["thaw", "--all"]), "no project is frozen\n");
}

#[test]
fn a_dispatch_to_an_agent_that_cannot_run_is_refused_and_a_stuck_one_is_shown() {
    let flower = served();
    put(&flower, &flower.home.join("config.toml"), profile("play", &[], ""));
    for title in ["One", "Two"] {
        let spec = flower.file("spec.md", "# Spec\n");
        flower.ok(&["brief", "new", title, "--spec", &spec]);
    }
    flower.ok(&["brief", "accept", "1"]);
    flower.ok(&["brief", "accept", "2"]);
    let unknown = flower.fails(&["dispatch", "1", "--agent", "nonsense"], 3);
    says(&unknown["message"], "there is no agent profile `nonsense`");
    assert!(!unknown["hints"].to_string().contains("did you mean"), "{unknown}");
    says(&flower.fails(&["dispatch", "1", "--agent", "pley"], 3)["hints"][0], "did you mean `play`?");
    put(
        &flower,
        &flower.home.join("config.toml"),
        profile("play", &[], "") + "\n[agents.gone]\nprotocol = \"pty\"\ncommand = [\"no-such-program\"]\n",
    );
    let missing = flower.fails(&["dispatch", "1", "--agent", "gone"], 1);
    says(&missing["message"], "`gone` cannot run here: `no-such-program`");
    assert_eq!(flower.json(&["dispatch"]), json!([]), "nothing was recorded");

    // Its program disappears while it waits.
    flower.ok(&["freeze"]);
    flower.ok(&["dispatch", "1", "--agent", "play"]);
    put(&flower, &flower.home.join("config.toml"), "");
    says(&json!(flower.ok(&["dispatch"])), "dispatch 1 cannot start: there is no agent profile `play`");
    let item = eventually("the inbox shows it", || {
        let items = flower.json(&["inbox"]);
        items.as_array().unwrap().iter().find(|item| item["cause"] == "dispatch_stuck").cloned()
    });
    says(&item["text"], "dispatch 1 cannot start");
    assert_eq!((&item["in_project"], &item["brief"]), (&json!("repo"), &json!(1)));
    assert!(flower.ok(&["inbox"]).contains("project repo"));
}
