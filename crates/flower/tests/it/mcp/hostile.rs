//! Nonsense, floods and thieves.

use super::{Client, ERAS, Era, Http, Piped, with_a_worker};
use crate::common::{HANG, PATIENCE};
use serde_json::json;
use std::time::Instant;

#[test]
fn nonsense_over_a_pipe_is_answered_and_the_server_goes_on() {
    let (flower, token) = with_a_worker();
    let mut command = flower.command(&["mcp"]);
    command.env("FLOWER_TOKEN", &token);
    let mut client = Piped::spawn(command, Era::November2025);
    let deep = format!("{}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let nonsense: [(&[u8], i64); 9] = [
        (b"hello\n", -32700),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1,\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (deep.as_bytes(), -32700),
        (b"[]\n", -32600),
        (b"42\n", -32600),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 7, \"method\": \"ping\"}\n", -32600),
        (b"{\"id\": 7}\n", -32600),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"initialize\"}\n", -32602),
    ];
    for round in 0..2 {
        // Neither an empty line nor what means nothing before the first request is answered, or ends anything.
        client
            .raw(b"\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n");
        client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n");
        for (bytes, code) in nonsense {
            client.raw(bytes);
            let answer = client.next();
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
            let known = answer["error"]["code"].as_i64().unwrap_or_default();
            assert!(known == code || (round == 1 && code == -32602), "{text}: {answer}");
        }
        if round == 0 {
            assert_eq!(client.begin()["result"]["protocolVersion"], "2025-11-25");
        }
    }
    client.done("list_briefs", json!({}));
}

#[test]
fn a_line_that_is_too_long_is_refused_without_being_kept() {
    let (flower, token) = with_a_worker();
    let mut client = Piped::start(&flower, Era::November2025, Some(&token));
    let piece = vec![b'x'; 1024 * 1024];
    client.raw(b"{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"tools/list\",\"params\":{\"x\":\"");
    for _ in 0..256 {
        client.raw(&piece);
    }
    client.raw(b"\"}}\n");
    let answer = client.next();
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", client.child.id())).expect("it runs");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(peak < 100 * 1024, "{peak} kB");
    client.done("list_briefs", json!({}));
}

#[test]
fn a_closed_pipe_ends_the_server() {
    let (flower, token) = with_a_worker();
    for era in ERAS {
        let mut client = Piped::start(&flower, era, Some(&token));
        client.ask("tools/list", json!({}));
        if era == Era::July2026 {
            let wanted = json!({ "notifications": { "resourceSubscriptions": ["flower://brief/1"] } });
            client.begin_to_ask("subscriptions/listen", wanted);
            client.told("notifications/subscriptions/acknowledged");
        } else {
            client.ask("resources/subscribe", json!({ "uri": "flower://brief/1" }));
        }
        let start = Instant::now();
        client.input = None;
        let status = client.child.wait().expect("it ends");
        assert!(status.success() && start.elapsed() < HANG, "{era:?}: {:?}", start.elapsed());
    }
    // What was asked before the end is still answered.
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "list_briefs" } }),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let output = flower.run_with_input(&["mcp"], input.trim_end().as_bytes());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(output.stdout.contains("Dark mode"), "{output:?}");
}

#[test]
fn nonsense_over_http_is_answered_and_nothing_happens() {
    let (flower, token) = with_a_worker();
    let before = flower.events();
    for era in ERAS {
        let client = Http::start(&flower, era, &token);
        let send = |body: &[u8]| client.bare("POST").body("application/json", body).send();
        for body in [&b"hello"[..], b"", b"{", b"\xff\xfe"] {
            let answer = send(body);
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32700)), "{era:?}: {answer:?}");
        }
        for body in [&b"[]"[..], b"42", b"{\"id\": 7}"] {
            let answer = send(body);
            assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32600)), "{era:?}: {answer:?}");
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(send(deep.as_bytes()).status, 400);
        let large = format!("{{\"x\":\"{}\"}}", "x".repeat(9 * 1024 * 1024));
        assert_eq!(send(large.as_bytes()).status, 413);
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            assert_eq!(client.bare("POST").body(kind, "{}").send().status, 415, "{kind}");
        }
        for method in ["PUT", "PATCH", "OPTIONS"] {
            assert_eq!(client.bare(method).send().status, 405, "{method}");
        }
        let mut client = client;
        client.done("list_briefs", json!({}));
    }
    assert_eq!(flower.events(), before);
}

/// A session serves only the token that opened it.
#[test]
fn a_stolen_or_invented_session_is_not_found() {
    let (flower, token) = with_a_worker();
    let thief = flower.ok(&["token", "new", "--agent", "thief", "--brief", "2"]).trim().to_owned();
    let mut owner = Http::start(&flower, Era::November2025, &token);
    let mut other = Http::start(&flower, Era::November2025, &thief);
    let own = std::mem::replace(&mut other.session, owner.session.clone());
    let note = json!({ "name": "add_note", "arguments": { "brief": 1, "text": "not me" } });
    let before = flower.events();
    let methods = ["GET", "DELETE"];
    for session in [owner.session.clone(), Some("00000000-0000-0000-0000-000000000000".to_owned()), Some(String::new())]
    {
        other.session = session;
        assert_eq!(other.request("tools/call", note.clone()).send().status, 404);
        for method in methods {
            assert_eq!(other.bare(method).send().status, 404, "{method}");
        }
    }
    assert_eq!(flower.events(), before);
    owner.done("list_briefs", json!({}));
    other.session = own;
    other.done("list_briefs", json!({}));
    let twice = owner.bare("DELETE").header("Mcp-Session-Id", "x").send();
    assert_eq!(twice.status, 400, "{twice:?}");
    // Sessions end with the daemon; its successor knows nothing of them.
    flower.restart();
    let mut later = Http::start(&flower, Era::November2025, &token);
    later.session = owner.session.clone();
    assert_eq!(later.request("tools/list", json!({})).send().status, 404);
}

#[test]
fn without_a_token_or_from_another_page_nothing_is_told() {
    let (flower, token) = with_a_worker();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let accept = "application/json, text/event-stream";
    for method in ["GET", "POST", "DELETE"] {
        let request = flower.request(method, "/mcp").header("Accept", accept).json(&list);
        assert_eq!(request.clone().send().status, 401, "{method}");
        assert_eq!(request.clone().token("0").send().status, 401, "{method}");
        for origin in ["http://evil.com", "null", "http://localhost:1"] {
            let answer = request.clone().token(&token).header("Origin", origin).send();
            assert_eq!(answer.status, 403, "{method} {origin}");
        }
    }
    let mut client = Http::start(&flower, Era::July2026, &token);
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let ours = format!("http://{name}:{}", flower.port());
        assert_eq!(client.request("tools/list", json!({})).header("Origin", &ours).send().status, 200, "{name}");
    }
}

#[test]
fn sessions_and_streams_are_bounded() {
    let (flower, token) = with_a_worker();
    let first = Http::start(&flower, Era::November2025, &token);
    let open: Vec<Http> = (0..70).map(|_| Http::start(&flower, Era::November2025, &token)).collect();
    let mut last = open.into_iter().last().expect("some");
    assert_eq!(first.bare("GET").send().status, 404, "the oldest made room");
    last.done("list_briefs", json!({}));
    let mut client = Http::start(&flower, Era::July2026, &token);
    let wanted = json!({ "notifications": { "resourceSubscriptions": ["flower://brief/1"] } });
    let mut streams = Vec::new();
    let refused = (0..200).find_map(|_| {
        let (answer, stream) = client.request("subscriptions/listen", wanted.clone()).stream().expect("an answer");
        streams.push(stream);
        (answer.status == 503).then_some(())
    });
    assert!(refused.is_some(), "{} streams are open", streams.len());
    // Others are not held up by it, and places come back.
    assert_eq!(flower.api("GET", "/api/status").send().status, 200);
    drop(streams);
    let start = Instant::now();
    while client.request("tools/list", json!({})).send().status == 503 {
        assert!(start.elapsed() < PATIENCE);
        flower.ok(&["brief", "note", "1", "an event, so that the daemon notices closed streams"]);
    }
}
