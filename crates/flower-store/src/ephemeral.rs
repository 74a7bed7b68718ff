//! State that is stored outside the log: heartbeats, and how far messages were read. It is not part of the history:
//! losing it loses no work. The table is named `beside`.

use super::conn::{Conn, params};
use super::error::StoreError;
use flower_core::{DispatchId, Fence, Heartbeat};
use serde::{Deserialize, Serialize};

/// The last heartbeat of the holder of a dispatch.
#[derive(Serialize, Deserialize)]
struct Heard {
    fence: Fence,
    beat: Heartbeat,
}

pub fn get(conn: &mut Conn, key: &str) -> Result<Option<String>, StoreError> {
    conn.row("SELECT value FROM beside WHERE key = $1", params![key])?.map(|row| row.text(0)).transpose()
}

pub fn put(conn: &mut Conn, key: &str, value: &str) -> Result<(), StoreError> {
    let sql = "INSERT INTO beside (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    conn.execute(sql, params![key, value]).map(drop)
}

pub fn forget(conn: &mut Conn, key: &str) -> Result<(), StoreError> {
    conn.execute("DELETE FROM beside WHERE key = $1", params![key]).map(drop)
}

/// Deletes the entries that are not needed any more: heartbeats of ended dispatches, read positions of revoked tokens,
/// and authors of commits that were recorded before `before`.
pub fn tidy(conn: &mut Conn, before: &str) -> Result<(), StoreError> {
    conn.execute(
        "DELETE FROM beside WHERE key LIKE 'beat/%' AND NOT EXISTS (SELECT 1 FROM dispatches d
             WHERE d.open = 1 AND beside.key = 'beat/' || CAST(d.number AS TEXT))",
        &[],
    )?;
    conn.execute(
        "DELETE FROM beside WHERE key LIKE 'read/%' AND EXISTS (SELECT 1 FROM tokens t
             WHERE t.revoked_at IS NOT NULL AND beside.key = 'read/' || t.id)",
        &[],
    )?;
    conn.execute("DELETE FROM beside WHERE key LIKE 'made/%' AND value < $1", params![before]).map(drop)
}

pub fn heartbeat(conn: &mut Conn, dispatch: DispatchId) -> Result<Option<(Fence, Heartbeat)>, StoreError> {
    let text = get(conn, &format!("beat/{dispatch}"))?;
    // An unreadable entry counts as no heartbeat.
    Ok(text.and_then(|text| serde_json::from_str::<Heard>(&text).ok()).map(|heard| (heard.fence, heard.beat)))
}

pub fn record_heartbeat(
    conn: &mut Conn,
    dispatch: DispatchId,
    fence: Fence,
    beat: Heartbeat,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(&Heard { fence, beat }).expect("plain data");
    put(conn, &format!("beat/{dispatch}"), &text)
}
