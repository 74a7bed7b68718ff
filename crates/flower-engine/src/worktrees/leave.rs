//! Giving a repository back as it was before flower. What is kept of its worktrees stays in FLOWER_HOME, and no longer
//! needs anything that flower had put into the repository.

use super::refs::{refs_below, tip, update_refs};
use super::remove::{archive, archive_refs, is_in_main};
use super::setup::forget_exclude;
use crate::App;
use crate::main_branch::SAVED;
use flower_contract::error::Problem;
use flower_contract::view::RemovedProject;
use flower_core::Worktree;
use flower_git::repository::Repository;
use flower_store::worktrees;
use std::path::{Path, PathBuf};

/// Beside the files of an archive: the commits that only flower's refs had kept.
pub(super) fn bundle(archive: &Path) -> PathBuf {
    archive.join("commits.bundle")
}

impl App {
    /// Copies what the archives need out of the repository.
    pub(crate) async fn pack_archives(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(()) };
        let exclude = format!("^{}", facts.main_tip);
        for worktree in self.archived(project).await? {
            let refs = refs_below(repository, &archive_refs(worktree.number)).await?;
            let file = bundle(&archive(&self.home, worktree.number));
            let names = refs.iter().map(|(name, _)| name.as_str()).filter(|name| !name.ends_with("/staged"));
            let wanted: Vec<&str> = names.chain([exclude.as_str()]).collect();
            let made = flower_git::in_main(repository)
                .args(["bundle", "create", "--quiet"])
                .args([file.as_os_str()])
                .args(&wanted)
                .output()
                .await?;
            // All of it is in MAIN: there is nothing to copy.
            if made.code != 0 && !made.stderr.contains("empty bundle") {
                return Err(Problem::new(
                    flower_contract::error::ProblemKind::Refused,
                    format!("what is kept of `{}` cannot be copied out: {}", worktree.name, made.stderr),
                    "`flower doctor` looks for what is wrong",
                ));
            }
        }
        Ok(())
    }

    /// What stays behind when the project is removed, and where.
    pub(crate) async fn what_stays(
        &self,
        project: &str,
        repository: Option<&Repository>,
    ) -> Result<RemovedProject, Problem> {
        let archived = self.archived(project).await?;
        let mut branches_left = Vec::new();
        if let Some(repository) = repository {
            let in_main = self.branches_in_main(project, repository, &archived).await?;
            let branches = refs_below(repository, "refs/heads/flower/").await?.into_iter();
            branches_left
                .extend(branches.filter(|branch| !in_main.contains(branch)).map(|(name, _)| short_name(&name)));
            branches_left.extend(refs_below(repository, SAVED).await?.into_iter().map(|(name, _)| name));
        }
        Ok(RemovedProject {
            removed: project.to_owned(),
            branches_left,
            archives_left: archived.iter().map(|worktree| worktree.name.clone()).collect(),
            archive: self.home.archive().to_string_lossy().into_owned(),
        })
    }

    /// Takes everything of flower's out of the repository, but for branches with work that is not in MAIN and what was
    /// saved of MAIN: an archive in FLOWER_HOME ends after a month, or with FLOWER_HOME.
    pub(crate) async fn leave_repository(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let ours = refs_below(repository, "refs/flower/").await?.into_iter().map(|(name, _)| name);
        let ours = ours.filter(|name| !name.starts_with(SAVED));
        let mut lines: Vec<String> = ours.map(|name| format!("delete {name}")).collect();
        let archived = self.archived(project).await?;
        let in_main = self.branches_in_main(project, repository, &archived).await?;
        lines.extend(in_main.iter().map(|(branch, tip)| format!("delete {branch} {tip}")));
        update_refs(repository, lines).await?;
        crate::main_branch::hook::take_down(repository)
            .map_err(|error| self.home.problem(&repository.git_dir, &error))?;
        forget_exclude(repository).map_err(|error| self.home.problem(&repository.git_dir, &error))?;
        super::gitlinks::forget_config(repository).await?;
        // git makes it with the first worktree.
        let _ = std::fs::remove_dir(repository.git_dir.join("worktrees"));
        Ok(())
    }

    /// Branches of removed worktrees that stand where they stood then, and whose work is in MAIN by now.
    async fn branches_in_main(
        &self,
        project: &str,
        repository: &Repository,
        archived: &[Worktree],
    ) -> Result<Vec<(String, String)>, Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for worktree in archived {
            let Some(kept) = &worktree.archive else { continue };
            let branch = (format!("refs/heads/{}", worktree.branch), kept.tip.clone());
            if found.contains(&branch) || tip(repository, &branch.0).await?.as_ref() != Some(&kept.tip) {
                continue;
            }
            if is_in_main(repository, &facts.main_tip, &kept.tip).await? {
                found.push(branch);
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

fn short_name(branch: &str) -> String {
    branch.trim_start_matches("refs/heads/").to_owned()
}
