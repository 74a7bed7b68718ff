//! Commits from a private repository, until it is known that they can be taken. They wait in a folder of their own that
//! borrows MAIN's objects: to every other git they are not there, and if they are refused they never were.

use super::import_error::ImportError;
use super::limits::{LONGEST, MOST_MEMORY, MOST_PACKED, max_brought};
use super::paths::WorktreePaths;
use super::{disk, inspect};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, Repo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Up to so many objects and bytes they become files of their own, as git itself would have it: every pack is one more to
/// look through.
const FEW_OBJECTS: u32 = 100;
const FEW_BYTES: u64 = 16 * 1024 * 1024;

struct Incoming {
    repository: Repository,
    dir: PathBuf,
}

/// Brings everything that belongs to the commit `new` into MAIN's repository, if it can be taken. `has` are commits that are
/// there already, `branch` the one that the operator's branch has; `private` is the private repository, in its jail.
pub(super) async fn bring(
    place: &WorktreePaths,
    private: &Repo,
    new: &CommitId,
    has: &[CommitId],
    branch: Option<&CommitId>,
) -> Result<(), ImportError> {
    let incoming = Incoming::open(place)?;
    let received = incoming.receive(private, new, has).await;
    // Whoever works inside may have thrown away commits that MAIN has.
    if let Err(ImportError::Fault(_)) = received {
        let still_there = private.present_commits(has).await?;
        if still_there.len() == has.len() {
            return received;
        }
        incoming.receive(private, new, &still_there).await?;
    } else {
        received?;
    }
    inspect::require_fit(&incoming.repo(), new, branch).await?;
    count(place, incoming.size()?, max_brought())?;
    incoming.accept().await
}

/// Adds to what the worktree has brought before, unless that would be too much. Noted before anything is taken: a crash in between
/// counts it twice at most.
fn count(place: &WorktreePaths, bytes: u64, most: u64) -> Result<(), ImportError> {
    let before = fs::read_to_string(place.brought()).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0_u64);
    let all = before.saturating_add(bytes);
    if all > most {
        return Err(ImportError::Brought { before, more: bytes, most });
    }
    Ok(fs::write(place.brought(), all.to_string())?)
}

impl Incoming {
    fn open(place: &WorktreePaths) -> io::Result<Incoming> {
        // git clears away what begins so and is old, should nobody else do it.
        let dir = place.repository.git_dir.join("objects").join(format!("tmp_objdir-flower-{}", place.name));
        disk::delete(&dir)?;
        fs::create_dir_all(dir.join("pack"))?;
        fs::create_dir_all(dir.join("info"))?;
        fs::write(dir.join("info/alternates"), "..\n")?;
        Ok(Incoming { repository: place.repository.clone(), dir })
    }

    /// Sees what waits here beside what MAIN has.
    fn repo(&self) -> Repo {
        Repo::main(&self.repository).with_objects_in(&self.dir).with_memory(MOST_MEMORY).with_deadline(LONGEST)
    }

    async fn receive(&self, private: &Repo, new: &CommitId, has: &[CommitId]) -> Result<(), ImportError> {
        let private = private.clone().with_deadline(LONGEST);
        let transfer = self.repo().receive_untrusted(&private, new, has, MOST_PACKED).await;
        match (transfer.packed, transfer.unpacked) {
            // Cut off at the beginning: the reason is inside.
            (Err(packing), Err(GitError::Failed { stderr, .. })) if stderr.contains("early EOF") => {
                Err(ImportError::of(packing))
            }
            (_, Err(unpacking)) => Err(ImportError::of(unpacking)),
            (packing, Ok(())) => packing.map_err(ImportError::of),
        }
    }

    /// Of all that waits, as it is packed.
    fn size(&self) -> io::Result<u64> {
        let packs = fs::read_dir(self.dir.join("pack"))?.flatten();
        let packs = packs.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "pack"));
        packs.map(|entry| Ok(entry.metadata()?.len())).sum()
    }

    /// From here on they are MAIN's.
    async fn accept(&self) -> Result<(), ImportError> {
        let packs = self.dir.join("pack");
        let entries = fs::read_dir(&packs)?.flatten().map(|entry| entry.path());
        for pack in entries.filter(|path| path.extension().is_some_and(|kind| kind == "pack")) {
            if fs::metadata(&pack)?.len() <= FEW_BYTES {
                let content = fs::read(&pack)?;
                if objects(&content) <= FEW_OBJECTS {
                    Repo::main(&self.repository).unpack(content).await?;
                    continue;
                }
            }
            self.move_pack(&pack)?;
        }
        Ok(())
    }

    /// Its index last: git finds a pack by that.
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

/// How many a pack says that it has.
fn objects(pack: &[u8]) -> u32 {
    pack.get(8..12).and_then(|count| count.try_into().ok()).map_or(u32::MAX, u32::from_be_bytes)
}
