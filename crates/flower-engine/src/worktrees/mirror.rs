//! Exchanges commits between a private repository and MAIN's: new commits are imported as the worktree's branch, and MAIN's tip is
//! provided inside. git on the private side always runs in a jail.

use super::gitlinks;
use super::import_error::{ImportError, plain};
use super::incoming;
use super::landed::LandedBefore;
use super::limits::IMPORT_TIMEOUT;
use super::observe::is_dirty;
use super::paths::WorktreePaths;
use super::private;
use super::special_files::{self, ASK_TIMEOUT};
use crate::Worktrees;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::SyncView;
use flower_core::event::WorktreeDiverged;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Refusal, Worktree};
use flower_git::lfs::Lfs;
use flower_git::{CommitId, GitError, Head, Merge, RefUpdates, Repo};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// How long a read-only request waits for a mirror that is under way.
const MIRROR_TIMEOUT: Duration = Duration::from_secs(5);

/// Enough to read all committed files once, on a slow disk.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

/// What becomes of a merge with conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflicts {
    Abort,
    Keep,
}

impl Worktrees {
    /// Imports new commits, brings the operator's in, provides MAIN's tip inside, and merges it if no process works there.
    pub async fn sync(&self, choice: &ProjectChoice, name: &str) -> Result<SyncView, Problem> {
        let worktree = self.find(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        let facts = self.facts_of(&worktree.project).await?;
        // The sync after a landing and the operator's own may come at the same time, and each is several commands of git.
        let lock = self.sync_lock(&place);
        let _one_at_a_time = lock.lock().await;
        let mut waits_for = None;
        if place.seal == Seal::Sealed {
            self.mirror(&place).await?;
            self.bring_in(&place).await?;
            waits_for = self.merge_displaced(&place).await?;
            self.provide_main_tip(&place, &facts.main_branch, &facts.main_tip).await?;
        }
        let merged = match waits_for {
            None => self.merge_main(&place, &facts.main_branch, &facts.main_tip, Conflicts::Abort).await?,
            reason => reason,
        };
        let worktree = self.observe(worktree).await?;
        Ok(SyncView { merged: merged.is_none(), reason: merged, worktree })
    }

    /// Merges MAIN's tip into a worktree. Conflicts stay open in it. Returns whether this has begun a merge.
    pub(crate) async fn merge_main_and_keep_conflicts(&self, project: &str, name: &str) -> Result<bool, Problem> {
        let choice = ProjectChoice { name: Some(project.to_owned()), dir: None };
        let place = self.require_ready(&self.find(&choice, name).await?).await?;
        let facts = self.facts_of(project).await?;
        let lock = self.sync_lock(&place);
        let _one_at_a_time = lock.lock().await;
        if place.seal == Seal::Sealed {
            self.provide_main_tip(&place, &facts.main_branch, &facts.main_tip).await?;
        }
        let was_dirty = is_dirty(&place).await?;
        self.merge_main(&place, &facts.main_branch, &facts.main_tip, Conflicts::Keep).await?;
        Ok(!was_dirty && is_dirty(&place).await?)
    }

    /// Fails unless the worktree is ready and its directory is in place.
    pub(crate) async fn require_ready(&self, worktree: &Worktree) -> Result<WorktreePaths, Problem> {
        if worktree.stage != Stage::Ready {
            return Err(Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage }.into());
        }
        let place = self.paths(worktree).await?;
        let evidence = match place.tree_state() {
            super::paths::TreeState::Present => return Ok(place),
            super::paths::TreeState::Missing => format!("{} is gone", place.tree.display()),
            super::paths::TreeState::Unknown(evidence) => evidence,
        };
        Err(Problem::new(
            ProblemKind::Refused,
            format!("worktree `{}` is not where it should be: {evidence}", worktree.name),
            format!("put it back, or let flower do so: `flower worktree restore {}`", worktree.name),
        ))
    }

    /// Imports the private branch into MAIN's repository, if it has changed.
    pub(crate) async fn mirror(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let _lock = lock.lock().await;
        self.mirror_locked(place).await
    }

    /// Like [`Worktrees::mirror`], for a read-only request: fails if another mirror of this worktree takes long.
    pub(super) async fn mirror_or_time_out(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let Ok(_lock) = tokio::time::timeout(MIRROR_TIMEOUT, lock.lock()).await else {
            return Err(import_pending(place));
        };
        self.mirror_locked(place).await
    }

    pub(super) async fn mirror_locked(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let now = stamp(place);
        let before = fs::read_to_string(place.mirrored()).unwrap_or_default();
        let (seen, mirrored) = before.split_once('\n').unwrap_or((&before, ""));
        // Nothing inside has changed since the last mirror.
        if seen == now {
            return Ok(());
        }
        if let Some(refused) = last_refusal(place).filter(|refused| refused.stamp == now) {
            return Err(refused.problem);
        }
        special_files::require_plain_repository(place)?;
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        self.complete(place).await?;
        let repo = place.repo();
        // `None` before the first mirror.
        let mirrored = CommitId::parse(mirrored).ok();
        let old = repo.tip(&place.full_branch()).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let private = Repo::jailed(launcher);
        let new = branch_inside(place, &private).await?;
        let is_new = Some(&new) != mirrored.as_ref();
        if old.as_ref() != Some(&new) && is_new {
            let kept = repo.refs_below(&place.keep()).await?.into_iter();
            let kept = kept.map(|(_, object)| CommitId::of_object(object));
            let has: Vec<CommitId> = kept.chain(old.clone()).collect();
            if let Err(error) = incoming::import(place, &private, &new, &has, old.as_ref()).await {
                return Err(remember_refusal(place, now, error));
            }
        }
        let branch = place.full_branch();
        let mut updates = RefUpdates::new();
        // Commits that the operator made on the branch stay, as long as nothing was committed inside meanwhile.
        let is_operator_ahead = old.is_some() && old != mirrored && !is_new;
        let moves = old.as_ref() != Some(&new) && !is_operator_ahead;
        // The branch may have been moved by an earlier daemon that ended before it recorded the rest.
        let moved = moves || (old.as_ref() == Some(&new) && is_new);
        if moved {
            self.require_sealed(place, &gitlinks::in_commit(&place.repository, &new).await?)?;
        }
        if moves {
            // Fails if the branch is not at `old` any more: the operator may be committing at this moment.
            match &old {
                Some(old) => updates.swap(&branch, &new, old),
                None => updates.create(&branch, &new),
            }
        }
        if let (true, Some(old)) = (moves, &old)
            && !repo.is_ancestor(old, &new).await?
        {
            // The private repository borrows these commits from MAIN's, and may still use them.
            updates.set(&place.keeper(old), old);
            // The operator and a program inside have both committed. Recorded before the branch moves, so that a crash cannot hide
            // the operator's commit.
            if let Some(number) = place.number
                && mirrored.as_ref().is_some_and(|mirrored| mirrored != old)
            {
                let kept_at = place.operators_branch(old);
                updates.set(&kept_at, old);
                let (operators, inside) = (old.to_string(), new.to_string());
                let diverged = WorktreeDiverged { number, operators, inside, kept_at: kept_at.to_string() };
                self.store.execute(&Caller::system(), Command::DivergeWorktree(diverged)).await?;
                // A merge with conflicts is settled inside, so it must be readable there.
                self.provide(place, &[old]).await?;
            }
        }
        repo.update_refs(updates).await?;
        if moved {
            self.move_operators_index(place, &new).await?;
            let before = if moves { old } else { mirrored };
            self.record_commits(place, before.as_ref(), &new).await;
        }
        fs::write(place.mirrored(), format!("{now}\n{new}")).map_err(io)?;
        super::disk::delete(&place.refused()).map_err(io)
    }

    /// Moves the operator's index to the new tip of the branch. Files do not change: they are those that programs inside work on.
    pub(super) async fn move_operators_index(&self, place: &WorktreePaths, commit: &CommitId) -> Result<(), Problem> {
        let Some(linked) = place.linked() else { return Ok(()) };
        for path in gitlinks::in_commit(&place.repository, commit).await? {
            gitlinks::set_aside_repository(place, &path).map_err(|error| self.home.problem(&place.tree, &error))?;
        }
        linked.reset_index(&Head).await?;
        // Without this, every `git status` in the worktree would read all committed files again.
        match linked.with_lfs(Lfs::Pointers).with_deadline(REFRESH_TIMEOUT).refresh_index().await {
            // Only the next status is slower. A FIFO in place of an attributes file must not prevent the mirror.
            Err(GitError::Deadline { .. }) => {}
            refreshed => refreshed?,
        }
        gitlinks::protect_operator(place).await
    }

    /// Makes MAIN's tip available inside, as `origin/main`.
    pub(crate) async fn provide_main_tip(
        &self,
        place: &WorktreePaths,
        main: &str,
        commit: &CommitId,
    ) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let _lock = lock.lock().await;
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        self.keep(place, commit).await?;
        self.provide(place, &[commit]).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        special_files::require_plain_repository(place)?;
        Ok(Repo::jailed(launcher).with_deadline(ASK_TIMEOUT).set_origin(main, commit).await?)
    }

    /// Protects a commit that the private repository borrows: it must stay also if MAIN is reset. Refs for commits that this one
    /// reaches are not needed any more; without their deletion every landing would leave one in every worktree.
    pub(super) async fn keep(&self, place: &WorktreePaths, commit: &CommitId) -> Result<(), Problem> {
        let repo = place.repo();
        let keeper = place.keeper(commit);
        let mut updates = RefUpdates::new();
        updates.set(&keeper, commit);
        let reached = repo.own_refs_reached_by(&place.keep(), commit).await?;
        let former = reached.iter().filter(|(name, _)| *name != keeper);
        former.for_each(|(name, object)| updates.delete_at(name, object));
        Ok(repo.update_refs(updates).await?)
    }

    /// Merges MAIN's tip if no process works inside. Returns the reason if it did not.
    async fn merge_main(
        &self,
        place: &WorktreePaths,
        main: &str,
        commit: &CommitId,
        conflicts: Conflicts,
    ) -> Result<Option<String>, Problem> {
        if place.repo().is_ancestor(commit, &place.full_branch()).await? {
            return Ok(None);
        }
        if let Some(process) = super::remove::busy_process_besides_waiting_shells(place) {
            return Ok(Some(format!("{process} is at work there; `origin/{main}` is there to be merged")));
        }
        if is_dirty(place).await? {
            return Ok(Some(format!("it has changes that are not committed; `origin/{main}` is there to be merged")));
        }
        let checkout = match place.seal {
            Seal::Sealed => {
                let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
                let settings = crate::settings::WorktreeSettings::default();
                let mut spec = private::spec(&self.home, place, &settings, None).map_err(io)?;
                self.seal_gitlinks(place, &mut spec).await?;
                let launcher = private::launcher(place, &spec, "merge").map_err(io)?;
                Repo::jailed(launcher)
            }
            Seal::Linked => {
                let linked = place.linked().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
                linked.with_operators_settings()
            }
        };
        let merging = checkout.clone().with_deadline(IMPORT_TIMEOUT);
        let mut merged = Merge::Done;
        let branch = place.repo().tip(&place.full_branch()).await?;
        let landed = self.landed_before(&place.repository, &place.project, place.number).await?;
        if let Some(branch) = &branch
            && let Some(landed) = LandedBefore::unknown_to_git(&landed, &place.repository, commit, branch).await?
        {
            // What has landed from here as another commit is recorded as merged, after what MAIN had before it.
            if let Some(below) = place.repo().first_parent(landed.landed_as()).await? {
                merged = merging.merge(&below).await?;
            }
            if merged == Merge::Done {
                merging.merge_without_changes(landed.landed_as()).await?;
            }
        }
        if merged == Merge::Done {
            merged = merging.merge(commit).await?;
        }
        let Merge::Conflict(found) = merged else {
            if place.seal == Seal::Sealed {
                self.mirror(place).await?;
            }
            return Ok(None);
        };
        if conflicts == Conflicts::Keep {
            return Ok(Some(found));
        }
        checkout.abort_merge().await?;
        Err(Problem::new(
            ProblemKind::Conflict,
            format!("MAIN's tip does not merge into `{}`: {found}", place.name),
            format!(
                "merge it inside and settle them: `flower worktree shell {} -- git merge origin/{main}`",
                place.name
            ),
        ))
    }
}

pub(super) fn import_pending(place: &WorktreePaths) -> Problem {
    Problem::new(
        ProblemKind::Timeout,
        format!("commits of worktree `{}` are still being imported", place.name),
        format!("look again later: `flower worktree show {}`", place.name),
    )
}

/// The tip of the branch in the private repository. Fails if it was renamed or deleted inside.
async fn branch_inside(place: &WorktreePaths, private: &Repo) -> Result<CommitId, Problem> {
    let private = private.clone().with_deadline(ASK_TIMEOUT);
    let stderr = match private.tip_or_reason(&place.full_branch()).await {
        Err(GitError::Deadline { .. }) => return Err(special_files::too_slow(place, ASK_TIMEOUT)),
        Err(error) => return Err(error.into()),
        Ok(Ok(commit)) => return Ok(commit),
        Ok(Err(stderr)) => stderr,
    };
    let why = if stderr.is_empty() { String::new() } else { format!(": {}", plain(&stderr)) };
    Err(Problem::new(
        ProblemKind::Refused,
        format!("inside there is no branch `{}` any more{why}", place.branch),
        format!("make it again: `flower worktree shell {} -- git branch {}`", place.name, place.branch),
    ))
}

/// Why an import was refused, and the stamp of the private repository at that time.
#[derive(Serialize, Deserialize)]
struct LastRefusal {
    stamp: String,
    problem: Problem,
}

fn last_refusal(place: &WorktreePaths) -> Option<LastRefusal> {
    serde_json::from_slice(&fs::read(place.refused()).ok()?).ok()
}

/// Stores a final refusal, so that the same commits are not imported again until something changes inside.
fn remember_refusal(place: &WorktreePaths, stamp: String, error: ImportError) -> Problem {
    let is_final = error.is_final();
    let refusal = LastRefusal { stamp, problem: error.problem(&place.name) };
    if is_final && let Err(error) = fs::write(place.refused(), serde_json::to_vec(&refusal).expect("plain data")) {
        tracing::warn!("{}: {error}", place.refused().display());
    }
    refusal.problem
}

/// The tip of the private branch when it was last equal to the branch in MAIN's repository.
pub(super) fn mirrored_tip(place: &WorktreePaths) -> Option<CommitId> {
    let text = fs::read_to_string(place.mirrored()).ok()?;
    CommitId::parse(text.split_once('\n')?.1).ok()
}

/// Records that the private repository and the branch in MAIN's are equal, as in a new worktree.
pub(super) fn record_mirrored(place: &WorktreePaths, commit: &CommitId) -> std::io::Result<()> {
    fs::write(place.mirrored(), format!("{}\n{commit}", stamp(place)))
}

/// A stamp of the files that change when the private branch moves. A program inside can forge it, but delays only its own mirror.
fn stamp(place: &WorktreePaths) -> String {
    let private = place.private();
    let branch = place.full_branch();
    let files = ["HEAD", "packed-refs", "logs/HEAD", "reftable", branch.as_str()];
    let seen = files.map(|file| {
        fs::symlink_metadata(private.join(file))
            .map_or_else(|_| "-".to_owned(), |f| format!("{}.{}.{}.{}", f.ino(), f.size(), f.mtime(), f.mtime_nsec()))
    });
    seen.join(" ")
}
