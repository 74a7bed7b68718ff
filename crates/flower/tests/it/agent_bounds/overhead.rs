//! What flower costs an agent beside its work: the calls of the shortest run, and the tokens of the first prompt.
//!
//! Each test prints its figures; they are in docs/benchmarks.md.

use crate::agent_bounds::stage::{Stage, play};
use crate::common::tokens::{MAX_PROMPT_TOKENS, tokens};
use crate::common::work::{inside_ok, new, prepare};
use crate::common::{Flower, eventually};
use crate::mcp::client::{Client, Era, Http};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

/// Reports the tokens of a prompt without the spec of its brief.
fn assert_cheap(what: &str, prompt: &str, flower: &Flower, brief: u64) {
    let spec =
        flower.json(&["brief", "show", &brief.to_string()])["spec"]["markdown"].as_str().expect("a spec").to_owned();
    let quoted: String = spec.trim_end().lines().map(|line| format!("> {line}").trim_end().to_owned() + "\n").collect();
    assert!(prompt.contains(&quoted), "the spec is in it: {prompt}");
    let own = tokens(&prompt.replace(&quoted, ""));
    eprintln!("{what}: {own} tokens without the spec, {} bytes in all", prompt.len());
    assert!(own <= MAX_PROMPT_TOKENS, "{own} tokens: {prompt}");
}

#[test]
fn an_agent_that_flower_starts_calls_it_once() {
    let stage = Stage::plain("");
    let work = stage.plays("play", "Short", "write a.txt a\n commit a\n hand-back done");
    stage.lands(work);
    let name = stage.agent_of(work);
    // A call is written down when it begins and, with its answer, when it ends.
    let texts = stage.texts(&name, "tool");
    let calls: BTreeSet<&str> = texts.iter().filter_map(|text| text.lines().next()?.strip_prefix("flower: ")).collect();
    assert_eq!(calls, BTreeSet::from(["hand_back"]), "{}", stage.said(&name));
    assert_cheap("the first prompt of an ACP session", &stage.texts(&name, "prompt")[0], &stage, work.brief);
}

#[test]
fn an_agent_in_a_terminal_calls_it_never() {
    let script = "cp \"$1\" prompt.md; git add prompt.md; git commit -qm prompt";
    let profile = format!(
        "[agents.term]\nprotocol = \"pty\"\ncommand = [\"sh\", \"-c\", '{script}', \"term\", \"{{prompt_file}}\"]\n"
    );
    let stage = Stage::new(&(play("play", &[], "") + &profile));
    let work = stage.plays("term", "Short", "say nothing");
    stage.lands(work);
    let prompt = fs::read_to_string(stage.repo.join("prompt.md")).expect("it has landed");
    assert_cheap("the first prompt in a terminal", &prompt, &stage, work.brief);
}

#[test]
fn an_agent_with_a_packet_calls_it_twice() {
    let flower = Flower::new();
    prepare(&flower);
    let plan = flower.file("plan.md", "# Short\n\nMake a file.\n");
    flower.ok(&["brief", "new", "Short", "--spec", &plan]);
    flower.ok(&["brief", "accept", "1"]);
    new(&flower, "short", &[]);
    flower.ok(&["dispatch", "1", "--worktree", "short"]);
    let packet = flower.json(&["dispatch", "packet", "1"]);
    assert_cheap("a packet", packet["text"].as_str().expect("a text"), &flower, 1);
    inside_ok(&flower, "short", "echo a > a.txt; git add a.txt; git commit --quiet --message a");
    let mut agent = Http::start(&flower, Era::November2025, packet["token"].as_str().expect("a token"));
    let begun = agent.done("start_work", json!({ "dispatch": 1 }));
    assert_cheap("the answer of `start_work`", &begun, &flower, 1);
    agent.done("hand_back", json!({ "dispatch": 1, "fence": 1, "summary": "done" }));
    eventually("it lands", || (flower.json(&["dispatch", "show", "1"])["state"] == "landed").then_some(()));
}
