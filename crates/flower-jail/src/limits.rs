//! Resource limits of a jail.

use super::error::{Context, SetupResult};
use super::spec::Limits;
use super::support;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::os::fd::OwnedFd;
use std::{fs, io};

/// The kernel reserves the first 300 process ids and rejects a smaller maximum.
const MIN_PID_MAX: u32 = 400;
/// Gives the operator's own processes a higher priority.
const NICENESS: i32 = 5;

/// Added to the score by which the kernel chooses a process to kill when memory runs out, in thousandths of all memory.
const OOM_SCORE_ADJ: i32 = 500;

/// Lets the kernel kill processes of the jail before others. Must be called while `/proc` is writable.
pub(super) fn raise_oom_score() -> SetupResult<()> {
    let file = "/proc/self/oom_score_adj";
    let raise = || -> io::Result<()> {
        let already = fs::read_to_string(file)?.trim().parse::<i32>().unwrap_or(0);
        fs::write(file, already.max(OOM_SCORE_ADJ).to_string())
    };
    raise().context(file)
}

/// Sets the limits of each process in the jail.
pub(super) fn apply(limits: &Limits) -> SetupResult<()> {
    rustix::process::nice(NICENESS).context("niceness")?;
    let wanted_limits = [
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        // Does not apply to user id 0, so the namespace has a limit too.
        (Resource::Nproc, u64::from(limits.processes)),
    ];
    for (resource, wanted) in wanted_limits {
        // Not above the caller's own limit: raising it needs a privilege.
        let limit = getrlimit(resource).maximum.map_or(wanted, |maximum| maximum.min(wanted));
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })
            .with_context(|| format!("limit {resource:?}"))?;
    }
    Ok(())
}

/// Limits the number of processes in the jail, through the `/proc` of their namespace.
pub(super) fn set_pid_max(processes: &OwnedFd, limits: &Limits) -> io::Result<()> {
    if !support::pid_max_is_per_namespace() {
        return Ok(());
    }
    let file = rustix::fs::openat(processes, "sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    let pid_max = limits.processes.max(MIN_PID_MAX).to_string();
    rustix::io::write(&file, pid_max.as_bytes())?;
    Ok(())
}
