//! What an agent may have overlooked: its inbox, a question without an answer, a missing commit. A hand-back is held once for each.

use super::*;

fn refusal(work: &Work, flower: &Flower, more: &[&str]) -> String {
    work.hand_back(flower, more).error(1).to_string()
}

#[test]
fn the_inbox_of_a_worker_is_its_own_with_answers_and_counts_as_read() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    let inbox = |more: &[&str]| {
        let output = as_agent(&flower, &work.token, &[&["inbox"], more].concat());
        assert_eq!(output.code, 0, "{output:?}");
        output.stdout
    };
    let beat = || {
        let (dispatch, fence) = (work.dispatch.to_string(), work.fence.to_string());
        as_agent(&flower, &work.token, &["beat", &dispatch, "--fence", &fence]).stdout
    };
    assert!(inbox(&[]).contains("Nothing new"));
    assert!(!beat().contains("inbox"));
    let brief = work.brief.to_string();
    as_agent(&flower, &work.token, &["brief", "ask", &brief, "Which grey?"]);
    flower.ok(&["brief", "answer", &brief, "1", "Moss"]);
    flower.ok(&["agent", "tell", &work.agent, "Look at the cart"]);
    assert!(beat().contains("2 new in your inbox: `flower inbox`"), "{}", beat());
    let text = inbox(&[]);
    assert!(text.contains("> Moss") && text.contains("> Look at the cart"), "{text}");
    assert!(inbox(&[]).contains("Nothing new"), "it is read");
    flower.ok(&["agent", "tell", &work.agent, "And at the price"]);
    let items: Value = serde_json::from_str(&inbox(&["--json"])).expect("JSON");
    assert_eq!((&items[0]["cause"], &items[0]["text"]), (&json!("message_received"), &json!("And at the price")));
    assert_eq!(inbox(&["--json"]).trim(), "[]", "it is read");
    // The operator's inbox is as before.
    let mine = flower.json(&["inbox"]);
    assert!(!mine.to_string().contains("Moss"), "{mine}");
}

#[test]
fn unread_messages_hold_a_hand_back_once() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    work.commit(&flower, "cart.txt", "1");
    flower.ok(&["agent", "tell", &work.agent, "Stop: the price is wrong"]);
    let held = refusal(&work, &flower, &[]);
    assert!(held.contains("your inbox has 1 that you have not read") && held.contains("flower inbox"), "{held}");
    assert_eq!(show_dispatch(&flower, work.dispatch)["state"], "executing");
    work.lands(&flower);
}

#[test]
fn an_open_question_holds_a_hand_back_once() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    work.commit(&flower, "cart.txt", "1");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    agent.done("add_note", json!({ "brief": work.brief, "text": "Which grey?", "kind": "question" }));
    let arguments = json!({ "dispatch": work.dispatch, "fence": work.fence, "summary": "done" });
    let held = agent.fails("hand_back", arguments.clone());
    assert!(held.contains("your question 1 of brief") && held.contains("hand back again"), "{held}");
    let done = agent.done("hand_back", arguments);
    assert!(done.contains("is `handed_back`"), "{done}");
}

#[test]
fn a_hand_back_without_commits_is_asked_about_once() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Cart");
    let held = refusal(&work, &flower, &[]);
    assert!(held.contains("no commit of yours") && held.contains("--failed"), "{held}");
    // A new reason holds it once more; the old one is not told again.
    flower.ok(&["agent", "tell", &work.agent, "Wait"]);
    let held = refusal(&work, &flower, &[]);
    assert!(held.contains("your inbox has 1 that you have not read") && !held.contains("no commit"), "{held}");
    let back = work.hand_back(&flower, &[]);
    assert_eq!(back.code, 0, "{back:?}");
    assert!(back.stdout.contains("no commit of its own"), "{back:?}");
    // A failure is taken at once, and so is what the operator hands back.
    let failed = at_work(&flower, "Cannot");
    assert_eq!(failed.hand_back(&flower, &["--failed"]).code, 0);
    let mine = at_work(&flower, "Mine");
    let (dispatch, fence) = (mine.dispatch.to_string(), mine.fence.to_string());
    flower.ok(&["handback", &dispatch, "--fence", &fence, "--summary", "nothing to change"]);
}
