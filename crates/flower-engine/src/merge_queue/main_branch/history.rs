//! MAIN's history as a person likes to read it: by landing and brief.

use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::HistoryEntry;
use flower_git::repository::Repository;
use flower_git::{CommitId, Log, Repo};
use flower_store::landings;

/// One first-parent commit of MAIN, with what flower wrote below it.
pub(super) struct Line {
    pub(super) commit: CommitId,
    pub(super) at: String,
    pub(super) author: String,
    pub(super) subject: String,
    pub(super) landing: Option<u64>,
    briefs: Vec<u64>,
}

impl MergeQueue {
    pub async fn main_log(&self, choice: &ProjectChoice, limit: u64) -> Result<Vec<HistoryEntry>, Problem> {
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let mut entries = Vec::new();
        for line in first_parents(&repository, &CommitId::parse(&main.tip)?, limit).await? {
            let of = line.commit.to_string();
            // What flower itself recorded counts; trailers only lead there.
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of)).await?;
            let landing = recorded.as_ref().map(|landing| landing.number).or(line.landing);
            let state = recorded.as_ref().map(|landing| landing.state);
            let worktree = recorded.as_ref().and_then(|landing| landing.worktree.clone());
            let briefs = recorded.map_or(line.briefs, |landing| landing.briefs);
            entries.push(HistoryEntry {
                commit: line.commit.into(),
                at: line.at,
                author: line.author,
                title: line.subject,
                landing,
                state,
                briefs,
                worktree,
            });
        }
        Ok(entries)
    }
}

pub(super) async fn first_parents(repository: &Repository, tip: &CommitId, limit: u64) -> Result<Vec<Line>, Problem> {
    let log = Log::of(tip, limit).first_parent().trailers(&["Flower-Landing", "Flower-Brief"]);
    let numbers = |text: Option<String>| -> Vec<u64> {
        text.unwrap_or_default().split(',').filter_map(|number| number.trim().parse().ok()).collect()
    };
    let entries = Repo::main(repository).log(&log).await?.into_iter();
    let line = entries.map(|entry| {
        let mut trailers = entry.trailers.into_iter();
        let (landing, briefs) = (numbers(trailers.next()).first().copied(), numbers(trailers.next()));
        let (commit, at, author, subject) = (entry.commit, entry.at, entry.author, entry.subject);
        Line { commit, at, author, subject, landing, briefs }
    });
    Ok(line.collect())
}
