//! Creates a worktree. A creation that fails leaves nothing behind.

use super::checkout::check_out;
use super::facts::Facts;
use super::partial::may_be_partial;
use super::paths::WorktreePaths;
use super::private;
use super::{disk, gitlinks, project_hooks, setup};
use crate::Worktrees;
use crate::settings::Objects;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::WorktreeView;
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{BriefId, Caller, Command, Worktree};
use flower_git::lfs::ATTRIBUTE as LFS;
use flower_git::repository::Repository;
use flower_git::{CommitId, RefUpdates};

/// The properties of a worktree to be created.
#[derive(Clone, Debug)]
pub struct NewWorktree {
    pub name: String,
    pub kind: WorktreeKind,
    pub seal: Seal,
    pub from: Option<String>,
    pub brief: Option<BriefId>,
    /// Do not run the project's setup commands.
    pub no_setup: bool,
    /// Check out the pointers of LFS instead of the files.
    pub lfs_pointers: bool,
}

impl Worktrees {
    pub async fn create(&self, caller: &Caller, project: &str, new: NewWorktree) -> Result<WorktreeView, Problem> {
        let name = worktree::name(&new.name)?;
        let project = self.projects.get(project).await?.name;
        let repository = self.repository(&project).await?;
        if new.seal == Seal::Sealed {
            self.require_jail().await?;
        }
        if may_be_partial(&repository) {
            self.fetch_missing_of_main(&project).await?;
        }
        if new.seal == Seal::Sealed {
            self.require_lendable(&project, &repository).await?;
        }
        let lock = self.lock_of(&repository.root);
        let holding = lock.lock().await;
        self.require_new(&project, &name).await?;
        let main = self.recorded_main(&project).await?;
        let facts = Facts::gather(&repository, main.as_ref(), new.from.as_deref(), &worktree::branch(&name)).await?;
        self.require_creatable(&repository, &facts, &new, &project, &name).await?;
        self.fetch_missing(&project, &repository, &[&facts.base]).await?;
        let request = worktree::Request {
            project,
            name,
            kind: new.kind,
            seal: new.seal,
            base: facts.base.to_string(),
            from: facts.from.clone(),
            brief: new.brief,
        };
        let worktree: Worktree = self.store.create(caller, Command::RequestWorktree(request)).await?;
        let place = self.paths(&worktree).await?;
        let made = self.make(&place, &worktree, &facts, new.lfs_pointers).await;
        if let Err(problem) = made {
            self.undo_creation(&worktree, &problem.message).await;
            return Err(problem);
        }
        let path = place.tree.to_string_lossy().into_owned();
        self.store.execute(&Caller::system(), Command::FinishWorktree { number: worktree.number, path }).await?;
        drop(holding);
        self.watch.add(&place, worktree.number);
        if !new.no_setup && !facts.settings.worktree.setup.is_empty() {
            self.run_setup(&place, &facts.settings).await?;
        }
        let worktree = Worktree { stage: worktree::Stage::Ready, ..worktree };
        self.observe_new(worktree, &facts).await
    }

    /// Fails if a worktree of this name lives.
    async fn require_new(&self, project: &str, name: &str) -> Result<(), Problem> {
        let of = project.to_owned();
        let live = self.store.read(move |conn| flower_store::worktrees::live(conn, Some(&of))).await?;
        let Some(known) = live.into_iter().find(|worktree| worktree.name == name) else { return Ok(()) };
        if known.stage != worktree::Stage::Ready {
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("worktree `{name}` is being made or removed"),
                format!("`flower worktree show {name}` says when that has ended"),
            ));
        }
        Err(Problem {
            kind: ProblemKind::Conflict,
            message: format!("worktree `{name}` exists already"),
            hints: vec![
                format!("enter it: `flower worktree shell {name}`, or `cd \"$(flower worktree path {name})\"`"),
                "or choose another name".to_owned(),
            ],
        })
    }

    /// Refuses requests that cannot succeed, before anything is recorded.
    async fn require_creatable(
        &self,
        repository: &Repository,
        facts: &Facts,
        new: &NewWorktree,
        project: &str,
        name: &str,
    ) -> Result<(), Problem> {
        let refused = |message: String, hint: String| Err(Problem::new(ProblemKind::Refused, message, hint));
        if facts.blocked {
            return refused(
                "the branch `flower` leaves no room for branches `flower/…`".into(),
                "rename it: `git branch -m flower NAME`".into(),
            );
        }
        if facts.branch.is_some() {
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("there is a branch `flower/{name}` already"),
                format!(
                    "bring back what it was: `flower worktree restore {name}`, choose another name, or delete it: `git branch -D flower/{name}`"
                ),
            ));
        }
        if facts.attributes.contains(LFS) && !new.lfs_pointers {
            return Err(needs_lfs(facts));
        }
        let runs = !new.no_setup && !facts.settings.worktree.setup.is_empty();
        if runs || !facts.settings.openings().is_empty() {
            self.require_approved(project, &facts.settings).await?;
        }
        setup::require_inside(&facts.settings.worktree)?;
        let place = self.home.in_project(self.home.worktrees(), project).join(name);
        if let Some(problem) = self.home.problem_inside(&repository.root) {
            return Err(problem);
        }
        crate::home::require_writable(repository)?;
        if std::fs::symlink_metadata(&place).is_ok() {
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("{} is in the way", place.display()),
                "flower did not make it: look at it, and move it away",
            ));
        }
        Ok(())
    }

    async fn make(
        &self,
        place: &WorktreePaths,
        worktree: &Worktree,
        facts: &Facts,
        lfs_pointers: bool,
    ) -> Result<(), Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        disk::make_private(&place.folder).map_err(io)?;
        let base = &CommitId::parse(&worktree.base)?;
        let mut refs = RefUpdates::new();
        // Fails if the branch exists: after a crash recovery deletes the branch, which must then be flower's own.
        refs.create(&place.full_branch(), base);
        refs.set(&place.keeper(base), base);
        let repo = place.repo();
        let files = async {
            repo.update_refs(refs).await?;
            check_out(place).await
        };
        // Reading the attributes of all folders is slow, but faster than the checkout that runs at the same time.
        let lfs = async { Ok::<_, Problem>(!lfs_pointers && repo.attributes_mention(base, LFS).await?) };
        let lends = place.seal == Seal::Sealed && facts.settings.worktree.objects == Objects::Reachable;
        let lent = async {
            match lends {
                true => self.lend(&place.project, &place.repository).await.map(Some),
                false => Ok(None),
            }
        };
        let (files, identity, lfs, lent) = tokio::join!(files, repo.identity(), lfs, lent);
        files?;
        if lfs? {
            return Err(needs_lfs(facts));
        }
        let linked = setup::playbooks(&self.home, place, &facts.settings.worktree).map_err(io)?;
        setup::exclude_in_main(place, &linked).map_err(io)?;
        if place.seal == Seal::Sealed {
            private::write(place, facts, base, &identity?).map_err(io)?;
            if facts.settings.worktree.hooks {
                let hooks_path = repo.operators_settings().await?.hooks_path;
                project_hooks::install(place, hooks_path.as_deref()).map_err(io)?;
            }
            let admin = place.admin().ok_or_else(|| Problem::bug("git made a worktree and does not know it"))?;
            private::copy_index(place, &admin).map_err(io)?;
            private::exclude(place, &linked).map_err(io)?;
            if let Some(lent) = lent? {
                self.lend_to_new(place, &lent, &[base, &facts.main_tip]).await?;
            }
            super::mirror::record_mirrored(place, base).map_err(io)?;
            gitlinks::protect_operator(place).await?;
        }
        setup::submodules(place, facts).await?;
        setup::carry(place, &facts.settings.worktree).await.map_err(io)
    }

    /// Removes everything that was made of a worktree whose creation failed or was interrupted.
    pub(super) async fn undo_creation(&self, worktree: &Worktree, why: &str) {
        if let Ok(place) = self.paths(worktree).await {
            let repo = place.repo();
            let mut updates = RefUpdates::new();
            let kept = repo.own_refs_below(&place.keep()).await.unwrap_or_default();
            kept.iter().for_each(|(name, _)| updates.delete(name));
            // Only if nothing was committed on it.
            if let Ok(Some(tip)) = repo.tip(&place.full_branch()).await
                && tip.as_str() == worktree.base
            {
                updates.delete_at(&place.full_branch(), &tip);
            }
            if let Some(admin) = place.admin()
                && let Err(error) = disk::delete(&admin)
            {
                tracing::warn!("{}: {error}", admin.display());
            }
            if let Err(error) = repo.update_refs(updates).await {
                tracing::warn!("taking back {}: {error}", worktree.name);
            }
            for path in [&place.tree, &place.folder] {
                super::reclaim(&self.home, path);
            }
        }
        let failed = Command::FailWorktree { number: worktree.number, why: why.to_owned() };
        if let Err(problem) = self.store.execute(&Caller::system(), failed).await {
            tracing::warn!("worktree {} failed, which cannot be recorded: {}", worktree.name, problem.message);
        }
    }
}

fn needs_lfs(facts: &Facts) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        format!("`{}` keeps large files in LFS, whose contents a worktree does not have", facts.from),
        "take the pointers instead of the files: add `--lfs-pointers`",
    )
}
