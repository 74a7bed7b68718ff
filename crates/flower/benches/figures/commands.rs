//! P5: what one command costs, with 1,000 briefs.

use crate::peers::Backlog;
use crate::scratch::{Daemon, FLOWER, Words, fill, home, new_brief, open, runtime};
use crate::{Figure, ms, quantile};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BRIEFS: u64 = 1_000;
const RUNS: u32 = 200;
const PEER_RUNS: u32 = 20;

pub fn measure() -> Vec<Figure> {
    let home = home();
    let repository = home.path().join("repository");
    std::fs::create_dir(&repository).expect("a folder");
    let git = Command::new("git").args(["init", "--quiet"]).current_dir(&repository).status();
    assert!(git.is_ok_and(|status| status.success()), "git init");
    let store = open(home.path());
    runtime().block_on(async {
        let mut words = Words::new(5);
        fill(&store, (0..BRIEFS).map(|n| new_brief(format!("{n} {}", words.text(5)), words.text(150)))).await;
    });
    store.close();
    let (daemon, _) = Daemon::start(home.path());
    // What any process costs on this machine, right now.
    let nothing = run(RUNS, &Command::new("/bin/true"));
    let commands: [(&str, Vec<&str>); 3] = [
        ("brief show", vec!["brief", "show", "500", "--json"]),
        ("brief new", vec!["brief", "new", "One more", "--json"]),
        ("search", vec!["search", "bare ti", "--json"]),
    ];
    let (mut figures, mut walls) = (Vec::new(), Vec::new());
    for (name, args) in commands {
        let mut command = Command::new(FLOWER);
        command.args(&args).current_dir(&repository).env("FLOWER_HOME", &daemon.home).env_remove("FLOWER_URL");
        let cost = run(RUNS, &command);
        walls.push(cost.wall);
        figures.push(Figure {
            id: "P5",
            what: format!("`flower {name}` with {BRIEFS} briefs, median of {RUNS}"),
            measured: cost.to_string(),
            peer: format!("/bin/true: {} CPU, {} wall", ms(nothing.cpu), ms(nothing.wall)),
            ratio: Some(cost.wall.as_secs_f64() / nothing.wall.as_secs_f64()),
            goal: "≤ 5 ms CPU, ≤ 10 ms wall, ≤ 15 MB",
            reached: cost.cpu <= Duration::from_millis(5)
                && cost.wall <= Duration::from_millis(10)
                && cost.rss_mb <= 15,
        });
    }
    figures.push(peer(home.path(), &figures[0], walls[0]));
    figures
}

fn peer(folder: &Path, figure: &Figure, ours: Duration) -> Figure {
    let measured = Backlog::with_tasks(folder, BRIEFS)
        .map(|backlog| run(PEER_RUNS, backlog.command(&["task", "500", "--plain"]).current_dir(&backlog.repository)));
    Figure {
        id: "P5",
        what: format!("peer: Backlog.md, one task shown with {BRIEFS} tasks, median of {PEER_RUNS}"),
        measured: measured.as_ref().map_or_else(|| "not run (needs npm)".to_owned(), ToString::to_string),
        peer: format!("`flower brief show`: {}", figure.measured),
        ratio: measured.map(|cost| cost.wall.as_secs_f64() / ours.as_secs_f64()),
        goal: "–",
        reached: true,
    }
}

struct Cost {
    cpu: Duration,
    wall: Duration,
    rss_mb: u64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} CPU, {} wall, {} MB", ms(self.cpu), ms(self.wall), self.rss_mb)
    }
}

/// Runs a command so many times, from a process of its own: the kernel counts the memory of whoever starts a program as the
/// program's, and this one is large.
fn run(runs: u32, command: &Command) -> Cost {
    let mut launcher = Command::new(std::env::current_exe().expect("this program has a path"));
    launcher.arg(LAUNCH).arg(runs.to_string()).arg(command.get_program()).args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        launcher.current_dir(dir);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => launcher.env(name, value),
            None => launcher.env_remove(name),
        };
    }
    let output = launcher.stdin(Stdio::null()).output().expect("the launcher runs");
    let figures = String::from_utf8_lossy(&output.stdout);
    let mut figures = figures.split_whitespace().map(|figure| figure.parse::<u64>().expect("a figure"));
    let mut next = || figures.next().expect("three figures");
    Cost { cpu: Duration::from_micros(next()), wall: Duration::from_micros(next()), rss_mb: next() / 1024 }
}

/// The argument that makes this program a launcher.
pub const LAUNCH: &str = "--launch";

/// Runs `arguments` so often and prints the mean CPU time, the median wall time (both in µs) and the largest memory (KB).
#[expect(clippy::print_stdout, reason = "the figures are the answer")]
pub fn launch(mut arguments: impl Iterator<Item = String>) {
    let runs: u32 = arguments.next().and_then(|runs| runs.parse().ok()).expect("how often");
    let words: Vec<String> = arguments.collect();
    let (program, words) = words.split_first().expect("a program");
    let mut walls = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        let status = Command::new(program).args(words).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "the command fails");
        walls.push(start.elapsed());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel knows");
    let cpu = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    println!("{} {} {}", cpu / i64::from(runs), quantile(&mut walls, 0.5).as_micros(), usage.max_rss());
}
