//! Removes locks that a killed git has left in a private repository, and that would block every later git.

use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::lock;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the start of a program inside waits for a mirror that is under way.
const MIRROR_TIMEOUT: Duration = Duration::from_secs(5);
/// Branches are not nested deeper, and no repository has more files in these folders.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 10_000;

impl Worktrees {
    /// Removes the locks if no process can hold them: no program runs inside, and no git of flower either.
    pub(super) async fn clear_locks(&self, place: &WorktreePaths) {
        if lock_files(&place.private()).is_empty() {
            return;
        }
        let lock = self.lock_of(&place.folder);
        let Ok(_lock) = tokio::time::timeout(MIRROR_TIMEOUT, lock.lock()).await else { return };
        let Some(_alone) = lock::try_exclusive(&place.lock()) else { return };
        for file in lock_files(&place.private()) {
            match fs::remove_file(&file) {
                Ok(()) => tracing::info!("worktree {}: a git that was killed had left {}", place.name, file.display()),
                Err(error) => tracing::warn!("worktree {}: {} stays: {error}", place.name, file.display()),
            }
        }
    }
}

/// The lock files of a private repository. Links are not followed, because programs inside could have made them.
fn lock_files(private: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries = 0;
    let mut folders = vec![(private.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MAX_ENTRIES {
                return found;
            }
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
            if kind.is_file() && path.extension().is_some_and(|end| end == "lock") {
                found.push(path);
            } else if kind.is_dir() && depth < MAX_DEPTH && (depth > 0 || entry.file_name() == "refs") {
                folders.push((path, depth + 1));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_of_the_index_and_of_refs_are_found_and_no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let private = dir.path().join("private.git");
        for folder in ["refs/heads/flower", "objects/info", "elsewhere"] {
            fs::create_dir_all(private.join(folder)).unwrap();
        }
        for file in ["index.lock", "HEAD.lock", "HEAD", "refs/heads/flower/one.lock", "objects/info/x.lock"] {
            fs::write(private.join(file), "").unwrap();
        }
        fs::write(private.join("elsewhere/x.lock"), "").unwrap();
        std::os::unix::fs::symlink(private.join("elsewhere"), private.join("refs/tags")).unwrap();
        std::os::unix::fs::symlink(private.join("HEAD"), private.join("config.lock")).unwrap();
        let mut found = lock_files(&private);
        found.sort();
        assert_eq!(found, ["HEAD.lock", "index.lock", "refs/heads/flower/one.lock"].map(|name| private.join(name)));
        assert!(lock_files(&dir.path().join("none")).is_empty());
    }
}
