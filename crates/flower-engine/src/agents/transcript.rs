//! The transcript of an agent: messages, tool calls and prompts, masked and bounded on disk. People read it, and the hand-over
//! to a new session can be made from it.

use crate::notify::ChangeHints;
use crate::profiles::mask::Mask;
use crate::terminal::Scrollback;
use flower_contract::view::{Entry, EntryKind, PlanStep, StepStatus, ToolStatus, TranscriptView};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Length of one entry; the rest is cut.
const MAX_ENTRY_BYTES: usize = 32 << 10;
/// Length of a tool's title in an entry.
const MAX_TITLE_BYTES: usize = 8 << 10;
/// What a step of a plan takes in the file besides its text.
const STEP_BYTES: usize = 40;
/// A message that arrives in pieces becomes an entry when it is longer than this.
const PARAGRAPH_BYTES: usize = 2 << 10;
/// After a pause of this length the last word of a message is written too, unless it may be the beginning of a secret.
const WORD_PAUSE: Duration = Duration::from_millis(500);
/// Messages and tool calls that are kept for the summary.
const SUMMARY_MESSAGES: usize = 6;
const SUMMARY_TOOLS: usize = 30;

pub(super) fn new_entry(kind: EntryKind, text: impl Into<String>) -> Entry {
    let (at, text) = (crate::now(), text.into());
    let (paths, diffs, steps) = (Vec::new(), Vec::new(), Vec::new());
    Entry { at, kind, text, continues: false, call: None, status: None, title: None, output: None, steps, paths, diffs }
}

pub struct Transcript {
    inner: Mutex<Buffer>,
    end: watch::Sender<u64>,
    /// Where new entries are announced, and under which topic.
    hints: ChangeHints,
    topic: String,
}

struct Buffer {
    scrollback: Scrollback,
    mask: Arc<Mask>,
    /// A message of which more pieces may follow.
    partial: Option<(EntryKind, String)>,
    /// When its last piece arrived.
    piece_at: Instant,
    /// The end of what is written of it. A secret may begin there and end in the next piece.
    written: String,
    said: VecDeque<String>,
    done: VecDeque<(String, ToolStatus)>,
    plan: Option<String>,
    /// Entries that could not be written because the disk was full.
    lost: u64,
}

impl Transcript {
    pub fn open(file: &Path, hints: ChangeHints, agent: &str) -> io::Result<Transcript> {
        let scrollback = Scrollback::open(file)?;
        let end = watch::Sender::new(scrollback.snapshot().end);
        let (said, done) = (VecDeque::new(), VecDeque::new());
        let mask = Arc::new(Mask::new(Vec::new()));
        let (piece_at, written) = (Instant::now(), String::new());
        let inner =
            Mutex::new(Buffer { scrollback, mask, partial: None, piece_at, written, said, done, plan: None, lost: 0 });
        Ok(Transcript { inner, end, hints, topic: format!("agent:{agent}") })
    }

    /// Replaces the mask.
    pub fn set_mask(&self, mask: Arc<Mask>) {
        self.update(|inner| inner.mask = mask);
    }

    /// The text without secrets.
    pub fn masked(&self, text: &str) -> String {
        self.current_mask().text(text).into_owned()
    }

    pub fn current_mask(&self) -> Arc<Mask> {
        self.inner.lock().expect("no panic while held").mask.clone()
    }

    pub fn add(&self, new: Entry) {
        self.update(|inner| {
            inner.end_message();
            inner.write(new);
        });
    }

    /// Adds an entry of flower's own.
    pub fn add_note(&self, text: impl Into<String>) {
        self.add(new_entry(EntryKind::Flower, text));
    }

    /// Adds a piece of a message or a thought.
    pub fn add_piece(&self, kind: EntryKind, text: &str) {
        self.update(|inner| {
            if inner.partial.as_ref().is_some_and(|(open, _)| *open != kind) {
                inner.end_message();
            }
            inner.piece_at = Instant::now();
            let pending = &mut inner.partial.get_or_insert_with(|| (kind, String::new())).1;
            pending.push_str(text);
            // Flushing searches the whole text for its last word, so it happens only when a piece has a gap between words.
            let has_gap = text.contains([' ', '\n']) || pending.len() > MAX_ENTRY_BYTES;
            if pending.len() > PARAGRAPH_BYTES && has_gap {
                inner.flush(false);
            }
        });
    }

    /// Writes the whole words of an unfinished message, so that it can be followed. An unfinished word may be half of a secret,
    /// and waits shortly for its rest.
    pub fn flush_words(&self) {
        self.update(|inner| {
            let is_over = |text: &String| inner.piece_at.elapsed() >= WORD_PAUSE && !inner.mask.may_continue(text);
            let all = inner.partial.as_ref().is_some_and(|(_, text)| is_over(text));
            inner.flush(all);
        });
    }

    /// Writes all of an unfinished message.
    pub fn flush_all(&self) {
        self.update(Buffer::end_message);
    }

    /// Whether words wait to be written.
    pub fn has_unwritten(&self) -> bool {
        self.inner.lock().expect("no panic while held").partial.is_some()
    }

    fn update(&self, change: impl FnOnce(&mut Buffer)) {
        let end = {
            let mut inner = self.inner.lock().expect("no panic while held");
            change(&mut inner);
            inner.scrollback.snapshot().end
        };
        if self.end.send_if_modified(|known| std::mem::replace(known, end) != end) {
            self.hints.publish(&self.topic);
        }
    }

    /// Changes whenever the transcript grows.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.end.subscribe()
    }

    /// Whole entries from a position on, at most `max` bytes.
    pub fn page(&self, after: u64, max: u64) -> io::Result<TranscriptView> {
        let snapshot = self.inner.lock().expect("no panic while held").scrollback.snapshot();
        page(&snapshot, after, max)
    }

    /// The position so many bytes before the end.
    pub fn position_before_end(&self, bytes: u64) -> u64 {
        self.inner.lock().expect("no panic while held").scrollback.snapshot().end.saturating_sub(bytes)
    }

    /// A summary for the next session, in case the agent leaves no hand-over note.
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

    /// The last messages, tool calls and error output.
    pub fn last_output(&self) -> Option<String> {
        let page = self.page(self.position_before_end(8 << 10), 8 << 10).ok()?;
        let words = page
            .entries
            .iter()
            .filter(|e| matches!(e.kind, EntryKind::Said | EntryKind::Noise | EntryKind::Tool | EntryKind::Output));
        let text = words.map(|entry| entry.text.as_str()).collect::<Vec<_>>().join("\n");
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Reads a transcript that is not open for writing.
pub fn read(file: &Path, after: Option<u64>, max: u64) -> io::Result<TranscriptView> {
    match Scrollback::read_only(file)? {
        Some(snapshot) => page(&snapshot, after.unwrap_or(snapshot.end.saturating_sub(max)), max),
        None => Ok(TranscriptView { entries: Vec::new(), next: after.unwrap_or(0), more: false, over: false }),
    }
}

fn page(snapshot: &crate::terminal::Snapshot, after: u64, max: u64) -> io::Result<TranscriptView> {
    let (from, bytes) = snapshot.read(after, max.max(2 * MAX_ENTRY_BYTES as u64 + 4096))?;
    // A position that was dropped, or is inside of a line, continues with the next whole line.
    let skip = if from == after && (after == snapshot.first || starts_line(snapshot, after)?) {
        0
    } else {
        bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1)
    };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(skip, |end| (end + 1).max(skip));
    let lines = bytes[skip..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let entries = lines.filter_map(|line| serde_json::from_slice(line).ok()).map(complete).collect();
    let next = from + whole as u64;
    Ok(TranscriptView { entries, next, more: next < snapshot.end && whole > 0, over: false })
}

/// Adds the text of an entry, which is stored as its parts. A tool's entry that version 0.1 stored has only the text.
fn complete(mut entry: Entry) -> Entry {
    match (entry.kind, &entry.title) {
        (EntryKind::Tool, Some(title)) => {
            entry.text = entry.output.as_ref().map_or_else(|| title.clone(), |output| format!("{title}\n{output}"));
        }
        (EntryKind::Tool, None) => {
            let (title, output) = entry.text.split_once('\n').unwrap_or((&entry.text, ""));
            let output = (!output.is_empty()).then(|| output.to_owned());
            (entry.title, entry.output) = (Some(title.to_owned()), output);
        }
        (EntryKind::Plan, _) if !entry.steps.is_empty() => entry.text = plan_text(&entry.steps),
        _ => {}
    }
    entry
}

fn plan_text(steps: &[PlanStep]) -> String {
    let line = |step: &PlanStep| {
        let mark = match step.status {
            StepStatus::Completed => "x",
            StepStatus::InProgress => "~",
            StepStatus::Pending => " ",
        };
        format!("[{mark}] {}", step.text)
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn starts_line(snapshot: &crate::terminal::Snapshot, at: u64) -> io::Result<bool> {
    let (_, before) = snapshot.read(at.saturating_sub(1), 1)?;
    Ok(before.is_empty() || before[0] == b'\n')
}

impl Buffer {
    /// Writes the unfinished message: with `all` completely, otherwise up to the last gap between words.
    fn flush(&mut self, all: bool) {
        let Some((kind, text)) = self.partial.take() else { return };
        let cut = match all {
            true => text.len(),
            false => text.rfind([' ', '\n']).map_or(0, |gap| gap + 1),
        };
        let (ready, rest) = text.split_at(cut);
        self.write_part(kind, ready);
        // A very long word is written anyway, so that memory is bounded.
        if !rest.is_empty() && rest.len() <= MAX_ENTRY_BYTES {
            self.partial = Some((kind, rest.to_owned()));
        } else {
            self.write_part(kind, rest);
        }
    }

    /// Writes a part of a message, and keeps its end for the next part.
    fn write_part(&mut self, kind: EntryKind, part: &str) {
        if !part.trim().is_empty() {
            let masked = self.mask.continued(&self.written, part).into_owned();
            let continues = self.written.ends_with(|last: char| !last.is_whitespace());
            self.write(Entry { continues, ..new_entry(kind, masked) });
        }
        self.written.push_str(part);
        let from = self.written.len().saturating_sub(self.mask.reach());
        let from = (from..=self.written.len()).find(|at| self.written.is_char_boundary(*at)).unwrap_or(0);
        self.written.drain(..from);
    }

    /// Writes all of the message; what follows is another one.
    fn end_message(&mut self) {
        self.flush(true);
        self.written.clear();
    }

    fn write(&mut self, mut entry: Entry) {
        let mask = self.mask.clone();
        let clean_to = |text: &mut String, max: usize| {
            let mut masked = mask.text(text).into_owned();
            if masked.len() > max {
                let end = (0..=max).rev().find(|at| masked.is_char_boundary(*at)).unwrap_or(0);
                masked.truncate(end);
                masked.push('…');
            }
            *text = masked;
        };
        let clean = |text: &mut String| clean_to(text, MAX_ENTRY_BYTES);
        clean(&mut entry.text);
        entry.title.iter_mut().for_each(|title| clean_to(title, MAX_TITLE_BYTES));
        entry.output.iter_mut().for_each(|output| clean_to(output, MAX_ENTRY_BYTES - MAX_TITLE_BYTES));
        entry.steps.iter_mut().for_each(|step| clean(&mut step.text));
        let mut room = MAX_ENTRY_BYTES;
        entry.steps.retain(|step| {
            let size = step.text.len() + STEP_BYTES;
            let fits = size <= room;
            room = room.saturating_sub(size);
            fits
        });
        entry.paths.iter_mut().for_each(&clean);
        entry.paths.truncate(20);
        entry.diffs.truncate(4);
        for diff in &mut entry.diffs {
            clean(&mut diff.path);
            diff.old.iter_mut().for_each(&clean);
            clean(&mut diff.new);
        }
        self.add_to_summary(&entry);
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
        self.scrollback.append(&line).is_ok()
    }

    fn add_to_summary(&mut self, entry: &Entry) {
        let short = |text: &str, max: usize| flower_core::text::head(text, max);
        match entry.kind {
            EntryKind::Said => push(&mut self.said, short(&entry.text, 600), SUMMARY_MESSAGES),
            EntryKind::Plan => self.plan = Some(short(&plan_text(&entry.steps), 2_000)),
            EntryKind::Tool => {
                if let Some(status @ (ToolStatus::Completed | ToolStatus::Failed)) = entry.status {
                    let title = entry.title.as_deref().and_then(|title| title.lines().next()).unwrap_or_default();
                    push(&mut self.done, (flower_core::text::cut(title, 160), status), SUMMARY_TOOLS);
                }
            }
            EntryKind::Flower
            | EntryKind::Prompt
            | EntryKind::Thought
            | EntryKind::Permission
            | EntryKind::Noise
            | EntryKind::Output => {}
        }
    }
}

fn push<T>(list: &mut VecDeque<T>, new: T, max: usize) {
    if list.len() >= max {
        list.pop_front();
    }
    list.push_back(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_in_pieces_is_joined_and_masked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("transcript");
        let transcript = Transcript::open(&file, ChangeHints::default(), "play-1").unwrap();
        transcript.set_mask(Arc::new(Mask::new(vec!["sk-secret-123456".to_owned()])));
        for piece in ["The key is sk-sec", "ret-1234", "56, keep", " it.\n"] {
            transcript.add_piece(EntryKind::Said, piece);
            transcript.flush_words();
        }
        transcript.add_piece(EntryKind::Thought, "hm");
        transcript.add_note("it ended");
        let page = transcript.page(0, 1 << 20).unwrap();
        let all: String = page.entries.iter().filter(|e| e.kind == EntryKind::Said).map(|e| e.text.as_str()).collect();
        assert!(!all.contains("secret") && all.contains("[masked]"), "{all}");
        assert_eq!(page.entries.last().map(|e| e.text.as_str()), Some("it ended"));
        assert!(!std::fs::read_to_string(&file).unwrap().contains("sk-secret"));
        // Pages follow each other without a gap, also from a position inside of an entry.
        assert!(transcript.page(page.next, 1 << 20).unwrap().entries.is_empty());
        assert!(transcript.page(3, 1 << 20).unwrap().entries.len() < page.entries.len());
    }

    #[test]
    fn the_last_word_is_written_after_a_pause_unless_it_may_be_a_secret() {
        let dir = tempfile::tempdir().unwrap();
        let transcript = Transcript::open(&dir.path().join("transcript"), ChangeHints::default(), "play-1").unwrap();
        transcript.set_mask(Arc::new(Mask::new(["sk-secret-123456", "hunter2-hunter2"].map(str::to_owned))));
        let said =
            || transcript.page(0, 1 << 20).unwrap().entries.into_iter().map(|entry| entry.text).collect::<String>();
        let pause = || transcript.inner.lock().unwrap().piece_at = Instant::now().checked_sub(WORD_PAUSE).unwrap();
        transcript.add_piece(EntryKind::Said, "It is done");
        transcript.flush_words();
        assert_eq!(said(), "It is ");
        pause();
        transcript.flush_words();
        assert_eq!((said().as_str(), transcript.has_unwritten()), ("It is done", false));
        transcript.add_piece(EntryKind::Said, ". The key: sk-secr");
        pause();
        transcript.flush_words();
        assert_eq!(said(), "It is done. The key: ", "it may go on");
        transcript.add_piece(EntryKind::Said, "et-123456");
        pause();
        transcript.flush_words();
        assert_eq!(said(), "It is done. The key: [masked]");
        // The first characters of a secret are not known for one; the rest is masked all the same.
        transcript.add_piece(EntryKind::Said, " hun");
        pause();
        transcript.flush_words();
        transcript.add_piece(EntryKind::Said, "ter2-hunter2 over");
        transcript.flush_all();
        assert_eq!(said(), "It is done. The key: [masked] hun[masked] over");
    }

    #[test]
    fn the_text_of_an_entry_has_all_its_parts() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("transcript");
        let transcript = Transcript::open(&file, ChangeHints::default(), "play-1").unwrap();
        transcript.set_mask(Arc::new(Mask::new(vec!["sk-secret-123456".to_owned()])));
        let key = "sk-secret-123456";
        let tool = |title: String, output: Option<String>| Entry {
            status: Some(ToolStatus::Completed),
            title: Some(title),
            output,
            ..new_entry(EntryKind::Tool, "")
        };
        transcript.add(tool(format!("login {key}"), Some(format!("welcome\n{key}"))));
        transcript.add(tool("ls".to_owned(), None));
        let step = |text: &str, status| PlanStep { text: text.to_owned(), status };
        let mut steps = vec![
            step(&format!("use {key}"), StepStatus::Completed),
            step("write", StepStatus::InProgress),
            step("rest", StepStatus::Pending),
        ];
        transcript.add(Entry { steps: steps.clone(), ..new_entry(EntryKind::Plan, "") });
        let page = transcript.page(0, 1 << 20).unwrap();
        let texts: Vec<&str> = page.entries.iter().map(|entry| entry.text.as_str()).collect();
        let plan = "[x] use [masked]\n[~] write\n[ ] rest";
        assert_eq!(texts, ["login [masked]\nwelcome\n[masked]", "ls", plan]);
        assert_eq!(page.entries[0].title.as_deref(), Some("login [masked]"));
        assert_eq!(page.entries[2].steps[1], step("write", StepStatus::InProgress));
        let summary = transcript.summary();
        assert!(summary.contains(plan) && summary.contains("- ls (completed)"), "{summary}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains("sk-secret"));

        steps = vec![step(&"x".repeat(1_000), StepStatus::Pending); 100];
        transcript.add(Entry { steps, ..new_entry(EntryKind::Plan, "") });
        let long = transcript.page(page.next, 1 << 20).unwrap().entries;
        assert!((1..=MAX_ENTRY_BYTES / 1_000).contains(&long[0].steps.len()));
    }

    #[test]
    fn a_tool_of_version_0_1_gets_its_parts_from_its_text() {
        let old = |text: &str| complete(new_entry(EntryKind::Tool, text));
        let printed = old("make\ncc a.c\ndone");
        assert_eq!((printed.title.as_deref(), printed.output.as_deref()), (Some("make"), Some("cc a.c\ndone")));
        assert_eq!(printed.text, "make\ncc a.c\ndone");
        assert_eq!((old("ls").title.as_deref(), old("ls").output), (Some("ls"), None));
    }
}
