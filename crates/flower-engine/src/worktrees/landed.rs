//! Commits of a worktree that have landed as other commits, as a landing of one commit does: to git they are not in MAIN, although MAIN
//! has their changes.

use crate::Worktrees;
use flower_contract::error::Problem;
use flower_core::WorktreeId;
use flower_core::landing::State;
use flower_git::repository::Repository;
use flower_git::{CommitId, Repo};
use flower_store::landings;
use std::time::Duration;

const MERGE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A commit of a worktree that has landed, and was not reverted.
#[derive(Clone, Debug)]
pub(crate) struct LandedBefore {
    commit: CommitId,
    /// The commit in MAIN.
    landed_as: CommitId,
}

impl Worktrees {
    /// What has landed from a worktree, oldest first.
    pub(crate) async fn landed_before(
        &self,
        repository: &Repository,
        project: &str,
        worktree: Option<WorktreeId>,
    ) -> Result<Vec<LandedBefore>, Problem> {
        let Some(worktree) = worktree else { return Ok(Vec::new()) };
        let of = project.to_owned();
        let all = self.store.read(move |conn| landings::of_worktree(conn, &of, worktree)).await?;
        let mut landed = Vec::new();
        for landing in all.iter().filter(|landing| landing.state == State::Landed) {
            let Some(landed_as) = &landing.merge_commit else { continue };
            let (commit, landed_as) = (CommitId::parse(&landing.commit)?, CommitId::parse(landed_as)?);
            landed.push(LandedBefore { commit, landed_as });
        }
        if landed.is_empty() {
            return Ok(landed);
        }
        // A commit that is on no branch any more may be gone.
        let commits: Vec<CommitId> = landed.iter().map(|landed| landed.commit.clone()).collect();
        let present = Repo::main(repository).present_commits(&commits).await?;
        landed.retain(|landed| present.contains(&landed.commit));
        Ok(landed)
    }
}

impl LandedBefore {
    pub(crate) fn commit(&self) -> &CommitId {
        &self.commit
    }

    pub(super) fn landed_as(&self) -> &CommitId {
        &self.landed_as
    }

    /// The newest commit that `branch` has and that MAIN has as another one only. git would take what lies below it for a change on
    /// both sides, which conflicts with what follows it; so `branch` and `main` are merged relative to this commit.
    pub(crate) async fn unknown_to_git<'a>(
        all: &'a [LandedBefore],
        repository: &Repository,
        main: &CommitId,
        branch: &CommitId,
    ) -> Result<Option<&'a LandedBefore>, Problem> {
        let repo = Repo::main(repository);
        let Some(newest) = all.last() else { return Ok(None) };
        let LandedBefore { commit, landed_as } = newest;
        if !repo.is_ancestor(commit, branch).await? || !repo.is_ancestor(landed_as, main).await? {
            return Ok(None);
        }
        // If MAIN has the commit itself, or the branch has merged what it landed as, git finds the right base.
        let is_known = repo.is_ancestor(commit, main).await? || repo.is_ancestor(landed_as, branch).await?;
        Ok((!is_known).then_some(newest))
    }

    /// Whether a merge of `branch` would not change MAIN.
    pub(crate) async fn adds_nothing(
        all: &[LandedBefore],
        repository: &Repository,
        main: &CommitId,
        branch: &CommitId,
    ) -> Result<bool, Problem> {
        let repo = Repo::main(repository);
        let Some(landed) = LandedBefore::unknown_to_git(all, repository, main, branch).await? else {
            return Ok(repo.merge_changes_nothing(main, branch).await?);
        };
        let merged = repo.clone().with_deadline(MERGE_TIMEOUT).merge_trees(Some(&landed.commit), main, branch).await?;
        Ok(merged.conflicts.is_empty() && merged.tree == repo.tree_of(main).await?)
    }
}
