//! `/dev` in a jail: a few harmless devices and its own pseudo-terminals.

use super::root::{NO_EXEC, NO_SUID, READ_ONLY, Root, clone_host_tree, new_filesystem};
use rustix::fs::{Mode, OFlags};
use rustix::mount::{MoveMountFlags, move_mount};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

pub(super) fn mount(root: &Root, at: &Path, terminal: Option<&Path>) -> io::Result<()> {
    let folder = root.folder(at)?;
    for name in DEVICES {
        bind(&folder, name, &Path::new("/dev").join(name))?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlinkat(*to, &folder, *name)?;
    }
    let terminals =
        new_filesystem("devpts", &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "620")], NO_SUID | NO_EXEC)?;
    root.attach(&terminals, &at.join("pts"))?;
    // The caller's terminal is not in this devpts; under this name `ttyname` finds it. Other programs work without it.
    if let Some(terminal) = terminal {
        let _ = bind(&folder, "console", terminal);
    }
    Ok(())
}

/// Binds a device read-only: its node cannot be changed, but data can be written through it.
fn bind(folder: &OwnedFd, name: &str, device: &Path) -> io::Result<()> {
    let tree = clone_host_tree(device, READ_ONLY | NO_SUID | NO_EXEC)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", device.display())))?;
    drop(rustix::fs::openat(folder, name, OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())?);
    Ok(move_mount(&tree, "", folder, name, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}
