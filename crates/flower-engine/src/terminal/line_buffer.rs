//! Buffers output before masking: a secret is only found in one piece, so an unfinished line waits shortly for its rest.

use std::time::{Duration, Instant};

/// A pause after which an unfinished line is passed on. A program that writes a line in pieces continues sooner, and the
/// delay is not visible on a screen.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(10);
/// For programs that neither pause nor end a line.
const MAX_DELAY: Duration = Duration::from_millis(50);
const MAX_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// When the oldest and the newest bytes arrived.
    arrived: Option<(Instant, Instant)>,
}

impl LineBuffer {
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) {
        self.bytes.extend_from_slice(bytes);
        self.arrived = Some((self.arrived.map_or(now, |(first, _)| first), now));
    }

    /// Takes the whole lines. If the buffer is full without one, whole words; without these, everything.
    pub(super) fn take_ready(&mut self) -> Vec<u8> {
        let behind = |is_end: fn(&u8) -> bool| self.bytes.iter().rposition(is_end).map(|at| at + 1);
        let full = self.bytes.len() >= MAX_BYTES;
        let end = behind(|byte| matches!(byte, b'\n' | b'\r'))
            .or_else(|| behind(|byte| *byte <= b' ').filter(|_| full))
            .unwrap_or(if full { self.bytes.len() } else { 0 });
        self.take(end)
    }

    /// When the unfinished line is passed on.
    pub(super) fn due(&self) -> Option<Instant> {
        self.arrived.map(|(first, last)| (last + PAUSE_TIMEOUT).min(first + MAX_DELAY))
    }

    pub(super) fn take_all(&mut self) -> Vec<u8> {
        self.take(self.bytes.len())
    }

    fn take(&mut self, end: usize) -> Vec<u8> {
        let rest = self.bytes.split_off(end);
        let taken = std::mem::replace(&mut self.bytes, rest);
        // The rest arrived with the newest bytes.
        self.arrived = self.arrived.filter(|_| !self.bytes.is_empty());
        if let (Some(arrived), false) = (&mut self.arrived, taken.is_empty()) {
            arrived.0 = arrived.1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_at_once_and_the_rest_waits_a_moment() {
        let (mut buffer, start) = (LineBuffer::default(), Instant::now());
        buffer.push(b"one\ntw", start);
        assert_eq!(buffer.take_ready(), b"one\n");
        assert_eq!(buffer.due(), Some(start + PAUSE_TIMEOUT));
        buffer.push(b"o", start + PAUSE_TIMEOUT / 2);
        assert_eq!(buffer.take_ready(), b"");
        assert_eq!(buffer.due(), Some(start + PAUSE_TIMEOUT / 2 + PAUSE_TIMEOUT));
        buffer.push(b"", start + MAX_DELAY);
        assert_eq!(buffer.due(), Some(start + MAX_DELAY));
        assert_eq!(buffer.take_all(), b"two");
        assert_eq!(buffer.due(), None);
    }

    #[test]
    fn very_long_lines_are_split_between_words() {
        let (mut buffer, now) = (LineBuffer::default(), Instant::now());
        buffer.push(&[b'x'; MAX_BYTES - 3], now);
        buffer.push(b" secret", now);
        assert_eq!(buffer.take_ready().len(), MAX_BYTES - 2);
        assert_eq!(buffer.take_all(), b"secret");
        buffer.push(&[b'x'; MAX_BYTES], now);
        assert_eq!(buffer.take_ready().len(), MAX_BYTES);
        assert_eq!(buffer.due(), None);
    }
}
