//! The real Claude Code.

use crate::common::Output;
use crate::real_agents::agent::{
    Agent, Stage, calls_flower_twice, cannot_leave, does_its_work, on_loopback, works_by_commands,
};
use crate::real_agents::model::Step;
use serde_json::json;

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_code_with_a_packet_calls_flower_twice() {
    on_loopback("real_agents::claude::claude_code_with_a_packet_calls_flower_twice", |stage| {
        calls_flower_twice(stage, claude());
    });
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_code_does_its_work() {
    on_loopback("real_agents::claude::claude_code_does_its_work", |stage| does_its_work(stage, claude()));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_code_works_by_commands() {
    on_loopback("real_agents::claude::claude_code_works_by_commands", |stage| works_by_commands(stage, &claude()));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn claude_code_cannot_leave() {
    on_loopback("real_agents::claude::claude_code_cannot_leave", |stage| cannot_leave(stage, &claude()));
}

fn claude() -> Agent {
    Agent { first: vec![], edit, shell, start }
}

/// It edits only what it has read.
pub fn edit(file: &str, before: &str, after: &str) -> Vec<Step> {
    let change = json!({ "file_path": file, "old_string": before, "new_string": after });
    vec![Step::call("Read", json!({ "file_path": file })), Step::call("Edit", change)]
}

pub fn shell(command: &str) -> Step {
    Step::call("Bash", json!({ "command": command, "description": "Go on" }))
}

fn start(stage: &Stage, prompt: &str) -> Output {
    let servers = json!({ "mcpServers": { "flower": { "command": "flower", "args": ["mcp"] } } });
    stage.put_at_home("mcp.json", &servers.to_string());
    let servers = stage.at_home("mcp.json");
    let url = stage.model.url();
    stage.run(
        &[
            ("ANTHROPIC_BASE_URL", &url),
            ("ANTHROPIC_API_KEY", "none"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ],
        &[
            "claude",
            "--print",
            prompt,
            "--mcp-config",
            &servers,
            "--strict-mcp-config",
            // It asks no person: the jail decides what is possible.
            "--permission-mode",
            "acceptEdits",
            "--allowedTools",
            "mcp__flower__*,Bash",
        ],
    )
}
