//! System calls with which others have got out of jails.

use crate::jail::world::World;
use flower_jail::Network;

as_both!(no_mount_no_namespace_no_module_and_no_debugger, |world| {
    world.arm();
    let output = world.attack(&["kernel"]);
    assert_eq!(output.code, 0, "{output:?}");
    let (refused, absent, no_right) = (" 1", " 38", " 13");
    for line in output.stdout.lines() {
        let fine = [refused, absent].iter().any(|end| line.ends_with(end))
            // Landlock's word for a device that may not be made.
            || (line.starts_with("mknod") && line.ends_with(no_right))
            // An ordinary user's namespace knows one user only.
            || (line.starts_with("set") && line.ends_with(" 22"));
        assert!(fine, "{:?}: {line}", world.who);
    }
    assert!(output.stdout.lines().count() > 60, "{output:?}");
});

as_both!(calls_of_another_architecture_are_deadly, |world| {
    world.arm();
    let output = world.attack(&["other_architecture"]);
    // By the filter; or, where the kernel has none of the other architecture, by the processor.
    assert!([128 + 31, 128 + 11].contains(&output.code), "{output:?}");
});

as_both!(odd_sockets_are_refused, |mut world| {
    world.arm();
    for network in [Network::Host, Network::Own] {
        world.spec.network = network;
        world.all_refused(&["sockets"], 20);
    }
    assert!(world.attack_from_outside(&["sockets"]).stdout.contains(" done"), "nothing of it would work anyway");
});

as_both!(no_capability_is_left, |world| {
    let status = world.ok("cat /proc/self/status");
    for field in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(status.contains(&format!("{field}:\t0000000000000000\n")), "{field}: {status}");
    }
    assert!(status.contains("NoNewPrivs:\t1\n") && status.contains("Seccomp:\t2\n"), "{status}");
});

as_both!(the_switches_of_the_machine_cannot_be_turned, |world| {
    for switch in [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/pid_max",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/power/state",
    ] {
        let output = world.run(&format!("[ ! -e {switch} ] || ! echo 0 > {switch}"));
        assert_eq!(output.code, 0, "{switch}: {output:?}");
    }
});

as_both!(devices_are_the_harmless_ones_and_stay_as_they_are, |world| {
    let names = world.ok("ls /dev");
    let known = "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero";
    assert_eq!(names.split_whitespace().collect::<Vec<_>>().join(" "), known);
    world.ok("echo x > /dev/null && head -c 4 /dev/zero | wc -c && ! echo x > /dev/full");
    world.ok("! chmod 000 /dev/null && ! rm /dev/null && ! touch /dev/new && ! touch -d 2001-01-01 /dev/null");
    world.ok("echo x > /dev/shm/x && echo x > /tmp/x && echo x > /var/tmp/x && ! echo x > /run/x && ! echo x > /x");
});
