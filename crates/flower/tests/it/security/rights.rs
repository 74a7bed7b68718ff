//! What each token may do. The operator may do everything; all others are held to their role.

use crate::common::Flower;
use serde_json::{Value, json};

/// Who may: B a worker bound to brief 1, U a worker bound to none, R an orchestrator, O ops.
const CALLS: &[(&str, &str, &str, &str)] = &[
    // Reading.
    ("BURO", "GET", "/api/status", ""),
    ("BURO", "GET", "/api/briefs", ""),
    ("BRO", "GET", "/api/briefs/1", ""),
    ("BRO", "GET", "/api/briefs/1/trace", ""),
    ("RO", "GET", "/api/briefs/2", ""),
    ("RO", "GET", "/api/briefs/2/trace", ""),
    ("RO", "GET", "/api/trace", ""),
    ("RO", "GET", "/api/spending", ""),
    ("RO", "GET", "/api/permissions", ""),
    ("RO", "GET", "/api/archives", ""),
    ("BURO", "GET", "/api/inbox", ""),
    ("BURO", "GET", "/api/search?q=x", ""),
    ("BRO", "GET", "/api/scratchpads/1", ""),
    ("RO", "GET", "/api/scratchpads/2", ""),
    ("O", "GET", "/api/tokens", ""),
    ("O", "GET", "/api/log/verify", ""),
    ("O", "GET", "/api/log/export", ""),
    // Contributing to brief 1.
    ("BRO", "POST", "/api/briefs/1/notes", r#"{"text":"x"}"#),
    ("BRO", "POST", "/api/briefs/1/notes", r#"{"text":"x","comment":true}"#),
    ("BRO", "POST", "/api/briefs/1/questions", r#"{"text":"x"}"#),
    ("BR", "POST", "/api/briefs/1/plan", r#"{"markdown":"x"}"#),
    ("BR", "POST", "/api/briefs/1/refine", r#"{"markdown":"x"}"#),
    ("BR", "POST", "/api/briefs/1/links", r#"{"kind":"file","target":"a"}"#),
    ("BR", "POST", "/api/scratchpads", r#"{"title":"x","brief":1}"#),
    ("BR", "PUT", "/api/scratchpads/1", r#"{"text":"x"}"#),
    // Contributing elsewhere.
    ("RO", "POST", "/api/briefs/2/notes", r#"{"text":"x"}"#),
    ("RO", "POST", "/api/briefs/2/questions", r#"{"text":"x"}"#),
    ("R", "POST", "/api/briefs/2/refine", r#"{"markdown":"x"}"#),
    ("R", "POST", "/api/briefs/2/links", r#"{"kind":"file","target":"a"}"#),
    ("R", "POST", "/api/scratchpads", r#"{"title":"x","brief":2}"#),
    ("R", "POST", "/api/scratchpads", r#"{"title":"x"}"#),
    ("R", "PUT", "/api/scratchpads/2", r#"{"text":"x"}"#),
    // Steering.
    ("R", "POST", "/api/briefs", r#"{"title":"x","project":"repo"}"#),
    ("RO", "POST", "/api/briefs", r#"{"title":"x","project":"repo","kind":"incident"}"#),
    ("R", "POST", "/api/briefs/1/accept", "{}"),
    ("R", "PATCH", "/api/briefs/1", r#"{"title":"y"}"#),
    ("R", "POST", "/api/briefs/1/status", r#"{"status":"parked"}"#),
    ("R", "POST", "/api/briefs/1/needs", r#"{"needs":2}"#),
    ("R", "POST", "/api/briefs/1/needs", r#"{"needs":2,"drop":true}"#),
    ("R", "POST", "/api/briefs/1/questions/1/answer", r#"{"text":"x"}"#),
    // What only the operator may.
    ("", "POST", "/api/tokens", r#"{"agent":"mole"}"#),
    ("", "POST", "/api/tokens", r#"{"agent":"mole","role":"orchestrator"}"#),
    ("", "DELETE", "/api/tokens/absent", ""),
    ("", "POST", "/api/projects", r#"{"dir":"REPO"}"#),
    ("", "POST", "/api/projects", r#"{"dir":"OTHER"}"#),
    ("", "DELETE", "/api/projects/repo", ""),
    ("", "POST", "/api/open-link", ""),
    ("", "POST", "/api/log/rebuild", ""),
    ("", "POST", "/api/log/accept-loss", ""),
    ("", "POST", "/api/shutdown", ""),
];

fn token(flower: &Flower, args: &[&str]) -> String {
    let made = flower.json(&[&["token", "new"], args].concat());
    made["token"].as_str().expect("a token").to_owned()
}

#[test]
fn every_role_is_held_to_its_rights() {
    let flower = Flower::started();
    for title in ["one", "two"] {
        flower.ok(&["brief", "new", title]);
    }
    flower.ok(&["brief", "ask", "1", "why?"]);
    flower.ok(&["scratchpad", "new", "of one", "--brief", "1"]);
    flower.ok(&["scratchpad", "new", "of two", "--brief", "2"]);
    let other = flower.make_repository("other");
    let tokens = [
        ('B', token(&flower, &["--agent", "bound", "--brief", "1", "--worktree", "w"])),
        ('U', token(&flower, &["--agent", "unbound"])),
        ('R', token(&flower, &["--agent", "rose", "--role", "orchestrator"])),
        ('O', token(&flower, &["--agent", "otto", "--role", "ops"])),
    ];
    let mut refused = 0;
    for (may, method, path, body) in CALLS {
        let body = body.replace("REPO", flower.repo.to_str().unwrap()).replace("OTHER", other.to_str().unwrap());
        for (who, token) in &tokens {
            let before = flower.events();
            let request = flower.request(method, path).token(token);
            let request = if body.is_empty() { request } else { request.body("application/json", body.clone()) };
            let answer = request.send();
            if may.contains(*who) {
                assert!(matches!(answer.status, 200 | 204), "{who} may {method} {path} {body}: {answer:?}");
                continue;
            }
            assert_eq!(answer.status, 403, "{who} may not {method} {path} {body}: {answer:?}");
            assert_eq!(answer.kind(), "forbidden");
            assert_ne!(answer.json()["error"]["hints"], json!([]), "a next step");
            // The attempt is recorded, once for each path in a minute, and nothing else.
            let more = flower.json(&["trace", "--after", &before.to_string()]);
            let more = more.as_array().unwrap();
            assert!(
                more.len() <= 1 && more.iter().all(|e| e["kind"] == "call_refused"),
                "{who} {method} {path}: {more:?}"
            );
            refused += more.len();
        }
    }
    assert!(refused > 20, "{refused} attempts are in the trace");
    assert!(!other.join(".git/flower.lock").exists(), "who may not register a repository does not lock it either");
    // The actor is the owner of the token, not the one that a body names.
    let trace = flower.json(&["brief", "trace", "1"]);
    let notes: Vec<&Value> = trace.as_array().unwrap().iter().filter(|event| event["kind"] == "note_added").collect();
    let authors: Vec<&str> = notes.iter().filter_map(|note| note["actor"]["name"].as_str()).collect();
    assert_eq!(authors, ["bound", "rose", "otto"]);
    assert!(notes.iter().all(|note| note["actor"]["type"] == "agent" && note["door"] == "api"));
}

#[test]
fn a_forbidden_or_revoked_token_says_so_on_the_command_line() {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "one"]);
    let made = flower.json(&["token", "new", "--agent", "bound", "--brief", "1"]);
    let with_token = |args: &[&str]| {
        let mut command = flower.command(&[args, &["--json"]].concat());
        command.env("FLOWER_TOKEN", made["token"].as_str().unwrap());
        crate::common::finish(command)
    };
    assert_eq!(with_token(&["brief", "note", "1", "mine"]).code, 0);
    assert_eq!(with_token(&["brief", "status", "1", "cancelled"]).error(1)["kind"], "forbidden");
    assert_eq!(with_token(&["token", "new", "--agent", "mole"]).error(1)["kind"], "forbidden");
    flower.ok(&["token", "revoke", made["id"].as_str().unwrap()]);
    assert_eq!(with_token(&["brief", "note", "1", "late"]).error(1)["kind"], "unauthorized");
    assert_eq!(with_token(&["brief"]).error(1)["kind"], "unauthorized");
    let token = made["token"].as_str().unwrap();
    assert_eq!(flower.request("GET", "/api/briefs").token(token).send().status, 401);
    let listed = &flower.json(&["token"])[0];
    assert!(listed["revoked_at"].is_string() && listed.get("token").is_none() && listed.get("sha256").is_none());
    assert_eq!(flower.fails(&["token", "revoke", "absent"], 3)["kind"], "not_found");
    assert_eq!(flower.fails(&["token", "new", "--agent", "x", "--role", "operator"], 2)["kind"], "invalid");
}
