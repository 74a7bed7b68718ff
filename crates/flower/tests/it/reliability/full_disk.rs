//! The disk fills up. Writes are refused and say so, reads go on, nothing acknowledged is lost, and once there is space
//! again writing goes on by itself.

use crate::reliability::harness::{Daemon, Home, count, message_and_hint, random, signal};
use crate::reliability::http::Http;
use crate::reliability::ledger::{Client, Ledger};
use crate::reliability::namespace::{mount_tmpfs, with_mounts};
use rustix::process::Signal;
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A disk of its own, so small that it is soon full, and something on it that can be deleted.
struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    fn new(kilobytes: usize) -> SmallDisk {
        let folder = TempDir::with_prefix("flower-full-").expect("a temporary folder");
        mount_tmpfs(folder.path(), kilobytes);
        SmallDisk { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Takes `kilobytes` of space, or with none all there is, to the last byte.
    fn fill(&self, kilobytes: Option<usize>) {
        let mut ballast = File::options().create(true).append(true).open(self.ballast()).expect("a file");
        let page = [b'x'; 1024];
        for _ in 0..kilobytes.unwrap_or(usize::MAX) {
            if ballast.write_all(&page).is_err() {
                return;
            }
        }
    }

    fn free(&self) {
        fs::remove_file(self.ballast()).expect("there is ballast");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.path()).status();
    }
}

/// Writes until the disk is full, and checks what the writer is told.
fn write_until_full(client: &mut Client, http: &mut Http) {
    for _ in 0..100_000 {
        let answer = client.ask(http).expect("the daemon answers");
        if answer.status != 200 {
            assert_eq!(answer.status, 507, "{answer:?}");
            let problem = answer.problem();
            assert_eq!(problem["kind"], "no_space");
            let (message, hint) = message_and_hint(&problem);
            assert!(message.contains("the disk is full; nothing was stored"), "{message}");
            assert!(hint.contains("free some space"), "{hint}");
            return;
        }
    }
    panic!("the disk does not fill up");
}

fn assert_reads(daemon: &Daemon, brief: u64) {
    let mut http = daemon.http();
    for path in [
        "/healthz".to_owned(),
        "/api/status".to_owned(),
        format!("/api/briefs/{brief}/trace"),
        "/api/log/verify".to_owned(),
    ] {
        let answer = http.get(&path).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
}

#[test]
fn a_full_disk_refuses_writes_and_heals_by_itself() {
    with_mounts("reliability::full_disk::a_full_disk_refuses_writes_and_heals_by_itself", || {
        for kilobytes in [2 * 1024, 4 * 1024, 8 * 1024] {
            fill_and_heal(kilobytes);
        }
        for _ in 0..count(0, 40) {
            fill_and_heal(2 * 1024 + random(6 * 1024) as usize);
        }
    });
}

fn fill_and_heal(kilobytes: usize) {
    let disk = SmallDisk::new(kilobytes);
    // Once this is freed there is room for what waits to be moved into the database, and for more.
    disk.fill(Some(kilobytes * 2 / 5));
    let home = Home::below(disk.path());
    let mut ledger = Ledger::default();
    let daemon = home.start();
    home.make_project(&daemon);
    let brief = Ledger::new_brief(&daemon);
    let mut http = daemon.http();
    let mut client = Client::new("filler", brief);
    write_until_full(&mut client, &mut http);
    let first = client.acknowledged();
    // Small notes still fit where large ones did not: to the last byte.
    disk.fill(None);
    let mut refused = 0;
    for _ in 0..50 {
        let answer = client.ask(&mut http).expect("the daemon answers");
        assert!([200, 507].contains(&answer.status), "{answer:?}");
        refused += usize::from(answer.status == 507);
    }
    assert!(refused > 0, "the disk is not full");
    assert_reads(&daemon, brief);
    ledger.take(client);
    ledger.compare(&mut http);

    let said = home.cli(&["brief", "note", &brief.to_string(), &"long ".repeat(5_000), "--json"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(said.problem()["kind"], "no_space");

    let blobs_before = files_below(&home.file("blobs"));
    let answer = http.upload("/api/images", &picture(200_000)).expect("an answer");
    assert_eq!((answer.status, answer.problem()["kind"].as_str()), (507, Some("no_space")), "{answer:?}");
    assert_eq!(files_below(&home.file("blobs")), blobs_before, "a part of a picture stays behind");

    // The same process goes on as soon as there is space.
    disk.free();
    let answer = http.upload("/api/images", &picture(20_000)).expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut client = Client::new("healed", brief);
    for _ in 0..5 {
        assert_eq!(client.ask(&mut http).expect("an answer").status, 200);
    }
    ledger.take(client);
    ledger.compare_all(&mut http);
    daemon.kill();
    let daemon = home.start();
    ledger.compare_all(&mut daemon.http());
    let verdict = home.assert_log_holds();
    eprintln!(
        "R7: disk of {kilobytes} KB: full after {first} acknowledged, then {refused} of 50 refused with 507; {} acknowledged, \
         0 lost, goes on without a restart; {} events verified",
        ledger.acknowledged(),
        verdict["verified"],
    );
}

#[test]
fn a_start_on_a_full_disk_says_what_is_wrong() {
    with_mounts("reliability::full_disk::a_start_on_a_full_disk_says_what_is_wrong", || {
        let (mut served, mut refused) = (0, 0);
        // From no byte free up to what a start needs.
        for spare in [0, 4, 8, 12, 20, 32, 40, 64] {
            let disk = SmallDisk::new(3 * 1024);
            let home = Home::below(disk.path());
            let mut ledger = Ledger::default();
            let daemon = home.start();
            home.make_project(&daemon);
            let brief = Ledger::new_brief(&daemon);
            let mut client = Client::new("before", brief);
            for _ in 0..10 {
                assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
            }
            ledger.take(client);
            if spare % 8 == 0 {
                // Closed as it should be, so that the start has no log file to read again but must make one.
                daemon.signal(Signal::TERM);
                let mut daemon = daemon;
                assert!(daemon.wait(std::time::Duration::from_secs(5)).0.success());
            } else {
                daemon.kill();
            }
            let reserve = disk.path().join("reserve");
            fs::write(&reserve, vec![0; spare * 1024]).expect("there is space");
            disk.fill(None);
            fs::remove_file(reserve).expect("it was just made");
            match home.try_start() {
                Ok(daemon) => {
                    served += 1;
                    assert_reads(&daemon, brief);
                    ledger.compare_all(&mut daemon.http());
                }
                Err(failure) => {
                    refused += 1;
                    assert_eq!(failure.code, Some(5), "{failure:?}");
                    let (message, hint) = message_and_hint(&failure.problem);
                    assert_eq!(failure.problem["kind"], "no_space", "{message}; {hint}");
                    assert!(hint.contains("free some space"), "{spare} KB: {message}; {hint}");
                }
            }
            disk.free();
            let daemon = home.start();
            ledger.compare_all(&mut daemon.http());
            home.assert_log_holds();
        }
        eprintln!("R7: starts on a full disk: {served} served, {refused} ended with code 5 and a hint, 0 lost");
        assert!(refused > 0 && served > 0);
    });
}

#[test]
fn a_first_start_on_a_full_disk_says_what_is_wrong() {
    with_mounts("reliability::full_disk::a_first_start_on_a_full_disk_says_what_is_wrong", || {
        let mut refused = 0;
        for spare in [0, 4, 12, 20, 40, 160, 400] {
            let disk = SmallDisk::new(2 * 1024);
            let home = Home::below(disk.path());
            let reserve = disk.path().join("reserve");
            fs::write(&reserve, vec![0; spare * 1024]).expect("there is space");
            disk.fill(None);
            fs::remove_file(reserve).expect("it was just made");
            if let Err(failure) = home.try_start() {
                refused += 1;
                assert_eq!(failure.code, Some(5), "{failure:?}");
                let (message, hint) = message_and_hint(&failure.problem);
                assert_eq!(failure.problem["kind"], "no_space", "{spare} KB: {message}; {hint}");
            }
            // Also through the command line, which has the daemon write its log there.
            let said = home.cli(&["status", "--json"]);
            assert!([Some(0), Some(5)].contains(&said.code), "{said:?}");
            home.cli(&["down"]);
            disk.free();
            let daemon = home.start();
            home.make_project(&daemon);
            Ledger::new_brief(&daemon);
            home.assert_log_holds();
        }
        eprintln!(
            "R7: first starts on a full disk: {refused} ended with code 5 and a hint; all fine once there is space"
        );
        assert!(refused > 0);
    });
}

#[test]
fn a_background_daemon_whose_log_cannot_be_written_goes_on() {
    with_mounts("reliability::full_disk::a_background_daemon_whose_log_cannot_be_written_goes_on", || {
        let disk = SmallDisk::new(3 * 1024);
        let home = Home::below(disk.path());
        disk.fill(Some(500));
        let up = home.cli(&["up", "--json"]);
        assert_eq!(up.code, Some(0), "{up:?}");
        let port = up.json()["url"].as_str().and_then(|url| url.rsplit(':').next()?.parse().ok()).expect("a port");
        let mut http = Http::over_tcp(port, &home.token()).expect("a connection");
        let repository = crate::reliability::harness::make_repository(&disk.path().join("repository"));
        http.post("/api/projects", &json!({ "dir": repository })).expect("an answer").ok();
        let brief = http.post("/api/briefs", &json!({ "title": "Notes" })).expect("an answer").ok();
        let brief = brief["number"].as_u64().expect("a number");
        let mut ledger = Ledger::default();
        let mut client = Client::new("background", brief);
        write_until_full(&mut client, &mut http);
        disk.fill(None);
        for _ in 0..20 {
            let answer = client.ask(&mut http).expect("the daemon answers");
            assert!([200, 507].contains(&answer.status), "{answer:?}");
        }
        // Its order to end is written to a log that has no space; it ends cleanly all the same.
        let pid = home.holder().expect("it runs");
        signal(pid, Signal::TERM);
        crate::reliability::harness::wait_until("it is gone", || home.holder().is_none());
        let log = fs::read_to_string(home.file("daemon.log")).unwrap_or_default();
        assert!(!log.contains("panicked"), "{log}");
        assert!(!home.file("flower.sock").exists(), "it did not end cleanly");
        disk.free();
        ledger.take(client);
        let daemon = home.start();
        ledger.compare_all(&mut daemon.http());
        home.assert_log_holds();
        eprintln!("R7: background daemon with a full log file: {} acknowledged, 0 lost", ledger.acknowledged());
    });
}

/// A PNG by its first bytes, as long as asked for.
fn picture(bytes: usize) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x10\0\0\0\x10\x08\x02\0\0\0".to_vec();
    png.resize(bytes, bytes as u8);
    png
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files.extend(files_below(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}
