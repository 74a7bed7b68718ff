//! Tables are derived from the log: a refill gives the same rows, and repairs rows that were changed by hand.

use crate::append::check_log;
use crate::databases::Database;
use crate::given::*;
use crate::ledger::Ledger;
use crate::tamper::insert_event;
use flower_core::{BriefId, Recorded, ScratchpadId, chain};
use flower_store::Conn;
use flower_store::conn::Row;
use flower_store::projection::TABLES;
use std::collections::BTreeMap;

/// Every row of every table, in an order that does not depend on the database.
fn rows(conn: &mut Conn) -> BTreeMap<&'static str, Vec<String>> {
    let read = |table: &&'static str| {
        // PostgreSQL's index column is computed from the others.
        let columns = if *table == "search_docs" { "id, brief, place, ref, title, body" } else { "*" };
        let rows: Vec<Row> = conn.rows(&format!("SELECT {columns} FROM {table}"), &[]).unwrap();
        let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        rows.sort();
        (*table, rows)
    };
    TABLES.iter().map(read).collect()
}

on_both!(a_rebuild_gives_the_same_rows, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let mut conn = db.conn();
    let before = rows(&mut conn);
    for table in TABLES {
        assert!(!before[table].is_empty(), "nothing in {table}: this test would prove nothing about it");
    }
    let rebuilt = ledger.rebuild(true);
    assert_eq!(rebuilt.mended, Vec::<String>::new());
    assert_eq!(rebuilt.events, ledger.events().len() as u64);
    assert_eq!(rebuilt.rows, before.values().map(|rows| rows.len() as u64).sum::<u64>());
    assert_eq!(rows(&mut conn), before);
    assert_eq!(ledger.search("uploads").len(), 2, "the index is there again too");
    ledger.done(note(BriefId(1), "and writing goes on"));
});

on_both!(a_rebuild_mends_what_was_changed_by_hand, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let mut conn = db.conn();
    let before = rows(&mut conn);
    let damage = [
        ("briefs", "UPDATE briefs SET status = 'landed' WHERE number = 2"),
        ("briefs", "DELETE FROM briefs WHERE number = 3"),
        ("brief_projects", "INSERT INTO brief_projects (project, brief) VALUES ('nowhere', 1)"),
        ("brief_needs", "DELETE FROM brief_needs"),
        ("spec_versions", "UPDATE spec_versions SET accepted = 1, markdown = markdown || ' '"),
        ("questions", "UPDATE questions SET answer = 'no'"),
        ("links", "DELETE FROM links WHERE kind = 'commit'"),
        ("scratchpads", "UPDATE scratchpads SET text = ''"),
        ("projects", "UPDATE projects SET root = '/elsewhere' WHERE name = 'api'"),
        ("tokens", "UPDATE tokens SET revoked_at = NULL"),
        ("worktrees", "UPDATE worktrees SET stage = 'removed', live = 0"),
        ("approvals", "DELETE FROM approvals"),
        ("former_names", "DELETE FROM former_names"),
        ("landings", "UPDATE landings SET open = 0"),
        ("landing_briefs", "DELETE FROM landing_briefs"),
        ("mains", "DELETE FROM mains"),
        ("dispatches", "UPDATE dispatches SET stage = 'landed'"),
        ("leases", "UPDATE leases SET live = 0"),
        ("breaches", "DELETE FROM breaches"),
        ("messages", "UPDATE messages SET recipient = 'nobody'"),
        ("remarks", "UPDATE remarks SET worktree = 'elsewhere'"),
        ("agents", "UPDATE agents SET live = 1"),
        ("spendings", "UPDATE spendings SET cost = 0"),
        ("permissions", "UPDATE permissions SET open = 1"),
        ("search_docs", "UPDATE search_docs SET title = 'something else' WHERE place = 'brief'"),
        ("search_words", "DELETE FROM search_words"),
        ("search_spellings", "DELETE FROM search_spellings WHERE word = 'uploads'"),
    ];
    for (table, sql) in damage {
        assert!(conn.execute(sql, &[]).unwrap() > 0, "{sql} changes something");
        assert_eq!(ledger.rebuild(false).mended, [table], "found without mending: {sql}");
        assert_ne!(rows(&mut conn), before, "a look changes nothing");
        assert_eq!(ledger.rebuild(true).mended, [table], "{sql}");
        assert_eq!(rows(&mut conn), before, "mended: {sql}");
        assert_eq!(ledger.rebuild(true).mended, Vec::<String>::new());
    }
    for table in TABLES {
        assert!(damage.iter().any(|(damaged, _)| damaged == table), "{table} was not damaged in this test");
    }
    assert_eq!(ledger.search("uploads").len(), 2);
});

/// An event that a newer flower would write: correctly chained, of an unknown kind.
fn from_the_future(conn: &mut Conn, after: &Recorded, kind: &str, schema: u64, brief: Option<BriefId>) -> Recorded {
    let mut event = Recorded {
        seq: after.seq + 1,
        stream: format!("future/{}", after.seq),
        version: 1,
        kind: kind.to_owned(),
        schema,
        brief,
        body: r#"{"where": "elsewhere", "how_far": 1.5}"#.to_owned(),
        prev: after.hash.clone(),
        ..after.clone()
    };
    event.hash = chain::hash(&event);
    insert_event(conn, &event);
    event
}

on_both!(an_event_of_a_newer_flower_is_kept, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let mut events = ledger.events();
    ledger.close();
    let mut conn = db.conn();
    let of = Some(BriefId(2));
    let new_events = [("brief_teleported", 1, of), ("fleet_moved", 1, None), ("status_changed", 2, of)];
    for (kind, schema, brief) in new_events {
        events.push(from_the_future(&mut conn, events.last().unwrap(), kind, schema, brief));
    }
    let ledger = Ledger::open(&db);
    assert_eq!(ledger.events(), events, "it is shown like any other");
    assert_eq!(ledger.verified(), events.len() as u64);
    assert_eq!(ledger.verify().unproved, 3);
    // Only the time of the last change of brief 2 can differ: the newer flower updated no tables here.
    let mended = ledger.rebuild(true).mended;
    assert!(mended.is_empty() || mended == ["briefs"], "{mended:?}");
    assert_eq!(ledger.rebuild(true).mended, Vec::<String>::new());
    assert_eq!(ledger.events(), events, "it outlives a rebuild");
    assert_eq!(ledger.done(note(BriefId(2), "and on"))[0].seq, events.len() as u64 + 1);
    check_log(&ledger.events());
});

// Words that are common to many texts, long texts, and appended texts are indexed in the same way both times.
on_both!(long_and_odd_texts_rebuild_alike, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("Ünïcödé – „quoted“ İstanbul ﬁne ﬀ ß ẞ ΑΣ Ⅷ x² ๑๒ हिन्दी 世界 🌱🌱"));
    let long: String = (0..20_000).map(|n| format!("word{} größe{}\n", n % 700, n % 13)).collect();
    ledger.done(plan(BriefId(1), &long));
    ledger.done(scratchpad("Log", Some(BriefId(1)), &long));
    for n in 0..3 {
        let text = format!("{long}{n}");
        ledger.done(flower_core::Command::WriteScratchpad { number: ScratchpadId(1), text, append: n < 2, base: None });
    }
    ledger.done(note(BriefId(1), &"a".repeat(60_000)));
    assert_eq!(ledger.rebuild(true).mended, Vec::<String>::new());
    assert_eq!(ledger.search("word699")[0].brief, Some(BriefId(1)));
});
