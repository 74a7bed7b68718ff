//! Appends to the log and reads it. No other code writes the table `events`.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::chain::{self, GENESIS};
use flower_core::{BriefId, Caller, Draft, Recorded, Stream};
use std::collections::{BTreeSet, HashMap};

/// Maximum bytes of a page of events, however many rows were requested: specs can be long.
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

/// Appends the decided events inside the caller's transaction, and updates `tail` and the `versions` of their streams.
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

/// Up to `limit` events after `after`, in order, or fewer if their texts are long. An empty page means that there are
/// no more.
pub fn after(conn: &mut Conn, after: u64, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    trace(conn, &Of::All, Edge::After(after), limit)
}

/// The object whose events are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Of {
    #[default]
    All,
    Brief(BriefId),
    Project(String),
}

/// The boundary of a page of the log, and the direction from it.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// The first events after this one.
    After(u64),
    /// The newest events before this one.
    Before(u64),
}

impl Edge {
    fn sql(self) -> (&'static str, &'static str, u64) {
        match self {
            Edge::After(seq) => ("seq > $1", "ASC", seq),
            Edge::Before(seq) => ("seq < $1", "DESC", seq),
        }
    }
}

/// Up to `limit` events at a boundary, oldest first, or fewer if their texts are long.
pub fn trace(conn: &mut Conn, of: &Of, edge: Edge, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    let (side, order, seq) = edge.sql();
    let end = format!("ORDER BY seq {order} LIMIT $2");
    let mut events = match of {
        Of::All => page(conn, &format!("SELECT {COLUMNS} FROM events WHERE {side} {end}"), params![seq, limit])?,
        Of::Brief(brief) => of_brief(conn, *brief, edge, limit)?,
        Of::Project(project) => {
            let sql = format!("SELECT {COLUMNS} FROM events WHERE {side} AND {OF_PROJECT} {end}");
            page(conn, &sql, params![seq, limit, project])?
        }
    };
    if order == "DESC" {
        events.reverse();
    }
    Ok(events)
}

/// The events from `first` to `last` that belong to the project.
pub fn of_project(conn: &mut Conn, project: &str, first: u64, last: u64) -> Result<BTreeSet<u64>, StoreError> {
    let sql = format!("SELECT seq FROM events WHERE seq BETWEEN $1 AND $2 AND {OF_PROJECT}");
    conn.rows(&sql, params![first, last, project])?.iter().map(|row| row.int(0)).collect()
}

/// SQL condition on events: they concern the project in $3, its briefs, or objects that are or were in it.
const OF_PROJECT: &str = "(
    brief IN (SELECT brief FROM brief_projects WHERE project = $3)
    OR stream = 'project/' || $3
    OR stream IN (SELECT 'project/' || name FROM former_names WHERE now = $3)
    OR stream IN (
        SELECT 'worktree/' || CAST(number AS TEXT) FROM worktrees WHERE project = $3
        UNION ALL SELECT 'landing/' || CAST(number AS TEXT) FROM landings WHERE project = $3
        UNION ALL SELECT 'dispatch/' || CAST(number AS TEXT) FROM dispatches WHERE project = $3
        UNION ALL SELECT 'lease/' || CAST(number AS TEXT) FROM leases WHERE project = $3
        UNION ALL SELECT 'agent/' || CAST(number AS TEXT) FROM agents WHERE project = $3
        UNION ALL SELECT 'permission/' || CAST(p.number AS TEXT) FROM permissions p
            JOIN agents a ON a.number = p.agent WHERE a.project = $3
        UNION ALL SELECT 'message/' || CAST(message AS TEXT) FROM remarks WHERE project = $3
        UNION ALL SELECT 'message/' || CAST(m.number AS TEXT) FROM messages m
            JOIN agents a ON m.kind = 'agent' AND a.name = m.recipient WHERE a.project = $3
        UNION ALL SELECT 'message/' || CAST(m.number AS TEXT) FROM messages m
            JOIN worktrees w ON m.kind = 'worktree' AND w.name = m.recipient WHERE w.project = $3))";

/// The events of a brief: its own stream, and events of other streams, such as those of its scratchpads. Each of the
/// two has its own index, so each is limited before they are merged.
fn of_brief(conn: &mut Conn, brief: BriefId, edge: Edge, limit: u64) -> Result<Vec<Recorded>, StoreError> {
    let (side, order, seq) = edge.sql();
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
    page(conn, &sql, params![seq, limit, brief, &stream])
}

/// Whether a note or comment of the brief shows the image.
pub fn shows_image(conn: &mut Conn, brief: BriefId, sha256: &str) -> Result<bool, StoreError> {
    // The value goes into a LIKE pattern, so it must contain no wildcards.
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(false);
    }
    // Quotes inside a text are escaped in JSON, so no text can match this pattern.
    let pattern = format!("%\"sha256\":\"{sha256}\"%");
    let sql =
        "SELECT 1 FROM events WHERE stream = $1 AND kind IN ('note_added', 'comment_added') AND body LIKE $2 LIMIT 1";
    Ok(conn.row(sql, params![&Stream::Brief(brief).to_string(), &pattern])?.is_some())
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
        brief: row.opt_id(9)?,
        body: row.text(10)?,
        prev: row.text(11)?,
        hash: row.text(12)?,
    })
}
