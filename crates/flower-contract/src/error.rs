//! Errors as clients see them: `{kind, message, hints}`. This file determines their exit codes and HTTP statuses.
//! A crate with its own error types converts them beside their definition.

use flower_core::{Refusal, RefusalKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// The request or command line is malformed.
    Usage,
    /// The input is invalid in every state of flower.
    Invalid,
    /// Not possible in the current state; the message says why.
    Refused,
    NotFound,
    Conflict,
    /// The token lacks the right.
    Forbidden,
    /// No token, or an unknown one.
    Unauthorized,
    TooLarge,
    UnsupportedType,
    Timeout,
    /// `--timeout` ran out before what a command waits for has ended. It goes on without the command.
    StillWaiting,
    /// The disk is full; nothing was stored.
    NoSpace,
    /// The daemon or the database cannot be reached.
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

/// The JSON body of an error: `{"error": {…}}`.
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
            ProblemKind::StillWaiting => 6,
            ProblemKind::Bug => 70,
        }
    }

    pub fn http_status(&self) -> u16 {
        match self.kind {
            ProblemKind::Usage => 400,
            ProblemKind::Unauthorized => 401,
            ProblemKind::Forbidden => 403,
            ProblemKind::NotFound => 404,
            ProblemKind::Timeout | ProblemKind::StillWaiting => 408,
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
