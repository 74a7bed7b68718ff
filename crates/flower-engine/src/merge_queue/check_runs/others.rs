//! What else changes the paths of a worktree that is checked.

use super::MAX_PATHS;
use crate::merge_queue::MergeQueue;
use flower_contract::error::Problem;
use flower_contract::view::OtherWork;
use flower_core::Worktree;
use flower_core::pattern::Pattern;
use flower_git::{Change, CommitId, Repo};
use flower_store::dispatches;
use std::collections::HashSet;

/// Other worktrees that are compared, and entries about others in a view.
const MAX_OTHERS: usize = 50;

impl MergeQueue {
    /// Other worktrees of the project that change these paths, and agents elsewhere that have reserved them.
    pub(super) async fn others_on(&self, own: &Worktree, paths: &[String]) -> Result<Vec<OtherWork>, Problem> {
        let mut others = Vec::new();
        let repository = self.worktrees.repository(&own.project).await?;
        let (repo, main) =
            (Repo::main(&repository), CommitId::parse(&self.worktrees.main_of(&own.project).await?.tip)?);
        let ours: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let live = self.worktrees.live(&own.project).await?;
        for worktree in live.iter().filter(|other| other.number != own.number).take(MAX_OTHERS) {
            let Ok(place) = self.worktrees.paths(worktree).await else { continue };
            let Some(tip) = repo.tip(&place.full_branch()).await? else { continue };
            let Some(base) = repo.merge_base(&main, &tip).await? else { continue };
            let changes = repo.diff_trees(&base, &tip).await?;
            let mut both: Vec<String> =
                changes.iter().map(Change::name).filter(|path| ours.contains(&**path)).collect();
            both.truncate(MAX_PATHS);
            if !both.is_empty() {
                others.push(OtherWork { worktree: worktree.name.clone(), reserved_by: None, paths: both });
            }
        }
        let moment = self.clock.moment();
        let of = own.project.clone();
        for lease in self.store.read(|conn| dispatches::leases(conn, None)).await? {
            let is_other = lease.project == of && lease.worktree != own.name && !lease.is_over(&moment);
            let covers = |pattern: &String| {
                Pattern::parse(pattern).is_ok_and(|pattern| paths.iter().any(|path| pattern.matches(path)))
            };
            let both: Vec<String> = lease.patterns.iter().filter(|pattern| covers(pattern)).cloned().collect();
            if is_other && !both.is_empty() && others.len() < MAX_OTHERS {
                others.push(OtherWork { worktree: lease.worktree, reserved_by: Some(lease.holder), paths: both });
            }
        }
        Ok(others)
    }
}
