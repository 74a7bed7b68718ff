//! Merges landings as trees and commits, without a checkout and without touching MAIN.

use super::runner::Attempt;
use crate::merge_queue::main_branch::checkout;
use crate::own_refs::UPSTREAM;
use crate::settings::History;
use crate::worktrees::landed::LandedBefore;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Landing;
use flower_core::landing::Source;
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Log, NewCommit, Repo, TreeId};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

pub(super) const MERGE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Commits that are rebased one by one; more would take too long.
const MAX_REBASED_COMMITS: usize = 1_000;
/// Commits by which MAIN is moved forward at once; more are merged.
const MAX_FORWARD_COMMITS: u64 = 100_000;
/// Subjects of commits in the message of a landing.
const MAX_SUBJECTS: usize = 50;

/// MAIN as it would be after the landing.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) tree: TreeId,
    /// What differs from MAIN as it is.
    pub(super) changes: Vec<Change>,
    /// Whether it brings commits of MAIN's remote. They must become part of MAIN as they are, or the remote would bring them again.
    pub(super) brings_upstream: bool,
}

/// The commits that a landing adds to MAIN's first-parent history, oldest first; the last one has the merged tree.
pub(super) struct NewHistory {
    pub(super) commits: Vec<CommitId>,
    /// If these are commits of the remote, of which only the last one is listed: how many they are.
    pub(super) upstream: Option<u64>,
}

/// Why a landing cannot be merged.
#[derive(Debug)]
pub(super) enum NotMerged {
    Conflict {
        paths: Vec<OsString>,
        base: Option<CommitId>,
    },
    /// MAIN has all of it already.
    NothingNew,
    /// The merge changes paths that the branch has not touched.
    UntouchedPaths {
        paths: Vec<String>,
    },
}

/// The paths in which two commits do not merge.
pub(crate) async fn conflicts_with(
    repository: &Repository,
    ours: &CommitId,
    theirs: &CommitId,
    landed_before: &[LandedBefore],
) -> Result<Vec<String>, Problem> {
    let landed = LandedBefore::unknown_to_git(landed_before, repository, ours, theirs).await?;
    let merging = Repo::main(repository).with_deadline(MERGE_TIMEOUT);
    let merged = merging.merge_trees(landed.map(LandedBefore::commit), ours, theirs).await?;
    let mut paths: Vec<String> = merged
        .conflicts
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| !path.is_empty())
        .collect();
    paths.dedup();
    Ok(paths)
}

/// Objects of a landing must be on disk before MAIN's branch refers to them.
fn durable(repository: &Repository) -> Repo {
    Repo::main(repository).durable()
}

/// Merges a landing's commit with `onto`, and checks that the merge changes only paths that the branch has touched.
pub(super) async fn merge_onto(
    repository: &Repository,
    onto: &CommitId,
    landing: &Landing,
    landed_before: &[LandedBefore],
    main_branch: &str,
) -> Result<Result<Merged, NotMerged>, Problem> {
    let commit = &CommitId::parse(&landing.commit)?;
    let (repo, merging) = (Repo::main(repository), durable(repository).with_deadline(MERGE_TIMEOUT));
    let base = LandedBefore::unknown_to_git(landed_before, repository, onto, commit).await?.map(LandedBefore::commit);
    let (bases, merged, brings_upstream) = tokio::join!(
        repo.merge_bases(onto, commit),
        merging.merge_trees(base, onto, commit),
        brings_upstream(repository, onto, landing, commit, main_branch),
    );
    let (bases, brings_upstream) = (base.map_or(bases?, |base| vec![base.clone()]), brings_upstream?);
    if bases.contains(commit) {
        return Ok(Err(NotMerged::NothingNew));
    }
    let merged = merged?;
    if !merged.conflicts.is_empty() {
        return Ok(Err(NotMerged::Conflict { paths: merged.conflicts, base: bases.into_iter().next() }));
    }
    let changes = checkout::changes(repository, onto, &merged.tree).await?;
    // Commits of the remote or of MAIN's own branch must become part of MAIN even if they change no file: without them a
    // push would not be a fast-forward.
    let needs_history = brings_upstream || matches!(landing.source, Source::Upstream | Source::Adopted);
    if changes.is_empty() && !needs_history {
        return Ok(Err(NotMerged::NothingNew));
    }
    let paths = untouched_paths(repository, &bases, onto, commit, &changes).await?;
    if !paths.is_empty() {
        return Ok(Err(NotMerged::UntouchedPaths { paths }));
    }
    Ok(Ok(Merged { tree: merged.tree, changes, brings_upstream }))
}

/// Whether the commit of a worktree has commits of the remote's branch that MAIN has not.
async fn brings_upstream(
    repository: &Repository,
    onto: &CommitId,
    landing: &Landing,
    commit: &CommitId,
    branch: &str,
) -> Result<bool, Problem> {
    let config = std::fs::read(repository.git_dir.join("config")).unwrap_or_default();
    let has_remote = config.windows(9).any(|text| text == b"[remote \"");
    if landing.source != Source::Worktree || !has_remote {
        return Ok(false);
    }
    let repo = Repo::main(repository);
    for (name, object) in [repo.refs_below(UPSTREAM).await?, repo.refs_below("refs/remotes").await?].concat() {
        let tip = CommitId::of_object(object);
        if !name.as_str().ends_with(&format!("/{branch}")) || repo.is_ancestor(&tip, onto).await? {
            continue;
        }
        for shared in repo.merge_bases(&tip, commit).await? {
            if !repo.is_ancestor(&shared, onto).await? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Paths among `changes` that the branch has not touched.
async fn untouched_paths(
    repository: &Repository,
    bases: &[CommitId],
    onto: &CommitId,
    commit: &CommitId,
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    // Nothing has landed since the branch began, so all changes are its own.
    if matches!(bases, [base] if base == onto) {
        return Ok(Vec::new());
    }
    let mut touched: HashSet<OsString> = HashSet::new();
    for base in bases {
        touched.extend(checkout::changes(repository, base, commit).await?.into_iter().map(|change| change.path));
    }
    // Without a common history all paths are the branch's own.
    if bases.is_empty() {
        return Ok(Vec::new());
    }
    // Finding renames is expensive, and seldom necessary.
    if changes.iter().all(|change| touched.contains(&change.path)) {
        return Ok(Vec::new());
    }
    // If MAIN has renamed a file that the branch touched, the merge changes the file under its new name.
    for base in bases {
        for (from, to) in Repo::main(repository).with_deadline(MERGE_TIMEOUT).renames(base, onto).await? {
            if touched.contains(&from) {
                touched.insert(to);
            }
        }
    }
    Ok(changes.iter().filter(|change| !touched.contains(&change.path)).map(Change::name).collect())
}

/// Makes the commits that a landing adds to MAIN's first-parent history. `worker` did the work.
pub(super) async fn make_commits(attempt: &Attempt, worker: &str) -> Result<Result<NewHistory, NotMerged>, Problem> {
    let Attempt { repository, landing, onto, merged, committer, .. } = attempt;
    let (repo, commit) = (durable(repository), CommitId::parse(&landing.commit)?);
    let only = |commit: CommitId| Ok(Ok(NewHistory { commits: vec![commit], upstream: None }));
    // Only the commits of a worktree may be rewritten: others exist outside flower, or are a single one.
    let history = match landing.source {
        Source::Worktree if !merged.brings_upstream => attempt.settings.land.history,
        Source::Upstream => {
            if let Some(count) = ahead_of(repository, onto, &commit).await? {
                return Ok(Ok(NewHistory { commits: vec![commit], upstream: Some(count) }));
            }
            History::Merge
        }
        Source::Worktree | Source::Adopted | Source::Revert | Source::Settings => History::Merge,
    };
    let is_own = matches!(landing.source, Source::Worktree | Source::Revert | Source::Settings);
    let sole = if is_own && !merged.brings_upstream { sole_commit(attempt, &commit).await? } else { None };
    let text = landing_message(landing, worker, &attempt.new.subjects);
    let new = NewCommit { tree: &merged.tree, parents: &[onto], message: &text, committer, author: None };
    match (history, sole) {
        // A merge commit would have the same title as its only commit.
        (History::Merge | History::Squash, Some(sole)) => {
            let text = sole_message(landing, worker, &repo.message(&sole).await?);
            let author = repo.author(&sole).await?;
            only(repo.commit_tree(NewCommit { message: &text, author: Some(&author), ..new }).await?)
        }
        (History::Merge, None) => only(repo.commit_tree(NewCommit { parents: &[onto, &commit], ..new }).await?),
        (History::Squash, None) => {
            let author = repo.author(&commit).await?;
            only(repo.commit_tree(NewCommit { author: Some(&author), ..new }).await?)
        }
        (History::Rebase, _) => {
            Ok(rebase(attempt, worker).await?.map(|commits| NewHistory { commits, upstream: None }))
        }
    }
}

/// How many commits of its first-parent history `commit` is ahead of `onto`. `None` if `onto` is not on that history: MAIN has commits
/// of its own, or is the other side of a merge, and its first-parent history must not lose them.
async fn ahead_of(repository: &Repository, onto: &CommitId, commit: &CommitId) -> Result<Option<u64>, Problem> {
    let log = Log::of(commit, MAX_FORWARD_COMMITS).first_parent().without(onto);
    let ahead = Repo::main(repository).with_deadline(MERGE_TIMEOUT).log(&log).await?;
    let reaches = ahead.last().is_some_and(|oldest| oldest.parents.first() == Some(onto));
    Ok(reaches.then_some(ahead.len() as u64))
}

/// The only commit that a landing brings, besides merges and commits that have landed before as others.
async fn sole_commit(attempt: &Attempt, commit: &CommitId) -> Result<Option<CommitId>, Problem> {
    let mut own = attempt.new.own.clone();
    if !attempt.landed_before.is_empty() {
        let log = Log::of(commit, 2).without(&attempt.onto).no_merges();
        let log = attempt.landed_before.iter().fold(log, |log, landed| log.without(landed.commit()));
        own = Repo::main(&attempt.repository).log(&log).await?.into_iter().map(|entry| entry.commit).collect();
    }
    Ok(if own.len() == 1 { own.pop() } else { None })
}

/// Makes the branch's own commits again, one by one on top of MAIN.
async fn rebase(attempt: &Attempt, worker: &str) -> Result<Result<Vec<CommitId>, NotMerged>, Problem> {
    let Attempt { repository, landing, onto, merged, committer, .. } = attempt;
    let repo = Repo::main(repository);
    let own = repo.commits_to_replay(&CommitId::parse(&landing.commit)?, onto).await?;
    if own.len() > MAX_REBASED_COMMITS {
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("{} commits are more than can be put on top of MAIN one by one", own.len()),
            "squash some of them, or set `[land] history` to `merge` or `squash`",
        ));
    }
    let replaying = durable(repository).with_deadline(MERGE_TIMEOUT);
    let mut made: Vec<CommitId> = Vec::new();
    for (this, parents) in &own {
        // A rebase leaves merge commits out; the comparison below finds changes that only they had.
        let [parent] = &parents[..] else { continue };
        let below = made.last().unwrap_or(onto).clone();
        let replayed = replaying.merge_trees(Some(parent), &below, this).await?;
        if !replayed.conflicts.is_empty() {
            return Ok(Err(NotMerged::Conflict { paths: replayed.conflicts, base: None }));
        }
        // MAIN has this change already.
        if repo.tree_of(&below).await? == replayed.tree {
            continue;
        }
        let text = without_our_trailers(&repo.message(this).await?);
        let text = with_trailers(text.trim_end(), &trailers(landing, worker));
        let author = Some(&repo.author(this).await?);
        let (tree, parents) = (&replayed.tree, &[&below]);
        let new = NewCommit { tree, parents, message: &text, committer, author };
        made.push(durable(repository).commit_tree(new).await?);
    }
    // The last commit must have the merged tree, or a change was lost.
    let tree = repo.tree_of(made.last().unwrap_or(onto)).await?;
    if tree != merged.tree {
        let paths = checkout::changes(repository, &tree, &merged.tree).await?;
        return Ok(Err(NotMerged::Conflict { paths: paths.into_iter().map(|c| c.path).collect(), base: None }));
    }
    Ok(Ok(made))
}

/// The message of a landing's commit: its title, the subjects of its commits, oldest first, and the trailers.
fn landing_message(landing: &Landing, worker: &str, subjects: &[String]) -> String {
    let mut body = String::new();
    if subjects.len() > 1 {
        for subject in subjects.iter().rev().take(MAX_SUBJECTS) {
            body.push_str(&format!("- {subject}\n"));
        }
        body.push('\n');
    }
    format!("{}\n\n{body}{}", landing.title, trailers(landing, worker))
}

/// The message of a landing of one commit: the landing's title, the rest of the commit's own message, and the trailers.
fn sole_message(landing: &Landing, worker: &str, own: &str) -> String {
    let own = without_our_trailers(own);
    let (subject, body) = own.split_once('\n').unwrap_or((&own, ""));
    // The title may be that of a brief.
    let body = if subject.trim() == landing.title.trim() { body.trim() } else { own.trim() };
    let text = format!("{}\n\n{body}", landing.title);
    with_trailers(text.trim_end(), &trailers(landing, worker))
}

/// The trailers of a landing, from which its links to briefs can be found with git alone.
fn trailers(landing: &Landing, worker: &str) -> String {
    let mut text = format!("Flower-Landing: {}\n", landing.number);
    for brief in &landing.briefs {
        text.push_str(&format!("Flower-Brief: {brief}\n"));
    }
    if let Some(worktree) = &landing.worktree {
        text.push_str(&format!("Flower-Worktree: {worktree}\n"));
    }
    if let Some(of) = landing.of {
        text.push_str(&format!("Flower-Reverts: {of}\n"));
    }
    text.push_str(&format!("Flower-Agent: {worker}\n"));
    text
}

/// Appends trailers to a message. If its last paragraph consists of trailers they are added to it, because git reads only the last
/// paragraph as trailers.
fn with_trailers(text: &str, trailers: &str) -> String {
    let is_trailer = |line: &str| {
        let key = line.split_once(": ").map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = text.rsplit_once("\n\n").map(|(_, last)| last);
    let gap = if last.is_some_and(|last| last.lines().all(is_trailer)) { "\n" } else { "\n\n" };
    format!("{text}{gap}{trailers}")
}

/// Removes lines that look like flower's trailers, which an author could have written.
fn without_our_trailers(text: &str) -> String {
    let own = |line: &&str| !line.to_ascii_lowercase().starts_with("flower-");
    text.lines().filter(own).collect::<Vec<_>>().join("\n")
}

/// Makes a commit on top of `main` that reverts a landing.
pub(super) async fn revert_commit(
    repository: &Repository,
    landing: &Landing,
    main: &CommitId,
) -> Result<CommitId, Problem> {
    let missing = || {
        Problem::new(
            ProblemKind::Refused,
            format!("landing {} has no recorded merge commit", landing.number),
            "revert it by hand in a worktree: `git revert`",
        )
    };
    let (before, after) =
        (landing.onto.as_ref().ok_or_else(missing)?, landing.merge_commit.as_ref().ok_or_else(missing)?);
    let (before, after) = (CommitId::parse(before)?, CommitId::parse(after)?);
    let repo = durable(repository);
    let reversed = repo.clone().with_deadline(MERGE_TIMEOUT).merge_trees(Some(&after), main, &before).await?;
    if !reversed.conflicts.is_empty() {
        let paths: Vec<String> = reversed.conflicts.iter().take(5).map(|p| p.to_string_lossy().into_owned()).collect();
        return Err(Problem::new(
            ProblemKind::Conflict,
            format!("landing {} cannot be taken back by itself: {} changed since", landing.number, paths.join(", ")),
            format!(
                "revert it in a worktree: `flower worktree new revert-{0}`, then `git diff {after} {before} | git apply -3`",
                landing.number
            ),
        ));
    }
    let committer = repo.identity().await?;
    let text = format!("Revert \"{}\"\n\nThis takes landing {} back: {after}\n", landing.title, landing.number);
    let (tree, parents) = (&reversed.tree, &[main]);
    let new = NewCommit { tree, parents, message: &text, committer: &committer, author: None };
    Ok(repo.commit_tree(new).await?)
}

/// The newest commits of MAIN since `base` that changed these paths.
pub(super) async fn commits_touching(
    repository: &Repository,
    base: Option<&CommitId>,
    onto: &CommitId,
    paths: &[OsString],
) -> Result<Vec<CommitId>, Problem> {
    let paths: Vec<&OsStr> = paths.iter().take(100).map(OsString::as_os_str).collect();
    Ok(Repo::main(repository).commits_touching(onto, base, &paths, 20).await?)
}
