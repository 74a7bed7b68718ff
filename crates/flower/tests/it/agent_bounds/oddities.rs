//! Unusual behaviour of agents. Each test starts a scripted agent that behaves in one of these ways.

use crate::agent_bounds::stage::{Stage, play};
use crate::agents::stage::kill;
use crate::common::eventually;
use crate::common::work::says;
use serde_json::json;

#[test]
fn a_permission_request_with_only_an_id_is_judged_by_the_call_before() {
    let stage = Stage::new(&(play("play", &[], "") + &play("bare", &["--bare-permissions"], "")));
    let script = "
        permission edit Change-a-file src/a.txt
        permission edit Change-the-passwords /etc/passwd
        permission-of {\"kind\": \"fetch\", \"title\": \"\", \"rawInput\": {\"url\": \"https://example.com/x\"}}
        write a a
        commit a
        hand-back done";
    let work = stage.plays("bare", "Bare", script);
    let item = stage.asked();
    says(&item["text"], "Change-the-passwords (/etc/passwd)");
    says(&item["title"], "wants to edit");
    stage.ok(&["agent", "allow", &item["permission"].to_string()]);
    let next =
        eventually("the next question", || Some(stage.asked()).filter(|next| next["permission"] != item["permission"]));
    says(&next["text"], "https://example.com/x");
    stage.ok(&["agent", "allow", &next["permission"].to_string()]);
    stage.lands(work);
    let asked = stage.texts(&stage.agent_of(work), "permission");
    assert!(asked.iter().any(|text| text == "allowed by the policy: Change-a-file"), "{asked:?}");
    assert!(!asked.concat().contains("something"), "{asked:?}");
}

#[test]
fn the_tools_of_flower_are_allowed_under_every_name() {
    let profiles = ["full", "bare"].map(|name| {
        let flags: &[&str] = if name == "bare" { &["--bare-permissions"] } else { &[] };
        play(name, flags, "")
    });
    let stage = Stage::new(&(play("play", &[], "") + &profiles.concat()));
    let forms = [
        json!({ "title": "mcp__flower__hand_back" }),
        json!({ "title": "mcp.flower.add_note", "rawInput": { "server": "flower", "tool": "add_note" } }),
        json!({ "title": "flower_check_inbox", "kind": "other" }),
        json!({ "title": "Check", "_meta": { "claudeCode": { "toolName": "mcp__flower__check_inbox" } } }),
        json!({ "title": "Check", "_meta": { "toolName": "check_inbox", "serverName": "flower" } }),
        json!({ "title": "{}", "rawInput": { "server": "flower", "tool": "check_inbox", "arguments": {} } }),
        json!({ "title": "check_inbox (flower MCP Server)", "kind": "fetch" }),
        json!({ "title": "{}", "toolCallId": "mcp_flower_check_inbox-1763475600000-1" }),
    ];
    let script: Vec<String> = forms.iter().map(|form| format!("permission-of {form}")).collect();
    let foreign = json!({ "title": "mcp__other__hand_back" });
    for profile in ["full", "bare"] {
        let script = format!("{}\npermission-of {foreign}\nfail enough", script.join("\n"));
        let work = stage.plays(profile, profile, &script);
        let item = stage.asked();
        says(&item["text"], "mcp__other__hand_back");
        stage.ok(&["agent", "deny", &item["permission"].to_string()]);
        let name = stage.agent_of(work);
        stage.becomes(&name, "stopped");
        let said = stage.texts(&name, "said").concat();
        assert_eq!(said.matches("permission: allowed").count(), forms.len(), "{said}");
        assert_eq!(said.matches("permission: denied").count(), 1, "{said}");
    }
    assert_eq!(stage.events_of("permission_asked").len(), 2, "only the tool of another server is asked for");
}

#[test]
fn a_replay_after_the_answer_is_not_taken_for_work() {
    let stage = Stage::new(&play("play", &["--resume", "--late-replay"], ""));
    let script = "say first\nsay second\nsay third\nrun true\nhang\nwrite a a\ncommit a\nhand-back done";
    let work = stage.plays("play", "Replays", script);
    let name = stage.agent_of(work);
    eventually("it hangs", || (stage.texts(&name, "tool").len() >= 2).then_some(()));
    assert!(stage.texts(&name, "said").concat().contains("third"), "{}", stage.said(&name));
    kill(u32::try_from(stage.agent(&name)["pid"].as_u64().expect("a process")).expect("a pid"));
    stage.lands(work);
    let log = stage.said(&name);
    assert!(log.contains("session resumed"), "{log}");
    assert!(!log.contains("replayed"), "{log}");
}

#[test]
fn the_reason_of_a_denial_reaches_the_agent() {
    let stage = Stage::new(&(play("play", &[], "") + &play("strict", &[], "permissions = \"deny\"")));
    let script = "permission fetch Look-at-a-page\nwait\nwrite $ a\ncommit a\nhand-back done";
    let work = stage.plays("play", "Asks", &script.replace('$', "asks"));
    let item = stage.asked();
    stage.ok(&["agent", "deny", &item["permission"].to_string(), "that page is out of date"]);
    stage.lands(work);
    let told = stage.texts(&stage.agent_of(work), "prompt").concat();
    assert!(told.contains("that page is out of date") && told.contains("Look-at-a-page"), "{told}");
    // The policy's denial has no message; it stands in the next prompt.
    let work = stage.plays("strict", "Strict", &script.replace('$', "strict"));
    stage.lands(work);
    let told = stage.texts(&stage.agent_of(work), "prompt");
    says(&json!(told.last()), "- Look-at-a-page: denied by the policy");
}

#[test]
fn the_last_word_of_a_silent_agent_is_read() {
    let stage = Stage::plain("");
    let work = stage.plays("play", "Silent", "say nearly there\nhang");
    let name = stage.agent_of(work);
    eventually("the last word", || (stage.texts(&name, "said").concat() == "nearly there").then_some(()));
}
