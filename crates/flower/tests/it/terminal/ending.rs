//! However it ends, nothing is left.

use crate::common::eventually;
use crate::terminal::world::{Session, with_world};
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A length of sleep by which our own are found among all processes.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("87{}.{}", COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

fn running(marker: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let cmdlines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    cmdlines.filter(|line| line.starts_with("sleep\0") && line.contains(marker)).count()
}

/// Ignores what it can, and leaves children behind that have left session and group.
fn stubborn(marker: &str) -> String {
    format!(
        "trap '' TERM HUP INT QUIT; (setsid sh -c 'sleep {marker} & sleep {marker}' &); echo ready; \
         while :; do sleep {marker}; done"
    )
}

#[test]
fn a_program_that_ignores_signals_ends_within_five_seconds() {
    with_world(async |world| {
        let marker = marker();
        let mut session = Session::of(world.start(&["sh", "-c", &stubborn(&marker)]));
        session.sees("ready").await;
        eventually("they run", || (running(&marker) == 3).then_some(()));
        let asked = Instant::now();
        session.terminal.stop().await;
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert_eq!(session.terminal.exit_code(), Some(137));
        eventually("nothing is left", || (running(&marker) == 0).then_some(()));
        session.terminal.stop().await;
    });
}

#[test]
fn a_program_that_handles_the_signal_ends_by_itself() {
    with_world(async |world| {
        let script = "trap 'echo goodbye; exit 4' TERM; echo ready; while :; do sleep 0.05; done";
        let mut session = Session::of(world.start(&["sh", "-c", script]));
        session.sees("ready").await;
        session.terminal.stop().await;
        session.sees("goodbye").await;
        assert_eq!(session.terminal.exit_code(), Some(4));
    });
}

#[test]
fn children_go_with_the_command() {
    with_world(async |world| {
        let marker = marker();
        let script = format!("(setsid sleep {marker} &); sleep {marker} & sleep 0.3; exit 5");
        let session = Session::of(world.start(&["sh", "-c", &script]));
        assert_eq!(session.ends().await, 5);
        eventually("nothing is left", || (running(&marker) == 0).then_some(()));
    });
}

#[test]
fn a_terminal_ends_with_the_process_that_started_it() {
    let marker = marker();
    with_world(async |world| {
        let mut session = Session::of(world.start(&["sh", "-c", &stubborn(&marker)]));
        session.sees("ready").await;
        eventually("they run", || (running(&marker) == 3).then_some(()));
    });
    eventually("nothing is left", || (running(&marker) == 0).then_some(()));
}

#[test]
fn a_missing_program_is_named_and_ends_with_127() {
    with_world(async |world| {
        let mut session = Session::of(world.start(&["no-such-program"]));
        session.sees("no-such-program").await;
        assert_eq!(session.ends().await, 127);
    });
}
