//! Locks that end with the process that holds them: `flock` on a file in which the holder writes its pid and boot.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// The process that holds a lock, as written in the lock file. The boot id reveals a file that is left from an earlier boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub boot: String,
    pub home: String,
    pub version: String,
    pub port: Option<u16>,
}

impl Holder {
    pub fn this_process(home: &Path, port: Option<u16>) -> Holder {
        Holder {
            pid: std::process::id(),
            boot: boot_id(),
            home: home.display().to_string(),
            version: flower_contract::VERSION.to_owned(),
            port,
        }
    }
}

/// Held until dropped or until the process ends, also if it is killed.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

#[derive(Debug)]
pub enum LockError {
    /// Another process holds the lock; its `Holder`, if the file can be read.
    Held(Option<Holder>),
    Io(io::Error),
}

/// How long to wait for the holder's name in a lock that is taken. A holder writes its name at once; a process that only
/// checks the lock writes none and releases it.
const UNSIGNED_TIMEOUT: Duration = Duration::from_millis(300);

impl Lock {
    pub fn acquire(path: &Path, holder: &Holder) -> Result<Lock, LockError> {
        use rustix::fs::{FlockOperation, flock};
        let start = Instant::now();
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            // An untrusted repository may have a symbolic link here, to a file that must not be overwritten.
            options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
            let file = options.open(path);
            let file = file.map_err(LockError::Io)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // The last holder deleted the file after it was opened here: try again with a new file.
                Ok(()) if !is_at(&file, path) => {}
                Ok(()) => {
                    let lock = Lock { file };
                    lock.write_holder(holder).map_err(LockError::Io)?;
                    return Ok(lock);
                }
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                    let signed = read_holder(&file);
                    if signed.is_some() || start.elapsed() > UNSIGNED_TIMEOUT {
                        return Err(LockError::Held(signed));
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(error) => return Err(LockError::Io(error.into())),
            }
        }
    }

    /// Releases the lock and deletes its file.
    pub fn remove(self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    /// Whether this is the lock's file.
    pub fn is_at(&self, path: &Path) -> bool {
        is_at(&self.file, path)
    }

    /// Replaces the holder in the file, for example when its port is known.
    pub fn write_holder(&self, holder: &Holder) -> io::Result<()> {
        let text = serde_json::to_string(holder).expect("plain data");
        // Padded to a fixed length, so that one write replaces the whole content and a reader never sees half of it.
        let text = format!("{text:1023}\n");
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Whether a lock is held, and by which process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockState {
    Free,
    /// The holder, if the file can be read.
    Held(Option<Holder>),
}

/// The state of the lock at `path`.
pub fn lock_state(path: &Path) -> LockState {
    use rustix::fs::{FlockOperation, flock};
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return LockState::Free };
    let start = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        let signed = read_holder(&file);
        if signed.is_some() || start.elapsed() > UNSIGNED_TIMEOUT {
            return LockState::Held(signed);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    LockState::Free
}

/// Whether any process holds the lock at `path`, exclusively or shared.
pub fn is_held(path: &Path) -> bool {
    path.exists() && try_exclusive(path).is_none()
}

/// The exclusive lock at `path` without a holder's name, if no process holds it. It is released when the file is dropped.
pub fn try_exclusive(path: &Path) -> Option<File> {
    use rustix::fs::{FlockOperation, flock};
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file)
}

/// The holder of the lock at `path`, if it is held and the file can be read.
pub fn holder(path: &Path) -> Option<Holder> {
    match lock_state(path) {
        LockState::Held(holder) => holder,
        LockState::Free => None,
    }
}

/// The home of the process that held the lock at `path` last.
pub(crate) fn last_home(path: &Path) -> Option<std::path::PathBuf> {
    let text = crate::worktrees::disk::read_small(path, 16 * 1024)?;
    serde_json::from_slice::<Holder>(&text).ok().map(|holder| holder.home.into())
}

/// The holder in the file, if that process is alive: the file outlives its writer.
fn read_holder(file: &File) -> Option<Holder> {
    let mut text = Vec::new();
    let mut start = file;
    start.rewind().ok()?;
    start.take(16 * 1024).read_to_end(&mut text).ok()?;
    let holder: Holder = serde_json::from_slice(&text).ok()?;
    (holder.boot == boot_id() && is_alive(holder.pid)).then_some(holder)
}

fn is_alive(pid: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Detects processes of an earlier daemon that still run: a lock on a file that all processes started by the daemon inherit,
/// and that is released when the last of them ends.
#[derive(Debug)]
pub struct Children {
    file: File,
}

impl Children {
    pub fn new(path: &Path) -> io::Result<Children> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
        Ok(Children { file })
    }

    /// Waits until all processes of earlier daemons have ended. False if some still run after `timeout`.
    pub async fn wait_for_earlier(&self, timeout: Duration) -> bool {
        use rustix::fs::{FlockOperation, flock};
        let start = Instant::now();
        while flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if start.elapsed() > timeout {
                return false;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }
}
