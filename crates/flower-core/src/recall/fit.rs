//! Selects the parts of a brief that fit into a number of bytes. The most useful parts get room first; what does not
//! fit is left out.

use super::cuts::{self, Kind};
use super::head::{LEVELS, Level, head, is_shortened};
use super::page::{Item, Page, Section, quoted};
use super::quote::{NAME_BYTES, inline, inlines, origin};
use super::{Change, Check, Cut, Happening, Held, Linked, Neighbour, Participant, Question, Recall, Spec, Written};

/// From this many bytes on, each part that is left out is listed on its own line.
const DETAILED_FROM: usize = 4_500;
/// The newest changes of the spec, which are more useful than the end of a long spec.
const NEW_CHANGES: usize = 5;
const NEW_EVENTS: usize = 5;
const NEW_DECISIONS: usize = 3;
const TITLE_BYTES: usize = 240;

pub(super) fn fit(input: &Recall, bytes: usize) -> (String, Vec<Cut>) {
    let detailed = bytes >= DETAILED_FROM;
    let reserved = if detailed { cuts::most(input) } else { cuts::COMPACT_BYTES };
    let (level, before, after) = head_for(input, bytes - reserved.min(bytes), bytes);
    let room = bytes.saturating_sub(reserved + before.len() + after.len());
    let mut page = Page::new(input, room, detailed);
    page.settle(Kind::Head, usize::from(is_shortened(input, level)));
    let mut filling = Filling { input, page, bytes, spec_is_whole: true };
    filling.fill();
    filling.page.finish((&before, &after))
}

/// The longest head that leaves room for other parts, or the shortest head.
fn head_for(input: &Recall, free: usize, bytes: usize) -> (Level, String, String) {
    let [first @ .., last] = LEVELS;
    for level in first {
        let (before, after) = head(input, level);
        let rest = if level.whole { bytes / 5 } else { 0 };
        if before.len() + after.len() + rest <= free {
            return (level, before, after);
        }
    }
    let (before, after) = head(input, last);
    (last, before, after)
}

struct Filling<'a> {
    input: &'a Recall,
    page: Page<'a>,
    bytes: usize,
    spec_is_whole: bool,
}

impl Filling<'_> {
    fn fill(&mut self) {
        let input = self.input;
        let held = self.begin_spec();
        self.evidence();

        let heads = self.changes(0, NEW_CHANGES);
        let run = input.run.as_ref().map_or(u64::MAX, |run| run.spec_version);
        let since = input.changes.iter().take_while(|change| change.to > run).count();
        let diffs = self.diffs(0, since);
        let open = self.questions(input.questions.iter().filter(|q| q.answer.is_none()), usize::MAX);
        self.settle(Kind::Questions, open);
        let needs = self.page.list(Section::Needs, input.needs.iter(), |_, one| Some(need(one).into()));
        self.settle(Kind::Needs, needs);
        let leases = self.page.list(Section::Company, input.leases.iter(), |_, one| Some(lease(one).into()));
        self.settle(Kind::Leases, leases);
        let events = self.trace(0, NEW_EVENTS);
        let decided = || input.questions.iter().filter(|question| question.answer.is_some());
        let decisions = self.questions(decided(), NEW_DECISIONS);
        let checks = self.page.list(Section::Checks, input.checks.iter(), |_, one| Some(check(one).into()));
        self.settle(Kind::Checks, checks);

        self.page.room += held;
        self.end_spec();

        let diffs = diffs + if diffs == since { self.diffs(since, usize::MAX) } else { 0 };
        self.settle_in_order(Kind::Diffs, diffs);
        let heads = heads + if heads == NEW_CHANGES { self.changes(heads, usize::MAX) } else { 0 };
        self.settle_in_order(Kind::Changes, heads);
        let more = if decisions == NEW_DECISIONS { self.questions(decided().skip(decisions), usize::MAX) } else { 0 };
        self.settle_in_order(Kind::Decisions, decisions + more);
        let people = self.page.list(Section::Company, input.participants.iter(), |_, one| Some(person(one).into()));
        self.settle_in_order(Kind::Participants, people);
        let dependents = self.page.list(Section::Needs, input.dependents.iter(), |_, one| Some(dependent(one).into()));
        self.settle_in_order(Kind::Dependents, dependents);
        let events = events + if events == NEW_EVENTS { self.trace(events, usize::MAX) } else { 0 };
        self.settle_in_order(Kind::Trace, events);
        let links = self.page.list(Section::Links, input.links.iter(), |_, one| Some(link(one).into()));
        self.settle_in_order(Kind::Links, links);
    }

    /// Ends a part whose entries are sorted by use. If some entries do not fit, all less useful parts are left out as
    /// well.
    fn settle_in_order(&mut self, kind: Kind, shown: usize) {
        self.settle(kind, shown);
        self.page.full |= shown < kind.total(self.input);
    }

    fn settle(&mut self, kind: Kind, shown: usize) {
        self.page.settle(kind, kind.total(self.input) - shown);
    }

    /// Adds the whole spec if it needs at most half of the room; otherwise reserves that half for it.
    fn begin_spec(&mut self) -> usize {
        let Some(spec) = &self.input.spec else { return 0 };
        let half = self.page.room / 2;
        if spec.markdown.len() <= half
            && let Some((text, 0)) = quoted(&spec_label(spec), &spec.markdown, half)
            && self.page.add(Section::Spec, &text.into())
        {
            self.page.settle(Kind::Spec, 0);
            return 0;
        }
        self.spec_is_whole = false;
        self.page.room -= half;
        half
    }

    fn end_spec(&mut self) {
        let Some(spec) = self.input.spec.as_ref().filter(|_| !self.spec_is_whole) else { return };
        let left = self.page.add_text(Section::Spec, &spec_label(spec), &spec.markdown, self.page.room);
        self.page.settle(Kind::Spec, left);
        self.spec_is_whole = left == 0;
        self.page.full = left > 0;
    }

    fn evidence(&mut self) {
        let Some(evidence) = self.input.run.as_ref().and_then(|run| run.evidence.as_ref()) else { return };
        let most = if self.spec_is_whole { self.page.room / 4 * 3 } else { self.page.room / 2 };
        let label = format!("Evidence, recorded by {}", origin(&evidence.origin));
        let left = self.page.add_text(Section::Evidence, &label, &evidence.text, most);
        self.page.settle(Kind::Evidence, left);
    }

    /// The maximum room that one text may use.
    fn most(&self) -> usize {
        let share = self.bytes / 12;
        if self.spec_is_whole { share.max(self.page.room / 2) } else { share }
    }

    fn changes(&mut self, skip: usize, most: usize) -> usize {
        let each = self.most();
        let changes = self.input.changes.iter().skip(skip).take(most);
        self.page.list(Section::Changes, changes, |page, change| change_head(change, each.min(page.room)))
    }

    fn diffs(&mut self, skip: usize, most: usize) -> usize {
        let each = self.most();
        let changes = self.input.changes.iter().skip(skip).take(most);
        self.page.list(Section::Changes, changes, |page, change| diff(change, each.min(page.room)))
    }

    fn questions<'q>(&mut self, questions: impl Iterator<Item = &'q Question>, most: usize) -> usize {
        let each = self.most();
        self.page.list(Section::Questions, questions.take(most), |page, one| question(one, each.min(page.room)))
    }

    fn trace(&mut self, skip: usize, most: usize) -> usize {
        let each = self.most().min(self.bytes / 6);
        let events = self.input.trace.iter().skip(skip).take(most);
        self.page.list(Section::Trace, events, |page, event| happening(event, each.min(page.room)))
    }
}

fn spec_label(spec: &Spec) -> String {
    let accepted = match spec.accepted {
        Some(version) if version == spec.version && spec.newest == version => "accepted: your task".to_owned(),
        Some(version) if version == spec.version => {
            format!("accepted: your task (version {} is only proposed)", spec.newest)
        }
        Some(version) => format!("not accepted yet (version {version} is)"),
        None => "not accepted yet".to_owned(),
    };
    format!("Spec, version {}, {accepted}; written by {}", spec.version, origin(&spec.origin))
}

fn change_head(change: &Change, most: usize) -> Option<Item> {
    let label = format!("From version {} to {}, by {}", change.from, change.to, origin(&change.origin));
    item(&label, change.why.as_deref().unwrap_or_default(), most)
}

fn diff(change: &Change, most: usize) -> Option<Item> {
    let label = format!("Diff from version {} to {}, by {}", change.from, change.to, origin(&change.origin));
    item(&label, &change.diff, most)
}

fn question(question: &Question, most: usize) -> Option<Item> {
    let Question { number, asked, answer } = question;
    let state = if answer.is_some() { "answered" } else { "open" };
    let ask =
        |most| item(&format!("Question {number}, {state}; asked by {}", origin(&asked.origin)), &asked.text, most);
    let Some(Written { text, origin: by }) = answer else { return ask(most) };
    let asked = ask(most / 2)?;
    let answer = item(
        &format!("Decision on question {number}, by {}", origin(by)),
        text,
        most.saturating_sub(asked.text.len()),
    )?;
    Some(Item { text: asked.text + &answer.text, cut: asked.cut + answer.cut })
}

fn happening(event: &Happening, most: usize) -> Option<Item> {
    let kind = inline(&event.kind.replace('_', " "), NAME_BYTES);
    item(&format!("Event {}, {kind}, by {}", event.seq, origin(&event.origin)), &event.text, most)
}

fn item(label: &str, text: &str, most: usize) -> Option<Item> {
    quoted(label, text, most).map(|(text, left)| Item { text, cut: usize::from(left > 0) })
}

fn need(needed: &Neighbour) -> String {
    let met = if needed.status.is_met() { "met" } else { "not met yet" };
    let title = inline(&needed.title, TITLE_BYTES);
    format!("- It needs brief {} {title}, which is `{}`: {met}.\n", needed.number, needed.status)
}

fn dependent(other: &Neighbour) -> String {
    let title = inline(&other.title, TITLE_BYTES);
    format!("- Brief {} {title}, which is `{}`, needs this one.\n", other.number, other.status)
}

fn check(check: &Check) -> String {
    let [name, command] =
        [(&check.name, NAME_BYTES), (&check.command, TITLE_BYTES)].map(|(raw, most)| inline(raw, most));
    let only = match check.paths.as_slice() {
        [] => String::new(),
        paths => format!(", if {} changes", inlines(paths, TITLE_BYTES)),
    };
    format!("- {name}: {command}{only}\n")
}

fn lease(held: &Held) -> String {
    let [holder, worktree] = [&held.holder, &held.worktree].map(|name| inline(name, NAME_BYTES));
    let minutes = if held.minutes_left == 1 { "minute" } else { "minutes" };
    let patterns = inlines(&held.patterns, TITLE_BYTES);
    format!("- {holder} has reserved {patterns} in {worktree}, for {} more {minutes}.\n", held.minutes_left)
}

fn person(participant: &Participant) -> String {
    let worktree = participant.worktree.as_ref().map(|name| format!(", in {}", inline(name, NAME_BYTES)));
    let name = inline(&participant.name, NAME_BYTES);
    format!("- agent {name}{}.\n", worktree.unwrap_or_default())
}

fn link(linked: &Linked) -> String {
    let label = linked.label.as_ref().map(|label| format!(": {}", inline(label, TITLE_BYTES)));
    format!("- {} {}{}\n", linked.kind, inline(&linked.target, TITLE_BYTES), label.unwrap_or_default())
}
