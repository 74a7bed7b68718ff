//! Twenty canaries; none is found inside.

use crate::common::eventually;
use crate::world::World;
use flower::jail::{Network, Spec};
use std::fs;
use std::process::{Command, Stdio};

/// Prints what `Spec::new` makes of the environment it is given: by the tests below, in a process of its own.
#[test]
#[ignore = "a helper"]
fn print_a_spec() {
    let dir = std::env::var("FLOWER_TEST_DIR").expect("a folder");
    eprintln!("SPEC {}", serde_json::to_string(&Spec::new(dir)).expect("plain data"));
}

fn spec_with_home(world: &World) -> Spec {
    let this = std::env::current_exe().expect("the test program");
    let mut print = Command::new(this);
    print.args(["--exact", "secrets::print_a_spec", "--ignored", "--nocapture"]);
    let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", world.text("user/.ssh"), world.text("user/.local/bin"));
    print.env("HOME", world.path("user")).env("PATH", path).env("FLOWER_TEST_DIR", world.path("worktree"));
    let said = String::from_utf8(print.output().expect("it runs").stderr).expect("UTF-8");
    let spec = said.lines().find_map(|line| line.split_once("SPEC ")).unwrap_or_else(|| panic!("{said}")).1;
    serde_json::from_str(spec).expect("a spec")
}

const IN_FILES: &[&str] = &[
    "main/.env",
    "main/.git/config.local",
    "home/token",
    "home/flower.db",
    "beside",
    "user/.ssh/id_ed25519",
    "user/.aws/credentials",
    "user/.claude/credentials.json",
    "user/.claude.json",
    "user/.codex/auth.json",
    "user/.config/gh/hosts.yml",
    "user/.cargo/credentials.toml",
    "user/.npmrc",
    "user/.netrc",
    "user/.git-credentials",
    "user/.docker/config.json",
    "user/.kube/config",
    "user/.gnupg/private-keys-v1.d/key",
    "user/.pypirc",
    "user/.bash_history",
];

as_both!(no_canary_is_found_inside, |mut world| {
    let canary = format!("CANARY-{}-{:x}", std::process::id(), std::ptr::from_ref(&world).addr());
    for (number, file) in IN_FILES.iter().enumerate() {
        world.file(file, format!("{canary}-{number}\n"));
    }
    world.file("user/.local/bin/tool", "#!/bin/sh\necho a tool\n");
    let shared = format!("/dev/shm/{canary}");
    fs::write(&shared, &canary).expect("shared memory");
    let mut neighbour =
        world.command("sleep").arg("600").env("NEIGHBOUR", &canary).stdin(Stdio::null()).spawn().expect("it sleeps");
    eventually("it has its environment", || {
        let environment = fs::read_to_string(format!("/proc/{}/environ", neighbour.id())).unwrap_or_default();
        environment.contains(&canary).then_some(())
    });

    let known = world.spec.clone();
    world.spec = spec_with_home(&world);
    assert!(world.spec.read.contains(&world.path("user/.local/bin")), "{:?}", world.spec.read);
    world.spec.write = known.write;
    world.spec.env.extend(known.env);
    world.spec.pass_env = vec!["PASSED".into(), "NOT_SET".into()];
    for network in [Network::Closed, Network::Open] {
        world.spec.network = network;
        // All that is listed, but for the system itself; then memory and environment of everybody.
        let script = format!(
            "ls {tool} && \
             grep -rsl --exclude-dir=usr --exclude-dir=sys --exclude-dir=proc --exclude-dir=opt --exclude-dir=nix \
                  -e 'CANARY-' / && echo FOUND; \
             cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline /proc/1/mem 2>/dev/null \
                 | grep -aq 'CALLER-CANARY' && echo FOUND; \
             env; ls -R /dev/shm /tmp /run /home 2>/dev/null; true",
            tool = world.text("user/.local/bin/tool")
        );
        let script =
            script.replace("'CANARY-'", "CANAR[Y]-").replace("'CALLER-CANARY'", "'CALLER-CANAR[Y]\\|CANAR[Y]-'");
        let mut jail = world.jail(&["sh", "-c", &script]);
        let output = jail.env("CALLER", "CALLER-CANARY-1").env("PASSED", "on purpose").output().expect("flower runs");
        let output = crate::common::Output::from(output);
        assert_eq!(output.code, 0, "{output:?}");
        assert!(!output.stdout.contains("FOUND"), "{output:?}");
        assert!(!output.stdout.contains("CANARY-"), "{output:?}");
        assert!(output.stdout.contains("PASSED=on purpose\n"), "{output:?}");
        assert!(!output.stdout.contains("CALLER=") && !output.stdout.contains("NOT_SET"), "{output:?}");
    }
    fs::remove_file(shared).expect("removed");
    neighbour.kill().expect("ended");
    neighbour.wait().expect("ended");
});

as_both!(the_environment_is_what_the_spec_says, |mut world| {
    world.spec.env.clear();
    world.spec.pass_env = vec!["SECRET".into(), "BOTH".into()];
    world.spec.env.insert("SET".into(), "it = 'odd'\nvalue".into());
    world.spec.env.insert("BOTH".into(), "the spec's".into());
    let mut jail = world.jail(&["/usr/bin/env", "-0"]);
    jail.env_clear().env("SECRET", "passed").env("BOTH", "the caller's").env("OTHER", "no");
    let output = crate::common::Output::from(jail.output().expect("flower runs"));
    let mut names: Vec<&str> = output.stdout.split_terminator('\0').collect();
    names.sort_unstable();
    assert_eq!(names, ["BOTH=the spec's", "SECRET=passed", "SET=it = 'odd'\nvalue"]);
});
