//! The text while it is put together: what there is place for, and what is left out.

use super::cuts::{self, Kind};
use super::quote::{block, grouped};
use super::{Cut, Recall};

/// In the order in which they are read.
#[derive(Clone, Copy)]
pub(super) enum Section {
    /// Belongs to the run, and stands in the head.
    Evidence,
    Spec,
    Changes,
    Questions,
    Needs,
    Company,
    Trace,
    Links,
}

const HEADINGS: [&str; 8] = [
    "",
    "## Spec\n\n",
    "## What changed in the spec\n\n",
    "## Questions and decisions\n\n",
    "## What it needs, and what needs it\n\n",
    "## Who else is on it\n\n",
    "## Trace, newest first\n\n",
    "## Links\n\n",
];

/// Something for a section, and how many of its texts are cut.
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
    /// Bytes that are free, beyond those that the words about everything not settled yet could need.
    pub room: usize,
    detailed: bool,
    /// Something was left out that is more useful than all that would follow.
    pub full: bool,
    sections: [String; 8],
    cuts: Vec<Cut>,
    texts: usize,
}

impl Page<'_> {
    /// `room` is free beside the head and the words about what is left out.
    pub fn new(input: &Recall, room: usize, detailed: bool) -> Page<'_> {
        Page { input, room, detailed, full: false, sections: Default::default(), cuts: Vec::new(), texts: 0 }
    }

    /// Adds it if there is place for it.
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

    /// Adds what fits of one long text into `most` bytes, and says how many of its bytes are left out.
    pub fn add_text(&mut self, section: Section, label: &str, text: &str, most: usize) -> usize {
        let shown = quoted(label, text, most.saturating_sub(self.heading(section)));
        let added = shown.map(|(shown, left)| (self.add(section, &shown.into()), left));
        added.filter(|(fits, _)| *fits).map_or(text.len(), |(_, left)| left)
    }

    /// What its heading still needs, with one more for the empty line after a list.
    fn heading(&self, section: Section) -> usize {
        if self.sections[section as usize].is_empty() { HEADINGS[section as usize].len() + 1 } else { 0 }
    }

    /// Adds these until there is no place any more, and says how many it were. The others are not even looked at.
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

    /// No more of this kind will come: `left` is left out.
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

    /// Everything between the two parts of the head and behind them.
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
            text.push_str(&cuts::compact(&self.cuts));
        }
        (text, self.cuts)
    }
}

/// The longest words about a cut inside a text.
const CUT_HERE: usize = 64;
/// Less of a text says nothing.
const MIN_EXCERPT: usize = 24;

/// A text below its label, of about `most` bytes, and how many of its bytes are left out.
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
