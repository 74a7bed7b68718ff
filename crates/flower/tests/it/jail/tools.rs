//! Builds without a network, from the caches of the user, which stay as they are.

use crate::common::Output;
use crate::common::skip::{skip, skip_in_this_run};
use crate::jail::world::{Who, World};
use flower_jail::Overlay;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cache that the jail sees through an overlay at `at`.
fn overlay(world: &mut World, lower: PathBuf, at: PathBuf) {
    let (upper, work) = (world.folder("home/upper"), world.folder("home/work"));
    world.spec.overlays.push(Overlay { lower, upper, work, at, or_read_only: false });
}

/// A small package that every build of flower has fetched.
const DEPENDENCY: &str = "itoa";

as_both!(cargo_builds_from_a_warm_cache, |mut world| {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    let cargo_home = cargo_home.or_else(home).expect("cargo has a home");
    let toolchain = PathBuf::from(env!("CARGO")).parent().expect("a folder").parent().expect("a toolchain").to_owned();
    let reachable = |path: &Path| world.command("ls").arg(path).output().is_ok_and(|output| output.status.success());
    if !reachable(&toolchain) || !reachable(&cargo_home.join("registry")) {
        assert_eq!(world.who, Who::User);
        return skip_in_this_run("the ordinary user cannot read cargo's toolchain or registry");
    }
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).expect("Cargo.lock");
    let entry =
        lock.split("\n\n").find(|entry| entry.contains(&format!("name = \"{DEPENDENCY}\"\n"))).expect("an entry");
    let version = entry.split("version = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a version");
    world.file(
        "worktree/Cargo.toml",
        format!("[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{DEPENDENCY} = \"={version}\"\n"),
    );
    world.file(
        "worktree/Cargo.lock",
        format!("version = 4\n\n{}\n\n[[package]]\nname = \"small\"\nversion = \"0.1.0\"\ndependencies = [\n \"{DEPENDENCY}\",\n]\n", entry.trim()),
    );
    world.file("worktree/src/main.rs", "fn main() { println!(\"{}\", itoa::Buffer::new().format(42)) }\n");
    let private = world.folder("home/cargo");
    if let Ok(config) = fs::read(cargo_home.join("config.toml")) {
        world.file("home/cargo/config.toml", config);
    }
    world.spec.write.push(private.clone());
    world.folder("home/cargo/registry");
    overlay(&mut world, cargo_home.join("registry"), private.join("registry"));
    world.spec.read.push(toolchain.clone());
    for (name, value) in [("CARGO_HOME", private.as_path()), ("PATH", &toolchain.join("bin"))] {
        let value = value.to_str().expect("UTF-8");
        let value = if name == "PATH" { format!("{value}:/usr/local/bin:/usr/bin:/bin") } else { value.to_owned() };
        world.spec.env.insert(name.into(), value);
    }
    let before = listing(&cargo_home.join("registry/cache"));
    let built = world.ok("cargo build --offline --locked --quiet && target/debug/small && \
                          rm -rf $CARGO_HOME/registry/cache && touch $CARGO_HOME/registry/new");
    assert_eq!(built, "42\n");
    assert_eq!(listing(&cargo_home.join("registry/cache")), before);
    assert!(!cargo_home.join("registry/new").exists());
});

as_both!(npm_installs_from_a_warm_cache, |mut world| {
    if Command::new("npm").arg("--version").output().is_err() {
        return skip("there is no npm");
    }
    world.file("package/package.json", r#"{"name": "tiny", "version": "1.0.0"}"#);
    world.file("package/index.js", "module.exports = 42\n");
    let cache = world.folder("user/npm");
    let npm = |dir: &str, args: &[&str]| {
        let mut command = world.command("npm");
        command.args(args).current_dir(world.path(dir)).env("npm_config_cache", &cache);
        let output = Output::from(command.output().expect("npm runs"));
        assert_eq!(output.code, 0, "npm {args:?}: {output:?}");
        output.stdout
    };
    let packed: serde_json::Value = serde_json::from_str(&npm("package", &["pack", "--json"])).expect("JSON");
    let integrity = packed[0]["integrity"].as_str().expect("a hash").to_owned();
    npm("package", &["cache", "add", "./tiny-1.0.0.tgz"]);
    let lock = serde_json::json!({
        "name": "small", "version": "1.0.0", "lockfileVersion": 3,
        "packages": {
            "": {"name": "small", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}},
            "node_modules/tiny": {
                "version": "1.0.0",
                "resolved": "https://packages.example/tiny-1.0.0.tgz",
                "integrity": integrity,
            },
        },
    });
    world.file("worktree/package.json", r#"{"name": "small", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}}"#);
    world.file("worktree/package-lock.json", lock.to_string());
    let before = world.fingerprint("user/npm");
    let at = world.path("npm-cache");
    world.spec.env.insert("npm_config_cache".into(), at.to_str().expect("UTF-8").into());
    overlay(&mut world, cache, at);
    assert_eq!(world.ok("npm ci --offline >&2 && node -p 'require(\"tiny\")'"), "42\n");
    assert_eq!(world.fingerprint("user/npm"), before);
});

/// Names and sizes.
fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        if entry.path().is_dir() {
            found.extend(listing(&entry.path()));
        }
        found.push((entry.path(), entry.metadata().expect("there").len()));
    }
    found.sort();
    found
}
