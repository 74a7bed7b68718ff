//! A lock that ends with its holder: `flock` on a file that says who holds it, and in which boot.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// Who holds a lock. The boot id tells a stale note, kept over a restart of the machine, from a live one.
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

/// Held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

#[derive(Debug)]
pub enum LockError {
    /// Another process holds it; who, if it said so.
    Held(Option<Holder>),
    Io(io::Error),
}

/// How long a lock that cannot be had may go unsigned: whoever took it signs at once, and whoever only looks lets go.
const UNSIGNED: Duration = Duration::from_millis(300);

impl Lock {
    pub fn take(path: &Path, holder: &Holder) -> Result<Lock, LockError> {
        use rustix::fs::{FlockOperation, flock};
        let start = Instant::now();
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            // A repository from elsewhere may have a link there, to a file that is not ours to write.
            options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
            let file = options.open(path);
            let file = file.map_err(LockError::Io)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Its holder removed the file between our opening and our locking it: the next one is another file.
                Ok(()) if !is_at(&file, path) => {}
                Ok(()) => {
                    let lock = Lock { file };
                    lock.note(holder).map_err(LockError::Io)?;
                    return Ok(lock);
                }
                Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                    let signed = read(&file);
                    if signed.is_some() || start.elapsed() > UNSIGNED {
                        return Err(LockError::Held(signed));
                    }
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(error) => return Err(LockError::Io(error.into())),
            }
        }
    }

    /// Lets go and leaves no file behind.
    pub fn remove(self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    /// Rewrites who holds it, as more becomes known.
    pub fn note(&self, holder: &Holder) -> io::Result<()> {
        let text = serde_json::to_string(holder).expect("plain data");
        // Padded, so that one write replaces all of the last one: whoever reads meanwhile never finds half of it.
        let text = format!("{text:1023}\n");
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), std::fs::metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// What `flock` says about a lock, and its note about the holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Free,
    /// Who, if the note can be read.
    Held(Option<Holder>),
}

/// Whether somebody holds the lock at `path` right now, and who.
pub fn state(path: &Path) -> State {
    use rustix::fs::{FlockOperation, flock};
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else { return State::Free };
    let start = Instant::now();
    while flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        let signed = read(&file);
        if signed.is_some() || start.elapsed() > UNSIGNED {
            return State::Held(signed);
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    State::Free
}

/// Whether anybody holds the lock at `path`, alone or together with others.
pub fn is_shared_held(path: &Path) -> bool {
    path.exists() && alone(path).is_none()
}

/// The lock at `path`, unsigned, if nobody holds it in any way. It ends with the file.
pub fn alone(path: &Path) -> Option<File> {
    use rustix::fs::{FlockOperation, flock};
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file)
}

/// Who holds the lock at `path`, if somebody does right now and says who.
pub fn holder(path: &Path) -> Option<Holder> {
    match state(path) {
        State::Held(holder) => holder,
        State::Free => None,
    }
}

/// The note, if its writer can still hold the lock: the file outlives whoever wrote it.
fn read(file: &File) -> Option<Holder> {
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

/// Tells whether anything that an earlier daemon started is still running: a lock on a file which every process that this
/// one starts inherits, and which therefore ends with the last of them.
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

    /// Waits for those of earlier daemons. False if some are still there after `patience`.
    pub async fn are_alone(&self, patience: Duration) -> bool {
        use rustix::fs::{FlockOperation, flock};
        let start = Instant::now();
        while flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if start.elapsed() > patience {
                return false;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        true
    }
}
