//! Quotes texts by other authors in a form that cannot hide content or look like flower's own words.

use super::Origin;
use crate::actor::ActorType;
use crate::text;

/// Quotes a name, a title or a label: one line between backquotes, of at most `most` bytes.
pub fn inline(raw: &str, most: usize) -> String {
    let mut shown = String::from("`");
    for c in raw.chars() {
        let before = shown.len();
        match c {
            '`' => shown.push('\''),
            '\n' | '\t' => shown.push(' '),
            c => push(&mut shown, c),
        }
        // The mark of the cut and the last backquote take 4 bytes.
        if shown.len() + 4 > most {
            shown.truncate(before);
            shown.push('…');
            break;
        }
    }
    shown.push('`');
    shown
}

/// Quotes several names; those that do not fit are counted.
pub(super) fn inlines(all: &[String], most: usize) -> String {
    let mut shown = String::new();
    for (n, one) in all.iter().enumerate() {
        let one = inline(one, most.min(NAME_BYTES));
        if n > 0 && shown.len() + one.len() + 2 > most {
            return format!("{shown} and {} more", all.len() - n);
        }
        if n > 0 {
            shown.push_str(", ");
        }
        shown.push_str(&one);
    }
    shown
}

/// Maximum bytes of one name in a list.
pub(super) const NAME_BYTES: usize = 100;

/// The author and the time, such as: operator `ada`, 2026-11-16T10:00:00Z
pub(super) fn origin(origin: &Origin) -> String {
    let at: String = origin.at.chars().filter(|c| c.is_ascii_digit() || "-+:.TZ".contains(*c)).take(32).collect();
    match origin.by.sort {
        ActorType::System => format!("flower, {at}"),
        sort => format!("{sort} {}, {at}", inline(&origin.by.name, NAME_BYTES)),
    }
}

/// Quotes the beginning of a text in at most `most` bytes, and returns how many bytes of the text are quoted. The text
/// is cut between two lines, or inside a line if that would waste more than half of the room.
pub fn block(text: &str, most: usize) -> (String, usize) {
    // A quotation is never shorter than its text, so the rest of the text need not be read.
    let mut end = text.len().min(most.saturating_add(MAX_CHAR_BYTES));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut quoted = String::new();
    let mut taken = 0;
    for line in text[..end].split_inclusive('\n') {
        let start = quoted.len();
        let content = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        quoted.push_str(if content.is_empty() { ">" } else { "> " });
        for (at, c) in content.char_indices() {
            let before = quoted.len();
            match c {
                '\t' => quoted.push(c),
                c => push(&mut quoted, c),
            }
            if quoted.len() + 1 > most {
                if start > most / 2 || before == start + 2 {
                    quoted.truncate(start);
                    return (quoted, taken);
                }
                quoted.truncate(before);
                quoted.push('\n');
                return (quoted, taken + at);
            }
        }
        quoted.push('\n');
        if quoted.len() > most {
            quoted.truncate(start);
            return (quoted, taken);
        }
        taken += line.len();
    }
    (quoted, taken)
}

const MAX_CHAR_BYTES: usize = 4;

fn push(shown: &mut String, c: char) {
    if text::is_hidden(c) { shown.push_str(&text::escape(c)) } else { shown.push(c) }
}

/// A number with separators, such as `3,200`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::Actor;
    use proptest::prelude::*;

    #[test]
    fn inline_text_is_one_line_between_backquotes() {
        assert_eq!(inline("Dark mode", 100), "`Dark mode`");
        assert_eq!(inline("a`b\n## Next\u{200b}\r", 100), "`a'b ## Next\\u{200B}\\u{000D}`");
        assert_eq!(inline(&"ü".repeat(100), 24), format!("`{}…`", "ü".repeat(9)));
        assert_eq!(inlines(&["a".into(), "b".into()], 100), "`a`, `b`");
        assert_eq!(inlines(&vec!["name".to_owned(); 30], 30), "`name`, `name`, `name`, `name` and 26 more");
    }

    #[test]
    fn every_line_of_a_block_is_quoted_and_shows_what_it_has() {
        let text = "one\r\n\n## Next\rtwo\u{2028}## Next\u{85}\u{b}\u{1b}[2J\u{e0041}\t.";
        let shown = "> one\n>\n> ## Next\\u{000D}two\\u{2028}## Next\\u{0085}\\u{000B}\\u{001B}[2J\\u{E0041}\t.\n";
        assert_eq!(block(text, 1_000), (shown.to_owned(), text.len()));
        assert_eq!(block("", 1_000), (String::new(), 0));
        assert_eq!(block("all of it", usize::MAX), ("> all of it\n".to_owned(), 9));
    }

    #[test]
    fn a_block_is_cut_between_lines_or_inside_a_very_long_one() {
        assert_eq!(block("one\ntwo\nthree\n", 14), ("> one\n> two\n".to_owned(), 8));
        assert_eq!(block(&"x".repeat(1_000_000), 10), ("> xxxxxxx\n".to_owned(), 7));
        assert_eq!(block(&format!("a\n{}", "x".repeat(99)), 20), (format!("> a\n> {}\n", "x".repeat(13)), 15));
    }

    #[test]
    fn flower_is_told_from_an_agent_of_that_name() {
        let at = "2026-11-16T10:00:00Z\n".to_owned();
        let agent = Actor { sort: ActorType::Agent, name: "flower".into() };
        assert_eq!(origin(&Origin { by: Actor::system(), at: at.clone() }), "flower, 2026-11-16T10:00:00Z");
        assert_eq!(origin(&Origin { by: agent, at }), "agent `flower`, 2026-11-16T10:00:00Z");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    proptest! {
        #[test]
        fn no_text_is_longer_than_its_place(text in "(?s).{0,80}|[\r\n]{0,80}", most in 24_usize..120) {
            prop_assert!(inline(&text, most).len() <= most);
            let (quoted, taken) = block(&text, most);
            prop_assert!(quoted.len() <= most && text.is_char_boundary(taken));
            prop_assert!(taken == text.len() || quoted.len() + 20 > most / 2);
            for line in quoted.split(|c: char| c == '\n' || "\r\u{85}\u{b}\u{c}\u{2028}\u{2029}".contains(c)) {
                prop_assert!(line.is_empty() || line.starts_with('>'), "{:?}", quoted);
            }
        }
    }
}
