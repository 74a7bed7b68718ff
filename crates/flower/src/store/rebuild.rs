//! `flower log rebuild`: empties the tables and fills them again from the log.

use super::conn::{Conn, Value};
use super::error::StoreError;
use super::log;
use super::projection::{Projector, TABLES};
use flower_core::chain;
use std::collections::BTreeMap;

const PAGE: u64 = 1_000;
const MOST_HELD: usize = 10_000;

/// What a rebuild found: the tables whose rows were not what the log says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    pub events: u64,
    pub rows: u64,
    pub mended: Vec<String>,
}

/// Refills every table and says which of them had differed. `keep` false only looks, and leaves all as it was.
pub fn rebuild(conn: &mut Conn, keep: bool, progress: &mut dyn FnMut(u64)) -> Result<Rebuilt, StoreError> {
    conn.begin_write()?;
    let result = compare(conn, progress);
    conn.script(if result.is_ok() && keep { "COMMIT" } else { "ROLLBACK" })?;
    result
}

fn compare(conn: &mut Conn, progress: &mut dyn FnMut(u64)) -> Result<Rebuilt, StoreError> {
    let before = digests(conn)?;
    let events = refill(conn, progress)?;
    let after = digests(conn)?;
    let mended =
        TABLES.iter().filter(|table| before[*table] != after[*table]).map(|table| (*table).to_owned()).collect();
    Ok(Rebuilt { events, rows: after.values().map(|(rows, _)| rows).sum(), mended })
}

/// Empties and fills, inside the caller's transaction. Gives the number of events read.
pub fn refill(conn: &mut Conn, progress: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
    conn.mend_word_index()?;
    for table in TABLES {
        conn.execute(&format!("DELETE FROM {table}"), &[])?;
    }
    let mut projector = Projector::default();
    let mut last = 0;
    loop {
        let page = log::after(conn, last, PAGE)?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for event in &page {
            projector.apply(conn, event)?;
        }
        if projector.held() > MOST_HELD {
            projector.flush(conn)?;
            projector = Projector::default();
        }
        progress(last);
    }
    projector.flush(conn)?;
    Ok(last)
}

/// Rows and a digest over all of them, per table, whatever order the database keeps them in.
fn digests(conn: &mut Conn) -> Result<BTreeMap<&'static str, (u64, String)>, StoreError> {
    let mut digests = BTreeMap::new();
    for table in TABLES {
        // PostgreSQL's index column is made from the others and has no common form.
        let columns = if *table == "search_docs" { "id, brief, place, ref, title, body" } else { "*" };
        let mut rows: Vec<String> = conn
            .rows(&format!("SELECT {columns} FROM {table}"), &[])?
            .iter()
            .map(|row| chain::sha256(row.0.iter().map(render).collect::<Vec<_>>().join("\u{1f}").as_bytes()))
            .collect();
        rows.sort_unstable();
        digests.insert(*table, (rows.len() as u64, chain::sha256(rows.concat().as_bytes())));
    }
    Ok(digests)
}

fn render(value: &Value) -> String {
    match value {
        Value::Null => "\u{0}".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Text(text) => text.clone(),
    }
}
