//! Queries about dispatches, path leases and messages.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::review::Remark;
use flower_core::{ActorType, BriefId, Dispatch, DispatchId, Lease, LeaseId, MessageId};

pub fn dispatch(conn: &mut Conn, number: DispatchId) -> Result<Option<Dispatch>, StoreError> {
    conn.row("SELECT state FROM dispatches WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The dispatches that have not ended, oldest first.
pub fn open(conn: &mut Conn) -> Result<Vec<Dispatch>, StoreError> {
    conn.rows("SELECT state FROM dispatches WHERE open = 1 ORDER BY number", &[])?.iter().map(Row::state).collect()
}

/// The numbers of the dispatches that can be claimed, oldest first: those of one project and those without a project,
/// or all.
pub fn waiting(conn: &mut Conn, project: Option<&str>, limit: u64) -> Result<Vec<DispatchId>, StoreError> {
    let sql = "SELECT d.number FROM dispatches d JOIN briefs b ON b.number = d.brief WHERE d.stage = 'requested'
         AND b.status NOT IN ('parked', 'cancelled', 'done', 'landed')
         AND (CAST($1 AS TEXT) IS NULL OR d.project IS NULL OR d.project = $1) ORDER BY d.number LIMIT $2";
    conn.rows(sql, params![project, limit])?.iter().map(|row| row.id(0)).collect()
}

/// All dispatches, newest first, of one brief or of all.
pub fn all(conn: &mut Conn, brief: Option<BriefId>, limit: u64) -> Result<Vec<Dispatch>, StoreError> {
    let sql =
        "SELECT state FROM dispatches WHERE CAST($1 AS BIGINT) IS NULL OR brief = $1 ORDER BY number DESC LIMIT $2";
    conn.rows(sql, params![brief, limit])?.iter().map(Row::state).collect()
}

pub fn of_brief(conn: &mut Conn, brief: BriefId) -> Result<Vec<Dispatch>, StoreError> {
    let sql = "SELECT state FROM dispatches WHERE brief = $1 ORDER BY number";
    conn.rows(sql, params![brief])?.iter().map(Row::state).collect()
}

/// The open dispatches of several briefs; `briefs` is a JSON list of numbers.
pub fn open_of(conn: &mut Conn, briefs: &str) -> Result<Vec<Dispatch>, StoreError> {
    let sql =
        format!("SELECT state FROM dispatches WHERE open = 1 AND brief IN ({}) ORDER BY number", conn.each_number());
    conn.rows(&sql, params![briefs])?.iter().map(Row::state).collect()
}

/// The open dispatches whose work happens in this worktree.
pub fn in_worktree(conn: &mut Conn, project: &str, worktree: &str) -> Result<Vec<Dispatch>, StoreError> {
    let sql = "SELECT state FROM dispatches WHERE open = 1 AND project = $1 AND worktree = $2 ORDER BY number";
    conn.rows(sql, params![project, worktree])?.iter().map(Row::state).collect()
}

/// The dispatches that were handed back and whose briefs have landed.
pub fn landed(conn: &mut Conn, limit: u64) -> Result<Vec<DispatchId>, StoreError> {
    let sql = "SELECT d.number FROM dispatches d JOIN briefs b ON b.number = d.brief
         WHERE d.stage = 'handed_back' AND b.status = 'landed' ORDER BY d.number LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| row.id(0)).collect()
}

/// The newest dispatches of their briefs that were handed back with commits, but never queued for landing.
pub fn unqueued(conn: &mut Conn, limit: u64) -> Result<Vec<Dispatch>, StoreError> {
    let sql = "SELECT d.state FROM dispatches d JOIN briefs b ON b.number = d.brief
         WHERE d.stage = 'handed_back' AND b.status NOT IN ('landed', 'done', 'cancelled', 'parked')
             AND NOT EXISTS (SELECT 1 FROM dispatches n WHERE n.brief = d.brief AND n.number > d.number)
         ORDER BY d.number LIMIT $1";
    let all: Vec<Dispatch> = conn.rows(sql, params![limit])?.iter().map(Row::state).collect::<Result<_, _>>()?;
    let mut unqueued = Vec::new();
    for dispatch in all {
        let Some(tip) = dispatch.result.as_ref().filter(|back| !back.commits.is_empty()).and_then(|b| b.tip.clone())
        else {
            continue;
        };
        let known = super::landings::of_brief(conn, dispatch.brief)?;
        if !known.iter().any(|landing| landing.commit == tip) {
            unqueued.push(dispatch);
        }
    }
    Ok(unqueued)
}

/// The open dispatches that can never be worked on again, with the reason.
pub fn pointless(conn: &mut Conn, limit: u64) -> Result<Vec<(DispatchId, String)>, StoreError> {
    let sql = "SELECT d.number, 'its brief is ' || b.status FROM dispatches d JOIN briefs b ON b.number = d.brief
         WHERE d.open = 1 AND b.status IN ('cancelled', 'done', 'landed')
         UNION SELECT d.number, 'its project is gone' FROM dispatches d
         WHERE d.open = 1 AND d.project IS NOT NULL AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.name = d.project)
         ORDER BY 1 LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| Ok((row.id(0)?, row.text(1)?))).collect()
}

/// The briefs that flower should dispatch automatically and whose dependencies are met.
pub fn wanting(conn: &mut Conn, limit: u64) -> Result<Vec<BriefId>, StoreError> {
    let sql = "SELECT number FROM briefs b WHERE wants = 1 AND (status = 'draft' OR NOT EXISTS (
             SELECT 1 FROM brief_needs n JOIN briefs d ON d.number = n.needs
             WHERE n.brief = b.number AND d.status NOT IN ('landed', 'done')))
         ORDER BY number LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| row.id(0)).collect()
}

pub fn last(conn: &mut Conn) -> Result<DispatchId, StoreError> {
    highest(conn, "dispatches")
}

pub fn lease(conn: &mut Conn, number: LeaseId) -> Result<Option<Lease>, StoreError> {
    conn.row("SELECT state FROM leases WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The leases that were not released, of one worktree or of all.
pub fn leases(conn: &mut Conn, place: Option<(&str, &str)>) -> Result<Vec<Lease>, StoreError> {
    let (project, worktree) = place.unzip();
    let sql =
        "SELECT state FROM leases WHERE live = 1 AND (CAST($1 AS TEXT) IS NULL OR (project = $1 AND worktree = $2))
         ORDER BY number";
    conn.rows(sql, params![project, worktree])?.iter().map(Row::state).collect()
}

pub fn last_lease(conn: &mut Conn) -> Result<LeaseId, StoreError> {
    highest(conn, "leases")
}

/// Whether any lease was ever breached, which is rare.
pub fn any_breach(conn: &mut Conn) -> Result<bool, StoreError> {
    Ok(conn.row("SELECT 1 FROM breaches LIMIT 1", &[])?.is_some())
}

/// The breaches of leases by a commit: the holder of the lease, and the paths.
pub fn breaches(conn: &mut Conn, commit: &str) -> Result<Vec<(String, String)>, StoreError> {
    let sql = "SELECT holder, paths FROM breaches WHERE commit_id = $1 ORDER BY seq";
    conn.rows(sql, params![commit])?.iter().map(|row| Ok((row.text(0)?, row.text(1)?))).collect()
}

#[derive(Clone, Debug)]
pub struct Message {
    pub number: MessageId,
    pub kind: String,
    pub to: String,
    pub by_type: ActorType,
    pub by: String,
    pub at: String,
    pub seq: u64,
    pub text: String,
}

/// The messages to an agent after an event, by its name or by its worktree, without its own messages.
pub fn messages(
    conn: &mut Conn,
    agent: &str,
    worktree: Option<&str>,
    after: u64,
    limit: u64,
) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT number, kind, recipient, actor_type, actor_name, at, seq, text FROM messages
         WHERE seq > $3 AND ((kind = 'agent' AND recipient = $1) OR (kind = 'worktree' AND recipient = $2))
             AND NOT (actor_type = 'agent' AND actor_name = $1) ORDER BY seq LIMIT $4";
    conn.rows(sql, params![agent, worktree, after, limit])?.iter().map(message).collect()
}

pub fn messages_to_operator(conn: &mut Conn, after: u64, limit: u64) -> Result<Vec<Message>, StoreError> {
    let sql = "SELECT number, kind, recipient, actor_type, actor_name, at, seq, text FROM messages
         WHERE kind = 'operator' AND seq > $1 ORDER BY seq LIMIT $2";
    conn.rows(sql, params![after, limit])?.iter().map(message).collect()
}

/// The review comments on a worktree, oldest first: the message of each, and its position.
pub fn remarks(
    conn: &mut Conn,
    project: &str,
    worktree: &str,
    limit: u64,
) -> Result<Vec<(Message, Remark)>, StoreError> {
    let sql = "SELECT m.number, m.kind, m.recipient, m.actor_type, m.actor_name, m.at, m.seq, m.text, r.state
         FROM remarks r JOIN messages m ON m.number = r.message
         WHERE r.project = $1 AND r.worktree = $2 ORDER BY m.number DESC LIMIT $3";
    let mut found: Vec<(Message, Remark)> = conn
        .rows(sql, params![project, worktree, limit])?
        .iter()
        .map(|row| {
            let remark = serde_json::from_str(&row.text(8)?);
            let remark = remark.map_err(|error| StoreError::Corrupt(format!("a remark cannot be read: {error}")))?;
            Ok((message(row)?, remark))
        })
        .collect::<Result<_, StoreError>>()?;
    found.reverse();
    Ok(found)
}

pub fn last_message(conn: &mut Conn) -> Result<MessageId, StoreError> {
    highest(conn, "messages")
}

fn message(row: &Row) -> Result<Message, StoreError> {
    Ok(Message {
        number: row.id(0)?,
        kind: row.text(1)?,
        to: row.text(2)?,
        by_type: row.text(3)?.parse()?,
        by: row.text(4)?,
        at: row.text(5)?,
        seq: row.int(6)?,
        text: row.text(7)?,
    })
}

pub(super) fn highest<Id: From<u64> + Default>(conn: &mut Conn, table: &str) -> Result<Id, StoreError> {
    conn.row(&format!("SELECT coalesce(max(number), 0) FROM {table}"), &[])?.map_or(Ok(Id::default()), |row| row.id(0))
}
