//! Nothing without a token, no guessing, and where a token may stand.

use super::{routes, with_a_brief};
use crate::common::{Flower, HANG};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

#[test]
fn without_a_token_everything_is_401_and_nothing_happens() {
    let flower = with_a_brief();
    let before = flower.events();
    let mut calls: Vec<(String, String)> =
        routes(&flower).into_iter().map(|(method, path, _)| (method, path)).collect();
    for path in ["/api", "/api/", "/api/nothing", "/api/briefs/1/nothing", "/api/x.js", "/mcp", "/mcp/", "/mcp/x"] {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            calls.push((method.to_owned(), path.to_owned()));
        }
    }
    let body = json!({ "title": "smuggled", "text": "smuggled", "markdown": "smuggled", "status": "cancelled" });
    for (method, path) in &calls {
        let answer = flower.request(method, path).json(&body).send();
        assert_eq!(answer.status, 401, "{method} {path}: {answer:?}");
        if method != "HEAD" {
            assert_eq!(answer.kind(), "unauthorized", "{method} {path}");
        }
    }
    let token = flower.token();
    for credential in
        ["", "Bearer", "Bearer ", "Basic eDp4", &token, &format!("Basic {token}"), &format!("Token {token}")]
    {
        let answer = flower.request("GET", "/api/briefs").header("Authorization", credential).send();
        assert_eq!(answer.status, 401, "Authorization: {credential:?}");
    }
    assert_eq!(flower.events(), before);
    assert_eq!(flower.json(&["brief"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_thousand_wrong_tokens_are_401_and_slow_and_the_right_one_is_not() {
    let flower = Flower::started();
    let before = flower.events();
    let token = flower.token();
    let guesses: Vec<String> = (0..1_000)
        .map(|i| match i % 5 {
            0 => format!("{i:064x}"),
            1 => token[..63].to_owned(),
            2 => format!("{token}0"),
            3 => format!("{}{i}", &token[..60]),
            _ => token.to_uppercase().replace('A', "B").replace('0', "1") + &i.to_string(),
        })
        .collect();
    let (held_back, guessing) = (AtomicUsize::new(0), AtomicBool::new(true));
    std::thread::scope(|scope| {
        let guessers: Vec<_> = guesses
            .chunks(20)
            .map(|guesses| {
                let (flower, held_back) = (&flower, &held_back);
                scope.spawn(move || {
                    for guess in guesses {
                        let answer = flower.request("GET", "/api/briefs").token(guess).send();
                        assert_eq!(answer.status, 401, "{answer:?}");
                        if answer.header("retry-after").is_some() {
                            held_back.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        let right = scope.spawn(|| {
            let mut answered = 0;
            while guessing.load(Ordering::Relaxed) || answered == 0 {
                let start = Instant::now();
                assert_eq!(flower.api("GET", "/api/projects").send().status, 200);
                assert!(start.elapsed() < HANG, "the right token waits for the wrong ones");
                answered += 1;
            }
            answered
        });
        for guesser in guessers {
            guesser.join().expect("every guess is answered with 401");
        }
        guessing.store(false, Ordering::Relaxed);
        assert!(right.join().expect("the right token is always answered") > 0);
    });
    let held_back = held_back.into_inner();
    assert!(held_back > 100, "only {held_back} of 1,000 were held back");
    assert_eq!(flower.events(), before);
    // How long a comparison takes cannot be measured here; that it is the constant-time one can be read.
    let source = include_str!("../../../../flower-engine/src/access/identity.rs");
    assert!(source.contains("token.as_bytes().ct_eq(self.operator_token.as_bytes())"), "another comparison?");
    assert!(!source.contains("== self.operator_token"), "a comparison that tells how much of the token is right");
}

#[test]
fn a_token_stands_in_its_header_and_nowhere_else() {
    let flower = with_a_brief();
    let token = flower.token();
    for key in ["token", "access_token", "TOKEN", "session", "authorization"] {
        let path = format!("/api/briefs?limit=1&{key}={token}");
        let answer = flower.request("GET", &path).send();
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        let also_right = flower.api("GET", &format!("/api/briefs?{key}={token}")).send();
        assert_eq!(also_right.status, 400, "{key} beside a right header");
    }
    for path in [format!("/api/briefs?key={token}"), format!("/api/briefs?{token}"), format!("/api/briefs#{token}")] {
        let answer = flower.request("GET", &path).send();
        assert!(matches!(answer.status, 400 | 401), "{path}: {answer:?}");
    }
    for cookie in [token.clone(), format!("token={token}"), format!("session={token}; flower.session={token}")] {
        assert_eq!(flower.request("GET", "/api/briefs").header("Cookie", &cookie).send().status, 401, "{cookie}");
    }
    for header in ["X-Token", "X-Auth-Token", "X-Api-Key", "Proxy-Authorization", "Sec-WebSocket-Protocol"] {
        let answer = flower.request("GET", "/api/briefs").header(header, &format!("Bearer {token}")).send();
        assert_eq!(answer.status, 401, "{header}");
    }
    for (method, path, _) in routes(&flower) {
        // The one that would end the daemon is asked by a stranger.
        let request = if path == "/api/shutdown" { flower.request(&method, &path) } else { flower.api(&method, &path) };
        let (answer, _) = request.header("Cookie", "a=b").stream().expect("an answer");
        assert_eq!(answer.header("set-cookie"), None, "{method} {path}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{method} {path}");
    }
}

#[test]
fn the_link_works_once_and_its_session_stays() {
    let flower = Flower::new();
    let up = flower.start();
    let url = up["url"].as_str().expect("url");
    let code = up["open_url"]
        .as_str()
        .and_then(|open| open.strip_prefix(&format!("{url}/?project=repo#open=")))
        .expect("a code");
    assert_eq!(code.len(), 64, "256 bits");
    let trade = |code: &str| flower.request("POST", "/api/session").token(code).send();
    // A code is no token: it is good for one trade and nothing else.
    assert_eq!(flower.request("GET", "/api/briefs").token(code).send().status, 401);
    assert_eq!(trade(&code[..63]).status, 401);
    let answer = trade(code);
    assert_eq!(answer.status, 200, "{answer:?}");
    let session = answer.json()["token"].as_str().expect("a token").to_owned();
    assert!(session != code && session != flower.token());
    assert_eq!(trade(code).status, 401, "a second time");
    let unused = flower.start()["open_url"].as_str().and_then(|open| open.split_once("#open=")).unwrap().1.to_owned();
    flower.restart();
    assert_eq!(trade(&unused).status, 401, "codes end with their daemon");
    let made = flower.request("POST", "/api/briefs").token(&session);
    let made = made.json(&json!({ "title": "From the page", "project": "repo" })).send();
    assert_eq!(made.status, 200, "{made:?}");
    let created = &flower.json(&["brief", "trace", "1"])[0];
    assert_eq!(created["door"], "web");
    assert_eq!(created["actor"]["type"], "operator");
    assert_eq!(created["actor"]["name"], "tester");
}
