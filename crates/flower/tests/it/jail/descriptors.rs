//! What is open when the jail starts does not stay open.

use crate::common::Output;
use crate::jail::world::World;
use std::process::Stdio;

/// A jail that inherits the descriptors that `redirections` open.
fn with(world: &World, redirections: &str, script: &str) -> Output {
    let jail = format!("exec {redirections}; exec \"$@\"");
    let mut command = world.command("sh");
    command.args(["-c", &jail, "sh"]).args(world.prefix()).args(["sh", "-c", script]).stdin(Stdio::null());
    command.output().expect("it runs").into()
}

as_both!(inherited_descriptors_are_closed, |world| {
    let main = world.text("main");
    let before = world.fingerprint("main");
    let output = with(
        &world,
        &format!("5<> {main}/README.md 6< {main} 7< {}", world.text("home")),
        "ls /proc/self/fd /proc/1/fd; for fd in 5 6 7; do [ -e /proc/self/fd/$fd ] && echo open $fd; done; \
         ( echo x >&5 ) && echo written; ls /proc/self/fd/6/ && echo listed; true",
    );
    assert_eq!(output.code, 0, "{output:?}");
    for sign in ["open", "written", "listed"] {
        assert!(!output.stdout.contains(sign), "{output:?}");
    }
    assert_eq!(world.fingerprint("main"), before);
});

as_both!(a_folder_is_no_standard_stream, |world| {
    for stream in ["0", "1", "2"] {
        let output = with(&world, &format!("{stream}< {}", world.text("main")), "true");
        assert_eq!(output.code, 125, "{stream}: {output:?}");
    }
});

as_both!(the_standard_streams_are_the_callers_and_no_more, |world| {
    let log = world.file("main/log", "");
    world.file("main/beside", "secret");
    let redirection = format!("> {}", log.display());
    let script = "echo one; echo two > /dev/stdout; cat /proc/self/fd/1/../beside; cat $(readlink /proc/self/fd/1)/../beside; \
                  echo three";
    let output = with(&world, &redirection, script);
    assert_eq!(output.code, 0, "{output:?}");
    let written = std::fs::read_to_string(&log).unwrap();
    assert!(written.contains("two") && written.contains("three") && !written.contains("secret"), "{written}");
    assert!(!output.stderr.contains("secret"), "{output:?}");
});
