//! The parts that were left out, in words, and how to read them.

use super::quote::grouped;
use super::{Calls, Cut, Recall};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Head,
    Evidence,
    Spec,
    Changes,
    Questions,
    Decisions,
    Checks,
    Needs,
    Leases,
    Texts,
    Diffs,
    Participants,
    Dependents,
    Trace,
    Links,
}

impl Kind {
    pub const ALL: [Kind; 15] = [
        Kind::Head,
        Kind::Evidence,
        Kind::Spec,
        Kind::Changes,
        Kind::Questions,
        Kind::Decisions,
        Kind::Checks,
        Kind::Needs,
        Kind::Leases,
        Kind::Texts,
        Kind::Diffs,
        Kind::Participants,
        Kind::Dependents,
        Kind::Trace,
        Kind::Links,
    ];

    /// The size of this part: bytes for long texts, otherwise the number of entries.
    pub fn total(self, input: &Recall) -> usize {
        match self {
            Kind::Head => 1,
            Kind::Evidence => evidence(input).map_or(0, str::len),
            Kind::Spec => input.spec.as_ref().map_or(0, |spec| spec.markdown.len()),
            Kind::Changes | Kind::Diffs => input.changes.len(),
            Kind::Questions => input.questions.iter().filter(|question| question.answer.is_none()).count(),
            Kind::Decisions => input.questions.iter().filter(|question| question.answer.is_some()).count(),
            Kind::Checks => input.checks.len(),
            Kind::Needs => input.needs.len(),
            Kind::Leases => input.leases.len(),
            Kind::Texts => 2 * input.changes.len() + 2 * input.questions.len() + input.trace.len(),
            Kind::Participants => input.participants.len(),
            Kind::Dependents => input.dependents.len(),
            Kind::Trace => input.trace.len(),
            Kind::Links => input.links.len(),
        }
    }

    /// The entry for `left` bytes or entries that were left out.
    pub fn cut(self, input: &Recall, left: usize) -> Cut {
        let number = input.brief.number;
        let trace = || format!("`flower brief trace {number}`");
        let show = || format!("`flower brief show {number}`");
        // If some entries are shown, they are the newest, so the missing ones are older.
        let older = if left < self.total(input) { OLDER } else { "" };
        let part = || format!("{} of {} bytes", grouped(left), grouped(self.total(input)));
        let (what, how) = match self {
            Kind::Head => ("parts of the head".to_owned(), input.calls.recall_more(number)),
            Kind::Evidence => {
                let dispatch = input.run.as_ref().map(|run| run.dispatch).unwrap_or_default();
                (format!("the rest of the evidence ({})", part()), format!("`flower dispatch show {dispatch}`"))
            }
            Kind::Spec => (
                format!("the rest of the spec ({})", part()),
                match input.calls {
                    Calls::Tools => {
                        format!("{}, or the resource `flower://brief/{number}`", input.calls.recall_more(number))
                    }
                    Calls::Shell => format!("{}, or {}", input.calls.recall_more(number), show()),
                },
            ),
            Kind::Changes => (count(left, &format!("{older}spec change"), ""), trace()),
            Kind::Questions => (count(left, "open question", ""), trace()),
            Kind::Decisions => (count(left, &format!("{older}decision"), ""), trace()),
            Kind::Checks => (count(left, "check", ""), "`flower.toml` in your worktree".to_owned()),
            Kind::Needs => (count(left, "brief", " that it needs"), show()),
            Kind::Leases => (count(left, "lease", ""), "`flower lease`".to_owned()),
            Kind::Texts => (format!("the end of {}", count(left, "long text", "")), trace()),
            Kind::Diffs => (count(left, "diff", " of the spec"), format!("`flower brief diff {number}`")),
            Kind::Participants => (count(left, "participant", ""), show()),
            Kind::Dependents => (count(left, "brief", " that needs this one"), show()),
            Kind::Trace => (count(left, &format!("{older}trace event"), ""), trace()),
            Kind::Links => (count(left, "link", ""), show()),
        };
        Cut { what, how }
    }

    /// The maximum bytes of the words about this part; 0 if the input has none of it.
    pub fn most(self, input: &Recall) -> usize {
        match self.total(input) {
            0 => 0,
            total => line(&self.cut(input, total)).len() + OLDER.len(),
        }
    }
}

const OLDER: &str = "older ";

/// The maximum bytes of the words about all parts, if everything were left out.
pub(super) fn most(input: &Recall) -> usize {
    HEADING.len() + Kind::ALL.iter().map(|kind| kind.most(input)).sum::<usize>()
}

pub(super) const HEADING: &str = "## Left out\n\n";
/// Bytes of the short form, which is used if there is no room for one line per part.
pub(super) const COMPACT_BYTES: usize = 300;

pub(super) fn line(cut: &Cut) -> String {
    format!("- {}: {}\n", cut.what, cut.how)
}

/// All parts in one sentence; the last ones may be omitted.
pub(super) fn compact(input: &Recall, cuts: &[Cut]) -> String {
    let more = format!("{} has more.\n", input.calls.recall_more(input.brief.number));
    let mut text = HEADING.to_owned();
    for (n, cut) in cuts.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        if text.len() + comma.len() + cut.what.len() + ", and more; ".len() + more.len() > COMPACT_BYTES {
            text.push_str(", and more");
            break;
        }
        text.push_str(comma);
        text.push_str(&cut.what);
    }
    format!("{text}; {more}")
}

fn evidence(input: &Recall) -> Option<&str> {
    Some(&input.run.as_ref()?.evidence.as_ref()?.text)
}

fn count(number: usize, one: &str, of: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {one}{s}{of}", grouped(number))
}
