//! Behaviour of PostgreSQL only: several servers on one log.

use crate::append::check_log;
use crate::databases::{self, Database};
use crate::given::*;
use crate::ledger::{Ledger, head};
use crate::live::check_live;
use flower_core::{BriefId, Recorded};
use flower_store::StoreError;
use std::time::Duration;
use tempfile::TempDir;

/// Two servers on one database, each with its own home.
fn two_servers(db: &Database) -> (Ledger, Ledger, TempDir) {
    let elsewhere = TempDir::new().expect("a second home");
    let other = Ledger::open_at(db, elsewhere.path()).expect("the store opens");
    (Ledger::open(db), other, elsewhere)
}

/// Waits until the events up to `seq` have arrived; the duration is not tested.
fn wait_for(ledger: &Ledger, seq: u64) {
    let mut bell = ledger.store.live().subscribe();
    let arrived = ledger.runtime.block_on(async {
        tokio::time::timeout(Duration::from_secs(60), bell.wait_for(|&head| head >= seq)).await.is_ok()
    });
    assert!(arrived, "event {seq} did not come; the newest is {}", ledger.store.live().head());
}

#[test]
fn events_of_one_server_come_live_to_the_other() {
    let Some(db) = databases::postgres() else { return };
    let (one, other, _elsewhere) = two_servers(&db);
    one.done(brief("from one"));
    wait_for(&other, 2);
    other.done(note(BriefId(1), "from the other"));
    wait_for(&one, 3);
    one.done(plan(BriefId(1), "and back"));
    wait_for(&other, 4);
    let events = one.events();
    assert_eq!(other.events(), events);
    check_log(&events);
    check_live(one.store.live(), 0, &events);
    check_live(other.store.live(), 0, &events);
}

#[test]
fn commands_to_both_servers_leave_no_gaps() {
    const TASKS: u64 = 32;
    let Some(db) = databases::postgres() else { return };
    let (one, other, elsewhere) = two_servers(&db);
    one.done(brief("everybody's"));
    let submit = |ledger: &Ledger, task: u64| {
        let store = ledger.store.clone();
        ledger.runtime.spawn(async move {
            let mut events = Vec::new();
            for n in 0..4 {
                let command = if n == 0 { brief(&format!("{task}")) } else { note(BriefId(1), &format!("{task} {n}")) };
                events.extend(store.submit(operator(), command).await.expect("both are heard"));
            }
            events
        })
    };
    let tasks: Vec<_> = (0..TASKS).map(|task| submit(if task % 2 == 0 { &one } else { &other }, task)).collect();
    let mut acknowledged: Vec<Recorded> = Vec::new();
    for task in tasks {
        acknowledged.extend(one.runtime.block_on(task).unwrap());
    }
    acknowledged.sort_by_key(|event| event.seq);
    let events = one.events();
    check_log(&events);
    assert_eq!(acknowledged, events[2..]);
    for ledger in [&one, &other] {
        wait_for(ledger, events.len() as u64);
        check_live(ledger.store.live(), 0, &events);
        assert_eq!(ledger.verified(), events.len() as u64);
    }
    assert_eq!(one.rebuild(false).mended, Vec::<String>::new());
    // Each server proves the events that it has seen itself; later events of the other server are unproved, not lost.
    let proved = [head(db.home.path()), head(elsewhere.path())].map(|tail| tail.expect("a head").seq);
    assert!(proved.contains(&(events.len() as u64)), "{proved:?}");
}

#[test]
fn servers_that_start_together_make_one_database() {
    let Some(db) = &databases::postgres() else { return };
    let homes: Vec<TempDir> = (0..4).map(|_| TempDir::new().expect("a home")).collect();
    let ledgers: Vec<Ledger> = std::thread::scope(|scope| {
        let open = |home| scope.spawn(move || Ledger::open_at(db, TempDir::path(home)).expect("the store opens"));
        let threads: Vec<_> = homes.iter().map(open).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for ledger in &ledgers {
        ledger.done(brief("one more"));
    }
    assert_eq!(ledgers[0].verified(), 8);
}

// The name of a schema may have 63 bytes; the channel between servers is derived from it.
#[test]
fn a_schema_with_a_long_name_works() {
    let Some(db) = databases::postgres() else { return };
    let name = format!("long_{:_<58}", std::process::id());
    let mut conn = db.conn();
    conn.script(&format!("CREATE SCHEMA {name}")).unwrap();
    let flower_store::Location::Postgres(config) = &db.location else { panic!("PostgreSQL") };
    let mut config = config.clone();
    config.options(&format!("-csearch_path={name}"));
    let long = flower_store::Location::Postgres(config);
    let home = TempDir::new().expect("a home");
    let open = || flower_store::Store::open(&long, home.path(), std::sync::Arc::new(String::new), &mut |_| {});
    let (one, other) = (open().expect("the store opens"), open().expect("and again"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let recorded = runtime.block_on(one.submit(operator(), brief("one")));
    let heard = runtime.block_on(async {
        let mut bell = other.live().subscribe();
        tokio::time::timeout(Duration::from_secs(60), bell.wait_for(|&head| head >= 2)).await.is_ok()
    });
    one.close();
    other.close();
    conn.script(&format!("DROP SCHEMA {name} CASCADE")).unwrap();
    assert_eq!(recorded.expect("recorded").len(), 2);
    assert!(heard);
}

// The daemon ends inside its runtime, where closing a connection must not block.
#[test]
fn a_store_can_be_dropped_inside_a_runtime() {
    let Some(db) = databases::postgres() else { return };
    let Ledger { store, runtime } = Ledger::open(&db);
    runtime.block_on(async move {
        store.submit(operator(), brief("one")).await.expect("recorded");
        store.read(|conn| flower_store::log::after(conn, 0, 10)).await.expect("read");
        drop(store);
    });
}

#[test]
fn a_closed_connection_is_replaced() {
    let Some(db) = databases::postgres() else { return };
    let ledger = Ledger::open(&db);
    ledger.done(brief("one"));
    let mut conn = db.conn();
    conn.begin_write().unwrap();
    let store = ledger.store.clone();
    let waiting = ledger.runtime.spawn(async move { store.submit(operator(), note(BriefId(1), "lost")).await });
    let blocked = "SELECT pid FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    let writer = (0..10_000)
        .find_map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            conn.row(blocked, &[]).unwrap()
        })
        .expect("a write waits for another one to end");
    let writer = writer.int(0).unwrap();
    conn.script(&format!("SELECT pg_terminate_backend({writer})")).unwrap();
    let error = ledger.runtime.block_on(waiting).unwrap().expect_err("its connection is gone");
    conn.script("ROLLBACK").unwrap();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    assert!(!error.is_fatal());
    assert_eq!(ledger.done(note(BriefId(1), "kept"))[0].seq, 3, "the next command finds a new connection");
    assert_eq!(ledger.verified(), 3);
    let reader = ledger.read(|conn| conn.row("SELECT pg_backend_pid()", &[])?.expect("a row").int(0));
    conn.script(&format!("SELECT pg_terminate_backend({reader})")).unwrap();
    assert_eq!(ledger.events().len(), 3, "the next question too");
}
