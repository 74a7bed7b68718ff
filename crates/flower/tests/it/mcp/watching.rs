//! Subscriptions: a client that watches a brief is told that it changed.

use super::client::next_message;
use super::{Client, Era, Http, Piped, with_a_worker};
use crate::common::PATIENCE;
use crate::common::http::connect;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

fn uri(message: &Value) -> &str {
    message["params"]["uri"].as_str().unwrap_or_else(|| panic!("{message}"))
}

const UPDATED: &str = "notifications/resources/updated";

#[test]
fn a_pipe_tells_when_a_brief_moves_even_after_a_restart() {
    let (flower, token) = with_a_worker();
    let mut old = Piped::start(&flower, Era::November2025, Some(&token));
    let mut new = Piped::start(&flower, Era::July2026, Some(&token));
    for uri in ["flower://brief/1", "flower://main"] {
        let answer = old.ask("resources/subscribe", json!({ "uri": uri }));
        assert!(answer.get("result").is_some(), "{answer}");
    }
    let missing = old.ask("resources/subscribe", json!({ "uri": "flower://brief/9" }));
    assert!(missing.get("error").is_some(), "{missing}");
    let wanted = json!({ "resourceSubscriptions": ["flower://brief/1", "file:///etc/passwd"] });
    new.begin_to_ask("subscriptions/listen", json!({ "notifications": wanted }));
    let accepted = new.told("notifications/subscriptions/acknowledged");
    assert!(accepted.to_string().contains("flower://brief/1"), "{accepted}");
    assert!(!accepted.to_string().contains("passwd"), "{accepted}");
    for round in 0..2 {
        flower.ok(&["brief", "note", "2", "of no interest"]);
        flower.ok(&["brief", "note", "1", "seen"]);
        assert_eq!(uri(&old.told(UPDATED)), "flower://brief/1");
        assert_eq!(uri(&new.told(UPDATED)), "flower://brief/1");
        if round == 0 {
            flower.restart();
        }
    }
    flower.ok(&["freeze", "a test"]);
    assert_eq!(uri(&old.told(UPDATED)), "flower://main");
    // After its end a subscription delivers nothing.
    old.ask("resources/unsubscribe", json!({ "uri": "flower://brief/1" }));
    flower.ok(&["brief", "note", "1", "unheard"]);
    flower.ok(&["thaw"]);
    assert_eq!(uri(&old.told(UPDATED)), "flower://main");
}

#[test]
fn a_session_over_http_tells_when_a_brief_moves() {
    let (flower, token) = with_a_worker();
    let mut client = Http::start(&flower, Era::June2025, &token);
    let (answer, mut stream) = client.bare("GET").stream().expect("a stream");
    assert_eq!(answer.status, 200, "{answer:?}");
    client.ask("resources/subscribe", json!({ "uri": "flower://brief/1" }));
    flower.ok(&["brief", "note", "1", "seen"]);
    let told = next_message(&mut stream).expect("a message");
    assert_eq!((told["method"].as_str(), uri(&told)), (Some(UPDATED), "flower://brief/1"));
    assert_eq!(client.bare("DELETE").send().status, 202);
    assert_eq!(client.request("tools/list", json!({})).send().status, 404, "the session is over");
}

#[test]
fn a_stateless_listener_over_http_hears_it_too() {
    let (flower, token) = with_a_worker();
    let mut client = Http::start(&flower, Era::July2026, &token);
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["flower://brief/1"] } });
    let (answer, mut stream) = client.request("subscriptions/listen", wanted).stream().expect("a stream");
    assert_eq!(answer.status, 200, "{answer:?}");
    let accepted = next_message(&mut stream).expect("a message");
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged", "{accepted}");
    // The listener is told first, and begins to listen then.
    std::thread::sleep(Duration::from_millis(200));
    flower.ok(&["brief", "note", "1", "seen"]);
    assert_eq!(uri(&next_message(&mut stream).expect("a message")), "flower://brief/1");
}

#[test]
fn streams_end_with_the_daemon_and_with_their_token() {
    let (flower, token) = with_a_worker();
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["flower://brief/1"] } });
    let operator = flower.token();
    for revokes in [true, false] {
        let token = if revokes { &token } else { &operator };
        let old = Http::start(&flower, Era::November2025, token);
        let mut new = Http::start(&flower, Era::July2026, token);
        let (_, mut session) = old.bare("GET").stream().expect("a stream");
        let (_, mut listener) = new.request("subscriptions/listen", wanted.clone()).stream().expect("a stream");
        assert!(next_message(&mut listener).is_some(), "it is accepted");
        std::thread::sleep(Duration::from_millis(200));
        let start = Instant::now();
        if revokes {
            let id = flower.json(&["token"])[0]["id"].as_str().expect("an id").to_owned();
            flower.ok(&["token", "revoke", &id]);
            assert_eq!(old.bare("GET").send().status, 401);
        } else {
            flower.ok(&["down"]);
        }
        while next_message(&mut session).is_some() {}
        while next_message(&mut listener).is_some() {}
        assert!(start.elapsed() < PATIENCE / 6, "{:?}", start.elapsed());
    }
}

#[test]
fn a_client_that_never_reads_does_not_block_others() {
    let (flower, token) = with_a_worker();
    let mut hanging = Http::start(&flower, Era::June2025, &token);
    let _stream = hanging.bare("GET").stream().expect("a stream");
    hanging.ask("resources/subscribe", json!({ "uri": "flower://brief/1" }));
    let mut other = Http::start(&flower, Era::June2025, &token);
    for round in 0..200 {
        let text = format!("note {round}");
        let note = json!({ "text": text });
        assert_eq!(flower.api("POST", "/api/briefs/1/notes").json(&note).send().status, 200);
    }
    let start = Instant::now();
    other.done("add_note", json!({ "brief": 1, "text": "still here" }));
    assert!(start.elapsed().as_secs() < 5);
    // A client that announces a body and sends none delays only itself.
    let begun = other.bare("POST").header("Content-Type", "application/json").header("Content-Length", "100");
    let mut silent = connect(flower.port()).expect("a connection");
    silent.write_all(&begun.bytes()).expect("a beginning");
    other.done("list_briefs", json!({}));
}
