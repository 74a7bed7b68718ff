//! Moves MAIN's branch: forward to a commit that passed its checks, or back to the recorded tip.
//!
//! An update needs MAIN's lock, and a journal is on disk before the branch moves. The branch itself is the only commit point:
//! after a crash, recovery asks git where the branch is, and finishes the update if the branch has moved.

use super::checkout::{self, StagedFiles};
use crate::MergeQueue;
use crate::failpoint;
use crate::merge_queue::VerifiedCommit;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::landing::Step;
use flower_core::{Caller, Command, LandingId, Main};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, MainBranch, Repo};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Proof that no other task examines or moves MAIN of this project.
pub(crate) struct MainLock {
    pub(crate) project: String,
    pub(crate) repository: Repository,
    _guard: OwnedMutexGuard<()>,
}

/// The only commits that MAIN's branch can be moved to.
pub(crate) enum UpdateTarget<'a> {
    Verified(&'a VerifiedCommit),
    /// Back to the recorded tip.
    Recorded(&'a Main),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MainUpdate {
    Done,
    /// The branch was not at the expected commit; nothing has changed.
    Conflict,
}

/// Why an update of MAIN was left unfinished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryCause {
    /// An earlier daemon ended during the update. None of its processes runs any more.
    Restart,
    /// The update failed in this daemon.
    Failure,
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    branch: String,
    old: CommitId,
    new: CommitId,
    landing: Option<LandingId>,
    note: Option<String>,
    #[serde(default)]
    commands: Option<String>,
    /// The recorded tip before the update. Differs from `old` if commits are adopted.
    onto: String,
}

impl MainLock {
    /// Creates MAIN's branch at the recorded tip, after it was deleted.
    pub(super) async fn recreate_branch(&self, main: &Main) -> Result<(), Problem> {
        let tip = CommitId::parse(&main.tip)?;
        Ok(MainBranch::of(&self.repository, &main.branch)?.recreate(&tip).await?)
    }

    /// Points HEAD to MAIN's branch.
    pub(super) async fn attach_head(&self, main: &Main) -> Result<(), Problem> {
        Ok(MainBranch::of(&self.repository, &main.branch)?.attach_head().await?)
    }
}

impl MergeQueue {
    pub(crate) async fn lock_main(&self, project: &str) -> Result<MainLock, Problem> {
        let repository = self.worktrees.repository(project).await?;
        let lock: Arc<Mutex<()>> = self.main_locks.of(project);
        let _guard = lock.lock_owned().await;
        Ok(MainLock { project: project.to_owned(), repository, _guard })
    }

    /// Moves MAIN's branch from `old` to the target, and its checkout with it; `changes` is the difference between the two. The
    /// caller records the update and then calls [`MergeQueue::close_journal`].
    pub(crate) async fn move_main(
        &self,
        lock: &MainLock,
        main: &Main,
        old: &CommitId,
        target: &UpdateTarget<'_>,
        changes: &[Change],
    ) -> Result<MainUpdate, Problem> {
        let (new, verified) = match target {
            UpdateTarget::Verified(verified) => (verified.commit().clone(), Some(verified)),
            UpdateTarget::Recorded(main) => (CommitId::parse(&main.tip)?, None),
        };
        let journal = Journal {
            branch: main.branch.clone(),
            old: old.clone(),
            new: new.clone(),
            landing: verified.map(|verified| verified.landing()),
            note: verified.and_then(|verified| verified.note()),
            commands: verified.and_then(|verified| verified.commands()),
            onto: main.tip.clone(),
        };
        // A second journal would overwrite the first, and with it the record of an unfinished landing.
        if self.has_journal(&lock.project) {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "an earlier move of MAIN is not finished yet",
                "it is tried again by itself; `flower main` shows the state of MAIN",
            ));
        }
        // Checked before the branch moves: with a locked index the checkout would stay behind.
        checkout::require_index_unlocked(&lock.repository).await?;
        failpoint::here("main.before_journal");
        let branch = MainBranch::of(&lock.repository, &main.branch)?;
        let swap = async {
            self.write_journal(&lock.project, &journal)?;
            failpoint::here("main.journal");
            Ok::<_, Problem>(branch.swap(old, &new).await?)
        };
        // The new files are staged meanwhile; the checkout itself changes only after the branch has moved.
        let (staged, swap) = tokio::join!(StagedFiles::prepare(&lock.repository, old, &new, changes), swap);
        if let Err(stderr) = swap? {
            self.close_journal(&lock.project);
            // git refuses a swap for two reasons: the branch has moved, or its ref is locked.
            if Repo::main(&lock.repository).tip(branch.name()).await?.as_ref() != Some(old) {
                return Ok(MainUpdate::Conflict);
            }
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("git does not move `{}`: {stderr}", main.branch),
                "is another git at work there? `flower doctor` looks for abandoned locks",
            ));
        }
        failpoint::here("main.moved");
        let skipped = checkout::update_checkout(&self.home, &lock.repository, staged, (old, &new), changes).await?;
        if !skipped.is_empty() {
            tracing::info!("MAIN of {}: edited files were not updated: {}", lock.project, skipped.join(", "));
        }
        failpoint::here("main.tree");
        Ok(MainUpdate::Done)
    }

    /// Deletes the journal, once the update that it describes is recorded or has not happened.
    pub(crate) fn close_journal(&self, project: &str) {
        let path = self.journal_path(project);
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("{}: {error}", path.display());
        }
        failpoint::here("main.journal_gone");
    }

    /// Finishes the update that a journal describes, if the branch has moved; otherwise only deletes the journal. Returns the landing
    /// that was recorded, if the update was one.
    pub(crate) async fn recover_main(&self, project: &str, cause: RecoveryCause) -> Result<Option<LandingId>, Problem> {
        let lock = self.lock_main(project).await?;
        let Some(journal) = self.read_journal(project) else { return Ok(None) };
        let repo = Repo::main(&lock.repository);
        let branch = MainBranch::of(&lock.repository, &journal.branch)?;
        let has_moved = match repo.tip(branch.name()).await? {
            Some(now) if now == journal.new => true,
            // A commit was made by hand meanwhile: on top of the new tip, or elsewhere.
            Some(now) => repo.is_ancestor(&journal.new, &now).await.unwrap_or(false),
            None => false,
        };
        let mut landed = None;
        if has_moved {
            let index_lock = lock.repository.git_dir.join("index.lock");
            // A git of the earlier daemon left the lock; no process of that daemon runs any more.
            if cause == RecoveryCause::Restart
                && let Err(error) = std::fs::remove_file(&index_lock)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!("{}: {error}", index_lock.display());
            }
            let changes = checkout::changes(&lock.repository, &journal.old, &journal.new).await?;
            let staged = StagedFiles::prepare(&lock.repository, &journal.old, &journal.new, &changes).await;
            let range = (&journal.old, &journal.new);
            checkout::update_checkout(&self.home, &lock.repository, staged, range, &changes).await?;
            landed = journal.landing;
            if let Some(number) = landed {
                let Journal { onto, new, note, commands, .. } = journal;
                let step = Step::Land { onto, merge_commit: new.into(), note, commands };
                self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
            }
        }
        self.close_journal(project);
        Ok(landed)
    }

    fn journal_path(&self, project: &str) -> PathBuf {
        let mut path = self.home.in_project(self.home.landings(), project).into_os_string();
        path.push(".journal");
        path.into()
    }

    fn write_journal(&self, project: &str, journal: &Journal) -> Result<(), Problem> {
        let path = self.journal_path(project);
        let text = serde_json::to_string(journal).expect("plain data");
        crate::worktrees::disk::make_private(&self.home.landings())
            .and_then(|()| crate::home::write_private(&path, &text))
            .and_then(|()| sync_folder(&self.home.landings()))
            .map_err(|error| self.home.problem(&path, &error))
    }

    fn read_journal(&self, project: &str) -> Option<Journal> {
        let text = std::fs::read(self.journal_path(project)).ok()?;
        serde_json::from_slice(&text).inspect_err(|error| tracing::warn!("the journal of {project}: {error}")).ok()
    }

    /// Whether an update of MAIN is under way, or was left unfinished.
    pub(crate) fn has_journal(&self, project: &str) -> bool {
        self.journal_path(project).exists()
    }
}

/// The name of a new file is on disk only once its folder is synced.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}
