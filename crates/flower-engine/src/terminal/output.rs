//! What a terminal shows, as one reader gets it.

use super::scrollback::Place;
use tokio::sync::watch;

/// What a reader is given at once, and all that is in memory for it.
const CHUNK: u64 = 64 * 1024;

/// As far as the output is written down.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) place: Place,
    /// Nothing follows.
    pub(super) finished: bool,
}

/// Everything is read from the file, also what is new: nobody's slowness costs memory.
pub struct Output {
    shown: watch::Receiver<Shown>,
    at: u64,
}

impl Output {
    pub(super) fn new(shown: watch::Receiver<Shown>, after: u64) -> Output {
        let at = {
            let shown = shown.borrow();
            after.clamp(shown.place.first, shown.place.end)
        };
        Output { shown, at }
    }

    /// The position of the byte that comes next.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// The next bytes and the position of the first of them, which is larger than expected if this reader was so slow that
    /// those between are gone. Nothing at the end. May be given up while it waits.
    pub async fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        loop {
            let Shown { place, finished } = self.shown.borrow_and_update().clone();
            if self.at < place.end {
                let from = self.at;
                let read = tokio::task::spawn_blocking(move || place.read(from, CHUNK)).await.ok()?;
                let (at, bytes) =
                    read.inspect_err(|error| tracing::warn!("a scrollback cannot be read: {error}")).ok()?;
                self.at = at + bytes.len() as u64;
                return Some((at, bytes));
            }
            if finished {
                return None;
            }
            self.shown.changed().await.ok()?;
        }
    }
}
