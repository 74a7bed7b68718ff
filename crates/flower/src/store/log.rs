//! The log: appending to it and reading it. Nothing else writes the table `events`.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::chain::{self, GENESIS};
use flower_core::{Caller, Draft, Recorded, Stream};
use std::collections::HashMap;

/// A page of events ends here, however many rows were asked for: specs can be long.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

const COLUMNS: &str = "seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash";

/// The end of the log: the last event's number and hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub seq: u64,
    pub hash: String,
}

impl Tail {
    pub fn read(conn: &mut Conn) -> Result<Tail, StoreError> {
        let row = conn.row("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1", &[])?;
        match row {
            Some(row) => Ok(Tail { seq: row.int(0)?, hash: row.text(1)? }),
            None => Ok(Tail { seq: 0, hash: GENESIS.to_owned() }),
        }
    }
}

/// Appends what was decided, inside the caller's transaction, and moves `tail` and the `versions` of streams on.
pub fn append(
    conn: &mut Conn,
    tail: &mut Tail,
    versions: &mut HashMap<String, u64>,
    caller: &Caller,
    at: &str,
    drafts: &[Draft],
) -> Result<Vec<Recorded>, StoreError> {
    let mut recorded = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let stream = draft.stream.to_string();
        let version = match versions.get(&stream) {
            Some(version) => version + 1,
            None => {
                let row =
                    conn.row("SELECT coalesce(max(version), 0) FROM events WHERE stream = $1", params![&stream])?;
                row.map_or(Ok(0), |row| row.int(0))? + 1
            }
        };
        versions.insert(stream.clone(), version);
        let mut event = Recorded {
            seq: tail.seq + 1,
            stream,
            version,
            kind: draft.event.kind().to_owned(),
            schema: flower_core::event::SCHEMA,
            actor_type: caller.actor.sort.to_string(),
            actor_name: caller.actor.name.clone(),
            door: caller.door.to_string(),
            at: at.to_owned(),
            brief: draft.brief,
            body: draft.event.encode(),
            prev: tail.hash.clone(),
            hash: String::new(),
        };
        event.hash = chain::hash(&event);
        insert(conn, &event)?;
        *tail = Tail { seq: event.seq, hash: event.hash.clone() };
        recorded.push(event);
    }
    Ok(recorded)
}

fn insert(conn: &mut Conn, event: &Recorded) -> Result<(), StoreError> {
    conn.execute(
        "INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        params![
            event.seq,
            &event.stream,
            event.version,
            &event.kind,
            event.schema,
            &event.actor_type,
            &event.actor_name,
            &event.door,
            &event.at,
            event.brief,
            &event.body,
            &event.prev,
            &event.hash
        ],
    )?;
    Ok(())
}

/// Up to `limit` events after `after`, in order; fewer when their texts are long. Empty means that there are no more.
pub fn after(conn: &mut Conn, after: u64, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM events WHERE seq > $1 ORDER BY seq LIMIT $2");
    page(conn, &sql, params![after, limit])
}

/// The trace of one brief, in order.
pub fn of_brief(conn: &mut Conn, brief: u64, after: u64, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    trace(conn, brief, ("seq > $1", "ASC"), after, limit)
}

/// The newest `limit` events before `before`, newest last; of one brief or of all.
pub fn newest(conn: &mut Conn, brief: Option<u64>, before: u64, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    let mut events = match brief {
        Some(brief) => trace(conn, brief, ("seq < $1", "DESC"), before, limit)?,
        None => {
            let sql = format!("SELECT {COLUMNS} FROM events WHERE seq < $1 ORDER BY seq DESC LIMIT $2");
            page(conn, &sql, params![before, limit])?
        }
    };
    events.reverse();
    Ok(events)
}

/// What belongs to a brief: its own stream, and events of other streams, such as those of its scratchpads. Each has an
/// index of its own, so each gives its next ones.
fn trace(
    conn: &mut Conn,
    brief: u64,
    (side, order): (&str, &str),
    edge: u64,
    limit: u64,
) -> Result<Vec<Recorded>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM events WHERE seq IN (
             SELECT seq FROM (
                 SELECT seq FROM events WHERE stream = $4 AND {side} ORDER BY version {order} LIMIT $2) AS own
             UNION ALL
             SELECT seq FROM (
                 SELECT seq FROM events WHERE brief = $3 AND stream <> 'brief/' || CAST(brief AS TEXT) AND {side}
                 ORDER BY seq {order} LIMIT $2) AS others)
         ORDER BY seq {order} LIMIT $2"
    );
    let stream = Stream::Brief(brief).to_string();
    page(conn, &sql, params![edge, limit, brief, &stream])
}

pub fn hash_at(conn: &mut Conn, seq: u64) -> Result<Option<String>, StoreError> {
    if seq == 0 {
        return Ok(Some(GENESIS.to_owned()));
    }
    conn.row("SELECT hash FROM events WHERE seq = $1", params![seq])?.map(|row| row.text(0)).transpose()
}

fn page(conn: &mut Conn, sql: &str, params: &[super::conn::Param<'_>]) -> Result<Vec<Recorded>, StoreError> {
    let mut events = Vec::new();
    let mut bytes = 0;
    for row in conn.rows(sql, params)? {
        let event = decode(&row)?;
        bytes += event.body.len();
        events.push(event);
        if bytes >= PAGE_BYTES {
            break;
        }
    }
    Ok(events)
}

fn decode(row: &Row) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        seq: row.int(0)?,
        stream: row.text(1)?,
        version: row.int(2)?,
        kind: row.text(3)?,
        schema: row.int(4)?,
        actor_type: row.text(5)?,
        actor_name: row.text(6)?,
        door: row.text(7)?,
        at: row.text(8)?,
        brief: row.opt_int(9)?,
        body: row.text(10)?,
        prev: row.text(11)?,
        hash: row.text(12)?,
    })
}
