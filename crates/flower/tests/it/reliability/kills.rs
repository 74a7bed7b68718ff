//! `kill -9` at random moments while clients write. Nothing that was acknowledged is lost, and the chain holds.

use crate::reliability::harness::{Home, count, random};
use crate::reliability::http::Http;
use crate::reliability::ledger::{Client, Ledger};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const CLIENTS: usize = 6;

#[test]
fn acknowledged_events_survive_kills() {
    let kills = count(25, 1_000);
    let home = Home::new();
    let mut ledger = Ledger::default();
    let mut brief = 0;
    for kill in 0..kills {
        let daemon = home.start();
        if kill == 0 {
            home.make_project(&daemon);
        }
        // A trace that does not grow for ever keeps the rounds alike.
        if kill % 20 == 0 {
            brief = Ledger::new_brief(&daemon);
        }
        ledger.compare(&mut daemon.http());
        let answers = AtomicUsize::new(0);
        let after = random(40) as usize;
        let clients: Vec<Client> = thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|n| {
                    let http = if n % 2 == 0 { daemon.http() } else { daemon.http_over_socket() };
                    let client = Client::new(format!("{kill}-{n}"), brief);
                    let answers = &answers;
                    scope.spawn(move || write_until_cut_off(client, http, answers))
                })
                .collect();
            // All clients are busy from the first answer on; the time of the kill is random from there.
            while answers.load(Ordering::Relaxed) < after {
                thread::sleep(Duration::from_micros(200));
            }
            thread::sleep(Duration::from_micros(random(4_000)));
            daemon.kill();
            clients.into_iter().map(|client| client.join().expect("a client does not fail")).collect()
        });
        for client in clients {
            ledger.take(client);
        }
    }
    let daemon = home.start();
    ledger.compare(&mut daemon.http());
    ledger.compare_all(&mut daemon.http());
    let verdict = home.assert_log_holds();
    assert_eq!(verdict["verified"], ledger.events());
    eprintln!(
        "R1: {kills} kills with {CLIENTS} clients at work; {} acknowledged, 0 lost; {} cut off, of these {} recorded, all \
         whole; {} events, chain and tables hold",
        ledger.acknowledged(),
        ledger.unacknowledged(),
        ledger.recorded_unacknowledged(),
        ledger.events(),
    );
    assert!(ledger.recorded_unacknowledged() > 0, "no kill came between a commit and its answer: they miss the work");
}

/// Asks without pause; the last request is the one that was cut off.
fn write_until_cut_off(mut client: Client, mut http: Http, answers: &AtomicUsize) -> Client {
    while let Ok(answer) = client.ask(&mut http) {
        assert_eq!(answer.status, 200, "{answer:?}");
        answers.fetch_add(1, Ordering::Relaxed);
    }
    client
}
