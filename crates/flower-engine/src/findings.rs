//! The findings of `flower doctor`.

use flower_contract::view::{Finding, FindingState};

pub(crate) fn ok(check: &str, evidence: impl Into<String>) -> Finding {
    Finding { check: check.into(), state: FindingState::Ok, evidence: evidence.into(), fix: None }
}

pub(crate) fn bad(check: &str, evidence: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { check: check.into(), state: FindingState::Bad, evidence: evidence.into(), fix: Some(fix.into()) }
}

/// A finding after a repair: `ok` with what was done, or `bad` if the repair failed.
pub(crate) fn mended(check: &str, evidence: String, done: Result<String, String>) -> Finding {
    match done {
        Ok(fix) => Finding { fix: Some(fix), ..ok(check, evidence) },
        Err(error) => bad(check, evidence, format!("the repair failed: {error}")),
    }
}
