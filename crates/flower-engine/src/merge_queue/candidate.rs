//! A candidate: a fresh checkout of what MAIN would be after a landing, for one check to run in. To the check it looks like a
//! sealed worktree.

use super::runner::Attempt;
use crate::MergeQueue;
use crate::network::NetworkPolicy;
use crate::settings::Objects;
use crate::worktrees::facts::Facts;
use crate::worktrees::paths::{WorktreePaths, gitfile_text};
use crate::worktrees::private;
use crate::worktrees::{disk, setup};
use flower_contract::error::Problem;
use flower_contract::view::NetworkMode;
use flower_core::worktree::{Seal, branch};
use flower_git::{CommitId, Identity, Repo};
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

/// Enough for a very large tree on a slow disk.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

pub(super) struct Candidate {
    pub(super) paths: WorktreePaths,
    pub(super) launcher: Vec<OsString>,
    home: crate::home::Home,
}

impl Drop for Candidate {
    fn drop(&mut self) {
        for path in [&self.paths.tree, &self.paths.folder] {
            crate::worktrees::reclaim(&self.home, path);
        }
    }
}

impl MergeQueue {
    /// Makes the candidate of a commit, which is the merge or, with `history = "rebase"`, one of the commits before it.
    pub(super) async fn make_candidate(&self, attempt: &Attempt, commit: &CommitId) -> Result<Candidate, Problem> {
        let Attempt { repository, settings, .. } = attempt;
        let (project, number) = (attempt.landing.project.as_str(), attempt.landing.number);
        let base = self.home.candidates().join(project);
        let io = |error: std::io::Error| self.home.problem(&base, &error);
        disk::make_private(&base).map_err(io)?;
        // git records real paths, so the paths given to it must not contain links.
        let base = base.canonicalize().map_err(io)?;
        let name = format!("landing-{number}");
        let paths = WorktreePaths {
            // The log does not record candidates.
            number: None,
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
        // A crash may have left an earlier candidate of this landing.
        for dir in [&paths.tree, &paths.folder] {
            disk::delete(dir).map_err(io)?;
            disk::make_private(dir).map_err(io)?;
        }
        let index = paths.folder.join("index");
        let checkout = Repo::main(repository).with_work_tree(&paths.tree).with_index(&index);
        checkout.with_deadline(CHECKOUT_TIMEOUT).check_out(commit).await?;
        let facts = Facts { base: commit.clone(), ..attempt.facts.clone() };
        private::write(&paths, &facts, commit, &Identity::default()).map_err(io)?;
        if settings.worktree.objects == Objects::Reachable {
            let lent = self.worktrees.lend(project, repository).await?;
            self.worktrees.lend_to_new(&paths, &lent, &[commit, &facts.main_tip]).await?;
        }
        fs::copy(&index, paths.private().join("index")).map_err(io)?;
        fs::write(paths.tree.join(".git"), gitfile_text(&paths.private())).map_err(io)?;
        setup::submodules(&paths, &facts).await?;
        setup::require_inside(&settings.worktree)?;
        setup::carry(&paths, &settings.worktree).await.map_err(io)?;
        let mut spec = private::spec(&self.home, &paths, &settings.worktree, None).map_err(io)?;
        let policy = NetworkPolicy { mode: NetworkMode::Closed, ..settings.worktree.network_policy() };
        self.networks.connect(&mut spec, &format!("check/{number}"), &policy, false, paths.network_record());
        spec.env.insert("CI".into(), "true".into());
        spec.env.insert("FLOWER_LANDING".into(), number.to_string());
        let launcher = private::launcher(&paths, &spec, "checks").map_err(io)?;
        Ok(Candidate { paths, launcher, home: self.home.clone() })
    }
}
