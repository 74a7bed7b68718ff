//! The output of a terminal as plain lines, for those who read it without one.

use anstream::adapter::StripBytes;

/// A longer line is cut.
const MAX_LINE_BYTES: usize = 4 << 10;
/// Switching to the screen of a full-screen program and back.
const SCREEN_ON: [&[u8]; 3] = [b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h"];
const SCREEN_OFF: [&[u8]; 3] = [b"\x1b[?1049l", b"\x1b[?1047l", b"\x1b[?47l"];
const LONGEST_SWITCH: usize = 8;

/// Removes escape sequences. A line that is drawn over, such as a progress bar, has only its last text; a line that equals the one
/// before is left out. What a full-screen program draws is left out.
#[derive(Default)]
pub struct PlainLines {
    strip: StripBytes,
    line: Vec<u8>,
    /// The cursor is at the beginning of the line: what follows replaces it.
    returned: bool,
    last: String,
    full_screen: bool,
    /// Bytes that may be the beginning of a switch.
    carry: Vec<u8>,
}

impl PlainLines {
    /// Takes output, and returns the lines that it has ended.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut rest = std::mem::take(&mut self.carry);
        rest.extend_from_slice(bytes);
        loop {
            let wanted = if self.full_screen { SCREEN_OFF } else { SCREEN_ON };
            let found = wanted.iter().filter_map(|one| Some((position(&rest, one)?, one.len()))).min();
            let Some((at, length)) = found else { break };
            self.take(&rest[..at], &mut lines);
            lines.extend(self.rest());
            self.full_screen = !self.full_screen;
            if self.full_screen {
                lines.push("[it uses the whole screen, which is not written here]".to_owned());
            }
            rest.drain(..at + length);
        }
        let begun = (1..LONGEST_SWITCH.min(rest.len() + 1)).rev().find(|length| {
            let tail = &rest[rest.len() - length..];
            SCREEN_ON.iter().chain(&SCREEN_OFF).any(|one| one.starts_with(tail))
        });
        self.carry = rest.split_off(rest.len() - begun.unwrap_or(0));
        self.take(&rest, &mut lines);
        lines
    }

    /// The line that has no end yet; it counts as ended.
    pub fn rest(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        self.returned = false;
        self.ended(&line)
    }

    fn take(&mut self, bytes: &[u8], lines: &mut Vec<String>) {
        let plain: Vec<u8> = self.strip.strip_next(bytes).flatten().copied().collect();
        if self.full_screen {
            return;
        }
        for byte in plain {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.returned = false;
                    lines.extend(self.ended(&line));
                }
                b'\r' => self.returned = true,
                byte => {
                    if std::mem::take(&mut self.returned) {
                        self.line.clear();
                    }
                    if self.line.len() < MAX_LINE_BYTES {
                        self.line.push(byte);
                    }
                }
            }
        }
    }

    fn ended(&mut self, line: &[u8]) -> Option<String> {
        let line = String::from_utf8_lossy(line).trim_end().to_owned();
        if line.is_empty() || line == self.last {
            return None;
        }
        self.last.clone_from(&line);
        Some(line)
    }
}

fn position(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(pieces: &[&str]) -> Vec<String> {
        let mut lines = PlainLines::default();
        let mut all: Vec<String> = pieces.iter().flat_map(|piece| lines.push(piece.as_bytes())).collect();
        all.extend(lines.rest());
        all
    }

    #[test]
    fn colours_and_progress_bars_become_plain_lines() {
        assert_eq!(plain(&["\x1b[1mone\x1b[0m\r\ntw", "o\r\n\r\n"]), ["one", "two"]);
        assert_eq!(plain(&["10 %\r50 %\r100 %\r\ndone"]), ["100 %", "done"]);
        assert_eq!(plain(&["tick\ntick\ntick\ntock\n"]), ["tick", "tock"]);
        assert_eq!(plain(&["a \x1b]0;title\x07b\x1b[2K\n"]), ["a b"]);
        let long = plain(&[&"x".repeat(3 * MAX_LINE_BYTES)]);
        assert_eq!(long[0].len(), MAX_LINE_BYTES);
    }

    #[test]
    fn what_a_full_screen_program_draws_is_left_out() {
        let drawn = plain(&["before\n\x1b[?104", "9h\x1b[1;1Hmenu\n", "more\x1b[?10", "49lafter\n"]);
        assert_eq!(drawn, ["before", "[it uses the whole screen, which is not written here]", "after"]);
    }
}
