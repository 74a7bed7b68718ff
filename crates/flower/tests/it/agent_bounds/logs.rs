//! What is written down of an agent: readable, whole for as long as it is kept, and bounded.

use crate::agent_bounds::stage::{Stage, assert_answers_until, play};
use crate::common::work::count;
use crate::common::{eventually, finish};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

#[test]
fn every_kind_of_entry_is_there_to_be_read() {
    let stage = Stage::plain("");
    let work = stage.plays(
        "play",
        "Talks",
        "
        think about it
        say good morning
        plan First; Then
        permission edit Change-it src/a.txt
        write a.txt one\\ntwo
        run echo seen; echo also >&2; exit 3
        garbage 2
        unknown-update
        stderr 2
        commit a
        hand-back done",
    );
    let name = stage.agent_of(work);
    stage.lands(work);
    stage.becomes(&name, "stopped");
    let entries = stage.json(&["agent", "log", &name, "--all"]);
    let entries = entries.as_array().expect("a bare array");
    let kinds: BTreeSet<&str> = entries.iter().filter_map(|entry| entry["kind"].as_str()).collect();
    let all = ["flower", "noise", "permission", "plan", "prompt", "said", "thought", "tool"];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), all);
    assert!(entries.iter().all(|entry| entry["at"].as_str().is_some_and(|at| at.len() == 27)));
    let find = |words: &str| -> &Value {
        let found = entries.iter().find(|entry| entry["text"].as_str().is_some_and(|text| text.contains(words)));
        found.unwrap_or_else(|| panic!("`{words}` is not there: {entries:#?}"))
    };
    assert_eq!(find("[ ] First\n[ ] Then")["kind"], "plan");
    let failed = find("\nseen\nalso");
    assert_eq!((&failed["kind"], &failed["status"]), (&"tool".into(), &"failed".into()));
    let writing: Vec<&Value> = entries.iter().filter(|entry| entry["text"] == "Write a.txt").collect();
    let diff = writing.iter().find_map(|entry| entry["diffs"].get(0)).expect("what it changed");
    assert_eq!((&diff["old"], &diff["new"]), (&Value::Null, &"one\ntwo\n".into()));
    assert_eq!(writing.last().expect("the tool")["status"], "completed");
    assert_eq!(find("unknown update `from_the_future`")["kind"], "noise");
    assert_eq!(find("this is not JSON, line 1")["kind"], "noise");
    assert_eq!(find("scripted: line 1")["kind"], "noise");

    let page = stage.ok(&["agent", "log", &name, "--all"]);
    for words in
        ["said   good morning", "thinks about it", "plan   [ ] First", "failed echo seen", "told   flower: agent="]
    {
        assert!(page.contains(words), "`{words}`:\n{page}");
    }
    let colours = page.chars().any(|c| c == '\u{1b}');
    assert!(!colours, "no colours in a pipe");
    // A late reader gets the last of it from the disk.
    let last = stage.ok(&["agent", "log", &name]);
    assert!(last.contains("flower: hand_back"), "{last}");
}

#[test]
fn a_follower_reads_the_whole_transcript() {
    let stage = Stage::new(&play("play", &["--resume"], ""));
    let work = stage.plays(
        "play",
        "Followed",
        "
        say before
        run while [ ! -e go ]; do sleep 0.1; done
        say between
        run while [ ! -e never ]; do sleep 0.1; done
        say behind
        write a.txt a
        commit a
        hand-back done",
    );
    let name = stage.agent_of(work);
    let mut command = stage.command(&["agent", "log", &name, "--follow", "--all", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("flower runs");
    let (sender, lines) = std::sync::mpsc::channel();
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut seen: Vec<Value> = Vec::new();
    // The first prompt quotes the whole script.
    let has = |entry: &Value, words: &str| {
        entry["kind"] != "prompt" && entry["text"].as_str().is_some_and(|text| text.contains(words))
    };
    let mut sees = |words: &str| {
        while !seen.iter().any(|entry| has(entry, words)) {
            let line = lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|error| panic!("`{words}`: {error}: {seen:#?}"));
            seen.push(serde_json::from_str(&line).expect("an entry in each line"));
        }
    };
    sees("before");
    let tree = stage.worktree(stage.agent(&name)["worktree"].as_str().expect("a name"));
    std::fs::write(tree.join("go"), "").expect("a file");
    sees("-e never");
    // Another daemon, another process of the agent, and the same reader.
    stage.restart();
    sees("session resumed");
    // The resumed session continues behind the interrupted command. A file that the test wrote now would be left
    // uncommitted if the agent had already committed.
    sees("behind");
    stage.lands(work);
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(60)) {
        seen.push(serde_json::from_str(&line).expect("an entry in each line"));
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "by itself");
    assert_eq!(seen, stage.log(&name), "nothing twice, nothing left out");
}

/// Much of it, or very much.
fn chunks() -> usize {
    count(80_000, 900_000)
}

#[test]
fn a_flood_of_output_is_bounded_and_does_not_block_others() {
    let stage = Stage::plain("");
    // As large as it gets for other reasons.
    let warm = stage.plays("play", "Warm", "flood 20000\n write w w\n commit w\n hand-back done");
    stage.lands(warm);
    let before = stage.memory("VmRSS");
    let work = stage.plays("play", "Flood", &format!("flood {}\n write a a\n commit a\n hand-back done", chunks()));
    let name = stage.agent_of(work);
    let number = stage.agent(&name)["id"].as_u64().expect("a number");
    let file = stage.home.join(format!("agents/{number}/transcript"));
    let (mut largest, mut most) = (0, 0);
    assert_answers_until(&stage, |answered| {
        if answered % 10 != 9 {
            return false;
        }
        largest = largest.max(std::fs::metadata(&file).map_or(0, |found| found.len()));
        most = most.max(stage.memory("VmRSS"));
        answered > 50 && stage.get(&format!("/api/briefs/{}", work.brief))["status"] == "landed"
    });
    assert!(largest > 4 << 20 && largest <= 17 << 20, "the transcript had {largest} bytes");
    assert!(most < before + (24 << 10), "{before} kB before, {most} kB at most");
    // What is left of it is read in pages, and begins with a whole entry.
    let entries = stage.log(&name);
    assert!(entries.len() > 100, "{} entries", entries.len());
    let last: Vec<&Value> = entries.iter().rev().take(4).collect();
    assert!(last.iter().any(|entry| entry["kind"] == "tool"), "{last:#?}");
    let all = finish(stage.command(&["agent", "log", &name, "--all", "--json"]));
    let all: Vec<Value> = serde_json::from_str(&all.stdout).expect("JSON");
    assert_eq!(all, entries);
}

#[test]
fn lines_on_its_standard_error_are_bounded_too() {
    let stage = Stage::plain("");
    let work = stage.plays(
        "play",
        "Loud",
        "stderr 100000\n garbage 5000\n flood-tools 2000\n write a a\n commit a\n hand-back done",
    );
    let name = stage.agent_of(work);
    stage.lands(work);
    let noise = eventually("its end is written down", || {
        let noise = stage.texts(&name, "noise");
        stage.said(&name).contains("further lines on standard error").then_some(noise)
    });
    assert!(noise.iter().filter(|line| line.starts_with("scripted: line")).count() <= 200);
}
