//! `kill -9` while worktrees are made, synced, removed and brought back. Afterwards the log, git and the disk agree, and
//! no work is lost.

use crate::reliability::harness::{Daemon, Home, count, make_repository, random, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Enough that a checkout takes a while, little enough for many rounds.
const FILES: usize = 400;
/// A request is under way for about as long.
const MICROSECONDS: u64 = 200_000;

/// What must be in a worktree, wherever it is now.
#[derive(Clone, Debug)]
struct Work {
    text: String,
    removed: bool,
}

#[test]
fn no_kill_loses_work_or_leaves_log_and_disk_at_odds() {
    let kills = count(24, 200);
    let home = Home::new();
    let main = repository(&home);
    let daemon = home.start();
    daemon.http().post("/api/projects", &json!({ "dir": main })).expect("an answer").ok();
    for name in ["one", "two", "three"] {
        daemon.http().post("/api/worktrees", &json!({ "name": name })).expect("an answer").ok();
    }
    daemon.kill();
    let mut works: BTreeMap<String, Work> = BTreeMap::new();
    let mut cut_off = BTreeMap::new();
    let mut within = BTreeMap::new();
    for kill in 0..kills {
        let daemon = home.start();
        settle(&daemon);
        agree(&daemon, &main, &mut works);
        let (what, method, path, body) = next(&works, kill);
        let mut http = daemon.http_over_socket();
        let asked = std::thread::spawn(move || {
            http.call(method, &path, "application/json", body.to_string().as_bytes()).map(|answer| answer.status)
        });
        let within = within.entry(what).or_insert(MICROSECONDS);
        std::thread::sleep(Duration::from_micros(random(*within)));
        daemon.kill();
        let answered = asked.join().expect("a client does not fail");
        // Sooner where the kill came too late, later where it did not, so that it falls into the work on any machine.
        if answered.is_err() {
            *cut_off.entry(what).or_insert(0) += 1;
            *within = (*within * 3 / 2).min(MICROSECONDS);
        } else {
            *within = (*within / 2).max(500);
        }
    }
    let daemon = home.start();
    settle(&daemon);
    agree(&daemon, &main, &mut works);
    for (name, work) in works.clone() {
        if work.removed {
            daemon.http().post(&format!("/api/worktrees/{name}/restore"), &json!({})).expect("an answer").ok();
        }
    }
    agree(&daemon, &main, &mut works);
    home.assert_log_holds();
    eprintln!("{kills} kills; cut off: {cut_off:?}; {} worktrees with their work, 0 lost", works.len());
    assert!(cut_off.len() >= 3, "the kills miss the work: {cut_off:?}");
}

fn repository(home: &Home) -> PathBuf {
    let main = make_repository(&home.root().join("repository"));
    for number in 0..FILES {
        fs::write(main.join(format!("file-{number}.txt")), format!("{number}\n").repeat(50)).unwrap();
    }
    git(&main, &["add", "."]);
    git(&main, &["-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "begin"]);
    git(&main, &["branch", "--move", "--force", "main"]);
    main
}

/// What is done next: everything in turn, as far as there is something to do it with.
fn next(works: &BTreeMap<String, Work>, kill: usize) -> (&'static str, &'static str, String, Value) {
    let pick = |removed: bool| {
        let fitting: Vec<&String> = works.iter().filter(|(_, w)| w.removed == removed).map(|(name, _)| name).collect();
        (!fitting.is_empty()).then(|| fitting[random(fitting.len() as u64) as usize].clone())
    };
    let live = pick(false);
    match (kill % 4, live, pick(true)) {
        (1, Some(name), _) => ("sync", "POST", format!("/api/worktrees/{name}/sync"), json!({})),
        (2, Some(name), _) => ("remove", "DELETE", format!("/api/worktrees/{name}"), json!({})),
        (3, _, Some(name)) => ("restore", "POST", format!("/api/worktrees/{name}/restore"), json!({})),
        _ => ("new", "POST", "/api/worktrees".to_owned(), json!({ "name": format!("w{kill}") })),
    }
}

/// Until nothing is under way any more.
fn settle(daemon: &Daemon) {
    wait_until("all worktrees are at rest", || {
        let all = daemon.http().get("/api/worktrees").expect("an answer").ok();
        let states: Vec<&str> = all.as_array().unwrap().iter().map(|w| w["state"].as_str().unwrap()).collect();
        !states.iter().any(|state| ["creating", "removing", "restoring"].contains(state))
    });
}

/// The log, git and the disk say the same, MAIN is whole, and every piece of work is where it should be.
fn agree(daemon: &Daemon, main: &Path, works: &mut BTreeMap<String, Work>) {
    let mut http = daemon.http();
    let all = http.get("/api/worktrees").expect("an answer").ok();
    let live: BTreeMap<String, Value> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|worktree| (worktree["name"].as_str().unwrap().to_owned(), worktree.clone()))
        .collect();
    for (name, worktree) in &live {
        assert_eq!(worktree["state"], "ready", "{worktree}");
        assert_eq!(worktree["notes"], json!([]), "{worktree}");
        let tree = PathBuf::from(worktree["path"].as_str().unwrap());
        match works.get_mut(name) {
            // Made just now: a client begins to work in it.
            None => {
                works.insert(name.clone(), begin_work(&tree, name));
            }
            Some(work) => {
                work.removed = false;
                assert_eq!(fs::read_to_string(tree.join("work.txt")).unwrap(), work.text, "{name}");
                assert!(!tree.join("file-0.txt").exists(), "{name}: what was deleted is back");
                assert_eq!(worktree["dirty"], true);
            }
        }
    }
    let archives = http.get("/api/archives").expect("an answer").ok();
    let kept: Vec<&str> = archives.as_array().unwrap().iter().map(|kept| kept["name"].as_str().unwrap()).collect();
    for (name, work) in works.iter_mut().filter(|(name, _)| !live.contains_key(*name)) {
        assert!(kept.contains(&name.as_str()), "{name} is neither there nor kept");
        work.removed = true;
    }
    let listed = git(main, &["worktree", "list", "--porcelain"]);
    let listed: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix("worktree ")).collect();
    assert_eq!(listed.len(), 1 + live.len(), "{listed:?}\n{:?}", live.keys());
    let findings = http.get("/api/doctor").expect("an answer").ok();
    let wrong: Vec<&Value> = findings.as_array().unwrap().iter().filter(|found| found["state"] == "bad").collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(git(main, &["status", "--porcelain"]), "");
    git(main, &["fsck", "--no-dangling"]);
}

fn begin_work(tree: &Path, name: &str) -> Work {
    let text = format!("the work of {name}\n");
    fs::write(tree.join("work.txt"), &text).unwrap();
    fs::remove_file(tree.join("file-0.txt")).unwrap();
    Work { text, removed: false }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
