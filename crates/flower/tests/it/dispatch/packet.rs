//! The packet: all that an agent needs, and a token that is good for one run.

use super::*;

#[test]
fn a_packet_has_all_that_any_agent_needs() {
    let flower = serving(&[]);
    let brief = planned(&flower, "Dark mode");
    let asked = flower.ok(&["dispatch", &brief.to_string()]);
    let packet = flower.json(&["dispatch", "packet", "1"]);
    let (text, token) = (packet["text"].as_str().expect("a text"), packet["token"].as_str().expect("a token"));
    assert_eq!((&packet["dispatch"], &packet["agent"]), (&json!(1), &json!("agent-1")));
    let recalled = flower.ok(&["brief", "show", "1", "--as-agent"]);
    for said in [
        &format!(
            "FLOWER_TOKEN={token} flower worktree shell b1-dark-mode --as claude   # or --as codex, gemini, opencode\n"
        ),
        "{\"mcpServers\": {\"flower\": {\"command\": \"flower\", \"args\": [\"mcp\"],\n  \"env\": {\"FLOWER_URL\": \"${FLOWER_URL}\"",
        "[mcp_servers.flower]\ncommand = \"flower\"\nargs = [\"mcp\"]\n",
        "~/.claude.json",
        "~/.codex/config.toml",
        "~/.gemini/settings.json",
        "~/.config/opencode/opencode.json",
        "{\"mcp\": {\"flower\": {\"type\": \"local\", \"command\": [\"flower\", \"mcp\"]",
        &format!("http://127.0.0.1:{}/mcp", flower.port()),
        "flower claim 1 ",
        "flower handback 1 --fence F --summary",
        "Rules of the house",
        "Begin with `start_work` with `dispatch: 1`",
        "Everything must be committed and merge with MAIN",
        recalled.trim_end(),
    ] {
        assert!(text.contains(said), "`{said}` is missing: {text}");
    }
    assert!(text.matches(token).count() == 1, "a secret is written once");
    // The command that asks for work prints one, too; each has a token of its own.
    assert!(asked.contains("flower worktree shell b1-dark-mode --as claude ") && !asked.contains(token), "{asked}");
    // No token is in the log, only what it can be recognized by.
    let trace = flower.json(&["trace", "--limit", "10000"]).to_string();
    assert!(!trace.contains(token));
    let member = flower.json(&["dispatch", "packet", "1", "--member"]);
    says(&member["text"], "You work beside the agent that holds the claim");
    assert!(!member["text"].as_str().expect("a text").contains("flower claim"), "{member}");
}

#[test]
fn a_token_claims_once_and_is_then_good_for_that_run_only() {
    let flower = serving(&[]);
    let brief = planned(&flower, "One");
    let dispatch = dispatched(&flower, brief, &json!({}));
    let (first, agent) = packet(&flower, dispatch, false);
    let (second, _) = packet(&flower, dispatch, false);
    let note =
        |token: &str| call(&flower, token, "POST", &format!("/api/briefs/{brief}/notes"), &json!({ "text": "x" }));
    // Before it has claimed anything it may read, and not write.
    let unclaimed = note(&first);
    assert_eq!(unclaimed.status, 403, "{}", unclaimed.text());
    assert!(
        unclaimed.text().contains("it has claimed nothing yet: the tool `start_work` does"),
        "{}",
        unclaimed.text()
    );
    assert_eq!(call(&flower, &first, "GET", &format!("/api/briefs/{brief}"), &json!(null)).status, 200);
    let held = claim(&flower, &first, dispatch, 2);
    assert_eq!(held.status, 200, "{}", held.text());
    assert_eq!((&held.json()["claim"]["holder"], &held.json()["claim"]["fence"]), (&json!(agent), &json!(1)));
    assert_eq!(note(&first).status, 200);
    let lost = claim(&flower, &second, dispatch, 900);
    assert_eq!((lost.status, lost.kind().as_str()), (409, "conflict"), "{}", lost.text());
    assert!(lost.text().contains(&format!("is claimed by `{agent}`, for another ")), "{}", lost.text());
    // Asked again, perhaps after a crash, it has it already: no other claim, no other fence.
    let again = claim(&flower, &first, dispatch, 2);
    assert_eq!((again.status, &again.json()["claim"]["fence"]), (200, &json!(1)), "{}", again.text());
    becomes(&flower, dispatch, "requested");
    let used = claim(&flower, &first, dispatch, 900);
    assert_eq!(used.status, 403, "{}", used.text());
    assert!(used.text().contains("a packet works once"), "{}", used.text());
    assert_eq!(claim(&flower, &second, dispatch, 900).status, 200, "the other one was never used");
    let old = note(&first);
    assert_eq!(old.status, 403, "{}", old.text());
    assert!(old.text().contains("another agent has claimed its work since"), "{}", old.text());
    assert_eq!(events(&flower, "dispatch_claimed").len(), 2);
}

#[test]
fn a_token_of_another_run_opens_nothing_here() {
    let flower = serving(&[]);
    let one = at_work(&flower, "One");
    let two = dispatched(&flower, planned(&flower, "Two"), &json!({}));
    let path = format!("/api/dispatches/{two}");
    let refused = |verb: &str, body: Value| {
        let answer = call(&flower, &one.token, "POST", &format!("{path}/{verb}"), &body);
        assert_eq!(answer.status, 403, "{verb}: {}", answer.text());
    };
    refused("claim", json!({}));
    refused("claim", json!({ "packet": one.token }));
    refused("beat", json!({ "fence": 1 }));
    refused("handback", json!({ "fence": 1, "summary": "x" }));
    refused("cancel", json!({}));
    refused("packet", json!({}));
    assert_eq!(show_dispatch(&flower, two)["state"], "requested");
    // Nor does a token that was made for no run at all.
    let plain = flower.ok(&["token", "new", "--agent", "mara", "--brief", "2"]).trim().to_owned();
    assert_eq!(claim(&flower, &plain, two, 60).status, 403);
    assert!(events(&flower, "call_refused").len() >= 5);
}

#[test]
fn a_token_ends_with_its_run() {
    let flower = serving(&[("flower.toml", "[land]\nqueue = \"operator\"\n")]);
    let dead = |token: &str| {
        eventually("the token is revoked", || {
            let answer = call(&flower, token, "GET", "/api/briefs", &json!(null));
            (answer.status == 401).then_some(())
        });
    };
    let cancelled = at_work(&flower, "Cancelled");
    let (unused, _) = packet(&flower, cancelled.dispatch, false);
    let (member, _) = packet(&flower, cancelled.dispatch, true);
    flower.ok(&["dispatch", "cancel", &cancelled.dispatch.to_string()]);
    for token in [&cancelled.token, &unused, &member] {
        dead(token);
    }
    let failed = at_work(&flower, "Failed");
    assert_eq!(failed.hand_back(&flower, &["--failed"]).code, 0);
    dead(&failed.token);
    let landed = at_work(&flower, "Landed");
    landed.commit(&flower, "x", "x");
    assert_eq!(landed.hand_back(&flower, &[]).code, 0);
    // In review it may still say something.
    let path = format!("/api/briefs/{}/notes", landed.brief);
    assert_eq!(call(&flower, &landed.token, "POST", &path, &json!({ "text": "why" })).status, 200);
    flower.ok(&["land", &landed.worktree, "--wait"]);
    becomes(&flower, landed.dispatch, "landed");
    dead(&landed.token);
}

#[test]
fn a_member_works_beside_and_hands_nothing_back() {
    let flower = serving(&[]);
    let lead = at_work(&flower, "Shared");
    let (token, agent) = packet(&flower, lead.dispatch, true);
    assert!(agent.starts_with("agent-1-m"), "{agent}");
    let mut member = Http::start(&flower, Era::November2025, &token);
    let begun = begins(&mut member, json!({ "paths": ["docs/"] }));
    assert!(begun.contains(&format!("You work beside `{}`", lead.agent)) && begun.contains("docs/"), "{begun}");
    member.done("add_note", json!({ "brief": lead.brief, "text": "from beside" }));
    assert_eq!(inside_as(&flower, &token, &lead.worktree, "echo x > docs.md; git add -A; git commit -qm docs").code, 0);
    let back = member.fails("hand_back", json!({ "dispatch": lead.dispatch, "fence": lead.fence, "summary": "x" }));
    assert!(back.contains("may not act for that run"), "{back}");
    assert_eq!(claim(&flower, &token, lead.dispatch, 60).status, 409);
    let held = show_dispatch(&flower, lead.dispatch);
    assert_eq!((&held["state"], &held["claim"]["holder"]), (&json!("executing"), &json!(lead.agent)), "{held}");
}

#[test]
fn an_agent_without_a_token_begins_with_that_of_its_packet() {
    let flower = serving(&[]);
    let brief = planned(&flower, "Late identity");
    let dispatch = dispatched(&flower, brief, &json!({}));
    let (token, _) = packet(&flower, dispatch, false);
    for era in [Era::June2025, Era::July2026] {
        let mut stranger = Piped::start(&flower, era, None);
        let refused = stranger.fails("start_work", json!({ "dispatch": dispatch }));
        assert!(refused.contains("cannot claim dispatch 1"), "{refused}");
        stranger.fails("start_work", json!({ "dispatch": dispatch, "token": "0".repeat(64) }));
    }
    assert_eq!(show_dispatch(&flower, dispatch)["state"], "requested");
    let mut client = Piped::start(&flower, Era::November2025, None);
    let begun = begins(&mut client, json!({ "dispatch": dispatch, "token": token, "paths": ["src/"] }));
    assert!(begun.contains("You hold dispatch 1 with fence 1") && begun.contains("Reserved until"), "{begun}");
    // From here on that session is the run's: it writes to the brief, and hands back.
    client.done("add_note", json!({ "brief": brief, "text": "I am in" }));
    client.done("reserve_paths", json!({ "patterns": ["docs/"] }));
    let holder = show_dispatch(&flower, dispatch)["claim"]["holder"].as_str().expect("a name").to_owned();
    let notes = events(&flower, "note_added");
    assert_eq!(notes[0]["actor"]["name"], json!(holder), "{notes:?}");
    let mut other = Piped::start(&flower, Era::November2025, None);
    let late = other.fails("start_work", json!({ "dispatch": dispatch, "token": token }));
    assert!(late.contains(&format!("is claimed by `{holder}`")), "{late}");
    let back = json!({ "dispatch": dispatch, "fence": 1, "summary": "Nothing to do" });
    assert!(client.fails("hand_back", back.clone()).contains("there is no commit of yours"));
    let back = client.done("hand_back", back);
    assert!(back.contains("is `handed_back`"), "{back}");
}
