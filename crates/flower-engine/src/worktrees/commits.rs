//! Links imported commits to dispatches, and compares them with leases. flower uses the imported branch for that: authors and
//! messages of commits are chosen by agents and prove nothing.

use crate::Worktrees;
use crate::passes;
use crate::worktrees::paths::WorktreePaths;
use flower_contract::error::Problem;
use flower_core::dispatch::{MAX_COMMITS, Step};
use flower_core::event::LeaseBreached;
use flower_core::{Caller, Command, Lease, Pattern};
use flower_git::repository::Repository;
use flower_git::{CommitId, Log, Repo};
use flower_store::{dispatches, ephemeral};
use std::collections::BTreeSet;
use std::time::Duration;

/// A hook inside reports which agent made a commit, a moment after git has it.
const AUTHOR_DELAY: Duration = Duration::from_millis(700);
/// Paths of one commit that are compared with leases.
const MAX_PATHS: usize = 10_000;

impl Worktrees {
    /// Handles a move of a worktree's branch from `old` to `new`: links the commits to the claimed dispatches, and records breaches of
    /// leases.
    pub(crate) async fn record_commits(&self, place: &WorktreePaths, old: Option<&CommitId>, new: &CommitId) {
        let _pass = passes::begin("commits", &self.store);
        if let Err(problem) = self.link_commits(place, new).await {
            tracing::warn!("{}: its commits are not linked: {}", place.name, problem.message);
        }
        if let Err(problem) = self.record_breaches(place, old, new).await {
            tracing::warn!("{}: its commits are not compared with leases: {}", place.name, problem.message);
        }
    }

    async fn link_commits(&self, place: &WorktreePaths, new: &CommitId) -> Result<(), Problem> {
        let (project, name) = (place.project.clone(), place.name.clone());
        let open = self.store.read(move |conn| dispatches::in_worktree(conn, &project, &name)).await?;
        let claimed: Vec<_> = open.iter().filter(|dispatch| super::observe::is_claimed(dispatch)).collect();
        if claimed.is_empty() {
            return Ok(());
        }
        // Commits that were merged from MAIN are not the work of this dispatch.
        let main = CommitId::parse(&self.main_of(&place.project).await?.tip)?;
        for dispatch in claimed {
            let base = dispatch.base.as_deref().map_or_else(|| Ok(new.clone()), CommitId::parse)?;
            let commits = commits(&place.repository, &[&base, &main], new).await?;
            if !commits.is_empty() {
                let command = Command::Dispatch { number: dispatch.number, step: Step::Commits(commits) };
                self.store.execute(&Caller::system(), command).await?;
            }
        }
        Ok(())
    }

    /// Records commits that change paths which another agent has reserved. The gate holds them for the operator.
    async fn record_breaches(
        &self,
        place: &WorktreePaths,
        old: Option<&CommitId>,
        new: &CommitId,
    ) -> Result<(), Problem> {
        let (project, name) = (place.project.clone(), place.name.clone());
        let read = self.store.read(move |conn| {
            let leases = dispatches::leases(conn, Some((&project, &name)))?;
            Ok((leases, dispatches::in_worktree(conn, &project, &name)?))
        });
        let (mut leases, open) = read.await?;
        let moment = self.clock.moment();
        leases.retain(|lease| !lease.is_over(&moment));
        if leases.is_empty() {
            return Ok(());
        }
        let holders = open.iter().filter_map(|dispatch| dispatch.claim.as_ref()).map(|claim| claim.holder.as_str());
        let agents: BTreeSet<&str> = leases.iter().map(|lease| lease.holder.as_str()).chain(holders).collect();
        let shared = agents.len() > 1 || open.iter().any(|dispatch| dispatch.agents > 1);
        for (commit, paths) in touched(&place.repository, old, new).await? {
            let by = match self.made_by(&commit).await? {
                Some(agent) => Some(agent),
                None if !shared => agents.first().map(|agent| (*agent).to_owned()),
                None => {
                    tokio::time::sleep(AUTHOR_DELAY).await;
                    self.made_by(&commit).await?
                }
            };
            let of = commit.clone();
            // After a crash the same commits are examined again.
            let known = self.store.read(move |conn| dispatches::breaches(conn, &of)).await?;
            let is_known = |lease: &Lease| known.iter().any(|(holder, _)| *holder == lease.holder);
            for lease in leases.iter().filter(|lease| by.as_ref() != Some(&lease.holder) && !is_known(lease)) {
                let paths = reserved(lease, &paths);
                if !paths.is_empty() {
                    let (project, worktree) = (place.project.clone(), place.name.clone());
                    let (commit, by, holder) = (commit.clone(), by.clone(), lease.holder.clone());
                    let breached = LeaseBreached { project, worktree, commit, by, holder, paths };
                    self.store.execute(&Caller::system(), Command::BreachLease(breached)).await?;
                }
            }
        }
        Ok(())
    }

    /// The agent that made a commit, as the hook inside has reported it.
    async fn made_by(&self, commit: &str) -> Result<Option<String>, Problem> {
        let key = format!("made/{commit}");
        let made = self.store.read(move |conn| ephemeral::get(conn, &key)).await?;
        Ok(made.and_then(|text| text.split_once(' ').map(|(_, agent)| agent.to_owned())))
    }
}

/// Up to a hundred of the paths that a lease covers.
fn reserved(lease: &Lease, paths: &[String]) -> Vec<String> {
    let patterns: Vec<Pattern> = lease.patterns.iter().filter_map(|raw| Pattern::parse(raw).ok()).collect();
    paths.iter().filter(|path| patterns.iter().any(|pattern| pattern.matches(path))).take(100).cloned().collect()
}

/// Commits that none of `without` has, oldest first, with their titles; merges left out.
pub(crate) async fn commits(
    repository: &Repository,
    without: &[&CommitId],
    to: &CommitId,
) -> Result<Vec<(String, String)>, Problem> {
    let log = Log::of(to, MAX_COMMITS as u64).no_merges();
    let log = without.iter().fold(log, |log, commit| log.without(*commit));
    let newest_first = Repo::main(repository).log(&log).await?;
    Ok(newest_first.into_iter().rev().map(|commit| (commit.commit.into(), commit.subject)).collect())
}

/// The new commits of a branch, and the paths that each of them changed.
async fn touched(
    repository: &Repository,
    old: Option<&CommitId>,
    new: &CommitId,
) -> Result<Vec<(String, Vec<String>)>, Problem> {
    let Some(old) = old else { return Ok(Vec::new()) };
    let commits = Repo::main(repository).changed_paths(old, new, MAX_COMMITS as u64).await?;
    let each = commits.into_iter().map(|(commit, paths)| {
        let paths = paths.iter().take(MAX_PATHS).map(|path| path.to_string_lossy().into_owned());
        (String::from(commit), paths.collect())
    });
    Ok(each.collect())
}
