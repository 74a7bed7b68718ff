//! P10: a landing without checks against fetching and merging by hand.

use crate::peers::mergetrain;
use crate::scratch::FLOWER;
use crate::worktrees::{Bench, run, time};
use crate::{Figure, ms, quantile};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const FILES: usize = 2_000;
/// Changed by each landing.
const CHANGED: usize = 20;
const ROUNDS: usize = 25;

/// P10.
pub fn measure() -> Vec<Figure> {
    let bench = Bench::new(FILES);
    let (mut hand, mut ours) = (Vec::new(), Vec::new());
    let clone = by_hand(&bench);
    for round in 0..ROUNDS {
        let (name, feature) = (format!("w{round}"), feature(&bench, round));
        prepare(&bench, &name, round);
        for which in 0..2 {
            bench.rest();
            if (which + round) % 2 == 0 {
                hand.push(fetch_and_merge(&clone, &feature));
            } else {
                ours.push(time(bench.flower(&["land", &name, "--wait"])));
            }
        }
        until_gone(&bench, &name);
    }
    let (hand, ours) = (quantile(&mut hand, 0.5), quantile(&mut ours, 0.5));
    let ratio = ours.as_secs_f64() / hand.as_secs_f64();
    vec![Figure {
        id: "P10",
        what: format!(
            "`flower land --wait` of {CHANGED} changed files among {FILES}, without checks, until MAIN and its checkout \
             have it and it is recorded, median of {ROUNDS}"
        ),
        measured: ms(ours),
        peer: format!("`git fetch` + `git merge`: {}", ms(hand)),
        ratio: Some(ratio),
        goal: "≤ 1.5",
        reached: ratio <= 1.5,
    }]
}

/// P10, with another queue that does the same.
pub fn peers() -> Vec<Figure> {
    const ROUNDS: usize = 10;
    let bench = Bench::new(FILES);
    let clone = by_hand(&bench);
    // Beside the build, so that it is installed once.
    let program = mergetrain(&Path::new(FLOWER).with_file_name("peers"));
    let (mut hand, mut theirs) = (Vec::new(), Vec::new());
    let train = bench.dir.path().join("train");
    let ready = program.as_ref().is_some_and(|program| board(&bench, program, &train));
    for round in 0..ROUNDS {
        let feature = feature(&bench, round);
        bench.rest();
        hand.push(fetch_and_merge(&clone, &feature));
        if let (true, Some(program)) = (ready, &program) {
            let branch = format!("f{round}");
            let tree = bench.dir.path().join(format!("train-{round}"));
            git(&train, &["worktree", "add", "--quiet", "-b", &branch, &tree.to_string_lossy(), "main"]);
            change(&tree, round, "train");
            git(&tree, &["commit", "--quiet", "--all", "--message", "work"]);
            bench.rest();
            let begun = Instant::now();
            let enqueued =
                run(Command::new(program).args(["enqueue", "--task", &branch, "--branch", &branch]).current_dir(&tree));
            let deployed = run(Command::new(program).args(["deploy", "--json"]).current_dir(&train));
            if enqueued && deployed {
                theirs.push(begun.elapsed());
            }
        }
    }
    let hand = quantile(&mut hand, 0.5);
    let theirs = (!theirs.is_empty()).then(|| quantile(&mut theirs, 0.5));
    vec![Figure {
        id: "P10-PEERS",
        what: format!(
            "peer: mergetrain, enqueue and deploy of {CHANGED} changed files, no gates, up to its confirmation (nobody confirms: \
             nothing is pushed), median of {ROUNDS}"
        ),
        measured: theirs.map_or_else(|| "not run (needs python3 with venv)".to_owned(), ms),
        peer: format!("`git fetch` + `git merge`: {}", ms(hand)),
        ratio: theirs.map(|theirs| theirs.as_secs_f64() / hand.as_secs_f64()),
        goal: "–",
        reached: true,
    }]
}

/// A worktree with work in it, mirrored as it is once nobody is in it any more.
fn prepare(bench: &Bench, name: &str, round: usize) {
    assert!(run(bench.flower(&["worktree", "new", name])));
    change(&bench.dir.path().join("home/worktrees/main").join(name), round, "ours");
    let commit = ["worktree", "shell", name, "--", "git", "commit", "--quiet", "--all", "--message", "work"];
    assert!(run(bench.flower(&commit)));
}

fn until_gone(bench: &Bench, name: &str) {
    let begun = Instant::now();
    while bench.dir.path().join("home/worktrees/main").join(name).exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "a worktree that has landed stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A clone that stands for MAIN as somebody looks after it by hand.
fn by_hand(bench: &Bench) -> PathBuf {
    let clone = bench.dir.path().join("hand");
    assert!(run(Command::new("git").args(["clone", "--quiet"]).arg(&bench.main).arg(&clone)));
    for (key, value) in
        [("user.name", "Bench"), ("user.email", "b@example.com"), ("gc.auto", "0"), ("maintenance.auto", "false")]
    {
        git(&clone, &["config", key, value]);
    }
    clone
}

/// Another clone, in which the same work is committed.
fn feature(bench: &Bench, round: usize) -> PathBuf {
    let feature = bench.dir.path().join(format!("feature-{round}"));
    assert!(run(Command::new("git")
        .args(["clone", "--quiet", "--shared"])
        .arg(bench.dir.path().join("hand"))
        .arg(&feature)));
    change(&feature, round, "hand");
    git(
        &feature,
        &["-c", "user.name=B", "-c", "user.email=b@example.com", "commit", "--quiet", "--all", "--message", "work"],
    );
    feature
}

fn fetch_and_merge(clone: &Path, feature: &Path) -> Duration {
    let begun = Instant::now();
    git(clone, &["fetch", "--quiet", &feature.to_string_lossy(), "main"]);
    git(clone, &["merge", "--quiet", "--no-ff", "--no-edit", "FETCH_HEAD"]);
    begun.elapsed()
}

fn board(bench: &Bench, program: &Path, train: &Path) -> bool {
    let bare = bench.dir.path().join("train.git");
    let cloned = run(Command::new("git").args(["clone", "--quiet", "--bare"]).arg(&bench.main).arg(&bare))
        && run(Command::new("git").args(["clone", "--quiet"]).arg(&bare).arg(train));
    if !cloned {
        return false;
    }
    git(train, &["config", "user.name", "Bench"]);
    git(train, &["config", "user.email", "b@example.com"]);
    if !run(Command::new(program).args(["init", "--project", "bench", "--write"]).current_dir(train)) {
        return false;
    }
    git(train, &["add", "--all"]);
    git(train, &["commit", "--quiet", "--message", "settings"]);
    git(train, &["push", "--quiet"]);
    true
}

fn change(tree: &Path, round: usize, by: &str) {
    for number in 0..CHANGED {
        let file = tree.join(format!(
            "folder-{}/file-{}.txt",
            number % (FILES / 200),
            (number % (FILES / 200)) * 200 + number
        ));
        let mut text = fs::read_to_string(&file).expect("a file of the repository");
        text.push_str(&format!("{by} {round}\n"));
        fs::write(&file, text).expect("a file");
    }
}

fn git(dir: &Path, args: &[&str]) {
    assert!(run(Command::new("git").args(args).current_dir(dir)), "git {args:?}");
}
