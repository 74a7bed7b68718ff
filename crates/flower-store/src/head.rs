//! The head file: the end of the log, stored outside the database, so that a truncated log is detected.
//!
//! The file is one line of fixed length, overwritten in place after each group commit: a kill leaves the old line or
//! the new one.

use super::log::{self, Tail};
use super::{Conn, StoreError};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

#[derive(Debug)]
pub struct HeadFile {
    file: File,
}

impl HeadFile {
    pub fn open(path: &Path) -> io::Result<HeadFile> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        Ok(HeadFile { file })
    }

    /// The last proved end of the log, or `None` for a new or damaged file.
    pub fn read(&self) -> Option<Tail> {
        let mut line = [0; LINE];
        self.file.read_exact_at(&mut line, 0).ok()?;
        let text = std::str::from_utf8(&line).ok()?;
        let (seq, hash) = text.trim_end().split_once(' ')?;
        let hash = Some(hash).filter(|hash| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()))?;
        Some(Tail { seq: seq.parse().ok()?, hash: hash.to_owned() })
    }

    pub fn write(&self, tail: &Tail) -> io::Result<()> {
        self.file.write_all_at(format!("{:020} {:64}\n", tail.seq, tail.hash).as_bytes(), 0)
    }
}

/// 20 digits, a space, 64 hexadecimal digits, a line break.
const LINE: usize = 20 + 1 + 64 + 1;

/// The result of comparing the database with the head file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The log contains the proved event; `unproved` events came after it.
    Holds { proved: u64, unproved: u64 },
    /// There is no head file, or it is damaged: the log has no proof outside the database.
    Absent,
    /// The log ends before the proved event, or has another event in its place.
    Broken { proved: Tail, found: Tail },
}

impl Proof {
    pub fn of(conn: &mut Conn, head: Option<Tail>) -> Result<Proof, StoreError> {
        let found = Tail::read(conn)?;
        let Some(proved) = head else {
            return Ok(Proof::Absent);
        };
        match log::hash_at(conn, proved.seq)? {
            Some(hash) if hash == proved.hash => {
                Ok(Proof::Holds { proved: proved.seq, unproved: found.seq.saturating_sub(proved.seq) })
            }
            _ => Ok(Proof::Broken { proved, found }),
        }
    }
}
