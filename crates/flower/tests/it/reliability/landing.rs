//! `kill -9` at every step of a landing, and at random moments. MAIN is before or after it, never between: what git has is
//! recorded, what is recorded git has, and the served tree is one or the other.

use crate::reliability::harness::{Daemon, Home, count, make_repository, random, wait_until};
use flower_engine::failpoint;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// All of them change with every landing, so that half of one is seen.
const FILES: usize = 60;

struct Scene {
    home: Home,
    main: PathBuf,
    /// Landings so far; every file says so.
    version: u64,
}

impl Scene {
    fn new() -> Scene {
        let home = Home::new();
        let main = make_repository(&home.root().join("repository"));
        fill(&main, 0);
        fs::write(main.join("flower.toml"), "[checks]\nsame = { run = \"sort -u file-* | wc -l | grep -qx 1\" }\n")
            .unwrap();
        git(&main, &["config", "user.name", "T"]);
        git(&main, &["config", "user.email", "t@example.com"]);
        git(&main, &["add", "."]);
        git(&main, &["commit", "--quiet", "--message", "begin"]);
        git(&main, &["branch", "--move", "--force", "main"]);
        let daemon = home.start();
        daemon.http().post("/api/projects", &json!({ "dir": main })).expect("an answer").ok();
        let commands = daemon.http().get("/api/projects/repository/commands").expect("an answer").ok();
        let sha256 = json!({ "sha256": commands["sha256"] });
        daemon.http().post("/api/projects/repository/commands", &sha256).expect("an answer").ok();
        Scene { home, main, version: 0 }
    }

    /// A worktree in which the next version is committed.
    fn prepare(&mut self) -> String {
        let daemon = self.home.start();
        self.settle(&daemon);
        self.version += 1;
        let name = format!("v{}", self.version);
        let new = json!({ "name": name, "seal": "linked" });
        let made = daemon.http().post("/api/worktrees", &new).expect("an answer").ok();
        let tree = PathBuf::from(made["path"].as_str().unwrap());
        fill(&tree, self.version);
        git(&tree, &["commit", "--quiet", "--all", "--message", &name]);
        daemon.kill();
        name
    }

    /// Until everything has landed that can, and what follows is done.
    fn settle(&self, daemon: &Daemon) {
        wait_until("everything has landed", || {
            let open = daemon.http().get("/api/landings").expect("an answer").ok();
            open.as_array().unwrap().is_empty()
        });
        wait_until("worktrees whose work has landed are gone", || {
            let all = daemon.http().get("/api/worktrees").expect("an answer").ok();
            all.as_array().unwrap().iter().all(|worktree| worktree["state"] == "ready" && worktree["ahead"] != 0)
        });
    }

    /// After a restart: exactly once, whole, and recorded.
    fn agree(&self, what: &str) {
        let daemon = self.home.start();
        // A kill may have come before the request was taken.
        let all = daemon.http().get("/api/landings?all=true&limit=10000").expect("an answer").ok();
        let name = format!("v{}", self.version);
        if !all.as_array().unwrap().iter().any(|landing| landing["worktree"] == name.as_str()) {
            daemon.http().post(&format!("/api/worktrees/{name}/land"), &json!({})).expect("an answer").ok();
        }
        self.settle(&daemon);
        let all = daemon.http().get("/api/landings?all=true&limit=10000").expect("an answer").ok();
        let landed: Vec<&Value> = all.as_array().unwrap().iter().filter(|l| l["state"] == "landed").collect();
        assert_eq!(landed.len() as u64, self.version, "{what}: {all:#}");
        let tips: Vec<String> =
            git(&self.main, &["log", "--first-parent", "--format=%H", "main"]).lines().map(str::to_owned).collect();
        let recorded: Vec<&str> = landed.iter().map(|landing| landing["merge_commit"].as_str().unwrap()).collect();
        assert_eq!(tips[..tips.len() - 1], recorded, "{what}: MAIN and the log");
        assert_eq!(versions(&self.main), BTreeMap::from([(self.version, FILES)]), "{what}: the served tree");
        assert_eq!(git(&self.main, &["status", "--porcelain"]), "", "{what}");
        let main = daemon.http().get("/api/main?project=repository").expect("an answer").ok();
        assert_eq!(main["state"], "stable", "{what}: {main}");
        daemon.kill();
    }
}

#[test]
fn a_kill_at_every_step_leaves_main_before_or_after() {
    let rounds = count(1, 40);
    let mut scene = Scene::new();
    for round in 0..rounds {
        for place in failpoint::NAMES {
            let name = scene.prepare();
            let mut daemon = scene.home.start_dying_at(place);
            let mut http = daemon.http_over_socket();
            // It may die before it answers.
            let _ = http.post(&format!("/api/worktrees/{name}/land"), &json!({}));
            daemon.wait(Duration::from_secs(60));
            scene.agree(&format!("round {round}, killed at {place}"));
            // The recovery of a journal deletes the refs of the landing that it records. After a later kill they stay, on
            // commits that MAIN has, until `flower doctor --fix`.
            if ["main.moved", "main.tree", "landing.recorded"].contains(place) {
                let number = scene.version;
                let left = git(&scene.main, &["for-each-ref", &format!("refs/flower/landing/{number}")]);
                assert_eq!(left, "", "round {round}, killed at {place}");
            }
        }
    }
    git(&scene.main, &["fsck", "--no-dangling"]);
    scene.home.assert_log_holds();
    eprintln!(
        "{} kills at {} places: each landed once, none half",
        rounds * failpoint::NAMES.len(),
        failpoint::NAMES.len()
    );
}

/// git has moved index and files by hand and was refused. The daemon is killed at every step of putting them back.
#[test]
fn a_kill_at_every_step_of_putting_main_back_loses_nothing() {
    let mut scene = Scene::new();
    // MAIN gets a commit that `behind` does not have.
    let name = scene.prepare();
    let daemon = scene.home.start();
    daemon.http().post(&format!("/api/worktrees/{name}/land"), &json!({})).expect("an answer").ok();
    scene.settle(&daemon);
    daemon.kill();
    let main = &scene.main;
    // A merge commit of `side` and a fast-forward to `ahead`, which add, change and delete files.
    for (branch, base) in [("side", "main"), ("ahead", "main"), ("behind", "main~1")] {
        git(main, &["worktree", "add", "--quiet", "-b", branch, "../by-hand", base]);
        let tree = main.join("../by-hand");
        fs::write(tree.join(format!("{branch}.txt")), branch).unwrap();
        if branch != "behind" {
            fs::write(tree.join("file-1"), branch).unwrap();
            fs::remove_file(tree.join("file-2")).unwrap();
        }
        git(&tree, &["add", "--all"]);
        git(&tree, &["commit", "--quiet", "--message", branch]);
        git(main, &["worktree", "remove", "../by-hand"]);
    }
    let before = git(main, &["rev-parse", "main"]);
    let rebase = &["rebase", "--quiet", "behind"][..];
    let moves = [
        &["merge", "--no-ff", "--no-edit", "side"][..],
        rebase,
        &["merge", "--ff-only", "ahead"],
        &["cherry-pick", "side"],
        &["revert", "--no-edit", "main"],
    ];
    let kills = failpoint::PUT_BACK_NAMES.iter().flat_map(|place| {
        let most = if *place == "put_back.files" { moves.len() } else { count(2, moves.len()) };
        moves.into_iter().take(most).map(move |by_hand| (*place, by_hand))
    });
    for (before_it, (place, by_hand)) in kills.chain([(failpoint::PUT_BACK_REBASE_NAME, rebase)]).enumerate() {
        let what = format!("killed at {place}, after git {by_hand:?}");
        let moved = Command::new("git").args(by_hand).current_dir(main).output().expect("git runs");
        assert!(!moved.status.success(), "{what}: the hook refuses");
        assert_ne!(git(main, &["diff", "--name-only", "main"]), "", "{what}: git has written files");
        let mut daemon = scene.home.start_dying_at(place);
        daemon.wait(Duration::from_secs(60));
        let daemon = scene.home.start();
        wait_until("MAIN is put back", || {
            let found = daemon.http().get("/api/main?project=repository").expect("an answer").ok();
            found["state"] == "stable" && !main.join(".git/flower-tried").exists()
        });
        assert_eq!(git(main, &["rev-parse", "main"]), before, "{what}");
        assert_eq!(git(main, &["symbolic-ref", "HEAD"]).trim(), "refs/heads/main", "{what}");
        assert_eq!(git(main, &["status", "--porcelain"]), "", "{what}");
        assert_eq!(versions(main), BTreeMap::from([(1, FILES)]), "{what}");
        for open in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "sequencer", "flower-ended"] {
            assert!(!main.join(".git").join(open).exists(), "{what}: {open}");
        }
        let events = daemon.http().get("/api/trace?limit=10000").expect("an answer").ok();
        let put_back = events.as_array().unwrap().iter().filter(|event| event["kind"] == "main_put_back").count();
        assert_eq!(put_back, before_it + 1, "{what}: {events:#}");
        daemon.kill();
    }
    let saved = git(main, &["for-each-ref", "--format=%(objectname)", "refs/flower/saved"]);
    assert!(saved.contains(git(main, &["rev-parse", "ahead"]).trim()), "{saved}");
    scene.home.assert_log_holds();
}

#[test]
fn random_kills_leave_main_before_or_after() {
    let kills = count(8, 500);
    let mut scene = Scene::new();
    let (reads, mixed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let stop = Arc::new(AtomicBool::new(false));
    let reader = {
        let (main, reads, mixed, stop) = (scene.main.clone(), reads.clone(), mixed.clone(), stop.clone());
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                reads.fetch_add(1, Ordering::Relaxed);
                mixed.fetch_add(u64::from(versions(&main).len() > 1), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    // Kills fall into all of a landing, however fast this machine is today.
    let name = scene.prepare();
    let daemon = scene.home.start();
    let begun = Instant::now();
    daemon.http().post(&format!("/api/worktrees/{name}/land"), &json!({})).expect("an answer").ok();
    scene.settle(&daemon);
    let span = u64::try_from(begun.elapsed().as_micros()).unwrap_or(1_000_000);
    daemon.kill();
    let (mut before, mut within) = (0, span);
    for kill in 0..kills {
        let name = scene.prepare();
        let daemon = scene.home.start();
        let mut http = daemon.http_over_socket();
        let asked = std::thread::spawn(move || http.post(&format!("/api/worktrees/{name}/land"), &json!({})).is_ok());
        std::thread::sleep(Duration::from_micros(random(within)));
        let tip = git(&scene.main, &["log", "-1", "--format=%s", "main"]);
        daemon.kill();
        let _ = asked.join();
        let is_before = tip.trim() != format!("v{}", scene.version);
        before += usize::from(is_before);
        // The first one may have had the machine for itself, or not.
        within = if is_before { (within * 3 / 2).min(span * 2) } else { (within / 2).max(500) };
        scene.agree(&format!("kill {kill}"));
    }
    stop.store(true, Ordering::Relaxed);
    reader.join().expect("a reader does not fail");
    git(&scene.main, &["fsck", "--no-dangling"]);
    scene.home.assert_log_holds();
    let (reads, mixed) = (reads.load(Ordering::Relaxed), mixed.load(Ordering::Relaxed));
    eprintln!(
        "{kills} kills, {before} before MAIN moved; a reader saw a mix in {mixed} of {reads} reads, during the move"
    );
    assert!(before > 0 && before < kills, "the kills miss the landings: {before} of {kills} before");
}

fn fill(dir: &Path, version: u64) {
    for number in 0..FILES {
        fs::write(dir.join(format!("file-{number}")), format!("{version}\n")).unwrap();
    }
}

/// How many files say which version.
fn versions(dir: &Path) -> BTreeMap<u64, usize> {
    let mut seen = BTreeMap::new();
    for number in 0..FILES {
        // While git replaces a file it is gone for a moment.
        let text = fs::read_to_string(dir.join(format!("file-{number}"))).unwrap_or_default();
        *seen.entry(text.trim().parse().unwrap_or(u64::MAX)).or_insert(0) += 1;
    }
    seen
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
