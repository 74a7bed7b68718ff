//! What an agent said and did, and what it was told: on disk, masked, bounded, for people and for whoever goes on.

use crate::notify::ChangeHints;
use crate::profiles::mask::Mask;
use crate::terminal::Scrollback;
use flower_contract::view::{Entry, EntryKind, TranscriptView};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Of one entry; the rest of it is cut.
const LONGEST: usize = 32 << 10;
/// What is said in pieces is written down in paragraphs, or when it becomes as long as this.
const PARAGRAPH: usize = 2 << 10;
/// What a hand-over note can be made of, if it must be made of this.
const SAID: usize = 6;
const DONE: usize = 30;

pub(super) fn new_entry(kind: EntryKind, text: impl Into<String>) -> Entry {
    let (at, text) = (crate::now(), text.into());
    Entry { at, kind, text, call: None, status: None, paths: Vec::new(), diffs: Vec::new() }
}

pub struct Transcript {
    inner: Mutex<Inner>,
    end: watch::Sender<u64>,
    /// Whom to tell that there is more, and under which name.
    hints: ChangeHints,
    topic: String,
}

struct Inner {
    tape: Scrollback,
    mask: Arc<Mask>,
    /// Said in pieces, and not written down yet.
    open: Option<(EntryKind, String)>,
    said: VecDeque<String>,
    done: VecDeque<(String, String)>,
    plan: Option<String>,
    /// Entries that found no room on the disk.
    lost: u64,
}

impl Transcript {
    pub fn open(file: &Path, hints: ChangeHints, agent: &str) -> io::Result<Transcript> {
        let tape = Scrollback::open(file)?;
        let end = watch::Sender::new(tape.snapshot().end);
        let (said, done) = (VecDeque::new(), VecDeque::new());
        let mask = Arc::new(Mask::new(Vec::new()));
        let inner = Mutex::new(Inner { tape, mask, open: None, said, done, plan: None, lost: 0 });
        Ok(Transcript { inner, end, hints, topic: format!("agent:{agent}") })
    }

    /// From now on these secrets are masked.
    pub fn mask(&self, mask: Arc<Mask>) {
        self.with(|inner| inner.mask = mask);
    }

    /// As it may be seen and recorded.
    pub fn masked(&self, text: &str) -> String {
        self.masking().text(text).into_owned()
    }

    pub fn masking(&self) -> Arc<Mask> {
        self.inner.lock().expect("no panic while held").mask.clone()
    }

    pub fn add(&self, new: Entry) {
        self.with(|inner| {
            inner.flush(true);
            inner.write(new);
        });
    }

    pub fn flower(&self, text: impl Into<String>) {
        self.add(new_entry(EntryKind::Flower, text));
    }

    /// A piece of what is said or thought.
    pub fn piece(&self, kind: EntryKind, text: &str) {
        self.with(|inner| {
            if inner.open.as_ref().is_some_and(|(open, _)| *open != kind) {
                inner.flush(true);
            }
            let held = &mut inner.open.get_or_insert_with(|| (kind, String::new())).1;
            held.push_str(text);
            // Looked through only where it may end: a word without an end comes in very many pieces.
            let ends = text.contains([' ', '\n']) || held.len() > LONGEST;
            if held.len() > PARAGRAPH && ends {
                inner.flush(false);
            }
        });
    }

    /// So that whoever follows sees it while it is said. Half a word stays back: it may be half a secret.
    pub fn tick(&self) {
        self.with(|inner| inner.flush(false));
    }

    /// The end of what was said.
    pub fn settle(&self) {
        self.with(|inner| inner.flush(true));
    }

    fn with(&self, change: impl FnOnce(&mut Inner)) {
        let end = {
            let mut inner = self.inner.lock().expect("no panic while held");
            change(&mut inner);
            inner.tape.snapshot().end
        };
        if self.end.send_if_modified(|known| std::mem::replace(known, end) != end) {
            self.hints.publish(&self.topic);
        }
    }

    /// Rings whenever there is more.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }

    /// At most so many bytes of whole entries from a position on.
    pub fn page(&self, after: u64, most: u64) -> io::Result<TranscriptView> {
        let snapshot = self.inner.lock().expect("no panic while held").tape.snapshot();
        page(&snapshot, after, most)
    }

    /// Where the last so many bytes of it begin.
    pub fn near_the_end(&self, bytes: u64) -> u64 {
        self.inner.lock().expect("no panic while held").tape.snapshot().end.saturating_sub(bytes)
    }

    /// What is known of its work, for whoever goes on with it.
    pub fn summary(&self) -> String {
        let inner = self.inner.lock().expect("no panic while held");
        let mut text = String::new();
        if let Some(plan) = &inner.plan {
            text.push_str(&format!("Its plan:\n{plan}\n\n"));
        }
        if !inner.done.is_empty() {
            text.push_str("What it did last:\n");
            for (title, status) in &inner.done {
                text.push_str(&format!("- {title} ({status})\n"));
            }
            text.push('\n');
        }
        if !inner.said.is_empty() {
            text.push_str("What it said last:\n");
            for said in &inner.said {
                text.push_str(&format!("> {}\n", said.replace('\n', "\n> ")));
            }
        }
        text
    }

    /// The last of what it said or complained about.
    pub fn last_words(&self) -> Option<String> {
        let page = self.page(self.near_the_end(8 << 10), 8 << 10).ok()?;
        let words =
            page.entries.iter().filter(|e| matches!(e.kind, EntryKind::Said | EntryKind::Noise | EntryKind::Tool));
        let text = words.map(|entry| entry.text.as_str()).collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Of one that nobody writes at this moment.
pub fn read(file: &Path, after: Option<u64>, most: u64) -> io::Result<TranscriptView> {
    match Scrollback::read_only(file)? {
        Some(snapshot) => page(&snapshot, after.unwrap_or(snapshot.end.saturating_sub(most)), most),
        None => Ok(TranscriptView { entries: Vec::new(), next: after.unwrap_or(0), more: false, over: false }),
    }
}

fn page(snapshot: &crate::terminal::Snapshot, after: u64, most: u64) -> io::Result<TranscriptView> {
    let (from, bytes) = snapshot.read(after, most.max(2 * LONGEST as u64 + 4096))?;
    // Whoever asks for what is gone, or for somewhere in between, begins with the next whole line.
    let skip = if from == after && (after == snapshot.first || starts_line(snapshot, after)?) {
        0
    } else {
        bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1)
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(skip, |end| (end + 1).max(skip));
    let lines = bytes[skip..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let entries = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let next = from + whole as u64;
    Ok(TranscriptView { entries, next, more: next < snapshot.end && whole > 0, over: false })
}

fn starts_line(snapshot: &crate::terminal::Snapshot, at: u64) -> io::Result<bool> {
    let (_, before) = snapshot.read(at.saturating_sub(1), 1)?;
    Ok(before.is_empty() || before[0] == b'\n')
}

impl Inner {
    /// With `all`, whatever is there; otherwise up to the last gap between words.
    fn flush(&mut self, all: bool) {
        let Some((kind, text)) = self.open.take() else { return };
        let cut = match all {
            true => text.len(),
            false => text.rfind([' ', '\n']).map_or(0, |gap| gap + 1),
        };
        let (ready, rest) = text.split_at(cut);
        if !ready.trim().is_empty() {
            self.write(new_entry(kind, ready));
        }
        // One word without an end is no word.
        if !rest.is_empty() && rest.len() <= LONGEST {
            self.open = Some((kind, rest.to_owned()));
        } else if !rest.is_empty() {
            self.write(new_entry(kind, rest));
        }
    }

    fn write(&mut self, mut entry: Entry) {
        let mask = self.mask.clone();
        let clean = |text: &mut String| {
            let mut masked = mask.text(text).into_owned();
            if masked.len() > LONGEST {
                let end = (0..=LONGEST).rev().find(|at| masked.is_char_boundary(*at)).unwrap_or(0);
                masked.truncate(end);
                masked.push('…');
            }
            *text = masked;
        };
        clean(&mut entry.text);
        entry.paths.iter_mut().for_each(&clean);
        entry.paths.truncate(20);
        entry.diffs.truncate(4);
        for diff in &mut entry.diffs {
            clean(&mut diff.path);
            diff.old.iter_mut().for_each(&clean);
            clean(&mut diff.new);
        }
        self.remember(&entry);
        if self.lost > 0 {
            let text = format!("{} entries are missing: the disk was full", self.lost);
            if self.append(&new_entry(EntryKind::Flower, text)) {
                self.lost = 0;
            }
        }
        if !self.append(&entry) {
            self.lost += 1;
        }
    }

    fn append(&mut self, entry: &Entry) -> bool {
        let mut line = serde_json::to_vec(entry).expect("an entry is plain data");
        line.push(b'\n');
        self.tape.append(&line).is_ok()
    }

    fn remember(&mut self, entry: &Entry) {
        let short = |text: &str, most: usize| flower_core::text::head(text, most);
        match entry.kind {
            EntryKind::Said => push(&mut self.said, short(&entry.text, 600), SAID),
            EntryKind::Plan => self.plan = Some(short(&entry.text, 2_000)),
            EntryKind::Tool if entry.status.as_deref().is_some_and(|s| s == "completed" || s == "failed") => {
                let title = flower_core::text::cut(entry.text.lines().next().unwrap_or_default(), 160);
                push(&mut self.done, (title, entry.status.clone().unwrap_or_default()), DONE);
            }
            _ => {}
        }
    }
}

fn push<T>(list: &mut VecDeque<T>, new: T, most: usize) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_in_pieces_is_read_in_paragraphs_and_masked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("transcript");
        let transcript = Transcript::open(&file, ChangeHints::default(), "play-1").unwrap();
        transcript.mask(Arc::new(Mask::new(vec!["sk-secret-123456".to_owned()])));
        for piece in ["The key is sk-sec", "ret-1234", "56, keep", " it.\n"] {
            transcript.piece(EntryKind::Said, piece);
            transcript.tick();
        }
        transcript.piece(EntryKind::Thought, "hm");
        transcript.flower("it ended");
        let page = transcript.page(0, 1 << 20).unwrap();
        let all: String = page.entries.iter().filter(|e| e.kind == EntryKind::Said).map(|e| e.text.as_str()).collect();
        assert!(!all.contains("secret") && all.contains("[masked]"), "{all}");
        assert_eq!(page.entries.last().map(|e| e.text.as_str()), Some("it ended"));
        assert!(!std::fs::read_to_string(&file).unwrap().contains("sk-secret"));
        // Pages follow each other without a gap, also from somewhere in between.
        assert!(transcript.page(page.next, 1 << 20).unwrap().entries.is_empty());
        assert!(transcript.page(3, 1 << 20).unwrap().entries.len() < page.entries.len());
    }
}
