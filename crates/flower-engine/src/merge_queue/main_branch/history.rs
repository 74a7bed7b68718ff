//! MAIN's history by landing and brief.

use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::HistoryEntry;
use flower_core::{BriefId, Landing, LandingId};
use flower_git::repository::Repository;
use flower_git::{CommitId, Log, Repo};
use flower_store::landings;

/// One commit of MAIN's first-parent history, with the numbers in its trailers.
pub(super) struct MainCommit {
    pub(super) commit: CommitId,
    pub(super) at: String,
    pub(super) author: String,
    pub(super) subject: String,
    pub(super) landing: Option<LandingId>,
    briefs: Vec<BriefId>,
}

impl MergeQueue {
    pub async fn main_log(&self, choice: &ProjectChoice, limit: u64) -> Result<Vec<HistoryEntry>, Problem> {
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let mut entries = Vec::new();
        // The landing that is being walked through: it can have brought several commits.
        let mut within: Option<Landing> = None;
        for found in first_parents(&repository, &CommitId::parse(&main.tip)?, limit).await? {
            within = within.filter(|landing| landing.onto.as_deref() != Some(found.commit.as_str()));
            let (of, commit) = (project.clone(), found.commit.to_string());
            // The log is authoritative; trailers serve for commits that it does not have.
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of, &commit)).await?;
            let recorded = recorded.or_else(|| within.take());
            within.clone_from(&recorded);
            let landing = recorded.as_ref().map(|landing| landing.number).or(found.landing);
            let state = recorded.as_ref().map(|landing| landing.state);
            let worktree = recorded.as_ref().and_then(|landing| landing.worktree.clone());
            let briefs = recorded.map_or(found.briefs, |landing| landing.briefs);
            entries.push(HistoryEntry {
                commit: found.commit.into(),
                at: found.at,
                author: found.author,
                title: found.subject,
                landing: landing.map(u64::from),
                state,
                briefs: briefs.into_iter().map(u64::from).collect(),
                worktree,
            });
        }
        Ok(entries)
    }
}

/// The newest `limit` commits of the first-parent history that ends at `tip`.
pub(super) async fn first_parents(
    repository: &Repository,
    tip: &CommitId,
    limit: u64,
) -> Result<Vec<MainCommit>, Problem> {
    let log = Log::of(tip, limit).first_parent().trailers(&["Flower-Landing", "Flower-Brief"]);
    let numbers = |text: Option<String>| -> Vec<u64> {
        text.unwrap_or_default().split(',').filter_map(|number| number.trim().parse().ok()).collect()
    };
    let entries = Repo::main(repository).log(&log).await?.into_iter();
    let commits = entries.map(|entry| {
        let mut trailers = entry.trailers.into_iter();
        let landing = numbers(trailers.next()).first().copied().map(LandingId);
        let briefs = numbers(trailers.next()).into_iter().map(BriefId).collect();
        let (commit, at, author, subject) = (entry.commit, entry.at, entry.author, entry.subject);
        MainCommit { commit, at, author, subject, landing, briefs }
    });
    Ok(commits.collect())
}
