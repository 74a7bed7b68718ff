//! Describes the interesting events of the trace, one line each, for viewers of the demo.

use std::collections::HashMap;

use serde_json::Value;

use super::repository::BRIEFS;

/// The maximum width of a line, in characters.
const MAX_WIDTH: usize = 84;

#[derive(Default)]
pub(crate) struct Narration {
    /// Names of agents by their numbers.
    names: HashMap<u64, String>,
}

impl Narration {
    /// None for an event that is not shown.
    pub(crate) fn line(&mut self, event: &Value) -> Option<String> {
        let body = &event["body"];
        let text = |name: &str| body[name].as_str().unwrap_or_default().trim_end_matches('.');
        let number = body["number"].as_u64().unwrap_or_default();
        if event["kind"] == "agent_started" {
            self.names.insert(number, text("name").to_owned());
        }
        let agent = || self.names.get(&number).map_or("an agent", String::as_str);
        let brief = event["brief"].as_u64().map(titled).unwrap_or_default();
        let line = match event["kind"].as_str()? {
            "dispatch_requested" if body["kind"] == "fix" => {
                format!("flower asks for a fix of {brief}, with the evidence")
            }
            "agent_started" if body["member"].as_u64() > Some(0) => {
                format!("{} joins it in {}", agent(), text("worktree"))
            }
            "agent_started" => format!("{} begins on {brief}", agent()),
            "agent_restarted" => format!("{} died: {}. The next one goes on.", agent(), text("why")),
            "agent_refreshed" => {
                let part = 100 * body["used"].as_u64()? / body["size"].as_u64()?.max(1);
                format!("{}'s context is {part} % full. A fresh one goes on from its note.", agent())
            }
            "agent_stopped" if body["how"] == "failed" => format!("{} is given up: {}", agent(), text("why")),
            "question_asked" => format!("{} asks: {}", event["actor"]["name"].as_str()?, text("text")),
            "permission_asked" => format!("{} wants to: {}", text("name"), text("title")),
            "lease_taken" => format!("{} reserves {}", text("holder"), body["patterns"][0].as_str()?),
            "dispatch_handed_back" => format!("{} hands back: {}", text("holder"), text("summary")),
            "landing_rejected" => format!("kept out of MAIN: {brief}, because {}", text("why")),
            "landed" => format!("in MAIN: {brief}"),
            _ => return None,
        };
        Some(shortened(&line))
    }
}

pub(crate) fn titled(brief: u64) -> String {
    let title = usize::try_from(brief).ok().and_then(|brief| BRIEFS.get(brief.checked_sub(1)?)).map(|one| one.title);
    format!("#{brief} {}", title.unwrap_or_default())
}

pub(crate) fn shortened(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    if line.chars().count() <= MAX_WIDTH {
        return line.to_owned();
    }
    line.chars().take(MAX_WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_become_lines_and_most_of_them_none() {
        let mut narration = Narration::default();
        let started =
            json!({ "kind": "agent_started", "brief": 1, "body": { "number": 4, "name": "play-4", "member": 0 } });
        assert_eq!(narration.line(&started).unwrap(), "play-4 begins on #1 Prices");
        let full = json!({ "kind": "agent_refreshed", "body": { "number": 4, "used": 184, "size": 200 } });
        assert_eq!(narration.line(&full).unwrap(), "play-4's context is 92 % full. A fresh one goes on from its note.");
        assert_eq!(narration.line(&json!({ "kind": "link_added", "body": {} })), None);
        assert_eq!(shortened(&"ü".repeat(200)).chars().count(), MAX_WIDTH);
    }
}
