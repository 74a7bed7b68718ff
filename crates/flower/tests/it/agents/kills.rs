//! The daemon dies, and its agents go on: nothing of them outlives it, no claim is lost, nothing is done twice.

use crate::agents::stage::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

const AT_ONCE: usize = 4;
/// By turns: one that begins anew from the brief, one that goes back into its session.
const PROFILES: [&str; 2] = ["play", "resume"];
/// In a script; with many kills so many that most of the time is work, not landing.
fn steps() -> usize {
    count(12, 60)
}
/// Nothing of an agent is left so long after its daemon.
const GONE: Duration = Duration::from_secs(5);

fn random(below: usize) -> usize {
    usize::try_from(RandomState::new().build_hasher().finish() % below as u64).expect("small")
}

/// Every step writes itself down once, and whether another one runs at the same time. A commit or a hand-back that was cut
/// off is tried again.
fn script(file: &str) -> String {
    let step = |n: usize| {
        format!("run exec 9>>$HOME/lock; flock -n 9 || echo twice at once >> {file}; echo {n} >> {file}; sleep 0.15\n")
    };
    let end = format!("run git add -A && git commit --quiet -m {file}\nhand-back done\nwait\n");
    (0..steps()).map(step).collect::<String>() + &end.repeat(8)
}

/// Which steps were played, as MAIN has it: each once, one after the other. A step during which everything ended may be
/// missing.
fn played(stage: &Stage, file: &str) -> usize {
    let text = stage.landed(file).unwrap_or_default();
    let steps: Vec<usize> =
        text.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{file}: {text}"))).collect();
    assert!(steps.is_sorted_by(|one, next| one < next), "{file}: {text}");
    steps.len()
}

/// The claims that agents hold, as they were when they were seen last.
#[derive(Default)]
struct Claims {
    seen: BTreeMap<u64, (u64, String)>,
    later: usize,
}

impl Claims {
    fn compare(&mut self, dispatch: &Value) {
        if !dispatch["claim"].is_object() {
            return;
        }
        let now = (number(&dispatch["claim"]["fence"]), text(&dispatch["claim"]["holder"]));
        match self.seen.insert(number(&dispatch["id"]), now.clone()) {
            Some(before) if before.0 < now.0 => self.later += 1,
            Some(before) => assert_eq!(before, now, "{dispatch}"),
            None => {}
        }
    }
}

#[test]
fn agents_go_on_after_the_daemon_is_killed() {
    let kills = count(8, 100);
    let profiles = [profile("play", &[], ""), profile("resume", &["--resume"], "")].concat();
    let stage = Stage::with("max = 4", &profiles);
    let file = |n: usize| format!("{n}.txt");
    let is_over =
        |dispatch: &Value| ["handed_back", "landed", "failed"].iter().any(|state| dispatch["state"] == *state);
    let mut all: Vec<u64> = Vec::new();
    let mut open: Vec<u64> = Vec::new();
    let mut claims = Claims::default();
    let mut slowest = Duration::ZERO;
    for kill in 0..kills {
        open.retain(|dispatch| !is_over(&stage.show(*dispatch)));
        while open.len() < AT_ONCE {
            let n = all.len();
            let brief = stage.brief(&format!("Part {n}"), &script(&file(n)));
            all.push(stage.dispatch_with(brief, &json!({ "agent": PROFILES[n % 2] })));
            open.extend(all.last());
        }
        let wanted = random(AT_ONCE + 1);
        stage.until(&format!("{wanted} agents work"), || {
            let works = stage.agents().iter().filter(|agent| agent["state"] == "working").count();
            let left = open.iter().filter(|dispatch| !is_over(&stage.show(**dispatch))).count();
            (works >= wanted.min(left)).then_some(())
        });
        std::thread::sleep(Duration::from_millis(random(500) as u64));
        for dispatch in &open {
            claims.compare(&stage.show(*dispatch));
        }
        stage.kill_daemon();
        let start = Instant::now();
        // Every other time the next one does not wait for the last one's agents.
        while kill % 2 == 0 && !["scripted-agent", "scripted"].iter().all(|word| stage.processes(word).is_empty()) {
            assert!(start.elapsed() < GONE, "something of an agent is left");
            std::thread::sleep(Duration::from_millis(10));
        }
        slowest = slowest.max(start.elapsed());
        stage.flower.start();
    }
    let mut done = 0;
    for (n, dispatch) in all.iter().enumerate() {
        stage.until(&format!("dispatch {dispatch} lands"), || {
            let now = stage.show(*dispatch);
            claims.compare(&now);
            assert_ne!(now["state"], "failed", "{now}\n{}", stage.log(&stage.agent_of(*dispatch)));
            (now["state"] == "landed").then_some(())
        });
        done += played(&stage, &file(n));
    }
    stage.gone("scripted-agent");
    let agents = stage.all_agents();
    assert_eq!(agents.len(), all.len(), "one agent for each: {agents:?}");
    assert!(agents.iter().all(|agent| agent["restarts"] == 0 && agent["ended"]["how"] == "retired"), "{agents:?}");
    eprintln!(
        "kills: {kills} with {AT_ONCE} agents at work; {} dispatches landed, 0 lost; {done} of {} steps played, none twice; \
         {} claims taken anew; nothing left of any agent after {slowest:?} at the latest",
        all.len(),
        all.len() * steps(),
        claims.later,
    );
}

#[test]
fn agents_go_on_after_the_daemon_was_sent_home() {
    let profiles = [profile("play", &[], ""), profile("resume", &["--resume"], "")].concat();
    let stage = Stage::with("max = 4", &profiles);
    let file = |n: usize| format!("{n}.txt");
    let all: Vec<u64> = (0..AT_ONCE)
        .map(|n| {
            let brief = stage.brief(&format!("Part {n}"), &format!("fork\nsay now then\n{}", script(&file(n))));
            stage.dispatch_with(brief, &json!({ "agent": PROFILES[n % 2] }))
        })
        .collect();
    let mut claims = Claims::default();
    for dispatch in &all {
        stage.hears(&stage.agent_of(*dispatch), "said: now");
        claims.compare(&stage.show(*dispatch));
    }
    let start = Instant::now();
    stage.flower.ok(&["down"]);
    assert!(start.elapsed() < GONE, "it took {:?}", start.elapsed());
    for word in ["scripted-agent", "scripted-fork", "scripted"] {
        assert_eq!(stage.processes(word), [0; 0], "{word}");
    }
    stage.flower.start();
    for (n, dispatch) in all.iter().enumerate() {
        stage.until("it lands", || {
            let now = stage.show(*dispatch);
            claims.compare(&now);
            (now["state"] == "landed").then_some(())
        });
        assert!(played(&stage, &file(n)) >= steps() - 2);
        let agent = stage.agent_ends(&stage.agent_of(*dispatch));
        assert_eq!((&agent["restarts"], &agent["ended"]["how"]), (&json!(0), &json!("retired")), "{agent}");
    }
    assert_eq!((claims.later, stage.all_agents().len()), (0, AT_ONCE));
    let resumed = |dispatch: &u64| stage.log(&stage.agent_of(*dispatch)).contains("session resumed");
    assert_eq!(all.iter().map(resumed).collect::<Vec<_>>(), [false, true, false, true]);
}
