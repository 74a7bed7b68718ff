//! Path patterns of leases.
//!
//! A pattern is a relative path with `/`. `*` and `?` match inside one segment, `**` matches any number of whole
//! segments, also none. A pattern that ends in a plain name covers that name and everything below it; one that ends in
//! `/` covers only what is below. All other characters match themselves.

use crate::refusal::Refusal;
use crate::text;

/// Maximum bytes of a pattern. Paths in real repositories are not longer.
const PATTERN_BYTES: usize = 512;
const SEGMENTS: usize = 32;
/// Characters of a refused pattern that the refusal shows; enough to recognize the pattern.
const SHOWN_CHARS: usize = 80;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Any,
    Name(Vec<Piece>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Char(char),
}

impl Pattern {
    pub fn parse(raw: &str) -> Result<Pattern, Refusal> {
        if let Some(why) = flaw(raw) {
            return Err(Refusal::BadPattern { pattern: text::visible(raw, SHOWN_CHARS), why });
        }
        let below = raw.ends_with('/');
        let mut segments: Vec<Segment> = raw.trim_end_matches('/').split('/').map(segment).collect();
        if below {
            segments.extend([Segment::Name(vec![Piece::Any]), Segment::Any]);
        } else if matches!(segments.last(), Some(Segment::Name(name)) if is_plain(name)) {
            segments.push(Segment::Any);
        }
        Ok(Pattern { text: raw.to_owned(), segments })
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the pattern covers this file path, which is relative and has no empty segment.
    pub fn matches(&self, path: &str) -> bool {
        if path.split('/').any(str::is_empty) {
            return false;
        }
        let path: Vec<Segment> =
            path.split('/').map(|name| Segment::Name(name.chars().map(Piece::Char).collect())).collect();
        meet(&self.segments, &path)
    }

    /// Whether a path can exist that both patterns cover.
    pub fn overlaps(&self, other: &Pattern) -> bool {
        meet(&self.segments, &other.segments)
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.text)
    }
}

fn flaw(raw: &str) -> Option<&'static str> {
    if raw.is_empty() {
        return Some("it is empty");
    }
    if raw.len() > PATTERN_BYTES {
        return Some("it is longer than 512 bytes");
    }
    if raw.chars().any(text::is_hidden) {
        return Some("it has characters that cannot be seen");
    }
    if raw.contains('\\') {
        return Some("it has a backslash; segments are parted by `/`");
    }
    if raw.starts_with('/') {
        return Some("it begins with `/`; patterns are relative to the worktree");
    }
    let names = raw.strip_suffix('/').unwrap_or(raw);
    if names.split('/').count() > SEGMENTS {
        return Some("it has more than 32 segments");
    }
    if names.split('/').any(str::is_empty) {
        return Some("it has an empty segment");
    }
    if names.split('/').any(|name| name == "." || name == "..") {
        return Some("it has a segment `.` or `..`");
    }
    if names.split('/').next().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
        return Some("`.git` is git's own");
    }
    None
}

fn segment(raw: &str) -> Segment {
    if raw == "**" {
        return Segment::Any;
    }
    Segment::Name(
        raw.chars()
            .map(|c| match c {
                '*' => Piece::Any,
                '?' => Piece::One,
                c => Piece::Char(c),
            })
            .collect(),
    )
}

fn is_plain(name: &[Piece]) -> bool {
    name.iter().all(|piece| matches!(piece, Piece::Char(_)))
}

/// The common interface of both levels, segments and characters.
trait Part {
    /// Whether this part matches any number of parts.
    fn is_any(&self) -> bool;
    /// Whether one part can match both; called only if neither matches any number of parts.
    fn agrees(&self, other: &Self) -> bool;
}

impl Part for Segment {
    fn is_any(&self) -> bool {
        matches!(self, Segment::Any)
    }

    fn agrees(&self, other: &Segment) -> bool {
        match (self, other) {
            (Segment::Name(a), Segment::Name(b)) => meet(a, b),
            (Segment::Any, _) | (_, Segment::Any) => true,
        }
    }
}

impl Part for Piece {
    fn is_any(&self) -> bool {
        matches!(self, Piece::Any)
    }

    fn agrees(&self, other: &Piece) -> bool {
        match (self, other) {
            (Piece::Char(a), Piece::Char(b)) => a == b,
            (Piece::Any | Piece::One, _) | (_, Piece::Any | Piece::One) => true,
        }
    }
}

/// Whether a sequence exists that both describe. `row[j]` is the answer for the rest of `a` and for `b` from `j` on.
/// Each pair of positions is computed once, from the end, so that no pattern makes the function slow.
fn meet<T: Part>(a: &[T], b: &[T]) -> bool {
    let mut row = vec![false; b.len() + 1];
    row[b.len()] = true;
    for j in (0..b.len()).rev() {
        row[j] = b[j].is_any() && row[j + 1];
    }
    for x in a.iter().rev() {
        let mut diagonal = row[b.len()];
        row[b.len()] = x.is_any() && diagonal;
        for j in (0..b.len()).rev() {
            let below = row[j];
            // A wildcard matches nothing here, or matches one more part of the other side.
            row[j] = if x.is_any() || b[j].is_any() { below || row[j + 1] } else { diagonal && x.agrees(&b[j]) };
            diagonal = below;
        }
    }
    row[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::Config;

    fn pattern(raw: &str) -> Pattern {
        Pattern::parse(raw).unwrap()
    }

    #[test]
    fn a_pattern_covers_what_it_says() {
        for (raw, yes, no) in [
            ("src", &["src", "src/a", "src/a/b.rs"][..], &["srcs", "a/src", "Src", ""][..]),
            ("src/", &["src/a", "src/a/b"], &["src", "srcs/a"]),
            ("src/*", &["src/a", "src/.x"], &["src", "src/a/b"]),
            ("src/*/", &["src/a/b", "src/a/b/c"], &["src/a"]),
            ("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "src/a.rsx", "src/a.rs/b"]),
            ("src/**", &["src", "src/a", "src/a/b"], &["srca"]),
            ("src/**/mod.rs", &["src/mod.rs", "src/a/b/mod.rs"], &["mod.rs", "src/amod.rs"]),
            ("**", &["a", "a/b"], &["", "/", "a//b", "/a"]),
            ("**/*.md", &["a.md", "x/y/a.md"], &["a.md/x", "md"]),
            ("a?c", &["abc", "aüc", "a🌱c"], &["ac", "abbc", "a/c"]),
            ("a**b", &["ab", "axb"], &["a/b"]),
            ("[ab]{c}", &["[ab]{c}", "[ab]{c}/d"], &["a", "ac"]),
            ("crates/*/src", &["crates/x/src", "crates/x/src/lib.rs"], &["crates/src", "crates/x/y/src"]),
            ("a b/ü", &["a b/ü/x"], &["a b/u"]),
        ] {
            let pattern = pattern(raw);
            assert_eq!(pattern.to_string(), raw);
            for path in yes {
                assert!(pattern.matches(path), "`{raw}` covers `{path}`");
            }
            for path in no {
                assert!(!pattern.matches(path), "`{raw}` does not cover `{path}`");
            }
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_a_reason() {
        let long = "x".repeat(513);
        let deep = "a/".repeat(33);
        for (raw, reason) in [
            ("", "empty"),
            ("/", "begins with"),
            ("/etc", "begins with"),
            ("a//b", "empty segment"),
            ("a//", "empty segment"),
            ("../a", "`..`"),
            ("a/..", "`..`"),
            ("./a", "`.`"),
            ("a/./b", "`.`"),
            ("a\\b", "backslash"),
            ("a\0b", "cannot be seen"),
            ("a\nb", "cannot be seen"),
            ("a\u{202e}b", "cannot be seen"),
            ("a\u{200b}b", "cannot be seen"),
            (".git", "git's own"),
            (".GIT/config", "git's own"),
            (".Git/", "git's own"),
            (&long, "512 bytes"),
            (&deep, "32 segments"),
        ] {
            let Err(Refusal::BadPattern { pattern, why }) = Pattern::parse(raw) else { panic!("{raw:?} was taken") };
            assert!(why.contains(reason), "{raw:?}: {why}");
            assert!(pattern.chars().count() <= SHOWN_CHARS && !pattern.chars().any(text::is_hidden), "{pattern:?}");
        }
        for fine in ["**", "**/", "a/", ".gitignore", "a/.git", "...", &"x".repeat(512), &"a/".repeat(32)] {
            assert!(Pattern::parse(fine).is_ok(), "{fine}");
        }
    }

    #[test]
    fn patterns_overlap_where_a_path_can_be_both() {
        for (a, b, both) in [
            ("src", "src/a.rs", true),
            ("src/", "src", true),
            ("src/*.rs", "src/*.md", false),
            ("src/a*", "src/*b", true),
            ("src/**/x", "src/y", true),
            ("src/*", "src/y/z", false),
            ("docs", "src", false),
            ("**", "a/b/c", true),
            ("**/x", "y/**", true),
            ("a/*/c", "a/b/?", true),
            ("a?", "a", false),
            ("ä*", "?b", true),
        ] {
            assert_eq!(pattern(a).overlaps(&pattern(b)), both, "{a} {b}");
            assert_eq!(pattern(b).overlaps(&pattern(a)), both, "{b} {a}");
        }
    }

    /// Backtracking would take practically for ever on these patterns; the table has 250,000 entries.
    #[test]
    fn hostile_patterns_are_answered_at_once() {
        let stars = |last: char| format!("{}{last}", "*a".repeat(255));
        assert!(!pattern(&stars('b')).overlaps(&pattern(&stars('c'))));
        assert!(pattern(&stars('b')).overlaps(&pattern(&stars('b'))));
        assert!(!pattern(&stars('b')).matches(&"a".repeat(4_000)));
        let deep = |last: &str| format!("{}{last}", "**/a/".repeat(15));
        assert!(!pattern(&deep("b?")).overlaps(&pattern(&deep("c?"))));
        assert!(!pattern(&deep("b")).matches(&vec!["a"; 2_000].join("/")));
    }

    /// All sequences of one to `most` of these, joined by `between`.
    fn all(of: &[&str], most: usize, between: &str) -> Vec<String> {
        let mut longest: Vec<String> = of.iter().map(|&one| one.to_owned()).collect();
        let mut all = longest.clone();
        for _ in 1..most {
            longest = longest.iter().flat_map(|a| of.iter().map(move |b| format!("{a}{between}{b}"))).collect();
            all.extend_from_slice(&longest);
        }
        all
    }

    /// Two patterns overlap exactly if one of the paths is covered by both. `paths` are all paths up to the length of
    /// both patterns together; no shortest common path is longer.
    fn overlaps_have_witnesses(patterns: &[String], paths: &[String]) {
        let patterns: Vec<Pattern> = patterns.iter().filter_map(|raw| Pattern::parse(raw).ok()).collect();
        let covered: Vec<Vec<bool>> =
            patterns.iter().map(|pattern| paths.iter().map(|path| pattern.matches(path)).collect()).collect();
        for (a, covered_a) in patterns.iter().zip(&covered) {
            for (b, covered_b) in patterns.iter().zip(&covered) {
                let witness = covered_a.iter().zip(covered_b).position(|(a, b)| *a && *b);
                assert_eq!(a.overlaps(b), witness.is_some(), "`{a}` and `{b}`: {:?}", witness.map(|n| &paths[n]));
            }
        }
    }

    #[test]
    fn overlaps_inside_a_segment_have_witnesses() {
        overlaps_have_witnesses(&all(&["a", "b", "?", "*"], 3, ""), &all(&["a", "b"], 6, ""));
    }

    #[test]
    fn overlaps_of_segments_have_witnesses() {
        let mut patterns = all(&["a", "b", "?", "**"], 3, "/");
        patterns.extend(patterns.clone().iter().map(|pattern| format!("{pattern}/")));
        overlaps_have_witnesses(&patterns, &all(&["a", "b"], 8, "/"));
    }

    fn written(segments: usize) -> impl Strategy<Value = String> {
        let segment = prop_oneof![1 => Just("**".to_owned()), 4 => "[ab*?]{1,3}"];
        (prop::collection::vec(segment, 1..=segments), any::<bool>())
            .prop_map(|(segments, below)| segments.join("/") + if below { "/" } else { "" })
    }

    /// A path that the pattern covers, chosen by `seed`.
    fn path_of(pattern: &Pattern, seed: &[u8]) -> Option<String> {
        let mut seed = seed.iter().copied().cycle();
        let mut draw = |most: u8| seed.next().unwrap_or(0) % most;
        let mut names = Vec::new();
        for segment in &pattern.segments {
            match segment {
                Segment::Any => {
                    (0..draw(3)).for_each(|_| names.push(["a", "b", "ab"][usize::from(draw(3))].to_owned()));
                }
                Segment::Name(pieces) => {
                    let mut name = String::new();
                    for piece in pieces {
                        match piece {
                            Piece::Any => (0..draw(3)).for_each(|_| name.push(['a', 'b'][usize::from(draw(2))])),
                            Piece::One => name.push(['a', 'b', 'ü'][usize::from(draw(3))]),
                            Piece::Char(c) => name.push(*c),
                        }
                    }
                    names.push(if name.is_empty() { "a".to_owned() } else { name });
                }
            }
        }
        (!names.is_empty()).then(|| names.join("/"))
    }

    /// The naive matcher with backtracking.
    fn plainly<T: Part>(pattern: &[T], path: &[T]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some((first, rest)), _) if first.is_any() => (0..=path.len()).any(|n| plainly(rest, &path[n..])),
            (Some(_), None) => false,
            (Some((first, rest)), Some((here, after))) => first.agrees(here) && plainly(rest, after),
        }
    }

    proptest! {
        #![proptest_config(Config { cases: 400, failure_persistence: None, ..Config::default() })]

        #[test]
        fn a_path_of_both_is_an_overlap(a in written(6), b in written(6), seed in prop::collection::vec(any::<u8>(), 1..40)) {
            let (a, b) = (pattern(&a), pattern(&b));
            prop_assert_eq!(a.overlaps(&b), b.overlaps(&a));
            prop_assert!(a.overlaps(&a));
            if let Some(path) = path_of(&a, &seed) {
                prop_assert!(a.matches(&path), "`{}` covers `{}`", a, path);
                prop_assert!(!b.matches(&path) || a.overlaps(&b), "`{}` and `{}` have `{}`", a, b, path);
            }
        }

        #[test]
        fn whatever_is_written_is_taken_or_refused(raw in "\\PC{0,40}|[a*?/.]{0,12}", path in "[a./]{0,12}") {
            if let Ok(pattern) = Pattern::parse(&raw) {
                prop_assert!(pattern.overlaps(&pattern));
                pattern.matches(&path);
            }
        }

        #[test]
        fn matching_is_what_trying_everything_finds(raw in written(4), path in "[ab]{1,3}(/[ab]{1,3}){0,3}") {
            let pattern = pattern(&raw);
            let names: Vec<Segment> = path.split('/').map(segment).collect();
            prop_assert_eq!(pattern.matches(&path), plainly(&pattern.segments, &names), "{} {}", raw, path);
        }
    }
}
