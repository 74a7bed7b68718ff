//! The refs that flower keeps in MAIN's repository.

use flower_git::OwnRef;

/// Where everything stays that was found in MAIN and put elsewhere.
pub(crate) const SAVED: &str = "refs/flower/saved";
/// Where the remote's branch is kept.
pub(crate) const UPSTREAM: &str = "refs/flower/upstream";

/// The ref that keeps what is to land, whatever becomes of its branch.
pub(crate) fn pin(number: u64) -> OwnRef {
    OwnRef::parse(&format!("refs/flower/landing/{number}")).expect("a number is plain")
}

/// The same for what MAIN would be.
pub(crate) fn candidate_pin(number: u64) -> OwnRef {
    OwnRef::parse(&format!("{}-candidate", pin(number))).expect("a number is plain")
}

/// All refs that a landing has while it is open.
pub(crate) fn pins(number: u64) -> [OwnRef; 2] {
    [pin(number), candidate_pin(number)]
}
