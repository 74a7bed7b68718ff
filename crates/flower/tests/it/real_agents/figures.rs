//! What flower costs real agents, by what they send to their model: its tools, its first prompt, and its calls in the shortest run.
//!
//! Each test prints its figures; they are in docs/benchmarks.md.

use super::acp::{Acp, CLAUDE, CODEX, Field, GEMINI, OPENCODE};
use crate::common::tokens::{MAX_PROMPT_TOKENS, MAX_TOOLS_TOKENS, tokens};
use crate::real_agents::agent::{AFTER, FILE, without_network};
use crate::real_agents::model::{Asked, Step};
use crate::real_agents::wire::Reply;
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn flower_costs_claude_little() {
    without_network("real_agents::figures::flower_costs_claude_little", || costs_little(&CLAUDE));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn flower_costs_codex_little() {
    without_network("real_agents::figures::flower_costs_codex_little", || costs_little(&CODEX));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn flower_costs_gemini_little() {
    without_network("real_agents::figures::flower_costs_gemini_little", || costs_little(&GEMINI));
}

#[test]
#[ignore = "starts a real agent: cargo xtask test --real-agents"]
fn flower_costs_opencode_little() {
    without_network("real_agents::figures::flower_costs_opencode_little", || costs_little(&OPENCODE));
}

/// The shortest run: an edit, a commit and the hand-back.
fn costs_little(agent: &'static Acp) {
    let field = Field::new(agent, "1s");
    let mut script = (agent.first)();
    script.push((agent.shell)(&format!("echo '{AFTER}' > {FILE} && git commit --all --message 'Greet flower'")));
    script.push(agent.hand_back());
    script.push(Step::say("It is handed back."));
    field.model.play(script);
    field.dispatch();
    field.assert_landed();

    let asked = field.model.asked();
    let calls = flower_calls(&asked);
    let lists = || asked.iter().map(|asked| tools_of_flower(&asked.body));
    let most = lists().max_by_key(|tools| tools.iter().map(String::len).sum::<usize>()).unwrap_or_default();
    let names = most.len();
    let list = most.join("\n");
    let (list_tokens, list_bytes) = (tokens(&list), list.len());
    let entries = field.entries();
    let prompt = entries.iter().find(|entry| entry["kind"] == "prompt").and_then(|entry| entry["text"].as_str());
    let prompt = prompt.expect("a prompt");
    let spec = "> # Greet flower\n>\n> The greeting names flower.\n";
    assert!(prompt.contains(spec), "{prompt}");
    let prompt_tokens = tokens(&prompt.replace(spec, ""));
    // What the agent sends is the prompt as flower wrote it.
    let line = prompt.lines().next().expect("a line");
    assert!(asked.iter().any(|asked| asked.body.to_string().contains(line)), "{line}");
    let first = asked.iter().find(|asked| !asked.tools.is_empty()).map_or(0, |asked| asked.body.to_string().len());
    eprintln!(
        "{}: {names} entries of flower in the list of tools: {list_tokens} tokens, {list_bytes} bytes ({} tokens by a quarter); \
         first prompt without the spec: {prompt_tokens} tokens; calls of flower: {calls}; first request in all: {first} bytes",
        agent.profile,
        list_bytes / 4,
    );
    let begins = "start_work\",\"description\"";
    assert!(!list.contains(begins), "its work is claimed already: {list}");
    assert!(names > 0 && list_tokens <= MAX_TOOLS_TOKENS, "{list}");
    assert!(prompt_tokens <= MAX_PROMPT_TOKENS, "{prompt}");
    assert!(calls <= 1, "{calls} calls");
}

/// How often the model called a tool of flower. A request that is sent twice counts once.
fn flower_calls(asked: &[Asked]) -> usize {
    let calls = asked.iter().filter_map(|asked| match &asked.reply {
        Some(Reply::Call { tool, .. }) if tool.name.contains("flower") => Some(asked.results.len()),
        _ => None,
    });
    calls.collect::<BTreeSet<_>>().len()
}

/// The definitions of flower's tools in a request, as they are written there: each alone or all as a group, in the list of tools or
/// in what a search has brought up.
fn tools_of_flower(body: &Value) -> Vec<String> {
    let searched = body["input"].as_array().into_iter().flatten().map(|item| &item["tools"]);
    let lists = std::iter::once(&body["tools"]).chain(searched);
    let listed = lists.flat_map(|list| list.as_array().into_iter().flatten());
    let declared = listed.flat_map(|tool| match tool["functionDeclarations"].as_array() {
        Some(group) => group.iter().collect(),
        None => vec![tool],
    });
    let is_flowers = |tool: &&Value| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
        name.is_some_and(|name| name.contains("flower"))
    };
    declared.filter(is_flowers).map(Value::to_string).collect()
}
