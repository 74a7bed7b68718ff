//! Search: titles, specs, traces and scratchpads, ranked, with one typing mistake per word forgiven.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::index::{LONGEST_WORD, is_correctable, spellings};

/// Of a common word, only the newest texts are ranked.
const RANKED: u64 = 2_000;
const MOST_WORDS: usize = 12;
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

/// The words of a text, in lower case, as both databases cut them.
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
