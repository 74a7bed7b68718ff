//! The operator's remotes.

use crate::{CommitId, GitError, OwnRef, RefName, Repo};

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    Done,
    /// `is_behind`: the remote has commits that are missing here. `why`: git's message.
    Refused {
        is_behind: bool,
        why: String,
    },
}

impl Repo {
    /// The remote that a branch follows; `None` if it follows none, or a branch of the same repository.
    pub async fn remote_of(&self, branch: &str) -> Result<Option<String>, GitError> {
        let key = format!("branch.{branch}.remote");
        let output = self.git().args(["config", "--get", &key]).output().await?;
        Ok(Some(output.line()).filter(|remote| output.code == 0 && remote != "."))
    }

    /// The names of all remotes.
    pub async fn remotes(&self) -> Result<Vec<String>, GitError> {
        Ok(self.git().args(["remote"]).line().await?.lines().map(str::to_owned).collect())
    }

    /// Fetches a branch of a remote into a ref, and checks every object. Fails if the remote is unreachable or does not have the branch.
    pub async fn fetch(&self, remote: &str, branch: &str, into: &OwnRef) -> Result<(), GitError> {
        let from = RefName::branch(branch)?;
        let args = ["-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head"];
        let git = self.git_with_remotes()?.args(args);
        let git = git.args(["--no-auto-maintenance", "--no-recurse-submodules", "--end-of-options", remote]);
        git.args([format!("+{from}:{into}")]).run().await.map(drop)
    }

    /// Pushes a commit to a branch of a remote.
    pub async fn push(&self, remote: &str, commit: &CommitId, branch: &str) -> Result<Push, GitError> {
        let refspec = format!("{commit}:{}", RefName::branch(branch)?);
        let args = ["push", "--porcelain", "--no-verify", "--no-recurse-submodules", remote, &refspec];
        let output = self.git_with_remotes()?.args(args).output().await?;
        if output.code == 0 {
            return Ok(Push::Done);
        }
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_behind = ["[rejected]", "fetch first", "non-fast-forward"].iter().any(|sign| said.contains(sign));
        let refused = said.lines().find(|line| line.starts_with('!')).map(str::to_owned);
        Ok(Push::Refused { is_behind, why: refused.unwrap_or(output.stderr) })
    }
}
