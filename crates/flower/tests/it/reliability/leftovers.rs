//! What a dead daemon, a full disk or a careless hand leaves in `FLOWER_HOME`: a start works, or says what to do, and
//! nothing is lost.

use crate::reliability::harness::{Home, message_and_hint, wait_until};
use crate::reliability::ledger::{Client, Ledger};
use crate::reliability::namespace::{mount_tmpfs, remount, with_mounts};
use flower_engine::lock::Holder;
use serde_json::json;
use std::fs;
use std::net::TcpListener;

/// A home with some acknowledged events, whose daemon was killed.
fn home_after_a_kill() -> (Home, Ledger) {
    let home = Home::new();
    let ledger = write_and_kill(&home);
    (home, ledger)
}

fn write_and_kill(home: &Home) -> Ledger {
    let mut ledger = Ledger::default();
    let daemon = home.start();
    home.make_project(&daemon);
    let mut client = Client::new("before", Ledger::new_brief(&daemon));
    for _ in 0..10 {
        assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
    }
    ledger.take(client);
    daemon.kill();
    ledger
}

/// It starts, everything is there, and it can be written to.
fn assert_as_before(home: &Home, ledger: &mut Ledger, what: &str) {
    let daemon = match home.try_start() {
        Ok(daemon) => daemon,
        Err(failure) => panic!("{what}: {failure:?}"),
    };
    ledger.compare_all(&mut daemon.http());
    let answer = daemon.http().post("/api/briefs", &json!({ "title": what })).expect("an answer");
    assert_eq!(answer.status, 200, "{what}: {answer:?}");
    home.assert_log_holds();
    drop(daemon);
}

#[test]
fn notes_of_a_dead_daemon_are_no_obstacle() {
    let (home, mut ledger) = home_after_a_kill();
    assert!(home.file("flower.sock").exists(), "a killed daemon leaves its socket");
    let note = |pid: u32, boot: &str| {
        let here = Holder::this_process(&home.dir(), Some(1));
        let boot = if boot.is_empty() { here.boot.clone() } else { boot.to_owned() };
        serde_json::to_vec(&Holder { pid, boot, ..here }).expect("plain data")
    };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let binary: Vec<u8> = (0..100_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let ours = std::process::id();
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("lock", "empty", Vec::new()),
        ("lock", "no JSON", b"{\"pid\": 1".to_vec()),
        ("lock", "binary", binary.clone()),
        ("lock", "of a dead process", note(u32::MAX >> 1, "")),
        ("lock", "of a living process that does not hold it", note(ours, "")),
        ("lock", "of another boot", note(ours, "11111111-2222-3333-4444-555555555555")),
        ("port", "empty", Vec::new()),
        ("port", "no number", b"eighty\n".to_vec()),
        ("port", "too large", b"99999999\n".to_vec()),
        ("port", "taken by another program", port.into_bytes()),
        ("port", "binary", binary.clone()),
        ("sessions.json", "empty", Vec::new()),
        ("sessions.json", "of another form", b"{\"a\": [1]}".to_vec()),
        ("sessions.json", "binary", binary.clone()),
        ("head", "empty", Vec::new()),
        ("head", "half a line", b"00000000000000000003 1234".to_vec()),
        ("head", "binary", binary.clone()),
        ("flower.sock", "a plain file", b"x".to_vec()),
        ("flower.db-shm", "binary", binary),
        ("token.draft-1", "a draft of a killed process", b"x".to_vec()),
    ];
    let count = cases.len();
    for (file, what, content) in cases {
        let _ = fs::remove_file(home.file(file));
        fs::write(home.file(file), content).expect("a file");
        assert_as_before(&home, &mut ledger, &format!("{file}: {what}"));
        // A note names a process; only one that holds the lock is ever ended for it.
        assert_eq!(home.cli(&["down", "--json"]).json()["pid"], serde_json::Value::Null, "{file}: {what}");
    }
    eprintln!(
        "leftovers: {count} damaged or stale files, every start fine, {} acknowledged, 0 lost",
        ledger.acknowledged()
    );
}

#[test]
fn a_home_that_cannot_be_served_is_explained() {
    let (home, mut ledger) = home_after_a_kill();
    let aside = home.root().join("aside");
    // What is put there, and a word of what must be said.
    let cases: [(&str, Option<&[u8]>, &str); 6] = [
        ("token", Some(b"garbage"), "remove that file"),
        ("token", Some(b""), "remove that file"),
        ("flower.db", Some(b"this is no database, and it is long enough to be seen as something else"), "copy"),
        ("lock", None, "FLOWER_HOME"),
        ("flower.sock", None, "FLOWER_HOME"),
        ("head", None, "disk"),
    ];
    let count = cases.len();
    for (file, content, hinted) in cases {
        if home.file(file).exists() {
            fs::rename(home.file(file), &aside).expect("it is moved");
        }
        match content {
            Some(content) => fs::write(home.file(file), content).expect("a file"),
            None => fs::create_dir(home.file(file)).expect("a folder"),
        }
        let failure = home.try_start().err().unwrap_or_else(|| panic!("it starts with a broken {file}"));
        assert_eq!(failure.code, Some(5), "{failure:?}");
        let (message, hint) = message_and_hint(&failure.problem);
        assert!(hint.contains(hinted), "{file}: {message}; {hint}");
        let said = home.cli(&["status", "--json"]);
        assert_eq!(said.code, Some(5), "{said:?}");
        assert!(!message_and_hint(&said.problem()).1.is_empty());
        match content {
            // What was there stays there: it may be all that is left.
            Some(content) => {
                assert_eq!(fs::read(home.file(file)).expect("it is there"), content, "{file}");
                fs::remove_file(home.file(file)).expect("it is there");
            }
            None => fs::remove_dir(home.file(file)).expect("it is there"),
        }
        // For the token, removing it is what the hint says.
        if file != "token" && aside.exists() {
            fs::rename(&aside, home.file(file)).expect("it is moved");
        }
        assert_as_before(&home, &mut ledger, file);
    }
    eprintln!("leftovers: {count} homes that cannot be served: each said why and what to do, nothing was lost");
}

#[test]
fn a_database_that_is_gone_is_noticed() {
    let (home, _) = home_after_a_kill();
    for file in ["flower.db", "flower.db-wal", "flower.db-shm"] {
        let _ = fs::remove_file(home.file(file));
    }
    let daemon = home.start();
    let said = home.cli(&["log", "verify", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.json()["bad_seq"], 1, "{said:?}");
    let answer = daemon.http().post("/api/projects", &json!({ "dir": home.root().join("repository") }));
    let problem = answer.expect("an answer").problem();
    assert!(message_and_hint(&problem).1.contains("accept-loss"), "{problem}");
    eprintln!("leftovers: a database that was removed: noticed, nothing written in its place");
}

#[test]
fn a_head_file_that_proves_something_else_stops_writing_only() {
    let (home, mut ledger) = home_after_a_kill();
    let right = fs::read(home.file("head")).expect("a head file");
    let other = "ab".repeat(32);
    for (seq, says) in [(0, "0"), (3, "3"), (1_000_000, "1000000"), (u64::MAX, "18446744073709551615")] {
        fs::write(home.file("head"), format!("{seq:020} {other}\n")).expect("a file");
        let daemon = home.start();
        ledger.compare_all(&mut daemon.http());
        let answer = daemon.http().post("/api/briefs", &json!({ "title": "x" })).expect("an answer");
        assert_eq!(answer.status, 422, "{answer:?}");
        let said = home.cli(&["log", "verify", "--json"]);
        assert_eq!(said.code, Some(1), "{seq}: {said:?}");
        assert!(said.stdout.contains(says), "{seq}: {said:?}");
    }
    fs::write(home.file("head"), right).expect("a file");
    assert_as_before(&home, &mut ledger, "the right head file again");
    eprintln!("leftovers: 4 head files that prove another log: read-only, found by verify, nothing lost");
}

#[test]
fn files_that_change_under_a_running_daemon() {
    let (home, mut ledger) = home_after_a_kill();
    // The record of the running process is overwritten: it can still be stopped.
    let mut daemon = home.start();
    fs::write(home.file("lock"), "garbage").expect("a file");
    let second = home.try_start().err().expect("one at a time");
    assert_eq!(second.code, Some(4), "{second:?}");
    let said = home.cli(&["down", "--json"]);
    assert_eq!((said.code, said.json()["pid"].as_u64()), (Some(0), Some(daemon.pid().into())), "{said:?}");
    let (status, _) = daemon.wait(std::time::Duration::from_secs(5));
    assert!(status.success(), "{status}: {}", daemon.narration());

    // The token is gone: commands say what is wrong, and the daemon can be stopped and started.
    let mut daemon = home.start();
    fs::remove_file(home.file("token")).expect("a token");
    let said = home.cli(&["status", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(!message_and_hint(&said.problem()).1.is_empty());
    assert_eq!(home.cli(&["down"]).code, Some(0));
    let (status, _) = daemon.wait(std::time::Duration::from_secs(5));
    assert!(status.success(), "{status}: {}", daemon.narration());

    // The socket is gone: the next command must not find a second daemon, nor wait for ever.
    let mut daemon = home.start();
    fs::remove_file(home.file("flower.sock")).expect("a socket");
    let said = home.cli(&["down", "--json"]);
    assert_eq!((said.code, said.json()["pid"].as_u64()), (Some(0), Some(daemon.pid().into())), "{said:?}");
    let (status, _) = daemon.wait(std::time::Duration::from_secs(5));
    assert!(status.success(), "{status}: {}", daemon.narration());
    wait_until("it is gone", || home.holder().is_none());
    assert_as_before(&home, &mut ledger, "after all that");
    eprintln!("leftovers: lock, token and socket lost under a running daemon: it was stopped, 0 lost");
}

#[test]
fn a_read_only_home_is_explained() {
    with_mounts("reliability::leftovers::a_read_only_home_is_explained", || {
        let folder = tempfile::TempDir::with_prefix("flower-read-only-").expect("a temporary folder");
        mount_tmpfs(folder.path(), 8 * 1024);
        let home = Home::below(folder.path());
        let mut ledger = write_and_kill(&home);
        remount(folder.path(), "ro");
        let failure = home.try_start().err().expect("nothing can be written");
        assert_eq!(failure.code, Some(5), "{failure:?}");
        let (_, hint) = message_and_hint(&failure.problem);
        assert!(hint.contains("make it writable"), "{failure:?}");
        let said = home.cli(&["status", "--json"]);
        assert_eq!(said.code, Some(5), "{said:?}");
        assert!(message_and_hint(&said.problem()).1.contains("make it writable"), "{said:?}");
        assert_eq!(home.cli(&["down"]).code, Some(0), "there is nothing to stop");
        remount(folder.path(), "rw");
        assert_as_before(&home, &mut ledger, "writable again");
        drop(home);
        let _ = std::process::Command::new("umount").arg("--lazy").arg(folder.path()).status();
        eprintln!("R8: a read-only home: explained, {} acknowledged, 0 lost", ledger.acknowledged());
    });
}
