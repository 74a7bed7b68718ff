//! A candidate: what MAIN would be, checked out in a place of its own, for the checks to run in. To them it looks like a sealed
//! worktree; nothing of an earlier one is left in it.

use crate::MergeQueue;
use crate::settings::{Objects, Settings};
use crate::worktrees::facts::Facts;
use crate::worktrees::paths::{WorktreePaths, gitfile_text};
use crate::worktrees::private;
use crate::worktrees::{disk, setup};
use flower_contract::error::Problem;
use flower_core::worktree::{Seal, branch};
use flower_git::repository::Repository;
use flower_git::{CommitId, Identity, Repo};
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

const CHECKOUT: Duration = Duration::from_secs(30 * 60);

pub(super) struct Candidate {
    pub(super) place: WorktreePaths,
    pub(super) launcher: Vec<OsString>,
    home: crate::home::Home,
}

impl Drop for Candidate {
    fn drop(&mut self) {
        for path in [&self.place.tree, &self.place.folder] {
            crate::worktrees::reclaim(&self.home, path);
        }
    }
}

impl MergeQueue {
    /// Checks a commit out, whole and alone.
    pub(super) async fn candidate(
        &self,
        repository: &Repository,
        project: &str,
        number: u64,
        commit: &CommitId,
        facts: &Facts,
        settings: &Settings,
    ) -> Result<Candidate, Problem> {
        let base = self.home.candidates().join(project);
        let io = |error: std::io::Error| self.home.problem(&base, &error);
        disk::make_private(&base).map_err(io)?;
        // git writes down real paths, so ours must be such too.
        let base = base.canonicalize().map_err(io)?;
        let name = format!("landing-{number}");
        let place = WorktreePaths {
            // It is no worktree that the log knows.
            number: 0,
            repository: repository.clone(),
            project: project.to_owned(),
            branch: branch(&name),
            seal: Seal::Sealed,
            tree: base.join(&name).join("tree"),
            folder: base.join(&name).join("seal"),
            objects: self.home.objects().join(project),
            covered: self.worktrees.covered().await?,
            name,
        };
        for dir in [&place.tree, &place.folder] {
            disk::delete(dir).map_err(io)?;
            disk::make_private(dir).map_err(io)?;
        }
        let index = place.folder.join("index");
        let checkout = Repo::main(repository).with_work_tree(&place.tree).with_index(&index);
        checkout.with_deadline(CHECKOUT).check_out(commit).await?;
        let facts = Facts { base: commit.clone(), ..facts.clone() };
        private::write(&place, &facts, commit, &Identity::default()).map_err(io)?;
        if settings.worktree.objects == Objects::Reachable {
            let lent = self.worktrees.lend(project, repository).await?;
            self.worktrees.lend_to_new(&place, &lent, &[commit, &facts.main_tip]).await?;
        }
        fs::copy(&index, place.private().join("index")).map_err(io)?;
        fs::write(place.tree.join(".git"), gitfile_text(&place.private())).map_err(io)?;
        setup::submodules(&place, &facts).await?;
        setup::require_inside(&settings.worktree)?;
        setup::carry(&place, &settings.worktree).await.map_err(io)?;
        let mut spec = private::spec(&self.home, &place, &settings.worktree, None).map_err(io)?;
        spec.env.insert("CI".into(), "true".into());
        spec.env.insert("FLOWER_LANDING".into(), number.to_string());
        let launcher = private::launcher(&place, &spec, "checks").map_err(io)?;
        Ok(Candidate { place, launcher, home: self.home.clone() })
    }
}
