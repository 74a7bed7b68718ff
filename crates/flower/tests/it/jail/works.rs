//! What must still work: a jail that gets in the way is switched off.

use crate::jail::world::World;
use flower_jail::{Bind, Overlay};
use std::fs;
use std::io::Write;
use std::process::Stdio;

as_both!(exit_codes_are_those_of_the_command, |world| {
    for (args, code) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 42"], 42),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["/etc/passwd"], 126),
        (&["/etc"], 126),
    ] {
        let output = world.jail(args).output().expect("flower runs");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
    }
});

as_both!(signals_ignored_by_the_caller_reach_the_command, |world| {
    let mut command = world.command("env");
    command.args(["--ignore-signal=INT,TERM,HUP,CHLD,PIPE", "--block-signal=USR1"]).args(world.prefix());
    let script = "sh -c 'kill -INT $$'; echo $?; sh -c 'kill -USR1 $$'; echo $?; kill -TERM $$";
    let output = command.args(["sh", "-c", script]).output().expect("env runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "130\n138\n");
    assert_eq!(output.status.code(), Some(143));
});

as_both!(pipes_and_arguments_pass_through, |world| {
    let mut child = world
        .jail(&["sh", "-c", "cat; echo err >&2; printf '[%s]' \"$@\"", "sh", "a b", "", "--json", "-y", "ü"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("flower runs");
    let text = "0123456789".repeat(100_000);
    let mut stdin = child.stdin.take().expect("a pipe");
    let written = text.clone();
    let writer = std::thread::spawn(move || stdin.write_all(written.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("whole").expect("written");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{text}[a b][][--json][-y][ü]"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "err\n");
});

as_both!(further_programs_come_behind_those_of_the_caller, |mut world| {
    world.spec.env.remove("PATH");
    world.spec.pass_env = vec!["PATH".into()];
    world.spec.programs = vec!["/opt/more".into()];
    for (path, expected) in [(Some("/usr/bin:/bin"), "/usr/bin:/bin:/opt/more"), (None, "/opt/more")] {
        let mut jail = world.jail(&["/bin/sh", "-c", "echo $PATH"]);
        let output = jail.env_remove("PATH").envs(path.map(|path| ("PATH", path))).output().expect("flower runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{output:?}");
    }
});

as_both!(orphans_are_taken_in, |world| {
    world.ok("(sleep 0.1 &); (true &); sleep 0.4; ! ps -e -o stat | grep -q Z || ps -e");
    let zombies =
        world.ok("for i in 1 2 3 4 5; do (true &); done; sleep 0.2; grep -l '^State:.Z' /proc/[0-9]*/status | wc -l");
    assert_eq!(zombies.trim(), "0");
});

as_both!(private_folders_for_temporary_files, |mut world| {
    let tmp = world.folder("home/tmp");
    world.spec.binds.push(Bind { from: tmp.clone(), at: "/tmp".into(), write: true });
    world.ok("mktemp && echo kept > /tmp/kept && mkdir -p /tmp/a/b");
    assert_eq!(fs::read_to_string(tmp.join("kept")).unwrap(), "kept\n");
    assert_eq!(world.ok("cat /tmp/kept"), "kept\n", "in the next one, too");
});

as_both!(an_overlay_takes_what_is_written, |mut world| {
    let lower = world.file("user/cache/a", "one\n");
    world.file("user/cache/deep/b", "two\n");
    let at = world.path("cache");
    let overlay = Overlay {
        lower: lower.parent().unwrap().to_owned(),
        upper: world.folder("home/upper"),
        work: world.folder("home/work"),
        at: at.clone(),
        or_read_only: false,
    };
    world.spec.overlays.push(overlay);
    let before = world.fingerprint("user/cache");
    for round in 0..2 {
        let there = world
            .ok(&format!("cd {} && cat a 2>/dev/null; echo new > a; rm -rf deep; echo {round} >> log", at.display()));
        assert_eq!(there, if round == 0 { "one\n" } else { "new\n" });
    }
    assert_eq!(world.ok(&format!("cd {} && ls && cat log", at.display())), "a\nlog\n0\n1\n");
    assert_eq!(world.fingerprint("user/cache"), before);
    let removed = world.command("rm").arg("-rf").args([world.path("home/upper"), world.path("home/work")]).status();
    assert!(removed.expect("rm runs").success(), "its owner can remove what it left");
});

as_both!(git_borrows_objects_from_a_repository_that_it_cannot_change, |mut world| {
    let main = world.text("main");
    world.spec.read.push(world.path("main"));
    let before = world.fingerprint("main");
    let identity = "-c user.name=T -c user.email=t@example.com -c safe.directory='*'";
    let log = world.ok(&format!(
        "git {identity} clone --quiet --shared {main} copy && cd copy && echo more >> README.md && \
         git {identity} commit --quiet -am more && git {identity} log --format=%s && \
         cat .git/objects/info/alternates && git {identity} fsck --no-progress && \
         ! git {identity} push --quiet origin HEAD:refs/heads/stolen"
    ));
    assert!(log.starts_with("more\nbegin\n") && log.contains("main/.git/objects"), "{log}");
    assert_eq!(world.fingerprint("main"), before);
});
