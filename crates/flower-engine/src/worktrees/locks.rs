//! Locks that a git left in a private repository when it was killed: every later git would refuse to work because of them.

use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::lock;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long whoever enters waits for a mirror that is under way. Those who work inside are not waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Deeper and more than this nobody's branches are.
const DEEPEST: usize = 8;
const MOST: usize = 10_000;

impl Worktrees {
    /// Takes them away if nobody can hold them: nothing runs inside, and no git of flower's is at it.
    pub(super) async fn clear_locks(&self, place: &WorktreePaths) {
        if left_in(&place.private()).is_empty() {
            return;
        }
        let lock = self.lock_of(&place.folder);
        let Ok(_lock) = tokio::time::timeout(PATIENCE, lock.lock()).await else { return };
        let Some(_alone) = lock::try_exclusive(&place.lock()) else { return };
        for file in left_in(&place.private()) {
            match fs::remove_file(&file) {
                Ok(()) => tracing::info!("worktree {}: a git that was killed had left {}", place.name, file.display()),
                Err(error) => tracing::warn!("worktree {}: {} stays: {error}", place.name, file.display()),
            }
        }
    }
}

/// Files only, and links are not followed: what is here was written from inside.
fn left_in(private: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut looked = 0;
    let mut folders = vec![(private.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST {
                return found;
            }
            let (path, Ok(sort)) = (entry.path(), entry.file_type()) else { continue };
            if sort.is_file() && path.extension().is_some_and(|end| end == "lock") {
                found.push(path);
            } else if sort.is_dir() && depth < DEEPEST && (depth > 0 || entry.file_name() == "refs") {
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
        let mut found = left_in(&private);
        found.sort();
        assert_eq!(found, ["HEAD.lock", "index.lock", "refs/heads/flower/one.lock"].map(|name| private.join(name)));
        assert!(left_in(&dir.path().join("none")).is_empty());
    }
}
