//! A migration that is killed at any time leaves the old database or the new one, never a mixture.

use super::{all_rows, check_tables, history, schema_version};
use flower_store::projection::TABLES;
use flower_store::{Location, migrate, rebuild, verify};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NAME: &str = "migrations::killed::a_killed_migration_leaves_the_old_or_the_new";
/// The database that a child process migrates; this test starts its own binary again with this variable.
const DATABASE: &str = "FLOWER_TEST_MIGRATE";
/// The number of events after which the child reports and waits to be killed.
const STOP: &str = "FLOWER_TEST_MIGRATE_STOP";
const SIGKILL: i32 = 9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Left {
    Old,
    New,
}

#[test]
fn a_killed_migration_leaves_the_old_or_the_new() {
    if let Some(path) = std::env::var_os(DATABASE) {
        return migrate_and_tell(Path::new(&path));
    }
    let kills = if std::env::var_os("FLOWER_SOAK").is_some() { 100 } else { 15 };
    // On a real disk, where a commit takes time.
    let home = TempDir::new().unwrap();
    let old = home.path().join("old.db");
    let events = old_database(&old);
    let whole = unhurt(&old, &home.path().join("unhurt.db"), events);

    let (mut middle, mut left) = (0, Vec::new());
    for kill in 0..kills {
        let path = home.path().join(format!("{kill}.db"));
        fs::copy(&old, &path).unwrap();
        let finished = if kill % 3 == 0 {
            // Certainly in the middle: the tables exist, and some of the events are applied.
            kill_when_it_stops(&path)
        } else {
            kill_after(&path, whole * (2 * kill + 1) / (2 * kills))
        };
        let found = what_is_left(&path, events);
        assert!(found == Left::New || !finished, "kill {kill}: it had finished, and it is gone");
        middle += u32::from(found == Left::Old && kill % 3 == 0);
        left.push(found);
    }
    eprintln!("left by {kills} kills: {left:?}");
    assert_eq!(middle, kills.div_ceil(3), "those that were killed in the middle left the old database: {left:?}");
    let again = (0..kills).rev().find(|&kill| left[kill as usize] == Left::Old).expect("one was left old");
    let path = home.path().join(format!("{again}.db"));
    migrate::migrate(&mut Location::Sqlite(path.clone()).connect().unwrap(), &mut |_| {}).unwrap();
    assert_eq!(what_is_left(&path, events), Left::New, "what was left old can still be migrated");
}

/// A database of version 1 with about 2,000 events.
fn old_database(path: &Path) -> u64 {
    let mut conn = Location::Sqlite(path.to_owned()).connect().unwrap();
    migrate::migrate_to(&mut conn, 1, &mut |_| {}).unwrap();
    history::write(&mut conn, 110);
    // Moves all data into the database file, which is copied without its write-ahead log.
    conn.rows("PRAGMA wal_checkpoint(TRUNCATE)", &[]).unwrap();
    all_rows(&mut conn, "events").len() as u64
}

/// The duration of a whole migration, over which kills are spread.
fn unhurt(old: &Path, path: &Path, events: u64) -> Duration {
    fs::copy(old, path).unwrap();
    let mut child = Migration::start(path, None);
    child.wait_for("begun");
    let begun = Instant::now();
    assert!(child.wait_for("finished"), "the migration succeeds if it is not killed");
    let took = begun.elapsed();
    child.kill();
    assert_eq!(what_is_left(path, events), Left::New);
    took
}

fn kill_when_it_stops(path: &Path) -> bool {
    let mut child = Migration::start(path, Some(1_000));
    assert!(child.wait_for("stopped"), "it never got to the middle");
    child.kill();
    false
}

/// Whether the child had reported the end of the migration before it was killed.
fn kill_after(path: &Path, pause: Duration) -> bool {
    let mut child = Migration::start(path, None);
    child.wait_for("begun");
    std::thread::sleep(pause);
    child.kill();
    child.wait_for("finished")
}

/// A child process and its output.
struct Migration {
    child: Child,
    says: BufReader<std::process::ChildStdout>,
}

impl Migration {
    fn start(path: &Path, stop: Option<u64>) -> Migration {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(DATABASE, path).env_remove(STOP);
        if let Some(stop) = stop {
            command.env(STOP, stop.to_string());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Migration { child, says }
    }

    /// Reads the output up to `word`; false if the output ends before.
    fn wait_for(&mut self, word: &str) -> bool {
        let mut line = String::new();
        while self.says.read_line(&mut line).unwrap() > 0 {
            if line.trim_end() == word {
                return true;
            }
            line.clear();
        }
        false
    }

    fn kill(&mut self) {
        // An error means that the process has already ended.
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(SIGKILL), "the child failed by itself: {status}");
    }
}

/// Runs in the child process.
fn migrate_and_tell(path: &Path) {
    let stop: Option<u64> = std::env::var(STOP).ok().map(|stop| stop.parse().unwrap());
    // Written directly and not by `println!`, which tests of this crate do not use: the parent process reads it.
    let say = |word: &str| std::io::stdout().write_all(format!("{word}\n").as_bytes()).expect("a parent that listens");
    let mut conn = Location::Sqlite(path.to_owned()).connect().unwrap();
    // A cache of ten pages, so that most data is written to the disk long before the commit.
    conn.rows("PRAGMA cache_size = 10", &[]).unwrap();
    say("begun");
    let mut progress = |events: u64| {
        if stop.is_some_and(|stop| events >= stop) {
            say("stopped");
            std::thread::sleep(Duration::from_secs(600));
        }
    };
    migrate::migrate(&mut conn, &mut progress).unwrap();
    say("finished");
}

/// Fails unless the database is completely old or completely new.
fn what_is_left(path: &Path, events: u64) -> Left {
    let mut conn = Location::Sqlite(path.to_owned()).connect().unwrap();
    let integrity = conn.rows("PRAGMA integrity_check", &[]).unwrap();
    assert_eq!(integrity[0].text(0).unwrap(), "ok");
    let verdict = verify::verify(&mut conn, None).unwrap();
    assert_eq!((verdict.fault, verdict.verified), (None, events));
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let tables: BTreeSet<String> = conn.rows(tables, &[]).unwrap().iter().map(|row| row.text(0).unwrap()).collect();
    if schema_version(&mut conn) == 1 {
        assert_eq!(tables, ["events", "flower_schema"].map(str::to_owned).into(), "nothing of the new one");
        return Left::Old;
    }
    assert_eq!(schema_version(&mut conn), migrate::newest());
    assert!(TABLES.iter().all(|table| tables.contains(*table)), "{tables:?}");
    check_tables(&mut conn);
    assert_eq!(rebuild::rebuild(&mut conn, false, &mut |_| {}).unwrap().mended, [""; 0]);
    Left::New
}
