//! Output on its way to the mask, which must see words whole: an unfinished line waits a moment for its rest.

use std::time::{Duration, Instant};

/// Whoever writes a line in pieces goes on within this time, and nobody sees it on a screen.
const SETTLED: Duration = Duration::from_millis(10);
/// For those who never pause and never end a line.
const LONGEST: Duration = Duration::from_millis(50);
const MOST: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    /// When the oldest of them came, and the newest.
    came: Option<(Instant, Instant)>,
}

impl Held {
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) {
        self.bytes.extend_from_slice(bytes);
        self.came = Some((self.came.map_or(now, |(first, _)| first), now));
    }

    /// Whole lines; if there is none in very much, whole words; if there is none of these, all of it.
    pub(super) fn ready(&mut self) -> Vec<u8> {
        let behind = |is_end: fn(&u8) -> bool| self.bytes.iter().rposition(is_end).map(|at| at + 1);
        let full = self.bytes.len() >= MOST;
        let end = behind(|byte| matches!(byte, b'\n' | b'\r'))
            .or_else(|| behind(|byte| *byte <= b' ').filter(|_| full))
            .unwrap_or(if full { self.bytes.len() } else { 0 });
        self.take(end)
    }

    /// When the rest is not waited for any longer.
    pub(super) fn due(&self) -> Option<Instant> {
        self.came.map(|(first, last)| (last + SETTLED).min(first + LONGEST))
    }

    pub(super) fn rest(&mut self) -> Vec<u8> {
        self.take(self.bytes.len())
    }

    fn take(&mut self, end: usize) -> Vec<u8> {
        let rest = self.bytes.split_off(end);
        let taken = std::mem::replace(&mut self.bytes, rest);
        // What is left came last.
        self.came = self.came.filter(|_| !self.bytes.is_empty());
        if let (Some(came), false) = (&mut self.came, taken.is_empty()) {
            came.0 = came.1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_at_once_and_the_rest_waits_a_moment() {
        let (mut held, start) = (Held::default(), Instant::now());
        held.push(b"one\ntw", start);
        assert_eq!(held.ready(), b"one\n");
        assert_eq!(held.due(), Some(start + SETTLED));
        held.push(b"o", start + SETTLED / 2);
        assert_eq!(held.ready(), b"");
        assert_eq!(held.due(), Some(start + SETTLED / 2 + SETTLED));
        held.push(b"", start + LONGEST);
        assert_eq!(held.due(), Some(start + LONGEST));
        assert_eq!(held.rest(), b"two");
        assert_eq!(held.due(), None);
    }

    #[test]
    fn very_long_lines_are_split_between_words() {
        let (mut held, now) = (Held::default(), Instant::now());
        held.push(&[b'x'; MOST - 3], now);
        held.push(b" secret", now);
        assert_eq!(held.ready().len(), MOST - 2);
        assert_eq!(held.rest(), b"secret");
        held.push(&[b'x'; MOST], now);
        assert_eq!(held.ready().len(), MOST);
        assert_eq!(held.due(), None);
    }
}
