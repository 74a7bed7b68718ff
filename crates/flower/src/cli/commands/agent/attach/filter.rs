//! Filters an agent's terminal output on its way to the operator's terminal. Passes only sequences that are known to draw, so
//! that full-screen programs work. Drops all sequences that make a terminal reply, store something or act outside its
//! screen: a program in the jail can neither type for the operator nor read what the terminal knows. The alternate screen
//! passes, and is left when the operator detaches. The title and colours of the operator's window do not change.

use anstyle_parse::state::{Action, State, state_change};
use std::collections::BTreeSet;

/// Longer control sequences have no meaning.
const MAX_SEQUENCE: usize = 256;
/// More modes than terminals have.
const MAX_MODES: usize = 64;
/// The modes that switch to the alternate screen.
const ALTERNATE_SCREEN: [u16; 3] = [47, 1047, 1049];

#[derive(Default)]
pub(super) struct Filter {
    state: State,
    /// The bytes of an incomplete control sequence or UTF-8 character.
    pending: Vec<u8>,
    /// Modes that are switched on, to be switched off again.
    modes: BTreeSet<u16>,
}

const ESC: u8 = 0x1b;

impl Filter {
    /// The bytes that may be shown. An incomplete sequence is kept until its end arrives.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.byte(*byte, &mut shown);
        }
        shown
    }

    /// The sequences that restore the terminal's state from before the shown output.
    pub(super) fn undo(&mut self) -> Vec<u8> {
        self.enter(State::Ground);
        let mut undo = String::new();
        for mode in std::mem::take(&mut self.modes) {
            undo.push_str(&format!("\x1b[?{mode}l"));
        }
        // Scrolling region, character set, colours, insert mode, line wrap, visible cursor, keypad.
        undo.push_str("\x1b7\x1b[r\x1b8\x0f\x1b(B\x1b[0m\x1b[4l\x1b[?7h\x1b[?25h\x1b>");
        undo.into_bytes()
    }

    fn byte(&mut self, byte: u8, shown: &mut Vec<u8>) {
        if !byte.is_ascii() {
            return self.non_ascii(byte, shown);
        }
        if self.state == State::Utf8 {
            self.enter(State::Ground);
        }
        let (next, action) = state_change(self.state, byte);
        match action {
            Action::Print if byte != 0x7f => shown.push(byte),
            // The bell, cursor movement and character sets; others include a request for the terminal's identity.
            Action::Execute if (0x07..=0x0f).contains(&byte) => shown.push(byte),
            // One byte more than allowed is kept, which marks the sequence as too long.
            Action::Collect | Action::Param if self.pending.len() <= MAX_SEQUENCE => self.pending.push(byte),
            Action::EscDispatch => self.finish_escape(byte, shown),
            Action::CsiDispatch => self.finish_control(byte, shown),
            // Among these the contents of strings: titles, colours, the clipboard, links, files, notifications.
            _ => {}
        }
        // `Anywhere` means that the state does not change.
        if next != State::Anywhere {
            self.enter(next);
        }
    }

    fn enter(&mut self, state: State) {
        if matches!(state, State::Ground | State::Escape | State::CsiEntry) {
            self.pending.clear();
        }
        self.state = state;
    }

    /// Single bytes above ASCII are control characters for some terminals, so only whole UTF-8 characters pass.
    fn non_ascii(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match self.state {
            State::Utf8 => {}
            State::Ground
            | State::Escape
            | State::EscapeIntermediate
            | State::CsiEntry
            | State::CsiParam
            | State::CsiIntermediate
            | State::CsiIgnore => self.enter(State::Ground),
            // Inside a string.
            _ => return,
        }
        self.state = State::Utf8;
        self.pending.push(byte);
        match std::str::from_utf8(&self.pending) {
            Ok(text) => {
                // Control characters can also be encoded in two bytes.
                if !text.contains(char::is_control) {
                    shown.extend_from_slice(&self.pending);
                }
                self.enter(State::Ground);
            }
            Err(error) if error.error_len().is_none() => {}
            Err(_) => {
                let begins_another = self.pending.len() > 1;
                self.enter(State::Ground);
                if begins_another {
                    self.non_ascii(byte, shown);
                }
            }
        }
    }

    fn finish_escape(&mut self, last: u8, shown: &mut Vec<u8>) {
        let draws = match self.pending.as_slice() {
            [] => b"78DEHMc=>".contains(&last),
            // Character sets.
            [b'(' | b')' | b'*' | b'+'] => true,
            // Lines of double size, and the alignment pattern.
            [b'#'] => b"34568".contains(&last),
            _ => false,
        };
        if draws {
            shown.push(ESC);
            shown.extend_from_slice(&self.pending);
            shown.push(last);
        }
    }

    fn finish_control(&mut self, last: u8, shown: &mut Vec<u8>) {
        let pending = std::mem::take(&mut self.pending);
        if pending.len() > MAX_SEQUENCE {
            return;
        }
        let parameters = pending.iter().position(|byte| *byte < 0x30).unwrap_or(pending.len());
        let (parameters, intermediates) = pending.split_at(parameters);
        // The parser lets `<`, `=`, `>` or `?` pass in front only.
        let private = parameters.first().copied().filter(|byte| *byte >= 0x3c);
        let passes = match (private, intermediates, last) {
            (_, [], b'h' | b'l') => {
                let numbers = &parameters[usize::from(private.is_some())..];
                return self.set_modes(private, numbers, last, shown);
            }
            (None, [], last) => b"@ABCDEFGHIJKLMPSTXZ`abdefgmrsu".contains(&last),
            (Some(b'?'), [], last) => b"JKrs".contains(&last),
            // The shape of the cursor, a soft reset, protected characters.
            (None, [b' ' | b'"'], b'q') | (None, [b'!'], b'p') => true,
            // Columns and rectangles.
            (None, [b' '], b'@' | b'A') | (None, [b'\''], b'}' | b'~') => true,
            (None, [b'$'], b'r' | b't' | b'v' | b'x' | b'z' | b'{') => true,
            _ => false,
        };
        if passes {
            shown.extend_from_slice(b"\x1b[");
            shown.extend_from_slice(&pending);
            shown.push(last);
        }
    }

    /// Of the ANSI modes only insert mode passes: others lock the keyboard. Of the private modes all pass but 2, which switches
    /// to VT52 sequences.
    fn set_modes(&mut self, private: Option<u8>, numbers: &[u8], last: u8, shown: &mut Vec<u8>) {
        let numbers = std::str::from_utf8(numbers).unwrap_or_default().split(';');
        for mode in numbers.filter_map(|number| number.parse::<u16>().ok()) {
            match private {
                None if mode == 4 => shown.extend_from_slice(&[ESC, b'[', b'4', last]),
                Some(b'?') if mode != 2 => {
                    if last == b'l' {
                        // If the program did not enter the alternate screen, the operator's own program may have.
                        if !self.modes.remove(&mode) && ALTERNATE_SCREEN.contains(&mode) {
                            continue;
                        }
                    } else if self.modes.len() < MAX_MODES || self.modes.contains(&mode) {
                        self.modes.insert(mode);
                    } else {
                        continue;
                    }
                    shown.extend_from_slice(format!("\x1b[?{mode}{}", char::from(last)).as_bytes());
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(bytes: &[u8]) -> Vec<u8> {
        Filter::default().pass(bytes)
    }

    /// What is left out, wherever it is split.
    const DROPPED: &[(&str, &[u8])] = &[
        ("clipboard", b"\x1b]52;c;aGVsbG8=\x07"),
        ("clipboard, ended otherwise", b"\x1b]52;c;aGVsbG8=\x1b\\"),
        ("clipboard query", b"\x1b]52;c;?\x1b\\"),
        ("link", b"\x1b]8;;file:///etc/passwd\x1b\\"),
        ("colour query", b"\x1b]11;?\x07"),
        ("palette query", b"\x1b]4;1;?\x1b\\"),
        ("file transfer", b"\x1b]1337;File=name=eA==:AAAA\x07"),
        ("notification", b"\x1b]9;hello\x07"),
        ("title", b"\x1b]0;a title\x07"),
        ("title, ended otherwise", b"\x1b]2;a title\x1b\\"),
        ("name of the icon", b"\x1b]1;a name\x07"),
        ("saved title", b"\x1b[22;0t"),
        ("restored title", b"\x1b[23;0t"),
        ("colour of the background", b"\x1b]11;#000000\x07"),
        ("palette", b"\x1b]4;1;red\x1b\\"),
        ("colours as they were", b"\x1b]104\x07"),
        ("working directory", b"\x1b]7;file:///etc\x07"),
        ("other screen that was not entered", b"\x1b[?1049l"),
        ("title with a control character", b"\x1b]0;a\nb\x07"),
        ("title in broken UTF-8", b"\x1b]0;\x9b6n\x07"),
        ("cursor position", b"\x1b[6n"),
        ("status", b"\x1b[5n"),
        ("private status", b"\x1b[?6n"),
        ("who are you", b"\x1b[c"),
        ("who are you, again", b"\x1b[0c"),
        ("secondary", b"\x1b[>c"),
        ("tertiary", b"\x1b[=0c"),
        ("old identification", b"\x1bZ"),
        ("answerback", b"\x05"),
        ("window title report", b"\x1b[21t"),
        ("window size report", b"\x1b[18t"),
        ("resizing", b"\x1b[8;1;1t"),
        ("version", b"\x1b[>0q"),
        ("mode report", b"\x1b[?2004$p"),
        ("checksum of the screen", b"\x1b[1;1;1;1;5;5*y"),
        ("presentation report", b"\x1b[1$w"),
        ("parameters", b"\x1b[x"),
        ("keyboard query", b"\x1b[?u"),
        ("keyboard protocol", b"\x1b[>1u"),
        ("key modifiers", b"\x1b[>4;2m"),
        ("colours report", b"\x1b[#R"),
        ("locator", b"\x1b[1'|"),
        ("printing", b"\x1b[5i"),
        ("locked keyboard", b"\x1b[2h"),
        ("another language", b"\x1b[?2l"),
        ("eight-bit answers", b"\x1b G"),
        ("other encoding", b"\x1b%@"),
        ("setting report", b"\x1bP$qm\x1b\\"),
        ("capability report", b"\x1bP+q544e\x1b\\"),
        ("keys that type", b"\x1bP0;1|17/6c73\x1b\\"),
        ("wrapped for tmux", b"\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"),
        ("application command", b"\x1b_Gi=1,a=q;AAAA\x1b\\"),
        ("privacy message", b"\x1b^x\x1b\\"),
        ("start of string", b"\x1bXx\x1b\\"),
        ("one-byte control sequence", b"\x9b"),
        ("the same in two bytes", b"\xc2\x9b"),
        ("the same, longer than needed", b"\xc0\x9b"),
        ("the same, longer still", b"\xe0\x82\x9b"),
        ("a parameter of another kind inside", b"\x1b[6;?n"),
        ("interrupted query", b"\x1b[6\x00n"),
        ("cancelled", b"\x1b[3\x18"),
    ];

    /// What passes as it is.
    const PASSED: &[&[u8]] = &[
        b"plain text\r\n\ttab\x08\x07",
        "grüße, 世界 🌸 e\u{301}".as_bytes(),
        b"\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3m\x1b[4:3m",
        b"\x1b[H\x1b[2J\x1b[10;20H\x1b[K\x1b[5A\x1b[1;24r\x1b[3L\x1b[2M\x1b[4P",
        b"\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[?1006h\x1b[?1049l",
        b"\x1b7\x1b8\x1bM\x1b(0lqqk\x1b(B\x1b=\x1b>\x1bc\x1b#8",
        b"\x1b[2 q\x1b[!p\x1b[4h",
    ];

    #[test]
    fn nothing_that_asks_or_remembers_passes_wherever_it_is_split() {
        for (what, sequence) in DROPPED {
            let whole = [b"before ", *sequence, b" after"].concat();
            assert_eq!(pass(&whole), b"before  after", "{what}");
            for at in 0..=whole.len() {
                let mut filter = Filter::default();
                let shown = [filter.pass(&whole[..at]), filter.pass(&whole[at..])].concat();
                assert_eq!(shown, b"before  after", "{what}, split at {at}");
            }
        }
    }

    #[test]
    fn what_draws_passes_as_it_is_wherever_it_is_split() {
        for sequence in PASSED {
            for at in 0..=sequence.len() {
                let mut filter = Filter::default();
                let shown = [filter.pass(&sequence[..at]), filter.pass(&sequence[at..])].concat();
                assert_eq!(shown, *sequence, "{:?}, split at {at}", String::from_utf8_lossy(sequence));
            }
        }
    }

    #[test]
    fn modes_that_come_together_are_told_apart() {
        assert_eq!(pass(b"\x1b[?1049h\x1b[?1049;2;25l"), b"\x1b[?1049h\x1b[?1049l\x1b[?25l");
        assert_eq!(pass(b"\x1b[2;4h"), b"\x1b[4h");
    }

    #[test]
    fn a_broken_sequence_hides_no_other_and_a_control_character_acts() {
        assert_eq!(pass(b"\x1b[1\x1b[6nx"), b"x");
        assert_eq!(pass(b"\x1b]0;title\x1b[6nx"), b"x");
        assert_eq!(pass(b"\x1b[1\n0Hx"), b"\n\x1b[10Hx");
        assert_eq!(pass("\x1b[3é".as_bytes()), "é".as_bytes());
        assert_eq!(pass(b"\xe4\xb8\x1b[6nx"), b"x");
    }

    #[test]
    fn nothing_makes_it_remember_much() {
        let mut filter = Filter::default();
        assert_eq!(filter.pass(&[b"\x1b[".to_vec(), vec![b'1'; 1 << 20]].concat()), b"");
        assert_eq!(filter.pass(b"mx"), b"x");
        assert_eq!(filter.pass(&[b"\x1b]0;".to_vec(), vec![b'x'; 1 << 20]].concat()), b"");
        assert!(filter.pending.capacity() < 1 << 14);
        assert_eq!(filter.pass(b"\x07y"), b"y");
        for mode in 100..10_000 {
            filter.pass(format!("\x1b[?{mode}h").as_bytes());
        }
        assert_eq!(filter.modes.len(), MAX_MODES);
    }

    #[test]
    fn what_was_switched_on_is_switched_off() {
        let mut filter = Filter::default();
        filter.pass(b"\x1b[?1049h\x1b[?1000;1006h\x1b[?1000l\x1b]11;red\x07\x1b]52;unfinished");
        let undo = String::from_utf8(filter.undo()).unwrap();
        assert!(undo.starts_with("\x1b[?1006l\x1b[?1049l\x1b7"), "{undo:?}");
        assert!(undo.contains("\x1b[?25h") && !undo.contains("1000"), "{undo:?}");
        assert_eq!(filter.pass(b"x"), b"x");
        assert!(!String::from_utf8(filter.undo()).unwrap().contains("1049"));
    }
}
