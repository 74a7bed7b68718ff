//! Packs: objects on their way from one repository to another.

use crate::command::{Git, piped};
use crate::{AnyObject, CommitId, GitError, ObjectId, OwnRef, Repo};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What some objects reach that others do not.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    /// As `git rev-list --stdin` reads them.
    lines: String,
    wanted: usize,
}

impl Revisions {
    pub fn new<'a, A: AnyObject + 'a, B: AnyObject + 'a>(
        wanted: impl IntoIterator<Item = &'a A>,
        without: impl IntoIterator<Item = &'a B>,
    ) -> Revisions {
        let mut revisions = Revisions::default();
        for object in wanted {
            revisions.wanted += 1;
            revisions.lines.push_str(&format!("{}\n", object.name()));
        }
        for object in without {
            revisions.lines.push_str(&format!("^{}\n", object.name()));
        }
        revisions
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.wanted == 0
    }
}

/// How both sides of a transfer ended.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub packed: Result<(), GitError>,
    pub unpacked: Result<(), GitError>,
}

impl Transfer {
    async fn between(pack: Git, unpack: Git) -> Transfer {
        let (packed, unpacked) = piped(pack, unpack).await;
        Transfer { packed: packed.map(drop), unpacked: unpacked.map(drop) }
    }
}

impl Repo {
    /// Takes a commit over from a repository that cannot be trusted, with everything that it reaches and `has` do not. It is packed
    /// there and unpacked here: no refs are told and no protocol is spoken, only objects come through. Every object is checked, and
    /// a pack of more than `most` bytes is refused.
    pub async fn receive_untrusted(&self, from: &Repo, commit: &CommitId, has: &[CommitId], most: u64) -> Transfer {
        let pack = ["pack-objects", "--quiet", "--revs", "--thin", "--delta-base-offset", "--stdout"];
        let pack = from.git().args(pack).input(Revisions::new([commit], has).lines);
        // What is larger is never held in memory as a whole.
        let unpack = ["-c", "core.bigFileThreshold=64m", "index-pack", "--stdin", "--fix-thin", "--strict"];
        let unpack = self.git().args(unpack).args([format!("--max-input-size={most}")]);
        Transfer::between(pack, unpack).await
    }

    /// Gives objects to another repository.
    pub async fn send(&self, revisions: &Revisions, to: &Repo) -> Transfer {
        let pack = ["pack-objects", "--quiet", "--delta-base-offset", "--revs", "--stdout"];
        let pack = self.git().args(pack).input(revisions.lines.clone());
        Transfer::between(pack, to.git().args(["index-pack", "--stdin"])).await
    }

    /// Writes objects as a pack whose files begin with `prefix`. None is written if there is nothing to pack.
    pub async fn pack(&self, revisions: &Revisions, prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--revs", "--non-empty"];
        self.git().args(args).args([prefix]).input(revisions.lines.clone()).run().await.map(drop)
    }

    /// The same without looking for differences between objects that no pack has yet, which takes minutes for large files.
    pub async fn pack_fast(&self, revisions: &Revisions, prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--window=0", "--revs", "--non-empty"];
        self.git().args(args).args([prefix]).input(revisions.lines.clone()).run().await.map(drop)
    }

    /// Writes everything that these packs have as one pack whose files begin with `prefix`.
    pub async fn merge_packs(&self, packs: &[&str], prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--window=0", "--stdin-packs"];
        let input: String = packs.iter().map(|name| format!("{name}\n")).collect();
        self.git().args(args).args([prefix]).input(input).run().await.map(drop)
    }

    /// Writes everything that this repository uses and `without` do not reach as a pack whose files begin with `prefix`: also what
    /// is staged, or only in a reflog.
    pub async fn pack_everything(&self, without: &[ObjectId], prefix: &Path) -> Result<(), GitError> {
        let git = self.git().args(["pack-objects", "--quiet", "--delta-base-offset", "--non-empty"]);
        let git = git.args(["--revs", "--all", "--reflog", "--indexed-objects"]).args([prefix]);
        git.input(Revisions::new::<ObjectId, _>([], without).lines).run().await.map(drop)
    }

    /// Reads packs by their indexes; what is wrong with them is an error.
    pub async fn verify_packs(&self, indexes: &[PathBuf]) -> Result<(), GitError> {
        if indexes.is_empty() {
            return Ok(());
        }
        self.git().args(["verify-pack"]).args(indexes).run().await.map(drop)
    }

    /// Writes each object of a pack as a file of its own.
    pub async fn unpack(&self, pack: Vec<u8>) -> Result<(), GitError> {
        self.git().args(["unpack-objects", "-q"]).input(pack).run().await.map(drop)
    }

    /// Whether there is a commit among these revisions.
    pub async fn has_any(&self, revisions: &Revisions) -> Result<bool, GitError> {
        let git = self.git().args(["rev-list", "--max-count=1", "--stdin"]).input(revisions.lines.clone());
        Ok(!git.line().await?.is_empty())
    }

    /// All commits of these revisions. A list of more than `most` bytes is an error.
    pub async fn commits_of(&self, revisions: &Revisions, most: usize) -> Result<Vec<CommitId>, GitError> {
        let git = self.git().args(["rev-list", "--stdin"]).input(revisions.lines.clone()).answer_at_most(most);
        git.line().await?.lines().map(CommitId::parse).collect()
    }

    /// Writes what these refs reach and `without` does not into a file. If git refuses, its words; that there is nothing to write is
    /// no failure, and then there is no file.
    pub async fn bundle(
        &self,
        refs: &[OwnRef],
        without: &CommitId,
        file: &Path,
    ) -> Result<Result<(), String>, GitError> {
        let exclude = format!("^{without}");
        let names = refs.iter().map(|name| OsStr::new(name.as_str()));
        let git = self.git().args(["bundle", "create", "--quiet"]).args([file]);
        let output = git.args(names.chain([OsStr::new(&exclude)])).output().await?;
        let is_fine = output.code == 0 || output.stderr.contains("empty bundle");
        Ok(if is_fine { Ok(()) } else { Err(output.stderr) })
    }

    /// Reads the objects of a bundle in. No ref changes.
    pub async fn unbundle(&self, file: &Path) -> Result<(), GitError> {
        self.git().args(["bundle", "unbundle"]).args([file]).run().await.map(drop)
    }

    /// Packs what has gathered, if that is much, by the default of git which all other commands switch off.
    pub async fn tidy(&self) -> Result<(), GitError> {
        let args = ["-c", "gc.auto=6700", "gc", "--auto", "--quiet", "--no-detach"];
        self.git().args(args).run().await.map(drop)
    }
}
