//! Other names for this machine, and pages of others.

use super::with_a_brief;
use crate::common::Flower;
use crate::common::http::exchange;
use serde_json::json;

#[test]
fn only_our_own_names_with_our_own_port_are_served() {
    let flower = with_a_brief();
    let port = flower.port();
    for host in ["127.0.0.1", "localhost", "[::1]", "LocalHost"] {
        let host = format!("{host}:{port}");
        assert_eq!(flower.api("GET", "/api/briefs").host(Some(&host)).send().status, 200, "{host}");
        assert_eq!(flower.request("GET", "/").host(Some(&host)).send().status, 200, "{host}");
    }
    let other = if port == 80 { 81 } else { 80 };
    let foreign = ["evil.com", "evil.com:80", "127.0.0.1", "localhost", "[::1]"].map(str::to_owned);
    let foreign = foreign.into_iter().chain([format!("evil.com:{port}"), format!("127.0.0.1:{other}")]);
    for host in foreign {
        for path in ["/api/briefs", "/", "/healthz", "/mcp"] {
            let answer = flower.api("GET", path).host(Some(&host)).send();
            assert!(matches!(answer.status, 403 | 421), "{host} {path}: {answer:?}");
        }
    }
}

#[test]
fn names_that_only_look_like_ours_are_refused() {
    let flower = with_a_brief();
    let port = flower.port();
    let before = flower.events();
    let new = |host: Option<&str>| flower.api("POST", "/api/briefs").host(host).json(&json!({ "title": "smuggled" }));
    for name in [
        "localhost.evil.com",
        "127.0.0.1.nip.io",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "017700000001",
        "127.1",
        "127.0.0.2",
        "localhost.",
        "127.0.0.1.",
        "[::]",
        "[::ffff:127.0.0.1]",
        "::1",
        "evil.com@127.0.0.1",
        "127.0.0.1, evil.com",
        "repo.localhost",
    ] {
        let host = format!("{name}:{port}");
        let answer = new(Some(&host)).send();
        assert!(matches!(answer.status, 400 | 403), "{host}: {answer:?}");
    }
    let right = format!("127.0.0.1:{port}");
    for (what, request) in [
        ("no host", new(None)),
        ("an empty host", new(Some(""))),
        ("two foreign hosts", new(Some("evil.com")).header("Host", "evil.com")),
        ("the right one, then another", new(Some(&right)).header("Host", "evil.com")),
        ("another, then the right one", new(Some("evil.com")).header("Host", &right)),
        ("the right one twice", new(Some(&right)).header("Host", &right)),
        ("a forwarded host", new(Some("evil.com")).header("X-Forwarded-Host", &right)),
    ] {
        let answer = request.send();
        assert!(matches!(answer.status, 400 | 403), "{what}: {answer:?}");
    }
    assert_eq!(flower.events(), before);
    // The request line may name a host too, and then it counts.
    let absolute = |authority: &str| {
        let head = format!("GET http://{authority}/api/briefs HTTP/1.1\r\nHost: {right}\r\nConnection: close\r\n");
        let bytes = format!("{head}Authorization: Bearer {}\r\n\r\n", flower.token());
        exchange(port, bytes.as_bytes(), false).expect("an answer").status
    };
    assert!(matches!(absolute(&format!("evil.com:{port}")), 400 | 403));
    assert!(matches!(absolute(&format!("evil.com@127.0.0.1:{port}")), 400 | 403));
    assert_eq!(absolute(&right), 200);
    // HTTP/1.0 needs no host; we do.
    let old = format!("GET /api/briefs HTTP/1.0\r\nAuthorization: Bearer {}\r\n\r\n", flower.token());
    assert!(matches!(exchange(port, old.as_bytes(), false).expect("an answer").status, 400 | 403));
}

/// Pages that are not ours.
fn foreign_origins(port: u16) -> Vec<String> {
    let other = if port == 65_535 { 65_534 } else { port + 1 };
    vec![
        "http://evil.com".into(),
        format!("http://evil.com:{port}"),
        "null".into(),
        format!("http://localhost:{other}"),
        "http://localhost".into(),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}.evil.com"),
        format!("http://repo.localhost:{port}"),
        "file://".into(),
        String::new(),
    ]
}

#[test]
fn a_request_from_another_page_is_refused() {
    let flower = with_a_brief();
    let port = flower.port();
    let before = flower.events();
    let new = |origin: &str| {
        let request = flower.api("POST", "/api/briefs").json(&json!({ "title": "From a page", "project": "repo" }));
        request.header("Origin", origin)
    };
    for origin in foreign_origins(port) {
        let answer = new(&origin).send();
        assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"), "{origin}");
    }
    let ours = format!("http://127.0.0.1:{port}");
    let both = new(&ours).header("Origin", "http://evil.com").send();
    assert_eq!(both.status, 403, "two origins: {both:?}");
    assert_eq!(flower.events(), before);
    for name in ["127.0.0.1", "localhost", "[::1]"] {
        let answer = new(&format!("http://{name}:{port}")).send();
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
    }
}

const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

#[test]
fn streams_and_sockets_pass_the_same_checks() {
    let flower = with_a_brief();
    let port = flower.port();
    let token = flower.token();
    let socket = |path: &str| {
        UPGRADE.iter().fold(flower.request("GET", path), |request, (name, value)| request.header(name, value))
    };
    let doors = [
        ("events", flower.request("GET", "/api/events").header("Accept", "text/event-stream")),
        ("MCP", flower.request("POST", "/mcp").json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize" }))),
        ("MCP stream", flower.request("GET", "/mcp").header("Accept", "text/event-stream")),
        ("a socket", socket("/api/events")),
        ("a socket elsewhere", socket("/api/agents/1/terminal")),
        ("a socket of MCP", socket("/mcp")),
    ];
    for (what, door) in &doors {
        for origin in foreign_origins(port) {
            let (answer, _) = door.clone().token(&token).header("Origin", &origin).stream().expect("an answer");
            assert_eq!(answer.status, 403, "{what} from {origin:?}: {answer:?}");
        }
        for (how, request) in [
            ("no origin", door.clone()),
            ("our own page", door.clone().header("Origin", &format!("http://127.0.0.1:{port}"))),
            ("a wrong ticket", door.clone().header("Sec-WebSocket-Protocol", "ticket.0000")),
            ("the token as protocol", door.clone().header("Sec-WebSocket-Protocol", &token)),
        ] {
            let (answer, _) = request.stream().expect("an answer");
            assert!(matches!(answer.status, 401 | 403), "{what}, {how}, no token: {answer:?}");
        }
    }
    for path in ["/api/events", "/api/agents/1/terminal", "/mcp", "/"] {
        let (answer, _) = socket(path).token(&token).stream().expect("an answer");
        assert_ne!(answer.status, 101, "a socket without a ticket at {path}");
        let (answer, _) = socket(&format!("{path}?ticket={}", "0".repeat(64))).stream().expect("an answer");
        assert_ne!(answer.status, 101, "a socket with an invented ticket at {path}");
    }
    // A program that is no browser says no origin, and is let in by its token.
    let (answer, _) = flower.api("GET", "/api/events").stream().expect("an answer");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
}

#[test]
fn no_answer_permits_another_origin() {
    let flower = Flower::started();
    let port = flower.port();
    let origins = foreign_origins(port).into_iter().chain([format!("http://127.0.0.1:{port}"), "*".into()]);
    for origin in origins {
        for path in ["/api/briefs", "/api/events", "/mcp", "/", "/healthz", "/api/session"] {
            for method in ["OPTIONS", "GET", "POST"] {
                let request = flower.api(method, path).header("Origin", &origin);
                let request = request
                    .header("Access-Control-Request-Method", "POST")
                    .header("Access-Control-Request-Headers", "authorization, content-type")
                    .header("Access-Control-Request-Private-Network", "true");
                let (answer, _) = request.stream().expect("an answer");
                let told = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
                assert_eq!(told, None, "{method} {path} from {origin:?}");
                let ours = origin.starts_with("http://127.0.0.1:") && !origin.contains("evil");
                assert!(ours || answer.status == 403, "{method} {path} from {origin:?}: {answer:?}");
            }
        }
    }
}
