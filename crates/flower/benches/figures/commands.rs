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
    let nothing = run(RUNS, || Command::new("/bin/true"));
    let commands: [(&str, Vec<&str>); 3] = [
        ("brief show", vec!["brief", "show", "500", "--json"]),
        ("brief new", vec!["brief", "new", "One more", "--json"]),
        ("search", vec!["search", "bare ti", "--json"]),
    ];
    let mut figures = Vec::new();
    for (name, args) in commands {
        let cost = run(RUNS, || {
            let mut command = Command::new(FLOWER);
            command.args(&args).current_dir(&repository).env("FLOWER_HOME", &daemon.home).env_remove("FLOWER_URL");
            command
        });
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
    // Last, because it is the larger one: what the kernel remembers is the largest child so far.
    figures.push(peer(home.path(), &figures[0], nothing.wall));
    figures
}

fn peer(folder: &Path, ours: &Figure, nothing: Duration) -> Figure {
    let measured = Backlog::with_tasks(folder, BRIEFS).map(|backlog| {
        run(PEER_RUNS, || {
            let mut command = backlog.command(&["task", "500", "--plain"]);
            command.current_dir(&backlog.repository);
            command
        })
    });
    Figure {
        id: "P5",
        what: format!("peer: Backlog.md, one task shown with {BRIEFS} tasks, median of {PEER_RUNS}"),
        measured: measured.as_ref().map_or_else(|| "not run (needs npm)".to_owned(), ToString::to_string),
        peer: format!("`flower brief show`: {}", ours.measured),
        ratio: measured.map(|cost| cost.wall.as_secs_f64() / nothing.as_secs_f64()),
        goal: "–",
        reached: true,
    }
}

struct Cost {
    cpu: Duration,
    wall: Duration,
    rss_mb: i64,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} CPU, {} wall, {} MB", ms(self.cpu), ms(self.wall), self.rss_mb)
    }
}

fn run(runs: u32, command: impl Fn() -> Command) -> Cost {
    let mut walls = Vec::new();
    let before = used();
    for _ in 0..runs {
        let start = Instant::now();
        let status = command().stdin(Stdio::null()).stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "the command fails");
        walls.push(start.elapsed());
    }
    let cpu = (used() - before) / runs;
    Cost { cpu, wall: quantile(&mut walls, 0.5), rss_mb: usage().max_rss() / 1024 }
}

fn usage() -> nix::sys::resource::Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel knows")
}

fn used() -> Duration {
    let usage = usage();
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
