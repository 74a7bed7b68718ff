//! A restart with many events is quick, and a start that is killed on its way does no harm.

use crate::reliability::harness::{Home, count, random};
use crate::reliability::ledger::{Client, Ledger};
use flower_core::BriefId;
use flower_core::{BriefKind, Caller, Command};
use flower_store::{Location, Store};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// From starting the program to its first answer.
const MOST: Duration = Duration::from_secs(2);

#[test]
fn a_restart_with_many_events_serves_within_two_seconds() {
    let events = count(10_000, 100_000);
    let home = Home::new();
    let start = Instant::now();
    fill(&home, events);
    let filled = start.elapsed();
    let mut took = Vec::new();
    for _ in 0..count(3, 10) {
        let start = Instant::now();
        let daemon = home.start();
        let status = daemon.http().get("/api/status").expect("an answer").ok();
        took.push(start.elapsed());
        assert!(status["last_event"].as_u64() >= Some(events as u64), "{status}");
        // The next one finds a log that was not closed.
        let mut client = Client::new("restart", 1);
        assert_eq!(client.ask_for_note(&mut daemon.http()).expect("an answer").status, 200);
        daemon.kill();
    }
    took.sort();
    // A busy disk can hold up one of them; the one in the middle is what a restart takes.
    let (usual, slowest) = (took[took.len() / 2], took[took.len() - 1]);
    eprintln!(
        "R3: {events} events (made in {:.1} s): {} restarts after a kill, from start to first answer {:.0} ms, at most \
         {:.0} ms",
        filled.as_secs_f64(),
        took.len(),
        usual.as_secs_f64() * 1e3,
        slowest.as_secs_f64() * 1e3,
    );
    assert!(usual <= MOST, "{took:?}");
    let verdict = home.cli(&["log", "verify", "--json"]);
    assert_eq!(verdict.code, Some(0), "{verdict:?}");
}

#[test]
fn a_start_that_was_killed_does_no_harm() {
    let kills = count(20, 200);
    let home = Home::new();
    let mut ledger = Ledger::default();
    let daemon = home.start();
    home.make_project(&daemon);
    let brief = Ledger::new_brief(&daemon);
    daemon.kill();
    let start = Instant::now();
    home.start().kill();
    let usual = start.elapsed().as_micros() as u64;
    for kill in 0..kills {
        // Leave something to recover.
        if kill % 5 == 0 {
            let daemon = home.start();
            let mut http = daemon.http();
            ledger.compare(&mut http);
            let mut client = Client::new(kill.to_string(), brief);
            for _ in 0..5 {
                assert_eq!(client.ask(&mut http).expect("an answer").status, 200);
            }
            ledger.take(client);
            daemon.kill();
        }
        let starting = home.begin_start();
        std::thread::sleep(Duration::from_micros(random(usual + usual / 4)));
        starting.kill();
    }
    let daemon = home.start();
    ledger.compare_all(&mut daemon.http());
    home.assert_log_holds();
    eprintln!(
        "R3: {kills} kills of a start with a log to recover (it takes {} ms); {} acknowledged, 0 lost",
        usual / 1_000,
        ledger.acknowledged()
    );
}

#[test]
fn a_first_start_that_was_killed_does_no_harm() {
    let kills = count(20, 200);
    let mut usual = 0;
    for kill in 0..=kills {
        let home = Home::new();
        let start = Instant::now();
        let starting = home.begin_start();
        if kill == 0 {
            starting.until_ready().map(|daemon| daemon.kill()).expect("a first start");
            usual = start.elapsed().as_micros() as u64;
            continue;
        }
        std::thread::sleep(Duration::from_micros(random(usual + usual / 4)));
        starting.kill();
        let daemon = home.start();
        home.make_project(&daemon);
        Ledger::new_brief(&daemon);
        home.assert_log_holds();
    }
    eprintln!("R3: {kills} kills of a first start (it takes {} ms), every next start fine", usual / 1_000);
}

#[test]
fn a_refill_that_was_killed_does_no_harm() {
    let kills = count(10, 100);
    let home = Home::new();
    fill(&home, 500);
    let mut usual = 0;
    for kill in 0..=kills {
        // The tables are stale, as after an upgrade: the start fills them anew.
        let db = rusqlite::Connection::open(home.file("flower.db")).expect("the database");
        db.execute_batch("UPDATE flower_schema SET projection = 0; DELETE FROM briefs WHERE number > 3;")
            .expect("stale");
        drop(db);
        let start = Instant::now();
        let starting = home.begin_start();
        if kill == 0 {
            starting.until_ready().map(|daemon| daemon.kill()).expect("a refill");
            usual = start.elapsed().as_micros() as u64;
            continue;
        }
        std::thread::sleep(Duration::from_micros(random(usual)));
        starting.kill();
    }
    let daemon = home.start();
    home.assert_log_holds();
    drop(daemon);
    eprintln!(
        "R3: {kills} kills while the tables are filled anew (it takes {} ms); afterwards they are right",
        usual / 1_000
    );
}

/// A log of at least so many events, made through the store: many commands at once share a transaction.
fn fill(home: &Home, events: usize) {
    const BRIEFS: usize = 100;
    const AT_ONCE: usize = 1_000;
    fs::create_dir_all(home.dir()).expect("a folder");
    let location = Location::Sqlite(home.file("flower.db"));
    let store = Store::open(&location, &home.dir(), Arc::new(flower_engine::now), &mut |_| {}).expect("a store");
    let project = Command::RegisterProject { name: "p".into(), root: "/nowhere".into() };
    let brief = |n: usize| {
        Command::CreateBrief(flower_core::brief::Request {
            title: format!("Brief {n}"),
            kind: BriefKind::Feature,
            spec: None,
            projects: vec!["p".into()],
            epic: None,
            needs: Vec::new(),
            auto_dispatch: false,
            design_loop: false,
        })
    };
    let note = |n: usize| Command::AddNote {
        brief: BriefId((n % BRIEFS) as u64 + 1),
        text: format!("note {n}: the build is green, the page opens, the next step is the second screen"),
        comment: false,
        images: Vec::new(),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let record = |commands: Vec<Command>| {
        runtime.block_on(async {
            let mut pending = JoinSet::new();
            for command in commands {
                let store = store.clone();
                pending.spawn(async move { store.submit(Caller::system(), command).await });
            }
            while let Some(done) = pending.join_next().await {
                done.expect("no panic").expect("it is recorded");
            }
        });
    };
    record(vec![project]);
    record((0..BRIEFS).map(brief).collect());
    let numbers: Vec<usize> = (0..events).collect();
    for some in numbers.chunks(AT_ONCE) {
        record(some.iter().map(|n| note(*n)).collect());
    }
    store.close();
}
