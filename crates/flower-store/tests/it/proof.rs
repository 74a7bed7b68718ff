//! The head file: what it proves outside the database, and what happens if the log ends before the proved event.

use crate::append::check_log;
use crate::databases::Database;
use crate::given::*;
use crate::ledger::{Ledger, head};
use crate::tamper::drop_triggers;
use flower_core::{BriefId, Command, Event, Recorded, Refusal};
use flower_store::StoreError;
use flower_store::log::Tail;
use std::fs;

on_both!(the_head_file_follows_every_commit, |db: Database| {
    let ledger = Ledger::open(&db);
    assert_eq!(head(db.home.path()).map(|tail| tail.seq), Some(0));
    for title in ["one", "two", "three"] {
        let events = ledger.done(brief(title));
        let last = events.last().unwrap();
        assert_eq!(head(db.home.path()), Some(Tail { seq: last.seq, hash: last.hash.clone() }));
        let verdict = ledger.verify();
        assert_eq!((verdict.fault, verdict.proved, verdict.unproved), (None, Some(last.seq), 0));
    }
});

on_both!(a_head_file_that_lags_leaves_a_tail_unproved, |db: Database| {
    let ledger = Ledger::open(&db);
    let proved = ledger.done(brief("one")).last().unwrap().seq;
    let path = db.home.path().join("head");
    let old = fs::read(&path).unwrap();
    ledger.done(brief("two"));
    ledger.done(note(BriefId(2), "and a note"));
    let last = ledger.events().len() as u64;
    ledger.close();
    fs::write(&path, old).unwrap();
    let ledger = Ledger::open(&db);
    assert_eq!(ledger.store.cut(), None, "a kill between commit and head file loses nothing");
    let verdict = ledger.verify();
    assert_eq!((verdict.fault, verdict.verified), (None, last));
    assert_eq!((verdict.proved, verdict.unproved), (Some(proved), last - proved));
    ledger.done(note(BriefId(1), "the next commit proves all of it"));
    let verdict = ledger.verify();
    assert_eq!((verdict.proved, verdict.unproved), (Some(last + 1), 0));
});

on_both!(a_lost_or_damaged_head_file_is_begun_anew, |db: Database| {
    let path = db.home.path().join("head");
    let ledger = Ledger::open(&db);
    let last = ledger.done(brief("one")).last().unwrap().seq;
    ledger.close();
    let whole = fs::read_to_string(&path).unwrap();
    let damaged = [None, Some(String::new()), Some(whole[..40].to_owned()), Some(whole.replace(' ', "x"))];
    for text in damaged {
        match &text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let ledger = Ledger::open(&db);
        assert_eq!(ledger.store.cut(), None);
        assert_eq!(ledger.verify().proved, Some(last), "after {text:?}");
        ledger.close();
    }
});

/// A ledger whose last `lost` events were deleted while it was closed.
fn cut(db: &Database, lost: u64) -> (Vec<Recorded>, Ledger) {
    let ledger = Ledger::open(db);
    a_life(&ledger);
    let events = ledger.events();
    ledger.close();
    let mut conn = db.conn();
    let kept = events.len() as u64 - lost;
    drop_triggers(&mut conn);
    conn.execute("DELETE FROM events WHERE seq > $1", &[kept.into()]).unwrap();
    drop(conn);
    (events, Ledger::open(db))
}

on_both!(a_cut_log_is_read_and_not_written, |db: Database| {
    let (before, ledger) = cut(&db, 3);
    let kept = before.len() - 3;
    assert!(ledger.store.cut().is_some());
    let proved = head(db.home.path());
    for command in [note(BriefId(1), "one more"), brief("another"), status(BriefId(9), flower_core::Status::Done)] {
        let error = ledger.submit(&operator(), &command).expect_err("nothing is written over the evidence");
        assert!(matches!(error, StoreError::LogCut(_)), "{error}");
    }
    assert_eq!(ledger.events(), before[..kept], "what is left can be read");
    let fault = ledger.verify().fault.expect("the cut is found");
    assert_eq!(fault.seq, kept as u64 + 1);
    assert!(fault.what.contains("cut"), "{}", fault.what);
    assert_eq!(head(db.home.path()), proved, "the proof is kept");
    ledger.close();
    assert!(Ledger::open(&db).store.cut().is_some(), "and it stays so");
});

on_both!(only_the_operator_accepts_a_loss, |db: Database| {
    let (before, ledger) = cut(&db, 2);
    let proved = head(db.home.path());
    let error = ledger.accept_loss(&worker(BriefId(1))).expect_err("a worker has no say in it");
    assert!(matches!(error, StoreError::Refused(Refusal::Forbidden { .. })), "{error}");
    let error = ledger.submit(&operator(), &note(BriefId(1), "x")).expect_err("the loss is not accepted");
    assert!(matches!(error, StoreError::LogCut(_)), "{error}");
    assert_eq!(head(db.home.path()), proved, "the proof of what was lost is not written over");
    assert!(ledger.store.cut().is_some());
    assert_eq!(ledger.events(), before[..before.len() - 2]);
});

on_both!(an_accepted_loss_is_recorded_and_writing_goes_on, |db: Database| {
    let (before, ledger) = cut(&db, 5);
    let (kept, proved) = (before.len() - 5, before.last().unwrap());
    let recorded = ledger.accept_loss(&operator()).expect("the operator may");
    assert_eq!(recorded.len(), 1);
    let Ok(Event::LossAccepted(loss)) = recorded[0].event() else { panic!("{recorded:?}") };
    assert_eq!((loss.proved_seq, &loss.proved_hash), (proved.seq, &proved.hash));
    assert_eq!((loss.found_seq, &loss.found_hash), (kept as u64, &before[kept - 1].hash));
    assert_eq!((recorded[0].stream.as_str(), recorded[0].actor_name.as_str()), ("log", "mike"));
    assert_eq!(ledger.store.cut(), None, "writing is enabled again");
    assert_eq!(ledger.rebuild(false).mended, Vec::<String>::new(), "what was lost is gone from the tables too");
    ledger.done(note(BriefId(1), "and on"));
    let events = ledger.events();
    check_log(&events);
    assert_eq!(events[..kept], before[..kept]);
    assert_eq!(ledger.verified(), kept as u64 + 2);
    ledger.close();
    let ledger = Ledger::open(&db);
    assert_eq!(ledger.store.cut(), None);
    assert_eq!(ledger.verify().unproved, 0);
});

on_both!(without_a_loss_there_is_nothing_to_accept, |db: Database| {
    let ledger = Ledger::open(&db);
    ledger.done(brief("one"));
    let before = ledger.events();
    assert_eq!(ledger.accept_loss(&operator()).unwrap(), []);
    assert_eq!(ledger.events(), before);
});

// The whole log was deleted, and another one started in its place.
on_both!(another_log_in_its_place_is_noticed, |db: Database| {
    let (before, ledger) = cut(&db, 0);
    ledger.close();
    let mut conn = db.conn();
    conn.script("DELETE FROM events").unwrap();
    let mut event = before[0].clone();
    event.body = event.body.replace("web", "elsewhere");
    for seq in 1..=before.len() as u64 + 1 {
        event.seq = seq;
        event.version = seq;
        event.hash = flower_core::chain::hash(&event);
        crate::tamper::insert_event(&mut conn, &event);
        event.prev.clone_from(&event.hash);
    }
    drop(conn);
    let ledger = Ledger::open(&db);
    let error = ledger.submit(&operator(), &Command::RevokeToken { id: "x".into() }).expect_err("not our log");
    assert!(matches!(error, StoreError::LogCut(_)), "{error}");
});
