//! Limits of an import from a worktree: far more than people and agents make, and less than a decompression bomb. The import and the
//! gate use the same ones.

use std::sync::OnceLock;
use std::time::Duration;

const GB: u64 = 1024 * 1024 * 1024;

/// The pack of one import.
pub(crate) const MAX_PACKED_BYTES: u64 = 2 * GB;
/// One file, unpacked.
pub(crate) const MAX_FILE_BYTES: u64 = GB;
/// Files that MAIN does not have.
pub(crate) const MAX_FILES: u64 = 200_000;
/// Size of all files on disk, without those that MAIN has.
pub(crate) const MAX_UNPACKED_BYTES: u64 = 8 * GB;
/// Memory of each git that unpacks untrusted objects.
pub(crate) const MAX_MEMORY_BYTES: u64 = 2 * GB;
/// Enough for a large branch on a slow disk.
pub(crate) const IMPORT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// All imports of one worktree together. Commits that were amended or rebased away stay as long as the worktree does, so without a
/// limit MAIN's repository would grow without bound.
const MAX_IMPORTED_BYTES: u64 = 4 * GB;

/// The same limit, or a lower one from the daemon's environment.
pub(crate) fn max_imported() -> u64 {
    static MAX: OnceLock<u64> = OnceLock::new();
    *MAX.get_or_init(|| {
        let set = std::env::var("FLOWER_MAX_BROUGHT_BYTES").ok().and_then(|bytes| bytes.parse().ok());
        set.unwrap_or(MAX_IMPORTED_BYTES).min(MAX_IMPORTED_BYTES)
    })
}

pub(crate) fn in_gb(bytes: u64) -> u64 {
    bytes / GB
}
