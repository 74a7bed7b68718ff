//! Commits that the operator makes in the directory of a sealed worktree, with ordinary git. The private repository follows them. If
//! something was committed inside as well, both sides stay on branches of MAIN's repository until `flower worktree sync` merges them.
//!
//! Only branch and index of the private repository move, never files: both sides work on the same files.

use super::gitlinks;
use super::mirror::{mirrored_tip, record_mirrored};
use super::paths::WorktreePaths;
use super::private;
use super::special_files::{self, ASK_TIMEOUT};
use crate::Worktrees;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Worktree;
use flower_core::worktree::{Seal, Stage};
use flower_git::{CommitId, NewCommit, RefUpdates, Repo};
use flower_store::worktrees;
use std::time::Duration;

/// How long the start of a program inside waits for a mirror that is under way.
const ENTRY_TIMEOUT: Duration = Duration::from_secs(5);
/// Files and folders of a repository in which a merge, rebase, cherry-pick or revert is under way.
const UNDER_WAY: &[&str] = &["MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD"];
/// Longer lists of paths in an error are cut.
const MAX_CONFLICTS: usize = 10;

impl Worktrees {
    /// Brings the operator's commits in before a program starts inside. The start does not depend on it: returns why it was not
    /// possible.
    pub(crate) async fn bring_in_at_entry(&self, place: &WorktreePaths) -> Option<String> {
        let lock = self.lock_of(&place.folder);
        let Ok(_lock) = tokio::time::timeout(ENTRY_TIMEOUT, lock.lock()).await else { return None };
        let problem = self.bring_in_locked(place).await.err()?;
        tracing::warn!("{}: {}", place.name, problem.message);
        Some(std::iter::once(problem.message).chain(problem.hints).collect::<Vec<_>>().join("; "))
    }

    /// Brings the operator's commits in before the next turn of an agent, which sees them as its own branch.
    pub(crate) async fn bring_in_before_turn(&self, project: &str, name: &str) {
        let choice = ProjectChoice { name: Some(project.to_owned()), dir: None };
        let Ok(worktree) = self.find(&choice, name).await else { return };
        if worktree.stage == Stage::Ready
            && let Ok(place) = self.paths(&worktree).await
        {
            self.bring_in_at_entry(&place).await;
        }
    }

    /// Moves the private repository to the operator's commits. Does nothing if there are none, or if something was committed inside
    /// as well.
    pub(super) async fn bring_in(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let _lock = lock.lock().await;
        self.bring_in_locked(place).await
    }

    async fn bring_in_locked(&self, place: &WorktreePaths) -> Result<(), Problem> {
        if place.seal != Seal::Sealed || place.repo().tip(&place.full_branch()).await? == mirrored_tip(place) {
            return Ok(());
        }
        // Commits from inside go first: if there are any, the operator's stay outside.
        self.mirror_locked(place).await?;
        let (outside, inside) = (place.repo().tip(&place.full_branch()).await?, mirrored_tip(place));
        let (Some(outside), Some(inside)) = (outside, inside) else { return Ok(()) };
        if outside == inside {
            return Ok(());
        }
        self.move_inside(place, &inside, &outside).await
    }

    /// Moves branch and index of the private repository. The index first: a program that commits in between then commits the
    /// operator's changes too, and not their opposite.
    async fn move_inside(&self, place: &WorktreePaths, from: &CommitId, to: &CommitId) -> Result<(), Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        special_files::require_plain_repository(place)?;
        if let Some(found) = UNDER_WAY.iter().find(|name| place.private().join(name).symlink_metadata().is_ok()) {
            return Err(not_inside(
                place,
                to,
                &format!("a merge or rebase is under way inside ({found})"),
                format!("finish it inside: `flower worktree shell {}`", place.name),
            ));
        }
        self.keep(place, to).await?;
        self.provide(place, &[to]).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let private = Repo::jailed(launcher).with_deadline(ASK_TIMEOUT);
        if private.is_on(&place.full_branch()).await?
            && let Err(why) = private.try_move_index(from, to).await?
        {
            return Err(not_inside(
                place,
                to,
                &format!("other changes are staged inside: {}", super::import_error::plain(&why)),
                format!(
                    "unstage them, their files stay: `flower worktree shell {0} -- git reset --quiet`; then `flower \
                     worktree sync {0}`",
                    place.name
                ),
            ));
        }
        let mut updates = RefUpdates::new();
        updates.swap(&place.full_branch(), to, from);
        private.update_refs(updates).await?;
        record_mirrored(place, to).map_err(io)
    }

    /// Commits of the operator that are not on the branch, because something was committed inside as well.
    async fn displaced(&self, place: &WorktreePaths) -> Result<Vec<CommitId>, Problem> {
        let Some(number) = place.number else { return Ok(Vec::new()) };
        let known = self.store.read(move |conn| worktrees::worktree(conn, number)).await?;
        let repo = place.repo();
        let mut found = Vec::new();
        for commit in known.map(|worktree: Worktree| worktree.displaced).unwrap_or_default() {
            let commit = CommitId::parse(&commit)?;
            // The operator has deleted the branch, or the commit was merged.
            if repo.tip(&place.operators_branch(&commit)).await?.is_none()
                || repo.is_ancestor(&commit, &place.full_branch()).await?
            {
                continue;
            }
            found.push(commit);
        }
        Ok(found)
    }

    /// Notes about commits of the operator that are not on the branch, each with the way to merge it.
    pub(super) async fn displaced_notes(&self, place: &WorktreePaths) -> Result<Vec<String>, Problem> {
        let note = |commit: CommitId| {
            let branch = place.operators_branch(&commit);
            let branch = branch.as_str().trim_start_matches("refs/heads/");
            format!(
                "your commit {commit} is on the branch `{branch}`, because something was committed inside as well. To merge \
                 both: `flower worktree sync {}`. To let yours go: `git branch -D {branch}`",
                place.name
            )
        };
        Ok(self.displaced(place).await?.into_iter().map(note).collect())
    }

    /// Merges commits of the operator that are not on the branch, outside and inside. Returns the reason if it did not.
    pub(super) async fn merge_displaced(&self, place: &WorktreePaths) -> Result<Option<String>, Problem> {
        for commit in self.displaced(place).await? {
            if let Some(process) = super::remove::busy_process_besides_waiting_shells(place) {
                return Ok(Some(format!("{process} is at work there; your commit {} is not merged", commit.short())));
            }
            let lock = self.lock_of(&place.folder);
            let _lock = lock.lock().await;
            self.merge_one(place, &commit).await?;
        }
        Ok(None)
    }

    async fn merge_one(&self, place: &WorktreePaths, operators: &CommitId) -> Result<(), Problem> {
        let repo = place.repo();
        let (branch, kept_at) = (place.full_branch(), place.operators_branch(operators));
        let Some(tip) = repo.tip(&branch).await? else { return Ok(()) };
        let merged = repo.merge_trees(None, &tip, operators).await?;
        if !merged.conflicts.is_empty() {
            return Err(conflict(place, operators, &merged.conflicts));
        }
        let identity = repo.identity().await?;
        let message = format!("Merge commits of {} into {}\n", operators.short(), place.branch);
        let parents = [&tip, operators];
        let new =
            NewCommit { tree: &merged.tree, parents: &parents, message: &message, committer: &identity, author: None };
        let merge = repo.commit_tree(new).await?;
        self.require_sealed(place, &gitlinks::in_commit(&place.repository, &merge).await?)?;
        let mut updates = RefUpdates::new();
        updates.swap(&branch, &merge, &tip);
        updates.delete_at(&kept_at, operators);
        repo.update_refs(updates).await?;
        self.move_operators_index(place, &merge).await?;
        self.bring_in_locked(place).await
    }
}

fn not_inside(place: &WorktreePaths, commit: &CommitId, why: &str, hint: String) -> Problem {
    Problem::new(
        ProblemKind::Conflict,
        format!("your commit {} in `{}` is not seen inside: {why}", commit.short(), place.name),
        hint,
    )
}

fn conflict(place: &WorktreePaths, operators: &CommitId, paths: &[std::ffi::OsString]) -> Problem {
    let names: Vec<String> = paths.iter().take(MAX_CONFLICTS).map(|path| path.to_string_lossy().into_owned()).collect();
    let name = &place.name;
    Problem::new(
        ProblemKind::Conflict,
        format!(
            "your commit {} and those made inside `{name}` change the same lines: {}",
            operators.short(),
            super::import_error::plain(&names.join(", "))
        ),
        format!(
            "both worked on the same files, so they have the newest text: look at {}, then commit all of it as the merge: `flower \
             worktree shell {name} -- sh -c 'git merge --strategy=ours --no-commit {operators} && git add --all && git commit \
             --no-edit'`",
            place.tree.display()
        ),
    )
}
