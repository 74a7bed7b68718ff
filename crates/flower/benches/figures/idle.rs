//! P17: what the daemon takes while nothing happens, with many worktrees and agents that wait for work.

use crate::Figure;
use crate::scratch::FLOWER;
use crate::worktrees::{Bench, run};
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

const WORKTREES: usize = 100;
const AGENTS: usize = 10;
const FILES: usize = 200;
/// What was begun before is over by then.
const SETTLE: Duration = Duration::from_secs(20);
const WATCHED: Duration = Duration::from_secs(30);
const MOST_MB: f64 = 80.0;
/// Of one core.
const MOST_PART: f64 = 0.01;

pub fn measure() -> Vec<Figure> {
    let bench = Bench::having(FILES, &[("flower.toml", &format!("[agents]\nmax = {AGENTS}\n"))]);
    let home = bench.dir.path().join("home");
    let profile =
        format!("[agents.play]\nprotocol = \"acp\"\ncommand = [\"{FLOWER}\", \"scripted-agent\"]\nany_of = []\n");
    fs::write(home.join("config.toml"), profile).expect("a profile");
    let pid = status(&bench)["pid"].as_u64().expect("the daemon's process");
    let alone = Sample::of(pid);
    eprintln!("  {WORKTREES} worktrees, {AGENTS} agents …");
    for n in 0..WORKTREES {
        assert!(run(bench.flower(&["worktree", "new", &format!("idle-{n}")])), "worktree {n}");
    }
    for n in 0..AGENTS {
        let place = format!("idle-{n}");
        assert!(run(bench.flower(&["agent", "spawn", "play", "--standing", "--worktree", &place])), "agent {n}");
    }
    let begun = Instant::now();
    while idle(&bench) < AGENTS {
        assert!(begun.elapsed() < Duration::from_secs(120), "the agents do not become idle");
        std::thread::sleep(Duration::from_millis(200));
    }
    bench.rest();
    std::thread::sleep(SETTLE);
    let (before, start) = (Sample::of(pid), Instant::now());
    std::thread::sleep(WATCHED);
    let (after, took) = (Sample::of(pid), start.elapsed());
    assert_eq!(idle(&bench), AGENTS, "they are all still there");
    let part = (after.cpu - before.cpu).as_secs_f64() / took.as_secs_f64();
    let wakes = (after.switches - before.switches) as f64 / took.as_secs_f64();
    vec![Figure {
        id: "P17",
        what: format!(
            "idle daemon, {WORKTREES} worktrees, {AGENTS} standing agents without work, over {} s",
            WATCHED.as_secs()
        ),
        measured: format!("{:.1} MB, {:.2} % of a core, {wakes:.1} wake-ups/s", after.mb, part * 100.0),
        peer: format!("before the first worktree: {:.1} MB", alone.mb),
        ratio: Some(after.mb / alone.mb),
        goal: "≤ 80 MB, ≤ 1 % of a core",
        reached: after.mb <= MOST_MB && part <= MOST_PART,
    }]
}

/// What the kernel says of the daemon.
struct Sample {
    mb: f64,
    cpu: Duration,
    /// How often its threads went to sleep, all together.
    switches: u64,
}

impl Sample {
    fn of(pid: u64) -> Sample {
        let read = |path: String| fs::read_to_string(path).expect("the daemon runs");
        let field = |text: &str, name: &str| -> u64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the field");
            line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().expect("a number")
        };
        let stat = read(format!("/proc/{pid}/stat"));
        // Behind the name, which may have spaces: utime and stime are the 14th and 15th of all.
        let behind: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
        let ticks: u64 = behind[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads").flatten();
        let status = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("status")).ok();
        let switches = threads.filter_map(status).map(|text| field(&text, "voluntary_ctxt_switches")).sum();
        Sample {
            mb: field(&read(format!("/proc/{pid}/status")), "VmRSS") as f64 / 1024.0,
            cpu: Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64),
            switches,
        }
    }
}

fn status(bench: &Bench) -> Value {
    answer(bench, &["status", "--json"])
}

fn idle(bench: &Bench) -> usize {
    let agents = answer(bench, &["agent", "--json"]);
    agents.as_array().into_iter().flatten().filter(|agent| agent["state"] == "idle").count()
}

fn answer(bench: &Bench, args: &[&str]) -> Value {
    let output = bench.flower(args).output().expect("flower runs");
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}
