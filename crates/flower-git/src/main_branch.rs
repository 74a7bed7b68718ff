//! MAIN's branch, the only ref that flower writes and that is not its own. [`crate::Repo`] has no operation for it, so code without a
//! [`MainBranch`] cannot move MAIN.

use crate::repository::Repository;
use crate::{CommitId, GitError, RefName, Repo};

#[derive(Clone, Debug)]
pub struct MainBranch {
    repo: Repo,
    name: RefName,
}

impl MainBranch {
    /// The branch of MAIN's repository with this short name.
    pub fn of(repository: &Repository, branch: &str) -> Result<MainBranch, GitError> {
        Ok(MainBranch { repo: Repo::main(repository), name: RefName::branch(branch)? })
    }

    pub fn name(&self) -> &RefName {
        &self.name
    }

    /// Moves the branch from `old` to `new`. The inner error is git's message if it refuses, for instance because the branch is not at
    /// `old`.
    pub async fn swap(&self, old: &CommitId, new: &CommitId) -> Result<Result<(), String>, GitError> {
        let args = ["update-ref", "-m", "flower: landing", self.name.as_str(), new.as_str(), old.as_str()];
        let output = self.repo.git().args(args).output().await?;
        Ok(if output.code == 0 { Ok(()) } else { Err(output.stderr) })
    }

    /// Creates the branch at `tip`. Fails if it exists.
    pub async fn recreate(&self, tip: &CommitId) -> Result<(), GitError> {
        self.repo.git().args(["update-ref", self.name.as_str(), tip.as_str(), ""]).run().await.map(drop)
    }

    /// Points HEAD to the branch. Files and index do not change.
    pub async fn attach_head(&self) -> Result<(), GitError> {
        let args = ["symbolic-ref", "-m", "flower: restore", "HEAD", self.name.as_str()];
        self.repo.git().args(args).run().await.map(drop)
    }
}
