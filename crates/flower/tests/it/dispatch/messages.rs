//! Messages: to an agent, to all agents in a worktree, to the operator; announced everywhere, delivered once.

use super::*;

fn notice(client: &mut dyn Client) -> Option<String> {
    let answer = client.ask("tools/call", json!({ "name": "list_briefs", "arguments": {} }));
    let texts: Vec<&str> = answer["result"]["content"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    texts.join("\n").lines().find(|line| line.contains("new in your inbox")).map(str::to_owned)
}

#[test]
fn agents_hear_of_each_other_by_name_and_by_worktree() {
    let flower = serving(&[]);
    let (one, two) = (at_work(&flower, "One"), at_work(&flower, "Two"));
    let mut first = Http::start(&flower, Era::November2025, &one.token);
    let mut second = Piped::start(&flower, Era::July2026, Some(&two.token));
    for client in [&mut first as &mut dyn Client, &mut second] {
        client.done("check_inbox", json!({}));
        assert_eq!(notice(client), None);
    }
    first.done("send_message", json!({ "to": two.agent, "text": "by name\n# Not a heading" }));
    first.done("send_message", json!({ "to": two.worktree, "text": "by worktree" }));
    assert_eq!(notice(&mut first), None, "not to oneself");
    let said = notice(&mut second).expect("it is announced");
    assert!(said.contains("[2 new in your inbox: `check_inbox`]"), "{said}");
    assert_eq!(notice(&mut second), Some(said), "until it is read");
    // It waits, also across a restart of the daemon.
    kill_and_start(&flower);
    let heard = second.done("check_inbox", json!({}));
    for said in ["> by name\n> # Not a heading\n", "> by worktree", &format!("from agent `{}`", one.agent)] {
        assert!(heard.contains(said), "`{said}`: {heard}");
    }
    assert_eq!(second.done("check_inbox", json!({})), "Nothing new.\nNext: go on with your work.", "delivered once");
    assert_eq!(notice(&mut second), None);
    flower.restart();
    assert!(second.done("check_inbox", json!({})).starts_with("Nothing new."), "also by the next daemon");
    let unknown = second.fails("send_message", json!({ "to": "absent", "text": "x" }));
    for known in ["there is neither an agent nor a worktree `absent`", "operator", &one.agent, &one.worktree] {
        assert!(unknown.contains(known), "`{known}`: {unknown}");
    }
    for (to, text) in [("", "x"), ("a b", "x"), (one.agent.as_str(), ""), (&one.agent, &"x".repeat(9_000))] {
        second.fails("send_message", json!({ "to": to, "text": text }));
    }
    assert_eq!(events(&flower, "message_sent").len(), 2);
}

#[test]
fn the_operator_and_an_agent_write_to_each_other() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Talk");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    agent.done("send_message", json!({ "to": "operator", "text": "May I?" }));
    let inbox = flower.json(&["inbox"]);
    let item = inbox.as_array().expect("a list").iter().find(|item| item["kind"] == "message").expect("a message");
    assert_eq!((&item["text"], &item["by"]["name"]), (&json!("May I?"), &json!(work.agent)), "{item}");
    says(&item["next"], &format!("flower agent tell {} TEXT", work.agent));
    flower.restart();
    says(&flower.json(&["inbox"]), "May I?");
    // What came behind the last one that was shown still waits.
    let shown = item["seq"].as_u64().expect("its event");
    agent.done("send_message", json!({ "to": "operator", "text": "Please?" }));
    let up_to = format!("/api/inbox/seen?up_to={shown}");
    assert_eq!(call(&flower, &flower.token(), "POST", &up_to, &json!({})).status, 204);
    let left = flower.json(&["inbox"]).to_string();
    assert!(!left.contains("May I?") && left.contains("Please?"), "{left}");
    let seen = flower.json(&["inbox", "--seen"]);
    assert!(!seen.to_string().contains("Please?"), "{seen}");
    assert_eq!(
        as_agent(&flower, &work.token, &["inbox", "--seen"]).code,
        1,
        "only the operator marks messages as seen"
    );
    let told = flower.json(&["agent", "tell", &work.agent, "You may"]);
    assert_eq!(
        (&told["to"], &told["by_type"], &told["text"]),
        (&json!(work.agent), &json!("operator"), &json!("You may"))
    );
    flower.ok(&["agent", "tell", &work.worktree, "All of you"]);
    let heard = agent.done("check_inbox", json!({}));
    assert!(
        heard.contains("> You may") && heard.contains("> All of you") && heard.contains("from operator"),
        "{heard}"
    );
    let unknown = flower.fails(&["agent", "tell", "absent", "x"], 3);
    says(&unknown["hints"], &work.agent);
    assert_eq!(flower.run_with_input(&["agent", "tell", &work.agent, "-"], b"from a pipe\n").code, 0);
    assert!(agent.done("check_inbox", json!({})).contains("> from a pipe"));
}

#[test]
fn changes_of_a_brief_reach_the_agents_at_work_on_it() {
    let flower = serving(&[]);
    let work = at_work(&flower, "News");
    let mut agent = Http::start(&flower, Era::July2026, &work.token);
    agent.done("add_note", json!({ "brief": work.brief, "text": "Which colour?", "kind": "question" }));
    agent.done("check_inbox", json!({}));
    let brief = work.brief.to_string();
    flower.ok(&["brief", "answer", &brief, "1", "Green"]);
    let spec = flower.file("spec.md", "# Another plan\n");
    flower.ok(&["brief", "refine", &brief, "--spec", &spec, "--base", "1", "--why", "it was wrong"]);
    flower.ok(&["brief", "note", &brief, "Look here", "--comment"]);
    let said = notice(&mut agent).expect("it is announced");
    assert!(said.contains("[3 new in your inbox"), "{said}");
    let heard = agent.done("check_inbox", json!({}));
    for said in ["Answer to question 1", "> Green", "The spec moved to version 2", "> it was wrong", "> Look here"] {
        assert!(heard.contains(said), "`{said}`: {heard}");
    }
    assert!(agent.done("check_inbox", json!({})).starts_with("Nothing new."));
    // Its own doings are no news.
    agent.done("refine_spec", json!({ "brief": work.brief, "markdown": "# Mine\n", "base": 2 }));
    assert_eq!(notice(&mut agent), None);
    // Another brief is another's business.
    let other = planned(&flower, "Other");
    flower.ok(&["brief", "note", &other.to_string(), "x", "--comment"]);
    assert_eq!(notice(&mut agent), None);
}
