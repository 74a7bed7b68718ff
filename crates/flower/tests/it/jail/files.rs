//! Files outside: not to be seen, and where they are listed for reading, not to be changed.

use crate::jail::world::World;
use flower_jail::Bind;
use std::fs;
use std::os::unix::fs::symlink;

/// Every way to a file of MAIN, from inside.
fn ways_to_main(world: &World, file: &str) -> Vec<String> {
    let main = world.text("main");
    let outside = fs::canonicalize(&main).expect("MAIN");
    let up = "../".repeat(20);
    vec![
        format!("{main}/{file}"),
        format!("/proc/self/root{main}/{file}"),
        format!("/proc/1/root{main}/{file}"),
        format!("/proc/1/cwd/{main}/{file}"),
        format!("/proc/self/cwd/../main/{file}"),
        format!("{up}{}/{file}", outside.display()),
        format!("link/{file}"),
    ]
}

as_both!(main_is_not_there, |world| {
    symlink(world.path("main"), world.path("worktree/link")).unwrap();
    world.own();
    let main = world.fingerprint("main");
    for way in ways_to_main(&world, "README.md") {
        world.ok(&format!("! cat {way} && ! ls -d {way} && ! echo x > {way}"));
    }
    world.ok(&format!("! ls {0} && ! ls {1} && ! ls {2}", world.text("main"), world.text("home"), world.text("user")));
    let around = world.ok(&format!("ls {}", world.text("")));
    assert_eq!(around.trim(), "worktree", "of the folder around it, only what is listed");
    assert_eq!(world.fingerprint("main"), main);
});

as_both!(main_that_may_be_read_is_not_changed, |mut world| {
    world.arm();
    world.file("worktree/own", "own");
    symlink(world.path("main"), world.path("worktree/link")).unwrap();
    world.own();
    world.spec.read.push(world.path("main"));
    let main = world.fingerprint("main");
    assert_eq!(world.ok(&format!("cat {}/README.md", world.text("main"))), "hello\n");
    for file in ["README.md", ".git/HEAD", ".git/index", "src", "src/lib.rs", ".git/objects"] {
        for way in ways_to_main(&world, file) {
            world.all_refused(&["metadata", &way], 20);
        }
    }
    // The user of this test could do all of it outside.
    let outside = world.attack_from_outside(&["metadata", &world.text("worktree/own")]);
    assert!(outside.stdout.contains("chmod done") && outside.stdout.contains("truncate done"), "{outside:?}");
    assert_eq!(world.fingerprint("main"), main);
});

as_both!(a_descriptor_in_proc_leads_nowhere_new, |mut world| {
    world.spec.read.push(world.path("main"));
    let main = world.fingerprint("main");
    world.ok(&format!(
        "exec 5< {0}/README.md 6< {0}; ! echo x > /proc/self/fd/5 && ! echo x > /proc/self/fd/6/new && \
         ! echo x > /dev/fd/5 && ! touch /proc/self/fd/6/new && ! ls /proc/self/fd/6/../home",
        world.text("main")
    ));
    assert_eq!(world.fingerprint("main"), main);
});

as_both!(the_git_file_of_a_worktree_is_sealed, |mut world| {
    let pointer = format!("gitdir: {}\n", world.text("main/.git"));
    world.file("worktree/.git", &pointer);
    let sealed = world.file("home/gitfile", &pointer);
    world.spec.binds.push(Bind { from: sealed.clone(), at: world.path("worktree/.git"), write: false });
    world.arm();
    world.file("worktree/own", "own");
    let tried = world.attack(&["metadata", ".git"]).stdout;
    let around = ["link_in", "symlink", "mkdir", "mkfifo", "create", "tmpfile"].map(|name| format!("{name} done"));
    let done: Vec<&str> =
        tried.lines().filter(|line| line.ends_with(" done") && !around.iter().any(|it| it == line)).collect();
    assert!(done.is_empty() && tried.lines().count() > 18, "{done:?}: {tried}");
    world
        .ok("! rm -f .git && ! mv .git away && ! mv own .git && ! ln -sf own .git && ! echo x > .git && ! rm -rf .git");
    world.ok("! mv ../worktree ../gone && ! mv . ../gone; ! rmdir ../worktree");
    world.ok("echo new > new && mv new renamed && rm renamed && mkdir sub && mv sub other");
    assert_eq!(world.ok("cat .git"), pointer);
    assert_eq!(fs::read_to_string(world.path("worktree/.git")).unwrap(), pointer);
    assert_eq!(fs::read_to_string(sealed).unwrap(), pointer);
});

as_both!(files_planted_inside_do_not_divert_the_next_jail, |mut world| {
    world.file("user/secret/key", "canary");
    world.folder("worktree/target");
    world.spec.write.push(world.path("worktree/target"));
    world.ok("true");
    // Its parent is no mount of its own, so it can be replaced.
    world.spec.write.pop();
    world.ok(&format!("rmdir target && ln -s {} target", world.text("user/secret")));
    world.spec.write.push(world.path("worktree/target"));
    let output = world.run("cat target/key");
    assert_eq!(output.code, 125, "{output:?}");
    assert!(output.stderr.contains("is a link in a folder that can be written to from inside"), "{output:?}");

    // The same with the place of a mount, and in the private folder for `/tmp`.
    world.spec.write.pop();
    let tmp = world.folder("home/tmp");
    symlink(world.path("user"), tmp.join("trap")).unwrap();
    symlink("/", tmp.join("slash")).unwrap();
    world.own();
    world.spec.binds.push(Bind { from: tmp, at: "/tmp".into(), write: true });
    for at in ["/tmp/trap/new", "/tmp/slash/etc/new", "/tmp/trap"] {
        world.spec.binds.push(Bind { from: world.path("main"), at: at.into(), write: false });
        let before = world.fingerprint("user");
        let output = world.run("ls /tmp/");
        assert_eq!(output.code, 125, "{at}: {output:?}");
        assert_eq!(world.fingerprint("user"), before, "{at}");
        world.spec.binds.pop();
    }
});

as_both!(both_spellings_of_a_path_work, |mut world| {
    world.folder("data/deep");
    symlink("data", world.path("short")).unwrap();
    symlink(world.path("short/deep"), world.path("shorter")).unwrap();
    world.own();
    world.spec.write.push(world.path("shorter"));
    world.spec.dir = world.path("shorter");
    world.ok("echo one > one && pwd");
    for spelling in ["data/deep/one", "short/deep/one", "shorter/one"] {
        assert_eq!(world.ok(&format!("cat {}", world.text(spelling))), "one\n");
    }
    assert_eq!(fs::read_to_string(world.path("data/deep/one")).unwrap(), "one\n");
    assert_eq!(world.ok("ls -d /bin/sh").trim(), "/bin/sh", "the system's own links");
});

as_both!(roots_own_secrets_are_covered, |world| {
    for secret in ["/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/ssl/private"] {
        world.ok(&format!("! cat {secret} && ! ls {secret}/ && ! chmod 777 {secret}"));
    }
    world.ok("cat /etc/passwd > /dev/null && ls /etc/ssl/certs > /dev/null");
});
