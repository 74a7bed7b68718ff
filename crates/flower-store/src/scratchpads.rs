//! Queries about scratchpads.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::{BriefId, ScratchpadId};

#[derive(Clone, Debug)]
pub struct ScratchpadRow {
    pub number: ScratchpadId,
    pub title: String,
    pub brief: Option<BriefId>,
    pub version: u64,
    pub by: String,
    pub created_at: String,
    pub updated_at: String,
    /// Empty in lists.
    pub text: String,
}

fn decode(row: &Row) -> Result<ScratchpadRow, StoreError> {
    Ok(ScratchpadRow {
        number: row.id(0)?,
        title: row.text(1)?,
        brief: row.opt_id(2)?,
        version: row.int(3)?,
        by: row.text(4)?,
        created_at: row.text(5)?,
        updated_at: row.text(6)?,
        text: row.text(7)?,
    })
}

pub fn scratchpad(conn: &mut Conn, number: ScratchpadId) -> Result<Option<ScratchpadRow>, StoreError> {
    let sql = "SELECT number, title, brief, version, actor_name, created_at, updated_at, text
         FROM scratchpads WHERE number = $1";
    conn.row(sql, params![number])?.map(|row| decode(&row)).transpose()
}

pub fn list(
    conn: &mut Conn,
    brief: Option<BriefId>,
    after: ScratchpadId,
    limit: u64,
) -> Result<Vec<ScratchpadRow>, StoreError> {
    let sql = "SELECT number, title, brief, version, actor_name, created_at, updated_at, '' FROM scratchpads
         WHERE number > $1 AND (CAST($3 AS BIGINT) IS NULL OR brief = $3) ORDER BY number LIMIT $2";
    conn.rows(sql, params![after, limit, brief])?.iter().map(decode).collect()
}
