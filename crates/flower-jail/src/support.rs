//! What this kernel has, and in words what it lacks.

use super::failure::Failure;
use super::sys;
use std::{fs, io};

/// The version of Landlock that knows all ways to change a file (Linux 6.2).
pub(super) const FILES: i32 = 3;
/// The one that knows signals and abstract sockets (Linux 6.12).
pub(super) const SCOPES: i32 = 6;

/// The version of Landlock, or why there is none.
fn landlock() -> Result<i32, String> {
    sys::landlock_version().map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            "Landlock is built into the kernel but not enabled: add `landlock` to the `lsm=` boot parameter".into()
        }
        Some(libc::ENOSYS) => {
            "the kernel has no Landlock: Linux 6.12 or newer with CONFIG_SECURITY_LANDLOCK is needed".into()
        }
        _ => format!("Landlock cannot be asked: {error}"),
    })
}

/// Refuses a kernel that lacks what the jail builds on.
pub(super) fn require_landlock(needed: i32) -> Result<(), String> {
    let found = landlock()?;
    if found >= needed {
        return Ok(());
    }
    let kernel = if needed > FILES { "6.12" } else { "6.2" };
    Err(format!("Landlock has version {found}, but {needed} is needed: use Linux {kernel} or newer"))
}

/// A step of making namespaces failed: some machines refuse them at once, others let them be made but not be used.
pub(super) fn no_namespaces(error: impl Into<io::Error>) -> Failure {
    let error = error.into();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::ENOSYS | libc::EINVAL) => {
            Failure::new("namespaces", format!("{error}: {}", why_no_namespaces()))
        }
        _ => Failure::new("namespaces", error),
    }
}

/// As far as the machine says it.
fn why_no_namespaces() -> String {
    let switch = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default().trim().to_owned();
    if switch("kernel/unprivileged_userns_clone") == "0" {
        return "user namespaces are switched off: `sysctl kernel.unprivileged_userns_clone=1`".into();
    }
    if switch("user/max_user_namespaces") == "0" {
        return "user namespaces are switched off: `sysctl user.max_user_namespaces=10000`".into();
    }
    if switch("kernel/apparmor_restrict_unprivileged_userns") == "1" {
        return "AppArmor keeps user namespaces from programs without a profile: give flower one with `userns,`, or \
                `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
            .into();
    }
    "namespaces are refused here; in a container, allow them (`--security-opt seccomp=unconfined`)".into()
}

/// Only there root is root of the whole machine.
pub(super) fn is_first_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Since Linux 6.14 a process namespace has its own `kernel.pid_max`. Before, the same file is that of the whole machine.
pub(super) fn process_namespaces_are_bounded() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}
