//! Tests that mount something or need addresses run themselves again in namespaces of their own: as root directly, as any other user as
//! root of a user namespace.

use crate::common::skip::is_skipped_by;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set inside the namespace.
const INSIDE: &str = "FLOWER_TEST_INSIDE";
/// For machines that allow no namespaces, such as some containers.
const SKIP: &str = "FLOWER_TEST_SKIP_MOUNT";

/// Runs `body` where it can mount. `test` is the full name of the calling test.
pub fn with_mounts(test: &str, body: impl FnOnce()) {
    in_namespace(test, &[], &[], body);
}

/// Runs `body` where it can mount, in a network with a loopback device that has the given addresses.
pub fn with_addresses(test: &str, addresses: &[&str], body: impl FnOnce()) {
    let script = "ip link set lo up; while [ $1 != run ]; do ip addr add $1 dev lo; shift; done; shift; exec \"$@\"";
    let words: Vec<&str> =
        ["sh", "-ec", script, "sh"].into_iter().chain(addresses.iter().copied()).chain(["run"]).collect();
    in_namespace(test, &["--net"], &words, body);
}

fn in_namespace(test: &str, more: &[&str], prefix: &[&str], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    if is_skipped_by(SKIP) {
        return;
    }
    let sort = if rustix::process::getuid().is_root() { "--mount" } else { "--map-root-user" };
    let possible = Command::new("unshare")
        .args([sort, "--mount"])
        .args(more)
        .arg("true")
        .status()
        .is_ok_and(|status| status.success());
    assert!(possible, "this test needs a mount namespace (`unshare {sort} --mount true`); {SKIP}=1 leaves it out");
    let this = std::env::current_exe().expect("the test program");
    let output = Command::new("unshare")
        .args([sort, "--mount"])
        .args(more)
        .args(prefix)
        .arg(this)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .stderr(Stdio::inherit())
        .output()
        .expect("unshare can be run");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "it failed inside the namespace: {said}");
    // A test program that finds no test of that name succeeds too.
    assert!(said.contains("1 passed"), "`{test}` did not run: {said}");
}

/// An empty file system of a given size, at a folder that is there.
pub fn mount_tmpfs(at: &Path, kilobytes: usize) {
    mount(&["-t", "tmpfs", "-o", &format!("size={kilobytes}k,mode=700"), "flower-test"], at);
}

/// Makes it read-only, or writable again.
pub fn remount(at: &Path, how: &str) {
    mount(&["-o", &format!("remount,bind,{how}")], at);
}

fn mount(arguments: &[&str], at: &Path) {
    let status = Command::new("mount").args(arguments).arg(at).status().expect("mount can be run");
    assert!(status.success(), "mount {arguments:?} {}", at.display());
}
