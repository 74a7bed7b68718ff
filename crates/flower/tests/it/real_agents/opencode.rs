//! The real opencode: how it calls its own tools.

use crate::real_agents::model::Step;
use serde_json::json;

/// It edits only what it has read.
pub fn edit(file: &str, before: &str, after: &str) -> Vec<Step> {
    let change = json!({ "filePath": file, "oldString": before, "newString": after });
    vec![Step::call("read", json!({ "filePath": file })), Step::call("edit", change)]
}

pub fn shell(command: &str) -> Step {
    Step::call("bash", json!({ "command": command, "description": "Go on" }))
}
