//! Live events: in order, without gaps or duplicates.

use crate::databases::Database;
use crate::given::*;
use crate::ledger::Ledger;
use flower_core::{BriefId, Recorded, Topic};
use flower_store::{Follower, Live};
use std::sync::Arc;
use std::time::Duration;

/// Fails unless `live` has exactly the expected events after `after`.
pub fn check_live(live: &Live, after: u64, expected: &[Recorded]) {
    let events = live.after(after, usize::MAX).expect("all of it is remembered");
    let seqs: Vec<u64> = events.iter().map(|event| event.recorded.seq).collect();
    assert_eq!(seqs, expected.iter().map(|event| event.seq).collect::<Vec<_>>());
    assert!(events.iter().zip(expected).all(|(live, event)| live.recorded == *event));
}

on_both!(recorded_events_come_live, |db: Database| {
    let ledger = Ledger::open(&db);
    let mut bell = ledger.store.live().subscribe();
    assert_eq!(*bell.borrow_and_update(), 0);
    ledger.done(brief("one"));
    assert!(bell.has_changed().unwrap(), "it rings before the command is acknowledged");
    assert_eq!(*bell.borrow_and_update(), 2);
    ledger.refused(&operator(), &note(BriefId(9), "x"));
    assert!(!bell.has_changed().unwrap(), "a refusal is no news");
    for n in 0..10 {
        ledger.done(note(BriefId(1), &format!("note {n}")));
    }
    let events = ledger.events();
    check_live(ledger.store.live(), 0, &events);
    check_live(ledger.store.live(), 7, &events[7..]);
    check_live(ledger.store.live(), events.len() as u64, &[]);
    assert_eq!(ledger.store.live().after(3, 2).unwrap().len(), 2);
    ledger.close();
    let ledger = Ledger::open(&db);
    assert_eq!(ledger.store.live().head(), events.len() as u64);
    assert!(ledger.store.live().after(3, 2).is_none(), "what came before the start is in the log");
});

/// Events without content but their numbers.
fn numbered(seqs: std::ops::RangeInclusive<u64>, bytes: usize) -> Vec<Recorded> {
    let event = |seq| Recorded {
        seq,
        stream: "x".into(),
        version: seq,
        kind: "x".into(),
        schema: 1,
        actor_type: "system".into(),
        actor_name: "flower".into(),
        door: "daemon".into(),
        at: String::new(),
        brief: None,
        body: "x".repeat(bytes),
        prev: String::new(),
        hash: String::new(),
    };
    seqs.map(event).collect()
}

#[test]
fn known_events_are_skipped_and_a_gap_is_refused() {
    let live = Live::new(10);
    live.push(numbered(11..=12, 1)).unwrap();
    live.push(numbered(9..=13, 1)).unwrap();
    check_live(&live, 10, &numbered(11..=13, 1));
    assert_eq!(live.push(numbered(15..=15, 1)).unwrap_err().after, 13);
    assert_eq!(live.head(), 13);
    let torn = [numbered(14..=14, 1), numbered(16..=16, 1)].concat();
    assert_eq!(live.push(torn).unwrap_err().after, 14);
    live.push(numbered(14..=16, 1)).unwrap();
    check_live(&live, 10, &numbered(11..=16, 1));
}

#[test]
fn memory_is_bounded_and_a_slow_reader_is_told() {
    let live = Live::new(0);
    for first in (1..=10_000).step_by(100) {
        live.push(numbered(first..=first + 99, 10)).unwrap();
    }
    assert!(live.after(0, 10).is_none(), "too long ago");
    let remembered = (0..10_000).filter(|&after| live.after(after, 1).is_some()).count();
    assert!((1_000..6_000).contains(&remembered), "{remembered}");
    for seq in 10_001..=10_050 {
        live.push(numbered(seq..=seq, 1_000_000)).unwrap();
    }
    assert!(live.after(10_000, 1).is_none(), "long texts count by their length");
    check_live(&live, 10_045, &numbered(10_046..=10_050, 1_000_000));
}

// The writer and the listener both push the events that they have read, and these overlap.
#[test]
fn concurrent_pushes_add_each_event_once() {
    const LAST: u64 = 4_000;
    let live = Arc::new(Live::new(0));
    let pushers: Vec<_> = (0..4u64)
        .map(|pusher| {
            let live = live.clone();
            std::thread::spawn(move || {
                while live.head() < LAST {
                    let head = live.head();
                    let last = (head + 1 + pusher).min(LAST);
                    let pushed = live.push(numbered(head + 1..=last, 1));
                    assert!(pushed.is_ok(), "{head} was known");
                }
            })
        })
        .collect();
    let mut seen = 0;
    while !pushers.iter().all(std::thread::JoinHandle::is_finished) {
        let head = live.head();
        assert!(head >= seen, "the bell went back from {seen} to {head}");
        seen = head;
    }
    for pusher in pushers {
        pusher.join().unwrap();
    }
    check_live(&live, 0, &numbered(1..=LAST, 1));
}

/// An event that changes only the topic of briefs.
fn noted(seq: u64) -> Vec<Recorded> {
    let mut events = numbered(seq..=seq, 0);
    events[0].kind = "note_added".into();
    events[0].body = r#"{"text":"hi","images":[]}"#.into();
    events
}

/// Whether the follower reports a change now.
async fn reports(follower: &mut Follower) -> bool {
    tokio::time::timeout(Duration::from_secs(3_600), follower.changed()).await.is_ok()
}

/// The clock is paused and advances only when all tasks are idle, so that an hour without a report takes no time.
#[tokio::test(start_paused = true)]
async fn a_follower_reports_what_changes_its_topics_and_nothing_else() {
    let live = Arc::new(Live::new(0));
    let settle = Duration::from_millis(30);
    let mut briefs = Follower::new(live.clone(), &[Topic::Briefs], settle);
    let mut agents = Follower::new(live.clone(), &[Topic::Agents], settle);
    live.push(noted(1)).expect("in order");
    assert!(!reports(&mut agents).await, "a note changes no agent");
    // Dropping the call while the follower waits for further events loses no event.
    assert!(tokio::time::timeout(settle / 2, briefs.changed()).await.is_err());
    live.push(noted(2)).expect("in order");
    assert!(reports(&mut briefs).await);
    assert!(!reports(&mut briefs).await, "both were reported together");
    live.push(numbered(3..=3, 0)).expect("in order");
    assert!(reports(&mut agents).await && reports(&mut briefs).await, "an unknown kind may change anything");
    for seq in 4..=5_000 {
        live.push(noted(seq)).expect("in order");
    }
    assert!(reports(&mut agents).await, "more than is remembered may hold anything");
}
