//! `flower log rebuild`: empties the tables and fills them again from the log.

use super::conn::{Conn, Row, Value};
use super::error::StoreError;
use super::index::Index;
use super::log;
use super::projection::{Projector, TABLES};
use flower_core::chain;
use std::collections::BTreeMap;

const PAGE: u64 = 1_000;
const MAX_HELD: usize = 10_000;

/// The result of a rebuild: the tables whose rows differed from the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    pub events: u64,
    pub rows: u64,
    pub mended: Vec<String>,
}

/// Refills every table and returns the tables that differed. If `keep` is false, the transaction is rolled back.
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
    Ok(Rebuilt { events, rows: after.values().map(|digest| digest.rows).sum(), mended })
}

/// Empties and refills the tables inside the caller's transaction. Returns the number of events read.
pub fn refill(conn: &mut Conn, progress: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
    conn.empty_word_index()?;
    for table in TABLES {
        conn.execute(&format!("DELETE FROM {table}"), &[])?;
    }
    let mut projector = Projector::default();
    let mut index = Index::default();
    let mut last = 0;
    loop {
        let page = log::after(conn, last, PAGE)?;
        let Some(end) = page.last() else { break };
        last = end.seq;
        for event in &page {
            projector.apply(conn, event, &mut index)?;
        }
        index.flush(conn)?;
        if projector.held() > MAX_HELD {
            projector.flush(conn)?;
            projector = Projector::default();
        }
        progress(last);
    }
    projector.flush(conn)?;
    Ok(last)
}

/// The number of rows of a table and a sum of their hashes. The sum does not depend on the order of rows, and needs the
/// memory of one row only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    rows: u64,
    sum: [u128; 2],
}

impl Digest {
    fn add(&mut self, row: &Row) {
        let text = row.0.iter().map(render).collect::<Vec<_>>().join("\u{1f}");
        let hash = chain::sha256(text.as_bytes());
        self.rows += 1;
        for (sum, half) in self.sum.iter_mut().zip([&hash[..32], &hash[32..]]) {
            *sum = sum.wrapping_add(u128::from_str_radix(half, 16).expect("a hash is hexadecimal"));
        }
    }
}

fn digests(conn: &mut Conn) -> Result<BTreeMap<&'static str, Digest>, StoreError> {
    let mut digests = BTreeMap::new();
    for table in TABLES {
        // PostgreSQL's index column is computed from the others and differs between the databases.
        let columns = if *table == "search_docs" { "id, brief, place, ref, title, body" } else { "*" };
        let mut digest = Digest::default();
        conn.each_row(&format!("SELECT {columns} FROM {table}"), &[], &mut |row| digest.add(&row))?;
        digests.insert(*table, digest);
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
