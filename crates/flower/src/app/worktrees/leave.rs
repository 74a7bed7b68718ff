//! Giving a repository back as it was before flower. What is kept of its worktrees stays in FLOWER_HOME, and no longer
//! needs anything that flower had put into the repository.

use super::refs::{refs_below, tip, update_refs};
use super::remove::{archive, archive_refs};
use super::setup::forget_exclude;
use crate::app::App;
use crate::error::Problem;
use crate::git;
use crate::repository::Repository;
use crate::store::worktrees;
use flower_core::Worktree;
use std::path::{Path, PathBuf};

/// Beside the files of an archive: the commits that only flower's refs had kept.
pub(super) fn bundle(archive: &Path) -> PathBuf {
    archive.join("commits.bundle")
}

impl App {
    /// Copies what the archives need out of the repository.
    pub(in crate::app) async fn pack_archives(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(()) };
        let exclude = format!("^{}", facts.main_tip);
        for worktree in self.archived(project).await? {
            let refs = refs_below(repository, &archive_refs(worktree.number)).await?;
            let file = bundle(&archive(&self.home, worktree.number));
            let names = refs.iter().map(|(name, _)| name.as_str()).filter(|name| !name.ends_with("/staged"));
            let wanted: Vec<&str> = names.chain([exclude.as_str()]).collect();
            let made = git::in_main(repository)
                .args(["bundle", "create", "--quiet"])
                .args([file.as_os_str()])
                .args(&wanted)
                .output()
                .await?;
            // All of it is in MAIN: there is nothing to copy.
            if made.code != 0 && !made.stderr.contains("empty bundle") {
                return Err(Problem::new(
                    crate::error::ProblemKind::Refused,
                    format!("what is kept of `{}` cannot be copied out: {}", worktree.name, made.stderr),
                    "`flower doctor` looks for what is wrong",
                ));
            }
        }
        Ok(())
    }

    /// Takes everything of flower's out of the repository. Branches whose work is in no archive stay, as does what was saved of
    /// MAIN; they are named.
    pub(in crate::app) async fn leave_repository(
        &self,
        project: &str,
        repository: &Repository,
    ) -> Result<Vec<String>, Problem> {
        let ours = refs_below(repository, "refs/flower/").await?.into_iter().map(|(name, _)| name);
        // What somebody did in MAIN by hand is nobody else's.
        let (saved, ours): (Vec<String>, Vec<String>) = ours.partition(|name| name.starts_with("refs/flower/saved/"));
        let mut lines: Vec<String> = ours.iter().map(|name| format!("delete {name}")).collect();
        for worktree in self.archived(project).await? {
            let Some(kept) = &worktree.archive else { continue };
            let branch = format!("refs/heads/{}", worktree.branch);
            if tip(repository, &branch).await?.as_deref() == Some(kept.tip.as_str()) {
                lines.push(format!("delete {branch} {}", kept.tip));
            }
        }
        lines.sort();
        lines.dedup();
        update_refs(repository, lines).await?;
        crate::app::main_branch::hook::take_down(repository)
            .map_err(|error| self.home.problem(&repository.git_dir, &error))?;
        forget_exclude(repository).map_err(|error| self.home.problem(&repository.git_dir, &error))?;
        // git makes it with the first worktree.
        let _ = std::fs::remove_dir(repository.git_dir.join("worktrees"));
        let left = refs_below(repository, "refs/heads/flower/").await?;
        let left = left.into_iter().map(|(name, _)| name.trim_start_matches("refs/heads/").to_owned());
        Ok(left.chain(saved).collect())
    }

    async fn archived(&self, project: &str) -> Result<Vec<Worktree>, Problem> {
        let of = project.to_owned();
        let removed = self.store.read(move |conn| worktrees::removed(conn, Some(&of))).await?;
        Ok(removed.into_iter().filter(|worktree| worktree.archive.is_some()).collect())
    }
}
