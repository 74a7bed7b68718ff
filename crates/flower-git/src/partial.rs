//! Partial clones: repositories that lack objects which a remote has.

use crate::{AnyObject, CommitId, GitError, ObjectId, Repo};

/// A folder can be missing with all of its content, so what is below it is known only once it is here.
const MAX_ROUNDS: usize = 64;

/// The result of fetching missing objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completion {
    Complete,
    /// Git's message, and how many objects are still missing.
    Failed {
        why: String,
        missing: usize,
    },
}

impl Repo {
    /// Files and folders of these commits that the repository does not have. Earlier commits are not examined.
    pub async fn missing_objects(&self, commits: &[&CommitId]) -> Result<Vec<ObjectId>, GitError> {
        let args = ["rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=print", "--end-of-options"];
        let output = self.git().args(args).args(commits.iter().map(|commit| commit.as_str())).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().filter_map(|line| line.strip_prefix('?')).map(ObjectId::parse).collect()
    }

    /// An object that these reach and the repository does not have. Reads all folders of the history.
    pub async fn first_missing<'a, T: AnyObject + 'a>(
        &self,
        objects: impl IntoIterator<Item = &'a T>,
    ) -> Result<Option<ObjectId>, GitError> {
        let args = ["rev-list", "--quiet", "--objects", "--missing=print", "--stdin"];
        let input: String = objects.into_iter().map(|object| format!("{}\n", object.name())).collect();
        let output = self.git().args(args).input(input).run().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().find_map(|line| line.strip_prefix('?')).map(ObjectId::parse).transpose()
    }

    /// Fetches all files and folders of these commits that are missing, from a remote and with the operator's login. git itself would
    /// fetch each of them with a connection of its own.
    pub async fn fetch_missing(&self, remote: &str, commits: &[&CommitId]) -> Result<Completion, GitError> {
        let mut missing = self.missing_objects(commits).await?;
        for _ in 0..MAX_ROUNDS {
            if missing.is_empty() {
                return Ok(Completion::Complete);
            }
            let git = self.git_with_remotes()?.args(["-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet"]);
            let git = git.args(["--no-filter", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]);
            let git = git.args(["--no-recurse-submodules", "--stdin", "--end-of-options", remote]);
            let input: String = missing.iter().map(|object| format!("{object}\n")).collect();
            let output = git.input(input).output().await?;
            if output.code != 0 {
                return Ok(Completion::Failed { why: output.stderr, missing: missing.len() });
            }
            let still = self.missing_objects(commits).await?;
            if still == missing {
                break;
            }
            missing = still;
        }
        let why = format!("`{remote}` does not have what is missing");
        Ok(Completion::Failed { why, missing: missing.len() })
    }
}
