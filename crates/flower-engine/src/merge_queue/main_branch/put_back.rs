//! Puts MAIN's checkout back after `git pull`, `git merge`, `git rebase`, `git cherry-pick`, `git revert` or `git reset` in it: the hook
//! refuses to move the branch, but git has written index and files before it asks, and a rebase has left the branch.
//!
//! The hook notes the commit. The checkout is put back only if nothing of it is by hand: every path of index and checkout is as in
//! the recorded tip or as in that commit, and the commit is not one that git has just made of hand edits. Everything is read anew
//! each time, so a kill at any step is repaired by the next look at MAIN.

use super::checkout::{self, RemoveOnDrop, StagedFiles, scratch_index};
use super::open_merge::{self, OpenRebase};
use super::recovery::{copy_of_index, saved_ref};
use super::{MainLock, MainStatus, hook};
use crate::MergeQueue;
use crate::failpoint;
use crate::worktrees::disk;
use flower_contract::error::Problem;
use flower_core::main_branch::Step;
use flower_core::{Caller, Command, Main};
use flower_git::lfs::Lfs;
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Log, Repo, TreeId};
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

/// Commits of a rebase that are compared, one merge each.
const MAX_REBASED: usize = 50;
const MERGE_TIMEOUT: Duration = Duration::from_secs(60);
/// `FETCH_HEAD` has a line for each fetched branch.
const MAX_FETCH_HEAD_BYTES: u64 = 16 << 20;

/// git asks the hook this long after it has written the index, at most.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A refused move of MAIN that explains everything in the checkout.
struct Explanation {
    commit: CommitId,
    /// Whether a remote has the commit, or what it merges.
    upstream: bool,
    /// Paths that differ from the recorded tip.
    paths: HashSet<OsString>,
}

impl MergeQueue {
    /// Puts the checkout back if a refused move of the branch explains all that differs in it. Returns MAIN as it is then.
    pub(super) async fn put_back_tried(
        &self,
        lock: &MainLock,
        main: Main,
        status: MainStatus,
    ) -> Result<(Main, MainStatus), Problem> {
        let tried = hook::tried(&lock.repository);
        let is_in_place = |status: &MainStatus| {
            let is_rebased = || {
                let open = open_merge::rebase(&lock.repository, &main.branch);
                open.and_then(|open| open.before).is_some_and(|before| before.as_str() == main.tip)
            };
            status.tip.as_ref().is_some_and(|tip| tip.as_str() == main.tip)
                && (status.head.as_ref() == Some(&main.branch) || (status.head.is_none() && is_rebased()))
        };
        // git may still be writing.
        if tried.is_empty() || !is_in_place(&status) || !checkout::is_index_free(&lock.repository).await {
            return Ok((main, status));
        }
        let status = MainStatus::read(&lock.repository, &main.branch).await?;
        if !is_in_place(&status) {
            return Ok((main, status));
        }
        match self.put_back(lock, &main, &status, &tried).await {
            Ok(true) => {
                let status = MainStatus::read(&lock.repository, &main.branch).await?;
                Ok((self.worktrees.main_of(&lock.project).await?, status))
            }
            Ok(false) => Ok((main, status)),
            // The files stay a change by hand, which the operator settles.
            Err(problem) => {
                tracing::warn!("MAIN of {} was not put back: {}", lock.project, problem.message);
                Ok((main, status))
            }
        }
    }

    /// Returns whether anything was recorded.
    async fn put_back(
        &self,
        lock: &MainLock,
        main: &Main,
        status: &MainStatus,
        tried: &[CommitId],
    ) -> Result<bool, Problem> {
        let (repository, recorded) = (&lock.repository, CommitId::parse(&main.tip)?);
        let io = |error: std::io::Error| crate::home::problem(&repository.git_dir, &error);
        let mut explained = None;
        for commit in tried {
            if let Some(found) = self.explain(repository, &main.branch, &recorded, commit).await? {
                explained = Some(found);
                break;
            }
        }
        let Some(Explanation { commit, upstream, paths }) = explained else {
            // Nothing differs any more, so no note is of use.
            if status.dirty.is_empty() && !is_open(repository, &main.branch) {
                hook::forget_tried(repository).map_err(io)?;
            }
            return Ok(false);
        };
        failpoint::here("put_back.begun");
        let repo = Repo::main(repository);
        let saved = saved_ref(&commit)?;
        // Without a difference, the ref tells whether a put back was ended by a kill before it was recorded.
        let differs = !paths.is_empty() || is_open(repository, &main.branch);
        let is_recorded = main.put_back.as_ref().is_some_and(|known| known.commit == commit.as_str());
        if !differs && (is_recorded || repo.tip(&saved).await?.is_none()) {
            hook::forget_tried(repository).map_err(io)?;
            return Ok(false);
        }
        repo.set_ref(&saved, &commit).await?;
        failpoint::here("put_back.saved");
        let mut changes = checkout::changes(repository, &commit, &recorded).await?;
        changes.retain(|change| paths.contains(&change.path));
        if !changes.is_empty() {
            let staged = StagedFiles::prepare(repository, &commit, &recorded, &changes).await;
            let range = (&commit, &recorded);
            let skipped = checkout::update_checkout(&self.home, repository, staged, range, &changes).await?;
            if !skipped.is_empty() {
                tracing::info!("MAIN of {}: edited files were not put back: {}", lock.project, skipped.join(", "));
            }
        }
        failpoint::here("put_back.files");
        if status.head.is_none() {
            lock.attach_head(main).await?;
        }
        failpoint::here("put_back.head");
        open_merge::forget(repository, &main.branch).map_err(io)?;
        failpoint::here("put_back.merge");
        let files = changes.iter().map(Change::name).collect();
        let step = Step::PutBack { commit: commit.into(), upstream, files };
        self.store.execute(&Caller::system(), Command::Main { project: lock.project.clone(), step }).await?;
        failpoint::here("put_back.recorded");
        hook::forget_tried(repository).map_err(io)?;
        self.wake();
        Ok(true)
    }

    /// Whether the move to this commit explains everything in index and checkout that differs from the recorded tip.
    async fn explain(
        &self,
        repository: &Repository,
        branch: &str,
        recorded: &CommitId,
        commit: &CommitId,
    ) -> Result<Option<Explanation>, Problem> {
        let repo = Repo::main(repository);
        if commit == recorded || !repo.has_commit(commit).await? {
            return Ok(None);
        }
        let found = repo.log(&Log::of(commit, 1)).await?;
        let parents = found.into_iter().next().map(|entry| entry.parents).unwrap_or_default();
        let applied = open_merge::picked(repository).or_else(|| open_merge::reverted(repository));
        // Another merge is open, which a person has begun.
        let is_other = |head: &CommitId| !parents.contains(head) && head != commit && applied.as_ref() != Some(head);
        if open_merge::heads(repository).iter().any(is_other) {
            return Ok(None);
        }
        let fetched = fetched(repository);
        let is_known = fetched.contains(commit) || repo.is_reachable_from(commit, &["refs"]).await?;
        let rebase = open_merge::rebase(repository, branch);
        let is_plain = match &rebase {
            Some(rebase) => is_plain_rebase(repository, rebase, commit).await?,
            None => is_known || is_plain_result(repository, recorded, commit, &parents).await?,
        };
        if !is_plain {
            return Ok(None);
        }
        let Some((staged, files)) = self.trees_of_checkout(repository).await? else { return Ok(None) };
        let mut paths = HashSet::new();
        for tree in [&staged, &files] {
            let by_paths = |changes: Vec<Change>| changes.into_iter().map(|change| change.path);
            let own: HashSet<OsString> = by_paths(checkout::changes(repository, recorded, tree).await?).collect();
            // A path that is neither as before nor as in the commit is by hand.
            if by_paths(checkout::changes(repository, commit, tree).await?).any(|path| own.contains(&path)) {
                return Ok(None);
            }
            paths.extend(own);
        }
        let onto = rebase.as_ref().and_then(|rebase| rebase.onto.as_ref());
        let theirs = onto.or(parents.get(1).filter(|_| !is_known)).unwrap_or(commit);
        let upstream = fetched.contains(theirs) || repo.is_reachable_from(theirs, &["refs/remotes"]).await?;
        let upstream = upstream && !repo.is_ancestor(theirs, recorded).await?;
        Ok(Some(Explanation { commit: commit.clone(), upstream, paths }))
    }

    /// The index, and the tracked files as they are, each as a tree. `None` if the index has conflicts.
    async fn trees_of_checkout(&self, repository: &Repository) -> Result<Option<(TreeId, TreeId)>, Problem> {
        let index = scratch_index(&self.home);
        let _remove = RemoveOnDrop(index.clone());
        let repo = copy_of_index(repository, &index)?.with_lfs(Lfs::Pointers);
        let Some(staged) = repo.staged_tree().await? else { return Ok(None) };
        repo.add_tracked().await?;
        Ok(Some((staged, repo.write_tree().await?)))
    }
}

/// Reads MAIN again if files differ and a git has written the index just now: the hook may not have been asked yet.
pub(super) async fn after_git(
    repository: &Repository,
    branch: &str,
    status: MainStatus,
) -> Result<MainStatus, Problem> {
    let is_awaited = || hook::tried(repository).is_empty() && is_index_fresh(repository);
    if status.dirty.is_empty() || !is_awaited() {
        return Ok(status);
    }
    let began = Instant::now();
    while is_awaited() && began.elapsed() < 2 * GRACE {
        tokio::time::sleep(GRACE_POLL_INTERVAL).await;
    }
    MainStatus::read(repository, branch).await
}

fn is_index_fresh(repository: &Repository) -> bool {
    let written = fs::symlink_metadata(repository.git_dir.join("index")).and_then(|found| found.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < GRACE))
}

/// Whether git has begun something in the checkout and not ended it.
fn is_open(repository: &Repository, branch: &str) -> bool {
    !open_merge::heads(repository).is_empty() || open_merge::rebase(repository, branch).is_some()
}

/// Whether git made this commit on MAIN by a merge, a cherry-pick or a revert in which no person had to decide anything.
async fn is_plain_result(
    repository: &Repository,
    recorded: &CommitId,
    commit: &CommitId,
    parents: &[CommitId],
) -> Result<bool, Problem> {
    match parents {
        [ours, theirs] if ours == recorded => is_merge_of(repository, None, ours, theirs, commit).await,
        [ours] if ours == recorded => {
            let repo = Repo::main(repository);
            if let Some(picked) = open_merge::picked(repository) {
                return is_plain_pick(repository, &picked, ours, commit).await;
            }
            let Some(reverted) = open_merge::reverted(repository) else { return Ok(false) };
            let Some(before) = repo.first_parent(&reverted).await? else { return Ok(false) };
            is_merge_of(repository, Some(&reverted), ours, &before, commit).await
        }
        _ => Ok(false),
    }
}

/// Whether a rebase that has ended at this commit has only applied commits without conflicts. What git has put aside of the
/// person's own files is not in them.
async fn is_plain_rebase(repository: &Repository, rebase: &OpenRebase, commit: &CommitId) -> Result<bool, Problem> {
    let repo = Repo::main(repository);
    let first = rebase.rewritten.first().map(|(_, new)| new);
    let onto = match (&rebase.onto, first) {
        (Some(onto), _) => Some(onto.clone()),
        (None, Some(first)) => repo.first_parent(first).await?,
        (None, None) => None,
    };
    let (Some(onto), None, true) = (&onto, &rebase.stashed, rebase.is_applied) else { return Ok(false) };
    // While it is at work, or after it was left, the checkout is elsewhere.
    let head = repo.head().await?;
    if head.as_ref() != Some(commit) && head != rebase.before {
        return Ok(false);
    }
    let made = repo.new_commits(commit, onto, MAX_REBASED + 1).await?;
    if made.len() > MAX_REBASED || !repo.is_ancestor(onto, commit).await? {
        return Ok(false);
    }
    for new in &made {
        if repo.is_reachable_from(new, &["refs"]).await? {
            continue;
        }
        let old = rebase.rewritten.iter().find(|(_, rewritten)| rewritten == new).map(|(old, _)| old);
        let (Some(old), Some(below)) = (old, repo.first_parent(new).await?) else { return Ok(false) };
        if !is_plain_pick(repository, old, &below, new).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether `commit` is what git makes when it applies `picked` to `ours`.
async fn is_plain_pick(
    repository: &Repository,
    picked: &CommitId,
    ours: &CommitId,
    commit: &CommitId,
) -> Result<bool, Problem> {
    match Repo::main(repository).first_parent(picked).await? {
        Some(before) => is_merge_of(repository, Some(&before), ours, picked, commit).await,
        None => Ok(false),
    }
}

async fn is_merge_of(
    repository: &Repository,
    base: Option<&CommitId>,
    ours: &CommitId,
    theirs: &CommitId,
    commit: &CommitId,
) -> Result<bool, Problem> {
    let repo = Repo::main(repository);
    let again = repo.clone().with_deadline(MERGE_TIMEOUT).merge_trees(base, ours, theirs).await?;
    Ok(again.conflicts.is_empty() && again.tree == repo.tree_of(commit).await?)
}

/// What was fetched last, also by an address that is no remote.
fn fetched(repository: &Repository) -> HashSet<CommitId> {
    let text = disk::read_small(&repository.git_dir.join("FETCH_HEAD"), MAX_FETCH_HEAD_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().filter_map(|line| CommitId::parse(line.split('\t').next()?).ok()).collect()
}
