//! Queries about worktrees, the archives of removed ones, and the approved commands.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::{Worktree, WorktreeId};

pub fn worktree(conn: &mut Conn, number: WorktreeId) -> Result<Option<Worktree>, StoreError> {
    conn.row("SELECT state FROM worktrees WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The worktrees that still use their names, sorted by name, of one project or of all.
pub fn live(conn: &mut Conn, project: Option<&str>) -> Result<Vec<Worktree>, StoreError> {
    let sql = "SELECT state FROM worktrees WHERE live = 1 AND (CAST($1 AS TEXT) IS NULL OR project = $1)
         ORDER BY project, name";
    conn.rows(sql, params![project])?.iter().map(Row::state).collect()
}

/// The live worktree with this name.
pub fn named(conn: &mut Conn, project: &str, name: &str) -> Result<Option<Worktree>, StoreError> {
    let sql = "SELECT state FROM worktrees WHERE live = 1 AND project = $1 AND name = $2";
    conn.row(sql, params![project, name])?.map(|row| row.state()).transpose()
}

/// The removed worktrees, newest first.
pub fn removed(conn: &mut Conn, project: Option<&str>) -> Result<Vec<Worktree>, StoreError> {
    let sql = "SELECT state FROM worktrees WHERE stage = 'removed' AND (CAST($1 AS TEXT) IS NULL OR project = $1)
         ORDER BY number DESC";
    conn.rows(sql, params![project])?.iter().map(Row::state).collect()
}

/// The SHA-256 of every list of commands that is approved for the project.
pub fn approvals(conn: &mut Conn, project: &str) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT sha256 FROM approvals WHERE project = $1 ORDER BY sha256";
    conn.rows(sql, params![project])?.iter().map(|row| row.text(0)).collect()
}

/// Whether a list of commands with this SHA-256 is approved for the project.
pub fn is_approved(conn: &mut Conn, project: &str, sha256: &str) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM approvals WHERE project = $1 AND sha256 = $2";
    Ok(conn.row(sql, params![project, sha256])?.is_some())
}
