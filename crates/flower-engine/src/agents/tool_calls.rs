//! Combines the updates about tool calls of an agent into transcript entries.
//!
//! Claude Code first sends the name of the tool, then its purpose with the diff, then a permission request, then the result.
//! Codex sends the output of a command in `_meta`. The transcript shows both in the same form.

use super::call_facts::CallFacts;
use super::transcript::new_entry;
use crate::acp::schema::{
    ContentBlock, Meta, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use flower_contract::view::{Entry, EntryDiff, EntryKind, ToolStatus};
use serde_json::Value;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Far more than are open at once.
const MAX_CALLS: usize = 256;
/// Output of one call in the transcript.
const MAX_OUTPUT_BYTES: usize = 16 << 10;
/// Diffs per call that are recognized when they are sent again.
const MAX_DIFFS: usize = 64;

#[derive(Default)]
pub(super) struct ToolCalls(HashMap<String, TrackedCall>);

#[derive(Default)]
struct TrackedCall {
    title: String,
    status: ToolCallStatus,
    paths: Vec<String>,
    /// Hashes of the diffs that are in the transcript.
    diffs: Vec<u64>,
    output: String,
    /// Only the name is known, and an update will follow.
    bare: bool,
    facts: CallFacts,
    /// The call belongs to an earlier turn.
    past: bool,
}

impl ToolCalls {
    /// Adds a call, and returns its entry; none while the model still writes the input of the call.
    pub(super) fn start(&mut self, call: ToolCall) -> Option<Entry> {
        if self.0.len() >= MAX_CALLS {
            self.0.retain(|_, call| call.is_open());
        }
        if self.0.len() >= MAX_CALLS {
            self.0.clear();
        }
        let has_empty_input =
            call.raw_input.as_ref().is_some_and(|input| input.as_object().is_some_and(serde_json::Map::is_empty));
        let bare = has_empty_input
            && call.status == ToolCallStatus::Pending
            && call.content.is_empty()
            && call.locations.is_empty();
        let id = call.tool_call_id.0.to_string();
        let new = TrackedCall { title: call.title, status: call.status, bare, ..TrackedCall::default() };
        self.0.insert(id.clone(), new);
        let known = self.0.get_mut(&id)?;
        let mut fields = ToolCallUpdateFields::default().content(call.content).locations(call.locations);
        (fields.raw_output, fields.raw_input, fields.name) = (call.raw_output, call.raw_input, call.name);
        (fields.kind, fields.title) = (Some(call.kind), Some(known.title.clone()));
        let (_, entry) = known.apply(id, &fields, call.meta.as_ref());
        (!bare).then_some(entry)
    }

    /// Applies an update, and returns an entry if it has new information.
    pub(super) fn update(&mut self, update: &ToolCallUpdate) -> Option<Entry> {
        let id = update.tool_call_id.0.to_string();
        let unknown = || TrackedCall { title: "a tool".to_owned(), ..TrackedCall::default() };
        let known = self.0.entry(id.clone()).or_insert_with(unknown);
        let bare = std::mem::take(&mut known.bare);
        let (new, entry) = known.apply(id, &update.fields, update.meta.as_ref());
        (new || bare).then_some(entry)
    }

    /// What is known of a call, together with this update of it. The update itself is not kept: it is part of a request.
    pub(super) fn facts(&self, update: &ToolCallUpdate) -> CallFacts {
        let known = self.0.get(&*update.tool_call_id.0);
        let mut facts = known.map(|call| call.facts.clone()).unwrap_or_default();
        facts.add(&update.fields, update.meta.as_ref());
        facts
    }

    /// Calls of the current turn that have not ended.
    pub(super) fn open_count(&self) -> usize {
        self.0.values().filter(|call| call.is_open()).count()
    }

    /// Counts all calls as ended, also those for which the agent sent no end.
    pub(super) fn end_turn(&mut self) {
        self.0.values_mut().for_each(|call| call.past = true);
    }
}

impl TrackedCall {
    fn is_open(&self) -> bool {
        !self.past && !has_ended(self.status)
    }

    /// Applies the fields of an update. Returns whether they had new information, and the entry.
    fn apply(&mut self, id: String, fields: &ToolCallUpdateFields, meta: Option<&Meta>) -> (bool, Entry) {
        let mut new = false;
        self.facts.add(fields, meta);
        if let Some(title) = fields.title.as_ref().filter(|title| **title != self.title && !title.is_empty()) {
            (self.title, new) = (title.clone(), true);
        }
        if let Some(status) = fields.status.filter(|status| *status != self.status) {
            (self.status, new) = (status, true);
        }
        if let Some(locations) = fields.locations.as_ref().filter(|locations| !locations.is_empty()) {
            self.paths = locations.iter().map(|location| location.path.to_string_lossy().into_owned()).collect();
        }
        let mut output: Vec<String> = Vec::new();
        let mut diffs = Vec::new();
        for content in fields.content.iter().flatten() {
            match content {
                ToolCallContent::Content(content) => output.push(content_text(&content.content)),
                ToolCallContent::Diff(diff) => {
                    let path = diff.path.to_string_lossy().into_owned();
                    diffs.push(EntryDiff { path, old: diff.old_text.clone(), new: diff.new_text.clone() });
                }
                _ => {}
            }
        }
        // Agents repeat diffs in later updates; each is shown once.
        diffs.retain(|diff| !self.diffs.contains(&hash(diff)));
        self.diffs.extend(diffs.iter().map(hash).take(MAX_DIFFS.saturating_sub(self.diffs.len())));
        new |= !diffs.is_empty();
        self.add_printed_output(meta);
        if has_ended(self.status) && output.is_empty() {
            let raw = fields.raw_output.as_ref().map(raw_output_text).unwrap_or_default();
            let printed = if self.output.is_empty() { raw } else { std::mem::take(&mut self.output) };
            if !printed.trim().is_empty() {
                output.push(flower_core::text::head(printed.trim_end(), MAX_OUTPUT_BYTES));
            }
            if let Some(code) = exit_code(meta).filter(|code| *code != 0) {
                output.push(format!("exit code {code}"));
            }
        }
        let mut entry = new_entry(EntryKind::Tool, "");
        (entry.call, entry.status) = (Some(id), Some(tool_status(self.status)));
        entry.title = Some(self.title.clone());
        entry.output = (!output.is_empty()).then(|| output.join("\n"));
        (entry.paths, entry.diffs) = (self.paths.clone(), diffs);
        (new, entry)
    }

    /// Collects output that Codex sends in `_meta`.
    fn add_printed_output(&mut self, meta: Option<&Meta>) {
        let printed = meta.and_then(|meta| meta.get("terminal_output_delta"));
        let Some(printed) = printed.and_then(|printed| printed["data"].as_str()) else { return };
        let room = MAX_OUTPUT_BYTES.saturating_sub(self.output.len());
        let end = (0..=room.min(printed.len())).rev().find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
        self.output.push_str(&printed[..end]);
    }
}

fn has_ended(status: ToolCallStatus) -> bool {
    matches!(status, ToolCallStatus::Completed | ToolCallStatus::Failed)
}

fn tool_status(status: ToolCallStatus) -> ToolStatus {
    match status {
        ToolCallStatus::Pending => ToolStatus::Pending,
        ToolCallStatus::Completed => ToolStatus::Completed,
        ToolCallStatus::Failed => ToolStatus::Failed,
        // A status of a newer protocol does not end the call.
        _ => ToolStatus::InProgress,
    }
}

fn hash(diff: &EntryDiff) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&diff.path, &diff.old, &diff.new).hash(&mut hasher);
    hasher.finish()
}

fn exit_code(meta: Option<&Meta>) -> Option<i64> {
    meta?.get("terminal_exit")?["exit_code"].as_i64()
}

/// The text of a tool's raw output, for agents that send no content.
fn raw_output_text(raw: &Value) -> String {
    match raw {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => ["error", "result", "content", "message"]
            .iter()
            .filter_map(|name| fields.get(*name))
            .map(raw_output_text)
            .find(|text| !text.is_empty())
            .unwrap_or_default(),
        _ => String::new(),
    }
}

/// A block of content as text.
pub(super) fn content_text(content: &ContentBlock) -> String {
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

    /// Each entry as its status, title, output and number of diffs.
    type Told = (ToolStatus, String, Option<String>, usize);

    fn told(updates: &[Value]) -> Vec<Told> {
        let mut calls = ToolCalls::default();
        let mut all = Vec::new();
        for update in updates {
            let mut update = update.clone();
            update["toolCallId"] = json!("1");
            let entry = match update.get("begin") {
                Some(_) => calls.start(serde_json::from_value(update).unwrap()),
                None => calls.update(&serde_json::from_value(update).unwrap()),
            };
            all.extend(entry.map(|e| (e.status.unwrap(), e.title.unwrap(), e.output, e.diffs.len())));
        }
        assert_eq!(calls.open_count(), 0);
        all
    }

    fn entry(status: ToolStatus, title: &str, output: Option<&str>, diffs: usize) -> Told {
        (status, title.to_owned(), output.map(str::to_owned), diffs)
    }

    /// The updates that claude-agent-acp 0.99.1 sends for an edit.
    #[test]
    fn updates_of_one_call_become_two_entries() {
        let diff = json!([{ "type": "diff", "path": "/w/README.md", "oldText": "a", "newText": "b" }]);
        let all = told(&[
            json!({ "begin": 1, "title": "Edit", "status": "pending", "rawInput": {}, "content": [], "locations": [] }),
            json!({ "title": "Edit README.md", "content": diff, "locations": [{ "path": "/w/README.md" }] }),
            json!({ "_meta": { "claudeCode": { "toolName": "Edit" } }, "content": diff }),
            json!({ "status": "completed", "rawOutput": "It was updated." }),
        ]);
        let end = entry(ToolStatus::Completed, "Edit README.md", Some("It was updated."), 0);
        assert_eq!(all, [entry(ToolStatus::Pending, "Edit README.md", None, 1), end]);
    }

    /// The updates that codex-acp 2.6.0 sends for a command and for an MCP tool.
    #[test]
    fn output_in_the_metadata_is_shown() {
        let printed = |text: &str| json!({ "terminal_output_delta": { "data": text, "terminal_id": "1" } });
        let all = told(&[
            json!({ "begin": 1, "title": "make", "status": "in_progress", "rawInput": { "command": "make" },
                "content": [{ "type": "terminal", "terminalId": "1" }] }),
            json!({ "_meta": printed("cc a.c\n") }),
            json!({ "_meta": printed("no such file\n") }),
            json!({ "status": "completed", "_meta": { "terminal_exit": { "exit_code": 2 } } }),
        ]);
        let end = entry(ToolStatus::Completed, "make", Some("cc a.c\nno such file\nexit code 2"), 0);
        assert_eq!(all, [entry(ToolStatus::InProgress, "make", None, 0), end]);
        let tool = told(&[
            json!({ "begin": 1, "title": "mcp.flower.add_note", "status": "in_progress", "rawInput": { "tool": "add_note" } }),
            json!({ "status": "failed", "rawOutput": { "result": null, "error": { "message": "no such brief" } } }),
        ]);
        assert_eq!(tool[1], entry(ToolStatus::Failed, "mcp.flower.add_note", Some("no such brief"), 0));
    }

    #[test]
    fn calls_and_output_are_bounded() {
        let mut calls = ToolCalls::default();
        for number in 0..2 * MAX_CALLS {
            let id = number.to_string();
            calls.start(serde_json::from_value(json!({ "toolCallId": id, "title": "x" })).unwrap());
        }
        assert!(calls.0.len() <= MAX_CALLS);
        let flood = json!({ "toolCallId": "600", "_meta": { "terminal_output_delta": { "data": "é".repeat(MAX_OUTPUT_BYTES) } } });
        assert!(calls.update(&serde_json::from_value(flood).unwrap()).is_none());
        assert!(calls.0["600"].output.len() <= MAX_OUTPUT_BYTES);
        calls.end_turn();
        assert_eq!(calls.open_count(), 0);
    }
}
