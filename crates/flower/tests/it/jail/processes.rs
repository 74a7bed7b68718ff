//! Processes outside: not to be seen, signalled or looked into.

use crate::jail::world::{Running, World};
use flower_jail::Network;
use std::process::Stdio;

as_both!(processes_outside_are_out_of_reach, |mut world| {
    let mut sleeper = Running(world.command("sleep").arg("600").stdin(Stdio::null()).spawn().expect("it sleeps"));
    let pid = sleeper.id();
    for network in [Network::Own, Network::Host] {
        world.spec.network = network;
        let seen = world.ok("ls /proc | grep -E '^[0-9]+$' | wc -l");
        assert!(seen.trim().parse::<u32>().unwrap() < 10, "{seen}");
        // By number, by every number, and by group; the last two end the script itself.
        world.run(&format!("kill -9 {pid} -{pid}"));
        world.run("kill -9 -1");
        world.run("kill -9 0");
        world.ok(&format!(
            "! cat /proc/{pid}/environ && ! cat /proc/{pid}/mem && ! ls /proc/{pid}/root && ! ls /proc/{pid}/fd"
        ));
    }
    assert_eq!(sleeper.try_wait().expect("asked"), None, "it still sleeps");
});

// It holds what the caller had in its environment.
as_both!(the_first_process_cannot_be_looked_into, |world| {
    for file in ["environ", "mem", "maps", "fd/0", "auxv", "syscall", "stack"] {
        world.ok(&format!("! cat /proc/1/{file} > /dev/null"));
    }
    world.ok("kill -9 1; kill -TERM 1; kill -STOP 1; sleep 0.2; kill -0 1");
});
