//! Checks the features of the kernel and explains what is missing.

use super::error::SetupError;
use super::sys;
use std::{fs, io};

/// The version of Landlock that restricts all ways to change a file (Linux 6.2).
pub(super) const LANDLOCK_FILES: i32 = 3;
/// The version of Landlock that restricts signals and abstract sockets (Linux 6.12).
pub(super) const LANDLOCK_SCOPES: i32 = 6;

/// The version of Landlock, or why it is not available.
fn landlock() -> Result<i32, String> {
    sys::landlock_version().map_err(|error| match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            "Landlock is built into the kernel but not enabled: add `landlock` to the `lsm=` boot parameter".into()
        }
        Some(libc::ENOSYS) => {
            "the kernel has no Landlock: Linux 6.12 or newer with CONFIG_SECURITY_LANDLOCK is needed".into()
        }
        _ => format!("the version of Landlock cannot be read: {error}"),
    })
}

/// Fails if the kernel's Landlock is too old.
pub(super) fn require_landlock(needed: i32) -> Result<(), String> {
    let found = landlock()?;
    if found >= needed {
        return Ok(());
    }
    let kernel = if needed > LANDLOCK_FILES { "6.12" } else { "6.2" };
    Err(format!("Landlock has version {found}, but {needed} is needed: use Linux {kernel} or newer"))
}

/// The error of a failed step in creating namespaces. Some machines reject their creation, others only their use.
pub(super) fn namespace_error(error: impl Into<io::Error>) -> SetupError {
    let error = error.into();
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::ENOSYS | libc::EINVAL) => {
            SetupError::new("namespaces", format!("{error}: {}", namespace_hint()))
        }
        _ => SetupError::new("namespaces", error),
    }
}

/// The likely reason, from the settings of the machine.
fn namespace_hint() -> String {
    let switch = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default().trim().to_owned();
    if switch("kernel/unprivileged_userns_clone") == "0" {
        return "user namespaces are switched off: `sysctl kernel.unprivileged_userns_clone=1`".into();
    }
    if switch("user/max_user_namespaces") == "0" {
        return "user namespaces are switched off: `sysctl user.max_user_namespaces=10000`".into();
    }
    if switch("kernel/apparmor_restrict_unprivileged_userns") == "1" {
        return "AppArmor denies user namespaces to programs without a profile: give flower one with `userns,`, or \
                `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
            .into();
    }
    "namespaces are denied; in a container, allow them (`--security-opt seccomp=unconfined`)".into()
}

/// Root is root of the whole machine only there.
pub(super) fn is_initial_user_namespace() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Since Linux 6.14 each process namespace has its own `kernel.pid_max`. Before, that setting applies to the whole machine.
pub(super) fn pid_max_is_per_namespace() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (6, 14)
}
