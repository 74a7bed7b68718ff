//! Search: titles, specs, traces and scratchpads, ranked, with one typing mistake per word forgiven.
//!
//! Words one mistake apart (a letter too many, too few, wrong, or two swapped) share a spelling that lacks one letter, so
//! a look-up of a few spellings finds every candidate exactly. Trigrams would miss short words: `brnach` and `branch`
//! have none in common.

use super::conn::{Conn, params};
use super::error::StoreError;
use flower_core::{Event, Recorded};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How much of a text is searched; a longer one is found by its beginning.
const INDEXED_BYTES: usize = 256 * 1024;
/// Of a common word, only the newest texts are ranked.
const RANKED: u64 = 2_000;
const MOST_WORDS: usize = 12;
/// In bytes; PostgreSQL indexes no longer ones.
const LONGEST_WORD: usize = 2_046;
const MOST_CANDIDATES: usize = 8;
/// A hit that needed a correction counts less than one as typed.
const FORGIVEN: f64 = 0.5;

/// A text that was found, best first.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub brief: Option<u64>,
    /// `brief`, `trace` or `scratchpad`.
    pub place: String,
    pub reference: u64,
    pub title: String,
    pub body: String,
    pub score: f64,
    /// The words that matched, after corrections; beginnings of words end in `*`.
    pub terms: Vec<String>,
}

/// Adds what `event` says to the index.
pub fn index(conn: &mut Conn, recorded: &Recorded, event: &Event) -> Result<(), StoreError> {
    match event {
        Event::BriefCreated(new) => {
            add(conn, recorded, "brief", new.number, &new.title, "")?;
            learn(conn, &new.title)
        }
        Event::BriefRenamed(rename) => {
            let sql = "UPDATE search_docs SET title = $2 WHERE place = 'brief' AND ref = $1";
            conn.execute(sql, params![recorded.brief, &rename.to])?;
            index_words(conn, "brief", recorded.brief)?;
            learn(conn, &rename.to)
        }
        Event::PlanProposed(plan) => set_body(conn, "brief", recorded.brief, &plan.markdown),
        Event::Refinement(refinement) => set_body(conn, "brief", recorded.brief, &refinement.markdown),
        Event::CommentAdded(comment) => add_trace(conn, recorded, &comment.text),
        Event::NoteAdded(note) => add_trace(conn, recorded, &note.text),
        Event::QuestionAsked(asked) => add_trace(conn, recorded, &asked.text),
        Event::DecisionMade(decision) => add_trace(conn, recorded, &decision.text),
        Event::ScratchpadCreated(pad) => {
            add(conn, recorded, "scratchpad", pad.number, &pad.title, "")?;
            learn(conn, &pad.title)
        }
        Event::ScratchpadWritten(written) => {
            if !written.append {
                return set_body(conn, "scratchpad", Some(written.number), &written.text);
            }
            let sql = "SELECT body FROM search_docs WHERE place = 'scratchpad' AND ref = $1";
            let body = conn.row(sql, params![written.number])?.map_or(Ok(String::new()), |row| row.text(0))?;
            set_body(conn, "scratchpad", Some(written.number), &(body + &written.text))
        }
        _ => Ok(()),
    }
}

fn add_trace(conn: &mut Conn, recorded: &Recorded, text: &str) -> Result<(), StoreError> {
    let text = beginning(text);
    add(conn, recorded, "trace", recorded.seq, "", text)?;
    learn(conn, text)
}

fn add(
    conn: &mut Conn,
    recorded: &Recorded,
    place: &str,
    reference: u64,
    title: &str,
    body: &str,
) -> Result<(), StoreError> {
    conn.execute(
        "INSERT INTO search_docs (id, brief, place, ref, title, body) VALUES ($1, $2, $3, $4, $5, $6)",
        params![recorded.seq, recorded.brief, place, reference, title, body],
    )?;
    index_words(conn, place, Some(reference))
}

fn set_body(conn: &mut Conn, place: &str, reference: Option<u64>, text: &str) -> Result<(), StoreError> {
    let text = beginning(text);
    let sql = "UPDATE search_docs SET body = $3 WHERE place = $1 AND ref = $2";
    conn.execute(sql, params![place, reference, text])?;
    index_words(conn, place, reference)?;
    learn(conn, text)
}

/// Indexes the words of one text, where the database does not do so by itself.
fn index_words(conn: &mut Conn, place: &str, reference: Option<u64>) -> Result<(), StoreError> {
    let Some(sql) = conn.index_words_sql() else { return Ok(()) };
    let text = "SELECT title, body FROM search_docs WHERE place = $1 AND ref = $2";
    let Some(row) = conn.row(text, params![place, reference])? else { return Ok(()) };
    let vector = vector(&row.text(0)?, &row.text(1)?);
    conn.execute(sql, params![place, reference, &vector])?;
    Ok(())
}

/// Words with their places, those of the title marked, as PostgreSQL writes its word vectors.
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

/// Remembers the words of a text, with their spellings, so that a mistyped one can be corrected.
fn learn(conn: &mut Conn, text: &str) -> Result<(), StoreError> {
    let words: BTreeSet<String> = words(text).filter(|word| is_correctable(word)).collect();
    if words.is_empty() {
        return Ok(());
    }
    let list = serde_json::to_string(&words).expect("a list of strings");
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

/// The best `limit` texts for what somebody typed. The last word may be unfinished.
pub fn search(conn: &mut Conn, typed: &str, limit: u64) -> Result<Vec<Hit>, StoreError> {
    let words: Vec<String> = words(typed).take(MOST_WORDS).collect();
    if words.is_empty() || words.iter().any(|word| word.len() > LONGEST_WORD) {
        return Ok(Vec::new());
    }
    let last = words.len() - 1;
    let exact: Vec<Vec<Term>> =
        words.iter().enumerate().map(|(i, word)| vec![Term { word: word.clone(), prefix: i == last }]).collect();
    let hits = run(conn, &exact, limit, 1.0)?;
    if !hits.is_empty() {
        return Ok(hits);
    }
    let mut forgiving = exact;
    for group in &mut forgiving {
        let candidates = corrections(conn, &group[0].word)?;
        group.extend(candidates.into_iter().map(|word| Term { word, prefix: false }));
    }
    run(conn, &forgiving, limit, FORGIVEN)
}

struct Term {
    word: String,
    prefix: bool,
}

fn run(conn: &mut Conn, groups: &[Vec<Term>], limit: u64, weight: f64) -> Result<Vec<Hit>, StoreError> {
    let written: Vec<Vec<String>> = groups
        .iter()
        .map(|group| group.iter().map(|term| conn.search_term(&term.word, term.prefix)).collect())
        .collect();
    let queries = [conn.search_query(&written), conn.search_titles(&written)];
    let mut scores: Vec<(u64, f64)> = Vec::new();
    for query in queries {
        for row in conn.rows(conn.search_sql(), params![&query, RANKED, limit])? {
            let id = row.int(0)?;
            if !scores.iter().any(|(known, _)| *known == id) {
                scores.push((id, row.real(1)? * weight));
            }
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scores.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    let terms: Vec<String> = groups
        .iter()
        .flatten()
        .map(|term| if term.prefix { format!("{}*", term.word) } else { term.word.clone() })
        .collect();
    scores.into_iter().map(|(id, score)| hit(conn, id, score, terms.clone())).collect()
}

fn hit(conn: &mut Conn, id: u64, score: f64, terms: Vec<String>) -> Result<Hit, StoreError> {
    let row = conn.row("SELECT brief, place, ref, title, body FROM search_docs WHERE id = $1", params![id])?;
    let row =
        row.ok_or_else(|| StoreError::Corrupt(format!("the search index names text {id}, which is not there")))?;
    Ok(Hit {
        brief: row.opt_int(0)?,
        place: row.text(1)?,
        reference: row.int(2)?,
        title: row.text(3)?,
        body: row.text(4)?,
        score,
        terms,
    })
}

/// Known words that are one typing mistake away from `word`.
fn corrections(conn: &mut Conn, word: &str) -> Result<Vec<String>, StoreError> {
    if !is_correctable(word) {
        return Ok(Vec::new());
    }
    let list = serde_json::to_string(&spellings(word)).expect("a list of strings");
    let sql =
        format!("SELECT DISTINCT word FROM search_spellings WHERE spelling IN ({}) ORDER BY word", conn.each_text());
    let mut candidates = Vec::new();
    for row in conn.rows(&sql, params![&list])? {
        let known = row.text(0)?;
        if known != word && strsim::osa_distance(&known, word) == 1 {
            candidates.push(known);
        }
        if candidates.len() == MOST_CANDIDATES {
            break;
        }
    }
    Ok(candidates)
}

/// Words that a person types and mistypes, not hashes, numbers or noise.
fn is_correctable(word: &str) -> bool {
    let length = word.chars().count();
    (4..=24).contains(&length) && !word.chars().any(char::is_numeric)
}

/// The word, and the word without each of its letters in turn.
fn spellings(word: &str) -> BTreeSet<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all: BTreeSet<String> = (0..letters.len())
        .map(|gap| letters.iter().enumerate().filter(|(i, _)| *i != gap).map(|(_, c)| c).collect())
        .collect();
    all.insert(word.to_owned());
    all
}

/// The words of a text, in lower case, as both databases cut them.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
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

    #[test]
    fn words_are_cut_at_punctuation() {
        let all: Vec<String> = words("src/main.rs: in_progress, Größe 12").collect();
        assert_eq!(all, ["src", "main", "rs", "in", "progress", "größe", "12"]);
    }
}
