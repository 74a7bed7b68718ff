//! What an agent reads: the same bytes through every door, within its budget, and it says what was left out.

use super::*;

#[test]
fn every_door_gives_the_same_bytes_within_the_budget() {
    let flower = serving(&[]);
    let spec: String = (0..4_000).map(|n| format!("Line {n} of a plan that is längst too long.\n")).collect();
    let brief = proposed(&flower, "Long", &json!({ "spec": spec }));
    accept(&flower, brief);
    for n in 0..20 {
        post(
            &flower,
            &format!("/api/briefs/{brief}/notes"),
            &json!({ "text": format!("Note {n}: {}", "words ".repeat(300)) }),
        );
    }
    post(&flower, &format!("/api/briefs/{brief}/questions"), &json!({ "text": "Which colour?" }));
    let work = claimed(&flower, dispatched(&flower, brief, &json!({})), 900);
    work.commit(&flower, "x", "x");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    agent.done("check_inbox", json!({}));
    let id = brief.to_string();
    let mut sizes = Vec::new();
    for budget in [500_usize, 1_000, 4_000, 50_000] {
        let shown = flower.ok(&["brief", "show", &id, "--as-agent", "--budget", &budget.to_string()]);
        let (told, is_error) = agent.call("recall_brief", json!({ "brief": brief, "budget": budget }));
        assert!(!is_error, "{told}");
        assert_eq!(shown, told, "budget {budget}");
        assert!(shown.len() <= budget * 3, "{budget}: {} bytes", shown.len());
        assert!(shown.contains("# Brief ") && shown.contains("`Long`"), "{budget}: {shown}");
        assert!(shown.contains("left out") || shown.contains("Left out"), "{budget} says what was cut: {shown}");
        let view = flower.api("GET", &format!("/api/briefs/{brief}/recall?budget={budget}")).send().json();
        assert_eq!((&view["text"], &view["budget"]), (&json!(shown), &json!(budget)));
        assert!(number(&view["tokens"]) <= budget as u64, "{}", view["tokens"]);
        sizes.push(shown.len());
    }
    assert!(sizes.is_sorted() && sizes[3] > 10 * sizes[0], "a larger budget gives more: {sizes:?}");
    // Without one it is 4000.
    assert_eq!(flower.ok(&["brief", "show", &id, "--as-agent"]).len(), sizes[2]);
    let own = agent.call("recall_brief", json!({})).0;
    assert_eq!(own.len(), sizes[2], "its own brief needs no number");
    for budget in ["499", "50001", "0", "18446744073709551615"] {
        let refused = flower.fails(&["brief", "show", &id, "--as-agent", "--budget", budget], 2);
        says(&refused["message"], "500 to 50000 are allowed");
        let told = agent.fails("recall_brief", json!({ "brief": brief, "budget": budget.parse::<u64>().unwrap() }));
        assert!(told.contains("500 to 50000 are allowed"), "{told}");
    }
    assert_eq!(flower.run(&["brief", "show", &id, "--as-agent", "--budget", "many"]).code, 2);
    assert_eq!(flower.run(&["brief", "show", "99", "--as-agent"]).code, 3);
}

#[test]
fn a_recall_within_its_budget_is_complete() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Short");
    let text = flower.ok(&["brief", "show", "1", "--as-agent"]);
    for said in ["# Brief 1: `Short`", "dispatch 1", &work.agent, &work.worktree, "> # Short"] {
        assert!(text.to_lowercase().contains(&said.to_lowercase()), "`{said}`: {text}");
    }
    assert!(!text.contains("left out"), "{text}");
}
