//! The real Qwen Code: how it calls its own tools.

use crate::real_agents::model::Step;
use serde_json::json;

pub fn shell(command: &str) -> Step {
    Step::call("run_shell_command", json!({ "command": command, "description": "Go on", "is_background": false }))
}
