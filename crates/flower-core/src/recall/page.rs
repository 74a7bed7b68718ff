//! The text while it is assembled: the parts that fit, and those that are left out.

use super::cuts::{self, Kind};
use super::quote::{block, grouped};
use super::{Cut, Recall};

/// The sections, in the order in which they are read.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// Belongs to the run, and is placed inside the head.
    Evidence,
    Spec,
    Changes,
    Questions,
    Checks,
    Needs,
    Company,
    Trace,
    Links,
}

const HEADINGS: [&str; 9] = [
    "",
    "## Spec\n\n",
    "## What changed in the spec\n\n",
    "## Questions and decisions\n\n",
    "## Checks of the landing\n\n",
    "## What it needs, and what needs it\n\n",
    "## Who else is on it\n\n",
    "## What happened, newest first\n\n",
    "## Links\n\n",
];

/// An entry of a section, and the number of its texts that are cut.
pub(super) struct Item {
    pub text: String,
    pub cut: usize,
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item { text, cut: 0 }
    }
}

pub(super) struct Page<'a> {
    input: &'a Recall,
    /// Free bytes, after reserving enough for the words about every part that is not settled yet.
    pub room: usize,
    detailed: bool,
    /// A part was left out that is more useful than all that follow.
    pub full: bool,
    sections: [String; 9],
    cuts: Vec<Cut>,
    texts: usize,
}

impl Page<'_> {
    /// `room` is the number of bytes besides the head and the words about the parts that are left out.
    pub fn new(input: &Recall, room: usize, detailed: bool) -> Page<'_> {
        Page { input, room, detailed, full: false, sections: Default::default(), cuts: Vec::new(), texts: 0 }
    }

    /// Adds an entry if it fits. Returns whether it did.
    pub fn add(&mut self, section: Section, item: &Item) -> bool {
        let size = self.heading(section) + item.text.len();
        let fits = !self.full && size <= self.room;
        if fits {
            self.room -= size;
            self.texts += item.cut;
            self.sections[section as usize].push_str(&item.text);
        }
        fits
    }

    /// Adds as much of one long text as fits into `most` bytes, and returns how many of its bytes are left out.
    pub fn add_text(&mut self, section: Section, label: &str, text: &str, most: usize) -> usize {
        let shown = quoted(label, text, most.saturating_sub(self.heading(section)));
        let added = shown.map(|(shown, left)| (self.add(section, &shown.into()), left));
        added.filter(|(fits, _)| *fits).map_or(text.len(), |(_, left)| left)
    }

    /// The bytes that the section's heading still needs, plus one for the empty line after a list.
    fn heading(&self, section: Section) -> usize {
        if self.sections[section as usize].is_empty() { HEADINGS[section as usize].len() + 1 } else { 0 }
    }

    /// Adds entries while they fit, and returns how many were added. The entries after the first that does not fit are
    /// not rendered.
    pub fn list<T>(
        &mut self,
        section: Section,
        all: impl Iterator<Item = T>,
        item: impl Fn(&Page<'_>, T) -> Option<Item>,
    ) -> usize {
        let mut shown = 0;
        for one in all {
            match item(self, one) {
                Some(item) if self.add(section, &item) => shown += 1,
                _ => break,
            }
        }
        shown
    }

    /// Ends a part: `left` of it are left out.
    pub fn settle(&mut self, kind: Kind, left: usize) {
        if self.detailed {
            self.room += kind.most(self.input);
        }
        if left > 0 {
            let cut = kind.cut(self.input, left);
            if self.detailed {
                self.room -= cuts::line(&cut).len();
            }
            self.cuts.push(cut);
        }
    }

    /// Joins the sections with the two parts of the head.
    pub fn finish(mut self, (before, after): (&str, &str)) -> (String, Vec<Cut>) {
        self.settle(Kind::Texts, self.texts);
        let mut text = before.to_owned();
        for (n, body) in self.sections.iter().enumerate() {
            if !body.is_empty() {
                text.push_str(HEADINGS[n]);
                text.push_str(body);
                text.push_str(if body.ends_with("\n\n") { "" } else { "\n" });
            }
            if n == Section::Evidence as usize {
                text.push_str(after);
            }
        }
        if self.cuts.is_empty() {
            text.truncate(text.trim_end().len());
            text.push('\n');
        } else if self.detailed {
            text.push_str(cuts::HEADING);
            self.cuts.iter().for_each(|cut| text.push_str(&cuts::line(cut)));
        } else {
            text.push_str(&cuts::compact(self.input, &self.cuts));
        }
        (text, self.cuts)
    }
}

/// Maximum bytes of the note about a cut inside a text.
const CUT_HERE: usize = 64;
/// Minimum bytes of an excerpt; a shorter one is not useful.
const MIN_EXCERPT: usize = 24;

/// A text of about `most` bytes below its label, and the number of its bytes that are left out.
pub(super) fn quoted(label: &str, text: &str, most: usize) -> Option<(String, usize)> {
    if text.is_empty() {
        return Some((format!("{label}.\n\n"), 0));
    }
    let place = most.checked_sub(label.len() + ":\n\n".len())?;
    if text.len() <= place {
        let (body, taken) = block(text, place);
        if taken == text.len() {
            return Some((format!("{label}:\n{body}\n"), 0));
        }
    }
    let (body, taken) = block(text, place.checked_sub(CUT_HERE).filter(|place| *place >= MIN_EXCERPT)?);
    let shown = format!("({} of {} bytes; the rest is left out)", grouped(taken), grouped(text.len()));
    (taken > 0).then(|| (format!("{label}:\n{body}\n{shown}\n\n"), text.len() - taken))
}
