//! The merge, made away from MAIN: trees and commits, nothing checked out.

use crate::merge_queue::main_branch::checkout;
use crate::settings::History;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Landing;
use flower_core::landing::Source;
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Identity, NewCommit, Repo, TreeId};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

pub(super) const DEADLINE: Duration = Duration::from_secs(10 * 60);
/// git refuses longer lists of its own, too.
const MAX_COMMITS: usize = 1_000;

/// What MAIN would be.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) tree: TreeId,
    /// Against MAIN as it is.
    pub(super) changes: Vec<Change>,
}

/// Why there is nothing to land.
#[derive(Debug)]
pub(super) enum NotMerged {
    Conflict {
        paths: Vec<OsString>,
        base: Option<CommitId>,
    },
    /// MAIN has it, all of it.
    Nothing,
    /// What merging gives touches more than the branch did.
    Strays {
        paths: Vec<String>,
    },
}

/// The paths in which two commits do not merge.
pub(crate) async fn conflicts_with(
    repository: &Repository,
    ours: &CommitId,
    theirs: &CommitId,
) -> Result<Vec<String>, Problem> {
    let merged = Repo::main(repository).with_deadline(DEADLINE).merge_trees(None, ours, theirs).await?;
    let mut paths: Vec<String> = merged
        .conflicts
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| !path.is_empty())
        .collect();
    paths.dedup();
    Ok(paths)
}

/// The whole of what one landing brings is on disk before MAIN's branch says so.
fn durable(repository: &Repository) -> Repo {
    Repo::main(repository).durable()
}

/// Merges a landing's commit with `onto`, and holds the result to what the branch has touched.
pub(super) async fn merge_onto(
    repository: &Repository,
    onto: &CommitId,
    landing: &Landing,
) -> Result<Result<Merged, NotMerged>, Problem> {
    let commit = &CommitId::parse(&landing.commit)?;
    let (repo, merging) = (Repo::main(repository), durable(repository).with_deadline(DEADLINE));
    let (bases, merged) = tokio::join!(repo.merge_bases(onto, commit), merging.merge_trees(None, onto, commit));
    let bases = bases?;
    if bases.contains(commit) {
        return Ok(Err(NotMerged::Nothing));
    }
    let merged = merged?;
    if !merged.conflicts.is_empty() {
        return Ok(Err(NotMerged::Conflict { paths: merged.conflicts, base: bases.into_iter().next() }));
    }
    let changes = checkout::changes(repository, onto, &merged.tree).await?;
    // Commits that are elsewhere already have to be MAIN's too, even if they change nothing: no push would go through without.
    let elsewhere = matches!(landing.source, Source::Upstream | Source::Adopted);
    if changes.is_empty() && !elsewhere {
        return Ok(Err(NotMerged::Nothing));
    }
    let strays = strays(repository, &bases, onto, commit, &changes).await?;
    if !strays.is_empty() {
        return Ok(Err(NotMerged::Strays { paths: strays }));
    }
    Ok(Ok(Merged { tree: merged.tree, changes }))
}

/// Paths that would change although the branch has not touched them.
async fn strays(
    repository: &Repository,
    bases: &[CommitId],
    onto: &CommitId,
    commit: &CommitId,
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    // Nothing has landed since it began: whatever changes is its own.
    if matches!(bases, [base] if base == onto) {
        return Ok(Vec::new());
    }
    let mut touched: HashSet<OsString> = HashSet::new();
    for base in bases {
        touched.extend(checkout::changes(repository, base, commit).await?.into_iter().map(|change| change.path));
    }
    // Histories that have nothing in common: everything is new.
    if bases.is_empty() {
        return Ok(Vec::new());
    }
    let stray = |change: &&Change| !touched.contains(&change.path);
    if !changes.iter().any(|change| stray(&change)) {
        return Ok(Vec::new());
    }
    // Where MAIN has renamed what the branch touched, the change belongs to the new name.
    for base in bases {
        for (from, to) in Repo::main(repository).with_deadline(DEADLINE).renames(base, onto).await? {
            if touched.contains(&from) {
                touched.insert(to);
            }
        }
    }
    Ok(changes.iter().filter(|change| !touched.contains(&change.path)).map(Change::name).collect())
}

/// The commits that a landing adds to MAIN's first-parent history, oldest first; the last one has the merged tree.
pub(super) async fn commits(
    repository: &Repository,
    landing: &Landing,
    onto: &CommitId,
    merged: &Merged,
    (history, subjects): (History, &[String]),
    identity: &Identity,
) -> Result<Result<Vec<CommitId>, NotMerged>, Problem> {
    // Others' commits, and what takes something back, keep their own shape.
    let history = if landing.source == Source::Worktree { history } else { History::Merge };
    let (repo, commit, text) = (durable(repository), CommitId::parse(&landing.commit)?, message(landing, subjects));
    let new = NewCommit { tree: &merged.tree, parents: &[onto], message: &text, committer: identity, author: None };
    match history {
        History::Merge => Ok(Ok(vec![repo.commit_tree(NewCommit { parents: &[onto, &commit], ..new }).await?])),
        History::Squash => {
            let author = repo.author(&commit).await?;
            Ok(Ok(vec![repo.commit_tree(NewCommit { author: Some(&author), ..new }).await?]))
        }
        History::Rebase => rebase(repository, landing, onto, merged, identity).await,
    }
}

/// The branch's own commits, one by one on top of MAIN.
async fn rebase(
    repository: &Repository,
    landing: &Landing,
    onto: &CommitId,
    merged: &Merged,
    identity: &Identity,
) -> Result<Result<Vec<CommitId>, NotMerged>, Problem> {
    let repo = Repo::main(repository);
    let own = repo.commits_to_replay(&CommitId::parse(&landing.commit)?, onto).await?;
    if own.len() > MAX_COMMITS {
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("{} commits are more than can be put on top of MAIN one by one", own.len()),
            "squash some of them, or set `[land] history` to `merge` or `squash`",
        ));
    }
    let replaying = durable(repository).with_deadline(DEADLINE);
    let mut made: Vec<CommitId> = Vec::new();
    for (this, parents) in &own {
        let [parent] = &parents[..] else { continue };
        let below = made.last().unwrap_or(onto).clone();
        let replayed = replaying.merge_trees(Some(parent), &below, this).await?;
        if !replayed.conflicts.is_empty() {
            return Ok(Err(NotMerged::Conflict { paths: replayed.conflicts, base: None }));
        }
        if repo.tree_of(&below).await? == replayed.tree {
            continue;
        }
        let text = without_our_trailers(&repo.message(this).await?);
        let text = with_trailers(text.trim_end(), &trailers(landing));
        let author = Some(&repo.author(this).await?);
        let (tree, parents) = (&replayed.tree, &[&below]);
        let new = NewCommit { tree, parents, message: &text, committer: identity, author };
        made.push(durable(repository).commit_tree(new).await?);
    }
    // The last one must be what merging gives, or something got lost between them.
    let tree = repo.tree_of(made.last().unwrap_or(onto)).await?;
    if tree != merged.tree {
        let paths = checkout::changes(repository, &tree, &merged.tree).await?;
        return Ok(Err(NotMerged::Conflict { paths: paths.into_iter().map(|c| c.path).collect(), base: None }));
    }
    Ok(Ok(made))
}

/// What a landing says of itself in MAIN's history: of several commits, the oldest first.
fn message(landing: &Landing, subjects: &[String]) -> String {
    /// More than one reads.
    const MOST: usize = 50;
    let mut body = String::new();
    if subjects.len() > 1 {
        for subject in subjects.iter().rev().take(MOST) {
            body.push_str(&format!("- {subject}\n"));
        }
        body.push('\n');
    }
    format!("{}\n\n{body}{}", landing.title, trailers(landing))
}

/// What is proved by MAIN's own history: links can be found again from git alone.
fn trailers(landing: &Landing) -> String {
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
    text.push_str(&format!("Flower-Agent: {}\n", landing.by));
    text
}

/// Below the trailers that a message has already, which only its last paragraph is taken for.
fn with_trailers(text: &str, trailers: &str) -> String {
    let is_trailer = |line: &str| {
        let key = line.split_once(": ").map_or("", |(key, _)| key);
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let last = text.rsplit_once("\n\n").map(|(_, last)| last);
    let gap = if last.is_some_and(|last| last.lines().all(is_trailer)) { "\n" } else { "\n\n" };
    format!("{text}{gap}{trailers}")
}

/// Whoever writes commits cannot speak for flower.
fn without_our_trailers(text: &str) -> String {
    let own = |line: &&str| !line.to_ascii_lowercase().starts_with("flower-");
    text.lines().filter(own).collect::<Vec<_>>().join("\n")
}

/// A commit that takes a landing back out of MAIN as it is now.
pub(super) async fn reverse(repository: &Repository, landing: &Landing, main: &CommitId) -> Result<CommitId, Problem> {
    let missing = || {
        Problem::new(
            ProblemKind::Refused,
            format!("landing {} says not what it brought", landing.number),
            "revert it by hand in a worktree: `git revert`",
        )
    };
    let (before, after) =
        (landing.onto.as_ref().ok_or_else(missing)?, landing.merge_commit.as_ref().ok_or_else(missing)?);
    let (before, after) = (CommitId::parse(before)?, CommitId::parse(after)?);
    let repo = durable(repository);
    let reversed = repo.clone().with_deadline(DEADLINE).merge_trees(Some(&after), main, &before).await?;
    if !reversed.conflicts.is_empty() {
        let paths: Vec<String> = reversed.conflicts.iter().take(5).map(|p| p.to_string_lossy().into_owned()).collect();
        return Err(Problem::new(
            ProblemKind::Conflict,
            format!("landing {} cannot be taken back by itself: {} changed since", landing.number, paths.join(", ")),
            format!(
                "revert it in a worktree: `flower worktree new revert-{0}`, then `git revert -m 1 {after}`",
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

/// The commits of MAIN that touched these paths since `base`.
pub(super) async fn touched_by(
    repository: &Repository,
    base: Option<&CommitId>,
    onto: &CommitId,
    paths: &[OsString],
) -> Result<Vec<CommitId>, Problem> {
    let paths: Vec<&OsStr> = paths.iter().take(100).map(OsString::as_os_str).collect();
    Ok(Repo::main(repository).commits_touching(onto, base, &paths, 20).await?)
}
