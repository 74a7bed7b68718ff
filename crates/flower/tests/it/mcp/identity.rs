//! The identity of an agent: that of its token, or a new worker; never the operator.

use super::{Client, ERAS, Era, Flower, Piped, with_a_worker};
use crate::common::finish;
use serde_json::json;

#[test]
fn without_a_token_an_agent_is_a_new_worker_and_never_the_operator() {
    let (flower, _) = with_a_worker();
    for era in ERAS {
        let mut client = Piped::start(&flower, era, None);
        assert_eq!(
            flower.json(&["token"]).as_array().map(Vec::len),
            Some(1 + client_number(era)),
            "not before it acts"
        );
        client.done("list_briefs", json!({}));
        let refused = client.fails("create_brief", json!({ "title": "Mine" }));
        assert!(refused.contains("worker `agent-") && refused.contains("may not"), "{refused}");
        for brief in [1, 2] {
            client.fails("add_note", json!({ "brief": brief, "text": "x" }));
        }
        let tokens = flower.json(&["token"]);
        let made = tokens.as_array().expect("a list").iter().find(|token| token["agent"] != "mara").expect("one");
        assert_eq!((&made["role"], &made["brief"]), (&json!("worker"), &json!(null)), "{made}");
    }
    assert_eq!(flower.json(&["token"]).as_array().map(Vec::len), Some(4), "one each");
    assert_eq!(flower.json(&["brief"]).as_array().map(Vec::len), Some(2));
}

fn client_number(era: Era) -> usize {
    ERAS.iter().position(|&known| known == era).expect("a known era")
}

#[test]
fn a_revoked_identity_is_not_replaced() {
    let (flower, _) = with_a_worker();
    let mut client = Piped::start(&flower, Era::July2026, None);
    client.done("list_briefs", json!({}));
    for token in flower.json(&["token"]).as_array().expect("a list") {
        flower.ok(&["token", "revoke", token["id"].as_str().expect("an id")]);
    }
    let refused = client.fails("list_briefs", json!({}));
    assert!(refused.contains("no valid token"), "{refused}");
    assert_eq!(flower.json(&["token"]).as_array().map(Vec::len), Some(2), "no other one was made");
}

#[test]
fn inside_a_jail_address_and_token_are_enough() {
    let (flower, token) = with_a_worker();
    let mut command = flower.command(&["mcp"]);
    command.env_clear().env("FLOWER_URL", format!("http://127.0.0.1:{}", flower.port())).env("FLOWER_TOKEN", &token);
    let mut client = Piped::spawn(command, Era::November2025);
    client.begin();
    client.done("add_note", json!({ "brief": 1, "text": "from inside" }));
    let trace = flower.json(&["brief", "trace", "1"]);
    let last = trace.as_array().and_then(|trace| trace.last()).expect("an event");
    assert_eq!((&last["actor"]["name"], &last["door"]), (&json!("mara"), &json!("mcp")));
}

#[test]
fn a_daemon_that_is_away_is_an_error_and_not_the_end() {
    let (flower, token) = with_a_worker();
    for own in [Some(token.as_str()), None] {
        let mut client = Piped::start(&flower, Era::November2025, own);
        flower.ok(&["down"]);
        for _ in 0..2 {
            let away = client.fails("list_briefs", json!({}));
            assert!(away.contains("no daemon answers") && away.contains("flower up"), "{away}");
        }
        assert_eq!(client.ask("tools/list", json!({}))["result"]["tools"].as_array().map(Vec::len), Some(14));
        let unread = client.ask("resources/read", json!({ "uri": "flower://brief/1" }));
        assert_eq!(unread["error"]["code"], -32603, "{unread}");
        flower.start();
        client.done("list_briefs", json!({}));
    }
}

#[test]
fn a_bad_address_or_a_missing_daemon_is_reported() {
    let (flower, _) = with_a_worker();
    let mut command = flower.command(&["mcp"]);
    command.env("FLOWER_URL", "ftp://nowhere");
    let output = finish(command);
    assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{output:?}");
    // No daemon was ever started for it.
    let other = Flower::new();
    let mut client = Piped::start(&other, Era::June2025, None);
    assert!(client.fails("list_briefs", json!({})).contains("flower up"));
    assert!(!other.home.exists(), "nothing was made");
}
