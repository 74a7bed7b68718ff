//! Creates the linked git worktree that the operator sees: its folder in MAIN's repository, its directory and its files.
//!
//! `git worktree add` starts four processes one after the other, and leaves a partial result when it is killed. The folder consists
//! of four small files in the layout that git documents; here it appears complete, by a rename.

use super::paths::{WorktreePaths, gitfile_text};
use flower_contract::error::Problem;
use flower_git::{Head, Repo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Enough for a very large repository on a slow disk.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Checks the worktree's branch out. Fails if its directory exists.
pub(super) async fn check_out(place: &WorktreePaths) -> Result<(), Problem> {
    // In a repository with reftable, the HEAD of a worktree is not a file, so git must write it.
    if place.repository.git_dir.join("reftable").exists() {
        place.repo().with_deadline(CHECKOUT_TIMEOUT).add_worktree(&place.tree, &place.branch).await?;
        return Ok(());
    }
    let io = |error: io::Error| crate::home::problem(&place.tree, &error);
    let admin = write_admin(place).map_err(|error| {
        let _ = super::disk::delete(&draft(place));
        crate::home::repository_problem(&place.repository.git_dir, &error)
    })?;
    fs::create_dir(&place.tree).and_then(|()| fs::write(place.tree.join(".git"), gitfile_text(&admin))).map_err(io)?;
    Repo::linked(&place.repository, &admin, &place.tree).with_deadline(CHECKOUT_TIMEOUT).check_out(&Head).await?;
    Ok(())
}

/// Writes the folder that git has for a worktree.
pub(super) fn write_admin(place: &WorktreePaths) -> io::Result<PathBuf> {
    let git_dir = &place.repository.git_dir;
    let draft = draft(place);
    super::disk::delete(&draft)?;
    fs::create_dir(&draft)?;
    fs::write(draft.join("locked"), "flower\n")?;
    fs::write(draft.join("commondir"), "../..\n")?;
    fs::write(draft.join("HEAD"), format!("ref: {}\n", place.full_branch()))?;
    fs::write(draft.join("gitdir"), format!("{}\n", place.tree.join(".git").display()))?;
    let all = git_dir.join("worktrees");
    fs::create_dir_all(&all)?;
    // A worktree that the operator made may have this name.
    let names = std::iter::once(place.name.clone()).chain((1..100).map(|n| format!("{}{n}", place.name)));
    for name in names {
        let admin = all.join(name);
        if taken(&admin) {
            continue;
        }
        // `git gc` in the background deletes the folder of all worktrees while it is empty.
        match fs::rename(&draft, &admin) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&all)?;
                fs::rename(&draft, &admin)?;
            }
            renamed => renamed?,
        }
        return Ok(admin);
    }
    Err(io::Error::other("a hundred worktrees of this name"))
}

fn draft(place: &WorktreePaths) -> PathBuf {
    place.repository.git_dir.join(format!("flower.draft-{}", place.name))
}

fn taken(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
