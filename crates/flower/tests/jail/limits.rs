//! A mistake inside stays inside.

use crate::world::World;
use std::fs;

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

as_both!(limits_are_what_the_spec_says, |mut world| {
    world.spec.limits.open_files = 128;
    assert_eq!(world.ok("ulimit -n; ulimit -c; nice").split_whitespace().take(2).collect::<Vec<_>>(), ["128", "0"]);
    let nice = |text: &str| text.trim().parse::<i32>().expect("a number");
    let outside = nice(&String::from_utf8(world.command("nice").output().unwrap().stdout).unwrap());
    assert_eq!(nice(&world.ok("nice")), (outside + 5).min(19));
});
