//! Dispatching with a real daemon, real git and a real jail: from a brief to an agent at work, and back to MAIN.

mod auto;
mod by_hand;
mod check_work;
mod claims;
mod fixes;
mod hand_back;
mod hooks;
mod joined;
mod leases;
mod links;
mod messages;
mod overlooked;
mod packet;
mod proposals;
mod race;
mod reads;
mod recall;
mod requests;
mod review;
mod rights;

use crate::common::http::Answer;
use crate::common::work::*;
use crate::common::{Flower, Output, eventually, finish};
use crate::mcp::client::{Client, Era, Http, Piped};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Serves a repository whose MAIN has these files from the beginning, with its commands approved.
fn serving(files: &[(&str, &str)]) -> Flower {
    let flower = Flower::new();
    for (path, content) in files {
        put(&flower, &flower.repo.join(path), content);
        flower.git(&flower.repo, &["add", "--force", path]);
    }
    flower.git(&flower.repo, &["commit", "--quiet", "--allow-empty", "--message", "files"]);
    prepare(&flower);
    if files.iter().any(|(path, _)| *path == "flower.toml") {
        flower.ok(&["project", "approve", "--yes"]);
    }
    flower
}

/// The answer to a call with this token.
fn call(flower: &Flower, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    let request = flower.request(method, path).token(token);
    if method == "GET" { request.send() } else { request.json(body).send() }
}

/// What a call of the operator gives that succeeds.
fn post(flower: &Flower, path: &str, body: &Value) -> Value {
    let answer = call(flower, &flower.token(), "POST", path, body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()
}

/// A brief that waits as a proposed plan, with these further fields.
fn proposed(flower: &Flower, title: &str, more: &Value) -> u64 {
    let mut body = json!({ "title": title, "spec": format!("# {title}\n"), "project": "repo" });
    for (key, value) in more.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    number(&post(flower, "/api/briefs", &body)["number"])
}

fn accept(flower: &Flower, brief: u64) {
    post(flower, &format!("/api/briefs/{brief}/accept"), &json!({}));
}

/// A brief that can be built.
fn planned(flower: &Flower, title: &str) -> u64 {
    let brief = proposed(flower, title, &json!({}));
    accept(flower, brief);
    brief
}

fn dispatched(flower: &Flower, brief: u64, more: &Value) -> u64 {
    number(&post(flower, &format!("/api/briefs/{brief}/dispatches"), more)["id"])
}

/// The token of a fresh packet, and the name of its agent.
fn packet(flower: &Flower, dispatch: u64, member: bool) -> (String, String) {
    let packet = post(flower, &format!("/api/dispatches/{dispatch}/packet"), &json!({ "member": member }));
    let text = |key: &str| packet[key].as_str().expect("a text").to_owned();
    (text("token"), text("agent"))
}

/// An agent that holds the claim of a dispatch, in a worktree that is ready.
struct Work {
    brief: u64,
    dispatch: u64,
    worktree: String,
    token: String,
    agent: String,
    fence: u64,
}

/// Plans, dispatches and claims.
fn at_work(flower: &Flower, title: &str) -> Work {
    let brief = planned(flower, title);
    let dispatch = dispatched(flower, brief, &json!({}));
    claimed(flower, dispatch, 900)
}

/// Claims what waits, with a fresh packet and a lease of so many seconds.
fn claimed(flower: &Flower, dispatch: u64, seconds: u64) -> Work {
    let (token, agent) = packet(flower, dispatch, false);
    let claim = claim(flower, &token, dispatch, seconds);
    assert_eq!(claim.status, 200, "{}", claim.text());
    let claim = claim.json();
    Work {
        brief: number(&claim["brief"]),
        dispatch,
        worktree: claim["worktree"].as_str().expect("a worktree").to_owned(),
        token,
        agent,
        fence: number(&claim["claim"]["fence"]),
    }
}

fn claim(flower: &Flower, token: &str, dispatch: u64, seconds: u64) -> Answer {
    let body = json!({ "seconds": seconds, "wait": true });
    call(flower, token, "POST", &format!("/api/dispatches/{dispatch}/claim"), &body)
}

impl Work {
    /// Commits a file, as this agent, inside the seal.
    fn commit(&self, flower: &Flower, path: &str, content: &str) -> String {
        self.inside(flower, &format!(
            "mkdir -p \"$(dirname {path})\"; printf '%s\\n' '{content}' > {path}; git add --all; git commit --quiet --message '{path}'; git rev-parse HEAD"
        ))
    }

    /// What a script says that succeeds inside.
    fn inside(&self, flower: &Flower, script: &str) -> String {
        let output = inside_as(flower, &self.token, &self.worktree, script);
        assert_eq!(output.code, 0, "{script}: {output:?}");
        output.stdout.trim_end().to_owned()
    }

    /// `flower handback` as this agent.
    fn hand_back(&self, flower: &Flower, more: &[&str]) -> Output {
        let (dispatch, fence) = (self.dispatch.to_string(), self.fence.to_string());
        let args = ["handback", &dispatch, "--fence", &fence, "--summary", "It is done", "--json"];
        as_agent(flower, &self.token, &[&args, more].concat())
    }

    /// Hands back after a look into its inbox, and gives the landing that it is on its way with.
    fn lands(&self, flower: &Flower) -> u64 {
        as_agent(flower, &self.token, &["inbox"]);
        let back = self.hand_back(flower, &[]);
        assert_eq!(back.code, 0, "{back:?}");
        let back: Value = serde_json::from_str(&back.stdout).expect("JSON");
        assert_eq!(back["state"], "handed_back", "{back}");
        number(&back["landing"])
    }
}

/// A command with a token of its own.
fn as_agent(flower: &Flower, token: &str, args: &[&str]) -> Output {
    let mut command = flower.command(args);
    command.env("FLOWER_TOKEN", token);
    finish(command)
}

fn inside_as(flower: &Flower, token: &str, worktree: &str, script: &str) -> Output {
    as_agent(flower, token, &["worktree", "shell", worktree, "--", "sh", "-ec", script])
}

fn show_dispatch(flower: &Flower, dispatch: u64) -> Value {
    let answer = flower.api("GET", &format!("/api/dispatches/{dispatch}")).send();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn show_brief(flower: &Flower, brief: u64) -> Value {
    flower.api("GET", &format!("/api/briefs/{brief}")).send().json()
}

/// What a tool answers that begins with what to do next, and goes on with the brief.
fn begins(client: &mut dyn Client, arguments: Value) -> String {
    let (text, is_error) = client.call("start_work", arguments);
    assert!(!is_error && text.lines().next().is_some_and(|line| line.contains("Next: ")), "{text}");
    text
}

/// Every dispatch of a brief, oldest first.
fn dispatches_of(flower: &Flower, brief: u64) -> Vec<Value> {
    let all = flower.api("GET", &format!("/api/dispatches?all=true&brief={brief}")).send().json();
    all.as_array().expect("a list").iter().rev().cloned().collect()
}

/// Waits for the dispatch of a brief that has this place in the order in which they were asked for.
fn nth_dispatch(flower: &Flower, brief: u64, nth: usize) -> Value {
    eventually(&format!("dispatch {nth} of brief {brief}"), || dispatches_of(flower, brief).get(nth).cloned())
}

/// Waits until a dispatch is in this state.
fn becomes(flower: &Flower, dispatch: u64, state: &str) -> Value {
    eventually(&format!("dispatch {dispatch} is {state}"), || {
        Some(show_dispatch(flower, dispatch)).filter(|dispatch| dispatch["state"] == state)
    })
}

/// Waits until a landing is in this state.
fn landing_becomes(flower: &Flower, landing: u64, state: &str) -> Value {
    let found = eventually(&format!("landing {landing} is {state}"), || {
        let found = flower.api("GET", &format!("/api/landings/{landing}")).send().json();
        (found["state"] == state || found["ended_at"].is_string()).then_some(found)
    });
    assert_eq!(found["state"], state, "{found:#}");
    found
}

/// All events of a kind, oldest first.
fn events(flower: &Flower, kind: &str) -> Vec<Value> {
    let all = flower.json(&["trace", "--limit", "10000"]);
    all.as_array().expect("a list").iter().filter(|event| event["kind"] == kind).cloned().collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Kills the daemon at any point of its work, and starts the next one.
fn kill_and_start(flower: &Flower) {
    let pid = flower.pid();
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).expect("a process")).expect("a process");
    rustix::process::kill_process(process, rustix::process::Signal::KILL).expect("it runs");
    eventually("it is gone", || {
        // Its first thread may be gone long before the others have let go of the socket.
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        (threads == 0 || (threads == 1 && stat.contains(") Z "))).then_some(())
    });
    flower.start();
}
