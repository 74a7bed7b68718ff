//! Errors below the rules, grouped by how they must be handled.

use flower_contract::error::{Problem, ProblemKind};
use flower_core::Refusal;
use thiserror::Error;

#[derive(Clone, Debug, Error)]
pub enum StoreError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing was stored; the next write may succeed again.
    #[error("the disk is full")]
    Full,
    #[error("{0} cannot be written")]
    ReadOnly(String),
    /// It is unknown whether a write has reached the disk. No further command is acknowledged, and the daemon ends.
    #[error("the disk failed: {0}")]
    Disk(String),
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    #[error("the database has schema version {found}; this flower knows versions up to {known}")]
    Newer { found: u64, known: u64 },
    #[error("the database is out of reach: {0}")]
    Unreachable(String),
    /// The log ends before the event that the head file proves, or differs from it.
    #[error("the log is not the one that was recorded: {0}")]
    LogCut(String),
    #[error("the daemon is going down")]
    Closed,
    #[error("too many commands are waiting")]
    Busy,
    /// The database rejected a statement, which is a bug in flower.
    #[error("{0}")]
    Sql(String),
}

impl StoreError {
    /// Whether no command can be acknowledged after this error.
    pub fn is_fatal(&self) -> bool {
        matches!(self, StoreError::Disk(_) | StoreError::Corrupt(_))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let message = error.to_string();
        match error {
            StoreError::Refused(refusal) => refusal.into(),
            StoreError::Full => Problem::new(
                ProblemKind::NoSpace,
                format!("{message}; nothing was stored"),
                "free some space and try again; flower goes on by itself",
            ),
            StoreError::ReadOnly(_) => Problem::unreachable(
                format!("{message}; nothing was stored"),
                "make FLOWER_HOME writable, or point FLOWER_HOME to a folder that is",
            ),
            StoreError::Disk(_) => Problem::unreachable(
                format!("{message}; nothing more is stored until the daemon has started again"),
                "check the disk (`dmesg`), then run `flower up`",
            ),
            StoreError::Corrupt(_) => Problem::unreachable(
                message,
                "stop with `flower down`, keep a copy of FLOWER_HOME, and restore flower.db from a backup",
            ),
            StoreError::Newer { .. } => {
                Problem::unreachable(message, "install the newer flower again; nothing was changed")
            }
            StoreError::Unreachable(_) => Problem::unreachable(
                message,
                "check that the database runs and that FLOWER_DATABASE_URL is right, then try again",
            ),
            StoreError::LogCut(_) => Problem::new(
                ProblemKind::Refused,
                format!("{message}; nothing is written, so that the evidence stays"),
                "`flower log verify` shows what is missing; restore a backup, or go on without it: `flower log accept-loss`",
            ),
            StoreError::Closed => Problem::unreachable(message, "run `flower up`"),
            StoreError::Busy => Problem::unreachable(message, "try again in a moment"),
            StoreError::Sql(_) => Problem::bug(message),
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode;
        /// `SQLITE_IOERR_SHMSIZE`: the shared index could not grow, which is how a full disk appears there.
        const SHARED_INDEX_CANNOT_GROW: i32 = 10 | (19 << 8);
        let text = error.to_string();
        match error.sqlite_error() {
            Some(e) if e.extended_code == SHARED_INDEX_CANNOT_GROW => StoreError::Full,
            Some(e) => match e.code {
                ErrorCode::DiskFull => StoreError::Full,
                ErrorCode::ReadOnly => StoreError::ReadOnly("the database".to_owned()),
                ErrorCode::SystemIoFailure => StoreError::Disk(text),
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(text),
                ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::PermissionDenied => StoreError::Unreachable(text),
                _ => StoreError::Sql(text),
            },
            None => StoreError::Sql(text),
        }
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> StoreError {
        use postgres::error::SqlState;
        let text = match error.as_db_error() {
            Some(db) => db.message().to_owned(),
            None => error.to_string(),
        };
        match error.code() {
            Some(code) if *code == SqlState::DISK_FULL => StoreError::Full,
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                StoreError::ReadOnly("the database".to_owned())
            }
            Some(code) if *code == SqlState::IO_ERROR => StoreError::Disk(text),
            Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
                StoreError::Corrupt(text)
            }
            Some(code) if is_outage(code.code()) => StoreError::Unreachable(text),
            Some(_) => StoreError::Sql(text),
            None => StoreError::Unreachable(text),
        }
    }
}

/// The SQLSTATE classes for connection, authorisation, resources and shutdown.
fn is_outage(code: &str) -> bool {
    ["08", "28", "3D", "53", "57"].iter().any(|class| code.starts_with(class))
}
