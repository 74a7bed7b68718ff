//! The tools that an agent uses, put together from what it tells of them in pieces.
//!
//! Claude Code names the tool first, then what it is for with the diff, then asks, then tells how it ended. Codex tells what
//! a command prints beside the protocol's own fields. A transcript has both alike.

use super::transcript::new_entry;
use crate::acp::schema::{
    ContentBlock, Meta, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use flower_contract::view::{Entry, EntryDiff, EntryKind};
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Far more than are at work at once.
const MOST_CALLS: usize = 256;
/// Of what one of them prints; a transcript is no place for more.
const MOST_OUTPUT: usize = 16 << 10;
/// That are known again; one call changes a handful of files.
const MOST_DIFFS: usize = 64;

#[derive(Default)]
pub(super) struct Calls(HashMap<String, Call>);

#[derive(Default)]
struct Call {
    title: String,
    status: ToolCallStatus,
    paths: Vec<String>,
    /// Of which diffs it has told, as hashes: the texts may be long.
    diffs: Vec<u64>,
    output: String,
    /// Its name is all that is known, and more is to come.
    bare: bool,
    /// Of an earlier turn.
    past: bool,
}

impl Calls {
    /// What there is to write down of a new one; nothing while the model is still writing what it is to do.
    pub(super) fn begin(&mut self, call: ToolCall) -> Option<Entry> {
        if self.0.len() >= MOST_CALLS {
            self.0.retain(|_, call| call.is_open());
        }
        if self.0.len() >= MOST_CALLS {
            self.0.clear();
        }
        let unwritten =
            call.raw_input.as_ref().is_some_and(|input| input.as_object().is_some_and(serde_json::Map::is_empty));
        let bare =
            unwritten && call.status == ToolCallStatus::Pending && call.content.is_empty() && call.locations.is_empty();
        let id = call.tool_call_id.0.to_string();
        let new = Call { title: call.title, status: call.status, bare, ..Call::default() };
        self.0.insert(id.clone(), new);
        let known = self.0.get_mut(&id)?;
        let mut fields = ToolCallUpdateFields::default().content(call.content).locations(call.locations);
        fields.raw_output = call.raw_output;
        let (_, entry) = known.learn(id, &fields, call.meta.as_ref());
        (!bare).then_some(entry)
    }

    /// What there is to write down of a change, if it says anything new.
    pub(super) fn change(&mut self, update: &ToolCallUpdate) -> Option<Entry> {
        let id = update.tool_call_id.0.to_string();
        let unknown = || Call { title: "a tool".to_owned(), ..Call::default() };
        let known = self.0.entry(id.clone()).or_insert_with(unknown);
        let bare = std::mem::take(&mut known.bare);
        let (new, entry) = known.learn(id, &update.fields, update.meta.as_ref());
        (new || bare).then_some(entry)
    }

    /// How many are at work.
    pub(super) fn open(&self) -> usize {
        self.0.values().filter(|call| call.is_open()).count()
    }

    /// Whatever was never said to have ended did so with its turn.
    pub(super) fn end_turn(&mut self) {
        self.0.values_mut().for_each(|call| call.past = true);
    }
}

impl Call {
    fn is_open(&self) -> bool {
        !self.past && !has_ended(self.status)
    }

    /// Takes over what is told, and says whether anything of it is new.
    fn learn(&mut self, id: String, fields: &ToolCallUpdateFields, meta: Option<&Meta>) -> (bool, Entry) {
        let mut new = false;
        if let Some(title) = fields.title.as_ref().filter(|title| **title != self.title && !title.is_empty()) {
            (self.title, new) = (title.clone(), true);
        }
        if let Some(status) = fields.status.filter(|status| *status != self.status) {
            (self.status, new) = (status, true);
        }
        if let Some(locations) = fields.locations.as_ref().filter(|locations| !locations.is_empty()) {
            self.paths = locations.iter().map(|location| location.path.to_string_lossy().into_owned()).collect();
        }
        let mut text = String::new();
        let mut diffs = Vec::new();
        for content in fields.content.iter().flatten() {
            match content {
                ToolCallContent::Content(content) => {
                    text.push('\n');
                    text.push_str(&words(&content.content));
                }
                ToolCallContent::Diff(diff) => {
                    let path = diff.path.to_string_lossy().into_owned();
                    diffs.push(EntryDiff { path, old: diff.old_text.clone(), new: diff.new_text.clone() });
                }
                _ => {}
            }
        }
        // What was shown before is not shown again.
        diffs.retain(|diff| !self.diffs.contains(&hash(diff)));
        self.diffs.extend(diffs.iter().map(hash).take(MOST_DIFFS.saturating_sub(self.diffs.len())));
        new |= !diffs.is_empty();
        self.hear(meta);
        if has_ended(self.status) && text.is_empty() {
            let raw = fields.raw_output.as_ref().map(answer).unwrap_or_default();
            let printed = if self.output.is_empty() { raw } else { std::mem::take(&mut self.output) };
            if !printed.trim().is_empty() {
                text = format!("\n{}", flower_core::text::head(printed.trim_end(), MOST_OUTPUT));
            }
            if let Some(code) = exit_code(meta).filter(|code| *code != 0) {
                text.push_str(&format!("\nexit code {code}"));
            }
        }
        let mut entry = new_entry(EntryKind::Tool, format!("{}{text}", self.title));
        let status = serde_json::to_value(self.status).ok().and_then(|status| status.as_str().map(str::to_owned));
        (entry.call, entry.status) = (Some(id), status);
        (entry.paths, entry.diffs) = (self.paths.clone(), diffs);
        (new, entry)
    }

    /// Codex tells what a command prints beside the content.
    fn hear(&mut self, meta: Option<&Meta>) {
        let printed = meta.and_then(|meta| meta.get("terminal_output_delta"));
        let Some(printed) = printed.and_then(|printed| printed["data"].as_str()) else { return };
        let room = MOST_OUTPUT.saturating_sub(self.output.len());
        let end = (0..=room.min(printed.len())).rev().find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
        self.output.push_str(&printed[..end]);
    }
}

fn has_ended(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

fn hash(diff: &EntryDiff) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&diff.path, &diff.old, &diff.new).hash(&mut hasher);
    hasher.finish()
}

fn exit_code(meta: Option<&Meta>) -> Option<i64> {
    meta?.get("terminal_exit")?["exit_code"].as_i64()
}

/// The text in what a tool has answered, where it is in none of the fields for it.
fn answer(raw: &Value) -> String {
    match raw {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => ["error", "result", "content", "message"]
            .iter()
            .filter_map(|name| fields.get(*name))
            .map(answer)
            .find(|text| !text.is_empty())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// What a block of content says to a person.
pub(super) fn words(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[a picture]".to_owned(),
        ContentBlock::Audio(_) => "[a sound]".to_owned(),
        ContentBlock::ResourceLink(link) => format!("[{}]", link.uri),
        _ => "[something else]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Each entry as its status, text and number of diffs.
    fn told(updates: &[Value]) -> Vec<(String, String, usize)> {
        let mut calls = Calls::default();
        let mut all = Vec::new();
        for update in updates {
            let mut update = update.clone();
            update["toolCallId"] = json!("1");
            let entry = match update.get("begin") {
                Some(_) => calls.begin(serde_json::from_value(update).unwrap()),
                None => calls.change(&serde_json::from_value(update).unwrap()),
            };
            all.extend(entry.map(|entry| (entry.status.unwrap(), entry.text, entry.diffs.len())));
        }
        assert_eq!(calls.open(), 0);
        all
    }

    fn entry(status: &str, text: &str, diffs: usize) -> (String, String, usize) {
        (status.to_owned(), text.to_owned(), diffs)
    }

    /// As claude-agent-acp 0.99.1 tells of an edit.
    #[test]
    fn what_comes_in_pieces_is_one_story() {
        let diff = json!([{ "type": "diff", "path": "/w/README.md", "oldText": "a", "newText": "b" }]);
        let all = told(&[
            json!({ "begin": 1, "title": "Edit", "status": "pending", "rawInput": {}, "content": [], "locations": [] }),
            json!({ "title": "Edit README.md", "content": diff, "locations": [{ "path": "/w/README.md" }] }),
            json!({ "_meta": { "claudeCode": { "toolName": "Edit" } }, "content": diff }),
            json!({ "status": "completed", "rawOutput": "It was updated." }),
        ]);
        let end = entry("completed", "Edit README.md\nIt was updated.", 0);
        assert_eq!(all, [entry("pending", "Edit README.md", 1), end]);
    }

    /// As codex-acp 2.6.0 tells of a command and of a tool of a server.
    #[test]
    fn what_a_command_prints_is_found_beside_the_content() {
        let printed = |text: &str| json!({ "terminal_output_delta": { "data": text, "terminal_id": "1" } });
        let all = told(&[
            json!({ "begin": 1, "title": "make", "status": "in_progress", "rawInput": { "command": "make" },
                "content": [{ "type": "terminal", "terminalId": "1" }] }),
            json!({ "_meta": printed("cc a.c\n") }),
            json!({ "_meta": printed("no such file\n") }),
            json!({ "status": "completed", "_meta": { "terminal_exit": { "exit_code": 2 } } }),
        ]);
        let end = entry("completed", "make\ncc a.c\nno such file\nexit code 2", 0);
        assert_eq!(all, [entry("in_progress", "make", 0), end]);
        let tool = told(&[
            json!({ "begin": 1, "title": "mcp.flower.add_note", "status": "in_progress", "rawInput": { "tool": "add_note" } }),
            json!({ "status": "failed", "rawOutput": { "result": null, "error": { "message": "no such brief" } } }),
        ]);
        assert_eq!(tool[1], entry("failed", "mcp.flower.add_note\nno such brief", 0));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut calls = Calls::default();
        for number in 0..2 * MOST_CALLS {
            let id = number.to_string();
            calls.begin(serde_json::from_value(json!({ "toolCallId": id, "title": "x" })).unwrap());
        }
        assert!(calls.0.len() <= MOST_CALLS);
        let flood =
            json!({ "toolCallId": "600", "_meta": { "terminal_output_delta": { "data": "é".repeat(MOST_OUTPUT) } } });
        assert!(calls.change(&serde_json::from_value(flood).unwrap()).is_none());
        assert!(calls.0["600"].output.len() <= MOST_OUTPUT);
        calls.end_turn();
        assert_eq!(calls.open(), 0);
    }
}
