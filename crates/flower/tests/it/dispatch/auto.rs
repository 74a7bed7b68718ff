//! What flower dispatches by itself: once everything that it waits for is there, whichever came last, and once only.

use super::*;

fn auto(flower: &Flower, title: &str, more: &Value) -> u64 {
    let mut more = more.clone();
    more["auto_dispatch"] = json!(true);
    proposed(flower, title, &more)
}

/// Research that was done, handed back and accepted.
fn finish_research(flower: &Flower, brief: u64) {
    let work = claimed(flower, dispatched(flower, brief, &json!({})), 900);
    assert_eq!(work.hand_back(flower, &[]).code, 0);
    assert_eq!(show_brief(flower, brief)["status"], "in_review");
    accept(flower, brief);
    assert_eq!(show_brief(flower, brief)["status"], "done");
}

#[test]
fn the_last_condition_met_dispatches_the_brief() {
    let flower = serving(&[]);
    // The plan.
    let plan = auto(&flower, "Plan last", &json!({}));
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, plan), [json!(null); 0]);
    accept(&flower, plan);
    let asked = nth_dispatch(&flower, plan, 0);
    assert_eq!(
        (&asked["kind"], &asked["state"], &asked["spec_version"]),
        (&json!("build"), &json!("requested"), &json!(1))
    );
    let requested = events(&flower, "dispatch_requested");
    assert_eq!((&requested[0]["body"]["auto"], &requested[0]["actor"]["type"]), (&json!(true), &json!("system")));
    // A dependency that is done.
    let research = proposed(&flower, "Research", &json!({ "kind": "research" }));
    accept(&flower, research);
    let after = auto(&flower, "After research", &json!({ "needs": [research] }));
    accept(&flower, after);
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, after), [json!(null); 0]);
    finish_research(&flower, research);
    nth_dispatch(&flower, after, 0);
    // One that is dropped.
    let open = planned(&flower, "Never done");
    let free = auto(&flower, "Free", &json!({ "needs": [open] }));
    accept(&flower, free);
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, free), [json!(null); 0]);
    flower.ok(&["brief", "needs", &free.to_string(), &open.to_string(), "--drop"]);
    nth_dispatch(&flower, free, 0);
    // The wish itself.
    let wish = planned(&flower, "Wish last");
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, wish), [json!(null); 0]);
    flower.ok(&["brief", "edit", &wish.to_string(), "--auto-dispatch", "on"]);
    nth_dispatch(&flower, wish, 0);
    // What is parked waits, and what is no work of its own stays.
    let parked = auto(&flower, "Parked", &json!({}));
    flower.ok(&["brief", "status", &parked.to_string(), "parked"]);
    let epic = auto(&flower, "Epic", &json!({ "kind": "epic" }));
    accept(&flower, epic);
    flower.wait_for_pass("dispatcher");
    assert_eq!((dispatches_of(&flower, parked).len(), dispatches_of(&flower, epic).len()), (0, 0));
}

#[test]
fn a_dependency_that_lands_sets_it_off() {
    let flower = serving(&[]);
    let work = at_work(&flower, "First");
    let after = auto(&flower, "Second", &json!({ "needs": [work.brief] }));
    accept(&flower, after);
    work.commit(&flower, "first", "first");
    let landing = work.lands(&flower);
    assert_eq!(dispatches_of(&flower, after).len(), 0, "in review is not in MAIN");
    landing_becomes(&flower, landing, "landed");
    nth_dispatch(&flower, after, 0);
}

#[test]
fn a_brief_is_dispatched_once_despite_kills_of_the_daemon() {
    let flower = serving(&[]);
    let brief = auto(&flower, "Once", &json!({}));
    accept(&flower, brief);
    // Killed at different moments, in the middle of it or right after.
    for millis in [0, 20, 60, 5, 120] {
        std::thread::sleep(Duration::from_millis(millis));
        kill_and_start(&flower);
    }
    let asked = nth_dispatch(&flower, brief, 0);
    flower.ok(&["dispatch", "cancel", &asked["id"].to_string()]);
    flower.restart();
    flower.ok(&["brief", "edit", &brief.to_string(), "--auto-dispatch", "off"]);
    flower.ok(&["brief", "edit", &brief.to_string(), "--auto-dispatch", "on"]);
    flower.wait_for_pass("dispatcher");
    assert_eq!(events(&flower, "dispatch_requested").len(), 1, "what was taken back is not asked for again");
    assert_eq!(flower.json(&["log", "verify"])["ok"], true);
    // By hand it goes on.
    dispatched(&flower, brief, &json!({}));
}

#[test]
fn a_design_comes_first_and_its_acceptance_sets_off_the_build() {
    let flower = serving(&[]);
    let body = json!({ "title": "Loop", "project": "repo", "auto_dispatch": true, "design_loop": true });
    let brief = number(&post(&flower, "/api/briefs", &body)["number"]);
    let design = nth_dispatch(&flower, brief, 0);
    assert_eq!((&design["kind"], &design["spec_version"]), (&json!("design"), &json!(0)), "{design}");
    let work = claimed(&flower, number(&design["id"]), 900);
    assert_eq!(show_brief(&flower, brief)["status"], "draft", "a design is no work on it yet");
    let early = work.hand_back(&flower, &[]).error(1);
    says(&early["message"], "is a design, and brief 1 has no new plan");
    says(&early["hints"], "propose_plan");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    agent.done("propose_plan", json!({ "brief": brief, "markdown": "# The design\n" }));
    assert_eq!(dispatches_of(&flower, brief).len(), 1, "not before it is accepted");
    assert_eq!(work.hand_back(&flower, &[]).code, 0);
    assert_eq!(show_dispatch(&flower, work.dispatch)["state"], "handed_back");
    assert_eq!(show_brief(&flower, brief)["status"], "draft");
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, brief).len(), 1, "not before it is accepted");
    says(&flower.json(&["inbox"]), "a plan was proposed and waits to be accepted");
    accept(&flower, brief);
    let build = nth_dispatch(&flower, brief, 1);
    assert_eq!(
        (&build["kind"], &build["spec_version"], &build["worktree"]),
        (&json!("build"), &json!(1), &json!(work.worktree)),
        "{build}"
    );
    flower.restart();
    flower.wait_for_pass("dispatcher");
    assert_eq!(dispatches_of(&flower, brief).len(), 2);
}
