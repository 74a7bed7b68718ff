//! Everything inside ends: with the command, with the outer process, with the lifeline.

use crate::common::eventually;
use crate::jail::world::{Running, World};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Leaves children behind that have left session and group, and do not listen to signals.
const DAEMONS: &str = "for i in 1 2 3; do setsid sh -c \"trap '' TERM HUP INT; while :; do sleep $0; done\" $0 & done; \
                       (setsid sleep $0 &); echo ready";

/// A stop ends everything within this time.
const STOP: Duration = Duration::from_secs(5);

/// A length of sleep by which our own are found among all processes.
fn marker() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("86{}.{}", COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

fn running(marker: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let cmdlines = processes.filter_map(|process| fs::read_to_string(process.path().join("cmdline")).ok());
    cmdlines.filter(|line| line.starts_with("sleep\0") && line.contains(marker)).count()
}

/// Starts daemons inside and waits until they run. `then` is what the command does after that.
fn start(mut command: Command, marker: &str, then: &str) -> Running {
    let child = command.args(["sh", "-c", &format!("{DAEMONS}; {then}"), marker]).stdout(Stdio::null()).spawn();
    let child = Running(child.expect("flower runs"));
    eventually("the daemons run", || (running(marker) >= 4).then_some(()));
    child
}

fn gone_within(limit: Duration, marker: &str) {
    let start = Instant::now();
    while running(marker) > 0 {
        assert!(start.elapsed() < limit, "{} are still there after {limit:?}", running(marker));
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process")
}

as_both!(nothing_outlives_the_command, |world| {
    let marker = marker();
    let mut child = start(world.jail(&[]), &marker, "sleep 1; exit 3");
    assert_eq!(child.wait().expect("ended").code(), Some(3));
    gone_within(STOP, &marker);
});

as_both!(nothing_outlives_the_outer_process, |world| {
    for (signal, code) in
        [(Signal::TERM, Some(143)), (Signal::HUP, Some(143)), (Signal::INT, Some(143)), (Signal::KILL, None)]
    {
        let marker = marker();
        let mut child = start(world.jail(&[]), &marker, &format!("exec sleep {marker}"));
        kill_process(pid(&child), signal).expect("sent");
        let asked = Instant::now();
        assert_eq!(child.wait().expect("ended").code(), code, "{signal:?}");
        assert!(asked.elapsed() < STOP, "{signal:?}: {:?}", asked.elapsed());
        gone_within(STOP, &marker);
    }
});

as_both!(a_command_that_ignores_signals_is_killed, |world| {
    let marker = marker();
    let stubborn = format!("trap '' TERM; while :; do sleep {marker}; done");
    let mut child = start(world.jail(&[]), &marker, &stubborn);
    kill_process(pid(&child), Signal::TERM).expect("sent");
    let asked = Instant::now();
    assert_eq!(child.wait().expect("ended").code(), Some(137));
    assert!(asked.elapsed() < STOP, "{:?}", asked.elapsed());
    gone_within(STOP, &marker);
});

as_both!(the_end_is_announced, |world| {
    let script = "trap 'echo goodbye > farewell; exit 4' TERM; echo ready > started; while :; do sleep 0.05; done";
    let mut child = Running(world.jail(&["sh", "-c", script]).spawn().expect("flower runs"));
    eventually("it runs", || world.path("worktree/started").exists().then_some(()));
    kill_process(pid(&child), Signal::TERM).expect("sent");
    assert_eq!(child.wait().expect("ended").code(), Some(4));
    assert!(world.path("worktree/farewell").exists());
});

// The jail is built within some of these milliseconds. An end that is asked for meanwhile reaches the command, too.
as_both!(the_end_is_announced_however_early, |world| {
    for milliseconds in (0..60).step_by(3) {
        let mut child = Running(world.jail(&["sleep", "60"]).spawn().expect("flower runs"));
        std::thread::sleep(Duration::from_millis(milliseconds));
        kill_process(pid(&child), Signal::TERM).expect("sent");
        // None is an end before there is a jail.
        let code = child.wait().expect("ended").code();
        assert!(matches!(code, None | Some(143)), "after {milliseconds} ms: {code:?}");
    }
});

as_both!(the_lifeline_ends_everything, |world| {
    let marker = marker();
    let mut command = world.command("sh");
    let prefix = world.prefix();
    // The descriptor is passed by number; the test's end of it is what closes.
    command.args(["-c", "exec 9<&0 < /dev/null; exec \"$@\"", "sh"]).args(&prefix[..prefix.len() - 1]);
    command.args(["--lifeline", "9", "--"]).stdin(Stdio::piped());
    let mut child = start(command, &marker, "until rm asked 2>/dev/null; do sleep 0.01; done; exec sleep $0");
    fs::write(world.path("worktree/asked"), "").expect("asked");
    eventually("it runs as long as the line holds", || (!world.path("worktree/asked").exists()).then_some(()));
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ended").code(), Some(143));
    gone_within(STOP, &marker);
});

as_both!(the_lock_is_held_for_as_long_as_anything_runs, |mut world| {
    use rustix::fs::{FlockOperation, flock};
    let lock = world.file("home/worktree.lock", "");
    world.spec.lock = Some(lock.clone());
    let file = fs::File::open(lock).expect("the lock");
    let free = || flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    let marker = marker();
    let mut child = start(world.jail(&[]), &marker, &format!("exec sleep {marker}"));
    assert!(!free(), "it is held");
    kill_process(pid(&child), Signal::KILL).expect("sent");
    child.wait().expect("ended");
    eventually("it is free", || free().then_some(()));
    // While another process has it exclusively, nothing starts.
    let output = world.run("true");
    assert_eq!(output.code, 125, "{output:?}");
    assert!(output.stderr.contains("worktree.lock"), "{output:?}");
});
