//! Makes sure that the worktree of a dispatch exists.

use super::NewWorktree;
use crate::Worktrees;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_core::worktree::{Seal, Stage, WorktreeKind};
use flower_core::{BriefId, Caller, Worktree};
use flower_store::worktrees;
use std::time::{Duration, Instant};

/// How long another request may take to create or remove the worktree.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

impl Worktrees {
    /// The live worktree of this name; created, or restored from its archive, if there is none. Without a brief it becomes a lane.
    pub(crate) async fn ensure(&self, project: &str, name: &str, brief: Option<BriefId>) -> Result<Worktree, Problem> {
        let lock = self.work_lock(project, name);
        let _one_at_a_time = lock.lock().await;
        let choice = ProjectChoice { name: Some(project.to_owned()), dir: None };
        let (of, called) = (project.to_owned(), name.to_owned());
        if let Some(live) = self.store.read(move |conn| worktrees::named(conn, &of, &called)).await? {
            let live = self.until_ready(live).await?;
            if live.is_live() {
                return Ok(live);
            }
        }
        let of = project.to_owned();
        let removed = self.store.read(move |conn| worktrees::removed(conn, Some(&of))).await?;
        let last = removed.into_iter().find(|worktree| worktree.name == name);
        let kept = last.and_then(|worktree| worktree.archive).filter(|archive| archive.branch_kept);
        if kept.is_some() {
            self.restore(&Caller::system(), &choice, name, None).await?;
        } else {
            let new = NewWorktree {
                name: name.to_owned(),
                kind: if brief.is_some() { WorktreeKind::Ephemeral } else { WorktreeKind::Lane },
                seal: Seal::Sealed,
                from: None,
                brief,
                no_setup: false,
                // A dispatch can say nothing else.
                lfs_pointers: true,
            };
            self.create(&Caller::system(), project, new).await?;
        }
        self.find(&choice, name).await
    }

    /// Waits while another task creates, restores or removes the worktree.
    async fn until_ready(&self, mut worktree: Worktree) -> Result<Worktree, Problem> {
        let begun = Instant::now();
        let under_way = [Stage::Creating, Stage::Restoring, Stage::Removing];
        while under_way.contains(&worktree.stage) && begun.elapsed() < READY_TIMEOUT {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let number = worktree.number;
            let found = self.store.read(move |conn| worktrees::worktree(conn, number)).await?;
            worktree = found.unwrap_or(worktree);
        }
        Ok(worktree)
    }
}
