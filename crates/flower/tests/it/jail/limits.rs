//! A mistake inside stays inside.

use crate::common::Output;
use crate::jail::world::{Who, World};
use std::fs;

/// The exit code of a jail that was ended because it took too much.
const EXIT_LIMIT_EXCEEDED: i32 = flower_jail::EXIT_LIMIT_EXCEEDED as i32;

as_both!(a_fork_bomb_is_bounded, |mut world| {
    world.arm();
    world.spec.limits.processes = 500;
    let output = world.attack(&["bomb"]);
    let forks = output.stdout.trim().strip_prefix("forks ").and_then(|forks| forks.parse::<u32>().ok());
    assert!(forks.is_some_and(|forks| (50..500).contains(&forks)), "{output:?}");
});

as_both!(an_endless_file_is_bounded, |mut world| {
    world.spec.limits.file_bytes = 1 << 20;
    let output = world.run("dd if=/dev/zero of=endless bs=65536 count=1000 2>/dev/null");
    assert_ne!(output.code, 0, "{output:?}");
    assert_eq!(fs::metadata(world.path("worktree/endless")).unwrap().len(), 1 << 20);
});

// Many processes that are each within bounds are not, together.
as_both!(memory_is_bounded, |mut world| {
    world.arm();
    world.spec.limits.memory_bytes = 200 << 20;
    for (eaten, bound) in [(["250", "0", "0"], true), (["0", "80", "4"], true), (["0", "30", "4"], false)] {
        let output = world.attack(&[&["eat"][..], &eaten].concat());
        assert_eq!(output.code, if bound { EXIT_LIMIT_EXCEEDED } else { 0 }, "{eaten:?}: {output:?}");
        assert_eq!(output.stderr.contains("all processes in the jail were killed: memory use exceeds 200 MB"), bound);
        assert_eq!(output.stdout, if bound { "" } else { "eaten\n" });
    }
});

as_both!(memory_that_processes_share_counts_once, |mut world| {
    world.arm();
    world.spec.limits.memory_bytes = 200 << 20;
    let output = world.attack(&["eat", "120", "1", "4"]);
    assert_eq!((output.code, &*output.stdout), (0, "eaten\n"), "{output:?}");
});

as_both!(processes_inside_are_killed_first_when_memory_ends, |world| {
    let outside = fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse::<i32>().unwrap();
    assert_eq!(world.ok("cat /proc/self/oom_score_adj").trim().parse::<i32>().unwrap(), outside.max(500));
});

as_both!(scratch_folders_share_one_bound, |world| {
    let figures = world.ok("dd if=/dev/zero of=/var/tmp/x bs=1M count=8 2>/dev/null; \
                            for at in /tmp /var/tmp /dev/shm; do stat -f -c '%b %c %f' $at; done");
    let figures: Vec<&str> = figures.lines().collect();
    assert_eq!(figures.len(), 3);
    assert!(figures.iter().all(|line| *line == figures[0]), "{figures:?}");
    assert_eq!(figures[0].split(' ').nth(1), Some("500000"));
});

/// A script inside whose worktree is a small disk of its own, in which something was done before. Also gives the free files
/// and blocks that are left of it.
fn on_small_disk(world: &World, size: &str, before: &str, script: &str) -> (Output, u64, u64) {
    let mut command = world.command("unshare");
    // Who mounts is root of something; who runs the jail then is not.
    let (mounts, plain) = match world.who {
        Who::Root => (&["--mount"][..], ""),
        Who::User => (&["--user", "--map-root-user", "--mount"][..], "unshare --user --map-user=1000 --map-group=1000"),
    };
    let around = format!(
        "mount -t tmpfs -o {size} flower-test worktree && (cd worktree && {before}) || exit; \
         {plain} \"$@\"; code=$?; stat -f -c '%d %f' worktree; exit $code"
    );
    command.args(mounts).args(["sh", "-c", &around, "sh"]).args(world.prefix()).args(["sh", "-c", script]);
    let output: Output = command.output().expect("unshare runs").into();
    let left: Vec<u64> = output.stdout.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [files, blocks] = left[..] else { panic!("no figures: {output:?}") };
    (output, files, blocks)
}

as_both!(very_many_small_files_are_bounded, |world| {
    let script = "i=0; while [ $i -lt 30000 ]; do : > $i; i=$((i+1)); [ $((i%50)) != 0 ] || sleep 0.002; done";
    let (output, files, _) = on_small_disk(&world, "nr_inodes=20000", "true", script);
    assert_eq!(output.code, EXIT_LIMIT_EXCEEDED, "{output:?}");
    assert!(
        output.stderr.contains("all processes in the jail were killed: ") && output.stderr.contains("room for only ")
    );
    assert!((1..1000).contains(&files), "less than a twentieth is left, but some: {files}");
});

as_both!(a_disk_is_not_filled, |world| {
    let script = "i=0; while [ $i -lt 300 ]; do head -c 300000 /dev/zero > $i; i=$((i+1)); sleep 0.02; done";
    let (output, _, blocks) = on_small_disk(&world, "size=64m", "true", script);
    assert_eq!(output.code, EXIT_LIMIT_EXCEEDED, "{output:?}");
    assert!(output.stderr.contains("/worktree has only ") && output.stderr.contains(" MB left"), "{output:?}");
    assert!((1..820).contains(&blocks), "less than a twentieth is left, but some: {blocks}");
});

// What flower does to make room again runs inside as well.
as_both!(on_a_disk_that_was_full_before_work_goes_on, |world| {
    let fill = "head -c 66000000 /dev/zero > big";
    let (output, _, blocks) = on_small_disk(&world, "size=64m", fill, "sleep 0.2; echo one > one; sleep 0.2; cat one");
    assert!((1..820).contains(&blocks), "it is full: {blocks}");
    assert!(output.code == 0 && output.stdout.starts_with("one\n"), "{output:?}");
});

as_both!(limits_are_what_the_spec_says, |mut world| {
    world.spec.limits.open_files = 128;
    assert_eq!(world.ok("ulimit -n; ulimit -c; nice").split_whitespace().take(2).collect::<Vec<_>>(), ["128", "0"]);
    let nice = |text: &str| text.trim().parse::<i32>().expect("a number");
    let outside = nice(&String::from_utf8(world.command("nice").output().unwrap().stdout).unwrap());
    assert_eq!(nice(&world.ok("nice")), (outside + 5).min(19));
});
