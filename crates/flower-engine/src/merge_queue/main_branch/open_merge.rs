//! A merge, cherry-pick, revert or rebase in MAIN's checkout that git has begun and not finished. git keeps it in files beside the
//! index.

use crate::failpoint;
use crate::worktrees::disk::read_small_text;
use flower_git::CommitId;
use flower_git::repository::Repository;
use std::fs;
use std::io;

/// Files that name the commits which are merged or applied.
const HEADS: [&str; 3] = ["MERGE_HEAD", CHERRY_PICK, REVERT];
const CHERRY_PICK: &str = "CHERRY_PICK_HEAD";
const REVERT: &str = "REVERT_HEAD";
const OTHERS: [&str; 5] = ["MERGE_MODE", "MERGE_MSG", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG"];
const REBASE_HEAD: &str = "REBASE_HEAD";
/// The folders of a rebase, and that of several commits that are picked or reverted.
const REBASES: [&str; 2] = ["rebase-merge", "rebase-apply"];
const SEQUENCER: &str = "sequencer";
/// What such a folder is called while it is deleted.
const ENDED: &str = "flower-ended";
/// One merge names few commits.
const MAX_BYTES: u64 = 4096;
/// Two ids for each commit of a rebase.
const MAX_REBASED_BYTES: u64 = 1 << 20;

/// A rebase of a branch that is open.
#[derive(Debug)]
pub(super) struct OpenRebase {
    /// The branch that is rebased, with its full name. git does not always write it.
    branch: Option<String>,
    /// Its tip before the rebase.
    pub(super) before: Option<CommitId>,
    /// The commit on which others are applied.
    pub(super) onto: Option<CommitId>,
    /// Each commit that was applied, and what it became.
    pub(super) rewritten: Vec<(CommitId, CommitId)>,
    /// What git has put aside of files that a person has changed.
    pub(super) stashed: Option<CommitId>,
    /// Whether all commits are applied.
    pub(super) is_applied: bool,
}

impl OpenRebase {
    fn read(repository: &Repository) -> Option<OpenRebase> {
        let folder = REBASES.iter().map(|name| repository.git_dir.join(name)).find(|folder| folder.is_dir())?;
        let line = |name: &str| read_small_text(&folder.join(name), MAX_BYTES).map(|text| text.trim().to_owned());
        let commit = |name: &str| line(name).and_then(|line| CommitId::parse(&line).ok());
        let mut rewritten = ["rewritten-list", "rewritten"].iter();
        let rewritten =
            rewritten.find_map(|name| read_small_text(&folder.join(name), MAX_REBASED_BYTES)).unwrap_or_default();
        let pair = |line: &str| {
            let (old, new) = line.split_once(' ')?;
            Some((CommitId::parse(old).ok()?, CommitId::parse(new.trim()).ok()?))
        };
        let todo = read_small_text(&folder.join("git-rebase-todo"), MAX_REBASED_BYTES);
        let is_step = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
        // The older way of a rebase writes less, and is told from `git am` by this file.
        let by_patches = folder.join("rebasing").is_file();
        let branch = line("head-name");
        if branch.is_none() && !by_patches {
            return None;
        }
        let orig_head = || commits_in(repository, "ORIG_HEAD").into_iter().next();
        Some(OpenRebase {
            before: commit("orig-head").or_else(|| orig_head().filter(|_| by_patches)),
            branch,
            onto: commit("onto"),
            rewritten: rewritten.lines().filter_map(pair).collect(),
            stashed: commit("autostash"),
            is_applied: by_patches || todo.is_some_and(|todo| !todo.lines().any(is_step)),
        })
    }

    fn is_of(&self, branch: &str) -> bool {
        self.branch.as_ref().is_none_or(|own| own.strip_prefix("refs/heads/") == Some(branch))
    }
}

/// The rebase of MAIN's branch, if one is open.
pub(super) fn rebase(repository: &Repository, branch: &str) -> Option<OpenRebase> {
    OpenRebase::read(repository).filter(|open| open.is_of(branch))
}

/// The commits that are merged or applied; empty if no merge is open.
pub(super) fn heads(repository: &Repository) -> Vec<CommitId> {
    HEADS.iter().flat_map(|name| commits_in(repository, name)).collect()
}

/// The commit that a cherry-pick applies.
pub(super) fn picked(repository: &Repository) -> Option<CommitId> {
    commits_in(repository, CHERRY_PICK).into_iter().next()
}

/// The commit that a revert takes back. git names it in the message of the commit that it makes.
pub(super) fn reverted(repository: &Repository) -> Option<CommitId> {
    let message = || read_small_text(&repository.git_dir.join("MERGE_MSG"), MAX_BYTES);
    let named = || {
        let message = message()?;
        let (_, commit) = message.rsplit_once("This reverts commit ")?;
        CommitId::parse(commit.split(['.', ',', ' ']).next()?.trim()).ok()
    };
    commits_in(repository, REVERT).into_iter().next().or_else(named)
}

fn commits_in(repository: &Repository, name: &str) -> Vec<CommitId> {
    let text = read_small_text(&repository.git_dir.join(name), MAX_BYTES).unwrap_or_default();
    text.lines().filter_map(|line| CommitId::parse(line.trim()).ok()).collect()
}

/// Ends the open merge, and the rebase of MAIN's branch, as `git reset` and `git rebase --quit` do. Index and files do not change.
pub(super) fn forget(repository: &Repository, branch: &str) -> io::Result<()> {
    let is_rebase = rebase(repository, branch).is_some();
    let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let files = HEADS.iter().chain(&OTHERS).chain(is_rebase.then_some(&REBASE_HEAD));
    for name in files {
        match fs::remove_file(repository.git_dir.join(name)) {
            Err(error) if !missing(&error) => return Err(error),
            _ => {}
        }
    }
    let ended = repository.git_dir.join(ENDED);
    let delete = || match fs::remove_dir_all(&ended) {
        Err(error) if !missing(&error) => Err(error),
        _ => Ok(()),
    };
    delete()?;
    let folders = REBASES.iter().filter(|_| is_rebase);
    for name in folders.chain(&[SEQUENCER]) {
        // All at once: of a part that a kill leaves, git would still say that a rebase is open, and flower could not tell of what.
        match fs::rename(repository.git_dir.join(name), &ended) {
            Err(error) if !missing(&error) => return Err(error),
            Err(_) => {}
            Ok(()) => {
                failpoint::here("put_back.ended");
                delete()?;
            }
        }
    }
    Ok(())
}
