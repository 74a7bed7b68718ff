//! What runs wild inside is not felt outside.

use super::*;

/// FLOWER_HOME lies below the user's home, as it does by default: jails of one worktree then make the same places in its own home.
#[test]
fn many_commands_begin_in_one_worktree_at_the_same_moment() {
    let mut flower = Flower::new();
    flower.home = flower.dir().join("user/.local/share/flower");
    prepare(&flower);
    new(&flower, "one", &[]);
    let seal = flower.home.join("seals/repo/one/home");
    for _ in 0..count(10, 100) {
        let _ = fs::remove_dir_all(seal.join(".local"));
        let begin = || flower.command(&["worktree", "shell", "one", "--", "true"]).stderr(Stdio::piped()).spawn();
        let all: Vec<_> = (0..8).map(|_| begin().expect("flower runs")).collect();
        for one in all {
            let output = one.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
use std::time::{Duration, Instant};

/// Some of each, and all at once: processes that never rest and start others, a file without end, very many small ones, and
/// memory.
const WILD: &str = "
    mkdir many
    (cd many; i=0; while [ $i -lt 50000 ]; do : > $i; i=$((i+1)); done) &
    (while :; do head -c 100000000 /dev/zero > endless; done) &
    head -c 300000000 /dev/zero | tail &
    for i in $(seq 40); do (while :; do :; done) & done
    for i in $(seq 4); do (while :; do (true) & wait; done) & done
    echo wild
    exec sleep 300";

#[test]
fn the_daemon_answers_while_something_runs_wild_inside() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let mut wild = Running::start(flower, "one", WILD, "wild\n");
        let begin = Instant::now();
        let mut answered = 0;
        while begin.elapsed() < Duration::from_secs(3) || answered < 200 {
            let asked = Instant::now();
            assert_eq!(flower.api("GET", "/api/status").send().status, 200);
            assert!(asked.elapsed() < HANG, "answer {answered} came after {:?}", asked.elapsed());
            answered += 1;
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(wild.0.try_wait().expect("asked").is_none(), "the load lasts to the end");
    });
}
