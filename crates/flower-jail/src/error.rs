//! Errors of building a jail.

use std::fmt::{self, Display};
use std::io::Write;

/// A failed step and the reason, shown as `flower jail: <step>: <reason>`.
#[derive(Debug)]
pub(super) struct SetupError {
    step: String,
    reason: String,
}

pub(super) type SetupResult<T> = Result<T, SetupError>;

impl SetupError {
    pub(super) fn new(step: impl Into<String>, reason: impl Display) -> SetupError {
        SetupError { step: step.into(), reason: reason.to_string() }
    }
}

/// Prints one line to standard error. A write error (a full disk) is ignored: the exit code reports the failure too.
pub(super) fn report(message: impl Display) {
    let _ = std::io::stderr().write_all(format!("flower jail: {message}\n").as_bytes());
}

impl Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.reason)
    }
}

/// Adds the step to an error.
pub(super) trait Context<T> {
    fn context(self, step: &str) -> SetupResult<T>;
    /// For a step whose name must be formatted.
    fn with_context(self, step: impl FnOnce() -> String) -> SetupResult<T>;
}

impl<T, E: Display> Context<T> for Result<T, E> {
    fn context(self, step: &str) -> SetupResult<T> {
        self.map_err(|error| SetupError::new(step, error))
    }

    fn with_context(self, step: impl FnOnce() -> String) -> SetupResult<T> {
        self.map_err(|error| SetupError::new(step(), error))
    }
}
