//! Lists: bare, complete unless limited, and filtered; traces, tokens and the log.

use super::{assert_has, kinds, numbers, with_briefs};
use serde_json::{Value, json};

#[test]
fn a_list_is_a_bare_array_and_complete_unless_limited() {
    let flower = with_briefs(&["first"]);
    let request = flower.api("POST", "/api/briefs").json(&json!({ "title": "x", "project": "repo" }));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..64).for_each(|_| assert_eq!(request.send().status, 200)));
        }
    });
    // More than any page holds.
    let all: Vec<u64> = (1..=513).collect();
    assert_eq!(numbers(&flower.json(&["brief"])), all);
    assert_eq!(numbers(&flower.json(&["brief", "--limit", "2"])), [1, 2]);
    assert_eq!(numbers(&flower.json(&["brief", "--after", "2", "--limit", "2"])), [3, 4]);
    assert_eq!(numbers(&flower.json(&["brief", "--after", "510"])), [511, 512, 513]);
    assert_eq!(flower.json(&["brief", "--after", "513"]), json!([]));
    assert_eq!(numbers(&flower.json(&["brief", "--limit", "512"])).len(), 512);
    let trace = flower.json(&["trace"]);
    let seqs: Vec<u64> = trace.as_array().unwrap().iter().filter_map(|event| event["seq"].as_u64()).collect();
    let last = flower.events();
    assert_eq!(seqs, (1..=last).collect::<Vec<_>>());
    // A limit alone means the newest; after an event it means the next.
    let seqs = |args: &[&str]| -> Vec<u64> {
        flower.json(args).as_array().unwrap().iter().filter_map(|event| event["seq"].as_u64()).collect()
    };
    assert_eq!(seqs(&["trace", "--limit", "2"]), [last - 1, last]);
    assert_eq!(seqs(&["trace", "--after", "5", "--limit", "2"]), [6, 7]);
    assert_eq!(seqs(&["trace", "--after", &last.to_string()]), [] as [u64; 0]);
    assert_eq!(seqs(&["trace", "--limit", "600"]).len(), 600);
}

#[test]
fn briefs_are_filtered_by_status_and_kind() {
    let flower = with_briefs(&["one", "two", "three"]);
    flower.ok(&["brief", "new", "four", "--kind", "research"]);
    flower.ok(&["brief", "status", "2", "parked"]);
    for (args, expected) in [
        (&["brief", "--status", "draft"][..], &[1, 3, 4][..]),
        (&["brief", "--status", "parked"], &[2]),
        (&["brief", "--status", "landed"], &[]),
        (&["brief", "--kind", "research"], &[4]),
        (&["brief", "--kind", "feature", "--status", "draft", "--limit", "1"], &[1]),
        (&["brief", "--all"], &[1, 2, 3, 4]),
    ] {
        assert_eq!(numbers(&flower.json(args)), expected, "{args:?}");
    }
    let status = flower.json(&["status"]);
    assert_has(&status, &["version", "pid", "url", "project", "briefs.draft", "inbox", "last_event"]);
    assert_eq!(status["briefs"], json!({ "draft": 3, "parked": 1 }));
}

#[test]
fn tokens_are_shown_once_and_listed_without_themselves() {
    let flower = with_briefs(&["one"]);
    assert_eq!(flower.json(&["token"]), json!([]));
    let made = flower.json(&["token", "new", "--agent", "rose", "--brief", "1", "--worktree", "w-1"]);
    assert_eq!(made["token"].as_str().map(str::len), Some(64));
    let listed = flower.json(&["token"]);
    assert_has(&listed[0], &["id", "agent", "role", "brief", "worktree", "at", "revoked_at"]);
    assert_eq!((&listed[0]["id"], &listed[0]["role"]), (&made["id"], &json!("worker")));
    assert!(!listed.to_string().contains(made["token"].as_str().unwrap()));
    // In text it is the token and nothing else, for `FLOWER_TOKEN=$(…)`.
    let text = flower.ok(&["token", "new", "--agent", "rose", "--role", "ops"]);
    assert!(text.trim_end().len() == 64 && text.ends_with('\n'), "{text:?}");
    for (args, code) in [
        (&["token", "new", "--agent", "../x"][..], 2),
        (&["token", "new", "--agent", ""], 2),
        (&["token", "new", "--agent", "x", "--role", "king"], 2),
        (&["token", "new", "--agent", "x", "--brief", "9"], 3),
        (&["token", "new"], 2),
    ] {
        flower.fails(args, code);
    }
    assert_eq!(flower.json(&["token"]).as_array().map(Vec::len), Some(2));
}

#[test]
fn the_log_is_exported_whole_and_verified_anywhere() {
    let flower = with_briefs(&["one"]);
    flower.ok(&["brief", "note", "1", "Grüße\n\"quoted\" \\ 世界"]);
    let export = flower.ok(&["log", "export"]);
    let lines: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let note = lines.iter().find(|event| event["kind"] == "note_added").expect("the note")["seq"].clone();
    let mut trace = flower.json(&["trace"]);
    for event in trace.as_array_mut().expect("a list") {
        let fields = event.as_object_mut().expect("an event");
        let (said, topics) = (fields.remove("said"), fields.remove("topics"));
        assert!(said.is_some_and(|said| said.is_string()), "in words, and no part of what is exported: {event}");
        assert!(topics.is_some_and(|topics| topics.is_array()), "what it changes, and no part either: {event}");
    }
    assert_eq!(Value::from(lines), trace);
    let verified = flower.json(&["log", "verify", "--tables"]);
    assert_eq!(
        (&verified["ok"], &verified["verified"], &verified["tables"]),
        (&json!(true), &json!(flower.events()), &json!([]))
    );
    let file = flower.file("log.jsonl", &export);
    flower.ok(&["down"]);
    assert_eq!(flower.json(&["log", "verify", "--file", &file])["ok"], true);
    assert!(!flower.home.join("flower.sock").exists(), "a file is verified without a daemon");
    let forged = flower.file("forged.jsonl", export.replace("quoted", "forged"));
    let output = flower.run(&["log", "verify", "--file", &forged, "--json"]);
    let verdict: Value = serde_json::from_str(&output.stdout).expect("a verdict");
    assert_eq!((output.code, &verdict["ok"], &verdict["bad_seq"]), (1, &json!(false), &note), "{output:?}");
    assert!(output.stderr.contains(&format!("event {note}")), "{output:?}");
    assert_eq!(flower.json(&["log", "rebuild"])["mended"], json!([]));
    assert_eq!(kinds(&flower.json(&["brief", "trace", "1"])).last(), Some(&"note_added"));
}
