//! Removes everything of flower from a repository. Archives of worktrees stay in FLOWER_HOME, and need nothing in the repository
//! any more.

use super::remove::{archive, archive_refs, is_in_main};
use super::setup::restore_exclude;
use crate::Worktrees;
use crate::own_refs::SAVED;
use flower_contract::error::Problem;
use flower_contract::view::RemovedProject;
use flower_core::Worktree;
use flower_git::repository::Repository;
use flower_git::{CommitId, OwnRef, RefUpdates, Repo};
use flower_store::worktrees;
use std::path::{Path, PathBuf};

/// The file of an archive with the commits that only flower's refs protected.
pub(super) fn bundle(archive: &Path) -> PathBuf {
    archive.join("commits.bundle")
}

impl Worktrees {
    /// Copies the commits that archives need from the repository into bundles.
    pub(crate) async fn pack_archives(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(()) };
        let repo = Repo::main(repository);
        for worktree in self.archived(project).await? {
            let refs = repo.own_refs_below(&archive_refs(worktree.number)).await?.into_iter();
            let file = bundle(&archive(&self.home, worktree.number));
            let names = refs.map(|(name, _)| name).filter(|name| !name.as_str().ends_with("/staged"));
            let wanted: Vec<OwnRef> = names.collect();
            if let Err(why) = repo.bundle(&wanted, &facts.main_tip, &file).await? {
                return Err(Problem::new(
                    flower_contract::error::ProblemKind::Refused,
                    format!("what is kept of `{}` cannot be copied out: {why}", worktree.name),
                    "`flower doctor` looks for what is wrong",
                ));
            }
        }
        Ok(())
    }

    /// The branches and archives that remain when the project is removed.
    pub(crate) async fn remains_after_removal(
        &self,
        project: &str,
        repository: Option<&Repository>,
    ) -> Result<RemovedProject, Problem> {
        let archived = self.archived(project).await?;
        let mut branches_left = Vec::new();
        if let Some(repository) = repository {
            let in_main = self.branches_in_main(project, repository).await?;
            let repo = Repo::main(repository);
            let branches = repo.own_refs_below("refs/heads/flower/").await?.into_iter();
            let branches = branches.map(|(name, object)| (name, CommitId::of_object(object)));
            branches_left
                .extend(branches.filter(|branch| !in_main.contains(branch)).map(|(name, _)| short_name(&name)));
            branches_left.extend(repo.refs_below(SAVED).await?.into_iter().map(|(name, _)| String::from(name)));
        }
        Ok(RemovedProject {
            removed: project.to_owned(),
            repository_found: repository.is_some(),
            branches_left,
            archives_left: archived.iter().map(|worktree| worktree.name.clone()).collect(),
            archive: self.home.archive().to_string_lossy().into_owned(),
        })
    }

    /// Removes flower's refs, excludes and settings. Branches with work that is not in MAIN and refs below `refs/flower/saved` stay,
    /// because the archive in FLOWER_HOME expires after a month.
    pub(crate) async fn clean_repository(
        &self,
        repository: &Repository,
        in_main: &[(OwnRef, CommitId)],
    ) -> Result<(), Problem> {
        let repo = Repo::main(repository);
        let ours = repo.own_refs_below("refs/flower/").await?.into_iter().map(|(name, _)| name);
        let mut updates = RefUpdates::new();
        ours.filter(|name| !name.as_str().starts_with(SAVED)).for_each(|name| updates.delete(&name));
        in_main.iter().for_each(|(branch, tip)| updates.delete_at(branch, tip));
        repo.update_refs(updates).await?;
        restore_exclude(repository).map_err(|error| crate::home::repository_problem(&repository.git_dir, &error))?;
        super::gitlinks::disable_worktree_config(repository).await?;
        // git makes this folder with the first worktree; it is only removed if it is empty.
        let _ = std::fs::remove_dir(repository.git_dir.join("worktrees"));
        Ok(())
    }

    /// Branches of removed worktrees that have not moved since, and whose work is in MAIN.
    pub(crate) async fn branches_in_main(
        &self,
        project: &str,
        repository: &Repository,
    ) -> Result<Vec<(OwnRef, CommitId)>, Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for worktree in &self.archived(project).await? {
            let Some(kept) = &worktree.archive else { continue };
            let (branch, tip) = (OwnRef::branch(&worktree.branch)?, CommitId::parse(&kept.tip)?);
            let now = Repo::main(repository).tip(&branch).await?;
            if now.as_ref() != Some(&tip) || found.iter().any(|(known, _)| *known == branch) {
                continue;
            }
            let landed = self.landed_before(repository, project, Some(worktree.number)).await?;
            if is_in_main(repository, &facts.main_tip, &tip, &landed).await? {
                found.push((branch, tip));
            }
        }
        Ok(found)
    }

    async fn archived(&self, project: &str) -> Result<Vec<Worktree>, Problem> {
        let of = project.to_owned();
        let removed = self.store.read(move |conn| worktrees::removed(conn, Some(&of))).await?;
        Ok(removed.into_iter().filter(|worktree| worktree.archive.is_some()).collect())
    }
}

fn short_name(branch: &OwnRef) -> String {
    branch.as_str().trim_start_matches("refs/heads/").to_owned()
}
