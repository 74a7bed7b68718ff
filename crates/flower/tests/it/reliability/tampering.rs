//! The database is changed while the daemon is down. `flower log verify` finds it and names the event; a log
//! whose end is cut is not written to until the operator accepts the loss.

use crate::common::skip::is_skipped_by;
use crate::reliability::harness::{Home, count, message_and_hint, random};
use crate::reliability::ledger::{Client, Ledger};
use flower_core::Recorded;
use flower_core::chain::hash;
use flower_store::{Conn, log};
use rusqlite::Connection;
use std::fs;
use std::process::Command;

/// A home with a log of some length, its daemon stopped, and the number of its last event.
fn recorded_home() -> (Home, u32) {
    let home = Home::new();
    let daemon = home.start();
    home.make_project(&daemon);
    let brief = Ledger::new_brief(&daemon);
    let mut client = Client::new("recorded", brief);
    for _ in 0..20 {
        assert_eq!(client.ask(&mut daemon.http()).expect("an answer").status, 200);
    }
    let note = serde_json::json!({ "text": "grüße \"x\" \\ \t 世界 \u{1f600}\nline" });
    daemon.http().post(&format!("/api/briefs/{brief}/notes"), &note).expect("an answer").ok();
    drop(daemon);
    let last = database(&home).query_row("SELECT max(seq) FROM events", [], |row| row.get(0)).expect("events");
    (home, last)
}

/// The same home again, for the next attack.
fn copy(home: &Home) -> Home {
    let copy = Home::new();
    fs::create_dir(copy.dir()).expect("a folder");
    for entry in fs::read_dir(home.dir()).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a type").is_file() {
            fs::copy(entry.path(), copy.dir().join(entry.file_name())).expect("a copy");
        }
    }
    copy
}

/// The database, for an attacker who knows SQL.
fn database(home: &Home) -> Connection {
    let db = Connection::open(home.file("flower.db")).expect("the database");
    db.execute_batch(
        "DROP TRIGGER IF EXISTS events_are_never_changed; DROP TRIGGER IF EXISTS events_are_never_deleted;",
    )
    .expect("the owner of the file can");
    db
}

/// `flower log verify` must find that the log does not hold from event `bad` on.
fn assert_found(home: &Home, what: &str, bad: u32) {
    let said = home.cli(&["log", "verify", "--json"]);
    assert_eq!(said.code, Some(1), "{what}: {said:?}");
    let verdict = said.json();
    assert_eq!((&verdict["ok"], &verdict["bad_seq"]), (&false.into(), &bad.into()), "{what}: {verdict}");
    let (message, hint) = message_and_hint(&said.problem());
    assert!(message.contains(&format!("event {bad} ")), "{what}: {message}");
    assert!(hint.contains("backup"), "{what}: {hint}");
}

#[test]
fn tampering_is_found() {
    let (home, last) = recorded_home();
    let changes = count(15, 300);
    for n in 0..changes {
        let copy = copy(&home);
        let seq = 1 + random(last.into()) as u32;
        let sql = match n % 15 {
            0 => "UPDATE events SET body = replace(body, 'e', 'E') WHERE seq = $1",
            1 => "UPDATE events SET body = body || ' ' WHERE seq = $1",
            2 => "UPDATE events SET stream = 'brief/99' || seq WHERE seq = $1",
            3 => "UPDATE events SET version = version + 1000 WHERE seq = $1",
            4 => "UPDATE events SET kind = 'comment_added' WHERE seq = $1",
            5 => "UPDATE events SET schema = schema + 1 WHERE seq = $1",
            6 => "UPDATE events SET actor_type = 'system' WHERE seq = $1",
            7 => "UPDATE events SET actor_name = 'mallory' WHERE seq = $1",
            8 => "UPDATE events SET door = 'mcp' WHERE seq = $1",
            9 => "UPDATE events SET at = '1970-01-01T00:00:00.000000Z' WHERE seq = $1",
            10 => "UPDATE events SET brief = coalesce(brief, 0) + 1 WHERE seq = $1",
            11 => "UPDATE events SET prev = hash WHERE seq = $1",
            12 => "UPDATE events SET hash = prev WHERE seq = $1",
            13 => "UPDATE events SET seq = seq + 100000 WHERE seq = $1",
            _ => "DELETE FROM events WHERE seq = $1",
        };
        assert_eq!(database(&copy).execute(sql, [seq]).expect("a statement"), 1, "{sql}");
        assert_found(&copy, sql, seq);
    }
    eprintln!("R11: {changes} changes of one event in {last}, of every column: all found and named");
}

#[test]
fn a_log_that_was_written_anew_is_found() {
    let (home, last) = recorded_home();
    // A chain that holds in itself, from the fifth event on, with another time.
    let mut conn = Conn::Sqlite(database(&home));
    let events = log::after(&mut conn, 4, 500).expect("events");
    let mut prev = events[0].prev.clone();
    for mut event in events {
        (event.at, event.prev) = (event.at.replace("20", "19"), prev);
        event.hash = hash(&event);
        let Recorded { seq, at, prev: before, hash, .. } = event;
        let sql = "UPDATE events SET at = ?2, prev = ?3, hash = ?4 WHERE seq = ?1";
        assert_eq!(database(&home).execute(sql, (seq as u32, at, before, &hash)), Ok(1));
        prev = hash;
    }
    assert_found(&home, "written anew", last);
    let said = home.cli(&["brief", "new", "x", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    eprintln!("R11: a log written anew with right hashes from event 5 on: found through the head file");
}

#[test]
fn a_cut_log_is_not_written_to_until_the_loss_is_accepted() {
    let (home, last) = recorded_home();
    for cut in [1, 3, last] {
        let copy = copy(&home);
        database(&copy).execute("DELETE FROM events WHERE seq > $1", [last - cut]).expect("a statement");
        assert_found(&copy, "cut", last - cut + 1);
        for command in [&["brief", "new", "x", "--json"][..], &["brief", "note", "1", "x", "--json"]] {
            let said = copy.cli_in(&home.root().join("repository"), command);
            // Without any event there is no project and no brief; the refusal must still be about the loss.
            assert_eq!(said.code, Some(1), "{said:?}");
            let (message, hint) = message_and_hint(&said.problem());
            assert!(message.contains("the log is not the one that was recorded"), "{message}");
            assert!(hint.contains("flower log accept-loss"), "{hint}");
        }
        let status = copy.cli(&["status", "--json"]).json();
        assert!(status["read_only"].as_str().is_some_and(|why| why.contains(&format!("event {last} "))), "{status}");
        // Also after a restart, and however often it is asked.
        copy.cli(&["down"]);
        assert_found(&copy, "cut, after a restart", last - cut + 1);

        let said = copy.cli(&["log", "accept-loss", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        // The tables still show what is lost; the log decides.
        assert_eq!(copy.cli(&["log", "rebuild", "--json"]).code, Some(0));
        copy.assert_log_holds();
        let said = copy.cli_in(&home.root().join("repository"), &["brief", "new", "x", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let trace = copy.cli(&["trace", "--json"]).json();
        let lost = trace.as_array().and_then(|events| events.iter().find(|event| event["kind"] == "loss_accepted"));
        let body = &lost.expect("it is on record")["body"];
        assert_eq!((&body["proved_seq"], &body["found_seq"]), (&last.into(), &(last - cut).into()));
        assert_eq!(copy.cli(&["log", "accept-loss", "--json"]).json(), serde_json::json!([]), "there is nothing left");
    }
    eprintln!("R11: tails of 1, 3 and all {last} events cut: found, writing refused, accepted, on record");
}

#[test]
fn an_exported_log_can_be_checked_without_flower() {
    let (home, last) = recorded_home();
    let said = home.cli(&["log", "export"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let file = home.root().join("export");
    fs::write(&file, &said.stdout).expect("a file");
    let path = file.to_str().expect("UTF-8");
    let verify = || home.cli(&["log", "verify", "--file", path, "--json"]);
    let verdict = verify();
    assert_eq!((verdict.code, verdict.json()["verified"].as_u64()), (Some(0), Some(last.into())));
    let python = python(path);
    if let Some((code, text)) = &python {
        let head = verdict.json()["head"].as_str().expect("a hash").to_owned();
        assert_eq!((*code, text.trim()), (Some(0), format!("whole: {last} events, {head}").as_str()));
    }
    home.cli(&["down"]);

    let changes = count(40, 1_000);
    // First a name whose value is nothing, and half of a character.
    let special = ["rief\":null", "ü"].map(|text| said.stdout.find(text).expect("it is exported"));
    let (mut found, mut agreed) = (0, 0);
    for n in 0..changes {
        let mut bytes = said.stdout.clone().into_bytes();
        // All but the last line break, whose loss changes nothing.
        let at = special.get(n).copied().unwrap_or_else(|| random(bytes.len() as u64 - 1) as usize);
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        fs::write(&file, &bytes).expect("a file");
        let verdict = verify();
        // A line that is no event any more is wrong input.
        assert!([Some(1), Some(2)].contains(&verdict.code), "byte {at}: {verdict:?}");
        let words = format!("{} {}", verdict.stdout, verdict.stderr);
        let named = [format!("event {line} "), format!("line {line} ")].iter().any(|name| words.contains(name));
        assert!(named, "byte {at} of line {line}: {words}");
        found += 1;
        // Starting Python takes longer than all the rest.
        if (n < 2 || n % 5 == 0)
            && let Some((code, text)) = self::python(path)
        {
            assert_eq!(code, Some(1), "byte {at}: {text}");
            agreed += 1;
        }
    }
    eprintln!(
        "R11: export of {last} events: whole; {found} of {changes} changed bytes found, {agreed} of them checked by \
         Python, which agrees"
    );
}

/// The verdict of the independent check; `None` where there is no Python.
fn python(file: &str) -> Option<(Option<i32>, String)> {
    const SKIP: &str = "FLOWER_TEST_SKIP_PYTHON";
    if is_skipped_by(SKIP) {
        return None;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/reliability/verify_export.py");
    let output = Command::new("python3").args([script, file]).output();
    let output = output.unwrap_or_else(|error| panic!("python3 cannot be run ({error}); {SKIP}=1 leaves it out"));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some((output.status.code(), text))
}
