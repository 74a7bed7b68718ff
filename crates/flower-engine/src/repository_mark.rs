//! The file of a repository's `.git` that says which project of which flower it is. With it a repository that was moved is recognised.

use crate::worktrees::disk;
use flower_git::repository::Repository;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

const FILE: &str = "flower-project";
/// More than a mark has.
const MAX_BYTES: u64 = 16 * 1024;

/// Any program that can write to the repository can write its mark, so it proves nothing: a move also compares paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// FLOWER_HOME of the flower that serves it.
    pub home: PathBuf,
    /// When the project was registered. No other project of that flower has the same time.
    pub registered: String,
}

/// The mark of a repository; `None` if it has none that can be read.
pub fn read(repository: &Repository) -> Option<Mark> {
    serde_json::from_slice(&disk::read_small(&repository.git_dir.join(FILE), MAX_BYTES)?).ok()
}

pub(crate) fn write(repository: &Repository, mark: &Mark) -> io::Result<()> {
    if read(repository).as_ref() == Some(mark) {
        return Ok(());
    }
    let mut text = serde_json::to_string(mark).expect("plain data");
    text.push('\n');
    disk::replace_file(&repository.git_dir.join(FILE), text.as_bytes())
}

pub(crate) fn remove(repository: &Repository) -> io::Result<()> {
    match fs::remove_file(repository.git_dir.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether two paths lead to one repository, such as through a bind mount.
pub(crate) fn is_same(one: &Repository, other: &Repository) -> bool {
    let id = |repository: &Repository| fs::metadata(&repository.git_dir).map(|found| (found.dev(), found.ino())).ok();
    id(one).is_some_and(|one| Some(one) == id(other))
}
