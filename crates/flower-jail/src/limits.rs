//! Bounds on what runs inside, so that a mistake there stays there.

use super::failure::{During, Step};
use super::spec::Limits;
use super::support;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::OwnedFd;
use std::{fs, io};

/// The kernel keeps the first 300 numbers for itself, and refuses a bound below them.
const FEWEST_PROCESSES: u32 = 400;
/// Lets the operator's own work go first.
const NICENESS: i32 = 5;

/// Where the kernel looks for somebody to end when memory does, what runs inside counts as if it had this share of all of it
/// on top, in thousandths.
const GOES_FIRST: i32 = 500;

/// Nobody outside is ended before. To be called while `/proc` can be written to.
pub(super) fn go_first_when_memory_ends() -> Step<()> {
    let file = "/proc/self/oom_score_adj";
    let raise = || -> io::Result<()> {
        let already = fs::read_to_string(file)?.trim().parse::<i32>().unwrap_or(0);
        fs::write(file, already.max(GOES_FIRST).to_string())
    };
    raise().during(file)
}

/// Of every process inside.
pub(super) fn apply(limits: &Limits) -> Step<()> {
    rustix::process::nice(NICENESS).during("niceness")?;
    let bounds = [
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        // Does not bind the user id 0; the processes of the namespace are bounded as well.
        (Resource::Nproc, u64::from(limits.processes)),
    ];
    for (resource, wanted) in bounds {
        // Never above what the caller has: raising that takes a privilege.
        let most = getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
            .during_with(|| format!("limit {resource:?}"))?;
    }
    Ok(())
}

/// Of all processes inside together, through the `/proc` of their namespace.
pub(super) fn bound_processes(processes: &OwnedFd, limits: &Limits) -> io::Result<()> {
    if !support::process_namespaces_are_bounded() {
        return Ok(());
    }
    let file = rustix::fs::openat(processes, "sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let most = limits.processes.max(FEWEST_PROCESSES).to_string();
    rustix::io::write(&file, most.as_bytes())?;
    Ok(())
}
