//! Lends MAIN's objects to sealed worktrees: keeps each project's [`ObjectStore`] up to date, and copies further objects that a
//! worktree needs into its private repository.

use super::object_store::{Contents, ObjectStore};
use super::partial::may_be_partial;
use super::paths::WorktreePaths;
use super::private;
use crate::Worktrees;
use crate::settings::Objects;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::worktree::{Seal, Stage};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, ObjectId, RefName, Repo};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// How long a command waits for a store that is being made.
const COPY_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// flower gets no event when tags or remote-tracking branches move.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// A copy that failed, for instance for lack of space, would fail again a minute later.
const RETRY_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The state of copies that are not complete.
#[derive(Debug, Default)]
pub(super) struct Lending {
    wake: Notify,
    by_project: Mutex<HashMap<String, CopyState>>,
}

#[derive(Clone, Debug)]
pub(super) enum CopyState {
    Waiting,
    /// Objects that are only at a remote are being fetched.
    Fetching {
        missing: usize,
        remote: String,
    },
    Running {
        store: ObjectStore,
        max_bytes: u64,
    },
    Failed {
        why: String,
        at: Instant,
    },
}

/// The objects that are lent now.
#[derive(Clone, Debug)]
pub(crate) struct LentObjects {
    contents: Contents,
    /// The current tips of MAIN; the store may also have former ones.
    tips: BTreeSet<ObjectId>,
    /// Tags, with the objects that they name.
    pub(super) tags: Vec<(RefName, ObjectId)>,
}

impl Lending {
    pub(super) fn set(&self, project: &str, state: Option<CopyState>) {
        let mut all = self.by_project.lock().expect("no panic while held");
        match state {
            Some(state) => all.insert(project.to_owned(), state),
            None => all.remove(project),
        };
    }

    fn get(&self, project: &str) -> Option<CopyState> {
        self.by_project.lock().expect("no panic while held").get(project).cloned()
    }
}

impl Worktrees {
    /// Makes the stores of new projects, and keeps all of them up to date, until the daemon ends.
    pub async fn run_lending(self: Arc<Self>) {
        loop {
            let mut tasks = JoinSet::new();
            for project in self.projects.list().await.unwrap_or_default() {
                let worktrees = self.clone();
                tasks.spawn(async move { worktrees.lend_in_background(&project.name).await });
            }
            tasks.join_all().await;
            let _ = tokio::time::timeout(POLL_INTERVAL, self.lending.wake.notified()).await;
        }
    }

    /// Starts the copy for a new project in the background.
    pub(crate) fn start_lending(&self, project: &str, repository: &Repository) {
        if !ObjectStore::new(&self.home, project, repository).was_made() {
            self.lending.set(project, Some(CopyState::Waiting));
        }
        self.lending.wake.notify_one();
    }

    /// Forgets the state of a copy, because the project has another name now.
    pub(crate) fn forget_lending(&self, project: &str) {
        self.lending.set(project, None);
    }

    async fn lend_in_background(&self, project: &str) {
        self.lend_and_settle(project).await;
        // There was nothing to copy.
        if matches!(self.lending.get(project), Some(CopyState::Waiting)) {
            self.lending.set(project, None);
        }
    }

    async fn lend_and_settle(&self, project: &str) {
        let is_backing_off =
            |state: CopyState| matches!(state, CopyState::Failed { at, .. } if at.elapsed() < RETRY_INTERVAL);
        if self.lending.get(project).is_some_and(is_backing_off) {
            return;
        }
        let Ok(repository) = self.repository(project).await else { return };
        let Ok(facts) = self.facts_of(project).await else { return };
        // The copy is made once the files of MAIN's tip are fetched.
        if may_be_partial(&repository)
            && Repo::main(&repository)
                .missing_objects(&[&facts.main_tip])
                .await
                .is_ok_and(|missing| !missing.is_empty())
        {
            return;
        }
        let mut places = Vec::new();
        for worktree in self.live(project).await.unwrap_or_default() {
            if worktree.seal == Seal::Sealed && worktree.stage == Stage::Ready {
                places.extend(self.paths(&worktree).await);
            }
        }
        if facts.settings.worktree.objects == Objects::All {
            // The copy is deleted once no worktree reads it.
            if places.iter().all(|place| place.store().is_none()) {
                super::reclaim(&self.home, &self.home.in_project(self.home.objects(), project));
            }
            return;
        }
        if let Err(problem) = self.lend(project, &repository).await {
            return tracing::warn!("{project}: {}", problem.message);
        }
        for place in places {
            let is_settled = |contents: &Contents| place.store().as_ref() == Some(&contents.generation);
            if self.store_of(&place).contents().as_ref().is_some_and(is_settled) {
                continue;
            }
            // A program in an older jail still reads all of MAIN's objects, and may need any of them.
            if super::remove::busy_process(&place).is_some() {
                continue;
            }
            if let Err(problem) = self.settle_objects(&place, Objects::Reachable).await {
                tracing::warn!("{}: {}", place.name, problem.message);
            }
        }
    }

    /// Adds MAIN's new tip to the store once, before it is provided to all worktrees.
    pub(crate) async fn lend_landed(&self, project: &str) {
        let Ok(repository) = self.repository(project).await else { return };
        // A project whose worktrees read all of MAIN's objects has no store.
        if ObjectStore::new(&self.home, project, &repository).was_made()
            && let Err(problem) = self.lend(project, &repository).await
        {
            tracing::warn!("{project}: {}", problem.message);
        }
    }

    /// Waits for the first copy, before a lock is taken or anything is recorded.
    pub(super) async fn require_lendable(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        if ObjectStore::new(&self.home, project, repository).contents().is_some() {
            return Ok(());
        }
        // A repository without commits has nothing to lend; a later check reports it.
        let Ok(facts) = self.facts_of(project).await else { return Ok(()) };
        if facts.settings.worktree.objects == Objects::All {
            return Ok(());
        }
        self.lend(project, repository).await.map(|_| ())
    }

    /// Updates the store with MAIN's recorded tip, its tags and its remote-tracking branches.
    pub(crate) async fn lend(&self, project: &str, repository: &Repository) -> Result<LentObjects, Problem> {
        let repo = Repo::main(repository);
        let (main, tags, remotes) =
            tokio::join!(self.main_of(project), repo.refs_below("refs/tags/"), repo.refs_below("refs/remotes/"));
        let tags = tags?;
        let objects = tags.iter().chain(&remotes?).map(|(_, object)| object.clone()).collect::<Vec<_>>();
        let main = ObjectId::parse(&main?.tip)?;
        let tips: BTreeSet<ObjectId> = objects.into_iter().chain([main]).collect();
        let store = ObjectStore::new(&self.home, project, repository);
        store.require_what_main_has().await?;
        let contents = match store.contents() {
            Some(contents) if tips.is_subset(&contents.tips) => contents,
            _ => self.update_store(project, store, tips.clone()).await?,
        };
        let tags = tags.into_iter().filter(|(_, object)| contents.tips.contains(object)).collect();
        Ok(LentObjects { tips: tips.intersection(&contents.tips).cloned().collect(), contents, tags })
    }

    /// Runs in a task of its own, so that the copy continues if the request is dropped.
    async fn update_store(
        &self,
        project: &str,
        store: ObjectStore,
        tips: BTreeSet<ObjectId>,
    ) -> Result<Contents, Problem> {
        let lock = self.lock_of(&self.home.in_project(self.home.objects(), project));
        let (lending, name) = (self.lending.clone(), project.to_owned());
        let task = tokio::spawn(async move {
            let _lock = lock.lock().await;
            if !store.was_made() {
                let measured = store.clone();
                let max_bytes = tokio::task::spawn_blocking(move || measured.size_of_main()).await.unwrap_or_default();
                lending.set(&name, Some(CopyState::Running { store: store.clone(), max_bytes }));
            }
            let updated = store.update(&tips).await;
            let failed = updated.as_ref().err();
            let failed = failed.map(|problem| CopyState::Failed { why: problem.message.clone(), at: Instant::now() });
            lending.set(&name, failed);
            updated
        });
        match tokio::time::timeout(COPY_TIMEOUT, task).await {
            Ok(Ok(updated)) => updated,
            Ok(Err(error)) => Err(Problem::bug(format!("copying MAIN's objects: {error}"))),
            Err(_) => Err(Problem::new(
                ProblemKind::Timeout,
                format!(
                    "{}, and is not finished after {} minutes",
                    self.lending_note(project).unwrap_or_else(|| "MAIN's objects are being copied".to_owned()),
                    COPY_TIMEOUT.as_secs() / 60
                ),
                "it goes on: `flower main` shows how far it is; then try again",
            )),
        }
    }

    /// A note about the progress of a copy, or why there is none.
    pub(crate) fn lending_note(&self, project: &str) -> Option<String> {
        const MB: u64 = 1_000_000;
        match self.lending.get(project)? {
            CopyState::Fetching { missing, remote } => Some(format!(
                "{missing} files and folders that are only at `{remote}` are being fetched: this is a partial clone"
            )),
            CopyState::Waiting => {
                Some("the part of MAIN's objects that worktrees may read is about to be copied".to_owned())
            }
            CopyState::Running { store, max_bytes } => Some(format!(
                "the part of MAIN's objects that worktrees may read is being copied: {} of at most {} MB",
                store.written() / MB,
                max_bytes.div_ceil(MB)
            )),
            CopyState::Failed { why, .. } => Some(format!(
                "the part of MAIN's objects that worktrees may read could not be copied: {why}; it is tried again with the \
                 next sealed worktree, and every {} minutes",
                RETRY_INTERVAL.as_secs() / 60
            )),
        }
    }

    /// Makes a new private repository, in which no program has run yet, read the store, and adds the objects of these commits that the
    /// store does not have.
    pub(crate) async fn lend_to_new(
        &self,
        place: &WorktreePaths,
        lent: &LentObjects,
        commits: &[&CommitId],
    ) -> Result<(), Problem> {
        let store = self.store_of(place);
        store.complete_new(&place.private(), &lent.contents, commits).await?;
        private::write_tags(place, &lent.tags).map_err(|error| self.home.problem(&place.folder, &error))?;
        self.set_generation(place, &lent.contents.generation)
    }

    /// Applies the project's setting `objects` before a program starts inside: completes the private repository if it was made when it
    /// could read more, or with another store.
    pub(crate) async fn settle_objects(&self, place: &WorktreePaths, objects: Objects) -> Result<(), Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        if objects == Objects::All {
            return super::disk::delete(&place.lent()).map_err(io);
        }
        if place.store().is_some() {
            return self.complete(place).await;
        }
        let lent = self.lend(&place.project, &place.repository).await?;
        if let Err(error) = self.copy_borrowed(place, &lent).await {
            // The private repository is damaged. `complete` adds at least what MAIN keeps for it.
            match error {
                GitError::Failed { .. } => tracing::warn!("{}: {error}", place.name),
                _ => return Err(error.into()),
            }
        }
        // From here on git inside reads the store; the empty generation makes `complete` run.
        self.set_generation(place, "")?;
        self.complete(place).await
    }

    /// Copies all borrowed objects that will not be lent into the private repository, while it can still read them: also staged ones and
    /// those of its own branches.
    async fn copy_borrowed(&self, place: &WorktreePaths, lent: &LentObjects) -> Result<(), GitError> {
        let io = |error: std::io::Error| GitError::Io { command: "pack-objects".into(), error: error.to_string() };
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let (lent, packs) = (lent.tips.iter().cloned().collect::<Vec<_>>(), place.private().join("objects/pack/pack"));
        Repo::jailed(launcher).with_deadline(super::limits::IMPORT_TIMEOUT).pack_everything(&lent, &packs).await
    }

    /// If the store was made again, adds the objects that MAIN keeps for a private repository and the store does not have.
    pub(super) async fn complete(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let Some(generation) = place.store() else { return Ok(()) };
        let known = self.store_of(place).contents();
        if known.as_ref().is_some_and(|contents| contents.generation == generation) {
            return Ok(());
        }
        let contents = match known {
            Some(contents) => contents,
            None => self.lend(&place.project, &place.repository).await?.contents,
        };
        let commits = self.kept_commits(place).await?;
        self.add_inside(place, &contents, &commits.iter().collect::<Vec<_>>()).await?;
        self.set_generation(place, &contents.generation)
    }

    /// Commits that MAIN's repository keeps for a worktree: those that were provided or imported, and its branch.
    async fn kept_commits(&self, place: &WorktreePaths) -> Result<Vec<CommitId>, Problem> {
        let repo = place.repo();
        let kept = repo.refs_below(&place.keep()).await?.into_iter().map(|(_, object)| CommitId::of_object(object));
        Ok(kept.chain(repo.tip(&place.full_branch()).await?).collect())
    }

    /// Makes sure that these commits can be read inside.
    pub(super) async fn provide(&self, place: &WorktreePaths, commits: &[&CommitId]) -> Result<(), Problem> {
        if place.store().is_none() {
            return Ok(());
        }
        self.complete(place).await?;
        let contents = match self.store_of(place).contents() {
            Some(contents) if commits.iter().all(|commit| contents.has(commit)) => return Ok(()),
            // The store may not have the newest tip yet.
            _ => self.lend(&place.project, &place.repository).await?.contents,
        };
        self.add_inside(place, &contents, commits).await
    }

    /// Adds the objects of commits to a private repository. They are packed outside and unpacked in the jail: once a program has run
    /// inside, flower writes nothing to a private repository from outside.
    async fn add_inside(
        &self,
        place: &WorktreePaths,
        contents: &Contents,
        commits: &[&CommitId],
    ) -> Result<(), Problem> {
        let store = self.store_of(place);
        let Some(wanted) = store.beyond(contents, commits).await? else { return Ok(()) };
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let private = Repo::jailed(launcher).with_deadline(super::limits::IMPORT_TIMEOUT);
        let transfer = store.repo().send(&wanted, &private).await;
        match (transfer.packed, transfer.unpacked) {
            (Err(GitError::Failed { stderr, .. }), Err(unpacking)) if stderr.is_empty() => Err(unpacking.into()),
            (Err(packing), _) => Err(packing.into()),
            (Ok(()), unpacked) => unpacked.map_err(Problem::from),
        }
    }

    /// A description of the store; an error if it is damaged, or missing although worktrees read it.
    pub(super) async fn verify_objects(&self, project: &str, repository: &Repository) -> Result<String, Problem> {
        let store = ObjectStore::new(&self.home, project, repository);
        let lock = self.lock_of(&self.home.in_project(self.home.objects(), project));
        let Ok(_lock) = lock.try_lock() else {
            return Ok(self.lending_note(project).unwrap_or_else(|| format!("{project}: being brought up to date")));
        };
        let folder = store.objects().display().to_string();
        let damaged = |what: &str| Problem::new(ProblemKind::Refused, format!("{folder} {what}"), "");
        let Some(contents) = store.contents() else {
            if store.was_made() {
                return Err(damaged("is damaged, or made before MAIN's repository was made deeper or shallower"));
            }
            for worktree in self.live(project).await? {
                if self.paths(&worktree).await?.store().is_some() {
                    return Err(damaged("is gone"));
                }
            }
            return Ok(self.lending_note(project).unwrap_or_else(|| format!("{project}: no worktree reads a copy")));
        };
        store.verify(&contents).await.map_err(|problem| damaged(&format!("is damaged: {}", problem.message)))?;
        let (bytes, packs) = ObjectStore::size(&contents);
        Ok(format!("{folder} is whole: {} MB in {packs} packs", bytes.div_ceil(1_000_000)))
    }

    /// Makes the store from nothing, and completes the private repositories that read it.
    pub(super) async fn remake_objects(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let store = ObjectStore::new(&self.home, project, repository);
        store.invalidate().map_err(|error| self.home.problem(&store.objects(), &error))?;
        self.lend(project, repository).await?;
        for worktree in self.live(project).await? {
            if worktree.stage == Stage::Ready {
                self.complete(&self.paths(&worktree).await?).await?;
            }
        }
        Ok(())
    }

    fn store_of(&self, place: &WorktreePaths) -> ObjectStore {
        ObjectStore::new(&self.home, &place.project, &place.repository)
    }

    /// Records which generation of the store a private repository reads.
    fn set_generation(&self, place: &WorktreePaths, generation: &str) -> Result<(), Problem> {
        fs::write(place.lent(), format!("{generation}\n")).map_err(|error| self.home.problem(&place.folder, &error))
    }
}
