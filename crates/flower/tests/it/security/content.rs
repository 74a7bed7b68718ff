//! What a form could send, what reading changes, and who may put the page into a frame.

use super::{routes, with_a_brief};
use serde_json::json;

#[test]
fn a_form_cannot_send_anything() {
    let flower = with_a_brief();
    let before = flower.events();
    let body = json!({ "title": "x", "text": "x", "markdown": "x", "status": "cancelled", "agent": "x", "dir": "/" });
    let writes: Vec<_> = routes(&flower).into_iter().filter(|(method, ..)| method != "GET").collect();
    for (method, path, takes_json) in writes.iter().filter(|(_, path, _)| path != "/api/session") {
        for kind in [
            "text/plain",
            "text/plain; charset=application/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "TEXT/PLAIN",
        ] {
            let answer = flower.api(method, path).body(kind, body.to_string()).send();
            assert_eq!((answer.status, answer.kind().as_str()), (415, "unsupported_type"), "{method} {path} as {kind}");
        }
        if *takes_json {
            let answer = flower.api(method, path).untyped(body.to_string()).send();
            assert_eq!(answer.status, 415, "{method} {path} without a type");
        }
    }
    assert_eq!(flower.events(), before);
    let right = flower
        .api("POST", "/api/briefs")
        .body("application/json; charset=utf-8", r#"{"title":"x","dir":null,"project":"repo"}"#);
    assert_eq!(right.send().status, 200);
}

#[test]
fn reading_changes_nothing() {
    let flower = with_a_brief();
    flower.ok(&["brief", "note", "1", "a note"]);
    flower.ok(&["scratchpad", "new", "a pad"]);
    let before = (flower.events(), flower.ok(&["log", "export"]));
    let body = json!({ "title": "smuggled", "markdown": "smuggled", "text": "smuggled", "status": "cancelled" });
    let paths: std::collections::BTreeSet<String> = routes(&flower).into_iter().map(|(_, path, _)| path).collect();
    for path in &paths {
        for method in ["GET", "HEAD"] {
            for query in ["", "?title=x&text=x&status=cancelled&drop=true&tables=true&_method=POST&q=x"] {
                let request = flower.api(method, &format!("{path}{query}")).json(&body);
                let (answer, _) = request.header("X-HTTP-Method-Override", "POST").stream().expect("an answer");
                assert!(matches!(answer.status, 200 | 400 | 404 | 405), "{method} {path}{query}: {answer:?}");
            }
        }
    }
    assert_eq!((flower.events(), flower.ok(&["log", "export"])), before);
}

#[test]
fn no_frame_shows_the_page() {
    let flower = with_a_brief();
    let answers = [
        ("the page", flower.request("GET", "/")),
        ("any page", flower.request("GET", "/briefs/1")),
        ("an asset", flower.request("GET", "/icon.svg")),
        ("a missing file", flower.request("GET", "/missing.js")),
        ("health", flower.request("GET", "/healthz")),
        ("an answer", flower.api("GET", "/api/briefs")),
        ("a stranger's answer", flower.request("GET", "/api/briefs")),
        ("another host", flower.request("GET", "/").host(Some("evil.com"))),
        ("a refusal", flower.api("POST", "/api/briefs").json(&json!({ "title": "" }))),
        ("no such route", flower.api("GET", "/api/nothing")),
        ("no such method", flower.api("DELETE", "/api/briefs")),
    ];
    for (what, request) in answers {
        let answer = request.send();
        assert_eq!(answer.header("x-frame-options"), Some("DENY"), "{what}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{what}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{what}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        for part in ["frame-ancestors 'none'", "default-src 'self'", "object-src 'none'", "img-src 'self' blob:"] {
            assert!(policy.contains(part), "{what}: {part} is not in {policy:?}");
        }
        // The terminal and the editor of the page bring styles of their own; scripts are files, or named by their hash.
        let policy = policy.replace("style-src 'self' 'unsafe-inline'", "");
        assert!(!policy.contains("unsafe-") && !policy.contains('*'), "{what}: {policy}");
    }
}
