//! Restores a removed worktree from its archive, or repairs a live one whose directory is missing or damaged.

use super::checkout::{check_out, write_admin};
use super::disk;
use super::gitlinks;
use super::paths::{TreeState, WorktreePaths, gitfile_text};
use super::remove::{archive, archive_refs, load_plan};
use crate::Worktrees;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::WorktreeView;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Refusal, Worktree, WorktreeId};
use flower_git::{CommitId, Head, RefName, RefUpdates, Repo, TreeId};
use flower_store::worktrees;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

/// How long a restore waits for the end of the removal.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(120);

impl Worktrees {
    /// Restores the worktree that was removed last under this name, or the one with this number.
    pub async fn restore(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        number: Option<WorktreeId>,
    ) -> Result<WorktreeView, Problem> {
        flower_core::worktree::name(name)?;
        let project = self.projects.find(choice).await?;
        if number.is_none()
            && let Ok(live) = self.find(choice, name).await
            && matches!(live.stage, Stage::Ready | Stage::Restoring)
        {
            // An earlier restore failed halfway.
            if live.stage == Stage::Restoring {
                self.resume_restoring(&live).await?;
                return self.observe(Worktree { stage: Stage::Ready, archive: None, ..live }).await;
            }
            let place = self.paths(&live).await?;
            self.repair(&place).await?;
            return self.observe(live).await;
        }
        let worktree = self.removed(project, name, number).await?;
        let repository = self.repository(&worktree.project).await?;
        let lock = self.lock_of(&repository.root);
        let holding = lock.lock().await;
        self.require_restorable(&worktree).await?;
        self.store.execute(caller, Command::RestoreWorktree { number: worktree.number }).await?;
        self.finish_restoring(&worktree).await?;
        drop(holding);
        self.observe(Worktree { stage: Stage::Ready, archive: None, ..worktree }).await
    }

    /// The removed worktree. Waits for a removal that is still under way.
    async fn removed(
        &self,
        project: Option<String>,
        name: &str,
        number: Option<WorktreeId>,
    ) -> Result<Worktree, Problem> {
        let start = std::time::Instant::now();
        loop {
            let (of, wanted) = (project.clone(), name.to_owned());
            let found = self.store.read(move |conn| {
                let is_it = |w: &Worktree| w.name == wanted && number.is_none_or(|number| w.number == number);
                let removed = worktrees::removed(conn, of.as_deref())?;
                let live = worktrees::live(conn, of.as_deref())?;
                let underway = live.iter().any(|w| is_it(w) && w.stage == Stage::Removing);
                Ok((removed.into_iter().find(|w| is_it(w) && w.archive.is_some()), underway))
            });
            match found.await? {
                (_, true) if start.elapsed() < REMOVAL_TIMEOUT => tokio::time::sleep(Duration::from_millis(50)).await,
                (Some(worktree), _) => return Ok(worktree),
                (None, _) => return Err(Refusal::NoArchive { name: name.to_owned() }.into()),
            }
        }
    }

    async fn require_restorable(&self, worktree: &Worktree) -> Result<(), Problem> {
        let place = self.paths(worktree).await?;
        let Some(kept) = &worktree.archive else {
            return Err(Refusal::NoArchive { name: worktree.name.clone() }.into());
        };
        if fs::symlink_metadata(&place.tree).is_ok() {
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("{} is in the way", place.tree.display()),
                "move it away, then try again",
            ));
        }
        match place.repo().tip(&place.full_branch()).await? {
            Some(branch) if branch.as_str() != kept.tip => Err(Problem::new(
                ProblemKind::Conflict,
                format!("the branch `{}` has moved since", place.branch),
                format!("rename it first: `git branch -m {} NAME`; then restore again", place.branch),
            )),
            _ => Ok(()),
        }
    }

    /// Continues an interrupted restore.
    pub(super) async fn resume_restoring(&self, worktree: &Worktree) -> Result<(), Problem> {
        let repository = self.repository(&worktree.project).await?;
        let lock = self.lock_of(&repository.root);
        let _lock = lock.lock().await;
        self.finish_restoring(worktree).await
    }

    /// Restores branch, files and refs after the restore is recorded. Can be repeated from any point.
    async fn finish_restoring(&self, worktree: &Worktree) -> Result<(), Problem> {
        let place = self.paths(worktree).await?;
        let number = worktree.number;
        let kept = archive(&self.home, number);
        let io = |error: std::io::Error| self.home.problem(&kept, &error);
        let base = CommitId::parse(&worktree.base)?;
        let tip = worktree.archive.as_ref().map_or_else(|| Ok(base.clone()), |kept| CommitId::parse(&kept.tip))?;
        let repo = place.repo();
        let bundle = super::uninstall::bundle(&kept);
        if bundle.exists() {
            repo.unbundle(&bundle).await?;
        }
        let staged = self.restore_branch(&place, number, &tip).await?;
        disk::move_replacing(&kept.join("folder"), &place.folder).map_err(io)?;
        disk::make_private(&place.folder).map_err(io)?;
        let plan = load_plan(&kept).unwrap_or_default();
        for path in plan.deleted.iter().filter_map(|path| disk::existing_beneath(&place.tree, Path::new(path))) {
            disk::delete(&path).map_err(io)?;
            // The checkout made the parents of the file. Those that were empty in the worktree are made again below.
            let around = path.ancestors().skip(1).take_while(|dir| *dir != place.tree);
            around.take_while(|dir| fs::remove_dir(dir).is_ok()).for_each(drop);
        }
        for path in &plan.moved {
            disk::clear_path(&place.tree, path.as_ref()).map_err(io)?;
            disk::move_replacing(&kept.join("files").join(path), &place.tree.join(path)).map_err(io)?;
        }
        for (path, mode) in &plan.empty {
            if let Some(dir) = disk::path_beneath(&place.tree, path.as_ref()) {
                fs::create_dir_all(&dir).map_err(io)?;
                fs::set_permissions(&dir, fs::Permissions::from_mode(*mode)).map_err(io)?;
            }
        }
        let settings = self.facts_of(&worktree.project).await?.settings;
        let linked = super::setup::playbooks(&self.home, &place, &settings.worktree).map_err(io)?;
        super::setup::exclude_in_main(&place, &linked).map_err(io)?;
        if let (Seal::Linked, Some(tree), Some(linked)) = (place.seal, staged, place.linked()) {
            linked.reset_index(&tree).await?;
        }
        let mut updates = RefUpdates::new();
        let mut keep_here = |commit: &CommitId| updates.set(&place.keeper(commit), commit);
        keep_here(&tip);
        keep_here(&base);
        let archived = repo.own_refs_below(&archive_refs(number)).await?;
        for (_, object) in archived.iter().filter(|(name, _)| !name.as_str().ends_with("/staged")) {
            keep_here(&CommitId::of_object(object.clone()));
        }
        archived.iter().for_each(|(name, _)| updates.delete(name));
        repo.update_refs(updates).await?;
        let path = place.tree.to_string_lossy().into_owned();
        self.store.execute(&Caller::system(), Command::FinishWorktree { number, path }).await?;
        self.watch.add(&place, number);
        super::reclaim(&self.home, &kept);
        Ok(())
    }

    /// Restores the branch and its directory, unless they exist. Returns the tree that was staged.
    async fn restore_branch(
        &self,
        place: &WorktreePaths,
        number: WorktreeId,
        commit: &CommitId,
    ) -> Result<Option<TreeId>, Problem> {
        let repo = place.repo();
        let staged = repo.tree_at(&RefName::parse(&format!("{}staged", archive_refs(number)))?).await?;
        if repo.tip(&place.full_branch()).await?.is_none() {
            repo.set_ref(&place.full_branch(), commit).await?;
        }
        if place.tree_state() == TreeState::Present {
            return Ok(staged);
        }
        // A crash may have left an incomplete checkout.
        if let Some(admin) = place.admin() {
            disk::delete(&admin).map_err(|error| self.home.problem(&admin, &error))?;
        }
        disk::delete(&place.tree).map_err(|error| self.home.problem(&place.tree, &error))?;
        check_out(place).await?;
        protect(place).await?;
        Ok(staged)
    }

    /// Repairs a live worktree whose directory is missing, or whose `.git` does not lead to MAIN's repository.
    async fn repair(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.tree, &error);
        match place.tree_state() {
            TreeState::Present => Err(Problem::new(
                ProblemKind::Conflict,
                format!("worktree `{}` is there", place.name),
                format!("use it: `flower worktree shell {}`", place.name),
            )),
            TreeState::Missing => {
                // Commits from inside must be on the branch before it is checked out. A refused import does not prevent the
                // repair, because the commits can only be corrected inside.
                if place.seal == Seal::Sealed
                    && let Err(problem) = self.mirror(place).await
                    && problem.kind != ProblemKind::Refused
                {
                    return Err(problem);
                }
                let lock = self.lock_of(&place.repository.root);
                let _lock = lock.lock().await;
                if let Some(admin) = place.admin() {
                    disk::delete(&admin).map_err(io)?;
                }
                check_out(place).await?;
                protect(place).await
            }
            TreeState::Unknown(_) if disk::is_dir(&place.tree) => {
                let lock = self.lock_of(&place.repository.root);
                let _lock = lock.lock().await;
                if place.leads_elsewhere(&place.tree) {
                    disk::move_replacing(&place.tree.join(".git"), &place.displaced()).map_err(io)?;
                }
                let known = place.admin();
                let admin = match &known {
                    Some(admin) => admin.clone(),
                    None => write_admin(place).map_err(io)?,
                };
                disk::delete(&place.tree.join(".git")).map_err(io)?;
                fs::write(place.tree.join(".git"), gitfile_text(&admin)).map_err(io)?;
                if known.is_none() {
                    Repo::linked(&place.repository, &admin, &place.tree).reset_index(&Head).await?;
                }
                protect(place).await
            }
            TreeState::Unknown(evidence) => Err(Problem::new(
                ProblemKind::Refused,
                evidence,
                format!("move {} away, then restore again", place.tree.display()),
            )),
        }
    }
}

/// Protects the operator's git in a sealed worktree. Programs in a linked one can write git's own files, so protection is not possible.
async fn protect(place: &WorktreePaths) -> Result<(), Problem> {
    if place.seal == Seal::Sealed { gitlinks::protect_operator(place).await } else { Ok(()) }
}
