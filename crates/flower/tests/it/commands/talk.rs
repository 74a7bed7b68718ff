//! Notes, questions, the inbox, scratchpads and search.

use super::{assert_has, kinds, numbers, with_briefs};
use crate::common::finish;
use serde_json::json;

#[test]
fn notes_and_comments_are_events() {
    let flower = with_briefs(&["one"]);
    let note = flower.json(&["brief", "note", "1", "a note with `code`"]);
    assert_eq!((&note["kind"], &note["body"]["text"]), (&json!("note_added"), &json!("a note with `code`")));
    assert_eq!(flower.json(&["brief", "note", "1", "mind this", "--comment"])["kind"], "comment_added");
    let typed = flower.run_with_input(&["brief", "note", "1", "-", "--json"], "from a pipe\nin two lines\n".as_bytes());
    assert!(typed.code == 0 && typed.stdout.contains("in two lines"), "{typed:?}");
    let long = "x".repeat(64 * 1024);
    assert_eq!(flower.run_with_input(&["brief", "note", "1", "-"], long.as_bytes()).code, 0);
    let trace = flower.json(&["brief", "trace", "1", "--limit", "4"]);
    assert_eq!(kinds(&trace), ["note_added", "comment_added", "note_added", "note_added"]);
}

#[test]
fn a_question_waits_in_the_inbox_until_it_is_answered_once() {
    let flower = with_briefs(&["one", "two"]);
    assert_eq!(flower.json(&["inbox"]), json!([]));
    let asked = flower.json(&["brief", "ask", "1", "Which colour?"]);
    assert_eq!((&asked["kind"], &asked["body"]["question"]), (&json!("question_asked"), &json!(1)));
    // What an agent proposes waits; what the operator proposes does not wait for the operator.
    let plan = flower.file("plan.md", "plan");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    let mut agent = flower.command(&["brief", "plan", "2", "--spec", &plan]);
    agent.env("FLOWER_TOKEN", flower.ok(&["token", "new", "--agent", "rose", "--brief", "2"]).trim());
    assert_eq!(finish(agent).code, 0);
    let inbox = flower.json(&["inbox"]);
    assert_eq!(inbox.as_array().map(Vec::len), Some(2));
    assert_has(&inbox[0], &["kind", "brief", "title", "question", "text", "by.type", "by.name", "at", "next"]);
    assert_eq!((&inbox[0]["kind"], &inbox[0]["next"]), (&json!("question"), &json!("flower brief answer 1 1 TEXT")));
    assert_eq!((&inbox[1]["kind"], &inbox[1]["next"]), (&json!("approval"), &json!("flower brief accept 2")));
    assert_eq!(flower.json(&["status"])["inbox"], 2);
    assert_eq!(flower.json(&["brief", "answer", "1", "1", "Green"])["kind"], "decision_made");
    assert_eq!(flower.fails(&["brief", "answer", "1", "1", "Blue"], 4)["kind"], "conflict");
    assert_eq!(flower.fails(&["brief", "answer", "1", "2", "Blue"], 3)["kind"], "not_found");
    flower.ok(&["brief", "accept", "2"]);
    assert_eq!(flower.json(&["inbox"]), json!([]));
    // So does an agent's refinement of the accepted plan.
    let refined = flower.file("refined.md", "refined");
    let mut agent = flower.command(&["brief", "refine", "2", "--spec", &refined]);
    agent.env("FLOWER_TOKEN", flower.ok(&["token", "new", "--agent", "rose", "--brief", "2"]).trim());
    assert_eq!(finish(agent).code, 0);
    assert_eq!(flower.json(&["inbox"])[0]["by"], json!({ "type": "agent", "name": "rose" }));
    flower.ok(&["brief", "accept", "2"]);
    assert_eq!(flower.json(&["inbox"]), json!([]));
    for status in ["in_progress", "in_review"] {
        flower.ok(&["brief", "status", "2", status]);
    }
    let result = &flower.json(&["inbox"])[0];
    assert_eq!(result["next"], "flower brief accept 2", "a result waits too");
    assert_eq!(result["by"]["type"], "operator", "the actor that moved it, not the author of the spec: {result}");
}

#[test]
fn a_scratchpad_has_versions_and_a_stale_one_is_a_conflict() {
    let flower = with_briefs(&["one"]);
    let text = flower.file("pad.md", "first\n");
    let pad = flower.json(&["scratchpad", "new", "Thoughts", "--brief", "1", "--text", &text]);
    assert_has(&pad, &["number", "title", "brief", "version", "by", "created_at", "updated_at", "text"]);
    assert_eq!(
        (&pad["number"], &pad["brief"], &pad["version"], &pad["text"]),
        (&json!(1), &json!(1), &json!(1), &json!("first\n"))
    );
    let links = flower.json(&["brief", "show", "1"])["links"].clone();
    assert_eq!((&links[0]["kind"], &links[0]["target"]), (&json!("execution"), &json!("scratchpad/1")));
    let more = flower.file("more.md", "second\n");
    assert_eq!(flower.json(&["scratchpad", "write", "1", &more, "--append", "--base", "1"])["version"], 2);
    assert_eq!(flower.json(&["scratchpad", "show", "1"])["text"], "first\nsecond\n");
    assert_eq!(flower.fails(&["scratchpad", "write", "1", &more, "--base", "1"], 4)["kind"], "conflict");
    assert_eq!(flower.json(&["scratchpad", "write", "1", &more])["text"], "second\n");
    flower.ok(&["scratchpad", "new", "Of no brief"]);
    assert_eq!(numbers(&flower.json(&["scratchpad"])), [1, 2]);
    assert_eq!(numbers(&flower.json(&["scratchpad", "--brief", "1"])), [1]);
    assert_eq!(flower.fails(&["scratchpad", "show", "3"], 3)["kind"], "not_found");
}

#[test]
fn search_finds_what_was_meant_wherever_it_stands() {
    let flower = with_briefs(&["Dark mode", "Faster landing"]);
    let spec = flower.file("spec.md", "The queue is serial.");
    flower.ok(&["brief", "plan", "2", "--spec", &spec]);
    flower.ok(&["brief", "note", "1", "Contrast must be checked"]);
    let pad = flower.file("pad.md", "palette: ochre and slate");
    flower.ok(&["scratchpad", "new", "Colours", "--brief", "1", "--text", &pad]);
    for (text, brief, place) in [
        ("dark", 1, "title"),
        ("Dark MODE", 1, "title"),
        ("serial", 2, "spec"),
        ("contrast", 1, "trace"),
        ("ochre", 1, "scratchpad"),
        ("quueue", 2, "spec"),
        ("landi", 2, "title"),
    ] {
        let hits = flower.json(&["search", text]);
        assert_has(&hits, &["0.brief", "0.where", "0.snippet", "0.score"]);
        assert_eq!((&hits[0]["brief"], &hits[0]["where"]), (&json!(brief), &json!(place)), "{text}: {hits}");
    }
    for nothing in ["zzzzzz", "*", "\"", "a AND (", "'; DROP TABLE events; --", "NEAR(a b)", "\u{0301}"] {
        let output = flower.run(&["search", "--json", "--", nothing]);
        assert_eq!((output.code, output.stdout.trim_end()), (0, "[]"), "{nothing}: {output:?}");
    }
    assert_eq!(flower.json(&["search", "is", "--limit", "1"]).as_array().map(Vec::len), Some(1));
}
