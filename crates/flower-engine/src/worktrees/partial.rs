//! Partial clones, which lack objects that a remote has. git would fetch each of them when it needs it; flower's own git and git
//! inside of a worktree use no network. So the files of a commit are fetched all at once before flower uses it. Files of earlier
//! commits stay at the remote: inside, `git log -p` fails for them.

use super::lending::CopyState;
use super::object_store::ObjectStore;
use crate::Worktrees;
use flower_contract::error::{Problem, ProblemKind};
use flower_git::repository::Repository;
use flower_git::{CommitId, Completion, Repo};
use std::fs;
use std::time::Duration;

/// Enough for the files of a very large commit over a slow line.
const FETCH_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// Whether the repository's configuration names a remote that has objects which are missing here. Only few objects may be missing, or
/// none any more.
pub(super) fn may_be_partial(repository: &Repository) -> bool {
    let config = fs::read(repository.git_dir.join("config")).unwrap_or_default();
    let text = String::from_utf8_lossy(&config).to_lowercase();
    text.contains("promisor") || text.contains("partialclone")
}

impl Worktrees {
    /// Fetches all files of these commits that are only at a remote. Fails if the remote cannot be reached.
    pub(crate) async fn fetch_missing(
        &self,
        project: &str,
        repository: &Repository,
        commits: &[&CommitId],
    ) -> Result<(), Problem> {
        if !may_be_partial(repository) {
            return Ok(());
        }
        let repo = Repo::main(repository).with_deadline(FETCH_TIMEOUT);
        // git can pack a history that lacks files, but none that lacks folders.
        if lacks_folders(repository) && repo.first_missing(commits.iter().copied()).await?.is_some() {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!(
                    "{} is a partial clone that lacks folders of earlier commits (`--filter=tree:0`)",
                    repository.root.display()
                ),
                format!("fetch everything: `{}`; then try again", refetch(repository)),
            ));
        }
        let missing = repo.missing_objects(commits).await?.len();
        if missing == 0 {
            return Ok(());
        }
        let Some(remote) = repo.operators_settings().await?.promisors.first().cloned() else {
            return Err(unfetched(repository, missing, "a remote that is not configured any more", ""));
        };
        self.lending.set(project, Some(CopyState::Fetching { missing, remote: remote.clone() }));
        let fetched = repo.fetch_missing(&remote, commits).await;
        self.lending.set(project, None);
        match fetched? {
            Completion::Complete => {}
            Completion::Failed { why, missing } => {
                return Err(unfetched(repository, missing, &format!("`{remote}`"), &why));
            }
        }
        // The copy was made without these objects.
        let store = ObjectStore::new(&self.home, project, repository);
        store.invalidate().map_err(|error| self.home.problem(&store.objects(), &error))
    }

    /// Like [`Worktrees::fetch_missing`], for MAIN's tip: work in this project will need it.
    pub(crate) async fn fetch_missing_of_main(&self, project: &str) -> Result<(), Problem> {
        let repository = self.repository(project).await?;
        if !may_be_partial(&repository) {
            return Ok(());
        }
        let tip = CommitId::parse(&self.main_of(project).await?.tip)?;
        self.fetch_missing(project, &repository, &[&tip]).await
    }
}

/// Whether the clone was made without folders. Everything may have been fetched since.
fn lacks_folders(repository: &Repository) -> bool {
    let config = fs::read_to_string(repository.git_dir.join("config")).unwrap_or_default().to_lowercase();
    config.lines().any(|line| line.contains("partialclonefilter") && line.contains("tree:"))
}

fn refetch(repository: &Repository) -> String {
    format!("git -C '{}' fetch --refetch --no-filter", repository.root.display())
}

fn unfetched(repository: &Repository, missing: usize, remote: &str, why: &str) -> Problem {
    let root = repository.root.display();
    let why = if why.is_empty() { String::new() } else { format!(": {}", super::import_error::plain(why)) };
    Problem::new(
        ProblemKind::Unreachable,
        format!("{root} is a partial clone, and {missing} files that are needed are only at {remote}{why}"),
        format!("once that remote can be reached, fetch everything: `{}`; then try again", refetch(repository)),
    )
}
