//! A merge, cherry-pick or revert in MAIN's checkout that git has begun and not finished. git keeps it in files beside the index.

use flower_git::CommitId;
use flower_git::repository::Repository;
use std::fs;
use std::io;

/// Files that name the commits which are merged or applied.
const HEADS: [&str; 3] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
const OTHERS: [&str; 5] = ["MERGE_MODE", "MERGE_MSG", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG"];
/// One merge names few commits.
const MAX_BYTES: u64 = 4096;

/// The commits that are merged or applied; empty if no merge is open.
pub(super) fn heads(repository: &Repository) -> Vec<CommitId> {
    let read = |name: &str| {
        let file = repository.git_dir.join(name);
        let is_small = fs::symlink_metadata(&file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
        is_small.then(|| fs::read_to_string(file).ok()).flatten().unwrap_or_default()
    };
    let texts: Vec<String> = HEADS.iter().map(|name| read(name)).collect();
    texts.iter().flat_map(|text| text.lines()).filter_map(|line| CommitId::parse(line.trim()).ok()).collect()
}

/// Ends the open merge, as `git reset` does. Index and files do not change.
pub(super) fn forget(repository: &Repository) -> io::Result<()> {
    for name in HEADS.iter().chain(&OTHERS) {
        match fs::remove_file(repository.git_dir.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
