//! Moves MAIN's branch: forward to a commit that passed its checks, or back to where the log has it.
//!
//! Only a branch that no longer exists is made again elsewhere, in `put_right.rs`. A move needs MAIN's lock. A journal is
//! on disk before the branch moves. The branch itself is the only commit point: after a crash, recovery asks git where the
//! branch is, and finishes the move if it has happened.

use super::checkout::{self, Staged};
use crate::MergeQueue;
use crate::failpoint;
use crate::merge_queue::VerifiedCommit;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::landing::Step;
use flower_core::{Caller, Command, Main};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, MainBranch, Repo};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Proof that nobody else looks at or moves this MAIN meanwhile.
pub(crate) struct MainLock {
    pub(crate) project: String,
    pub(crate) repository: Repository,
    _guard: OwnedMutexGuard<()>,
}

/// Where it may go.
pub(crate) enum Target<'a> {
    Verified(&'a VerifiedCommit),
    /// Back to where the log has it.
    Recorded(&'a Main),
}

/// How an attempt ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// These files were left alone, because somebody has edited them.
    Yes { left: Vec<String> },
    /// It is not where it was thought to be; nothing happened.
    Conflict,
}

/// What a move was left unfinished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// An earlier daemon, of which nothing runs any more.
    Crash,
    /// A file or a lock in the way, in this one.
    Trouble,
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    branch: String,
    old: CommitId,
    new: CommitId,
    landing: Option<u64>,
    note: Option<String>,
    #[serde(default)]
    commands: Option<String>,
    /// What MAIN was before, if not what its branch said: the tip that the log had.
    onto: String,
}

impl MainLock {
    /// Makes MAIN's branch again where the log has it, after it was deleted.
    pub(super) async fn recreate_branch(&self, main: &Main) -> Result<(), Problem> {
        let tip = CommitId::parse(&main.tip)?;
        Ok(MainBranch::of(&self.repository, &main.branch)?.recreate(&tip).await?)
    }

    /// Makes MAIN's branch the one that is checked out.
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

    /// Moves MAIN's branch from `old`, and its checkout with it: `changes` are what differs between the two. What comes after, [`MergeQueue::close_journal`] ends.
    pub(crate) async fn move_main(
        &self,
        lock: &MainLock,
        main: &Main,
        old: &CommitId,
        target: &Target<'_>,
        changes: &[Change],
    ) -> Result<Moved, Problem> {
        let (new, verified) = match target {
            Target::Verified(verified) => (verified.commit().clone(), Some(verified)),
            Target::Recorded(main) => (CommitId::parse(&main.tip)?, None),
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
        if self.is_moving(&lock.project) {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "an earlier move of MAIN is not finished yet",
                "it is tried again by itself; `flower main` shows how it stands",
            ));
        }
        checkout::require_index(&lock.repository).await?;
        failpoint::here("main.before_journal");
        let branch = MainBranch::of(&lock.repository, &main.branch)?;
        let swap = async {
            self.write_journal(&lock.project, &journal)?;
            failpoint::here("main.journal");
            Ok::<_, Problem>(branch.swap(old, &new).await?)
        };
        // What the checkout is to be is made ready beside it meanwhile; whatever moves it begins with the branch.
        let (staged, swap) = tokio::join!(Staged::prepare(&lock.repository, old, &new, changes), swap);
        if let Err(stderr) = swap? {
            self.close_journal(&lock.project);
            if Repo::main(&lock.repository).tip(branch.name()).await?.as_ref() != Some(old) {
                return Ok(Moved::Conflict);
            }
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("git does not move `{}`: {stderr}", main.branch),
                "is another git at work there? `flower doctor` looks for locks that nobody holds",
            ));
        }
        failpoint::here("main.moved");
        let left = checkout::bring(&self.home, &lock.repository, staged, (old, &new), changes).await?;
        failpoint::here("main.tree");
        Ok(Moved::Yes { left })
    }

    /// Everything that a journal speaks of is recorded.
    pub(crate) fn close_journal(&self, project: &str) {
        let path = self.journal(project);
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("{}: {error}", path.display());
        }
        failpoint::here("main.journal_gone");
    }

    /// What git has done is finished and recorded; what it has not done did not happen.
    pub(crate) async fn recover_main(&self, project: &str, since: Since) -> Result<(), Problem> {
        let lock = self.lock_main(project).await?;
        let Some(journal) = self.read_journal(project) else { return Ok(()) };
        let repo = Repo::main(&lock.repository);
        let branch = MainBranch::of(&lock.repository, &journal.branch)?;
        let landed = match repo.tip(branch.name()).await? {
            Some(now) if now == journal.new => true,
            // Somebody went on from it, or from elsewhere.
            Some(now) => repo.is_ancestor(&journal.new, &now).await.unwrap_or(false),
            None => false,
        };
        if landed {
            let index_lock = lock.repository.git_dir.join("index.lock");
            // The git that held it was ours, and is gone: nothing that an earlier daemon started runs any more.
            if since == Since::Crash
                && let Err(error) = std::fs::remove_file(&index_lock)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!("{}: {error}", index_lock.display());
            }
            let changes = checkout::changes(&lock.repository, &journal.old, &journal.new).await?;
            let staged = Staged::prepare(&lock.repository, &journal.old, &journal.new, &changes).await;
            checkout::bring(&self.home, &lock.repository, staged, (&journal.old, &journal.new), &changes).await?;
            if let Some(number) = journal.landing {
                let Journal { onto, new, note, commands, .. } = journal;
                let step = Step::Land { onto, merge_commit: new.into(), note, commands };
                self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
            }
        }
        self.close_journal(project);
        Ok(())
    }

    fn journal(&self, project: &str) -> PathBuf {
        self.home.landings().join(format!("{project}.journal"))
    }

    fn write_journal(&self, project: &str, journal: &Journal) -> Result<(), Problem> {
        let path = self.journal(project);
        let text = serde_json::to_string(journal).expect("plain data");
        crate::worktrees::disk::make_private(&self.home.landings())
            .and_then(|()| crate::home::write_private(&path, &text))
            .and_then(|()| sync_folder(&self.home.landings()))
            .map_err(|error| self.home.problem(&path, &error))
    }

    fn read_journal(&self, project: &str) -> Option<Journal> {
        let text = std::fs::read(self.journal(project)).ok()?;
        serde_json::from_slice(&text).inspect_err(|error| tracing::warn!("the journal of {project}: {error}")).ok()
    }

    /// Whether a move is under way, or was when flower ended.
    pub(crate) fn is_moving(&self, project: &str) -> bool {
        self.journal(project).exists()
    }
}

/// A file's name is on disk only once its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}
