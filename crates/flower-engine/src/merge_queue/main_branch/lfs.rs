//! Files of LFS in MAIN's checkout: contents where the other files of LFS are contents, otherwise pointers.

use crate::worktrees::disk;
use flower_contract::error::Problem;
use flower_git::Repo;
use flower_git::lfs::{self, Lfs, MAX_POINTER_BYTES, contents};
use flower_git::repository::Repository;
use std::fs;
use std::path::Path;

/// Files of the checkout that are looked at; the first ones tell enough.
const MAX_EXAMINED: usize = 100;

/// What an update of MAIN's checkout writes for files of LFS.
pub(super) async fn in_checkout(repository: &Repository) -> Result<Lfs, Problem> {
    let contents = contents(repository);
    if !contents.is_dir() {
        return Ok(Lfs::Pointers);
    }
    let repo = Repo::main(repository);
    let (mut pointers, mut others) = (0, 0);
    let paths = repo.tracked(":(top,attr:filter=lfs)").await?;
    for path in paths.iter().take(MAX_EXAMINED) {
        match is_pointer(&repository.root.join(path)) {
            Some(true) => pointers += 1,
            Some(false) => others += 1,
            None => {}
        }
    }
    let has_contents = match (pointers, others) {
        // The first one: as the operator's own git would write it.
        (0, 0) => repo.operators_settings().await?.writes_lfs_contents,
        _ => others >= pointers,
    };
    Ok(if has_contents { Lfs::Contents(contents) } else { Lfs::Pointers })
}

/// `None` if there is no regular file with content.
fn is_pointer(file: &Path) -> Option<bool> {
    fs::symlink_metadata(file).ok().filter(|found| found.is_file() && found.len() > 0)?;
    Some(disk::read_small(file, MAX_POINTER_BYTES).is_some_and(|content| lfs::is_pointer(&content)))
}
