//! The refs that flower keeps in MAIN's repository.

use flower_core::LandingId;
use flower_git::OwnRef;

/// Keeps commits that were found in MAIN and are not in its history.
pub(crate) const SAVED: &str = "refs/flower/saved";
/// Keeps the tip of the remote's branch.
pub(crate) const UPSTREAM: &str = "refs/flower/upstream";

/// The ref that keeps the commit of a landing, also if its branch is deleted.
pub(crate) fn pin(number: LandingId) -> OwnRef {
    OwnRef::parse(&format!("refs/flower/landing/{number}")).expect("a number is plain")
}

/// The ref that keeps the merge of a landing during its checks.
pub(crate) fn candidate_pin(number: LandingId) -> OwnRef {
    OwnRef::parse(&format!("{}-candidate", pin(number))).expect("a number is plain")
}

/// All refs that a landing has while it is open.
pub(crate) fn pins(number: LandingId) -> [OwnRef; 2] {
    [pin(number), candidate_pin(number)]
}
