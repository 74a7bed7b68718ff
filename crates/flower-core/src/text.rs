//! Checks of texts that people and agents write: allowed characters and lengths. A refusal names the character and its
//! position.

use crate::refusal::Refusal;

pub const TITLE_CHARS: usize = 200;
/// Maximum bytes of a spec: more than an agent's context holds. A longer text belongs into files of the repository.
pub const SPEC_BYTES: usize = 1024 * 1024;
pub const NOTE_BYTES: usize = 64 * 1024;
const NAME_CHARS: usize = 64;

/// A title: one line, 1 to 200 characters.
pub fn title(raw: &str) -> Result<String, Refusal> {
    line("title", raw, TITLE_CHARS)
}

/// One line without control or bidirectional characters, white space trimmed at both ends.
pub fn line(what: &'static str, raw: &str, most: usize) -> Result<String, Refusal> {
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return Err(Refusal::EmptyText { what });
    }
    let chars = trimmed.chars().count();
    if chars > most {
        return Err(Refusal::TooLong { what, size: chars, most, unit: "characters" });
    }
    readable(what, trimmed, |_| false)?;
    Ok(trimmed.to_owned())
}

/// Makes one line of at most `most` characters out of foreign output, such as that of git.
pub fn cut(raw: &str, most: usize) -> String {
    let plain: String = raw.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.chars().count() <= most {
        return plain;
    }
    plain.chars().take(most - 1).chain(['…']).collect()
}

/// The first `most` bytes of a foreign text with several lines, without hidden characters.
pub fn head(raw: &str, most: usize) -> String {
    let clean = printable(raw);
    let end = (0..=most.min(clean.len())).rev().find(|&at| clean.is_char_boundary(at)).unwrap_or(0);
    clean[..end].trim_end().to_owned()
}

/// The last `most` bytes of a foreign text with several lines, without hidden characters.
pub fn tail(raw: &str, most: usize) -> String {
    let clean = printable(raw);
    let from = clean.len().saturating_sub(most);
    let start = (from..clean.len()).find(|&at| clean.is_char_boundary(at)).unwrap_or(clean.len());
    clean[start..].trim().to_owned()
}

fn printable(raw: &str) -> String {
    let kept = raw.chars().filter(|&c| c == '\n' || c == '\t' || !(c.is_control() || is_bidi_control(c)));
    kept.collect()
}

/// Checks Markdown: line breaks and tabs are allowed, Windows line ends become plain ones.
pub fn markdown(what: &'static str, raw: &str, most: usize) -> Result<String, Refusal> {
    if raw.trim().is_empty() {
        return Err(Refusal::EmptyText { what });
    }
    if raw.len() > most {
        return Err(Refusal::TooLong { what, size: raw.len(), most, unit: "bytes" });
    }
    let unix = raw.replace("\r\n", "\n");
    readable(what, &unix, |c| c == '\n' || c == '\t')?;
    Ok(unix)
}

/// Checks the name of an agent, an operator or a project: letters, digits and `. _ - :`, so that it is safe in every
/// context.
pub fn name(what: &'static str, raw: &str) -> Result<String, Refusal> {
    let name = line(what, raw, NAME_CHARS)?;
    let fits = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-:".contains(c));
    if fits && !name.starts_with(['-', '.']) { Ok(name) } else { Err(Refusal::BadName { what, name }) }
}

fn readable(what: &'static str, text: &str, allowed: impl Fn(char) -> bool) -> Result<(), Refusal> {
    let (mut line, mut column) = (1, 0);
    for c in text.chars() {
        column += 1;
        if (c.is_control() || is_bidi_control(c)) && !allowed(c) {
            return Err(Refusal::Unreadable { what, code_point: c as u32, line, column });
        }
        if c == '\n' {
            (line, column) = (line + 1, 0);
        }
    }
    Ok(())
}

/// Makes one line of at most `most` characters in which every hidden character is visible, such as `\u{200B}`.
pub fn visible(raw: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut left = most;
    for c in raw.chars() {
        let escaped = if is_hidden(c) { escape(c) } else { c.to_string() };
        let chars = escaped.chars().count();
        if chars >= left {
            shown.push('…');
            break;
        }
        left -= chars;
        shown.push_str(&escaped);
    }
    shown
}

/// The visible spelling of a hidden character.
pub fn escape(c: char) -> String {
    format!("\\u{{{:04X}}}", c as u32)
}

/// Whether a character shows nothing, or changes how others are shown: controls, marks of direction, zero widths,
/// fillers, selectors and tags.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || is_bidi_control(c)
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character changes the order in which a line is shown, so that it reads as something else.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_readable_line() {
        assert_eq!(title("  Grüße, 世界 🌱 ").unwrap(), "Grüße, 世界 🌱");
        assert_eq!(title(&"x".repeat(TITLE_CHARS)).unwrap().len(), TITLE_CHARS);
        for bad in ["", "   ", "a\nb", "a\u{1b}[31m", "a\u{202e}b", "nul\0"] {
            assert!(title(bad).is_err(), "{bad:?}");
        }
        assert!(title(&"x".repeat(10_000)).is_err());
    }

    #[test]
    fn a_refusal_says_where_the_character_stands() {
        let refusal = markdown("spec", "fine\nnot\u{202e}fine", SPEC_BYTES).unwrap_err();
        assert_eq!(refusal, Refusal::Unreadable { what: "spec", code_point: 0x202e, line: 2, column: 4 });
    }

    #[test]
    fn markdown_is_bounded_and_keeps_its_line_breaks() {
        assert_eq!(markdown("spec", "a\r\n\tb\n", SPEC_BYTES).unwrap(), "a\n\tb\n");
        assert!(markdown("spec", &"x".repeat(5_000_000), SPEC_BYTES).is_err());
        assert!(markdown("spec", " \n", SPEC_BYTES).is_err());
    }

    #[test]
    fn what_hides_is_made_visible() {
        assert_eq!(visible("Grüße, 世界 🌱", 40), "Grüße, 世界 🌱");
        assert_eq!(visible("a\u{200b}b\u{e0041}\u{1b}[1m\n", 60), "a\\u{200B}b\\u{E0041}\\u{001B}[1m\\u{000A}");
        assert_eq!(visible(&"x".repeat(100), 10), format!("{}…", "x".repeat(9)));
        for c in
            ['\0', '\r', '\u{85}', '\u{ad}', '\u{200d}', '\u{2028}', '\u{202e}', '\u{2064}', '\u{feff}', '\u{e007f}']
        {
            assert!(is_hidden(c), "{c:?}");
        }
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(head("a\r\n\tb\u{1b}[1m\u{202e} \n", 99), "a\n\tb[1m");
        assert_eq!(tail(" \na\r\n\tb\u{1b}[1m\u{202e}\n", 99), "a\n\tb[1m");
        for most in 0..9 {
            let whole = most / 3 * 3;
            assert_eq!(head("世界世", most), &"世界世"[..whole], "{most}");
            assert_eq!(tail("世界世", most), &"世界世"[9 - whole..], "{most}");
        }
        assert_eq!((head("", 4), tail("", 4)), (String::new(), String::new()));
    }

    #[test]
    fn names_are_plain() {
        assert_eq!(name("agent", "operator:mike").unwrap(), "operator:mike");
        for bad in ["-x", ".git", "a b", "a/b", "ä", "..", &"x".repeat(65)] {
            assert!(name("agent", bad).is_err(), "{bad:?}");
        }
    }
}
