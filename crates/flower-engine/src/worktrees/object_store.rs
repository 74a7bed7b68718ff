//! The objects of MAIN's repository that sealed worktrees may read: a copy of what is reachable from MAIN's recorded tip, its
//! tags and its remote-tracking branches. One store per project, below `FLOWER_HOME`.
//!
//! Packs are written beside the store and moved in; the list of contents is written last. A crash therefore leaves a store
//! that has more than it lists, never less. Objects are only added: private repositories borrow them for as long as they live.

use super::disk;
use super::partial::may_be_partial;
use super::private::borrowed_by_main;
use crate::home::{Home, random_hex, write_private};
use flower_contract::error::{Problem, ProblemKind};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, ObjectId, Repo, Revisions};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Enough for a very large repository on a slow disk.
const COPY_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Every landing adds a pack, and git looks through all of them: beyond this many they are merged.
const MAX_PACKS: usize = 24;
/// Commits of former tips that no current ref reaches. A longer list is not read: then all former tips stay listed.
const MAX_FORMER: usize = 4 * 1024 * 1024;

#[derive(Clone, Debug)]
pub(super) struct ObjectStore {
    folder: PathBuf,
    repository: Repository,
}

/// What is known to be in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Contents {
    /// Differs each time the store is made from nothing: private repositories then have to be completed again.
    pub(super) generation: String,
    /// Objects that the store has with everything reachable from them.
    pub(super) tips: BTreeSet<ObjectId>,
    /// MAIN's `shallow` file when the store was made: with another one, other commits are reachable from the same tips.
    shallow: String,
    /// Files of packs and their sizes, by which a damaged store is noticed.
    files: BTreeMap<String, u64>,
    /// An object that MAIN, a partial clone, did not have when the store was made.
    #[serde(default)]
    lacks: Option<ObjectId>,
}

/// What is packed into the store.
enum Packing<'a> {
    Reachable(&'a Revisions),
    /// All objects of these packs of the store.
    Packs(&'a [&'a str]),
}

impl Contents {
    /// Whether the store has a commit with everything that it reaches, because it is one of the tips.
    pub(super) fn has(&self, commit: &CommitId) -> bool {
        self.tips.contains(&ObjectId::from(commit.clone()))
    }
}

impl ObjectStore {
    pub(super) fn new(home: &Home, project: &str, repository: &Repository) -> ObjectStore {
        ObjectStore { folder: home.in_project(home.objects(), project), repository: repository.clone() }
    }

    /// The folder that is shown inside, in place of MAIN's objects.
    pub(super) fn objects(&self) -> PathBuf {
        objects_dir(&self.folder)
    }

    /// The contents of the store. `None` if it is missing, damaged, or made with another `shallow` file.
    pub(super) fn contents(&self) -> Option<Contents> {
        let contents: Contents = serde_json::from_slice(&fs::read(self.list()).ok()?).ok()?;
        let packs = self.objects().join("pack");
        let is_whole = |(name, size): (&String, &u64)| {
            fs::symlink_metadata(packs.join(name)).is_ok_and(|found| found.is_file() && found.len() == *size)
        };
        (contents.shallow == self.shallow() && contents.files.iter().all(is_whole)).then_some(contents)
    }

    /// Whether the store was ever made. It can be damaged since.
    pub(super) fn was_made(&self) -> bool {
        self.list().exists()
    }

    /// The size of all packs, and how many there are.
    pub(super) fn size(contents: &Contents) -> (u64, usize) {
        let packs = contents.files.keys().filter(|name| name.ends_with(".pack")).count();
        (contents.files.values().sum(), packs)
    }

    /// Adds everything that is reachable from `tips`. The caller makes sure that only one update runs at a time.
    pub(super) async fn update(&self, tips: &BTreeSet<ObjectId>) -> Result<Contents, Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        self.prepare().map_err(io)?;
        let known = self.contents();
        let mut contents = known.unwrap_or_else(|| Contents {
            generation: random_hex(),
            tips: BTreeSet::new(),
            shallow: self.shallow(),
            files: BTreeMap::new(),
            lacks: None,
        });
        let wanted = self.present(tips.difference(&contents.tips)).await?;
        if !wanted.is_empty() {
            let revisions = Revisions::new(&wanted, &contents.tips);
            let packs = self.write_pack(&Packing::Reachable(&revisions), self.lenders()).await?;
            contents.files.extend(packs);
            contents.tips = self.still_needed(&contents.tips, tips).await;
            contents.tips.extend(wanted);
            if contents.lacks.is_none() && may_be_partial(&self.repository) {
                contents.lacks = self.repo().first_missing(&contents.tips).await?;
            }
            self.save(&contents).map_err(io)?;
        }
        if Self::size(&contents).1 > MAX_PACKS {
            self.merge_packs(&mut contents).await?;
        }
        self.delete_unlisted(&contents).map_err(io)?;
        Ok(contents)
    }

    /// Makes the next update begin from nothing if MAIN, a partial clone, has got an object since that the store lacks.
    pub(super) async fn require_what_main_has(&self) -> Result<(), Problem> {
        let Some(lacking) = self.contents().and_then(|contents| contents.lacks) else { return Ok(()) };
        match Repo::main(&self.repository).present(&[lacking]).await?.is_empty() {
            true => Ok(()),
            false => self.invalidate().map_err(|error| crate::home::problem(&self.folder, &error)),
        }
    }

    /// Fails if a pack is damaged. Reads all packs.
    pub(super) async fn verify(&self, contents: &Contents) -> Result<(), Problem> {
        let packs = self.objects().join("pack");
        let indexes = contents.files.keys().filter(|name| name.ends_with(".idx")).map(|name| packs.join(name));
        Ok(self.repo().verify_packs(&indexes.collect::<Vec<_>>()).await?)
    }

    /// Makes the next update begin from nothing.
    pub(super) fn invalidate(&self) -> io::Result<()> {
        disk::delete(&self.list())
    }

    /// Bytes that a running copy has written so far.
    pub(super) fn written(&self) -> u64 {
        self.drafts().iter().map(|draft| disk::size(draft, u64::MAX).0).sum()
    }

    /// Bytes of all objects that MAIN has or borrows: about the maximum that a copy takes.
    pub(super) fn size_of_main(&self) -> u64 {
        borrowed_by_main(&self.repository).iter().map(|dir| disk::size(dir, u64::MAX).0).sum()
    }

    /// MAIN's repository, together with objects that only the store still has.
    pub(super) fn repo(&self) -> Repo {
        // Grafts and replacements change parents only locally. git inside does not have them, and would miss the real parents.
        let mut repo = Repo::main(&self.repository).without_grafts();
        if may_be_partial(&self.repository) {
            repo = repo.allowing_missing();
        }
        repo.borrowing(&[self.objects()]).with_deadline(COPY_TIMEOUT)
    }

    /// Packs what is reachable from `commits` beyond the store into a private repository in which no program has run yet.
    pub(super) async fn complete_new(
        &self,
        private: &Path,
        contents: &Contents,
        commits: &[&CommitId],
    ) -> Result<(), Problem> {
        let wanted = beyond(contents, commits);
        if wanted.is_empty() {
            return Ok(());
        }
        let objects = private.join("objects");
        let repo = self.repo().borrowing(&self.lenders()).with_objects_in(&objects);
        repo.pack(&wanted, &objects.join("pack/pack")).await?;
        self.mark_incomplete(&objects.join("pack")).map_err(|error| crate::home::problem(&objects, &error))
    }

    /// What is reachable from `commits` beyond the store, if there is anything: for a private repository that may only be written
    /// to from inside.
    pub(super) async fn beyond(
        &self,
        contents: &Contents,
        commits: &[&CommitId],
    ) -> Result<Option<Revisions>, Problem> {
        let wanted = beyond(contents, commits);
        let is_any = !wanted.is_empty() && self.repo().has_any(&wanted).await?;
        Ok(is_any.then_some(wanted))
    }

    fn list(&self) -> PathBuf {
        self.folder.join("contents.json")
    }

    fn shallow(&self) -> String {
        fs::read_to_string(self.repository.git_dir.join("shallow")).unwrap_or_default()
    }

    /// All object folders that a copy reads.
    fn lenders(&self) -> Vec<PathBuf> {
        let mut all = borrowed_by_main(&self.repository);
        all.push(self.objects());
        all
    }

    /// Folders of packs that are being written, or that a killed daemon left.
    fn drafts(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_draft = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"draft-"));
        entries.filter(is_draft).collect()
    }

    fn prepare(&self) -> io::Result<()> {
        disk::make_private(&self.folder)?;
        for dir in ["pack", "info"] {
            fs::create_dir_all(self.objects().join(dir))?;
        }
        self.drafts().iter().try_for_each(|draft| disk::delete(draft))
    }

    /// The objects that MAIN's repository has: a ref may name one that is lost.
    async fn present(&self, objects: impl Iterator<Item = &ObjectId>) -> Result<BTreeSet<ObjectId>, Problem> {
        let asked: Vec<ObjectId> = objects.cloned().collect();
        Ok(self.repo().present(&asked).await?.into_iter().collect())
    }

    /// Former tips that no current tip reaches; all of them if git fails. Without this the list would grow with every landing.
    async fn still_needed(&self, former: &BTreeSet<ObjectId>, current: &BTreeSet<ObjectId>) -> BTreeSet<ObjectId> {
        let gone: BTreeSet<ObjectId> = former.difference(current).cloned().collect();
        let mut kept: BTreeSet<ObjectId> = former.intersection(current).cloned().collect();
        if gone.is_empty() {
            return kept;
        }
        let current = self.present(current.iter()).await.unwrap_or_default();
        match self.repo().commits_of(&Revisions::new(&gone, &current), MAX_FORMER).await {
            Ok(commits) => {
                let unreached: BTreeSet<ObjectId> = commits.into_iter().map(ObjectId::from).collect();
                kept.extend(gone.into_iter().filter(|tip| unreached.contains(tip)));
            }
            Err(_) => kept.extend(gone),
        }
        kept
    }

    /// Writes packs beside the store, and moves them in. Returns their files.
    async fn write_pack(&self, what: &Packing<'_>, lenders: Vec<PathBuf>) -> Result<BTreeMap<String, u64>, Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        let draft = self.folder.join(format!("draft-{}", &random_hex()[..16]));
        let packs = draft.join("pack");
        fs::create_dir_all(&packs).map_err(io)?;
        let repo = self.repo().with_objects_in(&draft).borrowing(&lenders);
        let written = match what {
            // Only the deltas of MAIN's packs are reused: a search for more takes minutes if large files are new.
            Packing::Reachable(revisions) => repo.pack_fast(revisions, &packs.join("pack")).await,
            Packing::Packs(names) => repo.merge_packs(names, &packs.join("pack")).await,
        };
        let moved = match written {
            Ok(()) => self.mark_incomplete(&packs).and_then(|()| self.move_in(&packs)).map_err(io),
            Err(error) => Err(copy_problem(error)),
        };
        if let Err(error) = disk::delete(&draft) {
            tracing::warn!("{} stays behind: {error}", draft.display());
        }
        moved
    }

    /// Marks packs whose objects may name others that only a remote has. git then does not take these for damage.
    fn mark_incomplete(&self, packs: &Path) -> io::Result<()> {
        if !may_be_partial(&self.repository) {
            return Ok(());
        }
        let files: Vec<PathBuf> = fs::read_dir(packs)?.flatten().map(|entry| entry.path()).collect();
        let mut packs = files.iter().filter(|path| path.extension().is_some_and(|kind| kind == "pack"));
        packs.try_for_each(|pack| fs::write(pack.with_extension("promisor"), ""))
    }

    /// Moves indexes last, because git finds a pack by its index.
    fn move_in(&self, from: &Path) -> io::Result<BTreeMap<String, u64>> {
        let to = self.objects().join("pack");
        let mut files: Vec<(bool, String, u64)> = Vec::new();
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name.ends_with(".idx"), name, entry.metadata()?.len()));
        }
        files.sort();
        for (_, name, _) in &files {
            fs::rename(from.join(name), to.join(name))?;
        }
        // The new names must be on disk before the list of contents has them.
        fs::File::open(&to)?.sync_all()?;
        Ok(files.into_iter().map(|(_, name, size)| (name, size)).collect())
    }

    fn save(&self, contents: &Contents) -> io::Result<()> {
        write_private(&self.list(), &serde_json::to_string(contents).expect("plain data"))
    }

    /// Merges small packs into one. The largest pack is only copied if the others together are at least half as large.
    async fn merge_packs(&self, contents: &mut Contents) -> Result<(), Problem> {
        let mut packs: Vec<(u64, &str)> = contents
            .files
            .iter()
            .filter(|(name, _)| name.ends_with(".pack"))
            .map(|(name, size)| (*size, name.as_str()))
            .collect();
        packs.sort_unstable();
        let largest = packs.last().map_or(0, |(size, _)| *size);
        let others: u64 = packs.iter().rev().skip(1).map(|(size, _)| size).sum();
        if others < largest / 2 {
            packs.pop();
        }
        let merged: BTreeSet<String> = packs.iter().map(|(_, name)| stem(name).to_owned()).collect();
        let names: Vec<&str> = packs.iter().map(|(_, name)| *name).collect();
        let written = self.write_pack(&Packing::Packs(&names), vec![self.objects()]).await?;
        contents.files.retain(|name, _| !merged.contains(stem(name)));
        contents.files.extend(written);
        self.save(contents).map_err(|error| crate::home::problem(&self.folder, &error))
    }

    /// Deletes packs that are not listed. A git that has one open continues to read it; others read the list of packs again.
    fn delete_unlisted(&self, contents: &Contents) -> io::Result<()> {
        for entry in fs::read_dir(self.objects().join("pack"))? {
            let entry = entry?;
            if !contents.files.contains_key(entry.file_name().to_string_lossy().as_ref()) {
                disk::delete(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// The part of a store that programs inside see.
pub(super) fn objects_dir(store: &Path) -> PathBuf {
    store.join("objects")
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn beyond(contents: &Contents, commits: &[&CommitId]) -> Revisions {
    Revisions::new(commits.iter().copied().filter(|commit| !contents.has(commit)), &contents.tips)
}

fn copy_problem(error: GitError) -> Problem {
    match error {
        GitError::Deadline { seconds, .. } => Problem::new(
            ProblemKind::Timeout,
            format!("copying what worktrees may read of MAIN took longer than {} minutes", seconds / 60),
            "lend all of MAIN's objects instead: set `objects = \"all\"` below `[worktree]` in flower.toml",
        ),
        other => other.into(),
    }
}
