//! Errors of git commands.

use flower_contract::error::{Problem, ProblemKind};
use thiserror::Error;

#[derive(Clone, Debug, Error)]
pub enum GitError {
    #[error("git cannot be started: {0}")]
    NotStarted(String),
    #[error("`git {command}` did not end within {seconds} seconds")]
    Deadline { command: String, seconds: u64 },
    #[error("`git {command}` answered more than {most} bytes")]
    TooMuch { command: String, most: usize },
    #[error("`git {command}` failed ({code}): {stderr}")]
    Failed { command: String, code: i32, stderr: String },
    #[error("{file} includes a file that flower cannot read beforehand")]
    Include { file: String },
    #[error("`git {command}`: {error}")]
    Io { command: String, error: String },
    #[error("`{name}` is no {what}")]
    BadName { what: &'static str, name: String },
    #[error("there is no {0}")]
    Missing(String),
    #[error("git's answer to `{0}` cannot be read")]
    Unreadable(&'static str),
    #[error("git cannot merge {theirs}: {stderr}")]
    CannotMerge { theirs: String, stderr: String },
    #[error("remotes are spoken with from MAIN's repository only")]
    NoRemotesHere,
}

/// Whether git reports that it could not write. Not all of its messages have the reason.
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
            // A checkout on a full disk reports no more than this.
            GitError::Failed { ref stderr, .. } if stderr.contains("unable to write file") => {
                Problem::new(ProblemKind::NoSpace, message, "is the disk full? free some space and try again")
            }
            GitError::Failed { ref stderr, .. } if cannot_write(stderr) => {
                Problem::unreachable(message, "make the repository and FLOWER_HOME writable for you, then try again")
            }
            GitError::Failed { ref stderr, .. } if stderr.contains(".lock': File exists") => Problem::new(
                ProblemKind::Conflict,
                message,
                "another git is at work there, or one was killed: `flower doctor --fix` removes an abandoned lock",
            ),
            GitError::Include { .. } => Problem::new(
                ProblemKind::Refused,
                message,
                "take the `include` out of it, or name the file by its full path",
            ),
            GitError::CannotMerge { .. } => {
                Problem::new(ProblemKind::Refused, message, "is its history whole? `git fsck` says so")
            }
            GitError::Unreadable(_) | GitError::NoRemotesHere => Problem::bug(message),
            GitError::Failed { .. }
            | GitError::TooMuch { .. }
            | GitError::Io { .. }
            | GitError::BadName { .. }
            | GitError::Missing(_) => {
                Problem::new(ProblemKind::Refused, message, "`flower doctor` looks for what is wrong")
            }
        }
    }
}
