//! How much may come out of a worktree: far more than people and agents make, and less than a bomb. One place, so that
//! whoever brings commits to MAIN asks for the same.

use std::sync::OnceLock;
use std::time::Duration;

const GB: u64 = 1024 * 1024 * 1024;

/// Commits that come out at once, as git packs them.
pub(crate) const MOST_PACKED: u64 = 2 * GB;
/// One file, unpacked.
pub(crate) const LARGEST_FILE: u64 = GB;
/// Files, beyond those that MAIN has.
pub(crate) const MAX_FILES: u64 = 200_000;
/// All of them together as they would lie on the disk, beyond what MAIN has.
pub(crate) const MOST_UNPACKED: u64 = 8 * GB;
/// For each git that unpacks what it cannot trust.
pub(crate) const MOST_MEMORY: u64 = 2 * GB;
/// A large branch, on a slow disk.
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 60);

/// Everything that one worktree brings over its life, as git packs it. Commits that were amended or rebased away stay as long as the
/// worktree does, so without a bound each would add to MAIN's repository for ever.
const MAX_BROUGHT: u64 = 4 * GB;

/// The same, or what the daemon's environment says, if that is less.
pub(crate) fn max_brought() -> u64 {
    static MAX: OnceLock<u64> = OnceLock::new();
    *MAX.get_or_init(|| {
        let set = std::env::var("FLOWER_MAX_BROUGHT_BYTES").ok().and_then(|bytes| bytes.parse().ok());
        set.unwrap_or(MAX_BROUGHT).min(MAX_BROUGHT)
    })
}

/// As it is said to people.
pub(crate) fn in_gb(bytes: u64) -> u64 {
    bytes / GB
}
