//! Everything at a glance.

use super::App;
use super::projects::ProjectChoice;
use crate::error::Problem;
use crate::store::{briefs, worktrees};
use crate::view::StatusView;

impl App {
    pub async fn status(&self, choice: &ProjectChoice) -> Result<StatusView, Problem> {
        let project = self.find_project(choice).await?;
        let of = project.clone();
        let briefs = self.store.read(move |conn| briefs::count_by_status(conn, of.as_deref())).await?;
        let of = project.clone();
        let worktrees = self.store.read(move |conn| worktrees::live(conn, of.as_deref())).await?.len() as u64;
        Ok(StatusView {
            version: crate::VERSION.to_owned(),
            pid: std::process::id(),
            url: self.url.clone(),
            started_at: self.started_at.clone(),
            database: self.database.clone(),
            read_only: self.store.cut(),
            project,
            briefs,
            worktrees,
            inbox: self.inbox().await?.len() as u64,
            last_event: self.store.live().head(),
        })
    }
}
