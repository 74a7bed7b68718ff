//! A disk fails. What could not be stored is not acknowledged, a failed sync is never tried again, and the daemon
//! ends by itself; the next start finds everything that was acknowledged.

use crate::reliability::harness::{Daemon, Home, count, message_and_hint, random};
use crate::reliability::http::Http;
use crate::reliability::ledger::{Client, Ledger};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

const SYNC: &str = "fsync,fdatasync";
const WRITE: &str = "write,pwrite,pwrite64";
const WAL: &str = "flower.db-wal";
/// The numbers of Linux.
const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const FOREVER: usize = 1_000_000;

/// What is preloaded into the daemon, compiled.
struct Shim {
    folder: TempDir,
}

impl Shim {
    fn compile() -> Shim {
        let folder = TempDir::with_prefix("flower-faults-").expect("a temporary folder");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/reliability/faults.c");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(folder.path().join("faults.so"));
        let status = compile.args([source, "-ldl"]).status();
        assert!(status.expect("a C compiler, which SQLite needs as well").success());
        Shim { folder }
    }

    fn home(&self) -> Faulty {
        let home = Home::new();
        let control = home.root().join("faults");
        let home = home.with_environment("LD_PRELOAD", self.folder.path().join("faults.so"));
        Faulty { home: home.with_environment("FLOWER_TEST_FAULTS", &control), control }
    }
}

/// A home whose disk fails on demand.
struct Faulty {
    home: Home,
    control: PathBuf,
}

impl Faulty {
    /// From now on, the `times` calls after the first `skip` ones on the file `name` fail.
    fn fail(&self, calls: &str, name: &str, errno: i32, skip: usize, times: usize) {
        let draft = self.control.with_extension("draft");
        fs::write(&draft, format!("{calls} {name} {errno} {skip} {times} {}\n", random(u64::MAX >> 2) + 1))
            .expect("a file");
        fs::rename(draft, &self.control).expect("a file");
    }

    fn work_again(&self) {
        fs::remove_file(&self.control).expect("faults were ordered");
    }

    /// What was called since the first order, as `call name result`.
    fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.control.with_extension("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// A daemon with a project and a brief for notes.
    fn start_first(&self) -> (Daemon, u64) {
        let daemon = self.home.start();
        self.home.make_project(&daemon);
        let brief = Ledger::new_brief(&daemon);
        (daemon, brief)
    }
}

/// Writes with several clients at once until each is refused or cut off. No client may be answered 200 after a failed sync.
fn write_until_refused(daemon: &Daemon, brief: u64, ledger: &mut Ledger, name: &str) -> Vec<u16> {
    let clients: Vec<(Client, Option<u16>)> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|n| {
                let mut http = if n == 0 { daemon.http_over_socket() } else { daemon.http() };
                let mut client = Client::new(format!("{name}-{n}"), brief);
                scope.spawn(move || {
                    for _ in 0..2_000 {
                        match client.ask(&mut http) {
                            Ok(answer) if answer.status == 200 => {}
                            Ok(answer) => {
                                let (_, hint) = message_and_hint(&answer.problem());
                                assert!(!hint.is_empty());
                                return (client, Some(answer.status));
                            }
                            Err(_) => return (client, None),
                        }
                    }
                    panic!("nothing fails");
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("a client does not fail")).collect()
    });
    let mut statuses = Vec::new();
    for (client, status) in clients {
        statuses.extend(status);
        ledger.take(client);
    }
    statuses
}

#[test]
fn a_failing_disk_ends_the_daemon_and_loses_nothing() {
    let cases = [
        ("a sync of the log fails once", SYNC, WAL, EIO, 1),
        ("every sync of the log fails", SYNC, WAL, EIO, FOREVER),
        ("a sync finds no space", SYNC, WAL, ENOSPC, 1),
        ("a write to the log fails once", WRITE, WAL, EIO, 1),
        ("every write to the log fails", WRITE, WAL, EIO, FOREVER),
        ("a write to the database fails once", WRITE, "flower.db", EIO, 1),
        ("every write to the database fails", WRITE, "flower.db", EIO, FOREVER),
        ("a sync of the database fails once", SYNC, "flower.db", EIO, 1),
        ("every sync of the database fails", SYNC, "flower.db", EIO, FOREVER),
    ];
    let shim = Shim::compile();
    for (case, (what, calls, name, errno, times)) in cases.into_iter().enumerate() {
        for round in 0..count(1, 10) {
            let faulty = shim.home();
            let mut ledger = Ledger::default();
            let (mut daemon, brief) = faulty.start_first();
            // The database is written and synced only now and then, the log with every commit.
            let skip = if name == "flower.db" { 0 } else { 3 + round * random(10) as usize };
            faulty.fail(calls, name, errno, skip, times);
            let statuses = write_until_refused(&daemon, brief, &mut ledger, &format!("{case}-{round}"));
            assert!(statuses.iter().all(|status| *status == 503), "{what}: {statuses:?}");
            let (status, took) = daemon.wait(Duration::from_secs(10));
            assert_eq!(status.code(), Some(5), "{what}: {}", daemon.narration());
            let after = syncs_after_failure(&faulty.calls());
            faulty.work_again();
            let daemon = faulty.home.start();
            // What the last process could not sync is not built upon: it is in the database, and the log begins anew.
            assert_eq!(fs::metadata(faulty.home.file(WAL)).map_or(0, |log| log.len()), 0, "{what}");
            ledger.compare_all(&mut daemon.http());
            faulty.home.assert_log_holds();
            if round == 0 {
                eprintln!(
                    "R8: {what}: refused with {statuses:?}, ended with code 5 after {:.1} s, {after} syncs tried again; \
                     {} acknowledged, 0 lost, {} of {} unacknowledged recorded",
                    took.as_secs_f64(),
                    ledger.acknowledged(),
                    ledger.recorded_unacknowledged(),
                    ledger.unacknowledged(),
                );
            }
            assert_eq!(after, 0, "{what}: a sync was tried again: {:?}", faulty.calls());
        }
    }
}

/// How often the database or its log was synced after a sync of either had failed.
fn syncs_after_failure(calls: &[String]) -> usize {
    let is_sync = |line: &&String| line.contains("sync flower.db");
    let failed = calls.iter().position(|line| is_sync(&line) && line.ends_with("failed"));
    failed.map_or(0, |failed| calls[failed + 1..].iter().filter(is_sync).count())
}

#[test]
fn a_disk_that_became_read_only_is_named() {
    let shim = Shim::compile();
    let faulty = shim.home();
    let mut ledger = Ledger::default();
    let (mut daemon, brief) = faulty.start_first();
    faulty.fail(WRITE, WAL, EROFS, 0, FOREVER);
    let statuses = write_until_refused(&daemon, brief, &mut ledger, "read-only");
    assert!(statuses.contains(&503) && statuses.iter().all(|status| *status == 503), "{statuses:?}");
    // Both are fine: it serves what is there, or it ends in good order.
    let reads = Http::over_tcp(daemon.port, &daemon.token()).and_then(|mut http| http.get("/api/status"));
    let how = match reads {
        Ok(answer) if answer.status == 200 => "reads go on",
        _ => {
            assert_eq!(daemon.wait(Duration::from_secs(10)).0.code(), Some(5), "{}", daemon.narration());
            "ended with code 5"
        }
    };
    faulty.work_again();
    drop(daemon);
    let daemon = faulty.home.start();
    ledger.compare_all(&mut daemon.http());
    faulty.home.assert_log_holds();
    eprintln!(
        "R8: a disk that became read-only: refused with {statuses:?}, {how}; {} acknowledged, 0 lost",
        ledger.acknowledged()
    );
}

#[test]
fn no_space_at_any_write_is_survived() {
    let shim = Shim::compile();
    let faulty = shim.home();
    let mut ledger = Ledger::default();
    let (daemon, brief) = faulty.start_first();
    let mut http = daemon.http();
    let mut client = Client::new("no-space", brief);
    let (mut refused, tries) = (0, count(60, 1_000));
    for skip in 0..tries {
        // One write of one request, or of the other work of the daemon, finds no space.
        let name = if skip % 3 == 2 { "flower.db" } else { WAL };
        faulty.fail(WRITE, name, ENOSPC, skip % 40, 1);
        for _ in 0..2 {
            let answer = client.ask(&mut http).expect("the daemon answers");
            assert!([200, 507].contains(&answer.status), "{answer:?}");
            refused += usize::from(answer.status == 507);
        }
        faulty.work_again();
        assert_eq!(client.ask(&mut http).expect("an answer").status, 200, "it does not heal");
    }
    ledger.take(client);
    ledger.compare_all(&mut http);
    daemon.kill();
    let daemon = faulty.home.start();
    ledger.compare_all(&mut daemon.http());
    faulty.home.assert_log_holds();
    eprintln!(
        "R7: {tries} writes without space: {refused} refused with 507, {} acknowledged, 0 lost",
        ledger.acknowledged()
    );
    assert!(refused > tries / 4);
}

#[test]
fn a_loss_that_cannot_be_recorded_is_not_accepted() {
    let shim = Shim::compile();
    let faulty = shim.home();
    let (daemon, _) = faulty.start_first();
    daemon.kill();
    let db = rusqlite::Connection::open(faulty.home.file("flower.db")).expect("the database");
    db.execute_batch("DROP TRIGGER events_are_never_deleted; DELETE FROM events WHERE seq > 1;").expect("a cut");
    drop(db);
    let daemon = faulty.home.start();
    let mut http = daemon.http();
    let new_brief = serde_json::json!({ "title": "x" });
    assert_eq!(http.post("/api/briefs", &new_brief).expect("an answer").status, 422);
    faulty.fail(WRITE, WAL, ENOSPC, 0, FOREVER);
    assert_eq!(http.post("/api/log/accept-loss", &().into()).expect("an answer").status, 507);
    faulty.work_again();
    // The loss is not on record, so the evidence must stay.
    assert_eq!(http.post("/api/briefs", &new_brief).expect("an answer").status, 422);
    assert_eq!(http.get("/api/log/verify").expect("an answer").ok()["ok"], false);
    assert_eq!(http.post("/api/log/accept-loss", &().into()).expect("an answer").ok()[0]["kind"], "loss_accepted");
    assert_eq!(http.post("/api/briefs", &new_brief).expect("an answer").status, 200);
    assert_eq!(http.get("/api/log/verify").expect("an answer").ok()["ok"], true);
    eprintln!("R11: a loss that could not be recorded was not accepted; writing stayed refused");
}

#[test]
fn a_head_file_that_cannot_be_written_costs_no_event() {
    let shim = Shim::compile();
    let faulty = shim.home();
    let mut ledger = Ledger::default();
    let (daemon, brief) = faulty.start_first();
    faulty.fail(WRITE, "head", EIO, 0, FOREVER);
    let mut http = daemon.http();
    let mut client = Client::new("head", brief);
    for _ in 0..5 {
        assert_eq!(client.ask(&mut http).expect("an answer").status, 200);
    }
    ledger.take(client);
    assert!(daemon.narration().contains("the head file cannot be written"), "{}", daemon.narration());
    daemon.kill();
    faulty.work_again();
    let daemon = faulty.home.start();
    ledger.compare_all(&mut daemon.http());
    let verdict = faulty.home.assert_log_holds();
    let unproved = verdict["unproved"].as_u64();
    assert!(unproved >= Some(5), "{verdict}");
    let mut client = Client::new("after", brief);
    assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
    assert_eq!(faulty.home.assert_log_holds()["unproved"], 0);
    eprintln!("R8: head file not written: 5 acknowledged, 0 lost, {unproved:?} events unproved until the next write");
}

/// The smallest that passes for one.
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0";

#[test]
fn a_picture_whose_name_is_not_on_disk_is_not_acknowledged() {
    let shim = Shim::compile();
    let faulty = shim.home();
    let (daemon, _) = faulty.start_first();
    let mut http = daemon.http();
    // Its content is synced, its folder is not.
    faulty.fail(SYNC, "blobs/", EIO, 1, FOREVER);
    for _ in 0..2 {
        assert_eq!(http.upload("/api/images", PICTURE).expect("an answer").status, 503);
    }
    faulty.work_again();
    assert_eq!(http.upload("/api/images", PICTURE).expect("an answer").status, 200);
    eprintln!("R8: a picture whose folder could not be synced: refused twice, stored the third time");
}

#[test]
fn a_picture_that_cannot_be_stored_leaves_nothing() {
    let mut refused = 0;
    let shim = Shim::compile();
    for (calls, errno, status) in [(WRITE, EIO, 503), (WRITE, ENOSPC, 507), (SYNC, EIO, 503), (SYNC, ENOSPC, 507)] {
        let faulty = shim.home();
        let (daemon, brief) = faulty.start_first();
        faulty.fail(calls, "blobs/", errno, 0, FOREVER);
        let answer = daemon.http().upload("/api/images", PICTURE).expect("an answer");
        assert_eq!(answer.status, status, "{answer:?}");
        message_and_hint(&answer.problem());
        refused += 1;
        let left = Command::new("find").arg(faulty.home.file("blobs")).args(["-type", "f"]).output().expect("find");
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "a part of the picture stays behind");
        faulty.work_again();
        drop(daemon);
        let daemon = faulty.home.start();
        let answer = daemon.http().upload("/api/images", PICTURE).expect("an answer");
        let sha256 = answer.ok()["sha256"].as_str().expect("a hash").to_owned();
        assert_eq!(daemon.http().get(&format!("/api/images/{sha256}")).expect("an answer").body, PICTURE);
        let note = serde_json::json!({ "text": "see", "images": [sha256] });
        daemon.http().post(&format!("/api/briefs/{brief}/notes"), &note).expect("an answer").ok();
        faulty.home.assert_log_holds();
    }
    eprintln!("R8: {refused} pictures that could not be stored: all refused, nothing left behind");
}
