//! What no rlimit bounds: the memory of everything inside together, and what is left of the machine's memory and of the file
//! systems that can be written to. The first process looks, because it sees what runs inside and nothing else, and because
//! everything ends with it.
//!
//! Memory is bounded by the spec. Of the machine something always stays free, whoever takes it: a jail is what goes first.

use super::failure::{During, Step};
use super::places::{Place, Places};
use super::spec::Limits;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Of each, a twentieth stays free, or this much where that would be a lot.
const FREE_MEMORY: u64 = 1 << 30;
const FREE_BYTES: u64 = 1 << 30;
const FREE_FILES: u64 = 100_000;

/// Nothing inside is quicker than this, so that it is known how long a look can be put off.
const BYTES_A_SECOND: u64 = 4 << 30;
const FILES_A_SECOND: u64 = 200_000;
const OFTEN: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_secs(2);
/// After a look at every page, which takes its time.
const REST: Duration = Duration::from_millis(250);

pub(super) struct Watch {
    most_memory: u64,
    /// Whether the last look found more than that.
    was_over: bool,
    free_memory: u64,
    disks: Vec<Disk>,
}

/// A place that can be written to, and what of its file system must stay free.
struct Disk {
    at: PathBuf,
    /// Its path could be made to lead elsewhere from inside.
    fd: OwnedFd,
    bytes: u64,
    files: u64,
}

impl Watch {
    /// To be called inside, before anything runs there.
    pub(super) fn new(limits: &Limits, places: &Places) -> Step<Watch> {
        let mut disks: Vec<Disk> = Vec::new();
        let mut seen = Vec::new();
        for (at, place) in places {
            if !matches!(place, Place::Host { write: true, .. } | Place::Overlay(_)) {
                continue;
            }
            let how = OFlags::PATH | OFlags::CLOEXEC;
            let fd = match rustix::fs::openat2(CWD, at, how, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
                Ok(fd) => fd,
                // It was left out.
                Err(_) if matches!(place, Place::Overlay(_)) => continue,
                Err(errno) => return Err(errno).during_with(|| at.display().to_string()),
            };
            let device = rustix::fs::fstat(&fd).during("asking for a device")?.st_dev;
            if !seen.contains(&device) {
                seen.push(device);
                disks.push(Disk::new(at, fd)?);
            }
        }
        let memory = Memory::of_the_machine();
        let free_memory = memory.map_or(0, |memory| reserve(memory.all, memory.free, FREE_MEMORY));
        Ok(Watch { most_memory: limits.memory_bytes, was_over: false, free_memory, disks })
    }

    /// How long the next look can wait, or why everything inside must end now.
    pub(super) fn look(&mut self) -> Result<Duration, String> {
        let mut pause = SELDOM;
        let mut wait = |left: u64, a_second: u64| {
            pause = pause.min(Duration::from_secs(1).mul_f64(left as f64 / a_second as f64) / 2);
        };
        let (left, rest) = self.look_at_processes()?;
        wait(left, BYTES_A_SECOND);
        if let Some(memory) = Memory::of_the_machine() {
            let left = memory.free.checked_sub(self.free_memory);
            wait(
                left.ok_or_else(|| format!("the machine has only {} of memory left", size(memory.free)))?,
                BYTES_A_SECOND,
            );
        }
        for disk in &self.disks {
            let (bytes, files) = disk.left()?;
            wait(bytes, BYTES_A_SECOND);
            wait(files, FILES_A_SECOND);
        }
        Ok(pause.max(rest))
    }

    /// The memory that they may still take, and how long they must then be left alone.
    fn look_at_processes(&mut self) -> Result<(u64, Duration), String> {
        let left_of = |taken: u64| self.most_memory.checked_sub(taken);
        if let Some(left) = left_of(memory_inside(quick_memory)) {
            self.was_over = false;
            return Ok((left, OFTEN));
        }
        // What several share was counted for each; only now is it worth the time to look closely.
        if let Some(left) = left_of(memory_inside(memory)) {
            self.was_over = false;
            return Ok((left, REST));
        }
        // Twice in a row: a process that is just starting another one lends it all its memory.
        if self.was_over {
            return Err(format!("it takes more than {} of memory", size(self.most_memory)));
        }
        self.was_over = true;
        Ok((0, OFTEN))
    }
}

impl Disk {
    fn new(at: &Path, fd: OwnedFd) -> Step<Disk> {
        let stat = rustix::fs::fstatvfs(&fd).during_with(|| at.display().to_string())?;
        let bytes = reserve(stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize, FREE_BYTES);
        let files = reserve(stat.f_files, stat.f_favail, FREE_FILES);
        Ok(Disk { at: at.to_owned(), fd, bytes, files })
    }

    /// Bytes and files that may still be taken.
    fn left(&self) -> Result<(u64, u64), String> {
        let here = self.at.display();
        let stat = rustix::fs::fstatvfs(&self.fd).map_err(|errno| format!("{here}: {errno}"))?;
        let free = stat.f_bavail * stat.f_frsize;
        let bytes = free.checked_sub(self.bytes);
        let bytes = bytes.ok_or_else(|| format!("the disk of {here} has only {} left", size(free)))?;
        // Where files are not counted there is no bound on them.
        let files = if self.files == 0 { Some(u64::MAX) } else { stat.f_favail.checked_sub(self.files) };
        Ok((bytes, files.ok_or_else(|| format!("the disk of {here} has room for only {} more files", stat.f_favail))?))
    }
}

/// What stays free. Where less than that was free from the beginning, half of it can be used: on a full disk git must still
/// answer.
fn reserve(all: u64, free: u64, most: u64) -> u64 {
    (all / 20).min(most).min(free / 2)
}

/// Main memory and swap together.
#[derive(Clone, Copy)]
struct Memory {
    all: u64,
    free: u64,
}

impl Memory {
    fn of_the_machine() -> Option<Memory> {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let sum = |names: [&str; 2]| names.iter().map(|name| kilobytes(&text, name)).sum::<Option<u64>>();
        Some(Memory { all: sum(["MemTotal:", "SwapTotal:"])?, free: sum(["MemAvailable:", "SwapFree:"])? })
    }
}

/// Of all processes that this `/proc` shows.
fn memory_inside(of_one: fn(&Path) -> Option<u64>) -> u64 {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &std::ffi::OsStr| name.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    // Who is gone by now takes none.
    processes.filter(|entry| is_process(&entry.file_name())).filter_map(|entry| of_one(&entry.path())).sum()
}

/// What a process has for itself, which costs little to ask for: what it shares with its parent since a fork is in it.
fn quick_memory(process: &Path) -> Option<u64> {
    let text = fs::read_to_string(process.join("statm")).ok()?;
    let mut pages = text.split(' ').skip(1).map_while(|number| number.parse::<u64>().ok());
    let (resident, shared) = (pages.next()?, pages.next()?);
    Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
}

/// The same with each page divided among those who share it. A process that hides its memory is counted the quick way.
fn memory(process: &Path) -> Option<u64> {
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
        let memory_of_all = Memory::of_the_machine().unwrap();
        assert!(memory_of_all.free > 0 && memory_of_all.free <= memory_of_all.all);
        let mut block = vec![1_u8; 64 << 20];
        block[0] = std::hint::black_box(2);
        let this = Path::new("/proc/self");
        for found in [quick_memory(this).unwrap(), memory(this).unwrap()] {
            assert!(found >= 64 << 20 && found < memory_of_all.all, "{found}");
        }
        assert_eq!(std::hint::black_box(block)[1], 1);
    }

    #[test]
    fn the_machine_s_last_memory_is_not_taken() {
        let memory = Memory::of_the_machine().unwrap();
        let mut watch = Watch { most_memory: u64::MAX, was_over: false, free_memory: memory.all + 1, disks: vec![] };
        assert!(watch.look().unwrap_err().starts_with("the machine has only "));
        watch.free_memory = 0;
        assert!(watch.look().unwrap() >= OFTEN);
    }
}
