//! Real agents that a person starts with the command of a packet: flower's tools, keys and programs are there, and an agent that
//! flower starts in the same worktree afterwards works as ever.

use super::acp::{Acp, CLAUDE, CODEX, Field, GEMINI, OPENCODE, WORKTREE, patiently, says};
use crate::common::finish;
use crate::real_agents::agent::without_network;
use crate::real_agents::model::Step;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_is_started_by_hand() {
    without_network("real_agents::by_hand::claude_is_started_by_hand", || {
        starts(&CLAUDE, |_| "claude --print 'Go on' --allowedTools 'mcp__flower__*'".to_owned());
    });
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn codex_is_started_by_hand() {
    without_network("real_agents::by_hand::codex_is_started_by_hand", || {
        starts(&CODEX, |field| {
            // What CODEX_CONFIG says to the agent that flower starts.
            let settings = [
                r#"model="gpt-5.5""#.to_owned(),
                r#"model_provider="scripted""#.to_owned(),
                r#"model_providers.scripted.name="scripted""#.to_owned(),
                format!(r#"model_providers.scripted.base_url="{}/v1""#, field.model.url()),
                r#"model_providers.scripted.wire_api="responses""#.to_owned(),
                r#"model_providers.scripted.env_key="OPENAI_API_KEY""#.to_owned(),
                "features.plugins=false".to_owned(),
                "features.apps=false".to_owned(),
                "analytics.enabled=false".to_owned(),
            ];
            let settings: String = settings.iter().map(|setting| format!(" -c '{setting}'")).collect();
            format!("codex --dangerously-bypass-approvals-and-sandbox{settings} exec 'Go on'")
        });
    });
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn gemini_is_started_by_hand() {
    without_network("real_agents::by_hand::gemini_is_started_by_hand", || {
        starts(&GEMINI, |field| {
            // With another address of its model it wants to be told that the key counts. What stands there is kept.
            let settings = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
            let script = format!("mkdir -p ~/.gemini && echo '{settings}' > ~/.gemini/settings.json");
            field.flower.ok(&["worktree", "shell", WORKTREE, "--", "sh", "-ec", &script]);
            "gemini --model gemini-2.5-pro --prompt 'Go on'".to_owned()
        });
    });
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn opencode_is_started_by_hand() {
    without_network("real_agents::by_hand::opencode_is_started_by_hand", || {
        starts(&OPENCODE, |_| "opencode run 'Go on'".to_owned());
    });
}

/// With the program of the profile, told to answer one prompt and to end.
fn starts(agent: &'static Acp, program: fn(&Field) -> String) {
    let field = Field::new(agent, "1s");
    let flower = &field.flower;
    flower.ok(&["worktree", "new", WORKTREE, "--lane"]);
    let asked = flower.json(&["dispatch", "1", "--worktree", WORKTREE]);
    let text = asked["packet"]["text"].as_str().expect("a packet");
    let line = text.lines().find(|line| line.contains("flower worktree shell")).expect("a command");
    let (start, _) = line.split_once("--as ").expect("a profile");
    let line = format!("{start}--as {} -- {}", agent.profile, program(&field));

    let mut script = (agent.first)();
    if let Some(search) = script.first_mut() {
        *search = Step::call("tool_search", json!({ "query": "flower start_work add_note", "limit": 8 }));
    }
    script.push(agent.call("start_work", json!({ "dispatch": 1 })));
    script.push(agent.call("add_note", json!({ "brief": 1, "text": "I was started by hand." })));
    script.push(Step::say("It is noted."));
    let steps = script.len();
    field.model.play(script);
    let output = types(&field, &line);
    assert_eq!(output.code, 0, "{output:?}\n{:?}", field.model.trouble());
    assert_eq!(field.results().len(), steps - 1, "every step was done: {output:?}\n{:?}", field.results());
    assert_eq!(field.model.trouble(), [""; 0], "{output:?}");
    let trace = flower.json(&["trace", "--limit", "1000"]);
    let note = trace.as_array().into_iter().flatten().find(|event| event["kind"] == "note_added").expect("its note");
    assert_eq!((&note["door"], &note["actor"]["name"]), (&json!("mcp"), &json!("agent-1")), "{note:#}");
    let joined = flower.json(&["agent"]);
    assert_eq!((&joined[0]["name"], &joined[0]["joined"]), (&json!("agent-1"), &json!(true)), "{joined:#}");
    flower.ok(&["dispatch", "cancel", "1"]);

    // In the same home, with the server `flower` in the configuration and in the session.
    field.model.play(field.whole_work());
    let asked = flower.json(&["dispatch", "1", "--agent", agent.profile, "--worktree", WORKTREE]);
    let number = asked["id"].as_u64().expect("a number").to_string();
    let mut last = Value::Null;
    patiently("it lands", || {
        last = flower.json(&["dispatch", "show", &number]);
        let open = ["executing", "handed_back", "requested", "claimed"].iter().any(|state| last["state"] == *state);
        (!open).then_some(())
    });
    assert_eq!(last["state"], "landed", "{last:#}\n{}", field.told());
    let entries = field.entries();
    assert!(entries.iter().any(|entry| says(entry, "tool", "hand_back")), "{}", field.told());
    assert_eq!(field.agent()["tools"], json!(true));
}

/// A command line of the operator, in the repository.
fn types(field: &Field, line: &str) -> crate::common::Output {
    let own = field.flower.command(&[]);
    let flower = Path::new(own.get_program()).parent().expect("a folder");
    let mut path = vec![flower.to_owned()];
    let all = crate::real_agents::agent::path();
    path.extend(std::env::split_paths(&all));
    let mut shell = Command::new("sh");
    field.flower.in_own_environment(shell.args(["-c", line]).current_dir(&field.flower.repo));
    shell.env("PATH", std::env::join_paths(path).expect("no colons")).stdin(Stdio::null());
    finish(shell)
}
