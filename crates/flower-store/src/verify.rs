//! `flower log verify`: checks the whole chain, and how much of it the head file outside the database proves.

use super::conn::Conn;
use super::error::StoreError;
use super::head::Proof;
use super::log::{self, Tail};
use flower_core::chain::{Fault, GENESIS, Verifier};

const PAGE: u64 = 2_000;

/// The result of a verification. `fault` is the first event that differs from what was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The number of valid events.
    pub verified: u64,
    pub head: String,
    pub fault: Option<Fault>,
    /// The last event that the head file proves.
    pub proved: Option<u64>,
    /// The number of events after it, which only the chain itself protects.
    pub unproved: u64,
}

pub fn verify(conn: &mut Conn, head: Option<Tail>) -> Result<Verdict, StoreError> {
    // Event numbers start at 1, and so do the pages, so pages would never show a row before it.
    if conn.row("SELECT 1 FROM events WHERE seq < 1 LIMIT 1", &[])?.is_some() {
        let fault = Some(Fault { seq: 0, what: "an event stands before the first".to_owned() });
        return Ok(Verdict { verified: 0, head: GENESIS.to_owned(), fault, proved: None, unproved: 0 });
    }
    let mut verifier = Verifier::default();
    let mut fault = None;
    let mut limit = PAGE;
    'pages: loop {
        let next = verifier.head().0 + 1;
        let page = match log::after(conn, next - 1, limit) {
            // One row of the page is not a valid event: read one by one up to it.
            Err(StoreError::Corrupt(_)) if limit > 1 => {
                limit = 1;
                continue;
            }
            Err(StoreError::Corrupt(what)) => {
                fault = Some(Fault { seq: next, what: format!("event {next} cannot be read: {what}") });
                break;
            }
            page => page?,
        };
        if page.is_empty() {
            break;
        }
        for event in &page {
            if let Err(found) = verifier.check(event) {
                fault = Some(found);
                break 'pages;
            }
        }
    }
    let proof = Proof::of(conn, head)?;
    let (verified, hash) = verifier.head();
    let (proved, unproved) = match &proof {
        Proof::Holds { proved, unproved } => (Some(*proved), *unproved),
        Proof::Absent => (None, verified),
        Proof::Broken { .. } => (None, verified),
    };
    if let (None, Proof::Broken { proved, found }) = (&fault, &proof) {
        let what = if proved.seq > found.seq {
            format!("the log was cut: events {} to {} were recorded and are missing", found.seq + 1, proved.seq)
        } else {
            format!("event {} is not the one that was recorded; the log was written anew", proved.seq)
        };
        fault = Some(Fault { seq: found.seq.min(proved.seq.saturating_sub(1)) + 1, what });
    }
    Ok(Verdict { verified, head: hash.to_owned(), fault, proved, unproved })
}
