//! Packs objects, and transfers them between repositories.

use crate::command::{Git, piped};
use crate::{AnyObject, CommitId, GitError, ObjectId, OwnRef, Repo};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Everything that some objects reach and others do not.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    /// Lines for `git rev-list --stdin`.
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

/// The results of both sides of a transfer.
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
    /// Imports a commit from an untrusted repository, with everything that it reaches and `has` do not. git packs there and unpacks here;
    /// neither refs nor a protocol are involved, only objects are transferred. Every object is checked, and
    /// a pack of more than `most` bytes is refused.
    pub async fn receive_untrusted(&self, from: &Repo, commit: &CommitId, has: &[CommitId], most: u64) -> Transfer {
        let pack = ["pack-objects", "--quiet", "--revs", "--thin", "--delta-base-offset", "--stdout"];
        let pack = from.git().args(pack).input(Revisions::new([commit], has).lines);
        // git does not hold larger objects in memory as a whole.
        let unpack = ["-c", "core.bigFileThreshold=64m", "index-pack", "--stdin", "--fix-thin", "--strict"];
        let unpack = self.git().args(unpack).args([format!("--max-input-size={most}")]);
        Transfer::between(pack, unpack).await
    }

    /// Copies objects to another repository.
    pub async fn send(&self, revisions: &Revisions, to: &Repo) -> Transfer {
        let pack = ["pack-objects", "--quiet", "--delta-base-offset", "--revs", "--stdout"];
        let pack = self.git().args(pack).args(self.missing_option()).input(revisions.lines.clone());
        let unpack = to.git().args(["index-pack", "--stdin"]).args(self.allows_missing().then_some("--promisor"));
        Transfer::between(pack, unpack).await
    }

    fn missing_option(&self) -> Option<&'static str> {
        self.allows_missing().then_some("--missing=allow-any")
    }

    /// Writes objects as a pack whose files begin with `prefix`. Writes no file if there is nothing to pack.
    pub async fn pack(&self, revisions: &Revisions, prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--revs", "--non-empty"];
        let git = self.git().args(args).args(self.missing_option()).args([prefix]);
        git.input(revisions.lines.clone()).run().await.map(drop)
    }

    /// Like [`Repo::pack`], without a search for deltas of objects that are in no pack yet, which takes minutes for large files.
    pub async fn pack_fast(&self, revisions: &Revisions, prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--window=0", "--revs", "--non-empty"];
        let git = self.git().args(args).args(self.missing_option()).args([prefix]);
        git.input(revisions.lines.clone()).run().await.map(drop)
    }

    /// Merges packs into one whose files begin with `prefix`.
    pub async fn merge_packs(&self, packs: &[&str], prefix: &Path) -> Result<(), GitError> {
        let args = ["pack-objects", "--quiet", "--delta-base-offset", "--window=0", "--stdin-packs"];
        let input: String = packs.iter().map(|name| format!("{name}\n")).collect();
        self.git().args(args).args([prefix]).input(input).run().await.map(drop)
    }

    /// Writes everything that this repository uses and `without` do not reach as a pack whose files begin with `prefix`: also staged objects
    /// and those that only a reflog has.
    pub async fn pack_everything(&self, without: &[ObjectId], prefix: &Path) -> Result<(), GitError> {
        let git = self.git().args(["pack-objects", "--quiet", "--delta-base-offset", "--non-empty"]);
        let git = git.args(["--revs", "--all", "--reflog", "--indexed-objects"]).args([prefix]);
        git.input(Revisions::new::<ObjectId, _>([], without).lines).run().await.map(drop)
    }

    /// Fails if a pack, named by its index, is damaged.
    pub async fn verify_packs(&self, indexes: &[PathBuf]) -> Result<(), GitError> {
        if indexes.is_empty() {
            return Ok(());
        }
        self.git().args(["verify-pack"]).args(indexes).run().await.map(drop)
    }

    /// Writes the objects of a pack as loose objects.
    pub async fn unpack(&self, pack: Vec<u8>) -> Result<(), GitError> {
        self.git().args(["unpack-objects", "-q"]).input(pack).run().await.map(drop)
    }

    /// Whether these revisions contain a commit.
    pub async fn has_any(&self, revisions: &Revisions) -> Result<bool, GitError> {
        let git = self.git().args(["rev-list", "--max-count=1", "--stdin"]).input(revisions.lines.clone());
        Ok(!git.line().await?.is_empty())
    }

    /// All commits of these revisions. Fails if the list has more than `most` bytes.
    pub async fn commits_of(&self, revisions: &Revisions, most: usize) -> Result<Vec<CommitId>, GitError> {
        let git = self.git().args(["rev-list", "--stdin"]).input(revisions.lines.clone()).answer_at_most(most);
        git.line().await?.lines().map(CommitId::parse).collect()
    }

    /// Writes what these refs reach and `without` does not into a bundle. Succeeds without a file if there is nothing to write. The inner
    /// error is git's message.
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

    /// Imports the objects of a bundle. No ref changes.
    pub async fn unbundle(&self, file: &Path) -> Result<(), GitError> {
        self.git().args(["bundle", "unbundle"]).args([file]).run().await.map(drop)
    }

    /// Packs loose objects if there are many, as git does by default. All other commands disable that.
    pub async fn tidy(&self) -> Result<(), GitError> {
        let args = ["-c", "gc.auto=6700", "gc", "--auto", "--quiet", "--no-detach"];
        self.git().args(args).run().await.map(drop)
    }
}
