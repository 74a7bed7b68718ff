//! Imports commits from a private repository. Until they are inspected they wait in an object folder of their own, which borrows
//! MAIN's objects and which no other git reads; if they are refused, the folder is deleted.

use super::import_error::ImportError;
use super::lfs::NewContents;
use super::limits::{IMPORT_TIMEOUT, MAX_MEMORY_BYTES, MAX_PACKED_BYTES, max_imported};
use super::paths::WorktreePaths;
use super::{disk, inspect};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, Repo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Imports of at most this many objects and bytes are stored as loose objects, as git itself does: each additional pack slows down
/// every git.
const FEW_OBJECTS: u32 = 100;
const FEW_BYTES: u64 = 16 * 1024 * 1024;

struct Incoming {
    repository: Repository,
    dir: PathBuf,
}

/// Imports the commit `new` with all of its objects into MAIN's repository, if it passes the inspection. `has` are commits that MAIN's
/// repository has, `branch` is the tip of the operator's branch, and `private` is the private repository in its jail.
pub(super) async fn import(
    place: &WorktreePaths,
    private: &Repo,
    new: &CommitId,
    has: &[CommitId],
    branch: Option<&CommitId>,
) -> Result<(), ImportError> {
    let incoming = Incoming::open(place)?;
    let received = incoming.receive(private, new, has).await;
    // The private repository may have deleted commits of `has`; then git cannot pack relative to them.
    if let Err(ImportError::Fault(_)) = received {
        let still_there = private.present_commits(has).await?;
        if still_there.len() == has.len() {
            return received;
        }
        incoming.receive(private, new, &still_there).await?;
    } else {
        received?;
    }
    inspect::require_importable(&incoming.repo(), new, branch).await?;
    let contents = NewContents::find(place, &incoming.repo(), new).await?;
    add_to_imported(place, incoming.size()?.saturating_add(contents.size()?), max_imported())?;
    // Before the commits, so that a kill in between leaves no pointer whose content was there.
    contents.accept().await?;
    incoming.accept().await
}

/// Adds to the bytes that were imported from the worktree, unless the sum exceeds `most`. Written before the import: a crash in
/// between counts the bytes twice, but never too few.
fn add_to_imported(place: &WorktreePaths, bytes: u64, most: u64) -> Result<(), ImportError> {
    let before = fs::read_to_string(place.imported()).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0_u64);
    let all = before.saturating_add(bytes);
    if all > most {
        return Err(ImportError::Total { before, more: bytes, most });
    }
    Ok(fs::write(place.imported(), all.to_string())?)
}

impl Incoming {
    fn open(place: &WorktreePaths) -> io::Result<Incoming> {
        // `git gc` deletes old folders with this prefix, if flower is killed and never imports from this worktree again.
        let dir = place.repository.git_dir.join("objects").join(format!("tmp_objdir-flower-{}", place.name));
        disk::delete(&dir)?;
        fs::create_dir_all(dir.join("pack"))?;
        fs::create_dir_all(dir.join("info"))?;
        fs::write(dir.join("info/alternates"), "..\n")?;
        Ok(Incoming { repository: place.repository.clone(), dir })
    }

    /// MAIN's repository together with the waiting objects.
    fn repo(&self) -> Repo {
        Repo::main(&self.repository)
            .with_objects_in(&self.dir)
            .with_memory(MAX_MEMORY_BYTES)
            .with_deadline(IMPORT_TIMEOUT)
    }

    async fn receive(&self, private: &Repo, new: &CommitId, has: &[CommitId]) -> Result<(), ImportError> {
        let private = private.clone().with_deadline(IMPORT_TIMEOUT);
        let transfer = self.repo().receive_untrusted(&private, new, has, MAX_PACKED_BYTES).await;
        match (transfer.packed, transfer.unpacked) {
            // The stream ended early because packing failed, so the error of the packing side is the cause.
            (Err(packing), Err(GitError::Failed { stderr, .. })) if stderr.contains("early EOF") => {
                Err(ImportError::of(packing))
            }
            (_, Err(unpacking)) => Err(ImportError::of(unpacking)),
            (packing, Ok(())) => packing.map_err(ImportError::of),
        }
    }

    /// The size of the waiting packs.
    fn size(&self) -> io::Result<u64> {
        let packs = fs::read_dir(self.dir.join("pack"))?.flatten();
        let packs = packs.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "pack"));
        packs.map(|entry| Ok(entry.metadata()?.len())).sum()
    }

    /// Moves the waiting objects into MAIN's repository.
    async fn accept(&self) -> Result<(), ImportError> {
        let packs = self.dir.join("pack");
        let entries = fs::read_dir(&packs)?.flatten().map(|entry| entry.path());
        for pack in entries.filter(|path| path.extension().is_some_and(|kind| kind == "pack")) {
            if fs::metadata(&pack)?.len() <= FEW_BYTES {
                let content = fs::read(&pack)?;
                if object_count(&content) <= FEW_OBJECTS {
                    Repo::main(&self.repository).unpack(content).await?;
                    continue;
                }
            }
            self.move_pack(&pack)?;
        }
        Ok(())
    }

    /// Moves the index of the pack last, because git finds a pack by its index.
    fn move_pack(&self, pack: &Path) -> io::Result<()> {
        let to = self.repository.git_dir.join("objects/pack");
        fs::create_dir_all(&to)?;
        for kind in ["pack", "rev", "idx"] {
            let file = pack.with_extension(kind);
            match file.file_name() {
                Some(name) if file.exists() => fs::rename(&file, to.join(name))?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Err(error) = disk::delete(&self.dir) {
            tracing::warn!("{} stays behind: {error}", self.dir.display());
        }
    }
}

/// The number of objects in the header of a pack.
fn object_count(pack: &[u8]) -> u32 {
    pack.get(8..12).and_then(|count| count.try_into().ok()).map_or(u32::MAX, u32::from_be_bytes)
}
