//! Twenty canaries; none is found inside.

use crate::common::eventually;
use crate::jail::world::{Running, World};
use flower_jail::{Network, Spec};
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
    print.args(["--exact", "jail::secrets::print_a_spec", "--ignored", "--nocapture"]);
    let path = format!("{}:{}:/usr/local/bin:/usr/bin:/bin", world.text("user/.ssh"), world.text("user/.local/bin"));
    print.env_clear().env("HOME", world.path("user")).env("PATH", path).env("FLOWER_TEST_DIR", world.path("worktree"));
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

/// All files but those of the system; then all that processes show, the first of them included.
const SEARCH: &str = "\
    grep -rsl --exclude-dir=usr --exclude-dir=sys --exclude-dir=proc --exclude-dir=opt --exclude-dir=nix -e CANARY- /; \
    echo PROCESSES; \
    cat /proc/1/environ /proc/1/mem /proc/self/environ 2>/dev/null | tr '\\0' '\\n'; \
    cat /proc/[0-9]*/task/*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep CANARY-; \
    env; ls -R /dev/shm /tmp /run /home 2>/dev/null; true";

as_both!(no_canary_is_found_inside, |mut world| {
    let canary = format!("CANARY-{}-{:x}", std::process::id(), std::ptr::from_ref(&world).addr());
    for (number, file) in IN_FILES.iter().enumerate() {
        world.file(file, format!("{canary}-{number}\n"));
    }
    world.file("user/.local/bin/tool", "#!/bin/sh\necho a tool\n");
    world.file("worktree/control", "CANARY-control");
    let shared = format!("/dev/shm/{canary}");
    fs::write(&shared, &canary).expect("shared memory");
    let neighbour = world.command("sleep").arg("600").env("NEIGHBOUR", &canary).stdin(Stdio::null()).spawn();
    let neighbour = Running(neighbour.expect("it sleeps"));
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
    for network in [Network::Own, Network::Host] {
        world.spec.network = network;
        let mut jail = world.jail(&["sh", "-c", SEARCH]);
        let output = jail.env("CALLER", &canary).env("PASSED", "on purpose").output().expect("flower runs");
        let output = crate::common::Output::from(output);
        assert_eq!(output.code, 0, "{output:?}");
        let (files, rest) = output.stdout.split_once("PROCESSES\n").expect("both parts");
        assert_eq!(files.trim(), world.text("worktree/control"), "only the one that may be found");
        assert!(!rest.contains(&canary), "{output:?}");
        // The search sees what there is to see.
        assert_eq!(rest.matches("PASSED=on purpose").count(), 2, "{output:?}");
        assert!(!rest.contains("CALLER=") && !rest.contains("NOT_SET"), "{output:?}");
    }
    fs::remove_file(shared).expect("removed");
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
