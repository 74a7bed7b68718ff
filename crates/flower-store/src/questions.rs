//! Queries about questions.

use super::briefs;
use super::conn::{Conn, params};
use super::error::StoreError;
use flower_core::BriefId;

/// A question without an answer.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub brief: BriefId,
    pub title: String,
    pub question: u64,
    pub text: String,
    /// The work cannot go on without the answer.
    pub help: bool,
    pub asked_type: String,
    pub asked_by: String,
    pub asked_at: String,
}

/// The unanswered questions of one agent on a brief.
pub fn open_by(conn: &mut Conn, brief: BriefId, asked_by: &str) -> Result<Vec<u64>, StoreError> {
    let sql = "SELECT question FROM questions WHERE brief = $1 AND asked_by = $2 AND answer IS NULL ORDER BY question";
    conn.rows(sql, params![brief, asked_by])?.iter().map(|row| row.int(0)).collect()
}

/// The unanswered questions of all briefs, oldest first.
pub fn open(conn: &mut Conn, limit: u64) -> Result<Vec<OpenQuestion>, StoreError> {
    let sql =
        "SELECT q.brief, b.title, q.question, q.text, q.asked_type, q.asked_by, q.asked_at, b.state FROM questions q
         JOIN briefs b ON b.number = q.brief WHERE q.answer IS NULL ORDER BY q.asked_at, q.brief, q.question LIMIT $1";
    conn.rows(sql, params![limit])?
        .iter()
        .map(|row| {
            let question = row.int(2)?;
            Ok(OpenQuestion {
                brief: row.id(0)?,
                title: row.text(1)?,
                question,
                text: row.text(3)?,
                help: briefs::decode(&row.text(7)?)?.help.contains(&question),
                asked_type: row.text(4)?,
                asked_by: row.text(5)?,
                asked_at: row.text(6)?,
            })
        })
        .collect()
}

/// A question with its answer: text, author, time.
#[derive(Clone, Debug)]
pub struct Question {
    pub question: u64,
    pub text: String,
    pub asked_type: String,
    pub asked_by: String,
    pub asked_at: String,
    pub answer: Option<(String, String, String)>,
}

/// Questions of a brief, newest first.
pub fn of_brief(conn: &mut Conn, brief: BriefId, limit: u64) -> Result<Vec<Question>, StoreError> {
    let sql = "SELECT question, text, asked_type, asked_by, asked_at, answer, answered_by, answered_at FROM questions
         WHERE brief = $1 ORDER BY question DESC LIMIT $2";
    conn.rows(sql, params![brief, limit])?
        .iter()
        .map(|row| {
            let answer = match row.opt_text(5)? {
                Some(text) => Some((text, row.opt_text(6)?.unwrap_or_default(), row.opt_text(7)?.unwrap_or_default())),
                None => None,
            };
            Ok(Question {
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
