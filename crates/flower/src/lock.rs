//! A lock that ends with its holder: `flock` on a file that says who holds it, and in which boot.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
            version: crate::VERSION.to_owned(),
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

impl Lock {
    pub fn take(path: &Path, holder: &Holder) -> Result<Lock, LockError> {
        use rustix::fs::{FlockOperation, flock};
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
        let file = file.map_err(LockError::Io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let lock = Lock { file };
                lock.note(holder).map_err(LockError::Io)?;
                Ok(lock)
            }
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => Err(LockError::Held(read(&file))),
            Err(error) => Err(LockError::Io(error.into())),
        }
    }

    /// Rewrites who holds it, as more becomes known.
    pub fn note(&self, holder: &Holder) -> io::Result<()> {
        let mut file = &self.file;
        let text = serde_json::to_string(holder).expect("plain data");
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())
    }
}

/// Who holds the lock at `path`, if somebody does right now.
pub fn holder(path: &Path) -> Option<Holder> {
    use rustix::fs::{FlockOperation, flock};
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => None,
        Err(_) => read(&file).filter(|holder| holder.boot == boot_id()),
    }
}

fn read(mut file: &File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(|_| String::new(), |id| id.trim().to_owned())
}
