//! A brief's life: made, planned, accepted, refined, moved, connected.

use super::{assert_has, kinds, with_briefs};
use crate::common::Flower;
use serde_json::{Value, json};

#[test]
fn a_brief_and_its_events_have_the_fields_of_the_contract() {
    let flower = with_briefs(&["needed", "an epic"]);
    flower.ok(&["brief", "edit", "2", "--kind", "epic"]);
    let spec = flower.file("spec.md", "# Plan\n\nGrüße, 世界\r\n");
    let made = flower.json(&[
        "brief",
        "new",
        "  Dark mode ",
        "--kind",
        "fix",
        "--spec",
        &spec,
        "--epic",
        "2",
        "--needs",
        "1",
        "--auto-dispatch",
        "--design-loop",
    ]);
    flower.ok(&["brief", "link", "3", "commit", "ABCDEF1234", "--label", "the fix"]);
    let brief = flower.json(&["brief", "show", "3"]);
    assert_has(
        &brief,
        &[
            "number",
            "title",
            "kind",
            "status",
            "spec.version",
            "spec.markdown",
            "projects.0.name",
            "projects.0.primary",
            "epic",
            "depends_on.0",
            "dependents",
            "dispatchable.ok",
            "dispatchable.reasons",
            "dispatchable.kinds.build.reasons.0.message",
            "auto_dispatch",
            "design_loop",
            "participants.0.name",
            "participants.0.type",
            "participants.0.role",
            "participants.0.worktree",
            "participants.0.wave",
            "participants.0.active",
            "links.0.kind",
            "links.0.target",
            "links.0.label",
            "links.0.by",
            "links.0.at",
            "created_at",
            "updated_at",
        ],
    );
    assert_eq!((&made["number"], &made["title"], &made["kind"]), (&json!(3), &json!("Dark mode"), &json!("fix")));
    assert_eq!(
        (&made["status"], &made["auto_dispatch"], &made["design_loop"]),
        (&json!("draft"), &json!(true), &json!(true))
    );
    assert_eq!((&brief["spec"]["version"], &brief["spec"]["markdown"]), (&json!(1), &json!("# Plan\n\nGrüße, 世界\n")));
    assert_eq!((&brief["epic"], &brief["depends_on"]), (&json!(2), &json!([1])));
    assert_eq!(brief["projects"], json!([{ "name": "repo", "primary": true }]));
    assert_eq!((&brief["links"][0]["target"], &brief["links"][0]["by"]), (&json!("abcdef1234"), &json!("tester")));
    assert_eq!(flower.json(&["brief", "show", "1"])["dependents"], json!([3]));
    let trace = flower.json(&["brief", "trace", "3"]);
    // Its design is dispatched by itself meanwhile.
    let trace: Vec<Value> =
        trace.as_array().unwrap().iter().filter(|event| event["actor"]["type"] == "operator").cloned().collect();
    assert_eq!(kinds(&json!(trace)), ["brief_created", "participant_joined", "plan_proposed", "link_added"]);
    for event in &trace {
        assert_has(event, &["seq", "at", "kind", "actor.type", "actor.name", "door", "brief", "body", "hash"]);
        assert_eq!((&event["actor"]["type"], &event["actor"]["name"]), (&json!("operator"), &json!("tester")));
        assert_eq!((&event["door"], &event["brief"]), (&json!("cli"), &json!(3)));
        assert_eq!(event["hash"].as_str().map(str::len), Some(64));
    }
}

#[test]
fn plan_accept_refine_and_the_stale_base() {
    let flower = with_briefs(&["one"]);
    assert_eq!(flower.fails(&["brief", "accept", "1"], 1)["kind"], "refused");
    let planned = flower.run_with_input(&["brief", "plan", "1", "--spec", "-", "--json"], b"first\n");
    assert_eq!(planned.code, 0, "{planned:?}");
    assert_eq!(flower.fails(&["brief", "accept", "1", "--version", "2"], 4)["kind"], "conflict");
    let accepted = flower.json(&["brief", "accept", "1"]);
    assert_eq!((&accepted["status"], &accepted["spec"]["accepted_version"]), (&json!("planned"), &json!(1)));
    assert_eq!(flower.fails(&["brief", "plan", "1", "--spec", "/dev/null"], 1)["kind"], "refused");
    let second = flower.file("second.md", "second\n");
    let refine = ["brief", "refine", "1", "--spec", &second, "--base", "1", "--why", "it grew"];
    assert_eq!(flower.json(&refine)["spec"]["version"], 2);
    let error = flower.fails(&refine, 4);
    assert_eq!(error["kind"], "conflict");
    let hint = error["hints"][0].as_str().unwrap();
    assert!(hint.contains("flower brief diff 1 1 2") && hint.contains("--base 2"), "{hint}");
    assert_eq!(flower.json(&["brief", "show", "1"])["spec"]["version"], 2, "nothing was merged silently");
    // From the accepted version to the newest, unless said otherwise.
    let diff = flower.json(&["brief", "diff", "1"]);
    assert_eq!((&diff["from"], &diff["to"]), (&json!(1), &json!(2)));
    let text = diff["diff"].as_str().unwrap();
    assert!(text.contains("-first\n") && text.contains("+second\n"), "{text}");
    assert_eq!(
        flower.json(&["brief", "diff", "1", "0", "1"])["diff"].as_str().map(|d| d.contains("+first")),
        Some(true)
    );
    assert_eq!(flower.json(&["brief", "diff", "1", "2", "2"])["diff"], "");
    assert_eq!(flower.fails(&["brief", "diff", "1", "1", "7"], 3)["kind"], "not_found");
    assert_eq!(flower.json(&["brief", "accept", "1"])["spec"]["accepted_version"], 2);
}

#[test]
fn two_refinements_of_the_same_base_have_one_winner() {
    let flower = with_briefs(&["one"]);
    let plan = flower.file("plan.md", "plan");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    let files: Vec<String> = (0..6).map(|i| flower.file(&format!("{i}.md"), format!("refinement {i}"))).collect();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let refine = |file| flower.run(&["brief", "refine", "1", "--spec", file, "--base", "1"]).code;
        let running: Vec<_> = files.iter().map(|file| scope.spawn(move || refine(file))).collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|&&code| code == 0).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|&&code| code == 4).count(), 5, "{codes:?}");
    let winner = codes.iter().position(|&code| code == 0).unwrap();
    let spec = flower.json(&["brief", "show", "1"])["spec"].clone();
    assert_eq!((&spec["version"], &spec["markdown"]), (&json!(2), &json!(format!("refinement {winner}"))));
}

fn move_to(flower: &Flower, number: &str, status: &str) {
    assert_eq!(flower.json(&["brief", "status", number, status])["status"], status);
}

#[test]
fn a_brief_moves_only_where_it_may_and_a_refusal_names_the_way() {
    let flower = with_briefs(&["one", "two"]);
    let plan = flower.file("plan.md", "plan");
    let refuse = |from: &str, tos: &[&str]| {
        for to in tos {
            let error = flower.fails(&["brief", "status", "1", to], 1);
            let hint = error["hints"][0].as_str().unwrap();
            assert!(error["kind"] == "refused" && hint.contains("`flower "), "{from} → {to}: {error}");
            assert_eq!(flower.json(&["brief", "show", "1"])["status"], from);
        }
    };
    refuse("draft", &["planned", "in_progress", "in_review", "landed", "done"]);
    move_to(&flower, "1", "parked");
    refuse("parked", &["planned", "done"]);
    move_to(&flower, "1", "draft");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    flower.ok(&["brief", "accept", "1"]);
    refuse("planned", &["draft", "in_review", "done", "landed"]);
    move_to(&flower, "1", "in_progress");
    refuse("in_progress", &["draft", "planned", "done", "landed"]);
    move_to(&flower, "1", "in_review");
    refuse("in_review", &["draft", "planned", "landed"]);
    move_to(&flower, "1", "in_progress");
    move_to(&flower, "1", "in_review");
    // The result is accepted with the same word as the plan.
    assert_eq!(flower.json(&["brief", "accept", "1"])["status"], "done");
    refuse("done", &["draft", "planned", "in_progress", "in_review", "parked", "cancelled", "landed"]);
    assert_eq!(flower.fails(&["brief", "refine", "1", "--spec", &plan], 1)["kind"], "refused");
    move_to(&flower, "2", "cancelled");
    assert_eq!(flower.fails(&["brief", "status", "2", "draft"], 1)["kind"], "refused");
    // The same again is no change.
    let before = flower.events();
    move_to(&flower, "2", "cancelled");
    assert_eq!(flower.events(), before);
}

#[test]
fn a_brief_with_commits_is_not_done_by_hand() {
    let flower = with_briefs(&["one"]);
    let plan = flower.file("plan.md", "plan");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    flower.ok(&["brief", "accept", "1"]);
    flower.ok(&["brief", "link", "1", "commit", "abcdef1"]);
    move_to(&flower, "1", "in_progress");
    move_to(&flower, "1", "in_review");
    for args in [&["brief", "status", "1", "done"][..], &["brief", "accept", "1"]] {
        assert_eq!(flower.fails(args, 1)["kind"], "refused");
    }
    assert_eq!(flower.json(&["brief", "show", "1"])["status"], "in_review");
}

#[test]
fn dependencies_epics_and_the_circle_that_is_shown() {
    let flower = with_briefs(&["one", "two", "three", "epic"]);
    assert_eq!(flower.json(&["brief", "needs", "1", "2"])["depends_on"], json!([2]));
    flower.ok(&["brief", "needs", "2", "3"]);
    let error = flower.fails(&["brief", "needs", "3", "1"], 1);
    assert!(error["message"].as_str().is_some_and(|m| m.contains("3 → 1 → 2 → 3")), "{error}");
    assert_eq!(flower.json(&["brief", "show", "3"])["depends_on"], json!([]));
    assert_eq!(flower.fails(&["brief", "edit", "1", "--epic", "4"], 1)["kind"], "refused", "4 is no epic yet");
    flower.ok(&["brief", "edit", "4", "--kind", "epic"]);
    assert_eq!(flower.json(&["brief", "edit", "1", "--epic", "4"])["epic"], 4);
    // The epic waits for its children, so its children do not wait for it.
    let error = flower.fails(&["brief", "needs", "1", "4"], 1);
    assert!(error["message"].as_str().is_some_and(|m| m.contains("circle")), "{error}");
    assert_eq!(flower.fails(&["brief", "edit", "4", "--kind", "feature"], 1)["kind"], "refused");
    assert_eq!(super::numbers(&flower.json(&["brief", "--epic", "4"])), [1]);
    assert_eq!(flower.json(&["brief", "edit", "1", "--epic", "none"])["epic"], json!(null));
    assert_eq!(flower.json(&["brief", "needs", "1", "2", "--drop"])["depends_on"], json!([]));
    // What is ready is what nothing holds back.
    let plan = flower.file("plan.md", "plan");
    for number in ["2", "3"] {
        flower.ok(&["brief", "plan", number, "--spec", &plan]);
        flower.ok(&["brief", "accept", number]);
    }
    assert_eq!(super::numbers(&flower.json(&["brief", "--ready"])), [3]);
    let reasons = &flower.json(&["brief", "show", "2"])["dispatchable"];
    assert_eq!((&reasons["ok"], &reasons["reasons"][0]["code"]), (&json!(false), &json!("open_dependency")));
}

#[test]
fn links_are_typed_and_the_same_is_linked_once() {
    let flower = with_briefs(&["one", "two"]);
    flower.ok(&["scratchpad", "new", "pad"]);
    for (kind, target) in [
        ("commit", "abcdef1"),
        ("brief", "#2"),
        ("scratchpad", "1"),
        ("address", "https://example.com/x?y=z"),
        ("file", "src/main.rs"),
        ("branch", "feature/x"),
        ("brief", "2"),
    ] {
        flower.ok(&["brief", "link", "1", kind, target]);
    }
    let links = flower.json(&["brief", "show", "1"])["links"].clone();
    assert_eq!(links.as_array().map(Vec::len), Some(6), "#2 and 2 are the same brief: {links}");
    let before = flower.events();
    for (kind, target, code) in [
        ("commit", "xyz", 2),
        ("address", "javascript:alert(1)", 2),
        ("address", "file:///etc/passwd", 2),
        ("brief", "99", 3),
        ("scratchpad", "99", 3),
        ("nonsense", "x", 2),
        ("file", "", 2),
    ] {
        flower.fails(&["brief", "link", "1", kind, target], code);
    }
    assert_eq!(flower.events(), before);
}
