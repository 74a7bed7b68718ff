//! The daemon ends within five seconds of being told to, with any clients connected, and keeps all it has acknowledged.

use crate::reliability::harness::{Daemon, FLOWER, Home, count, wait_until};
use crate::reliability::http::Http;
use crate::reliability::ledger::{Client, Ledger};
use rustix::process::Signal;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MOST: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
enum How {
    Down,
    Signal(Signal),
}

#[test]
fn an_order_to_end_is_followed_in_time() {
    let rounds = count(1, 20);
    for _ in 0..rounds {
        let orders = [How::Down, How::Signal(Signal::TERM), How::Signal(Signal::INT)];
        thread::scope(|scope| {
            for how in orders {
                scope.spawn(move || drain(how, true));
                scope.spawn(move || drain(how, false));
            }
        });
    }
    eprintln!("R13: {} orders to end, all followed within {MOST:?}, 0 acknowledged lost", rounds * 6);
}

/// `hung` adds those who would keep the daemon for ever.
fn drain(how: How, hung: bool) {
    let home = Home::new();
    let mut ledger = Ledger::default();
    let mut daemon = home.start();
    home.make_project(&daemon);
    let brief = Ledger::new_brief(&daemon);
    let patient = listen(&daemon, "/api/events?after=0");
    let idle = daemon.http();
    let slow = hung.then(|| (half_sent(&daemon), stuck_reader(&daemon)));
    let (asked, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (clients, took) = thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|n| {
                let mut http = if n == 0 { daemon.http_over_socket() } else { daemon.http() };
                let (asked, ended) = (&asked, &ended);
                scope.spawn(move || {
                    let mut client = Client::new(format!("drain-{n}"), brief);
                    while let Ok(answer) = client.ask(&mut http) {
                        // What comes too late is refused, not dropped.
                        assert!([200, 503].contains(&answer.status), "{answer:?}");
                        asked.fetch_add(1, Ordering::Relaxed);
                    }
                    // No client is cut off before the order came.
                    assert!(ended.load(Ordering::Relaxed));
                    client
                })
            })
            .collect();
        wait_until("all clients are at work", || asked.load(Ordering::Relaxed) > 10);
        ended.store(true, Ordering::Relaxed);
        let start = Instant::now();
        match how {
            How::Down => {
                let said = home.cli(&["down", "--json"]);
                assert_eq!((said.code, said.json()["pid"].as_u64()), (Some(0), Some(daemon.pid().into())), "{said:?}");
            }
            How::Signal(signal) => daemon.signal(signal),
        }
        let (status, _) = daemon.wait(Duration::from_secs(10));
        let took = start.elapsed();
        assert!(status.success(), "{status}: {}", daemon.narration());
        (writers.into_iter().map(|one| one.join().expect("a client does not fail")).collect::<Vec<_>>(), took)
    });
    drop((patient, idle, slow));
    for client in clients {
        ledger.take(client);
    }
    assert!(!home.file("flower.sock").exists(), "it ended without tidying up");
    let daemon = home.start();
    ledger.compare_all(&mut daemon.http());
    home.assert_log_holds();
    let whom = if hung { "with hanging requests" } else { "with writers and readers" };
    eprintln!(
        "R13: {how:?} {whom}: gone after {:.2} s; {} acknowledged, 0 lost",
        took.as_secs_f64(),
        ledger.acknowledged()
    );
    assert!(took <= MOST, "{how:?} {whom}: {took:?}");
}

/// A reader of live events, at work.
fn listen(daemon: &Daemon, path: &str) -> thread::JoinHandle<usize> {
    let mut http = daemon.http();
    assert_eq!(http.stream(path).expect("an answer"), 200);
    thread::spawn(move || {
        let mut chunks = 0;
        while http.chunk().is_ok_and(|chunk| !chunk.is_empty()) {
            chunks += 1;
        }
        chunks
    })
}

/// A reader of live events that takes nothing.
fn stuck_reader(daemon: &Daemon) -> Http {
    let mut http = daemon.http();
    assert_eq!(http.stream("/api/events?after=0").expect("an answer"), 200);
    http
}

/// A request whose body never comes to its end.
fn half_sent(daemon: &Daemon) -> Http {
    let mut http = daemon.http();
    let head = http.head("POST", "/api/briefs", "application/json", 1_000);
    http.send(&head).and_then(|()| http.send(b"{\"title\": \"ha")).expect("it is sent");
    http
}

#[test]
fn a_daemon_that_does_not_hear_is_ended() {
    let home = Home::new();
    let mut ledger = Ledger::default();
    let mut daemon = home.start();
    home.make_project(&daemon);
    let mut client = Client::new("stopped", Ledger::new_brief(&daemon));
    for _ in 0..5 {
        assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
    }
    ledger.take(client);
    daemon.signal(Signal::STOP);
    let said = home.cli(&["down", "--json"]);
    assert_eq!((said.code, said.json()["pid"].as_u64()), (Some(0), Some(daemon.pid().into())), "{said:?}");
    daemon.wait(Duration::from_secs(5));
    let took = said.took;
    let daemon = home.start();
    ledger.compare_all(&mut daemon.http());
    home.assert_log_holds();
    eprintln!("R13: `flower down` of a stopped process: gone after {:.1} s, 0 lost", took.as_secs_f64());
}

#[test]
fn a_daemon_that_cannot_narrate_ends_well() {
    let home = Home::new();
    let first = home.start();
    home.make_project(&first);
    drop(first);
    // Every write to this device finds it full, as a log on a full disk does.
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut child = home
        .command(&["up", "--foreground"])
        .stdout(Stdio::null())
        .stderr(full)
        .spawn()
        .unwrap_or_else(|error| panic!("{FLOWER}: {error}"));
    wait_until("it serves", || home.file("flower.sock").exists() && home.cli(&["status"]).code == Some(0));
    assert_eq!(home.holder(), Some(child.id()));
    assert_eq!(home.cli(&["brief", "new", "x"]).code, Some(0));
    crate::reliability::harness::signal(child.id(), Signal::TERM);
    let status = child.wait().expect("our own child");
    assert_eq!(status.code(), Some(0), "{status}");
    home.assert_log_holds();
}
