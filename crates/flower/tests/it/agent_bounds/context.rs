//! How full an agent's context is, and the fresh one that goes on when it is full.

use crate::agent_bounds::stage::{Stage, Work, play};
use crate::common::eventually;
use crate::common::work::says;
use serde_json::{Value, json};

/// Works, becomes full, and goes on with what is left.
const FULL: &str = "
    write one.txt one
    commit one
    usage 85000 100000
    run sleep 30
    write two.txt two
    commit two
    hand-back both are there";

fn refreshed(stage: &Stage, work: Work) -> Vec<Value> {
    let trace = stage.json(&["brief", "trace", &work.brief.to_string(), "--limit", "1000"]);
    trace.as_array().expect("a list").iter().filter(|event| event["kind"] == "agent_refreshed").cloned().collect()
}

#[test]
fn the_meter_shows_what_it_says_and_nothing_else() {
    let stage = Stage::new(&(play("play", &[], "") + &play("silent", &["--no-usage"], "")));
    let script = "usage 1200 100000\n sleep 30";
    let tells = stage.agent_of(stage.plays("play", "Tells", script));
    let silent = stage.agent_of(stage.plays("silent", "Silent", &format!("say here\n{script}")));
    let shown = stage.until(&tells, "known to be full", |agent| !agent["context"].is_null());
    assert_eq!(shown["context"], json!({ "used": 1200, "size": 100_000 }));
    stage.hears(&silent, "here");
    assert_eq!(stage.agent(&silent)["context"], Value::Null, "what it does not say is not known");
    assert!(stage.ok(&["agent", "show", &tells]).contains("1200 of 100000 tokens (1 %)"));
    assert!(stage.ok(&["agent", "show", &silent]).contains("unknown"));
    for name in [&tells, &silent] {
        stage.ok(&["agent", "stop", name]);
        assert_eq!(stage.agent(name)["context"], Value::Null, "there is no process whose context it would be");
    }
}

#[test]
fn past_the_mark_a_fresh_one_goes_on_from_a_note() {
    let stage = Stage::plain("");
    let work = stage.plays("play", "Full", FULL);
    let name = stage.agent_of(work);
    let claim = |stage: &Stage| stage.shown_dispatch(work)["claim"].clone();
    let before = eventually("it is claimed", || Some(claim(&stage)).filter(|claim| !claim.is_null()));
    let worktree = stage.agent(&name)["worktree"].clone();
    let fresh = stage.until(&name, "fresh", |agent| agent["refreshes"] == 1);
    assert_eq!(fresh["worktree"], worktree);
    // `run sleep` was begun and counts as done, so the fresh one has the rest.
    stage.lands(work);
    assert_eq!(stage.shown_dispatch(work)["held_by"], json!(name));
    assert_eq!(stage.events_of("dispatch_claimed").len(), 1, "claimed once");
    assert_eq!(stage.events_of("agent_restarted").len(), 0, "that is no failure");
    let events = refreshed(&stage, work);
    assert_eq!(events.len(), 1);
    let payload = &events[0]["body"];
    assert_eq!(
        (&payload["author"], &payload["used"], &payload["size"]),
        (&json!("agent"), &json!(85_000), &json!(100_000))
    );
    says(&payload["note"], "Hand-over: ");
    let prompts = stage.texts(&name, "prompt");
    assert_eq!(prompts.len(), 3, "its work, the note, and its work again: {prompts:?}");
    assert!(!prompts[0].contains("## Hand-over") && prompts[1].contains("hand-over note"));
    let note = payload["note"].as_str().expect("a note").lines().next().expect("a line");
    assert!(prompts[2].contains("## Hand-over") && prompts[2].contains(note), "{}", prompts[2]);
    assert!(prompts[2].contains(&format!("agent={name} ")), "under the same name");
    assert!(prompts[2].contains(&format!("fence={}", before["fence"])), "with the same claim");
    let files = ["one.txt", "two.txt"].map(|file| stage.repo.join(file).exists());
    assert_eq!(files, [true, true]);
}

#[test]
fn a_fresh_agent_can_be_requested() {
    let stage = Stage::plain("");
    let work = stage.plays("play", "Asked", "write a a\n commit a\n run sleep 30\n hand-back done");
    let name = stage.agent_of(work);
    stage.until(&name, "at its tool", |agent| agent["evidence"] == "tool: sleep 30");
    let worker = stage.token_for("ada", "worker");
    let path = format!("/api/agents/{name}/refresh");
    assert_eq!(stage.request("POST", &path).token(&worker).json(&json!({})).send().status, 403);
    stage.ok(&["agent", "refresh", &name]);
    stage.lands(work);
    let events = refreshed(&stage, work);
    assert_eq!((events.len(), &events[0]["body"]["author"]), (1, &json!("agent")), "{events:?}");
    assert_eq!(events[0]["body"]["used"], Value::Null, "it never said");
    says(&stage.fails(&["agent", "refresh", &name], 1), "has ended");
    assert_eq!(stage.run(&["agent", "refresh", "absent"]).code, 3);
}

#[test]
fn flower_writes_the_note_that_an_agent_did_not_leave() {
    let stage = Stage::plain("turn_timeout = \"5s\"");
    let script = FULL.replace("usage", "mute-handover\n plan Do one; Do two\n say I did the first half\n usage");
    let work = stage.plays("play", "Mute", &script);
    let name = stage.agent_of(work);
    stage.lands(work);
    let events = refreshed(&stage, work);
    assert_eq!((events.len(), &events[0]["body"]["author"]), (1, &json!("flower")), "{events:?}");
    for words in ["The agent left no note in time", "Do two", "Write one.txt (completed)", "I did the first half"] {
        says(&events[0]["body"]["note"], words);
    }
    let prompts = stage.texts(&name, "prompt");
    assert!(prompts.last().expect("a prompt").contains("I did the first half"), "{prompts:?}");
}

#[test]
fn an_agent_that_is_full_at_once_is_not_refreshed_for_ever() {
    // It forgets how far it was, so each fresh one is just as full.
    let stage = Stage::new(&play("play", &["--forget"], ""));
    let script =
        "usage 85000 100000\n write a a\n usage 90000 100000\n run sleep 1\n write b b\n commit a\n hand-back done";
    let work = stage.plays("play", "Fat", script);
    let name = stage.agent_of(work);
    stage.lands(work);
    assert_eq!(refreshed(&stage, work).len(), 1, "{}", stage.said(&name));
    assert!(stage.said(&name).contains("the context is full from the start"));
}
