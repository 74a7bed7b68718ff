//! One reader of a terminal's output.

use super::scrollback::Snapshot;
use tokio::sync::watch;

/// Bytes per chunk, which is all that is in memory for one reader.
const CHUNK_BYTES: u64 = 64 * 1024;

/// The output that is in the scrollback.
#[derive(Clone)]
pub(super) struct Written {
    pub(super) snapshot: Snapshot,
    /// No more output follows.
    pub(super) finished: bool,
}

/// New output is read from the file too, so a slow reader needs no memory.
pub struct Output {
    written: watch::Receiver<Written>,
    at: u64,
}

impl Output {
    pub(super) fn new(written: watch::Receiver<Written>, after: u64) -> Output {
        let at = {
            let written = written.borrow();
            after.clamp(written.snapshot.first, written.snapshot.end)
        };
        Output { written, at }
    }

    /// The position of the next byte.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next bytes and the position of the first of them; none at the end. The position has a gap if this reader was so slow
    /// that bytes were dropped. Safe to cancel.
    pub async fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        loop {
            let Written { snapshot, finished } = self.written.borrow_and_update().clone();
            if self.at < snapshot.end {
                let from = self.at;
                let read = tokio::task::spawn_blocking(move || snapshot.read(from, CHUNK_BYTES)).await.ok()?;
                let (at, bytes) = read.inspect_err(|error| tracing::warn!("scrollback not readable: {error}")).ok()?;
                self.at = at + bytes.len() as u64;
                return Some((at, bytes));
            }
            if finished {
                return None;
            }
            self.written.changed().await.ok()?;
        }
    }
}
