//! Why a jail could not be built.

use std::fmt::{self, Display};
use std::io::Write;

/// A step that failed, and the reason: `flower jail: <what>: <why>`.
#[derive(Debug)]
pub(super) struct Failure {
    what: String,
    why: String,
}

pub(super) type Step<T> = Result<T, Failure>;

impl Failure {
    pub(super) fn new(what: impl Into<String>, why: impl Display) -> Failure {
        Failure { what: what.into(), why: why.to_string() }
    }
}

/// One line on standard error, which may be a file on a full disk; the exit code still says that it went wrong.
pub(super) fn say(what: impl Display) {
    let _ = std::io::stderr().write_all(format!("flower jail: {what}\n").as_bytes());
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// Says at which step an error happened.
pub(super) trait During<T> {
    fn during(self, what: &str) -> Step<T>;
    /// For words that cost something to put together.
    fn during_with(self, what: impl FnOnce() -> String) -> Step<T>;
}

impl<T, E: Display> During<T> for Result<T, E> {
    fn during(self, what: &str) -> Step<T> {
        self.map_err(|error| Failure::new(what, error))
    }

    fn during_with(self, what: impl FnOnce() -> String) -> Step<T> {
        self.map_err(|error| Failure::new(what(), error))
    }
}
