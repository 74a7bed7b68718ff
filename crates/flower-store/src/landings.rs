//! Queries about landings, and about MAIN according to the log.

use super::conn::{Conn, Row, params};
use super::dispatches::highest;
use super::error::StoreError;
use flower_core::landing::{State, Verdict};
use flower_core::{Brief, BriefId, Landing, LandingId, Main, WorktreeId};
use std::collections::BTreeMap;

pub fn landing(conn: &mut Conn, number: LandingId) -> Result<Option<Landing>, StoreError> {
    conn.row("SELECT state FROM landings WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The landings that have not ended, oldest first, of one project or of all.
pub fn open(conn: &mut Conn, project: Option<&str>) -> Result<Vec<Landing>, StoreError> {
    let sql =
        "SELECT state FROM landings WHERE open = 1 AND (CAST($1 AS TEXT) IS NULL OR project = $1) ORDER BY number";
    conn.rows(sql, params![project])?.iter().map(Row::state).collect()
}

/// All landings, newest first.
pub fn all(conn: &mut Conn, project: Option<&str>, limit: u64) -> Result<Vec<Landing>, StoreError> {
    let sql = "SELECT state FROM landings WHERE CAST($1 AS TEXT) IS NULL OR project = $1 ORDER BY number DESC LIMIT $2";
    conn.rows(sql, params![project, limit])?.iter().map(Row::state).collect()
}

pub fn of_brief(conn: &mut Conn, brief: BriefId) -> Result<Vec<Landing>, StoreError> {
    let sql = "SELECT l.state FROM landing_briefs b JOIN landings l ON l.number = b.landing WHERE b.brief = $1
         ORDER BY l.number";
    conn.rows(sql, params![brief])?.iter().map(Row::state).collect()
}

/// The landing that reverted another in MAIN.
pub fn undoing(conn: &mut Conn, of: LandingId) -> Result<Option<Landing>, StoreError> {
    let rows = conn.rows("SELECT state FROM landings WHERE number > $1 AND open = 0 ORDER BY number", params![of])?;
    let later: Vec<Landing> = rows.iter().map(Row::state).collect::<Result<_, _>>()?;
    Ok(later.into_iter().find(|landing| landing.of == Some(of) && landing.state == State::Landed))
}

/// For each brief that is in progress and has no open dispatch: its newest landing, if it was rolled back or rejected.
pub fn unmended(conn: &mut Conn, limit: u64) -> Result<Vec<Landing>, StoreError> {
    let sql = "SELECT l.state FROM briefs b JOIN landings l ON l.number =
             (SELECT max(o.landing) FROM landing_briefs o WHERE o.brief = b.number)
         WHERE b.status = 'in_progress' AND l.open = 0
             AND NOT EXISTS (SELECT 1 FROM dispatches d WHERE d.brief = b.number AND d.open = 1)
         ORDER BY l.number DESC LIMIT $1";
    let ended: Vec<Landing> = conn.rows(sql, params![limit])?.iter().map(Row::state).collect::<Result<_, _>>()?;
    let went_wrong = |landing: &Landing| match landing.state {
        State::RolledBack => true,
        State::Rejected => landing.verdict != Some(Verdict::Nothing),
        _ => false,
    };
    Ok(ended.into_iter().filter(went_wrong).collect())
}

pub fn of_worktree(conn: &mut Conn, project: &str, worktree: WorktreeId) -> Result<Vec<Landing>, StoreError> {
    let sql = "SELECT state FROM landings WHERE project = $1 AND worktree = $2 ORDER BY number";
    conn.rows(sql, params![project, worktree])?.iter().map(Row::state).collect()
}

/// The landing that moved a project's MAIN to this commit; otherwise the newest one that tried. Several can have tried the same
/// commit of a remote, also in another clone of it.
pub fn by_merge_commit(conn: &mut Conn, project: &str, commit: &str) -> Result<Option<Landing>, StoreError> {
    let sql = "SELECT state FROM landings WHERE merge_commit = $1 AND project = $2 ORDER BY number DESC";
    let all: Vec<Landing> =
        conn.rows(sql, params![commit, project])?.iter().map(Row::state).collect::<Result<_, _>>()?;
    let moved_main = |landing: &&Landing| matches!(landing.state, State::Landed | State::RolledBack);
    Ok(all.iter().find(moved_main).or(all.first()).cloned())
}

pub fn last(conn: &mut Conn) -> Result<LandingId, StoreError> {
    highest(conn, "landings")
}

pub fn main(conn: &mut Conn, project: &str) -> Result<Option<Main>, StoreError> {
    let row = conn.row("SELECT state FROM mains WHERE project = $1", params![project])?;
    row.map(|row| row.state()).transpose()
}

pub fn mains(conn: &mut Conn) -> Result<Vec<(String, Main)>, StoreError> {
    let rows = conn.rows("SELECT state, project FROM mains ORDER BY project", &[])?;
    rows.iter().map(|row| Ok((row.text(1)?, row.state()?))).collect()
}

/// The briefs of these landings, and their dependencies.
pub fn briefs(conn: &mut Conn, landings: &[Landing]) -> Result<BTreeMap<BriefId, Brief>, StoreError> {
    let mut briefs = BTreeMap::new();
    let mut wanted: Vec<BriefId> = landings.iter().flat_map(|landing| landing.briefs.iter().copied()).collect();
    let own = wanted.len();
    let mut at = 0;
    while at < wanted.len() {
        if let Some(brief) = super::briefs::state(conn, wanted[at])? {
            if at < own {
                wanted.extend(brief.depends_on.iter().copied());
            }
            briefs.insert(brief.number, brief);
        }
        at += 1;
    }
    Ok(briefs)
}
