//! `/dev`: the few harmless devices, terminals of its own, and nothing else.

use super::root::{NO_EXEC, NO_SUID, READ_ONLY, Root, fresh, host_tree};
use super::terminal;
use std::io;
use std::path::Path;

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

pub(super) fn put(root: &Root, at: &Path) -> io::Result<()> {
    let folder = root.folder(at)?;
    for name in DEVICES {
        bind(root, &Path::new("/dev").join(name), &at.join(name))?;
    }
    for (name, to) in LINKS {
        rustix::fs::symlinkat(*to, &folder, *name)?;
    }
    let terminals = fresh("devpts", &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "620")], NO_SUID | NO_EXEC)?;
    root.attach(&terminals, &at.join("pts"))?;
    // The caller's terminal is not among these; under this name programs that ask for its name find it. Those that do
    // not ask work without.
    if let Some(caller) = terminal::path() {
        let _ = bind(root, &caller, &at.join("console"));
    }
    Ok(())
}

/// A device that can be used but not changed: read-only does not concern what is written through it.
fn bind(root: &Root, device: &Path, at: &Path) -> io::Result<()> {
    let tree = host_tree(device, READ_ONLY | NO_SUID | NO_EXEC)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", device.display())))?;
    root.attach(&tree, at)
}
