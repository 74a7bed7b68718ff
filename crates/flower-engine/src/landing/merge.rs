//! The merge, made away from MAIN: trees and commits, nothing checked out.

use super::gate::path_of;
use crate::main_branch::served::{self, Change};
use crate::settings::History;
use crate::worktrees::private::Identity;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Landing;
use flower_core::landing::Source;
use flower_git::repository::Repository;
use flower_git::{self, Git};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(10 * 60);
/// The whole of what one landing brings is on disk before MAIN's branch says so.
const DURABLE: [&str; 2] = ["-c", "core.fsync=committed,loose-object,reference"];
/// git refuses longer lists of its own, too.
const MOST_COMMITS: usize = 1_000;

/// Two trees made into one.
#[derive(Debug)]
pub(super) struct MergedTrees {
    pub(super) tree: String,
    pub(super) conflicts: Vec<OsString>,
}

/// What MAIN would be.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) tree: String,
    /// Against MAIN as it is.
    pub(super) changes: Vec<Change>,
}

/// Why there is nothing to land.
#[derive(Debug)]
pub(super) enum NotMerged {
    Conflict {
        paths: Vec<OsString>,
        base: Option<String>,
    },
    /// MAIN has it, all of it.
    Nothing,
    /// What merging gives touches more than the branch did.
    Strays {
        paths: Vec<String>,
    },
}

pub(crate) async fn is_ancestor(repository: &Repository, old: &str, new: &str) -> Result<bool, Problem> {
    Ok(flower_git::in_main(repository).args(["merge-base", "--is-ancestor", old, new]).succeeds().await?)
}

/// The paths in which two commits do not merge.
pub(crate) async fn conflicts_with(repository: &Repository, ours: &str, theirs: &str) -> Result<Vec<String>, Problem> {
    let merged = merge_trees(repository, ours, theirs).await?;
    let mut paths: Vec<String> = merged
        .conflicts
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| !path.is_empty())
        .collect();
    paths.dedup();
    Ok(paths)
}

fn durable(repository: &Repository) -> Git {
    flower_git::in_main(repository).args(DURABLE)
}

pub(super) async fn merge_trees(repository: &Repository, ours: &str, theirs: &str) -> Result<MergedTrees, Problem> {
    merge(flower_git::in_main(repository), None, ours, theirs).await
}

async fn merge(git: Git, base: Option<&str>, ours: &str, theirs: &str) -> Result<MergedTrees, Problem> {
    let base = base.map(|base| format!("--merge-base={base}"));
    let output = git
        // Guessing that a folder was renamed moves files that nobody touched.
        .args([
            "-c",
            "merge.directoryRenames=false",
            "merge-tree",
            "--write-tree",
            "-z",
            "--name-only",
            "--no-messages",
        ])
        .args(["--allow-unrelated-histories"])
        .args(base)
        .args([ours, theirs])
        .deadline(DEADLINE)
        .output()
        .await?;
    let mut items = output.items();
    let tree = items.next().map(|item| String::from_utf8_lossy(item).into_owned()).unwrap_or_default();
    // git answers 1 for an unknown name as well as for a conflict.
    let is_tree = tree.len() >= 40 && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    match output.code {
        0 | 1 if is_tree => Ok(MergedTrees { tree, conflicts: items.map(path_of).collect() }),
        _ => Err(Problem::new(
            ProblemKind::Refused,
            format!("git cannot merge {theirs}: {}", output.stderr),
            "is its history whole? `git fsck` says so",
        )),
    }
}

/// Merges a landing's commit with `onto`, and holds the result to what the branch has touched.
pub(super) async fn merge_onto(
    repository: &Repository,
    onto: &str,
    landing: &Landing,
) -> Result<Result<Merged, NotMerged>, Problem> {
    let commit = landing.commit.as_str();
    let bases = flower_git::in_main(repository).args(["merge-base", "--all", onto, commit]);
    let (bases, merged) = tokio::join!(bases.output(), merge(durable(repository), None, onto, commit));
    let bases: Vec<String> = bases?.line().lines().map(str::to_owned).collect();
    if bases.iter().any(|base| base == commit) {
        return Ok(Err(NotMerged::Nothing));
    }
    let merged = merged?;
    if !merged.conflicts.is_empty() {
        return Ok(Err(NotMerged::Conflict { paths: merged.conflicts, base: bases.into_iter().next() }));
    }
    let changes = served::changes(repository, onto, &merged.tree).await?;
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
    bases: &[String],
    onto: &str,
    commit: &str,
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    // Nothing has landed since it began: whatever changes is its own.
    if bases == [onto] {
        return Ok(Vec::new());
    }
    let mut touched: HashSet<OsString> = HashSet::new();
    for base in bases {
        touched.extend(served::changes(repository, base, commit).await?.into_iter().map(|change| change.path));
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
        let args = ["diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", "--end-of-options", base, onto];
        let output = flower_git::in_main(repository).args(args).deadline(DEADLINE).run().await?;
        let items: Vec<&[u8]> = output.items().collect();
        for renamed in items.chunks_exact(3) {
            if touched.contains(OsStr::from_bytes(renamed[1])) {
                touched.insert(path_of(renamed[2]));
            }
        }
    }
    Ok(changes.iter().filter(|change| !touched.contains(&change.path)).map(Change::name).collect())
}

/// The commits that a landing adds to MAIN's first-parent history, oldest first; the last one has the merged tree.
pub(super) async fn commits(
    repository: &Repository,
    landing: &Landing,
    onto: &str,
    merged: &Merged,
    (history, subjects): (History, &[String]),
    identity: &Identity,
) -> Result<Result<Vec<String>, NotMerged>, Problem> {
    // Others' commits, and what takes something back, keep their own shape.
    let history = if landing.source == Source::Worktree { history } else { History::Merge };
    match history {
        History::Merge => {
            let parents = [onto, &landing.commit];
            let text = message(landing, subjects);
            Ok(Ok(vec![commit(repository, &merged.tree, &parents, &text, None, identity).await?]))
        }
        History::Squash => {
            let text = message(landing, subjects);
            let author = author(repository, &landing.commit).await?;
            Ok(Ok(vec![commit(repository, &merged.tree, &[onto], &text, Some(&author), identity).await?]))
        }
        History::Rebase => rebase(repository, landing, onto, merged, identity).await,
    }
}

/// The branch's own commits, one by one on top of MAIN.
async fn rebase(
    repository: &Repository,
    landing: &Landing,
    onto: &str,
    merged: &Merged,
    identity: &Identity,
) -> Result<Result<Vec<String>, NotMerged>, Problem> {
    let exclude = format!("^{onto}");
    let args = ["rev-list", "--reverse", "--topo-order", "--no-merges", "--parents", &landing.commit, &exclude];
    let text = flower_git::in_main(repository).args(args).line().await?;
    let own: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    if own.len() > MOST_COMMITS {
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("{} commits are more than can be put on top of MAIN one by one", own.len()),
            "squash some of them, or set `[land] history` to `merge` or `squash`",
        ));
    }
    let mut made: Vec<String> = Vec::new();
    for line in &own {
        let [this, parent] = line[..] else { continue };
        let below = made.last().map_or(onto, String::as_str);
        let replayed = merge(durable(repository), Some(parent), below, this).await?;
        if !replayed.conflicts.is_empty() {
            return Ok(Err(NotMerged::Conflict { paths: replayed.conflicts, base: None }));
        }
        let tree = format!("{below}^{{tree}}");
        let same =
            flower_git::in_main(repository).args(["rev-parse", "--verify", "--end-of-options", &tree]).line().await?;
        if same == replayed.tree {
            continue;
        }
        let args = ["log", "--max-count=1", "--format=%B", "--end-of-options", this];
        let text = without_our_trailers(&flower_git::in_main(repository).args(args).line().await?);
        let text = with_trailers(text.trim_end(), &trailers(landing));
        let author = author(repository, this).await?;
        made.push(commit(repository, &replayed.tree, &[below], &text, Some(&author), identity).await?);
    }
    // The last one must be what merging gives, or something got lost between them.
    let last = made.last().map_or(onto, String::as_str);
    let tree = format!("{last}^{{tree}}");
    let tree =
        flower_git::in_main(repository).args(["rev-parse", "--verify", "--end-of-options", &tree]).line().await?;
    if tree != merged.tree {
        let paths = served::changes(repository, &tree, &merged.tree).await?;
        return Ok(Err(NotMerged::Conflict { paths: paths.into_iter().map(|c| c.path).collect(), base: None }));
    }
    Ok(Ok(made))
}

/// A commit by the operator; by flower where nobody says who that is.
pub(crate) async fn commit(
    repository: &Repository,
    tree: &str,
    parents: &[&str],
    text: &str,
    author: Option<&Author>,
    identity: &Identity,
) -> Result<String, Problem> {
    let name = identity.name.clone().unwrap_or_else(|| "flower".to_owned());
    let email = identity.email.clone().unwrap_or_else(|| "flower@localhost".to_owned());
    let mut git = durable(repository)
        .args(["commit-tree", tree])
        .args(parents.iter().flat_map(|parent| ["-p", parent]))
        .env("GIT_COMMITTER_NAME", &name)
        .env("GIT_COMMITTER_EMAIL", &email)
        .input(text.as_bytes().to_vec());
    git = match author {
        Some(author) => git
            .env("GIT_AUTHOR_NAME", &author.name)
            .env("GIT_AUTHOR_EMAIL", &author.email)
            .env("GIT_AUTHOR_DATE", &author.date),
        None => git.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email),
    };
    Ok(git.line().await?)
}

pub(crate) struct Author {
    name: String,
    email: String,
    date: String,
}

async fn author(repository: &Repository, commit: &str) -> Result<Author, Problem> {
    let args = ["log", "--max-count=1", "--format=%an%x00%ae%x00%ad", "--date=raw", "--end-of-options", commit];
    let text = flower_git::in_main(repository).args(args).line().await?;
    let mut parts = text.split('\0').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    Ok(Author { name: next(), email: next(), date: next() })
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
pub(super) async fn reverse(repository: &Repository, landing: &Landing, main: &str) -> Result<String, Problem> {
    let missing = || {
        Problem::new(
            ProblemKind::Refused,
            format!("landing {} says not what it brought", landing.number),
            "revert it by hand in a worktree: `git revert`",
        )
    };
    let (before, after) =
        (landing.onto.as_ref().ok_or_else(missing)?, landing.merge_commit.as_ref().ok_or_else(missing)?);
    let reversed = merge(durable(repository), Some(after), main, before).await?;
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
    let identity = crate::worktrees::create::identity(repository).await?;
    let text = format!("Revert \"{}\"\n\nThis takes landing {} back: {after}\n", landing.title, landing.number);
    commit(repository, &reversed.tree, &[main], &text, None, &identity).await
}

/// The commits of MAIN that touched these paths since `base`.
pub(super) async fn touched_by(
    repository: &Repository,
    base: Option<&str>,
    onto: &str,
    paths: &[OsString],
) -> Result<Vec<String>, Problem> {
    let range = base.map_or_else(|| onto.to_owned(), |base| format!("{base}..{onto}"));
    let args = ["log", "--first-parent", "-m", "--format=%H", "--max-count=20", &range, "--"];
    let literal = paths.iter().take(100);
    let text = flower_git::in_main(repository).args(["--literal-pathspecs"]).args(args).args(literal).line().await?;
    Ok(text.lines().map(str::to_owned).collect())
}
