//! A home that cannot be written, a database that is damaged or from the future: said clearly, and left as it is.

use super::with_briefs;
use crate::common::{Flower, Output, finish};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs the command where this folder cannot be written, not even by root.
fn read_only(flower: &Flower, folder: &Path, args: &[&str]) -> Output {
    let command = flower.command(args);
    let mut shell = Command::new("unshare");
    if !rustix::process::getuid().is_root() {
        shell.args(["--user", "--map-root-user"]);
    }
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
    shell.args(["--mount", "sh", "-c", script]).arg(folder).arg(command.get_program()).args(command.get_args());
    shell
        .env_clear()
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(&flower.repo);
    finish(shell)
}

fn says(error: &Value, words: &[&str]) {
    assert_eq!(error["kind"], "unreachable", "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} are not all in {text}");
}

#[test]
fn a_home_that_cannot_be_written_is_named() {
    let flower = with_briefs(&["one"]);
    flower.ok(&["down"]);
    for args in [&["brief", "--json"][..], &["brief", "new", "two", "--json"], &["up", "--json"], &["status", "--json"]]
    {
        let error = read_only(&flower, &flower.home, args).error(5);
        says(&error, &["Read-only file system", "FLOWER_HOME", flower.home.to_str().unwrap()]);
    }
    let text = read_only(&flower, &flower.home, &["brief"]);
    assert!(text.code == 5 && text.stderr.contains("  hint: make it writable"), "{text:?}");
    assert_eq!(flower.json(&["brief", "show", "1"])["title"], "one", "nothing is lost");
    assert_eq!(super::numbers(&flower.json(&["brief"])), [1]);
    // One that cannot even be made.
    let fresh = Flower::new();
    says(&read_only(&fresh, fresh.dir(), &["brief", "--json"]).error(5), &["Read-only file system", "FLOWER_HOME"]);
}

#[test]
fn a_home_that_is_no_folder_is_named() {
    let mut flower = Flower::new();
    let file = flower.file("file", "");
    for home in ["/proc/flower", "/dev/null", &file, &format!("{file}/below")] {
        flower.home = home.into();
        says(&flower.fails(&["brief"], 5), &[home, "FLOWER_HOME"]);
    }
    let mut homeless = flower.command(&["brief", "--json"]);
    homeless.env_remove("FLOWER_HOME").env_remove("HOME");
    assert_eq!(finish(homeless).error(2)["kind"], "usage");
    // Without FLOWER_HOME, state goes where the system keeps data.
    flower.home = flower.dir().join("data/flower");
    let mut usual = flower.command(&["brief", "new", "x"]);
    usual.env_remove("FLOWER_HOME").env("XDG_DATA_HOME", flower.dir().join("data"));
    assert_eq!(finish(usual).code, 0);
    assert!(flower.home.join("flower.db").exists());
}

#[test]
fn a_damaged_database_is_left_for_the_one_who_mends_it() {
    let flower = with_briefs(&["one"]);
    flower.ok(&["down"]);
    let path = flower.home.join("flower.db");
    let whole = fs::read(&path).unwrap();
    let garbage: Vec<u8> = (0..50_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut scribbled = whole.clone();
    scribbled[100..4_096].fill(0xa5);
    let foreign = b"SQLite format 3\0 but only that".to_vec();
    for (what, damaged) in [("garbage", garbage), ("its first page scribbled over", scribbled), ("a stub", foreign)] {
        fs::write(&path, &damaged).unwrap();
        for args in [&["brief"][..], &["brief", "new", "two"], &["up"], &["up", "--foreground"]] {
            let error = flower.fails(args, 5);
            says(&error, &["damaged", "backup"]);
        }
        assert!(fs::read(&path).unwrap() == damaged, "{what}: it was written to");
        assert!(!flower.home.join("flower.sock").exists(), "{what}: it was served");
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(flower.json(&["brief", "show", "1"])["title"], "one");
    assert_eq!(flower.json(&["log", "verify", "--tables"])["ok"], true);
}

#[test]
fn a_database_of_another_sort_is_not_touched() {
    let flower = Flower::new();
    fs::create_dir(&flower.home).unwrap();
    let path = flower.home.join("flower.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE events (diary TEXT); INSERT INTO events VALUES ('Dear diary');").unwrap();
    drop(database);
    says(&flower.fails(&["brief"], 5), &["not one of flower's"]);
    let database = rusqlite::Connection::open(&path).unwrap();
    let diary: String = database.query_row("SELECT diary FROM events", [], |row| row.get(0)).unwrap();
    assert_eq!(diary, "Dear diary");
}

#[test]
fn a_database_of_a_newer_flower_is_not_touched() {
    let flower = with_briefs(&["one"]);
    flower.ok(&["down"]);
    let path = flower.home.join("flower.db");
    let set_version = |version: i64| {
        let database = rusqlite::Connection::open(&path).unwrap();
        let before: i64 = database.query_row("SELECT version FROM flower_schema", [], |row| row.get(0)).unwrap();
        database.execute("UPDATE flower_schema SET version = ?1", [version]).unwrap();
        before
    };
    let known = set_version(99);
    for args in [&["brief"][..], &["brief", "new", "two"], &["up"]] {
        says(&flower.fails(args, 5), &["schema version 99", &format!("up to {known}"), "newer flower"]);
    }
    assert_eq!(set_version(known), 99, "nothing was changed");
    assert_eq!(super::numbers(&flower.json(&["brief"])), [1]);
}

#[test]
fn a_token_file_that_holds_none_is_named() {
    let flower = with_briefs(&["one"]);
    flower.ok(&["down"]);
    let token = flower.token();
    fs::write(flower.home.join("token"), "").unwrap();
    says(&flower.fails(&["brief"], 5), &["holds no token", "remove that file"]);
    fs::write(flower.home.join("token"), token).unwrap();
    assert_eq!(super::numbers(&flower.json(&["brief"])), [1]);
}
