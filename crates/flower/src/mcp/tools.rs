//! The tools as agents see them. Every word costs tokens in every session of every agent, so names that need no explanation
//! have none.

use flower_core::{BriefKind, Status};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// All tools, always in the same order and with the same words.
pub fn all() -> &'static [Tool] {
    static ALL: LazyLock<Vec<Tool>> = LazyLock::new(make);
    &ALL
}

fn make() -> Vec<Tool> {
    let int = || json!({ "type": "integer" });
    let text = || json!({ "type": "string" });
    let flag = || json!({ "type": "boolean" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let ints = || json!({ "type": "array", "items": { "type": "integer" } });
    let described = |mut schema: Value, what: &str| {
        schema["description"] = what.into();
        schema
    };
    vec![
        tool(
            "start_work",
            "Begin here: claims a dispatch, recalls its brief, reserves paths",
            json!({
                "dispatch": int(),
                "token": described(text(), "from the packet"),
                "paths": described(texts(), "globs you will change"),
                "budget": described(int(), "tokens of the answer"),
            }),
            &[],
        ),
        reading(
            "recall_brief",
            "Spec, decisions, notes and state of a brief; yours by default",
            json!({
                "brief": int(), "budget": int(),
            }),
            &[],
        ),
        reading(
            "list_briefs",
            "Briefs, oldest first",
            json!({
                "status": one_of(Status::ALL),
                "ready": described(flag(), "can be built now"),
                "limit": int(),
            }),
            &[],
        ),
        reading(
            "search",
            "Search briefs, traces and scratchpads",
            json!({ "text": text(), "limit": int() }),
            &["text"],
        ),
        tool(
            "create_brief",
            "Propose new work, a draft for the operator",
            json!({
                "title": text(),
                "kind": one_of(BriefKind::ALL),
                "spec": described(text(), "Markdown"),
                "epic": int(),
                "needs": described(ints(), "briefs to land first"),
            }),
            &["title"],
        ),
        tool(
            "propose_plan",
            "Propose the spec of a draft",
            json!({ "brief": int(), "markdown": text() }),
            &["brief", "markdown"],
        ),
        tool(
            "refine_spec",
            "Replace a spec by a better one",
            json!({ "brief": int(), "markdown": text(), "base": described(int(), "version it was made from"), "why": text() }),
            &["brief", "markdown"],
        ),
        tool(
            "add_note",
            "Record a finding; `question` goes to the operator, `help` too if you are stuck",
            json!({
                "brief": int(),
                "text": text(),
                "kind": one_of(&["note", "comment", "question", "help"]),
                "image": described(text(), "base64"),
            }),
            &["brief", "text"],
        ),
        tool(
            "write_scratchpad",
            "Shared working notes: `number` writes one, `title` makes one",
            json!({
                "number": int(), "title": text(), "brief": int(), "text": text(), "append": flag(), "base": int(),
            }),
            &["text"],
        ),
        tool(
            "reserve_paths",
            "Tell other agents what you are changing",
            json!({ "patterns": described(texts(), "globs"), "minutes": int(), "release": flag() }),
            &[],
        ),
        tool(
            "check_work",
            "Try your commits: merge with MAIN, others on the same paths, and the checks",
            json!({ "check": text(), "budget": int() }),
            &[],
        ),
        tool("check_inbox", "Messages and answers for you", json!({}), &[]),
        tool(
            "send_message",
            "Message an agent or the operator",
            json!({ "to": text(), "text": text() }),
            &["to", "text"],
        ),
        tool(
            "hand_back",
            "End your work; all must be committed",
            json!({
                "dispatch": int(),
                "fence": described(int(), "given with the work"),
                "summary": text(),
                "not_done": text(),
                "failed": flag(),
            }),
            &["dispatch", "fence", "summary"],
        ),
    ]
}

/// With a type: some models refuse a schema without one.
fn one_of(words: &[impl Serialize]) -> Value {
    json!({ "type": "string", "enum": words })
}

fn reading(name: &'static str, what: &'static str, properties: Value, required: &[&str]) -> Tool {
    tool(name, what, properties, required).annotate(ToolAnnotations::new().read_only(true))
}

fn tool(name: &'static str, what: &'static str, properties: Value, required: &[&str]) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    // Without this, Claude Code hides a tool until the agent searches for it.
    let mut meta = MetaObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    Tool::new(name, what, schema).annotate(ToolAnnotations::new().destructive(false)).with_meta(meta)
}
