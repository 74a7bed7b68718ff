//! The log: which events are recorded, their order, and that they cannot be changed.

use crate::databases::Database;
use crate::given::*;
use crate::ledger::{Ledger, is_postgres};
use flower_core::chain::Verifier;
use flower_core::{BriefId, Recorded, Refusal, Status};
use flower_store::StoreError;
use flower_store::log::{self, Edge, Of};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Checks that numbers have no gaps, versions count up in each stream, and the chain is valid.
pub fn check_log(events: &[Recorded]) {
    let mut verifier = Verifier::default();
    let mut versions: BTreeMap<&str, u64> = BTreeMap::new();
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event.seq, place as u64 + 1, "numbers have no gaps");
        let version = versions.entry(&event.stream).or_default();
        *version += 1;
        assert_eq!(event.version, *version, "versions of {} have no gaps", event.stream);
        verifier.check(event).unwrap_or_else(|fault| panic!("{fault:?}"));
    }
}

on_both!(events_read_back_as_they_were_recorded, |db: Database| {
    let ledger = Ledger::open(&db);
    let mut acknowledged = ledger.done(brief("Retry failed uploads"));
    acknowledged.extend(ledger.done(plan(BriefId(1), "# Plan\n")));
    acknowledged
        .extend(ledger.submit(&worker(BriefId(1)), &note(BriefId(1), "nul is refused, \u{1F331} is not")).unwrap());
    acknowledged.extend(ledger.done(scratchpad("Findings", Some(BriefId(1)), "x")));
    acknowledged.extend(ledger.done(project("web")));
    let events = ledger.events();
    assert_eq!(events, acknowledged);
    check_log(&events);
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let expected = [
        "brief_created",
        "participant_joined",
        "plan_proposed",
        "participant_joined",
        "note_added",
        "scratchpad_created",
        "scratchpad_written",
        "link_added",
        "project_registered",
    ];
    assert_eq!(kinds, expected);
    assert_eq!((events[4].actor_name.as_str(), events[4].door.as_str()), ("worker-1", "mcp"));
    assert_eq!(events[0].at, "2026-11-01T00:00:00.000000Z");
    assert_eq!(ledger.verified(), 9);
    ledger.close();
    let again = Ledger::open(&db);
    assert_eq!(again.events(), acknowledged, "nothing is lost by closing");
    assert_eq!(again.done(note(BriefId(1), "later"))[0].seq, 10);
});

on_both!(pages_follow_each_other, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let all = ledger.events();
    let (mut forward, mut backward): (Vec<Recorded>, Vec<Recorded>) = (Vec::new(), Vec::new());
    loop {
        let after = forward.last().map_or(0, |event| event.seq);
        let page = ledger.read(move |conn| log::after(conn, after, 7));
        let before = backward.first().map_or(u64::MAX, |event| event.seq);
        let older = ledger.read(move |conn| log::trace(conn, &Of::All, Edge::Before(before), 7));
        if page.is_empty() && older.is_empty() {
            break;
        }
        assert!(page.len() <= 7 && older.len() <= 7);
        forward.extend(page);
        backward.splice(0..0, older);
    }
    assert_eq!(forward, all);
    assert_eq!(backward, all);
    let trace: Vec<Recorded> = all.into_iter().filter(|event| event.brief == Some(BriefId(2))).collect();
    assert_eq!(read(&ledger, Of::Brief(BriefId(2)), Edge::After(0), 1_000), trace);
    assert_eq!(read(&ledger, Of::Brief(BriefId(2)), Edge::Before(u64::MAX), 2), trace[trace.len() - 2..]);
});

fn read(ledger: &Ledger, of: Of, edge: Edge, limit: u64) -> Vec<Recorded> {
    ledger.read(move |conn| log::trace(conn, &of, edge, limit))
}

on_both!(events_of_a_project_include_those_of_everything_in_it, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let all = ledger.events();
    let inside =
        ["worktree/1", "landing/1", "dispatch/1", "lease/1", "message/2", "agent/1", "agent/2", "permission/1"];
    for (project, briefs, streams) in
        [("web", &[1, 2, 3][..], &inside[..]), ("api", &[2], &[]), ("docs", &[4], &[]), ("' OR 1=1 --", &[], &[])]
    {
        let briefs: Vec<BriefId> = briefs.iter().copied().map(BriefId).collect();
        let own = format!("project/{project}");
        let is_its = |event: &&Recorded| {
            event.brief.is_some_and(|brief| briefs.contains(&brief))
                || event.stream == own
                || streams.contains(&event.stream.as_str())
        };
        let expected: Vec<Recorded> = all.iter().filter(is_its).cloned().collect();
        let of = || Of::Project(project.to_owned());
        assert_eq!(read(&ledger, of(), Edge::After(0), 1_000), expected, "{project}");
        let newest = read(&ledger, of(), Edge::Before(u64::MAX), 3);
        assert_eq!(newest, expected[expected.len().saturating_sub(3)..], "{project}");
        let (first, last) = (10, 40);
        let between = ledger.read(move |conn| log::of_project(conn, project, first, last));
        let seqs = expected.iter().map(|event| event.seq).filter(|seq| (first..=last).contains(seq));
        assert_eq!(between, seqs.collect(), "{project}");
    }
    let streams: Vec<&str> = all.iter().map(|event| event.stream.as_str()).collect();
    assert!(inside.iter().all(|stream| streams.contains(stream)), "{streams:?}");
});

// A spec may have a megabyte; pages stay small, and no event is skipped.
on_both!(long_texts_come_in_several_pages, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Long"));
    for version in 1..=6 {
        ledger.done(plan(BriefId(1), &format!("{version}").repeat(1_000_000)));
    }
    let first = ledger.read(|conn| log::after(conn, 0, 1_000));
    assert!(first.len() < 8, "{} events in one page", first.len());
    let all = ledger.events();
    check_log(&all);
    assert_eq!(all.len(), 8);
    assert_eq!(ledger.verified(), 8);
});

on_both!(refused_commands_record_nothing, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    let before = ledger.events();
    assert_eq!(
        ledger.refused(&operator(), &note(BriefId(7), "x")),
        Refusal::NoBrief { number: BriefId(7), newest: BriefId(1) }
    );
    assert!(matches!(ledger.refused(&operator(), &status(BriefId(1), Status::Landed)), Refusal::BadMove { .. }));
    assert!(matches!(ledger.refused(&worker(BriefId(2)), &note(BriefId(1), "x")), Refusal::Forbidden { .. }));
    assert!(matches!(ledger.refused(&operator(), &brief("")), Refusal::EmptyText { .. }));
    // A command that changes nothing records no event either.
    assert_eq!(ledger.done(status(BriefId(1), Status::Draft)), []);
    assert_eq!(ledger.events(), before);
    assert_eq!(ledger.rebuild(false).mended, Vec::<String>::new());
});

// Commands that wait together share a transaction; a refused command does not affect the others.
on_both!(refusals_leave_their_neighbours_alone, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    let answers = ledger.runtime.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                let (store, command) = (ledger.store.clone(), note(BriefId(1 + n % 2), "x"));
                tokio::spawn(async move { store.submit(operator(), command).await })
            })
            .collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        answers
    });
    for (n, answer) in answers.iter().enumerate() {
        match answer {
            Ok(events) => assert!(n % 2 == 0 && events.len() == 1, "{n}: {events:?}"),
            Err(error) => assert!(n % 2 == 1 && matches!(error, StoreError::Refused(_)), "{n}: {error}"),
        }
    }
    check_log(&ledger.events());
    assert_eq!(ledger.verified(), 52);
});

// A command that the rules accept but the database rejects, such as a duplicate id, fails alone.
on_both!(a_command_that_the_database_refuses_fails_alone, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    ledger.done(token("lane", None));
    // The commands wait for this transaction, and are then committed together.
    let mut conn = db.conn();
    conn.begin_write().unwrap();
    let submit = |command| {
        let store = ledger.store.clone();
        ledger.runtime.spawn(async move { store.submit(operator(), command).await })
    };
    let commands = (0..20).map(|n| if n == 10 { token("lane", None) } else { note(BriefId(1), &format!("note {n}")) });
    let tasks: Vec<_> = commands.map(submit).collect();
    conn.script("ROLLBACK").unwrap();
    for (n, task) in tasks.into_iter().enumerate() {
        let answer = ledger.runtime.block_on(task).unwrap();
        assert_eq!(answer.is_ok(), n != 10, "{n}: {answer:?}");
    }
    check_log(&ledger.events());
    assert_eq!(ledger.verified(), 3 + 19);
    assert_eq!(ledger.rebuild(false).mended, Vec::<String>::new());
});

on_both!(closing_waits_only_for_the_writer, |db: Database| {
    let ledger = Ledger::open(&db);
    let other = ledger.store.clone();
    let (told, hears) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        other.close();
        told.send(()).unwrap();
    });
    hears.recv_timeout(Duration::from_secs(60)).expect("another handle does not keep one from closing");
    ledger.done(brief("and the other goes on"));
    ledger.close();
    assert_eq!(Ledger::open(&db).verified(), 2);
});

on_both!(concurrent_commands_leave_no_gaps, |db: Database| {
    const TASKS: u64 = 64;
    const EACH: u64 = 6;
    let ledger = Ledger::open(&db);
    ledger.done(brief("Everybody's"));
    let acknowledged = ledger.runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let store = ledger.store.clone();
                tokio::spawn(async move {
                    let mut events = Vec::new();
                    for n in 0..EACH {
                        let command = if n % 3 == 0 {
                            brief(&format!("{task} {n}"))
                        } else {
                            note(BriefId(1), &format!("{task} {n}"))
                        };
                        events.extend(store.submit(operator(), command).await.expect("room for all"));
                    }
                    events
                })
            })
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.push(task.await.unwrap());
        }
        all
    });
    let events = ledger.events();
    check_log(&events);
    let per_task = |events: &[Recorded]| events.windows(2).all(|pair| pair[0].seq < pair[1].seq);
    assert!(acknowledged.iter().all(|events| per_task(events)), "each task's own order is kept");
    let mut acknowledged: Vec<Recorded> = acknowledged.concat();
    acknowledged.sort_by_key(|event| event.seq);
    assert_eq!(acknowledged, events[2..], "what was acknowledged is in the log, and nothing else");
    let numbers: BTreeSet<BriefId> =
        events.iter().filter(|e| e.kind == "brief_created").filter_map(|e| e.brief).collect();
    assert_eq!(numbers, (1..=1 + TASKS * EACH / 3).map(BriefId).collect(), "no number was given twice");
    assert_eq!(ledger.verified(), events.len() as u64);
    assert_eq!(ledger.rebuild(false).mended, Vec::<String>::new());
});

on_both!(the_database_refuses_to_change_events, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Retry failed uploads"));
    let before = ledger.events();
    let mut statements = vec![
        "UPDATE events SET body = '{}' WHERE seq = 1",
        "UPDATE events SET seq = seq",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events",
    ];
    if is_postgres(&db) {
        statements.push("TRUNCATE events");
        statements.push(
            "INSERT INTO events SELECT * FROM events WHERE seq = 1
             ON CONFLICT (seq) DO UPDATE SET body = '{}'",
        );
    } else {
        statements.push("INSERT OR REPLACE INTO events SELECT * FROM events WHERE seq = 1");
        statements.push(
            "REPLACE INTO events SELECT 9, stream, version, kind, schema, actor_type, actor_name, door, at,
             brief, '{}', prev, hash FROM events WHERE seq = 1",
        );
        statements.push("UPDATE OR REPLACE events SET seq = 1 WHERE seq = 2");
    }
    let mut conn = db.conn();
    for statement in statements {
        let error = conn.execute(statement, &[]).expect_err(statement);
        assert!(error.to_string().contains("append-only"), "{statement}: {error}");
    }
    assert_eq!(ledger.events(), before);
});
