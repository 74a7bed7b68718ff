//! Monitors what resource limits cannot bound: the memory of all processes in the jail together, the free memory of the machine
//! and the free space of writable file systems. The first process of the jail does it, because it sees exactly the processes
//! in the jail, and because all of them end with it.
//!
//! The spec limits the memory of the jail. If the machine itself runs low, jails are killed, even if another process is the cause.

use super::error::{Context, SetupResult};
use super::mount_plan::{Mount, MountPlan};
use super::spec::Limits;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A twentieth of each resource stays free, but not more than this.
const MAX_FREE_MEMORY: u64 = 1 << 30;
const MAX_FREE_BYTES: u64 = 1 << 30;
const MAX_FREE_FILES: u64 = 100_000;

/// No process uses up memory, disk or files faster than this, which determines how long the next check can wait.
const MAX_BYTES_PER_SECOND: u64 = 4 << 30;
const MAX_FILES_PER_SECOND: u64 = 200_000;
const MIN_INTERVAL: Duration = Duration::from_millis(20);
const MAX_INTERVAL: Duration = Duration::from_secs(2);
/// After an exact count of memory, which is slow.
const EXACT_INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct ResourceMonitor {
    max_memory: u64,
    /// The last check found more than `max_memory`.
    was_over: bool,
    free_memory: u64,
    disks: Vec<Disk>,
}

/// A writable mount, and how much of its file system must stay free.
struct Disk {
    at: PathBuf,
    /// Used instead of the path, which the command could redirect.
    fd: OwnedFd,
    bytes: u64,
    files: u64,
}

impl ResourceMonitor {
    /// Must be called in the jail before the command starts.
    pub(super) fn new(limits: &Limits, mount_plan: &MountPlan) -> SetupResult<ResourceMonitor> {
        let mut disks: Vec<Disk> = Vec::new();
        let mut seen = Vec::new();
        for (at, mount) in mount_plan {
            if !matches!(mount, Mount::Host { write: true, .. } | Mount::Overlay(_)) {
                continue;
            }
            let how = OFlags::PATH | OFlags::CLOEXEC;
            let fd = match rustix::fs::openat2(CWD, at, how, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                Ok(fd) => fd,
                // An overlay that could not be mounted is left out.
                Err(_) if matches!(mount, Mount::Overlay(_)) => continue,
                Err(errno) => return Err(errno).with_context(|| at.display().to_string()),
            };
            let device = rustix::fs::fstat(&fd).context("reading a device number")?.st_dev;
            if !seen.contains(&device) {
                seen.push(device);
                disks.push(Disk::new(at, fd)?);
            }
        }
        let memory = Memory::of_machine();
        let free_memory = memory.map_or(0, |memory| reserve(memory.all, memory.free, MAX_FREE_MEMORY));
        Ok(ResourceMonitor { max_memory: limits.memory_bytes, was_over: false, free_memory, disks })
    }

    /// How long the next check can wait, or why the jail must be killed now.
    pub(super) fn check(&mut self) -> Result<Duration, String> {
        let mut pause = MAX_INTERVAL;
        let mut wait = |left: u64, per_second: u64| {
            pause = pause.min(Duration::from_secs(1).mul_f64(left as f64 / per_second as f64) / 2);
        };
        let (left, rest) = self.check_processes()?;
        wait(left, MAX_BYTES_PER_SECOND);
        if let Some(memory) = Memory::of_machine() {
            let left = memory.free.checked_sub(self.free_memory);
            wait(
                left.ok_or_else(|| format!("the machine has only {} of free memory", size(memory.free)))?,
                MAX_BYTES_PER_SECOND,
            );
        }
        for disk in &self.disks {
            let (bytes, files) = disk.left()?;
            wait(bytes, MAX_BYTES_PER_SECOND);
            wait(files, MAX_FILES_PER_SECOND);
        }
        Ok(pause.max(rest))
    }

    /// The memory that the jail may still take, and the minimum time until the next check.
    fn check_processes(&mut self) -> Result<(u64, Duration), String> {
        let left_of = |taken: u64| self.max_memory.checked_sub(taken);
        if let Some(left) = left_of(memory_of_all(quick_memory)) {
            self.was_over = false;
            return Ok((left, MIN_INTERVAL));
        }
        // The quick count includes shared pages several times; the exact count is slow, and done only if the quick one exceeds the limit.
        if let Some(left) = left_of(memory_of_all(exact_memory)) {
            self.was_over = false;
            return Ok((left, EXACT_INTERVAL));
        }
        // Must be exceeded twice in a row: during a fork the child seems to have all memory of its parent.
        if self.was_over {
            return Err(format!("memory use exceeds {}", size(self.max_memory)));
        }
        self.was_over = true;
        Ok((0, MIN_INTERVAL))
    }
}

impl Disk {
    fn new(at: &Path, fd: OwnedFd) -> SetupResult<Disk> {
        let stat = rustix::fs::fstatvfs(&fd).with_context(|| at.display().to_string())?;
        let bytes = reserve(stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize, MAX_FREE_BYTES);
        let files = reserve(stat.f_files, stat.f_favail, MAX_FREE_FILES);
        Ok(Disk { at: at.to_owned(), fd, bytes, files })
    }

    /// Bytes and files that may still be taken.
    fn left(&self) -> Result<(u64, u64), String> {
        let here = self.at.display();
        let stat = rustix::fs::fstatvfs(&self.fd).map_err(|errno| format!("{here}: {errno}"))?;
        let free = stat.f_bavail * stat.f_frsize;
        let bytes = free.checked_sub(self.bytes);
        let bytes = bytes.ok_or_else(|| format!("the disk of {here} has only {} left", size(free)))?;
        // Some file systems do not count files.
        let files = if self.files == 0 { Some(u64::MAX) } else { stat.f_favail.checked_sub(self.files) };
        Ok((bytes, files.ok_or_else(|| format!("the disk of {here} has room for only {} more files", stat.f_favail))?))
    }
}

/// How much must stay free. If less was free at the start, half of that may be used: git must work on a full disk too.
fn reserve(all: u64, free: u64, max: u64) -> u64 {
    (all / 20).min(max).min(free / 2)
}

/// Main memory and swap together.
#[derive(Clone, Copy)]
struct Memory {
    all: u64,
    free: u64,
}

impl Memory {
    fn of_machine() -> Option<Memory> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let sum = |names: [&str; 2]| names.iter().map(|name| kilobytes(&text, name)).sum::<Option<u64>>();
        Some(Memory { all: sum(["MemTotal:", "SwapTotal:"])?, free: sum(["MemAvailable:", "SwapFree:"])? })
    }
}

/// The memory of all processes in `/proc`.
fn memory_of_all(of_one: fn(&Path) -> Option<u64>) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &std::ffi::OsStr| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    // A process that has ended meanwhile counts as none.
    processes.filter(|entry| is_process(&entry.file_name())).filter_map(|entry| of_one(&entry.path())).sum()
}

/// The private memory of a process: quick to read, but includes pages that are shared with its parent since a fork.
fn quick_memory(process: &Path) -> Option<u64> {
    let text = fs::read_to_string(process.join("statm")).ok()?;
    let mut pages = text.split(' ').skip(1).map_while(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// The memory of a process with shared pages divided among their users. Falls back to the quick count for an unreadable process.
fn exact_memory(process: &Path) -> Option<u64> {
    let exact = fs::read_to_string(process.join("smaps_rollup"))
        .ok()
        .and_then(|text| Some(kilobytes(&text, "Pss_Anon:")? + kilobytes(&text, "Pss_Shmem:")?));
    exact.or_else(|| quick_memory(process))
}

/// The value of a line such as `MemTotal:   24681780 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

fn size(bytes: u64) -> String {
    format!("{} MB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twentieth_stays_free_but_no_huge_amount_and_a_full_disk_can_still_be_used() {
        assert_eq!(reserve(1000, 900, 1 << 30), 50);
        assert_eq!(reserve(1 << 40, 1 << 39, 1 << 30), 1 << 30);
        assert_eq!(reserve(1000, 20, 1 << 30), 10);
        assert_eq!(reserve(0, 0, 1 << 30), 0, "a file system that does not count");
    }

    #[test]
    fn the_memory_of_the_machine_and_of_this_process_is_found() {
        let machine = Memory::of_machine().unwrap();
        assert!(machine.free > 0 && machine.free <= machine.all);
        let mut block = vec![1_u8; 64 << 20];
        block[0] = std::hint::black_box(2);
        let this = Path::new("/proc/self");
        for found in [quick_memory(this).unwrap(), exact_memory(this).unwrap()] {
            assert!(found >= 64 << 20 && found < machine.all, "{found}");
        }
        assert_eq!(std::hint::black_box(block)[1], 1);
    }

    #[test]
    fn a_jail_is_stopped_when_the_machine_runs_out_of_memory() {
        let memory = Memory::of_machine().unwrap();
        let mut monitor =
            ResourceMonitor { max_memory: u64::MAX, was_over: false, free_memory: memory.all + 1, disks: vec![] };
        assert!(monitor.check().unwrap_err().starts_with("the machine has only "));
        monitor.free_memory = 0;
        assert!(monitor.check().unwrap() >= MIN_INTERVAL);
    }
}
