//! What an agent's program writes, on its way to the operator's terminal. Whatever makes a terminal answer, remember or do
//! something elsewhere is left out: nothing inside types for the operator, or reads what the terminal knows. Only sequences
//! that are known to draw pass, so that full-screen programs work. The alternate screen is among them: it is left at the
//! latest when the operator detaches. Titles and colours of the operator's window stay as they are.

use std::collections::BTreeSet;

/// Longer control sequences have no meaning.
const MOST_SEQUENCE: usize = 256;
/// More modes than there are.
const MOST_MODES: usize = 64;
/// The alternate screen, in the ways that terminals know.
const ALTERNATE: [u16; 3] = [47, 1047, 1049];

#[derive(Default)]
pub(super) struct Filter {
    state: State,
    /// Of a sequence, a string or a character that is not complete yet.
    pending: Vec<u8>,
    /// That were switched on, to be switched off again.
    modes: BTreeSet<u16>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// In a character of so many bytes.
    Character(usize),
    /// After `ESC`, and what follows it up to the last byte.
    Escape,
    /// After `ESC [`.
    Control,
    /// After `ESC ]`: titles, colours, the clipboard, links, files, notifications. All of them are left out.
    Command,
    /// In another string that is left out whatever it says.
    Ignored,
    /// After `ESC` in a string, which it ends.
    Closing,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CANCEL: [u8; 2] = [0x18, 0x1a];

impl Filter {
    /// What of it may be shown; the rest of an unfinished sequence comes with its end.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.byte(*byte, &mut shown);
        }
        shown
    }

    /// What makes the terminal as it was before, as far as what was shown has changed it.
    pub(super) fn undo(&mut self) -> Vec<u8> {
        self.begin(State::Ground);
        let mut undo = String::new();
        for mode in std::mem::take(&mut self.modes) {
            undo.push_str(&format!("\x1b[?{mode}l"));
        }
        // The whole screen scrolls, in ordinary letters, without colours, overwriting; lines wrap, the cursor is seen, and
        // keys send what they always do.
        undo.push_str("\x1b7\x1b[r\x1b8\x0f\x1b(B\x1b[0m\x1b[4l\x1b[?7h\x1b[?25h\x1b>");
        undo.into_bytes()
    }

    fn byte(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match self.state {
            State::Ground => self.ground(byte, shown),
            State::Character(length) => self.character(byte, length, shown),
            State::Escape | State::Control if byte < 0x20 => self.interrupted(byte, shown),
            State::Escape => self.escape(byte, shown),
            State::Control => self.control(byte, shown),
            State::Command | State::Ignored => self.string(byte),
            State::Closing if byte == b'\\' => self.begin(State::Ground),
            // The string was broken off by another sequence.
            State::Closing => {
                self.begin(State::Escape);
                self.byte(byte, shown);
            }
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.pending.clear();
    }

    fn ground(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match byte {
            ESC => self.begin(State::Escape),
            // The bell, and what moves the cursor or switches between two sets of letters.
            0x07..=0x0f | 0x20..=0x7e => shown.push(byte),
            // Among these the one that asks a terminal who it is.
            0x00..=0x1f | 0x7f => {}
            0xc2..=0xdf => self.first_of(byte, 2),
            0xe0..=0xef => self.first_of(byte, 3),
            0xf0..=0xf4 => self.first_of(byte, 4),
            // Alone these are no characters, but control sequences in one byte for some terminals.
            0x80..=0xc1 | 0xf5..=0xff => {}
        }
    }

    fn first_of(&mut self, byte: u8, length: usize) {
        self.begin(State::Character(length));
        self.pending.push(byte);
    }

    fn character(&mut self, byte: u8, length: usize, shown: &mut Vec<u8>) {
        if !(0x80..=0xbf).contains(&byte) {
            self.begin(State::Ground);
            return self.ground(byte, shown);
        }
        self.pending.push(byte);
        if self.pending.len() == length {
            // Control characters can be written in two bytes, too.
            if std::str::from_utf8(&self.pending).is_ok_and(|text| !text.contains(char::is_control)) {
                shown.extend_from_slice(&self.pending);
            }
            self.begin(State::Ground);
        }
    }

    /// A control character inside of a sequence acts at once.
    fn interrupted(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match byte {
            ESC => self.begin(State::Escape),
            _ if CANCEL.contains(&byte) => self.begin(State::Ground),
            0x07..=0x0f => shown.push(byte),
            _ => {}
        }
    }

    fn escape(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match (self.pending.as_slice(), byte) {
            ([], b'[') => self.begin(State::Control),
            ([], b']') => self.begin(State::Command),
            ([], b'P' | b'X' | b'^' | b'_') => self.begin(State::Ignored),
            (pending, 0x20..=0x2f) if pending.len() < 2 => self.pending.push(byte),
            (pending, 0x30..=0x7e) => {
                let draws = match pending {
                    [] => b"78DEHMc=>".contains(&byte),
                    // Sets of letters.
                    [b'(' | b')' | b'*' | b'+'] => true,
                    // Lines of double size, and the pattern to adjust a screen by.
                    [b'#'] => b"34568".contains(&byte),
                    _ => false,
                };
                if draws {
                    shown.push(ESC);
                    shown.extend_from_slice(pending);
                    shown.push(byte);
                }
                self.begin(State::Ground);
            }
            (_, 0x7f) => {}
            _ => {
                self.begin(State::Ground);
                if byte >= 0x80 {
                    self.ground(byte, shown);
                }
            }
        }
    }

    fn control(&mut self, byte: u8, shown: &mut Vec<u8>) {
        match byte {
            0x20..=0x3f => {
                // One byte more than allowed is kept, by which it is known to be too long.
                if self.pending.len() <= MOST_SEQUENCE {
                    self.pending.push(byte);
                }
            }
            0x40..=0x7e => {
                let pending = std::mem::take(&mut self.pending);
                self.begin(State::Ground);
                if pending.len() <= MOST_SEQUENCE {
                    self.finish_control(&pending, byte, shown);
                }
            }
            0x7f => {}
            _ => {
                self.begin(State::Ground);
                self.ground(byte, shown);
            }
        }
    }

    fn finish_control(&mut self, pending: &[u8], last: u8, shown: &mut Vec<u8>) {
        let numbers = pending.iter().position(|byte| *byte < 0x30).unwrap_or(pending.len());
        let (numbers, between) = pending.split_at(numbers);
        // `<`, `=`, `>` or `?` in front, and nowhere else.
        let private = numbers.first().copied().filter(|byte| *byte >= 0x3c);
        let plain = if private.is_some() { &numbers[1..] } else { numbers };
        if plain.iter().any(|byte| *byte >= 0x3c) || between.iter().any(|byte| *byte >= 0x30) {
            return;
        }
        let passes = match (private, between, last) {
            (_, [], b'h' | b'l') => return self.modes(private, plain, last, shown),
            (None, [], last) => b"@ABCDEFGHIJKLMPSTXZ`abdefgmrsu".contains(&last),
            (Some(b'?'), [], last) => b"JKrs".contains(&last),
            // The shape of the cursor, a soft reset, protected letters.
            (None, [b' ' | b'"'], b'q') | (None, [b'!'], b'p') => true,
            // Columns and rectangles.
            (None, [b' '], b'@' | b'A') | (None, [b'\''], b'}' | b'~') => true,
            (None, [b'$'], b'r' | b't' | b'v' | b'x' | b'z' | b'{') => true,
            _ => false,
        };
        if passes {
            shown.extend_from_slice(b"\x1b[");
            shown.extend_from_slice(pending);
            shown.push(last);
        }
    }

    /// Of the ANSI modes only inserting: others lock the keyboard. Of the private ones all but the one that makes a terminal
    /// speak another language.
    fn modes(&mut self, private: Option<u8>, numbers: &[u8], last: u8, shown: &mut Vec<u8>) {
        let numbers = std::str::from_utf8(numbers).unwrap_or_default().split(';');
        for mode in numbers.filter_map(|number| number.parse::<u16>().ok()) {
            match private {
                None if mode == 4 => shown.extend_from_slice(&[ESC, b'[', b'4', last]),
                Some(b'?') if mode != 2 => {
                    if last == b'l' {
                        // A screen that was not entered here may be the operator's own.
                        if !self.modes.remove(&mode) && ALTERNATE.contains(&mode) {
                            continue;
                        }
                    } else if self.modes.len() < MOST_MODES || self.modes.contains(&mode) {
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

    fn string(&mut self, byte: u8) {
        match byte {
            ESC => self.state = State::Closing,
            BEL if self.state == State::Command => self.begin(State::Ground),
            _ if CANCEL.contains(&byte) => self.begin(State::Ground),
            _ => {}
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
        assert_eq!(filter.modes.len(), MOST_MODES);
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
