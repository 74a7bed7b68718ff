//! Queries about tokens.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::{Binding, BriefId, DispatchId, Role};

#[derive(Clone, Debug)]
pub struct Token {
    pub id: String,
    pub agent: String,
    pub role: Role,
    pub brief: Option<BriefId>,
    pub worktree: Option<String>,
    pub at: String,
    pub revoked_at: Option<String>,
    /// The dispatch that the token was made for.
    pub run: Option<Binding>,
    /// The event that created the token.
    pub seq: u64,
}

fn decode(row: &Row) -> Result<Token, StoreError> {
    Ok(Token {
        id: row.text(0)?,
        agent: row.text(1)?,
        role: row.text(2)?.parse()?,
        brief: row.opt_id(3)?,
        worktree: row.opt_text(4)?,
        at: row.text(5)?,
        revoked_at: row.opt_text(6)?,
        run: row
            .opt_int(7)?
            .map(|dispatch| Ok::<_, StoreError>(Binding { dispatch: DispatchId(dispatch), member: row.int(8)? == 1 }))
            .transpose()?,
        seq: row.int(9)?,
    })
}

const SELECT: &str = "SELECT id, agent, role, brief, worktree, at, revoked_at, dispatch, member, seq FROM tokens";

pub fn all(conn: &mut Conn) -> Result<Vec<Token>, StoreError> {
    conn.rows(&format!("{SELECT} ORDER BY at, id"), &[])?.iter().map(decode).collect()
}

pub fn by_id(conn: &mut Conn, id: &str) -> Result<Option<Token>, StoreError> {
    conn.row(&format!("{SELECT} WHERE id = $1"), params![id])?.map(|row| decode(&row)).transpose()
}

/// The agents with a valid token of a dispatch of this brief that is claimed.
pub fn of_live_runs(conn: &mut Conn, brief: BriefId) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT t.agent FROM tokens t JOIN dispatches d ON d.number = t.dispatch
         WHERE d.brief = $1 AND d.stage IN ('claimed', 'executing') AND t.revoked_at IS NULL";
    conn.rows(sql, params![brief])?.iter().map(|row| row.text(0)).collect()
}

/// Valid tokens that were made for a dispatch that has ended.
pub fn of_ended(conn: &mut Conn, limit: u64) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT t.id FROM tokens t JOIN dispatches d ON d.number = t.dispatch
         JOIN briefs b ON b.number = d.brief
         WHERE t.revoked_at IS NULL AND t.packet = 1 AND (d.stage IN ('landed', 'failed', 'cancelled')
             OR (d.stage = 'handed_back' AND b.status IN ('done', 'cancelled'))) ORDER BY t.seq LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| row.text(0)).collect()
}

/// The token with this SHA-256, if it is valid.
pub fn by_hash(conn: &mut Conn, sha256: &str) -> Result<Option<Token>, StoreError> {
    let sql = format!("{SELECT} WHERE sha256 = $1 AND revoked_at IS NULL");
    conn.row(&sql, params![sha256])?.map(|row| decode(&row)).transpose()
}
