//! What a worker asks the operator for: a further brief, help, and what the operator asks a worker for: a note.

use super::*;

#[test]
fn a_worker_proposes_a_brief_which_waits_for_the_operator() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    let answer = agent.done("create_brief", json!({ "title": "Round prices", "spec": "# Round\n", "kind": "fix" }));
    assert!(answer.contains("is made; it is draft.") && answer.contains("the operator decides"), "{answer}");
    let proposed = show_brief(&flower, work.brief + 1);
    assert_eq!((&proposed["status"], &proposed["kind"]), (&json!("draft"), &json!("fix")), "{proposed}");
    assert_eq!((&proposed["auto_dispatch"], &proposed["projects"][0]["name"]), (&json!(false), &json!("repo")));
    // Both briefs name the other.
    let trace = |brief: u64| flower.json(&["brief", "trace", &brief.to_string()]).to_string();
    assert!(trace(work.brief).contains("proposed here: Round prices"), "{}", trace(work.brief));
    assert!(trace(work.brief + 1).contains("proposed in the work on this brief"));
    let inbox = flower.json(&["inbox"]);
    let item = inbox.as_array().expect("a list").iter().find(|item| item["brief"] == work.brief + 1).expect("an item");
    assert_eq!((&item["cause"], &item["by"]["name"]), (&json!("plan_proposed"), &json!(work.agent)), "{item}");
    // The command line does the same, in the worker's own project wherever it is called.
    let spec = flower.file("spec.md", "# Other\n");
    let made = as_agent(&flower, &work.token, &["brief", "new", "Other", "--spec", &spec, "--json"]);
    assert_eq!(made.code, 0, "{made:?}");
    accept(&flower, work.brief + 1);
    assert!(dispatches_of(&flower, work.brief + 1).is_empty(), "nothing starts by itself");
}

#[test]
fn a_proposal_starts_nothing_and_stays_in_its_own_work() {
    let flower = serving(&[]);
    let epic =
        number(&post(&flower, "/api/briefs", &json!({ "title": "Epic", "kind": "epic", "project": "repo" }))["number"]);
    let work = at_work(&flower, "Cart");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    assert!(agent.fails("create_brief", json!({ "title": "No spec" })).contains("without a `spec`"));
    for (more, status) in [
        (json!({ "auto_dispatch": true }), 403),
        (json!({ "design_loop": true }), 403),
        (json!({ "kind": "incident" }), 403),
        (json!({ "epic": epic }), 403),
        (json!({ "project": "elsewhere" }), 403),
        (json!({ "needs": [99] }), 404),
    ] {
        let mut body = json!({ "title": "x", "spec": "# x\n", "project": "repo" });
        for (key, value) in more.as_object().expect("fields") {
            body[key] = value.clone();
        }
        let answer = call(&flower, &work.token, "POST", "/api/briefs", &body);
        assert_eq!(answer.status, status, "{more}: {}", answer.text());
    }
    let before = dispatched(&flower, planned(&flower, "Not begun"), &json!({}));
    let (unclaimed, _) = packet(&flower, before, false);
    let body = json!({ "title": "x", "spec": "# x\n", "project": "repo" });
    assert_eq!(call(&flower, &unclaimed, "POST", "/api/briefs", &body).status, 403, "before its claim");
    // An agent in a loop is stopped.
    for n in 0..20 {
        agent.done("create_brief", json!({ "title": format!("Idea {n}"), "spec": "# x\n" }));
    }
    let refused = agent.fails("create_brief", json!({ "title": "One more", "spec": "# x\n" }));
    assert!(refused.contains("briefs proposed in this work"), "{refused}");
    let done = at_work(&flower, "Done");
    done.commit(&flower, "cart.txt", "1");
    done.lands(&flower);
    becomes(&flower, done.dispatch, "landed");
    assert_eq!(call(&flower, &done.token, "POST", "/api/briefs", &body).status, 403, "after its run");
}

#[test]
fn an_agent_that_is_stuck_asks_for_help() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    let told = agent.done("add_note", json!({ "brief": work.brief, "text": "No key for the shop", "kind": "help" }));
    assert!(told.contains("Question 1") && told.contains("end your turn"), "{told}");
    let brief = work.brief.to_string();
    let asked = as_agent(&flower, &work.token, &["brief", "ask", &brief, "And which shop?"]);
    assert_eq!(asked.code, 0, "{asked:?}");
    let items = flower.json(&["inbox"]);
    let causes: Vec<&str> =
        items.as_array().expect("a list").iter().filter_map(|item| item["cause"].as_str()).collect();
    assert_eq!(causes, ["help_asked", "question_asked"], "{items}");
    says(&items[0]["title"], "asks for help: Cart");
    flower.ok(&["brief", "answer", &brief, "1", "It is in the vault"]);
    assert!(agent.done("check_inbox", json!({})).contains("> It is in the vault"));
    let stuck = as_agent(&flower, &work.token, &["brief", "ask", &brief, "The vault is closed", "--stuck"]);
    assert_eq!(stuck.code, 0, "{stuck:?}");
    says(&flower.json(&["inbox"]), "help_asked");
}

#[test]
fn a_hand_over_note_is_asked_for_and_stays_with_the_brief() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    says(&flower.ok(&["agent", "note", &work.agent]).into(), "asked for a hand-over note");
    let heard = agent.done("check_inbox", json!({}));
    assert!(heard.contains("hand-over note") && heard.contains("flower brief note"), "{heard}");
    agent.done("add_note", json!({ "brief": work.brief, "text": "Rounding is left" }));
    let next = flower.ok(&["brief", "show", &work.brief.to_string(), "--as-agent"]);
    assert!(next.contains("Rounding is left"), "{next}");
    assert_eq!(as_agent(&flower, &work.token, &["agent", "note", &work.agent]).code, 1, "only who steers may ask");
    flower.fails(&["agent", "note", "absent"], 3);
}
