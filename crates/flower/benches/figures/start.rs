//! P18: from starting the program to its first answer, with a million events in the log.

use crate::scratch::{Daemon, Words, fill, home, new_brief, note, open, runtime};
use crate::{Figure, ms, quantile};
use std::time::Duration;

const EVENTS: u64 = 1_000_000;
const BRIEFS: u64 = 1_000;
const STARTS: usize = 7;

pub fn measure() -> Vec<Figure> {
    let empty = home();
    let mut baseline: Vec<Duration> = (0..STARTS).map(|_| Daemon::start(empty.path()).1).collect();
    let home = home();
    let store = open(home.path());
    eprintln!("  writing {EVENTS} events …");
    runtime().block_on(async {
        fill(&store, (0..BRIEFS).map(|n| new_brief(format!("Brief {n}"), "A plan".into()))).await;
        let mut words = Words::new(18);
        fill(&store, (0..EVENTS).map(|n| note(1 + n % BRIEFS, words.text(8)))).await;
    });
    store.close();
    let mut starts: Vec<Duration> = (0..STARTS).map(|_| Daemon::start(home.path()).1).collect();
    let (full, none) = (quantile(&mut starts, 0.5), quantile(&mut baseline, 0.5));
    vec![Figure {
        id: "P18",
        what: format!("start with {EVENTS} events, median of {STARTS} (slowest {})", ms(quantile(&mut starts, 1.0))),
        measured: ms(full),
        peer: format!("start with an empty log: {}", ms(none)),
        ratio: Some(full.as_secs_f64() / none.as_secs_f64()),
        goal: "≤ 300 ms",
        reached: full <= Duration::from_millis(300),
    }]
}
