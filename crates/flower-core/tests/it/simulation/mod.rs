//! Dispatch, claims and leases in a simulated world. A run has one thread and one seed, and the same seed gives the
//! same run. Agents crash, hang, repeat themselves and use the tokens and fences of others, daemons end at any step,
//! the machine restarts, and messages are lost, duplicated and delayed. Some of the agents are flower's own, which a
//! supervisor restarts.
//!
//! To see the history of a failed seed: `FLOWER_SEED=123 cargo nextest run -p flower-core --test it --run-ignored only
//! simulation::replay`.

mod agents;
mod chance;
mod clock;
mod crew;
mod daemon;
mod fault;
mod named;
mod operator;
mod sim;
mod state;
mod watch;

use fault::Fault;
use sim::{run, run_telling};
use std::collections::{BTreeMap, BTreeSet};

/// The number of last steps that a failure shows.
const LAST: usize = 30;

fn seeds() -> u64 {
    if std::env::var_os("FLOWER_SOAK").is_some() { 10_000 } else { 150 }
}

#[test]
fn no_invariant_breaks_under_random_faults() {
    for seed in 0..seeds() {
        assert!(run(seed, seed, Fault::None).broken.is_none(), "{}", told(seed, LAST));
    }
}

/// Prints the whole history of one seed.
#[test]
#[ignore = "a tool: needs FLOWER_SEED"]
fn replay() {
    let seed = std::env::var("FLOWER_SEED").expect("FLOWER_SEED is a number");
    let seed = seed.parse().expect("FLOWER_SEED is a number");
    let told = told(seed, usize::MAX);
    assert!(run(seed, seed, Fault::None).broken.is_none(), "{told}");
    #[expect(clippy::print_stdout, reason = "it was asked for")]
    {
        println!("{told}");
    }
}

#[test]
fn one_seed_is_one_run() {
    let mut hashes = BTreeSet::new();
    for seed in 0..20 {
        let (once, again) = (run_telling(seed, 1, Fault::None), run_telling(seed, 1, Fault::None));
        assert_eq!(once.hash, again.hash, "seed {seed}");
        assert_eq!(once.history, again.history, "seed {seed}");
        hashes.insert(once.hash);
    }
    assert_eq!(hashes.len(), 20, "other seeds are other runs");
}

#[test]
fn the_wall_clock_changes_nothing() {
    for seed in 0..20 {
        assert_eq!(run(seed, 1, Fault::None).hash, run(seed, 2, Fault::None).hash, "seed {seed}");
    }
}

/// Without this test the invariants could hold because no event ever occurs.
#[test]
fn every_expected_event_occurs() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..200 {
        for (what, times) in run(seed, seed, Fault::None).counts {
            *counts.entry(what).or_default() += times;
        }
    }
    let expected = [
        "agent brought back",
        "agent given up",
        "agent restarted",
        "agent retired",
        "agent started",
        "agent stopped",
        "answer refused",
        "auto",
        "cancelled",
        "claim refused",
        "claimed",
        "claimed again",
        "counted",
        "counted after expiry",
        "daemon ended",
        "expired",
        "failed",
        "heard",
        "landed",
        "late",
        "lease refused",
        "reserved",
        "restart",
        "theft refused",
        "tried to steal",
        "turned away",
    ];
    for what in expected {
        assert!(counts.get(what).is_some_and(|times| *times >= 10), "`{what}` hardly happens: {counts:?}");
    }
}

/// The watch detects each fault by its own message, and reports nothing without a fault.
#[test]
fn broken_rules_are_noticed() {
    for (fault, sign) in Fault::ALL {
        let sees = |seed| run(seed, seed, *fault).broken.is_some_and(|broken| broken.contains(sign));
        let seed = (0..400).find(|seed| sees(*seed)).unwrap_or_else(|| panic!("the watch did not detect {fault:?}"));
        assert_eq!(run(seed, seed, Fault::None).broken, None, "it was not the fault");
    }
}

/// Repeats the run and describes it in words.
fn told(seed: u64, last: usize) -> String {
    let outcome = run_telling(seed, seed, Fault::None);
    let from = outcome.history.len().saturating_sub(last);
    let history = outcome.history[from..].join("\n");
    let end = outcome.broken.as_ref().map_or("it held".to_owned(), |broken| format!("it broke at {broken}"));
    format!(
        "seed {seed}: {end}\n{history}\nthe whole: FLOWER_SEED={seed} cargo nextest run -p flower-core --test it --run-ignored only simulation::replay"
    )
}
