//! Queries about questions, scratchpads, projects and tokens.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::{Binding, BriefId, DispatchId, Role, ScratchpadId};

/// A question without an answer.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub brief: BriefId,
    pub title: String,
    pub question: u64,
    pub text: String,
    pub asked_type: String,
    pub asked_by: String,
    pub asked_at: String,
}

/// The unanswered questions of one agent on a brief.
pub fn open_questions_by(conn: &mut Conn, brief: BriefId, asked_by: &str) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT question FROM questions WHERE brief = $1 AND asked_by = $2 AND answer IS NULL ORDER BY question";
    conn.rows(sql, params![brief, asked_by])?.iter().map(|row| row.int(0)).collect()
}

pub fn open_questions(conn: &mut Conn, limit: u64) -> Result<Vec<OpenQuestion>, StoreError> {
    let sql = "SELECT q.brief, b.title, q.question, q.text, q.asked_type, q.asked_by, q.asked_at FROM questions q
         JOIN briefs b ON b.number = q.brief WHERE q.answer IS NULL ORDER BY q.asked_at, q.brief, q.question LIMIT $1";
    conn.rows(sql, params![limit])?
        .iter()
        .map(|row| {
            Ok(OpenQuestion {
                brief: row.id(0)?,
                title: row.text(1)?,
                question: row.int(2)?,
                text: row.text(3)?,
                asked_type: row.text(4)?,
                asked_by: row.text(5)?,
                asked_at: row.text(6)?,
            })
        })
        .collect()
}

/// A question with its answer: text, author, time.
#[derive(Clone, Debug)]
pub struct Asked {
    pub question: u64,
    pub text: String,
    pub asked_type: String,
    pub asked_by: String,
    pub asked_at: String,
    pub answer: Option<(String, String, String)>,
}

/// Questions of a brief, newest first.
pub fn questions(conn: &mut Conn, brief: BriefId, limit: u64) -> Result<Vec<Asked>, StoreError> {
    let sql = "SELECT question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at FROM questions
         WHERE brief = $1 ORDER BY question DESC LIMIT $2";
    conn.rows(sql, params![brief, limit])?
        .iter()
        .map(|row| {
            let answer = match row.opt_text(5)? {
                Some(text) => Some((text, row.opt_text(6)?.unwrap_or_default(), row.opt_text(7)?.unwrap_or_default())),
                None => None,
            };
            Ok(Asked {
                question: row.int(0)?,
                text: row.text(1)?,
                asked_type: row.text(2)?,
                asked_by: row.text(3)?,
                asked_at: row.text(4)?,
                answer,
            })
        })
        .collect()
}

/// A brief that waits for acceptance.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub brief: BriefId,
    pub title: String,
    pub status: String,
    pub by: String,
    pub by_type: String,
    pub at: String,
    /// The version of the spec; absent for a result.
    pub version: Option<u64>,
}

/// Specs by agents that were not accepted yet, and results in review with the actor that moved them there, except those
/// that are in the merge queue.
pub fn waiting_for_acceptance(conn: &mut Conn, limit: u64) -> Result<Vec<Waiting>, StoreError> {
    let sql = "SELECT b.number, b.title, b.status, s.actor_name, s.actor_type, s.at, s.version
         FROM briefs b JOIN spec_versions s ON s.brief = b.number
             AND s.version = (SELECT max(t.version) FROM spec_versions t WHERE t.brief = b.number)
         WHERE b.status IN ('draft', 'planned', 'in_progress') AND s.actor_type = 'agent' AND s.accepted = 0
         UNION ALL
         SELECT b.number, b.title, b.status, e.actor_name, e.actor_type, e.at, NULL
         FROM briefs b JOIN events e ON e.seq =
             (SELECT f.seq FROM events f WHERE f.stream = 'brief/' || CAST(b.number AS TEXT) AND f.kind = 'status_changed'
              ORDER BY f.version DESC LIMIT 1)
         WHERE b.status = 'in_review' AND NOT EXISTS (SELECT 1 FROM landing_briefs o JOIN landings l ON l.number = o.landing
             WHERE o.brief = b.number AND l.open = 1)
         ORDER BY 6 LIMIT $1";
    conn.rows(sql, params![limit])?
        .iter()
        .map(|row| {
            Ok(Waiting {
                brief: row.id(0)?,
                title: row.text(1)?,
                status: row.text(2)?,
                by: row.text(3)?,
                by_type: row.text(4)?,
                at: row.text(5)?,
                version: row.opt_int(6)?,
            })
        })
        .collect()
}

#[derive(Clone, Debug)]
pub struct Pad {
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

fn pad(row: &Row) -> Result<Pad, StoreError> {
    Ok(Pad {
        number: ScratchpadId(row.int(0)?),
        title: row.text(1)?,
        brief: row.opt_id(2)?,
        version: row.int(3)?,
        by: row.text(4)?,
        created_at: row.text(5)?,
        updated_at: row.text(6)?,
        text: row.text(7)?,
    })
}

pub fn scratchpad(conn: &mut Conn, number: ScratchpadId) -> Result<Option<Pad>, StoreError> {
    let sql = "SELECT number, title, brief, version, actor_name, created_at, updated_at, text
         FROM scratchpads WHERE number = $1";
    conn.row(sql, params![number])?.map(|row| pad(&row)).transpose()
}

pub fn scratchpads(
    conn: &mut Conn,
    brief: Option<BriefId>,
    after: ScratchpadId,
    limit: u64,
) -> Result<Vec<Pad>, StoreError> {
    let sql = "SELECT number, title, brief, version, actor_name, created_at, updated_at, '' FROM scratchpads
         WHERE number > $1 AND (CAST($3 AS BIGINT) IS NULL OR brief = $3) ORDER BY number LIMIT $2";
    conn.rows(sql, params![after, limit, brief])?.iter().map(pad).collect()
}

#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    pub root: String,
    pub at: String,
}

pub fn projects(conn: &mut Conn) -> Result<Vec<Project>, StoreError> {
    conn.rows("SELECT name, root, at FROM projects ORDER BY name", &[])?
        .iter()
        .map(|row| Ok(Project { name: row.text(0)?, root: row.text(1)?, at: row.text(2)? }))
        .collect()
}

pub fn project_at(conn: &mut Conn, root: &str) -> Result<Option<String>, StoreError> {
    conn.row("SELECT name FROM projects WHERE root = $1", params![root])?.map(|row| row.text(0)).transpose()
}

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

fn decode_token(row: &Row) -> Result<Token, StoreError> {
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

const TOKEN: &str = "SELECT id, agent, role, brief, worktree, at, revoked_at, dispatch, member, seq FROM tokens";

pub fn tokens(conn: &mut Conn) -> Result<Vec<Token>, StoreError> {
    conn.rows(&format!("{TOKEN} ORDER BY at, id"), &[])?.iter().map(decode_token).collect()
}

pub fn token(conn: &mut Conn, id: &str) -> Result<Option<Token>, StoreError> {
    conn.row(&format!("{TOKEN} WHERE id = $1"), params![id])?.map(|row| decode_token(&row)).transpose()
}

/// Valid tokens that were made for a dispatch that has ended.
pub fn tokens_of_ended(conn: &mut Conn, limit: u64) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT t.id FROM tokens t JOIN dispatches d ON d.number = t.dispatch
         JOIN briefs b ON b.number = d.brief
         WHERE t.revoked_at IS NULL AND t.packet = 1 AND (d.stage IN ('landed', 'failed', 'cancelled')
             OR (d.stage = 'handed_back' AND b.status IN ('done', 'cancelled'))) ORDER BY t.seq LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| row.text(0)).collect()
}

/// The token with this SHA-256, if it is valid.
pub fn token_by_hash(conn: &mut Conn, sha256: &str) -> Result<Option<Token>, StoreError> {
    let sql = format!("{TOKEN} WHERE sha256 = $1 AND revoked_at IS NULL");
    conn.row(&sql, params![sha256])?.map(|row| decode_token(&row)).transpose()
}
