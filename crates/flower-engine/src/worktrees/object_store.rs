//! The objects of MAIN's repository that sealed worktrees may read: a copy of what is reachable from MAIN's recorded tip, its
//! tags and its remote-tracking branches. One store per project, below `FLOWER_HOME`.
//!
//! Packs are written beside the store and moved in; the list of contents is written last. A crash therefore leaves a store
//! that has more than it lists, never less. Objects are only added: private repositories borrow them for as long as they live.

use super::disk;
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

/// Copying a very large repository on a slow disk.
const COPY_DEADLINE: Duration = Duration::from_secs(60 * 60);
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
    /// Changes each time the store is made from nothing: private repositories then have to be completed again.
    pub(super) generation: String,
    /// Objects that are there with everything reachable from them.
    pub(super) tips: BTreeSet<ObjectId>,
    /// MAIN's `shallow` file when it was made: with another one, other commits are reachable from the same tips.
    shallow: String,
    /// Files of packs and their sizes, by which a damaged store is noticed.
    files: BTreeMap<String, u64>,
}

/// What is packed into the store.
enum Packing<'a> {
    Reachable(&'a Revisions),
    /// All that these packs of the store have.
    Packs(&'a [&'a str]),
}

impl Contents {
    /// Whether a commit is there with everything that it reaches, because it is one of the tips.
    pub(super) fn has(&self, commit: &CommitId) -> bool {
        self.tips.contains(&ObjectId::from(commit.clone()))
    }
}

impl ObjectStore {
    pub(super) fn new(home: &Home, project: &str, repository: &Repository) -> ObjectStore {
        ObjectStore { folder: home.objects().join(project), repository: repository.clone() }
    }

    /// The folder that is shown inside, in place of MAIN's objects.
    pub(super) fn objects(&self) -> PathBuf {
        shown(&self.folder)
    }

    /// What the store has, unless it is missing, damaged, or made from a repository that was shallow in another way.
    pub(super) fn contents(&self) -> Option<Contents> {
        let contents: Contents = serde_json::from_slice(&fs::read(self.list()).ok()?).ok()?;
        let packs = self.objects().join("pack");
        let is_whole = |(name, size): (&String, &u64)| {
            fs::symlink_metadata(packs.join(name)).is_ok_and(|found| found.is_file() && found.len() == *size)
        };
        (contents.shallow == self.shallow() && contents.files.iter().all(is_whole)).then_some(contents)
    }

    /// Whether there is a list of contents, whatever became of them.
    pub(super) fn was_made(&self) -> bool {
        self.list().exists()
    }

    /// The size of all packs, and how many there are.
    pub(super) fn size(contents: &Contents) -> (u64, usize) {
        let packs = contents.files.keys().filter(|name| name.ends_with(".pack")).count();
        (contents.files.values().sum(), packs)
    }

    /// Adds what is reachable from `tips` and not there yet. Only one at a time may do so.
    pub(super) async fn update(&self, tips: &BTreeSet<ObjectId>) -> Result<Contents, Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        self.prepare().map_err(io)?;
        let known = self.contents();
        let mut contents = known.unwrap_or_else(|| Contents {
            generation: random_hex(),
            tips: BTreeSet::new(),
            shallow: self.shallow(),
            files: BTreeMap::new(),
        });
        let wanted = self.present(tips.difference(&contents.tips)).await?;
        if !wanted.is_empty() {
            let revisions = Revisions::new(&wanted, &contents.tips);
            let packs = self.write_pack(&Packing::Reachable(&revisions), self.lenders()).await?;
            contents.files.extend(packs);
            contents.tips = self.still_needed(&contents.tips, tips).await;
            contents.tips.extend(wanted);
            self.save(&contents).map_err(io)?;
        }
        if Self::size(&contents).1 > MAX_PACKS {
            self.merge_packs(&mut contents).await?;
        }
        self.delete_unlisted(&contents).map_err(io)?;
        Ok(contents)
    }

    /// Reads all packs, and says what is wrong with them.
    pub(super) async fn verify(&self, contents: &Contents) -> Result<(), Problem> {
        let packs = self.objects().join("pack");
        let indexes = contents.files.keys().filter(|name| name.ends_with(".idx")).map(|name| packs.join(name));
        Ok(self.repo().verify_packs(&indexes.collect::<Vec<_>>()).await?)
    }

    /// The next update begins from nothing.
    pub(super) fn forget(&self) -> io::Result<()> {
        disk::delete(&self.list())
    }

    /// Bytes that are written so far of what is being copied.
    pub(super) fn written(&self) -> u64 {
        self.drafts().iter().map(|draft| disk::size(draft, u64::MAX).0).sum()
    }

    /// Bytes of all objects that MAIN has or borrows, which is about what a copy takes at most.
    pub(super) fn size_of_main(&self) -> u64 {
        borrowed_by_main(&self.repository).iter().map(|dir| disk::size(dir, u64::MAX).0).sum()
    }

    /// MAIN's repository, with what only the store still has.
    pub(super) fn repo(&self) -> Repo {
        // Parents that are only claimed locally are not those that are read inside, and lead to what is not lent.
        let repo = Repo::main(&self.repository).without_grafts();
        repo.borrowing(&[self.objects()]).with_deadline(COPY_DEADLINE)
    }

    /// Packs what is reachable from `commits` beyond the store into a private repository that no process has entered yet.
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
        Ok(repo.pack(&wanted, &objects.join("pack/pack")).await?)
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

    /// All folders in which something to be copied may lie.
    fn lenders(&self) -> Vec<PathBuf> {
        let mut all = borrowed_by_main(&self.repository);
        all.push(self.objects());
        all
    }

    /// Packs that are being written, or were when a daemon was killed.
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

    /// Those that MAIN's repository has: a ref may name an object that is lost.
    async fn present(&self, objects: impl Iterator<Item = &ObjectId>) -> Result<BTreeSet<ObjectId>, Problem> {
        let asked: Vec<ObjectId> = objects.cloned().collect();
        Ok(self.repo().present(&asked).await?.into_iter().collect())
    }

    /// Former tips that no current one reaches, so that the list does not grow with every landing. If git does not say, all.
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

    /// Has git write packs beside the store, and moves them in. Gives their files.
    async fn write_pack(&self, what: &Packing<'_>, lenders: Vec<PathBuf>) -> Result<BTreeMap<String, u64>, Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        let draft = self.folder.join(format!("draft-{}", &random_hex()[..16]));
        let packs = draft.join("pack");
        fs::create_dir_all(&packs).map_err(io)?;
        let repo = self.repo().with_objects_in(&draft).borrowing(&lenders);
        let written = match what {
            // Differences that MAIN's packs have are taken over. To look for more takes minutes where large files are new.
            Packing::Reachable(revisions) => repo.pack_fast(revisions, &packs.join("pack")).await,
            Packing::Packs(names) => repo.merge_packs(names, &packs.join("pack")).await,
        };
        let moved = match written {
            Ok(()) => self.move_in(&packs).map_err(io),
            Err(error) => Err(too_long(error)),
        };
        if let Err(error) = disk::delete(&draft) {
            tracing::warn!("{} stays behind: {error}", draft.display());
        }
        moved
    }

    /// Indexes last: git finds a pack by its index.
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
        // Their names are on disk before the list says so.
        fs::File::open(&to)?.sync_all()?;
        Ok(files.into_iter().map(|(_, name, size)| (name, size)).collect())
    }

    fn save(&self, contents: &Contents) -> io::Result<()> {
        write_private(&self.list(), &serde_json::to_string(contents).expect("plain data"))
    }

    /// Many small packs become one. The largest stays as it is, until the others are worth copying it.
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

    /// A git that has such a pack open goes on reading it; others look again.
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

/// The part of a store that is shown inside.
pub(super) fn shown(store: &Path) -> PathBuf {
    store.join("objects")
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn beyond(contents: &Contents, commits: &[&CommitId]) -> Revisions {
    Revisions::new(commits.iter().copied().filter(|commit| !contents.has(commit)), &contents.tips)
}

fn too_long(error: GitError) -> Problem {
    match error {
        GitError::Deadline { seconds, .. } => Problem::new(
            ProblemKind::Timeout,
            format!("copying what worktrees may read of MAIN took longer than {} minutes", seconds / 60),
            "lend all of MAIN's objects instead: set `objects = \"all\"` below `[worktree]` in flower.toml",
        ),
        other => other.into(),
    }
}
