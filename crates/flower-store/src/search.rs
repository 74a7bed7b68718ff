//! Search in titles, specs, traces and scratchpads, ranked, with tolerance for one typing mistake per word.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::index::{LONGEST_WORD, is_correctable, spellings};
use flower_core::BriefId;
use std::collections::BTreeSet;

/// Maximum texts that are ranked, and maximum titles: the newest ones that contain the words.
const RANKED: u64 = 150;
/// Characters of a text that are used for its rank.
const WEIGHED: u64 = 8_192;
const MAX_WORDS: usize = 12;
const MAX_CANDIDATES: usize = 8;
/// The weight of a hit that needed a correction, relative to an exact hit.
const FORGIVEN: f64 = 0.5;

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub brief: Option<BriefId>,
    /// `brief`, `trace` or `scratchpad`.
    pub place: String,
    pub reference: u64,
    pub title: String,
    pub body: String,
    pub score: f64,
    /// The words that matched, after corrections; prefixes end in `*`.
    pub terms: Vec<String>,
}

/// The best `limit` texts for the typed words. The last word may be incomplete.
pub fn search(conn: &mut Conn, typed: &str, limit: u64) -> Result<Vec<Hit>, StoreError> {
    search_where(conn, typed, limit, &mut |_, _| Ok(true))
}

/// Decides whether a text may be among the hits.
type Keep<'a> = dyn FnMut(&mut Conn, &Hit) -> Result<bool, StoreError> + 'a;

/// The best `limit` of the texts that `keep` accepts.
pub fn search_where(conn: &mut Conn, typed: &str, limit: u64, keep: &mut Keep<'_>) -> Result<Vec<Hit>, StoreError> {
    let words: Vec<String> = words(typed).take(MAX_WORDS).collect();
    if words.is_empty() || words.iter().any(|word| word.len() > LONGEST_WORD) {
        return Ok(Vec::new());
    }
    let last = words.len() - 1;
    let exact: Vec<Vec<Term>> =
        words.iter().enumerate().map(|(i, word)| vec![Term { word: word.clone(), prefix: i == last }]).collect();
    let hits = run(conn, &exact, limit, 1.0, keep)?;
    if !hits.is_empty() {
        return Ok(hits);
    }
    let mut forgiving = exact;
    for group in &mut forgiving {
        let candidates = corrections(conn, &group[0].word)?;
        group.extend(candidates.into_iter().map(|word| Term { word, prefix: false }));
    }
    run(conn, &forgiving, limit, FORGIVEN, keep)
}

struct Term {
    word: String,
    prefix: bool,
}

impl Term {
    fn matches(&self, word: &str) -> bool {
        if word.is_ascii() {
            return self.matches_ascii(word.as_bytes());
        }
        let word = word.to_lowercase();
        if self.prefix { word.starts_with(&self.word) } else { word == self.word }
    }

    fn matches_ascii(&self, word: &[u8]) -> bool {
        let term = self.word.as_bytes();
        let Some(begins) = word.get(..term.len()) else { return false };
        (self.prefix || word.len() == term.len()) && begins.eq_ignore_ascii_case(term)
    }
}

fn run(
    conn: &mut Conn,
    groups: &[Vec<Term>],
    limit: u64,
    weight: f64,
    keep: &mut Keep<'_>,
) -> Result<Vec<Hit>, StoreError> {
    let written: Vec<Vec<String>> = groups
        .iter()
        .map(|group| group.iter().map(|term| conn.search_term(&term.word, term.prefix)).collect())
        .collect();
    let mut texts = BTreeSet::new();
    for (sql, query) in
        [(conn.search_sql(), conn.search_query(&written)), (conn.search_titles_sql(), conn.search_titles(&written))]
    {
        let rows = conn.rows(sql, params![&query, RANKED])?;
        for row in &rows {
            texts.insert(row.int(0)?);
        }
        // Fewer rows than the limit are all matches, which include those by title.
        if (rows.len() as u64) < RANKED {
            break;
        }
    }
    let mut scores = rank(conn, &texts, groups)?;
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    let terms: Vec<String> = groups
        .iter()
        .flatten()
        .map(|term| if term.prefix { format!("{}*", term.word) } else { term.word.clone() })
        .collect();
    let mut hits = Vec::new();
    for (id, score) in scores {
        if hits.len() as u64 == limit {
            break;
        }
        let hit = hit(conn, id, score * weight, terms.clone())?;
        if keep(conn, &hit)? {
            hits.push(hit);
        }
    }
    Ok(hits)
}

/// The rank of each text: every word counts by its frequency, less in a long text, more in a title.
fn rank(conn: &mut Conn, texts: &BTreeSet<u64>, groups: &[Vec<Term>]) -> Result<Vec<(u64, f64)>, StoreError> {
    let list = serde_json::to_string(texts).expect("a list of numbers");
    let each = conn.each_number();
    let sql = format!("SELECT id, title, substr(body, 1, {WEIGHED}) FROM search_docs WHERE id IN ({each})");
    let rows = conn.rows(&sql, params![&list])?;
    rows.iter()
        .map(|row| {
            let (title, body) = (row.text(1)?, row.text(2)?);
            let (title, title_length) = count(&title, groups);
            let (body, body_length) = count(&body, groups);
            let score = title.iter().zip(&body).map(|(&in_title, &in_body)| {
                4.0 * in_title / (in_title + 0.5 + title_length / 20.0)
                    + in_body / (in_body + 1.0 + body_length / 300.0)
            });
            Ok((row.int(0)?, score.sum()))
        })
        .collect()
}

/// The number of matches of each group in a text, and the number of words of the text.
fn count(text: &str, groups: &[Vec<Term>]) -> (Vec<f64>, f64) {
    let mut counts = vec![0.0; groups.len()];
    let mut length = 0.0;
    let mut add = |matches: &dyn Fn(&Term) -> bool| {
        length += 1.0;
        for (count, group) in counts.iter_mut().zip(groups) {
            if group.iter().any(matches) {
                *count += 1.0;
            }
        }
    };
    if text.is_ascii() {
        let words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).for_each(|word| add(&|term| term.matches_ascii(word)));
    } else {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words.filter(|word| !word.is_empty()).for_each(|word| add(&|term| term.matches(word)));
    }
    (counts, length)
}

fn hit(conn: &mut Conn, id: u64, score: f64, terms: Vec<String>) -> Result<Hit, StoreError> {
    let row = conn.row("SELECT brief, place, ref, title, body FROM search_docs WHERE id = $1", params![id])?;
    let row =
        row.ok_or_else(|| StoreError::Corrupt(format!("the search index names text {id}, which is not there")))?;
    Ok(Hit {
        brief: row.opt_id(0)?,
        place: row.text(1)?,
        reference: row.int(2)?,
        title: row.text(3)?,
        body: row.text(4)?,
        score,
        terms,
    })
}

/// Words of the index that are one typing mistake away from `word`.
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
        if candidates.len() == MAX_CANDIDATES {
            break;
        }
    }
    Ok(candidates)
}

/// The words of a text in lower case, split in the same way for both databases.
pub fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_punctuation() {
        let all: Vec<String> = words("src/main.rs: in_progress, Größe 12").collect();
        assert_eq!(all, ["src", "main", "rs", "in", "progress", "größe", "12"]);
    }
}
