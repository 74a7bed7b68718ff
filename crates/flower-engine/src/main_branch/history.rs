//! MAIN's history as a person likes to read it: by landing and brief.

use crate::App;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::HistoryEntry;
use flower_git::repository::Repository;
use flower_store::landings;

/// One first-parent commit of MAIN, with what flower wrote below it.
pub(super) struct Line {
    pub(super) commit: String,
    pub(super) at: String,
    pub(super) author: String,
    pub(super) subject: String,
    pub(super) landing: Option<u64>,
    briefs: Vec<u64>,
}

impl App {
    pub async fn main_log(&self, choice: &ProjectChoice, limit: u64) -> Result<Vec<HistoryEntry>, Problem> {
        let project = self.require_project(choice).await?;
        let repository = self.repository(&project).await?;
        let main = self.main_of(&project).await?;
        let mut entries = Vec::new();
        for line in first_parents(&repository, &main.tip, limit).await? {
            let of = line.commit.clone();
            // What flower itself recorded counts; trailers only lead there.
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of)).await?;
            let landing = recorded.as_ref().map(|landing| landing.number).or(line.landing);
            let state = recorded.as_ref().map(|landing| landing.state);
            let worktree = recorded.as_ref().and_then(|landing| landing.worktree.clone());
            let briefs = recorded.map_or(line.briefs, |landing| landing.briefs);
            entries.push(HistoryEntry {
                commit: line.commit,
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

pub(super) async fn first_parents(repository: &Repository, tip: &str, limit: u64) -> Result<Vec<Line>, Problem> {
    let count = format!("--max-count={limit}");
    let format = "--format=%H%x1f%cI%x1f%an%x1f%s%x1f%(trailers:key=Flower-Landing,valueonly,separator=%x2C)%x1f%(trailers:key=Flower-Brief,valueonly,separator=%x2C)";
    let args = ["log", "--first-parent", "-z", &count, format, "--end-of-options", tip, "--"];
    let output = flower_git::in_main(repository).args(args).run().await?;
    let numbers = |text: &str| text.split(',').filter_map(|n| n.trim().parse().ok()).collect::<Vec<u64>>();
    let line = |item: &[u8]| {
        let text = String::from_utf8_lossy(item).into_owned();
        let mut parts = text.trim().split('\u{1f}').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (commit, at, author, subject) = (next(), next(), next(), next());
        let (landing, briefs) = (numbers(&next()).first().copied(), numbers(&next()));
        Line { commit, at, author, subject, landing, briefs }
    };
    Ok(output.items().map(line).collect())
}
