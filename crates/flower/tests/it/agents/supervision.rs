//! What is known of an agent, and what becomes of one that dies, hangs or is stopped.

use crate::agents::stage::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A stop that stops.
const STOP: Duration = Duration::from_secs(5);
/// From the end of a process to the next one at work.
const REPLACED: Duration = Duration::from_secs(10);

const THE_REST: &str = "write $.txt x\ncommit $\nhand-back done";

/// A profile for each way to be at work, and the script with which it gets there. Each goes on to the end once it is let.
fn profiles() -> String {
    [profile("play", &[], ""), profile("mute", &["--never-answer"], "")].concat()
}

/// Agents that are hard to stop, each as far as it comes: their dispatches and names.
fn stubborn(stage: &Stage) -> Vec<(u64, String)> {
    let kinds = [
        ("hang-hard", "play", "say now then\nhang-hard\n", "working"),
        ("permission", "play", "permission fetch Look /etc/passwd\n", "waiting"),
        ("mute", "mute", "", "starting"),
        // The others begin while it is still quiet.
        ("flood", "play", "say now then\nflood 1000000\n", "working"),
    ];
    let begin = |(title, agent, script, _): &(&str, &str, &str, &str)| {
        let brief = stage.brief(title, &format!("{script}{}", THE_REST.replace('$', title)));
        stage.dispatch_with(brief, &json!({ "agent": agent }))
    };
    let is_there = |name: &str, state: &str| {
        let agent = stage.agent(name);
        (agent["state"] == state && agent["pid"].is_u64()).then_some(())
    };
    let mut all: Vec<(u64, String)> = Vec::new();
    let (last, first) = kinds.split_last().expect("some");
    for some in [first, std::slice::from_ref(last)] {
        let dispatches: Vec<u64> = some.iter().map(begin).collect();
        for ((title, _, script, state), dispatch) in some.iter().zip(dispatches) {
            let name = stage.agent_of(dispatch);
            if script.starts_with("say now then") {
                stage.hears(&name, "said: now");
            }
            stage.until(&format!("{title} is {state}"), || is_there(&name, state));
            all.push((dispatch, name));
        }
    }
    all.reverse();
    all
}

#[test]
fn the_state_of_an_agent_is_seen_with_its_evidence() {
    let dead = profile("dead", &["--exit-at-once", "3"], "");
    let profiles = [profiles(), dead, profile("dying", &["--forget"], "")].concat();
    let stage = Stage::with("max = 8", &profiles);
    let dying = ["dead", "dying"].map(|agent| {
        let brief = stage.brief(agent, "say these are its last words\ndie 3");
        stage.dispatch_with(brief, &json!({ "agent": agent }))
    });
    stage.flower.ok(&["agent", "spawn", "play", "--worktree", "porch", "--standing", "--name", "idle"]);
    let asking = stage.play("Asking", "question really?\nwait\nhand-back done");
    let asking = stage.agent_of(asking);
    let all = stubborn(&stage);
    let seen = |name: &str, state: &str, evidence: &str| {
        let agent = stage.agent_becomes(name, state);
        assert!(text(&agent["evidence"]).contains(evidence), "{agent}");
        assert!(agent["pid"].is_u64() && std::fs::exists(format!("/proc/{}", agent["pid"])).unwrap(), "{agent}");
        assert!(text(&agent["since"]) >= text(&agent["started_at"]), "{agent}");
    };
    seen(&all[0].1, "working", "turn");
    stage.flower.ok(&["agent", "stop", &all[0].1]);
    seen(&all[1].1, "starting", "starting the process");
    seen(&all[2].1, "waiting", "permission");
    seen(&all[3].1, "working", "turn");
    seen("idle", "idle", "nothing to do");
    seen(&asking, "waiting", "question 1 of brief");
    let list = stage.flower.ok(&["agent"]);
    for word in ["working", "waiting", "starting", "idle"] {
        assert!(list.contains(word), "{word}: {list}");
    }
    stage.flower.ok(&["agent", "stop", "idle", "closing time"]);
    let stopped = stage.agent("idle");
    assert_eq!(
        (&stopped["state"], &stopped["evidence"], &stopped["pid"], &stopped["since"]),
        (&json!("stopped"), &json!("closing time"), &json!(null), &stopped["ended_at"])
    );
    // Beside the others, because it takes its time.
    let ended = dying.map(|dispatch| given_up(&stage, dispatch));
    assert!(text(&ended[1]["ended"]["output"]).contains("these are its last words"), "{}", ended[1]);
}

/// An agent that dies at every start.
fn given_up(stage: &Stage, dispatch: u64) -> Value {
    let failed = stage.becomes(dispatch, "failed");
    let name = stage.agent_of(dispatch);
    let agent = stage.agent_ends(&name);
    assert_eq!((&agent["state"], &agent["restarts"]), (&json!("failed"), &json!(3)), "{agent}");
    assert!(text(&agent["evidence"]).contains("4 times"), "{agent}");
    assert!(text(&agent["evidence"]).contains("exit code 3"), "{agent}");
    assert!(text(&failed["result"]["summary"]).contains(&name), "{failed}");
    let restarts = stage.events("agent_restarted");
    assert_eq!(restarts.iter().filter(|event| event["body"]["number"] == agent["id"]).count(), 3);
    let alarms = stage.inbox("alarm");
    let title = json!(format!("{name} was given up"));
    assert_eq!(alarms.iter().filter(|alarm| alarm["title"] == title).count(), 1, "{alarms:?}");
    // Something else is served meanwhile, and it is not tried again.
    let other = stage.play("Other", "hand-back nothing to do");
    stage.agent_ends(&stage.agent_of(other));
    let of_it = stage.all_agents().into_iter().filter(|agent| agent["dispatch"] == dispatch).count();
    assert_eq!((of_it, stage.show(dispatch)["state"].clone()), (1, json!("failed")));
    agent
}

/// An agent whose process is killed is replaced within ten seconds, with its name, its worktree and its claim.
#[test]
fn a_killed_agent_is_replaced_and_goes_on() {
    const AT_ONCE: usize = 5;
    let rounds = count(1, 20);
    let stage = Stage::with("max = 5", &profile("play", &[], ""));
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let names: Vec<String> = (0..AT_ONCE).map(|n| format!("{round}-{n}")).collect();
        let script = |n: &str| {
            format!(
                "write {n}.txt before\nappend {n}.txt kept\nsay now then\nhang\nappend {n}.txt after\ncommit {n}\nhand-back done"
            )
        };
        let all: Vec<u64> = names.iter().map(|name| stage.play(name, &script(name))).collect();
        for (n, dispatch) in all.iter().enumerate() {
            let name = stage.agent_of(*dispatch);
            stage.hears(&name, "said: now");
            let before = (stage.agent(&name), stage.show(*dispatch));
            let old = pid(&before.0);
            // Its jail, or what runs inside.
            let inner = stage.processes_below(old, "scripted-agent").into_iter().max();
            let victim = inner.filter(|_| n % 2 == 1).and_then(|pid| u32::try_from(pid).ok()).unwrap_or(old);
            let start = Instant::now();
            kill(victim);
            let after = stage.within(REPLACED, "another process works", || {
                let agent = stage.agent(&name);
                // It may be done with the rest before the test looks.
                let works =
                    agent["state"] == "working" && agent["pid"].as_u64().is_some_and(|pid| pid != u64::from(old));
                (works || agent["ended_at"].is_string()).then_some(agent)
            });
            slowest = slowest.max(start.elapsed());
            let same = |key: &str| assert_eq!(before.0[key], after[key], "{key}: {after}");
            ["id", "name", "worktree", "dispatch"].iter().for_each(|key| same(key));
            assert_eq!(after["restarts"], 1, "{after}");
            let claim = stage.show(*dispatch)["claim"].clone();
            if claim.is_object() {
                assert_eq!((&claim["fence"], &claim["holder"]), (&before.1["claim"]["fence"], &json!(name)));
            }
        }
        for (name, dispatch) in names.iter().zip(&all) {
            let landed = stage.becomes(*dispatch, "landed");
            assert_eq!(landed["held_by"], stage.agent_of(*dispatch).as_str());
            assert_eq!(stage.landed(&format!("{name}.txt")).as_deref(), Some("before\nkept\nafter\n"));
        }
    }
    assert_eq!(stage.events("dispatch_expired"), [json!(null); 0], "no claim was lost");
    stage.gone("scripted-agent");
    eprintln!("R13: {} agents killed, all replaced, the slowest after {slowest:?}; 0 claims lost", rounds * AT_ONCE);
}

#[test]
fn processes_forked_by_an_agent_end_with_it() {
    let stage = Stage::new();
    let script = "fork\nsay now then\nhang\nwrite a.txt x\ncommit a\nhand-back done";
    let forks = |dispatch: u64| {
        let name = stage.agent_of(dispatch);
        stage.hears(&name, "said: now");
        stage.until("it forks", || (!stage.processes("scripted-fork").is_empty()).then_some(()));
        name
    };
    let name = forks(stage.play("Stopped", script));
    stage.flower.ok(&["agent", "stop", &name]);
    assert_eq!(stage.processes("scripted-fork"), [0; 0], "after `agent stop`");
    let dispatch = stage.play("Killed", script);
    forks(dispatch);
    stage.kill_daemon();
    let start = Instant::now();
    while !(stage.processes("scripted-fork").is_empty() && stage.processes("scripted-agent").is_empty()) {
        assert!(start.elapsed() < STOP, "after `kill -9` of the daemon");
        std::thread::sleep(Duration::from_millis(20));
    }
    stage.flower.start();
    stage.becomes(dispatch, "landed");
}

#[test]
fn a_stopped_agent_ends_within_five_seconds_and_goes_on_only_when_told_to() {
    let stage = Stage::with("max = 5", &profiles());
    let all = stubborn(&stage);
    let worktrees: Vec<Value> = all.iter().map(|(dispatch, _)| stage.show(*dispatch)["worktree"].clone()).collect();
    for (dispatch, name) in &all {
        let start = Instant::now();
        stage.flower.ok(&["agent", "stop", name]);
        assert!(start.elapsed() < STOP, "{name} took {:?}", start.elapsed());
        let agent = stage.agent(name);
        assert_eq!((&agent["state"], &agent["pid"]), (&json!("stopped"), &json!(null)));
        let free = stage.show(*dispatch);
        assert_eq!((&free["state"], &free["claim"]), (&json!("requested"), &json!(null)), "{free}");
        assert_eq!(stage.waits(*dispatch), ["agent_stopped"]);
    }
    assert_eq!(stage.processes("scripted-agent"), [0; 0]);
    // The supervisor serves what comes, and not them.
    stage.becomes(stage.play("Other", "write other.txt x\ncommit other\nhand-back done"), "landed");
    for (dispatch, name) in &all {
        assert_eq!(
            (stage.waits(*dispatch), stage.agent_of(*dispatch)),
            (vec!["agent_stopped".to_owned()], name.clone())
        );
    }
    for ((dispatch, name), worktree) in all.iter().zip(&worktrees) {
        let brief = stage.show(*dispatch)["brief"].to_string();
        let next = stage.flower.json(&["agent", "spawn", "play", "--brief", &brief]);
        assert_eq!((&next["dispatch"], &next["worktree"]), (&json!(dispatch), worktree));
        assert_ne!(next["name"], name.as_str());
    }
    for (dispatch, _) in &all {
        stage.becomes(*dispatch, "landed");
    }
}

/// At any moment between its dispatch and its work.
#[test]
fn an_agent_stopped_before_its_start_never_begins() {
    let stage = Stage::new();
    let mut left = 0;
    for n in 0..count(10, 100) {
        let dispatch = stage.play(&format!("Early {n}"), "hang");
        let name = stage.agent_of(dispatch);
        std::thread::sleep(Duration::from_millis(n as u64 * 37 % 400));
        stage.post(&format!("/api/agents/{name}/stop"), &json!({}));
        let free = stage.until("its work is free again", || {
            Some(stage.show(dispatch)).filter(|dispatch| dispatch["state"] == "requested")
        });
        assert_eq!((stage.waits(dispatch), &free["claim"]), (vec!["agent_stopped".to_owned()], &json!(null)));
        assert_eq!((stage.agents(), stage.processes("scripted-agent")), (vec![], vec![]));
        left += 1;
    }
    // Nothing that was under way has come after it, and the supervisor starts none of them again.
    stage.flower.wait_for_pass("agents");
    let waiting = stage.until("a look at all", || {
        let all = list(&stage.get("/api/dispatches?project=repo&all=true"));
        Some(all.iter().filter(|dispatch| dispatch["state"] == "requested" && dispatch["claim"].is_null()).count())
    });
    assert_eq!((waiting, stage.processes("scripted-agent")), (left, vec![]));
}

#[test]
fn a_halt_stops_all_agents_and_after_a_thaw_they_go_on() {
    let stage = Stage::with("max = 4", &profiles());
    let all = stubborn(&stage);
    let start = Instant::now();
    stage.flower.ok(&["halt", "smoke"]);
    assert!(start.elapsed() < STOP, "it took {:?}", start.elapsed());
    assert_eq!((stage.processes("scripted-agent"), stage.agents()), (vec![], vec![]));
    for (dispatch, name) in &all {
        let agent = stage.agent(name);
        assert_eq!((&agent["ended"]["how"], &agent["ended"]["why"]), (&json!("halted"), &json!("smoke")));
        assert_eq!(
            (stage.show(*dispatch)["state"].clone(), stage.waits(*dispatch)),
            (json!("requested"), vec!["main_frozen".to_owned()])
        );
    }
    // What never answered does so from here on.
    stage.set_profiles(&[profile("play", &[], ""), profile("mute", &[], "")].concat());
    stage.flower.ok(&["thaw"]);
    for (dispatch, _) in &all {
        stage.becomes(*dispatch, "landed");
    }
}
