//! A candidate: a fresh checkout of what MAIN would be after a landing, for one check to run in. To the check it looks like a
//! sealed worktree, always at the same path.

use super::check_runner::CheckJob;
use super::prepared::Prepared;
use super::series::Series;
use crate::MergeQueue;
use crate::network::NetworkPolicy;
use crate::settings::{CheckSettings, Objects, Settings};
use crate::worktrees::facts::Facts;
use crate::worktrees::paths::{WorktreePaths, gitfile_text};
use crate::worktrees::private;
use crate::worktrees::{disk, setup};
use flower_contract::error::Problem;
use flower_contract::view::NetworkMode;
use flower_core::worktree::{Seal, branch};
use flower_git::{Identity, Repo};
use flower_jail::{Bind, Spec};
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::Arc;
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
        // Both were its only content.
        let _ = self.paths.tree.parent().map(fs::remove_dir);
    }
}

/// What runs in a candidate.
#[derive(Clone, Copy)]
pub(super) enum Phase<'a> {
    /// The commands of `[checks] prepare`.
    Prepare,
    Check(&'a CheckSettings),
}

impl Phase<'_> {
    /// The network of what runs: checks have none by default, and preparations that of worktrees.
    pub(super) fn network(self, settings: &Settings) -> NetworkMode {
        match self {
            Phase::Prepare => settings.worktree.network.unwrap_or_default(),
            Phase::Check(check) => settings.check_network(check),
        }
    }
}

impl MergeQueue {
    /// Makes a candidate of a job's commit. `index` tells candidates of one job apart, which can exist at the same time.
    pub(super) async fn make_candidate(
        &self,
        job: &CheckJob<'_>,
        phase: Phase<'_>,
        index: usize,
        prepared: Option<&Arc<Prepared>>,
    ) -> Result<Candidate, Problem> {
        let &CheckJob { series: &Series { repository, settings, project, facts, .. }, commit, .. } = job;
        let base = self.home.in_project(self.home.candidates(), project);
        let io = |error: std::io::Error| self.home.problem(&base, &error);
        disk::make_private(&base).map_err(io)?;
        // git records real paths, so the paths given to it must not contain links.
        let base = base.canonicalize().map_err(io)?;
        let own = base.join(format!("{}-{index}", job.name()));
        let paths = WorktreePaths {
            // The log does not record candidates.
            number: None,
            repository: repository.clone(),
            project: project.to_owned(),
            branch: branch(&job.name()),
            seal: Seal::Sealed,
            tree: own.join("tree"),
            folder: own.join("seal"),
            objects: self.home.in_project(self.home.objects(), project),
            covered: self.worktrees.covered().await?,
            name: job.name(),
        };
        // A crash may have left an earlier candidate of this name.
        for dir in [&paths.tree, &paths.folder] {
            disk::delete(dir).map_err(io)?;
            disk::make_private(dir).map_err(io)?;
        }
        let mut candidate = Candidate { paths, launcher: Vec::new(), home: self.home.clone() };
        let paths = &candidate.paths;
        let index = paths.folder.join("index");
        let checkout = Repo::main(repository).with_work_tree(&paths.tree).with_index(&index);
        checkout.with_deadline(CHECKOUT_TIMEOUT).check_out(commit).await?;
        let facts = Facts { base: commit.clone(), ..facts.clone() };
        private::write(paths, &facts, commit, &Identity::default()).map_err(io)?;
        if settings.worktree.objects == Objects::Reachable {
            let lent = self.worktrees.lend(project, repository).await?;
            self.worktrees.lend_to_new(paths, &lent, &[commit, &facts.main_tip]).await?;
        }
        disk::copy_index(&index, &paths.private().join("index")).map_err(io)?;
        fs::write(paths.tree.join(".git"), gitfile_text(&paths.private())).map_err(io)?;
        setup::submodules(paths, &facts).await?;
        match prepared {
            Some(prepared) => prepared.copy_into(paths).await.map_err(io)?,
            None => {
                setup::require_inside(&settings.worktree)?;
                setup::carry(paths, &settings.worktree).await.map_err(io)?;
            }
        }
        let mut spec = private::spec(&self.home, paths, &settings.worktree, None).map_err(io)?;
        let policy = NetworkPolicy { mode: phase.network(settings), ..settings.worktree.network_policy() };
        let name = own.file_name().unwrap_or_default().to_string_lossy();
        self.networks.connect(&mut spec, &format!("check/{project}/{name}"), &policy, false, paths.network_record());
        spec.env.insert("CI".into(), "true".into());
        spec.env.insert("FLOWER_LANDING".into(), job.landing_number().to_string());
        move_tree(&mut spec, &paths.tree, &base.join("tree"));
        candidate.launcher = private::launcher(paths, &spec, "checks").map_err(io)?;
        Ok(candidate)
    }
}

/// Shows the tree at a path that is the same for all candidates of a project: virtual environments and other results of
/// preparations contain absolute paths.
fn move_tree(spec: &mut Spec, tree: &Path, at: &Path) {
    spec.write.retain(|path| path != tree);
    for bind in &mut spec.binds {
        if let Ok(below) = bind.at.strip_prefix(tree) {
            bind.at = at.join(below);
        }
    }
    spec.binds.push(Bind { from: tree.to_owned(), at: at.to_owned(), write: true });
    at.clone_into(&mut spec.dir);
}
