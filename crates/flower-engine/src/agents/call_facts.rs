//! What is known of a tool call from all that the agent has sent about it.
//!
//! Agents differ in what they repeat: a permission request of one has only the id of a call that it announced before, and each
//! names the tools of MCP servers in another way. Here the updates about one call are brought together.

use crate::acp::schema::{Meta, ToolCallContent, ToolCallUpdateFields, ToolKind};
use crate::tool_names::TOOLS;
use serde_json::Value;
use std::path::PathBuf;

/// More than any call names.
const MAX_PATHS: usize = 64;
const MAX_NAMES: usize = 8;
/// Longer texts are no names and no paths.
const MAX_NAME_BYTES: usize = 512;
/// Length of a command that is shown.
const MAX_COMMAND_BYTES: usize = 2 << 10;
/// How deep metadata is searched.
const MAX_DEPTH: usize = 3;

/// Arguments of tools of the four built-in agents that name a file.
const PATH_KEYS: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "file_path",
    "filePath",
    "filepath",
    "filename",
    "abs_path",
    "absolute_path",
    "notebook_path",
    "movePath",
    "source",
    "destination",
];
const SERVER_KEYS: [&str; 4] = ["server", "serverName", "server_name", "mcpServer"];
const TOOL_KEYS: [&str; 4] = ["tool", "toolName", "tool_name", "mcpTool"];

#[derive(Clone, Debug, Default)]
pub(super) struct CallFacts {
    title: Option<String>,
    kind: Option<ToolKind>,
    /// From locations and diffs, which every client shows.
    shown_paths: Vec<PathBuf>,
    /// From the arguments of the tool.
    argument_paths: Vec<PathBuf>,
    command: Option<String>,
    /// Names of the tool, also those in metadata.
    names: Vec<String>,
    /// The MCP server that has the tool.
    servers: Vec<String>,
    /// Tool and server as the arguments name them. The model writes arguments, so they count only if nothing else names a tool.
    in_arguments: Box<Named>,
}

#[derive(Clone, Debug, Default)]
struct Named {
    tools: Vec<String>,
    servers: Vec<String>,
}

impl CallFacts {
    /// Adds what an update has. Later titles and kinds replace earlier ones; paths and names accumulate, so that a request
    /// cannot hide a path that the call had.
    pub(super) fn add(&mut self, fields: &ToolCallUpdateFields, meta: Option<&Meta>) {
        if let Some(title) = fields.title.as_deref().filter(|title| !title.trim().is_empty()) {
            self.title = Some(title.to_owned());
        }
        self.kind = fields.kind.or(self.kind);
        if let Some(name) = &fields.name {
            add_text(&mut self.names, name);
        }
        let located = fields.locations.iter().flatten().map(|location| location.path.clone());
        let changed = fields.content.iter().flatten().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(diff.path.clone()),
            _ => None,
        });
        for path in located.chain(changed) {
            add_path(&mut self.shown_paths, path);
        }
        for (name, value) in meta.into_iter().flatten() {
            self.add_from_meta(name, value, MAX_DEPTH);
        }
        if let Some(Value::Object(input)) = &fields.raw_input {
            for (name, value) in input {
                add_named(&mut self.in_arguments.tools, &mut self.in_arguments.servers, name, value);
                if PATH_KEYS.contains(&name.as_str()) {
                    self.add_argument_paths(value, MAX_DEPTH);
                }
            }
            let command = ["command", "cmd", "url", "query"].iter().find_map(|name| input.get(*name)?.as_str());
            if let Some(command) = command {
                self.command = Some(flower_core::text::head(command, MAX_COMMAND_BYTES));
            }
        }
    }

    fn add_from_meta(&mut self, name: &str, value: &Value, depth: usize) {
        add_named(&mut self.names, &mut self.servers, name, value);
        if let (Value::Object(inner), 1..) = (value, depth) {
            for (name, value) in inner {
                self.add_from_meta(name, value, depth - 1);
            }
        }
    }

    fn add_argument_paths(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(path) if path.len() <= MAX_NAME_BYTES * 8 => {
                add_path(&mut self.argument_paths, PathBuf::from(path));
            }
            Value::Array(all) if depth > 0 => {
                all.iter().take(MAX_PATHS).for_each(|one| self.add_argument_paths(one, depth - 1));
            }
            Value::Object(fields) if depth > 0 => {
                let named = fields.iter().filter(|(name, _)| PATH_KEYS.contains(&name.as_str()));
                named.for_each(|(_, value)| self.add_argument_paths(value, depth - 1));
            }
            _ => {}
        }
    }

    pub(super) fn kind(&self) -> ToolKind {
        self.kind.unwrap_or_default()
    }

    /// The paths that the call touches, as far as the agent names them.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        // A relative argument is often the end of a path that is shown.
        let is_new = |path: &&PathBuf| !self.shown_paths.iter().any(|shown| shown.ends_with(path));
        self.shown_paths.iter().chain(self.argument_paths.iter().filter(is_new)).cloned().collect()
    }

    /// Names and servers of the tool: those of the arguments only if neither the title nor metadata name a tool.
    fn named(&self) -> (&[String], &[String]) {
        // A title that consists of the arguments names nothing.
        let is_titled = self.title.as_deref().is_some_and(|title| !title.trim_start().starts_with('{'));
        match self.names.is_empty() && self.servers.is_empty() && !is_titled {
            true => (&self.in_arguments.tools, &self.in_arguments.servers),
            false => (&self.names, &self.servers),
        }
    }

    /// Whether it is a tool that flower gives to every agent. Some agents have the name only in the id of the call.
    pub(super) fn is_flower_tool(&self, id: &str) -> bool {
        let (names, servers) = self.named();
        let of_flower = servers.iter().any(|server| server.eq_ignore_ascii_case("flower"));
        let bare = |name: &String| of_flower && TOOLS.contains(&name.as_str());
        let id = id.split('-').next().unwrap_or_default();
        let titled = self.title.as_deref().into_iter().chain([id]);
        names.iter().any(|name| bare(name) || names_flower_tool(name)) || titled.into_iter().any(names_flower_tool)
    }

    /// What the agent wants to do, in its own words as far as it has any.
    pub(super) fn title(&self, id: &str) -> String {
        let kind = serde_json::to_value(self.kind()).ok();
        let kind = kind.as_ref().and_then(Value::as_str).unwrap_or("other").replace('_', " ");
        let (names, servers) = self.named();
        let of = || servers.first().map(|server| format!(" of {server}")).unwrap_or_default();
        let path = || self.paths().first().map(|path| format!("{kind} {}", path.display()));
        let known = self.title.clone().or_else(|| self.command.clone());
        let known = known.or_else(|| names.first().map(|name| format!("use {name}{}", of()))).or_else(path);
        known.unwrap_or_else(|| {
            let kind = if kind == "other" { "tool" } else { &kind };
            format!("{kind} call `{}`, which it did not describe", flower_core::text::cut(id, 80))
        })
    }
}

/// The forms in which the four built-in agents and others name a tool of the MCP server `flower`: `mcp__flower__x`,
/// `mcp.flower.x`, `mcp_flower_x`, `flower_x`, `flower: x`, `x (flower MCP Server)`.
fn names_flower_tool(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    TOOLS.iter().any(|tool| {
        let behind = name.strip_prefix(tool).is_some_and(|rest| matches!(rest, " (flower mcp server)" | " (flower)"));
        let before = name.strip_suffix(tool).is_some_and(|prefix| {
            let is_separator = |c: char| !c.is_ascii_alphanumeric();
            let words: Vec<&str> = prefix.split(is_separator).filter(|word| !word.is_empty()).collect();
            prefix.ends_with(is_separator) && matches!(words[..], ["flower"] | ["mcp", "flower"])
        });
        behind || before
    })
}

fn add_named(tools: &mut Vec<String>, servers: &mut Vec<String>, key: &str, value: &Value) {
    let Some(text) = value.as_str().or_else(|| value["name"].as_str()) else { return };
    if TOOL_KEYS.contains(&key) {
        add_text(tools, text);
    } else if SERVER_KEYS.contains(&key) {
        add_text(servers, text);
    }
}

fn add_text(list: &mut Vec<String>, text: &str) {
    if !text.is_empty() && text.len() <= MAX_NAME_BYTES && list.len() < MAX_NAMES && !list.iter().any(|one| one == text)
    {
        list.push(text.to_owned());
    }
}

fn add_path(list: &mut Vec<PathBuf>, path: PathBuf) {
    if list.len() < MAX_PATHS && !list.contains(&path) {
        list.push(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(updates: &[Value]) -> CallFacts {
        let mut facts = CallFacts::default();
        for update in updates {
            let mut update = update.clone();
            update["toolCallId"] = json!("1");
            let update: crate::acp::schema::ToolCallUpdate = serde_json::from_value(update).unwrap();
            facts.add(&update.fields, update.meta.as_ref());
        }
        facts
    }

    /// As claude-agent-acp 0.99.1, codex-acp 2.6.0, opencode 1.18.33 and gemini 0.61.0 name them, and some others.
    #[test]
    fn a_tool_of_flower_is_known_by_each_field_that_names_it() {
        for update in [
            json!({ "title": "mcp__flower__hand_back" }),
            json!({ "title": "x", "_meta": { "claudeCode": { "toolName": "mcp__flower__hand_back" } } }),
            json!({ "title": "x", "_meta": { "air": { "mcp": { "server": "flower", "tool": "hand_back" } } } }),
            json!({ "title": "mcp.flower.add_note", "kind": "execute" }),
            json!({ "title": "{}", "rawInput": { "server": "flower", "tool": "add_note", "arguments": {} } }),
            json!({ "title": "flower_check_inbox" }),
            json!({ "title": "check_inbox (flower MCP Server)" }),
            json!({ "title": "x", "_meta": { "toolName": "flower/search" } }),
            json!({ "title": "x", "_meta": { "toolName": "search", "mcpServer": { "name": "flower" } } }),
            json!({ "title": "flower: recall_brief" }),
            json!({ "name": "mcp__flower__check_work" }),
        ] {
            assert!(facts(std::slice::from_ref(&update)).is_flower_tool("1"), "{update}");
        }
        assert!(facts(&[json!({ "title": "{\"fence\":1}" })]).is_flower_tool("mcp_flower_hand_back-1763475-2"));
        for update in [
            json!({ "title": "mcp__other__hand_back" }),
            json!({ "title": "mcp__flowers__hand_back" }),
            json!({ "title": "mcp__flower__delete_all" }),
            json!({ "title": "curl https://flower.example/?hand_back" }),
            json!({ "title": "hand_back" }),
            json!({ "title": "search", "_meta": { "toolName": "search", "server": "web" } }),
            json!({ "title": "flower" }),
            json!({ "title": "mcp__cloud__run", "rawInput": { "server": "flower", "tool": "hand_back" } }),
            json!({ "_meta": { "toolName": "run", "server": "cloud" }, "rawInput": { "server": "flower", "tool": "search" } }),
        ] {
            assert!(!facts(std::slice::from_ref(&update)).is_flower_tool("1"), "{update}");
        }
    }

    #[test]
    fn updates_are_merged_and_no_path_is_hidden() {
        let merged = facts(&[
            json!({ "title": "Edit", "kind": "edit", "locations": [{ "path": "/etc/passwd" }] }),
            json!({ "content": [{ "type": "diff", "path": "/w/a", "newText": "" }] }),
            json!({ "title": "", "locations": [{ "path": "/w/a" }] }),
        ]);
        assert_eq!((merged.kind(), merged.title("1")), (ToolKind::Edit, "Edit".to_owned()));
        assert_eq!(merged.paths(), [PathBuf::from("/etc/passwd"), PathBuf::from("/w/a")]);
        let input = json!({ "kind": "edit", "rawInput": { "files": [{ "filePath": "a", "movePath": "/b" }] } });
        assert_eq!(facts(&[input]).paths(), [PathBuf::from("a"), PathBuf::from("/b")]);
        let located = json!({ "locations": [{ "path": "/w/a" }] });
        let arguments = json!({ "rawInput": { "file_path": "/etc/passwd", "path": "a" } });
        let both = facts(&[arguments, located]).paths();
        assert_eq!(
            both,
            [PathBuf::from("/w/a"), PathBuf::from("/etc/passwd")],
            "the arguments stay, the end of a path is dropped"
        );
    }

    #[test]
    fn what_is_asked_has_a_title_whatever_the_agent_sends() {
        for (update, title) in [
            (json!({ "kind": "execute", "rawInput": { "command": "make -j4" } }), "make -j4"),
            (json!({ "rawInput": { "url": "https://example.com" } }), "https://example.com"),
            (json!({ "_meta": { "toolName": "deploy", "server": "cloud" } }), "use deploy of cloud"),
            (json!({ "kind": "delete", "locations": [{ "path": "a/b" }] }), "delete a/b"),
            (json!({ "kind": "fetch" }), "fetch call `call-7`, which it did not describe"),
            (json!({}), "tool call `call-7`, which it did not describe"),
        ] {
            assert_eq!(facts(&[update]).title("call-7"), title);
        }
    }
}
