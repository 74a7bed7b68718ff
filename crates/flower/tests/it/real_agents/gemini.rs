//! The real Gemini CLI: how it calls its own tools.

use crate::real_agents::model::Step;
use serde_json::json;

pub fn edit(file: &str, before: &str, after: &str) -> Vec<Step> {
    let change = json!({ "file_path": file, "old_string": before, "new_string": after, "instruction": "Greet flower" });
    vec![Step::call("replace", change)]
}

pub fn shell(command: &str) -> Step {
    Step::call("run_shell_command", json!({ "command": command, "description": "Go on" }))
}
