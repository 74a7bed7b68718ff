//! One daemon per home and one per repository, also when several start at the same moment.

use crate::reliability::harness::{
    Daemon, Failure, Home, count, make_repository, message_and_hint, random, signal, wait_until,
};
use crate::reliability::ledger::Ledger;
use rustix::process::Signal;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn one_of_two_daemons_serves() {
    let races = count(20, 200);
    for race in 0..races {
        let home = Home::new();
        if race % 2 == 1 {
            // The second half of a home's life: there are files of a daemon that is dead.
            home.start().kill();
        }
        let line = Barrier::new(2);
        let ended: Vec<Result<Daemon, Failure>> = thread::scope(|scope| {
            let start = || {
                line.wait();
                home.try_start()
            };
            let both = [scope.spawn(start), scope.spawn(start)];
            both.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let winner = ended.iter().find_map(|one| one.as_ref().ok()).expect("one of them serves");
        let losers: Vec<&Failure> = ended.iter().filter_map(|one| one.as_ref().err()).collect();
        assert_eq!(losers.len(), 1, "both serve");
        assert_eq!(losers[0].code, Some(4), "{:?}", losers[0]);
        let (message, hint) = message_and_hint(&losers[0].problem);
        assert!(message.contains(&format!("(process {})", winner.pid())), "{message}, but it is {}", winner.pid());
        assert!(hint.contains("flower down"), "{hint}");
        assert_eq!(winner.http().get("/api/status").expect("an answer").ok()["pid"], winner.pid());
    }
    eprintln!("R15: {races} races of two daemons for one home: one served each time, the other named it");
}

#[test]
fn one_of_two_homes_serves_a_repository() {
    let races = count(10, 100);
    let homes = [Home::new(), Home::new()];
    let daemons = [homes[0].start(), homes[1].start()];
    let mut won = [0, 0];
    for race in 0..races {
        let repository = make_repository(&homes[0].root().join(format!("repository-{race}")));
        let line = Barrier::new(2);
        let init = |home: &Home| {
            line.wait();
            home.cli_in(&repository, &["init", "--json"])
        };
        let said: Vec<_> = thread::scope(|scope| {
            let both = [scope.spawn(|| init(&homes[0])), scope.spawn(|| init(&homes[1]))];
            both.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let winner = said.iter().position(|said| said.code == Some(0)).expect("one of them wins");
        won[winner] += 1;
        let loser = 1 - winner;
        assert_eq!(said[loser].code, Some(4), "{:?}", said[loser]);
        let (message, _) = message_and_hint(&said[loser].problem());
        let theirs = homes[winner].dir().display().to_string();
        assert!(message.contains(&theirs), "{message}, but it is {theirs}");
        assert!(message.contains(&format!("(process {})", daemons[winner].pid())), "{message}");
        let projects = daemons[loser].http().get("/api/projects").expect("an answer").ok();
        assert!(!projects.to_string().contains(&format!("repository-{race}\"")), "{projects}");
    }
    eprintln!("R15: {races} races of two homes for one repository: won {won:?}, every loser named the other home");
}

#[test]
fn a_repository_that_changes_hands_has_one_flower_at_a_time() {
    let turns = count(50, 1_000);
    let homes = [Home::new(), Home::new(), Home::new()];
    let daemons = homes.each_ref().map(Home::start);
    let repository = make_repository(&homes[0].root().join("repository"));
    let start = Instant::now();
    let (serving, taken, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for daemon in &daemons {
            scope.spawn(|| {
                let mut http = daemon.http();
                // Bounded also by time, for when another of them has failed with the repository in its hands.
                while taken.load(Ordering::Relaxed) < turns && start.elapsed() < Duration::from_secs(120) {
                    let answer = http.post("/api/projects", &json!({ "dir": repository })).expect("an answer");
                    if answer.status == 409 {
                        refused.fetch_add(1, Ordering::Relaxed);
                        // The daemon that serves it needs the processor to let go.
                        thread::sleep(Duration::from_micros(random(500)));
                        continue;
                    }
                    let name = answer.ok()["name"].as_str().expect("a name").to_owned();
                    assert_eq!(serving.fetch_add(1, Ordering::SeqCst), 0, "two flowers serve one repository");
                    taken.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_micros(random(500)));
                    serving.fetch_sub(1, Ordering::SeqCst);
                    // Letting go removes the lock's file, which others are about to take.
                    let path = format!("/api/projects/{name}");
                    let removed = http.call("DELETE", &path, "application/json", b"").expect("an answer");
                    assert_eq!(removed.status, 200, "{removed:?}");
                }
            });
        }
    });
    eprintln!("R15: one repository changed hands {taken:?} times between 3 homes ({refused:?} refused), one at a time");
}

#[test]
fn many_commands_at_once_start_one_daemon() {
    const COMMANDS: usize = 8;
    let rounds = count(4, 40);
    for round in 0..rounds {
        let home = Home::new();
        let repository = make_repository(&home.root().join("repository"));
        if round % 2 == 1 {
            home.start().kill();
        }
        let line = Barrier::new(COMMANDS);
        let said: Vec<_> = thread::scope(|scope| {
            let commands: Vec<_> = (0..COMMANDS)
                .map(|n| {
                    let (line, home, repository) = (&line, &home, &repository);
                    scope.spawn(move || {
                        line.wait();
                        match n % 2 {
                            0 => home.cli_in(repository, &["brief", "new", &format!("Brief {n}"), "--json"]),
                            _ => home.cli_in(repository, &["status", "--json"]),
                        }
                    })
                })
                .collect();
            commands.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let failed: Vec<_> = said.iter().filter(|said| said.code != Some(0)).collect();
        assert!(failed.is_empty(), "{failed:?}");
        let pids: BTreeSet<u64> = said.iter().filter_map(|said| said.json()["pid"].as_u64()).collect();
        assert_eq!(pids, BTreeSet::from([u64::from(home.holder().expect("a daemon runs"))]));
        let numbers: BTreeSet<u64> = said.iter().filter_map(|said| said.json()["number"].as_u64()).collect();
        assert_eq!(numbers, (1..=COMMANDS as u64 / 2).collect(), "each brief has a number of its own");
    }
    eprintln!("R15: {rounds} times {COMMANDS} commands at once without a daemon: all succeeded, one daemon each time");
}

#[test]
fn a_command_while_the_daemon_ends_gets_the_next_one() {
    let rounds = count(1, 20);
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds {
        let home = Home::new();
        let daemon = home.start();
        home.make_project(&daemon);
        Ledger::new_brief(&daemon);
        // A request that never ends keeps the old daemon for as long as it may drain.
        let mut slow = daemon.http();
        let head = slow.head("POST", "/api/briefs", "application/json", 1_000);
        slow.send(&head).expect("it is sent");
        slow.send(b"{").expect("it is sent");
        thread::sleep(Duration::from_millis(20));
        daemon.signal(Signal::TERM);
        wait_until("it takes no connections", || {
            std::os::unix::net::UnixStream::connect(home.file("flower.sock")).is_err()
        });
        let said = home.cli(&["brief", "note", "1", "during the change", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        slowest = slowest.max(said.took);
        assert_ne!(home.holder(), Some(daemon.pid()));
    }
    eprintln!(
        "R15: {rounds} commands while a daemon ended: all served by the next one, after {:.1} s at most",
        slowest.as_secs_f64()
    );
}

#[test]
fn starts_and_stops_at_once_end_well() {
    let rounds = count(10, 100);
    for _ in 0..rounds {
        let home = Home::new();
        let daemon = home.start();
        home.make_project(&daemon);
        drop(daemon);
        let said: Vec<_> = thread::scope(|scope| {
            let commands: Vec<_> = ["status", "down", "status", "down", "status"]
                .into_iter()
                .map(|verb| {
                    let home = &home;
                    scope.spawn(move || {
                        thread::sleep(Duration::from_millis(random(60)));
                        (verb, home.cli(&[verb, "--json"]))
                    })
                })
                .collect();
            commands.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        for (verb, said) in said {
            // A daemon that another command ends under its hands is a clean error; it is never a wait without end.
            assert!(said.code == Some(0) || (verb == "status" && said.code == Some(5)), "{said:?}");
            assert!(said.took < Duration::from_secs(20), "{said:?}");
        }
        if let Some(pid) = home.holder() {
            signal(pid, Signal::TERM);
            wait_until("it is gone", || home.holder().is_none());
        }
        home.assert_log_holds();
    }
    eprintln!("R15: {rounds} times starts and stops at once: no command hung");
}
