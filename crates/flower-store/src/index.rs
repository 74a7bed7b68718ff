//! The search index: the texts and their words.
//!
//! Two words one typing mistake apart (an extra, missing or wrong letter, or two swapped letters) share a spelling that
//! lacks one letter, so a look-up of a few spellings finds every candidate exactly. Trigrams would miss short words:
//! `brnach` and `branch` have none in common.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::search::words;
use flower_core::Recorded;
use flower_core::event::ScratchpadWritten;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The bytes of a text that are indexed; a longer text is found by its beginning only.
const INDEXED_BYTES: usize = 256 * 1024;
/// Maximum words per text that are learned for corrections. Learning more would delay the writer for little use.
const LEARNED: usize = 5_000;
/// In bytes. PostgreSQL does not index longer words.
pub const LONGEST_WORD: usize = 2_046;

/// The texts that a transaction changed. Texts are stored at once, but their words are indexed together at its end,
/// because SQLite's word index is flushed before every statement that could fail.
#[derive(Debug, Default)]
pub struct Index {
    texts: BTreeSet<u64>,
    /// The texts among them whose title changed.
    titles: BTreeSet<u64>,
    words: BTreeSet<String>,
}

impl Index {
    /// Replaces the text of a scratchpad, or appends to it.
    pub fn write_scratchpad(&mut self, conn: &mut Conn, written: &ScratchpadWritten) -> Result<(), StoreError> {
        let mut body = String::new();
        if written.append {
            let sql = "SELECT body FROM search_docs WHERE place = 'scratchpad' AND ref = $1";
            body = conn.row(sql, params![written.number])?.map_or(Ok(body), |row| row.text(0))?;
        }
        self.set(conn, "body", "scratchpad", Some(written.number.0), &(body + &written.text))
    }

    /// Indexes the stored texts, inside the same transaction.
    pub fn flush(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        let (texts, titles) = (std::mem::take(&mut self.texts), std::mem::take(&mut self.titles));
        if texts.is_empty() {
            return Ok(());
        }
        let list = |ids| serde_json::to_string(ids).expect("a list of numbers");
        match conn.index_sql() {
            None => conn.index_texts(&list(&texts), &list(&titles))?,
            Some(sql) => {
                for text in texts {
                    let row = conn.row("SELECT title, body FROM search_docs WHERE id = $1", params![text])?;
                    let row = row.ok_or_else(|| StoreError::Corrupt(format!("text {text} is gone")))?;
                    conn.execute(sql, params![text, &vector(&row.text(0)?, &row.text(1)?)])?;
                }
            }
        }
        learn(conn, &std::mem::take(&mut self.words))
    }

    /// Stores a text of the trace.
    pub fn add_trace(&mut self, conn: &mut Conn, recorded: &Recorded, text: &str) -> Result<(), StoreError> {
        self.add(conn, recorded, "trace", recorded.seq, ("", text))
    }

    /// Stores a new text.
    pub fn add(
        &mut self,
        conn: &mut Conn,
        recorded: &Recorded,
        place: &str,
        reference: u64,
        (title, body): (&str, &str),
    ) -> Result<(), StoreError> {
        let body = beginning(body);
        conn.execute(
            "INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES ($1, $2, $3, $4, $5, $6)",
            params![recorded.seq, recorded.brief, place, reference, title, body],
        )?;
        if !title.is_empty() {
            self.titles.insert(recorded.seq);
        }
        self.note(recorded.seq, &[title, body]);
        Ok(())
    }

    /// Replaces the title or the body of a text.
    pub fn set(
        &mut self,
        conn: &mut Conn,
        column: &str,
        place: &str,
        reference: Option<u64>,
        text: &str,
    ) -> Result<(), StoreError> {
        let text = beginning(text);
        let sql = format!("UPDATE search_docs SET {column} = $3 WHERE place = $1 AND ref = $2 RETURNING id");
        if let Some(row) = conn.row(&sql, params![place, reference, text])? {
            let id = row.int(0)?;
            if column == "title" {
                self.titles.insert(id);
            }
            self.note(id, &[text]);
        }
        Ok(())
    }

    fn note(&mut self, id: u64, texts: &[&str]) {
        self.texts.insert(id);
        let correctable = texts.iter().flat_map(|text| words(text)).filter(|word| is_correctable(word));
        self.words.extend(correctable.take(LEARNED));
    }
}

/// Stores words with their spellings, so that mistyped words can be corrected.
fn learn(conn: &mut Conn, words: &BTreeSet<String>) -> Result<(), StoreError> {
    if words.is_empty() {
        return Ok(());
    }
    let list = serde_json::to_string(words).expect("a list of strings");
    let sql = format!(
        "INSERT INTO search_words (word) {} WHERE true ON CONFLICT DO NOTHING RETURNING word",
        conn.each_text()
    );
    let new: Vec<String> = conn.rows(&sql, params![&list])?.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
    if new.is_empty() {
        return Ok(());
    }
    let pairs: Vec<(String, &String)> =
        new.iter().flat_map(|word| spellings(word).into_iter().map(move |spelling| (spelling, word))).collect();
    let list = serde_json::to_string(&pairs).expect("a list of strings");
    let sql =
        format!("INSERT INTO search_spellings (spelling, word) {} WHERE true ON CONFLICT DO NOTHING", conn.each_pair());
    conn.execute(&sql, params![&list])?;
    Ok(())
}

/// The words with their positions, those of the title marked, in PostgreSQL's format of word vectors.
fn vector(title: &str, body: &str) -> String {
    const LAST_PLACE: usize = 16_383;
    let mut vector = String::new();
    let title = words(title).map(|word| (word, "A"));
    let body = words(body).map(|word| (word, ""));
    for (place, (word, weight)) in title.chain(body).enumerate().filter(|(_, (word, _))| word.len() <= LONGEST_WORD) {
        let place = (place + 1).min(LAST_PLACE);
        let _ = write!(vector, "'{word}':{place}{weight} ");
    }
    vector
}

/// Whether a word is likely to be typed by a person, in contrast to hashes and numbers.
pub fn is_correctable(word: &str) -> bool {
    let length = word.chars().count();
    (4..=24).contains(&length) && !word.chars().any(char::is_numeric)
}

/// The word itself, and the word without each of its letters in turn.
pub fn spellings(word: &str) -> BTreeSet<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all: BTreeSet<String> = (0..letters.len())
        .map(|gap| letters.iter().enumerate().filter(|(i, _)| *i != gap).map(|(_, c)| c).collect())
        .collect();
    all.insert(word.to_owned());
    all
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(INDEXED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mistake_apart_means_a_shared_spelling() {
        for (typed, meant) in [("brnach", "branch"), ("brach", "branch"), ("brannch", "branch"), ("bransh", "branch")] {
            assert_eq!(strsim::osa_distance(typed, meant), 1);
            assert!(!spellings(typed).is_disjoint(&spellings(meant)), "{typed}");
        }
    }
}
