//! Masks secrets in the output of agents, before it is shown or stored.

use super::secret_patterns::{self, Class, PATTERNS};
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

const REPLACEMENT: &str = "[masked]";

/// Shorter values occur by chance.
pub(crate) const MIN_SECRET: usize = 8;

/// So many first bytes of a secret make a text suspicious.
const MIN_BEGUN: usize = 4;

/// Finds secrets by their values, and others by patterns.
#[derive(Clone)]
pub struct Mask {
    /// Its first patterns are the prefixes of [`PATTERNS`], the others are values.
    finder: Option<Arc<AhoCorasick>>,
    /// The same patterns.
    patterns: Arc<[Vec<u8>]>,
    /// The number of bytes that suffice to recognize a secret.
    reach: usize,
}

impl Mask {
    pub fn new(values: impl IntoIterator<Item = String>) -> Mask {
        let mut forms = BTreeSet::new();
        for value in values {
            add_forms(value.trim(), &mut forms);
        }
        let mut reach = PATTERNS.iter().map(|known| known.prefix.len() + known.min_length).max().unwrap_or(1);
        let mut patterns: Vec<Vec<u8>> = PATTERNS.iter().map(|known| known.prefix.as_bytes().to_vec()).collect();
        for form in forms {
            reach = reach.max(form.len());
            patterns.push(form);
        }
        // Fails only with too many patterns for the memory; then all text is masked.
        let finder = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&patterns).ok().map(Arc::new);
        Mask { finder, patterns: patterns.into(), reach }
    }

    /// Masks these values, and all possible secrets in the text of a credentials file.
    pub fn of_credentials(values: impl IntoIterator<Item = String>, text: &str) -> Mask {
        Mask::new(values.into_iter().chain(secret_patterns::in_credentials(text)))
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let found = self.find(bytes, None);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for hit in found {
            out.extend_from_slice(&bytes[at..hit.range.start]);
            out.extend_from_slice(REPLACEMENT.as_bytes());
            at = hit.range.end;
        }
        out.extend_from_slice(&bytes[at..]);
        Cow::Owned(out)
    }

    /// The number of bytes before a text that decide whether a secret continues in it.
    pub fn reach(&self) -> usize {
        self.reach
    }

    /// Masks a text that follows another one; of a secret that began there, the rest.
    pub fn continued<'a>(&self, before: &str, text: &'a str) -> Cow<'a, str> {
        let whole = [before, text].concat();
        let crossing = self.find(whole.as_bytes(), None).into_iter().map(|hit| hit.range);
        let crossing = crossing.filter(|range| range.start < before.len() && range.end > before.len());
        match crossing.map(|range| range.end - before.len()).max() {
            None => self.text(text),
            Some(end) => Cow::Owned(format!("{REPLACEMENT}{}", self.text(text.get(end..).unwrap_or_default()))),
        }
    }

    /// Whether the end of a text looks like the beginning of a secret. Fewer than `MIN_BEGUN` bytes prove nothing.
    pub fn may_continue(&self, text: &str) -> bool {
        let tail = &text.as_bytes()[text.len().saturating_sub(self.reach)..];
        let begins = |pattern: &Vec<u8>| {
            (MIN_BEGUN..pattern.len().min(tail.len() + 1)).any(|length| tail.ends_with(&pattern[..length]))
        };
        // A secret of a known form goes on as long as its characters do.
        let runs_on = |(at, known): (usize, &secret_patterns::SecretPattern)| {
            let rest = &tail[at + known.prefix.len()..];
            known.class.length(rest) == rest.len()
        };
        let prefixes = PATTERNS.iter().flat_map(|known| {
            let prefix = known.prefix.as_bytes();
            tail.windows(prefix.len())
                .enumerate()
                .filter(move |(_, part)| *part == prefix)
                .map(move |(at, _)| (at, known))
        });
        self.patterns.iter().any(begins) || prefixes.into_iter().any(runs_on)
    }

    /// Masks bytes that arrive in pieces.
    pub fn stream(&self) -> MaskStream {
        MaskStream { mask: self.clone(), buffer: Vec::new(), done: 0, before: None, marked: false, run: Vec::new() }
    }

    /// The secrets in `bytes`, in order and without overlaps.
    fn find(&self, bytes: &[u8], before: Option<u8>) -> Vec<Match> {
        let Some(finder) = &self.finder else {
            return if bytes.is_empty() { Vec::new() } else { vec![Match { range: 0..bytes.len(), run: Vec::new() }] };
        };
        let mut hits: Vec<Match> = Vec::new();
        // The end of the last run per class: a run is scanned once, also with many prefixes in it. Otherwise the time would grow
        // with the square of the length.
        let mut looked = [0; Class::COUNT];
        for found in finder.find_overlapping_iter(bytes) {
            let Some(known) = PATTERNS.get(found.pattern().as_usize()) else {
                hits.push(Match { range: found.range(), run: Vec::new() });
                continue;
            };
            let previous = found.start().checked_sub(1).map_or(before, |at| bytes.get(at).copied());
            let looked = &mut looked[known.class as usize];
            if found.end() < *looked || (known.word && previous.is_some_and(|byte| byte.is_ascii_alphanumeric())) {
                continue;
            }
            let end = found.end() + known.class.length(&bytes[found.end()..]);
            if end - found.end() >= known.min_length {
                *looked = end;
                let start = if known.keep { found.end() } else { found.start() };
                hits.push(Match {
                    range: start..end,
                    run: Vec::from_iter((end == bytes.len()).then_some(known.class)),
                });
            }
        }
        merged(hits)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

struct Match {
    range: Range<usize>,
    /// Classes of which further bytes still belong to the secret.
    run: Vec<Class>,
}

fn merged(mut hits: Vec<Match>) -> Vec<Match> {
    hits.sort_by_key(|hit| (hit.range.start, hit.range.end));
    let mut all: Vec<Match> = Vec::new();
    for hit in hits {
        match all.last_mut().filter(|last| hit.range.start <= last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(hit.range.end);
                last.run.extend(hit.run);
            }
            None => all.push(hit),
        }
    }
    all
}

/// Keeps back the bytes that could still become part of a secret.
#[derive(Debug)]
pub struct MaskStream {
    mask: Mask,
    buffer: Vec<u8>,
    /// How many bytes of `buffer` were emitted or masked. They are kept because a secret may begin in them.
    done: usize,
    /// The byte before `buffer`.
    before: Option<u8>,
    /// The last output was the replacement.
    marked: bool,
    run: Vec<Class>,
}

impl MaskStream {
    pub fn push(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.buffer.extend_from_slice(chunk);
        self.emit(self.buffer.len().saturating_sub(self.mask.reach - 1))
    }

    /// Emits the rest, and resets the stream.
    pub fn flush(&mut self) -> Vec<u8> {
        let out = self.emit(self.buffer.len());
        *self = self.mask.stream();
        out
    }

    /// Emits the bytes before `limit`, with secrets replaced.
    fn emit(&mut self, limit: usize) -> Vec<u8> {
        let mut hits = self.mask.find(&self.buffer, self.before);
        for class in std::mem::take(&mut self.run) {
            let end = self.done + class.length(&self.buffer[self.done..]);
            hits.push(Match {
                range: self.done..end,
                run: Vec::from_iter((end == self.buffer.len()).then_some(class)),
            });
        }
        let hits = merged(hits);
        let mut out = Vec::new();
        for hit in hits {
            if hit.range.start >= limit.max(self.done + 1) {
                break;
            }
            if hit.range.end <= self.done {
                self.run.extend(hit.run);
                continue;
            }
            if hit.range.start > self.done {
                out.extend_from_slice(&self.buffer[self.done..hit.range.start]);
                self.marked = false;
            }
            if !self.marked {
                out.extend_from_slice(REPLACEMENT.as_bytes());
            }
            (self.marked, self.done, self.run) = (true, hit.range.end, hit.run);
        }
        if limit > self.done {
            out.extend_from_slice(&self.buffer[self.done..limit]);
            (self.marked, self.done) = (false, limit);
            self.run.clear();
        }
        self.run.sort_unstable();
        self.run.dedup();
        // Emitted bytes are kept while a secret that begins in them could extend into the rest.
        let old = self.done.saturating_sub(self.mask.reach);
        if old > 0 {
            self.before = self.buffer.get(old - 1).copied();
            self.buffer.drain(..old);
            self.done -= old;
        }
        out
    }
}

/// Adds the encodings in which a value can occur.
fn add_forms(value: &str, forms: &mut BTreeSet<Vec<u8>>) {
    if value.len() < MIN_SECRET || value == REPLACEMENT {
        return;
    }
    let json = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = json(value);
    let slashes = once.replace('/', "\\/");
    let url = |hex: fn(u8) -> String| -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        value.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { hex(byte) }).collect()
    };
    let upper = url(|byte| format!("%{byte:02X}"));
    let plus = upper.replace("%20", "+");
    let lower = url(|byte| format!("%{byte:02x}"));
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    forms.insert(value.as_bytes().to_vec());
    forms.extend([json(&once), once, slashes, upper, plus, lower, hex.to_uppercase(), hex].map(String::into_bytes));
    for shift in 0..3 {
        // Inside of a longer base64 text the value can begin at three offsets. Its first and last bits then share a character
        // with other bytes, so only the characters between are searched.
        let shifted = [&[0; 3][..shift], value.as_bytes()].concat();
        let whole = (shift * 8).div_ceil(6)..shifted.len() * 8 / 6;
        for encoded in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            forms.extend(encoded.get(whole.clone()).map(|inner| inner.as_bytes().to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mask(values: &[&str]) -> Mask {
        Mask::new(values.iter().map(|value| (*value).to_owned()))
    }

    fn streamed(mask: &Mask, bytes: &[u8], sizes: &[usize]) -> Vec<u8> {
        let mut stream = mask.stream();
        let (mut out, mut rest) = (Vec::new(), bytes);
        for size in sizes.iter().copied().cycle().take(bytes.len() + 1) {
            let (chunk, later) = rest.split_at(size.min(rest.len()));
            out.extend(stream.push(chunk));
            rest = later;
        }
        out.extend(stream.push(rest));
        out.extend(stream.flush());
        out
    }

    #[test]
    fn every_form_of_a_value_is_masked() {
        let secret = "p\"ss/wörd ÿ+1";
        let mask = mask(&[secret]);
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("me:{secret}"));
        let json = serde_json::json!({ "key": secret }).to_string();
        let nested = serde_json::json!({ "text": json }).to_string();
        for (text, gone) in [
            (format!("a {secret} b"), secret.to_owned()),
            (json, "ss/w".to_owned()),
            (nested, "ss/w".to_owned()),
            ("x=p%22ss%2Fw%C3%B6rd%20%C3%BF%2B1&y".to_owned(), "ss%2Fw".to_owned()),
            ("x=p%22ss%2fw%c3%b6rd%20%c3%bf%2b1&y".to_owned(), "ss%2fw".to_owned()),
            ("x=p%22ss%2Fw%C3%B6rd+%C3%BF%2B1&y".to_owned(), "ss%2Fw".to_owned()),
            (format!("Authorization: Basic {basic}"), basic[6..basic.len() - 6].to_owned()),
        ] {
            let masked = mask.text(&text);
            assert!(!masked.contains(&gone) && masked.contains(REPLACEMENT), "{text} → {masked}");
        }
        assert_eq!(mask.text(&format!("a {secret} b")), "a [masked] b");
        assert!(matches!(mask.text("nothing of it"), Cow::Borrowed(_)));
        assert!(matches!(mask.bytes(b"\xff\xfe"), Cow::Borrowed(_)));
    }

    #[test]
    fn overlapping_values_leave_nothing_behind() {
        let mask = mask(&["xxxxYYYYYYYY", "YYYYYYYYzzzz", "YYYYYYYY", "short"]);
        assert_eq!(mask.text("a xxxxYYYYYYYYzzzz short"), "a [masked] short");
        assert_eq!(mask.text("YYYYYYYYYYYYYYYYYYYYYYYY."), "[masked].");
    }

    #[test]
    fn known_forms_are_masked_without_a_value() {
        let mask = mask(&[]);
        let hex = "0123456789abcdef".repeat(4);
        for (text, shown) in [
            (format!("sk-ant-api03-{}", "aB3_-".repeat(10)), REPLACEMENT.to_owned()),
            (format!("x ghp_{}.", "a1B2".repeat(9)), format!("x {REPLACEMENT}.")),
            (format!("AKIA{} ", "ABCD2345".repeat(2)), format!("{REPLACEMENT} ")),
            (format!("Authorization: Bearer {hex}\n"), format!("Authorization: Bearer {REPLACEMENT}\n")),
            (format!("FLOWER_TOKEN={hex}"), format!("FLOWER_TOKEN={REPLACEMENT}")),
            (format!("\"FLOWER_TOKEN\":\"{hex}\""), format!("\"FLOWER_TOKEN\":\"{REPLACEMENT}\"")),
            (format!("sha256 {hex}"), format!("sha256 {hex}")),
            (
                "a task-list-of-many-many-many-words-here".to_owned(),
                "a task-list-of-many-many-many-words-here".to_owned(),
            ),
            (
                format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "MIIE".repeat(30)),
                format!("-----BEGIN RSA PRIVATE KEY-----{REPLACEMENT}-----END RSA PRIVATE KEY-----"),
            ),
        ] {
            assert_eq!(mask.text(&text), shown);
            for size in [1, 2, 7, 64] {
                assert_eq!(String::from_utf8(streamed(&mask, text.as_bytes(), &[size])).unwrap(), shown, "{size}");
            }
        }
    }

    #[test]
    fn a_stream_holds_back_no_more_than_it_must() {
        let mask = mask(&["correct horse battery staple"]);
        let mut stream = mask.stream();
        let out = stream.push(&[b'.'; 10_000]);
        assert!(out.len() + mask.reach >= 10_000);
        for _ in 0..1_000 {
            stream.push(b"sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
            assert!(stream.buffer.len() - stream.done < mask.reach && stream.buffer.len() <= 2 * mask.reach);
        }
        let rest = String::from_utf8(stream.flush()).unwrap();
        assert!(!rest.contains("aaa"), "{rest}");
    }

    #[test]
    fn repeated_prefixes_take_linear_time() {
        let mask = mask(&["aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"]);
        let text = "sk-ant-".repeat(40_000) + &"a".repeat(300_000);
        let start = std::time::Instant::now();
        assert!(mask.text(&text).len() < 100);
        assert!(start.elapsed() < std::time::Duration::from_secs(10));
    }

    proptest! {
        #[test]
        fn nothing_of_a_secret_comes_out_however_it_is_cut(
            secrets in prop::collection::vec("[a-c:/ \"%+]{8,14}", 1..4),
            parts in prop::collection::vec((0_usize..4, "[a-c:/ s\"k-]{0,12}", 0_usize..8, 0_usize..90), 1..12),
            sizes in prop::collection::vec(0_usize..40, 1..6),
        ) {
            let mask = Mask::new(secrets.clone());
            let mut text = String::new();
            for (which, plain, form, length) in parts {
                let secret = secrets[which % secrets.len()].trim();
                text.push_str(&plain);
                text.push_str(&match form {
                    0 => serde_json::json!(secret).to_string(),
                    1 => STANDARD_NO_PAD.encode(secret),
                    2 => format!("Bearer {}", "a/".repeat(length)),
                    3 => format!(" sk-ant-{}", "b-".repeat(length)),
                    4 => format!("PRIVATE KEY-----{}", "c\\n".repeat(length)),
                    _ => secret.to_owned(),
                });
            }
            let whole = mask.text(&text).into_owned();
            let cut = String::from_utf8(streamed(&mask, text.as_bytes(), &sizes)).unwrap();
            prop_assert_eq!(&whole, &cut);
            for secret in secrets.iter().map(|secret| secret.trim()).filter(|secret| secret.len() >= MIN_SECRET) {
                prop_assert!(!whole.contains(secret), "{} in {}", secret, whole);
                let encoded = STANDARD_NO_PAD.encode(secret);
                prop_assert!(!whole.contains(&encoded), "{} in {}", encoded, whole);
            }
        }
    }
}
