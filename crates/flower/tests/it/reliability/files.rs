//! The daemon runs out of file descriptors. It survives, and answers again once connections have closed.

use crate::reliability::harness::{Home, wait_until};
use crate::reliability::http::Http;
use crate::reliability::ledger::{Client, Ledger};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

#[test]
fn a_daemon_without_free_files_survives() {
    // Soft and hard limit, so that the daemon cannot raise it.
    const FILES: u32 = 48;
    let home = Home::new().with_most_files(FILES);
    let mut ledger = Ledger::default();
    let mut daemon = home.start();
    home.make_project(&daemon);
    let brief = Ledger::new_brief(&daemon);
    let mut early = daemon.http();
    let mut client = Client::new("before", brief);
    assert_eq!(client.ask(&mut early).expect("an answer").status, 200);
    // The kernel takes connections up to the backlog, whether the daemon has files for them or not.
    let mut crowd: Vec<TcpStream> = Vec::new();
    let mut more: Vec<UnixStream> = Vec::new();
    for _ in 0..FILES * 2 {
        crowd.extend(TcpStream::connect(("127.0.0.1", daemon.port)));
        more.extend(UnixStream::connect(home.file("flower.sock")));
    }
    wait_until("it has no files left", || daemon.narration().contains("cannot accept"));
    // Who was there before is served, or told to come back; nothing is acknowledged that is not stored.
    let (mut stored, mut refused) = (0, 0);
    for _ in 0..20 {
        match client.ask(&mut early).expect("an answer").status {
            200 => stored += 1,
            503 => refused += 1,
            other => panic!("{other}"),
        }
        let picture = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0";
        let status = early.upload("/api/images", picture).expect("an answer").status;
        assert!([200, 503].contains(&status), "{status}");
    }
    let waiting = crowd.len() + more.len();
    drop((crowd, more));
    wait_until("it answers new connections", || {
        Http::over_tcp(daemon.port, &daemon.token())
            .and_then(|mut http| http.get("/api/status"))
            .is_ok_and(|answer| answer.status == 200)
    });
    for _ in 0..10 {
        assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
    }
    assert!(daemon.has_ended().is_none());
    ledger.take(client);
    ledger.compare_all(&mut daemon.http());
    home.assert_log_holds();
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.wait(Duration::from_secs(6)).0.success(), "{}", daemon.narration());
    eprintln!(
        "R8: {FILES} files, {waiting} connections: {stored} stored and {refused} refused meanwhile, answers again after they \
         closed; {} acknowledged, 0 lost",
        ledger.acknowledged()
    );
}
