//! Asking for work: what a brief asks for by itself, what refuses, what only waits, and taking it back.

use super::*;

fn dispatch(flower: &Flower, brief: u64, more: &[&str]) -> Value {
    flower.json(&[&["dispatch", &brief.to_string()], more].concat())
}

#[test]
fn each_kind_of_brief_asks_for_its_own_kind_of_work() {
    let flower = serving(&[]);
    for (kind, expected) in
        [("feature", "build"), ("fix", "build"), ("research", "research"), ("note", "research"), ("incident", "ops")]
    {
        let brief = proposed(&flower, kind, &json!({ "kind": kind }));
        accept(&flower, brief);
        let asked = dispatch(&flower, brief, &[]);
        assert_eq!((&asked["kind"], &asked["brief"]), (&json!(expected), &json!(brief)), "{kind}: {asked}");
    }
    let looped = number(&post(&flower, "/api/briefs", &json!({ "title": "Loop", "design_loop": true }))["number"]);
    assert_eq!(dispatch(&flower, looped, &[])["kind"], "design");
    let begun = at_work(&flower, "Begun");
    assert_eq!(show_brief(&flower, begun.brief)["status"], "in_progress");
    assert_eq!(begun.hand_back(&flower, &["--failed"]).code, 0);
    assert_eq!(show_brief(&flower, begun.brief)["status"], "in_progress");
    let again = dispatch(&flower, begun.brief, &[]);
    assert_eq!((&again["kind"], &again["worktree"]), (&json!("fix"), &json!(begun.worktree)), "{again}");
    // What changes no code goes on beside it.
    assert_eq!(dispatch(&flower, begun.brief, &["--kind", "review"])["kind"], "review");
}

#[test]
fn what_refuses_is_said_in_words() {
    let flower = serving(&[]);
    let refused = |brief: u64, more: &[&str], code: i32, words: &str| {
        let error = flower.fails(&[&["dispatch", &brief.to_string()], more].concat(), code);
        says(&error["message"], words);
        error
    };
    let bare = number(&post(&flower, "/api/briefs", &json!({ "title": "Bare", "project": "repo" }))["number"]);
    refused(bare, &[], 1, "it has no plan: `flower brief plan");
    refused(bare, &["--kind", "research"], 1, "it has no spec");
    refused(bare, &["--kind", "fix"], 1, "there is no work to mend yet");
    let waiting = proposed(&flower, "Waiting", &json!({}));
    refused(waiting, &[], 1, "its plan is not accepted yet: `flower brief accept");
    let needy = proposed(&flower, "Needy", &json!({ "needs": [bare] }));
    accept(&flower, needy);
    refused(needy, &[], 1, &format!("it needs brief {bare}, which is draft"));
    let epic = proposed(&flower, "Epic", &json!({ "kind": "epic" }));
    accept(&flower, epic);
    refused(epic, &[], 1, "an epic is built through its children");
    let parked = planned(&flower, "Parked");
    flower.ok(&["brief", "status", &parked.to_string(), "parked"]);
    refused(parked, &[], 1, "it is parked; take it up again");
    let closed = planned(&flower, "Closed");
    flower.ok(&["brief", "status", &closed.to_string(), "cancelled"]);
    for kind in ["build", "design", "review", "fix"] {
        refused(closed, &["--kind", kind], 1, "it is cancelled");
    }
    refused(999, &[], 3, "there is no brief 999");
    let ready = planned(&flower, "Ready");
    refused(ready, &["--agents", "17"], 2, "17 agents at once; 16 are allowed");
    for bad in ["../x", "Main", "main", "a/b", ".git", ""] {
        refused(ready, &["--worktree", bad], 2, "no name for a worktree");
    }
    refused(ready, &["--agent", "a b"], 3, "there is no agent profile `a b`");
    for wrong in [&["--kind", "paint"][..], &["--agents", "0"], &["--agents", "many"]] {
        assert_eq!(flower.run(&[&["dispatch", &ready.to_string()], wrong].concat()).code, 2, "{wrong:?}");
    }
    assert_eq!(events(&flower, "dispatch_requested").len(), 0, "nothing of it was asked for");
    let asked = number(&dispatch(&flower, ready, &[])["id"]);
    for _ in 0..2 {
        refused(ready, &[], 4, &format!("dispatch {asked} is requested already: `flower dispatch show {asked}`"));
    }
    let held = claimed(&flower, asked, 900);
    // It is in progress by now, so a fix is what it asks for; both change the same code.
    refused(ready, &[], 4, &format!("dispatch {asked} is claimed by {} already", held.agent));
    refused(ready, &["--kind", "build"], 1, &format!("claimed by {}", held.agent));
    let shown = show_brief(&flower, ready);
    let codes: Vec<&Value> =
        shown["dispatchable"]["reasons"].as_array().expect("a list").iter().map(|reason| &reason["code"]).collect();
    assert_eq!((&shown["dispatchable"]["ok"], codes), (&json!(false), vec![&json!("dispatched")]), "{shown}");
    assert_eq!(events(&flower, "dispatch_requested").len(), 1);
}

#[test]
fn a_dispatch_says_what_it_is_and_why_it_waits() {
    let flower = serving(&[]);
    let brief = planned(&flower, "Dark mode, please!");
    let asked = dispatch(&flower, brief, &["--agents", "3"]);
    let expected = json!({
        "id": 1, "brief": brief, "kind": "build", "state": "requested", "spec_version": 1, "agent": null, "agents": 3,
        "worktree": "b1-dark-mode-please", "project": "repo", "claim": null, "result": null, "title": "Dark mode, please!",
        "of": null, "evidence": null, "base": null, "ended_at": null,
    });
    for (key, value) in expected.as_object().expect("fields") {
        assert_eq!(&asked[key], value, "{key}: {asked}");
    }
    assert_eq!(asked["waits"][0]["code"], "no_agent", "{asked}");
    says(&asked["waits"][0]["message"], "no agent is configured; the dispatch waits for a claim");
    // The spec it was asked for with stays its own, wherever the brief goes.
    let spec = flower.file("spec.md", "# Another\n");
    flower.ok(&["brief", "refine", "1", "--spec", &spec, "--base", "1"]);
    let other = planned(&flower, "Other");
    let named = dispatch(&flower, other, &["--worktree", "nook"]);
    assert_eq!(named["worktree"], "nook", "{named}");
    flower.ok(&["freeze", "a bank holiday"]);
    let shown = flower.json(&["dispatch", "show", "1"]);
    assert_eq!(shown["spec_version"], 1, "{shown}");
    let codes: Vec<&Value> = shown["waits"].as_array().expect("a list").iter().map(|wait| &wait["code"]).collect();
    assert_eq!(codes, ["no_agent", "main_frozen"], "{shown}");
    says(&shown["waits"], "a bank holiday");
    flower.ok(&["thaw"]);
    assert_eq!(flower.json(&["dispatch", "show", "1"])["waits"].as_array().map(Vec::len), Some(1));
    // It is there for people, too.
    let page = flower.ok(&["dispatch", "show", "1"]);
    assert!(page.contains("b1-dark-mode-please") && page.contains("no agent is configured"), "{page}");
}

#[test]
fn dispatches_are_listed_taken_back_and_missed() {
    let flower = serving(&[]);
    assert_eq!(flower.json(&["dispatch"]), json!([]));
    let first = dispatched(&flower, planned(&flower, "One"), &json!({}));
    let second = dispatched(&flower, planned(&flower, "Two"), &json!({}));
    let ids = |args: &[&str]| -> Vec<u64> {
        flower.json(args).as_array().expect("a list").iter().map(|d| number(&d["id"])).collect()
    };
    assert_eq!(ids(&["dispatch"]), [first, second]);
    assert_eq!(ids(&["dispatch", "list", "--limit", "1"]), [first]);
    let over = flower.json(&["dispatch", "cancel", "1", "not now"]);
    assert_eq!((&over["state"], &over["waits"]), (&json!("cancelled"), &json!([])), "{over}");
    assert!(over["ended_at"].is_string(), "{over}");
    assert_eq!(events(&flower, "dispatch_cancelled")[0]["body"]["why"], "not now");
    assert_eq!(ids(&["dispatch", "list"]), [second]);
    assert_eq!(ids(&["dispatch", "list", "--all"]), [second, first], "newest first");
    assert_eq!(ids(&["dispatch", "list", "--all", "--brief", "1"]), [first]);
    says(&flower.fails(&["dispatch", "cancel", "1"], 1)["message"], "dispatch 1 is `cancelled`, not open");
    says(&flower.fails(&["dispatch", "packet", "1"], 1)["message"], "dispatch 1 is `cancelled`");
    says(&flower.fails(&["claim", "1"], 1)["message"], "dispatch 1 is `cancelled`, not requested");
    // The brief is free for the next one.
    assert_eq!(dispatch(&flower, 1, &[])["id"], 3);
    for args in [
        &["dispatch", "show", "99"][..],
        &["dispatch", "packet", "99"],
        &["dispatch", "cancel", "99"],
        &["claim", "99"],
        &["beat", "99", "--fence", "1"],
        &["handback", "99", "--fence", "1", "--summary", "x"],
    ] {
        let error = flower.fails(args, 3);
        says(&error["message"], "there is no dispatch 99");
        says(&error["hints"], "the newest is 3");
    }
    // A brief that is given up takes its dispatch along.
    flower.ok(&["brief", "status", "2", "cancelled"]);
    becomes(&flower, second, "cancelled");
}
