//! MAIN's branch: the only ref that is not flower's own and can be written. [`crate::Repo`] cannot, so whoever holds no
//! [`MainBranch`] does not move MAIN.

use crate::repository::Repository;
use crate::{CommitId, GitError, RefName, Repo};

#[derive(Clone, Debug)]
pub struct MainBranch {
    repo: Repo,
    name: RefName,
}

impl MainBranch {
    /// Of MAIN's repository, from its short name.
    pub fn of(repository: &Repository, branch: &str) -> Result<MainBranch, GitError> {
        Ok(MainBranch { repo: Repo::main(repository), name: RefName::branch(branch)? })
    }

    pub fn name(&self) -> &RefName {
        &self.name
    }

    /// Moves it from `old` to `new`. If git refuses, as it does when the branch is elsewhere or gone, its words.
    pub async fn swap(&self, old: &CommitId, new: &CommitId) -> Result<Result<(), String>, GitError> {
        let args = ["update-ref", "-m", "flower: landing", self.name.as_str(), new.as_str(), old.as_str()];
        let output = self.repo.git().args(args).output().await?;
        Ok(if output.code == 0 { Ok(()) } else { Err(output.stderr) })
    }

    /// Makes it again at `tip`, after it was deleted. One that is there fails.
    pub async fn recreate(&self, tip: &CommitId) -> Result<(), GitError> {
        self.repo.git().args(["update-ref", self.name.as_str(), tip.as_str(), ""]).run().await.map(drop)
    }

    /// Makes it the branch that is checked out. Files and index stay as they are.
    pub async fn attach_head(&self) -> Result<(), GitError> {
        let args = ["symbolic-ref", "-m", "flower: restore", "HEAD", self.name.as_str()];
        self.repo.git().args(args).run().await.map(drop)
    }
}
