//! Errors as the outside sees them: `{kind, message, hints}`. This file decides their exit codes and HTTP statuses, and the
//! wording of everything that the rules do not word themselves.

use crate::git::GitError;
use crate::store::StoreError;
use flower_core::{Refusal, RefusalKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The call's words are wrong.
    Usage,
    /// The input itself is wrong, whatever the state.
    Invalid,
    /// Not now, or not like this; the message says why.
    Refused,
    NotFound,
    Conflict,
    /// The token does not reach this far.
    Forbidden,
    /// No token, or a wrong one.
    Unauthorized,
    TooLarge,
    UnsupportedType,
    Timeout,
    /// The disk is full; nothing was stored.
    NoSpace,
    /// The daemon or the database is out of reach.
    Unreachable,
    /// A bug in flower.
    Bug,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    pub kind: ProblemKind,
    pub message: String,
    /// The next step.
    pub hints: Vec<String>,
}

/// How a problem travels: `{"error": {…}}`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemEnvelope {
    pub error: Problem,
}

impl Problem {
    pub fn new(kind: ProblemKind, message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem { kind, message: message.into(), hints: vec![hint.into()] }
    }

    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(ProblemKind::Usage, message, hint)
    }

    pub fn unreachable(message: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(ProblemKind::Unreachable, message, hint)
    }

    pub fn bug(message: impl Into<String>) -> Problem {
        Problem::new(ProblemKind::Bug, message, "this is a bug in flower; please report it with the command you ran")
    }

    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ProblemKind::Refused | ProblemKind::Forbidden | ProblemKind::Unauthorized => 1,
            ProblemKind::Usage | ProblemKind::Invalid | ProblemKind::TooLarge | ProblemKind::UnsupportedType => 2,
            ProblemKind::NotFound => 3,
            ProblemKind::Conflict => 4,
            ProblemKind::NoSpace | ProblemKind::Unreachable | ProblemKind::Timeout => 5,
            ProblemKind::Bug => 70,
        }
    }

    pub fn http_status(&self) -> u16 {
        match self.kind {
            ProblemKind::Usage => 400,
            ProblemKind::Unauthorized => 401,
            ProblemKind::Forbidden => 403,
            ProblemKind::NotFound => 404,
            ProblemKind::Timeout => 408,
            ProblemKind::Conflict => 409,
            ProblemKind::TooLarge => 413,
            ProblemKind::UnsupportedType => 415,
            ProblemKind::Invalid | ProblemKind::Refused => 422,
            ProblemKind::Bug => 500,
            ProblemKind::Unreachable => 503,
            ProblemKind::NoSpace => 507,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let kind = match refusal.kind() {
            RefusalKind::Invalid => ProblemKind::Invalid,
            RefusalKind::Refused => ProblemKind::Refused,
            RefusalKind::NotFound => ProblemKind::NotFound,
            RefusalKind::Conflict => ProblemKind::Conflict,
            RefusalKind::Forbidden => ProblemKind::Forbidden,
        };
        Problem { kind, message: refusal.to_string(), hints: refusal.hints() }
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

/// git's words for it; not all of its messages say why.
fn cannot_write(stderr: &str) -> bool {
    let signs =
        ["Read-only file system", "Permission denied", "unable to create directory", "could not create directory"];
    signs.iter().any(|sign| stderr.contains(sign))
}

impl From<GitError> for Problem {
    fn from(error: GitError) -> Problem {
        let message = error.to_string();
        match error {
            GitError::NotStarted(_) => Problem::unreachable(message, "install git 2.38 or newer, then try again"),
            GitError::Deadline { .. } => Problem::new(
                ProblemKind::Timeout,
                message,
                "is the disk very slow, or another git at work? `flower doctor` looks",
            ),
            GitError::Failed { ref stderr, .. } if stderr.contains("No space left on device") => {
                Problem::new(ProblemKind::NoSpace, message, "free some space and try again")
            }
            // A checkout says no more than this of a full disk.
            GitError::Failed { ref stderr, .. } if stderr.contains("unable to write file") => {
                Problem::new(ProblemKind::NoSpace, message, "is the disk full? free some space and try again")
            }
            GitError::Failed { ref stderr, .. } if cannot_write(stderr) => {
                Problem::unreachable(message, "make the repository and FLOWER_HOME writable for you, then try again")
            }
            GitError::Failed { ref stderr, .. } if stderr.contains(".lock': File exists") => Problem::new(
                ProblemKind::Conflict,
                message,
                "another git is at work there, or one was killed: `flower doctor --fix` removes a lock that nobody holds",
            ),
            GitError::Include { .. } => Problem::new(
                ProblemKind::Refused,
                message,
                "take the `include` out of it, or name the file by its full path",
            ),
            GitError::Failed { .. } | GitError::TooMuch { .. } | GitError::Io { .. } => {
                Problem::new(ProblemKind::Refused, message, "`flower doctor` looks for what is wrong")
            }
        }
    }
}
