//! Finishes or undoes what was under way when flower ended, and deletes expired archives.

use super::{disk, gitlinks, remove, setup};
use crate::Worktrees;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Worktree};
use flower_git::Repo;
use flower_store::worktrees;
use std::time::Duration;

/// Enough to pack a large repository.
const TIDY_TIMEOUT: Duration = Duration::from_secs(3_600);

impl Worktrees {
    /// Reconciles all worktrees, once at every start of the daemon.
    pub async fn reconcile_all(&self) {
        let live = match self.store.read(|conn| worktrees::live(conn, None)).await {
            Ok(live) => live,
            Err(error) => return tracing::warn!("worktrees cannot be read: {error}"),
        };
        for worktree in live {
            if let Err(problem) = self.reconcile(&worktree).await {
                tracing::warn!("worktree {}: {}", worktree.name, problem.message);
            }
        }
        self.empty_trash().await;
        self.drop_expired().await;
    }

    async fn reconcile(&self, worktree: &Worktree) -> Result<(), flower_contract::error::Problem> {
        match worktree.stage {
            // The request that creates it has failed with the daemon, so no client knows it.
            Stage::Creating => {
                let repository = self.repository(&worktree.project).await?;
                let lock = self.lock_of(&repository.root);
                let _lock = lock.lock().await;
                self.undo_creation(worktree, "flower ended while it was being made").await;
                Ok(())
            }
            Stage::Removing => self.finish_removal(worktree.clone()).await,
            Stage::Restoring => self.resume_restoring(worktree).await,
            Stage::Ready => {
                let place = self.paths(worktree).await?;
                setup::record_interrupted_setup(&place);
                // Worktrees of an earlier version of flower have neither the configuration nor the marks.
                if worktree.seal == Seal::Sealed { gitlinks::protect_operator(&place).await } else { Ok(()) }
            }
            Stage::Removed | Stage::Failed => Ok(()),
        }
    }

    /// Deletes everything in the trash, except directories of removals that are still under way.
    async fn empty_trash(&self) {
        let Ok(live) = self.store.read(|conn| worktrees::live(conn, None)).await else { return };
        let under_way: Vec<_> = live.iter().map(|worktree| remove::trash(&self.home, worktree.number)).collect();
        let Ok(entries) = std::fs::read_dir(self.home.trash()) else { return };
        let doomed: Vec<_> =
            entries.flatten().map(|entry| entry.path()).filter(|path| !under_way.contains(path)).collect();
        tokio::task::spawn_blocking(move || {
            for path in doomed {
                if let Err(error) = disk::delete(&path) {
                    tracing::warn!("{} stays behind: {error}", path.display());
                }
            }
        });
    }

    /// Deletes expired archives.
    pub async fn drop_expired(&self) {
        let Ok(removed) = self.store.read(|conn| worktrees::removed(conn, None)).await else { return };
        let now = jiff::Timestamp::now();
        for worktree in removed {
            let until = worktree.archive.as_ref().and_then(|kept| kept.until.parse::<jiff::Timestamp>().ok());
            if until.is_some_and(|until| until < now)
                && let Err(problem) = self.drop_archive(&Caller::system(), worktree.number).await
            {
                tracing::warn!("archive {}: {}", worktree.number, problem.message);
            }
        }
    }

    /// Packs loose objects of the repositories. Automatic packing by git is disabled in flower's commands, and the refs below
    /// `refs/flower` protect objects that private repositories borrow.
    pub async fn tidy_repositories(&self) {
        let Ok(projects) = self.projects.list().await else { return };
        for project in projects {
            let Ok(repository) = self.repository(&project.name).await else { continue };
            let lock = self.lock_of(&repository.root);
            let _lock = lock.lock().await;
            if let Err(error) = Repo::main(&repository).with_deadline(TIDY_TIMEOUT).tidy().await {
                tracing::warn!("{}: {error}", repository.root.display());
            }
        }
    }
}
