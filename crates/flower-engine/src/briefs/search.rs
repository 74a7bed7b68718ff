//! Search results for people: the place of a match, a snippet around it, and the position of the match in the snippet.

use crate::Briefs;
use crate::access::rights::Reader;
use flower_contract::error::Problem;
use flower_contract::view::{SearchHit, SearchPlace};
use flower_core::Caller;
use flower_core::policy::Read;
use flower_store::search::{self, Hit, words};
use flower_store::{Conn, StoreError, briefs};

const MAX_HITS: u64 = 100;
/// Characters on each side of the first match.
const CONTEXT_CHARS: usize = 60;

impl Briefs {
    pub async fn search(&self, caller: &Caller, typed: String, limit: Option<u64>) -> Result<Vec<SearchHit>, Problem> {
        let limit = limit.unwrap_or(20).clamp(1, MAX_HITS);
        let reader = self.access.reader(caller).await?;
        let hits = self.store.read(move |conn| {
            let hits = search::search_where(conn, &typed, limit, &mut |conn, hit| may_find(conn, &reader, hit))?;
            hits.iter().map(|hit| hit_view(conn, hit)).collect()
        });
        Ok(hits.await?)
    }
}

/// Whether the reader may see a hit: every hit in briefs that it may read, and hits in titles of other briefs of its project.
fn may_find(conn: &mut Conn, reader: &Reader, hit: &Hit) -> Result<bool, StoreError> {
    if reader.may(Read::Brief { number: hit.brief }) {
        return Ok(true);
    }
    let Some(number) = hit.brief.filter(|_| hit.place == "brief" && !find(&hit.title, &hit.terms, 1).is_empty()) else {
        return Ok(false);
    };
    let projects = briefs::state(conn, number)?.map(|brief| brief.projects).unwrap_or_default();
    Ok(projects.iter().any(|name| reader.may(Read::Project { name })))
}

fn hit_view(conn: &mut Conn, hit: &Hit) -> Result<SearchHit, StoreError> {
    let in_title = !find(&hit.title, &hit.terms, 1).is_empty();
    let (place, text) = match (hit.place.as_str(), in_title) {
        ("brief", true) => (SearchPlace::Title, &hit.title),
        ("brief", false) => (SearchPlace::Spec, &hit.body),
        ("scratchpad", true) => (SearchPlace::Scratchpad, &hit.title),
        ("scratchpad", false) => (SearchPlace::Scratchpad, &hit.body),
        _ => (SearchPlace::Trace, &hit.body),
    };
    let (snippet, marks) = snippet(text, &hit.terms);
    let title = match hit.brief {
        Some(number) if hit.place == "trace" => briefs::state(conn, number)?.map_or_else(String::new, |b| b.title),
        _ => hit.title.clone(),
    };
    Ok(SearchHit {
        brief: hit.brief.map(u64::from),
        title,
        place,
        reference: (hit.place != "brief").then_some(hit.reference),
        snippet,
        marks,
        score: hit.score,
    })
}

/// A piece of `text` around its first match, on one line, and the positions of the matches in it.
fn snippet(text: &str, terms: &[String]) -> (String, Vec<(usize, usize)>) {
    let first = find(text, terms, 1).first().map_or(0, |(start, _)| *start);
    let before = text[..first].char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(i, _)| i);
    let after = text[first..].char_indices().nth(CONTEXT_CHARS * 2).map_or(text.len(), |(i, _)| first + i);
    let piece = text[before..after].split_whitespace().collect::<Vec<_>>().join(" ");
    let lead = if before > 0 { "…" } else { "" };
    let tail = if after < text.len() { "…" } else { "" };
    let snippet = format!("{lead}{piece}{tail}");
    let marks = find(&snippet, terms, 20)
        .into_iter()
        .map(|(start, end)| (snippet[..start].chars().count(), snippet[start..end].chars().count()))
        .collect();
    (snippet, marks)
}

/// Byte ranges of the words in `text` that match one of the terms, at most `max`.
fn find(text: &str, terms: &[String], max: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    let ends = text.char_indices().chain([(text.len(), ' ')]);
    for (at, c) in ends {
        match (c.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(begin)) => {
                start = None;
                let word = words(&text[begin..at]).next().unwrap_or_default();
                if terms.iter().any(|term| matches(&word, term)) {
                    found.push((begin, at));
                    if found.len() == max {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    found
}

fn matches(word: &str, term: &str) -> bool {
    match term.strip_suffix('*') {
        Some(beginning) => word.starts_with(beginning),
        None => word == term,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_match_and_where_it_is() {
        let text = format!("{} the landing queue\nis serial {}", "x ".repeat(100), "y ".repeat(100));
        let (snippet, marks) = snippet(&text, &["queue".into(), "ser*".into()]);
        assert!(snippet.starts_with('…') && snippet.ends_with('…'), "{snippet}");
        let chars: Vec<char> = snippet.chars().collect();
        let marked: Vec<String> = marks.iter().map(|(at, n)| chars[*at..at + n].iter().collect()).collect();
        assert_eq!(marked, ["queue", "serial"]);
    }

    #[test]
    fn a_snippet_of_a_text_without_matches_is_its_beginning() {
        assert_eq!(snippet("größe", &["x".into()]), ("größe".to_owned(), vec![]));
        assert_eq!(snippet("", &[]), (String::new(), vec![]));
    }
}
