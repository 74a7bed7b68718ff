//! The disk fills up in the middle of a turn: nothing is lost, stopping works, and it goes on when there is room again.

use crate::agent_bounds::stage::{Stage, play};
use crate::common::{Flower, eventually};
use crate::reliability::namespace::{mount_tmpfs, with_mounts};
use serde_json::json;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// Takes all the space there is.
fn fill(disk: &Path) {
    let mut ballast = File::options().create(true).append(true).open(disk.join("ballast")).expect("a file");
    for size in [1 << 16, 1024, 64, 1] {
        while ballast.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

#[test]
fn a_full_disk_in_the_middle_of_a_turn_loses_nothing() {
    with_mounts("agent_bounds::full_disk::a_full_disk_in_the_middle_of_a_turn_loses_nothing", || {
        let disk = tempfile::Builder::new().prefix("flower-full-").tempdir().expect("a folder");
        mount_tmpfs(disk.path(), 96 << 10);
        let mut flower = Flower::new();
        flower.home = disk.path().join("home");
        full(&Stage::of(flower, &play("play", &[], "")), disk.path());
        let _ = std::process::Command::new("umount").arg("--lazy").arg(disk.path()).status();
    });
}

fn full(stage: &Stage, disk: &Path) {
    let waits = |file: &str| format!("run while [ ! -e {file} ]; do sleep 0.1; done\n");
    let script = format!(
        "say before\n {} say meanwhile\n write b.txt b\n {} write a.txt a\n run rm -f go room b.txt\n commit a\n say behind\n hand-back done",
        waits("go"),
        waits("room")
    );
    let work = stage.plays("play", "Full", &script);
    let other = stage.plays("play", "Other", "say here\n hang-hard");
    let (name, doomed) = (stage.agent_of(work), stage.agent_of(other));
    stage.hears(&name, "before");
    stage.hears(&doomed, "here");
    let tree = stage.worktree(stage.agent(&name)["worktree"].as_str().expect("a name"));
    let pid = stage.agent(&doomed)["pid"].as_u64().expect("a process");
    // Names need no room, contents do.
    fs::write(tree.join("go.new"), "").expect("a file");
    fill(disk);
    fs::rename(tree.join("go.new"), tree.join("go")).expect("renamed");
    // Its jail leaves what there is to others, or it goes on and cannot write.
    stage.until(&name, "held up", |agent| {
        let evidence = agent["evidence"].as_str().unwrap_or_default();
        evidence.contains("restarting") || evidence.contains("-e room")
    });
    // A stop ends the agent, even though it cannot be recorded.
    let asked = Instant::now();
    let stopped = stage.run(&["agent", "stop", &doomed, "--json"]);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!([0, 5].contains(&stopped.code), "{stopped:?}");
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "its process is gone");
    assert_eq!(stage.get("/api/status")["pid"], json!(stage.pid()), "the daemon answers");
    fs::remove_file(disk.join("ballast")).expect("room again");
    fs::write(tree.join("room"), "").expect("a file");
    stage.lands(work);
    let ended = stage.becomes(&doomed, "stopped");
    assert_eq!(ended["ended"]["how"], "stopped", "recorded when there was room: {ended}");
    let log = stage.said(&name);
    assert!(log.contains("before") && log.contains("behind"), "{log}");
    eventually("what is missing is said", || {
        let log = stage.said(&name);
        (log.contains("meanwhile") || log.contains("entries are missing: the disk was full")).then_some(())
    });
    assert!(stage.repo.join("a.txt").exists());
    stage.ok(&["log", "verify"]);
}
