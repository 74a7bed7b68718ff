//! Tests of the list of tools: its size in tokens, and its stored copy.

use super::tools;
use serde_json::{Value, json};
use std::path::Path;

/// The list costs these tokens in every session of every agent.
const MAX_TOKENS: usize = 1_500;

fn listed() -> Value {
    json!({ "tools": tools::all() })
}

#[test]
fn the_list_of_tools_costs_less_than_1500_tokens() {
    let list = listed().to_string();
    let tokens = tiktoken_rs::o200k_base().expect("a vocabulary").encode_ordinary(&list).len();
    assert!(tokens < MAX_TOKENS, "{tokens} tokens");
}

/// A changed description changes what agents do, so a change must be confirmed here.
#[test]
fn the_list_of_tools_is_the_stored_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mcp/tools.json");
    let list = serde_json::to_string_pretty(&listed()).expect("plain data") + "\n";
    if std::env::var_os("FLOWER_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&path, &list).expect("a file");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stored, list, "run with FLOWER_UPDATE=1 to store it, and commit {}", path.display());
}

#[test]
fn every_tool_is_listed_once_and_always_loaded() {
    let names: Vec<&str> = tools::all().iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, flower_engine::tools::TOOLS);
    for tool in listed()["tools"].as_array().expect("a list") {
        assert_eq!(tool["_meta"]["anthropic/alwaysLoad"], true, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        for name in tool["inputSchema"]["required"].as_array().into_iter().flatten() {
            assert!(tool["inputSchema"]["properties"].get(name.as_str().expect("a name")).is_some(), "{tool}");
        }
    }
}
