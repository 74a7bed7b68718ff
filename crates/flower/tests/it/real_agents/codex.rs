//! The real Codex.

use crate::common::Output;
use crate::real_agents::agent::{
    Agent, Stage, calls_flower_twice, cannot_leave, does_its_work, on_loopback, works_by_commands,
};
use crate::real_agents::model::Step;
use serde_json::json;

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn codex_with_a_packet_calls_flower_twice() {
    on_loopback("real_agents::codex::codex_with_a_packet_calls_flower_twice", |stage| {
        calls_flower_twice(stage, codex());
    });
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn codex_does_its_work() {
    on_loopback("real_agents::codex::codex_does_its_work", |stage| does_its_work(stage, codex()));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn codex_works_by_commands() {
    on_loopback("real_agents::codex::codex_works_by_commands", |stage| works_by_commands(stage, &codex()));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn codex_cannot_leave() {
    on_loopback("real_agents::codex::codex_cannot_leave", |stage| cannot_leave(stage, &codex()));
}

/// With a model that it knows it lists no tools of others: they are searched for.
fn codex() -> Agent {
    let search = json!({ "query": "flower start_work recall_brief reserve_paths add_note hand_back", "limit": 8 });
    Agent { first: vec![Step::call("tool_search", search)], edit, shell, start }
}

pub fn edit(file: &str, before: &str, after: &str) -> Vec<Step> {
    let patch = format!("*** Begin Patch\n*** Update File: {file}\n@@\n-{before}\n+{after}\n*** End Patch\n");
    vec![Step::call("apply_patch", json!(patch))]
}

pub fn shell(command: &str) -> Step {
    Step::call("exec_command", json!({ "cmd": command }))
}

fn start(stage: &Stage, prompt: &str) -> Output {
    stage.put_at_home(".codex/config.toml", &settings(stage));
    let home = stage.at_home(".codex");
    stage.run(&[("CODEX_HOME", &home), ("SCRIPTED_KEY", "none")], &["codex", "exec", prompt])
}

/// Its own sandbox cannot start inside a jail, and it asks no person: the jail decides what is possible. What its servers get
/// of the environment has to be named.
fn settings(stage: &Stage) -> String {
    format!(
        r#"
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
approval_policy = "never"
sandbox_mode = "danger-full-access"
# A login shell begins with a PATH of its own, in which flower is not found.
allow_login_shell = false

[analytics]
enabled = false

# Both ask the network for more, and wait for it.
[features]
plugins = false
apps = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.flower]
command = "flower"
args = ["mcp"]
env_vars = ["FLOWER_TOKEN", "FLOWER_URL"]
default_tools_approval_mode = "approve"
"#,
        url = stage.model.url(),
    )
}
