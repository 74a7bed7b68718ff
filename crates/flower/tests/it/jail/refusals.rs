//! The jail fails closed: if anything is missing, nothing of the command runs, and one line names what is missing.

use crate::common::Output;
use crate::jail::world::World;
use flower_jail::{Bind, Network, Overlay, probe_with};
use std::fs;

/// Runs a jail under something that takes a part of the kernel away; its command would leave a trace.
fn under(world: &World, wrapper: &[&str]) -> Output {
    let mut command = world.command(world.path("worktree/attacks"));
    command.args(wrapper).args(world.prefix()).args(["touch", "ran"]);
    let output = command.output().expect("it runs").into();
    assert!(!world.path("worktree/ran").exists(), "it ran under {wrapper:?}: {output:?}");
    output
}

fn refused(world: &World, wrapper: &[&str], because: &str) {
    let output = under(world, wrapper);
    assert_eq!(output.code, 125, "{wrapper:?}: {output:?}");
    assert_eq!(output.stderr.lines().count(), 1, "one line: {output:?}");
    assert!(output.stderr.starts_with("flower jail: ") && output.stderr.contains(because), "{wrapper:?}: {output:?}");
}

/// The calls without which there is no jail.
fn needed() -> Vec<(i64, &'static str)> {
    vec![
        (libc::SYS_landlock_restrict_self, "Landlock"),
        (libc::SYS_landlock_add_rule, "Landlock"),
        (libc::SYS_seccomp, "seccomp"),
        (libc::SYS_pivot_root, "entering the root"),
        (libc::SYS_umount2, "entering the root"),
        (libc::SYS_mount_setattr, ""),
        (libc::SYS_move_mount, "mounting the root"),
        (libc::SYS_fsopen, "mounting the root"),
        (libc::SYS_capset, "capabilities"),
        (libc::SYS_close_range, "descriptors"),
        (libc::SYS_openat2, ""),
        (libc::SYS_prctl, ""),
    ]
}

as_both!(without_landlock_nothing_starts, |world| {
    world.arm();
    let create = libc::SYS_landlock_create_ruleset.to_string();
    refused(&world, &["without", &create, &libc::ENOSYS.to_string()], "the kernel has no Landlock");
    refused(&world, &["without", &create, &libc::EOPNOTSUPP.to_string()], "not enabled: add `landlock` to the `lsm=`");
});

as_both!(with_an_old_landlock_nothing_starts, |mut world| {
    world.arm();
    refused(&world, &["old_landlock", "2"], "Landlock has version 2, but 3 is needed: use Linux 6.2 or newer");
    world.spec.network = Network::Host;
    refused(&world, &["old_landlock", "5"], "Landlock has version 5, but 6 is needed: use Linux 6.12 or newer");
    // Its own network has its own sockets, and its own session its own groups.
    world.spec.network = Network::Own;
    let mut command = world.command(world.path("worktree/attacks"));
    let output: Output = command.args(["old_landlock", "5"]).args(world.prefix()).arg("true").output().unwrap().into();
    assert_eq!(output.code, 0, "{output:?}");
});

as_both!(without_namespaces_nothing_starts, |world| {
    world.arm();
    refused(&world, &["without_namespaces"], "namespaces: Operation not permitted");
});

as_both!(user_namespaces_that_are_switched_off_are_named, |world| {
    // In a user namespace of its own, whose switch is ours to turn; and with none of its capabilities left.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set=-all --inh-caps=-all -- \"$@\"";
    let mut command = world.command("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", script, "sh"]).args(world.prefix()).args(["touch", "ran"]);
    let output: Output = command.output().expect("unshare runs").into();
    assert_eq!(output.code, 125, "{output:?}");
    assert!(output.stderr.contains("switched off: `sysctl user.max_user_namespaces=10000`"), "{output:?}");
    assert!(!world.path("worktree/ran").exists());
});

as_both!(without_any_part_of_it_nothing_starts, |world| {
    world.arm();
    for (call, because) in needed() {
        refused(&world, &["without", &call.to_string(), &libc::EPERM.to_string()], because);
    }
});

as_both!(the_probe_finds_this_machine_able_or_says_why_not, |world| {
    assert_eq!(probe_with(&world.flower()), Ok(()));
    let missing = probe_with(std::path::Path::new("/nowhere/flower")).unwrap_err();
    assert_eq!(missing.len(), 1);
    assert!(missing[0].contains("/nowhere/flower"), "{missing:?}");
    // A program in its place that refuses as `flower jail` does.
    world.arm();
    let flower = world.flower();
    let wrapper = format!(
        "#!/bin/sh\nexec {} without {} {} {} \"$@\"\n",
        world.text("worktree/attacks"),
        libc::SYS_landlock_create_ruleset,
        libc::ENOSYS,
        flower.display()
    );
    let script = world.file("worktree/old-machine", wrapper);
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let missing = probe_with(&script).unwrap_err();
    assert_eq!(missing.len(), 1, "once, not for each kind of jail: {missing:?}");
    assert!(missing[0].contains("Linux 6.12 or newer"), "{missing:?}");
});

as_both!(a_missing_listed_path_is_refused, |mut world| {
    let good = world.spec.clone();
    let refuses = |world: &World, because: &str| {
        let output = world.run("true");
        assert_eq!(output.code, 125, "{because}: {output:?}");
        assert!(output.stderr.contains(because), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 1, "{output:?}");
    };
    world.spec.write.push(world.path("missing"));
    refuses(&world, "missing: No such file");
    world.spec = good.clone();
    world.spec.dir = world.path("main");
    refuses(&world, "main: No such file");
    world.spec = good.clone();
    world.spec.binds.push(Bind { from: world.path("missing"), at: "/x".into(), write: false });
    refuses(&world, "missing: No such file");
    world.spec = good.clone();
    world.spec.binds.push(Bind { from: world.path("main"), at: "/usr/flower-not-there".into(), write: false });
    refuses(&world, "/usr/flower-not-there");
    for at in ["/", "/proc", "/dev/null"] {
        world.spec = good.clone();
        world.spec.binds.push(Bind { from: world.path("main"), at: at.into(), write: false });
        refuses(&world, if at == "/" { "not a valid mount point" } else { "created fresh" });
    }
    world.spec = good;
    world.spec.read.push(world.path("missing"));
    world.ok("true");
});

as_both!(an_overlay_that_cannot_be_had_is_left_out_and_says_so, |mut world| {
    let (lower, upper) = (world.folder("home/lower"), world.folder("home/upper"));
    // No working folder on the same file system.
    world.spec.overlays.push(Overlay {
        lower,
        upper,
        work: "/proc".into(),
        at: world.path("cache"),
        or_read_only: false,
    });
    let output = world.run(&format!("! ls {}", world.text("cache")));
    assert_eq!(output.code, 0, "{output:?}");
    assert!(output.stderr.contains("cache is left out: no overlay"), "{output:?}");
});

as_both!(a_file_that_is_no_spec_is_refused, |world| {
    for content in ["", "{}", "not json", r#"{"dir": "/", "surprise": 1}"#] {
        let file = world.file("home/other.json", content);
        let prefix = flower_jail::command(&world.flower(), &file);
        let output: Output = world.command(&prefix[0]).args(&prefix[1..]).arg("true").output().unwrap().into();
        assert_eq!(output.code, 125, "{content}: {output:?}");
        assert!(output.stderr.contains("other.json"), "{output:?}");
    }
});
