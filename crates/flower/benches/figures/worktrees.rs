//! P1 to P4 and P15: worktrees against what git itself does, and the jail against nothing.

use crate::peers::worktree_maker;
use crate::scratch::{Daemon, FLOWER, home};
use crate::{Figure, ms, quantile};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MANY: usize = 60_000;
const FEW: usize = 200;

/// P1 and P3.
pub fn many_files() -> Vec<Figure> {
    let bench = Bench::new(MANY);
    let times = bench.compare(4);
    let removed = times.removed_ratio();
    let mut figures = times.made_figures("P1", MANY, "≤ 0.80 without a pool", 0.80);
    figures.push(Figure {
        id: "P3",
        what: format!("a worktree of {MANY} files removed, until the command ends, median of {}", times.rounds),
        measured: ms(times.sealed_removed),
        peer: format!("`git worktree remove`: {}", ms(times.git_removed)),
        ratio: Some(removed),
        goal: "≤ 0.05, everything restorable",
        reached: removed <= 0.05,
    });
    figures
}

/// P2.
pub fn few_files() -> Vec<Figure> {
    Bench::new(FEW).compare(39).made_figures("P2", FEW, "≤ 1.3 without a pool", 1.3)
}

/// P2, with other programs that do the same, built from the registry.
pub fn peers() -> Vec<Figure> {
    const ROUNDS: usize = 20;
    let bench = Bench::new(FEW);
    // Beside the build, so that they are built once.
    let folder = Path::new(FLOWER).with_file_name("peers");
    let worktrunk = worktree_maker(&folder, "worktrunk@0.67.0", "wt");
    let workmux = worktree_maker(&folder, "workmux@0.1.261", "workmux");
    // A terminal multiplexer of our own for the one that needs it.
    let socket = bench.dir.path().join("tmux");
    let tmux = |args: &[&str]| run(Command::new("tmux").arg("-S").arg(&socket).args(args));
    let has_tmux = tmux(&["new-session", "-d", "-s", "bench", "-c", &bench.main.to_string_lossy()]);
    let workmux = workmux.filter(|_| has_tmux);
    let (mut git, mut ours, mut theirs) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    assert!(run(bench.flower(&["worktree", "new", "warm"])));
    for round in 0..ROUNDS {
        for which in 0..4 {
            bench.rest();
            match ((which + round) % 4, &worktrunk, &workmux) {
                (0, _, _) => {
                    let beside = bench.dir.path().join(format!("plain-{round}"));
                    let branch = format!("plain-{round}");
                    git.push(time(bench.git_command(&["worktree", "add", "--quiet", "-b", &branch]).arg(&beside)));
                }
                (1, _, _) => ours.push(time(bench.flower(&["worktree", "new", &format!("sealed-{round}")]))),
                (2, Some(program), _) => {
                    let words = ["switch", "--create", &format!("wt-{round}"), "--yes"];
                    theirs[0].push(time(Command::new(program).args(words).current_dir(&bench.main)));
                }
                (3, _, Some(program)) => {
                    let words = ["add", &format!("mux-{round}"), "--background"];
                    let address = format!("{},0,0", socket.display());
                    let mut add = Command::new(program);
                    theirs[1].push(time(add.args(words).env("TMUX", address).current_dir(&bench.main)));
                }
                _ => {}
            }
        }
    }
    tmux(&["kill-server"]);
    let (git, ours) = (quantile(&mut git, 0.5), quantile(&mut ours, 0.5));
    let figures = ["worktrunk", "workmux"].into_iter().zip(theirs).map(|(name, mut samples)| {
        let theirs = (!samples.is_empty()).then(|| quantile(&mut samples, 0.5));
        Figure {
            id: "P2-PEERS",
            what: format!("peer: {name}, a worktree of {FEW} files, median of {ROUNDS}"),
            measured: theirs.map_or_else(|| "not run (could not be built, or needs tmux)".to_owned(), ms),
            peer: format!("`git worktree add`: {}; sealed by flower: {}", ms(git), ms(ours)),
            ratio: theirs.map(|theirs| theirs.as_secs_f64() / git.as_secs_f64()),
            goal: "–",
            reached: true,
        }
    });
    figures.collect()
}

/// P4.
pub fn carried_cache() -> Vec<Figure> {
    const MEGABYTES: usize = 2_000;
    let bench = Bench::new(FEW);
    fs::write(bench.main.join("flower.toml"), "[worktree]\ncarry = [\"cache\"]\n").expect("a file");
    fs::write(bench.main.join(".gitignore"), "cache/\n").expect("a file");
    bench.git(&["add", "."]);
    bench.git(&["commit", "--quiet", "--message", "carry"]);
    fs::create_dir(bench.main.join("cache")).expect("a folder");
    for number in 0..MEGABYTES {
        let mut block = vec![0_u8; 1_000_000];
        getrandom::fill(&mut block).expect("the kernel gives random bytes");
        fs::write(bench.main.join(format!("cache/{number}")), block).expect("a file");
    }
    rustix::fs::sync();
    let copied = bench.dir.path().join("copied");
    let copy =
        time(Command::new("cp").args(["--archive", "--reflink=never"]).arg(bench.main.join("cache")).arg(&copied));
    fs::remove_dir_all(&copied).expect("it was made");
    rustix::fs::sync();
    let ours = time(bench.flower(&["worktree", "new", "carried"]));
    let again = time(bench.flower(&["worktree", "shell", "carried", "--", "test", "-e", "cache/1999"]));
    let reflinks = Command::new("cp")
        .args(["--reflink=always"])
        .args([bench.main.join("cache/0"), bench.dir.path().join("clone")])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let ratio = ours.as_secs_f64() / copy.as_secs_f64();
    let how = if reflinks { "shared by reflink" } else { "copied: this file system has no reflink" };
    vec![Figure {
        id: "P4",
        what: format!("a worktree with {MEGABYTES} MB of ignored cache carried over ({how}), once"),
        measured: format!("{}; used again by its owner {}", ms(ours), ms(again)),
        peer: format!("full copy: {}", ms(copy)),
        ratio: Some(ratio),
        goal: "reflink where there is one; a lane keeps its own",
        reached: !reflinks || ratio < 0.2,
    }]
}

/// P15.
pub fn jail() -> Vec<Figure> {
    const FILES: usize = 5_000;
    const RUNS: usize = 60;
    let bench = Bench::new(FILES);
    assert!(run(bench.flower(&["worktree", "new", "inside"])), "a worktree");
    let tree = bench.dir.path().join("home/worktrees/main/inside");
    // The same loop outside and inside, in turn.
    let status = "i=0; while [ $i -lt 20 ]; do git status >/dev/null || exit 1; i=$((i+1)); done";
    let (mut outside, mut inside, mut nothing, mut start) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let spec = bench.dir.path().join("home/seals/main/inside/jail.json");
    assert!(run(bench.flower(&["worktree", "shell", "inside", "--", "true"])), "a shell");
    for _ in 0..8 {
        outside.push(time(Command::new("sh").args(["-c", status]).current_dir(&tree)));
        let mut jailed = jail_command(&spec, &["sh", "-c", status]);
        inside.push(time(&mut jailed));
    }
    let (mut whole, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        nothing.push(until_running(&mut Command::new("date")));
        start.push(until_running(&mut jail_command(&spec, &["date"])));
        plain.push(time(&mut Command::new("true")));
        whole.push(time(&mut jail_command(&spec, &["true"])));
    }
    let (whole, plain) = (quantile(&mut whole, 0.5), quantile(&mut plain, 0.5));
    let (outside, inside) = (quantile(&mut outside, 0.5), quantile(&mut inside, 0.5));
    let (nothing, start) = (quantile(&mut nothing, 0.5), quantile(&mut start, 0.5));
    let more = start.saturating_sub(nothing);
    // The start itself is the second figure.
    let ratio = inside.saturating_sub(whole).as_secs_f64() / outside.as_secs_f64();
    vec![
        Figure {
            id: "P15",
            what: format!("20 × `git status` inside the jail, {FILES} files, median of 8"),
            measured: ms(inside),
            peer: format!("outside: {}", ms(outside)),
            ratio: Some(ratio),
            goal: "≤ 1.15",
            reached: ratio <= 1.15,
        },
        Figure {
            id: "P15",
            what: format!("start of the jail: until a command runs inside, less the same outside, median of {RUNS}"),
            measured: format!("{}; with its end {}", ms(more), ms(whole.saturating_sub(plain))),
            peer: format!("outside: {}", ms(nothing)),
            ratio: None,
            goal: "≤ 5 ms",
            reached: more <= Duration::from_millis(5),
        },
    ]
}

/// From the start of `date` until it looks at the clock.
pub fn until_running(date: &mut Command) -> Duration {
    let begun = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let output = date.arg("+%s%N").stdin(Stdio::null()).output().expect("date runs");
    let said = String::from_utf8_lossy(&output.stdout).trim().parse().expect("nanoseconds");
    Duration::from_nanos(said).saturating_sub(begun)
}

pub fn jail_command(spec: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(FLOWER);
    command.arg("jail").arg("--spec").arg(spec).arg("--").args(words);
    command
}

/// A repository and a daemon that serves it.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub main: PathBuf,
    _daemon: Daemon,
}

/// Medians.
struct Times {
    rounds: usize,
    git: Duration,
    sealed: Duration,
    linked: Duration,
    git_removed: Duration,
    sealed_removed: Duration,
}

impl Bench {
    pub fn new(files: usize) -> Bench {
        Bench::having(files, &[])
    }

    /// With more files, named with their text, in the first commit.
    pub fn having(files: usize, more: &[(&str, &str)]) -> Bench {
        let dir = home();
        let main = dir.path().join("main");
        for number in 0..files {
            let folder = main.join(format!("folder-{}", number / 200));
            if number % 200 == 0 {
                fs::create_dir_all(&folder).expect("a folder");
            }
            fs::write(folder.join(format!("file-{number}.txt")), format!("line of file {number}\n").repeat(40))
                .expect("a file");
        }
        for (path, text) in more {
            fs::write(main.join(path), text).expect("a file");
        }
        let (daemon, _) = Daemon::start(&dir.path().join("home"));
        let bench = Bench { main, dir, _daemon: daemon };
        bench.git(&["init", "--quiet", "--initial-branch", "main"]);
        bench.git(&["config", "user.name", "Bench"]);
        bench.git(&["config", "user.email", "bench@example.com"]);
        // Once, here, and not in the middle of a measurement.
        bench.git(&["config", "gc.auto", "0"]);
        bench.git(&["config", "maintenance.auto", "false"]);
        bench.git(&["add", "."]);
        bench.git(&["commit", "--quiet", "--message", "begin"]);
        bench.git(&["gc", "--quiet"]);
        assert!(run(bench.flower(&["init"])), "flower init");
        bench
    }

    /// Each in turn, so that what else the machine does falls on all of them.
    fn compare(&self, rounds: usize) -> Times {
        let (mut git, mut sealed, mut linked) = (Vec::new(), Vec::new(), Vec::new());
        let (mut git_removed, mut sealed_removed) = (Vec::new(), Vec::new());
        // The first one finds out what the kernel can.
        assert!(run(self.flower(&["worktree", "new", "warm"])) && run(self.flower(&["worktree", "remove", "warm"])));
        // First all are made, then all removed: what a removal leaves to the disk would fall on whoever comes next.
        for round in 0..rounds {
            let (sealed_name, linked_name) = (format!("sealed-{round}"), format!("linked-{round}"));
            let beside = self.dir.path().join(format!("plain-{round}"));
            // Everybody is the first one in turn.
            for which in 0..3 {
                self.rest();
                match (which + round) % 3 {
                    0 => {
                        let branch = format!("plain-{round}");
                        let mut add = self.git_command(&["worktree", "add", "--quiet", "-b", &branch]);
                        git.push(time(add.arg(&beside)));
                    }
                    1 => sealed.push(time(self.flower(&["worktree", "new", &sealed_name]))),
                    _ => linked.push(time(self.flower(&["worktree", "new", &linked_name, "--linked"]))),
                }
            }
        }
        for round in 0..rounds {
            let (sealed_name, linked_name) = (format!("sealed-{round}"), format!("linked-{round}"));
            for which in 0..2 {
                self.rest();
                if (which + round) % 2 == 0 {
                    let beside = self.dir.path().join(format!("plain-{round}"));
                    git_removed.push(time(self.git_command(&["worktree", "remove"]).arg(&beside)));
                } else {
                    sealed_removed.push(time(self.flower(&["worktree", "remove", &sealed_name])));
                }
            }
            assert!(run(self.flower(&["worktree", "remove", &linked_name])));
        }
        let median = |mut samples: Vec<Duration>| quantile(&mut samples, 0.5);
        Times {
            rounds,
            git: median(git),
            sealed: median(sealed),
            linked: median(linked),
            git_removed: median(git_removed),
            sealed_removed: median(sealed_removed),
        }
    }

    /// Until nothing is left to do in the background, and on disk.
    pub fn rest(&self) {
        let home = self.dir.path().join("home");
        let is_empty =
            |folder: &str| fs::read_dir(home.join(folder)).map_or(true, |mut entries| entries.next().is_none());
        let begun = Instant::now();
        while !is_empty("trash") {
            assert!(begun.elapsed() < Duration::from_secs(120), "the trash is never emptied");
            std::thread::sleep(Duration::from_millis(20));
        }
        rustix::fs::sync();
    }

    pub fn git(&self, args: &[&str]) {
        assert!(run(self.git_command(args)), "git {args:?}");
    }

    pub fn git_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        // Not through the fence: what is measured here is git itself.
        command.args(["-c", "core.hooksPath=/dev/null"]).args(args).current_dir(&self.main);
        command
    }

    pub fn flower(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FLOWER);
        command
            .args(args)
            .current_dir(&self.main)
            .env("FLOWER_HOME", self.dir.path().join("home"))
            .env_remove("FLOWER_URL");
        command
    }
}

impl Times {
    fn removed_ratio(&self) -> f64 {
        self.sealed_removed.as_secs_f64() / self.git_removed.as_secs_f64()
    }

    fn made_figures(&self, id: &'static str, files: usize, goal: &'static str, most: f64) -> Vec<Figure> {
        let figure = |seal: &str, time: Duration| {
            let ratio = time.as_secs_f64() / self.git.as_secs_f64();
            Figure {
                id,
                what: format!("a {seal} worktree of {files} files, ready to edit, median of {}", self.rounds),
                measured: ms(time),
                peer: format!("`git worktree add`: {}", ms(self.git)),
                ratio: Some(ratio),
                goal,
                reached: ratio <= most,
            }
        };
        vec![figure("sealed", self.sealed), figure("linked", self.linked)]
    }
}

pub fn run(mut command: impl std::borrow::BorrowMut<Command>) -> bool {
    command.borrow_mut().stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}

pub fn time(mut command: impl std::borrow::BorrowMut<Command>) -> Duration {
    let begun = Instant::now();
    assert!(run(command.borrow_mut()), "{:?} fails", command.borrow_mut());
    begun.elapsed()
}
