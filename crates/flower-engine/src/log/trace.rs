//! Reads the events of a brief, a project or the whole log.

use crate::{EventLog, PAGE};
use flower_contract::error::Problem;
use flower_contract::view::EventView;
use flower_core::Recorded;
pub use flower_store::LiveEvent;
pub use flower_store::log::Of;
use flower_store::log::{self, Edge};
use std::collections::BTreeSet;

/// Which events to read.
#[derive(Clone, Debug, Default)]
pub struct Window {
    pub of: Of,
    /// Events after this one, oldest first.
    pub after: Option<u64>,
    /// The newest events before this one; without either, the newest of all.
    pub before: Option<u64>,
    pub limit: Option<u64>,
}

impl EventLog {
    /// A page of events, oldest first.
    pub async fn trace(&self, window: Window) -> Result<Vec<EventView>, Problem> {
        match &window.of {
            Of::All => {}
            Of::Brief(brief) => drop(self.briefs.show(*brief).await?),
            Of::Project(name) => drop(self.projects.get(name).await?),
        }
        Ok(self.events(window).await?.iter().map(EventView::told).collect())
    }

    pub async fn events(&self, window: Window) -> Result<Vec<Recorded>, Problem> {
        let limit = window.limit.unwrap_or(PAGE).clamp(1, PAGE);
        let edge = match window.after {
            Some(after) => Edge::After(after),
            None => Edge::Before(window.before.unwrap_or(i64::MAX as u64)),
        };
        Ok(self.store.read(move |conn| log::trace(conn, &window.of, edge, limit)).await?)
    }

    /// The events from `first` to `last` that happened in a project.
    pub async fn events_of(&self, project: &str, first: u64, last: u64) -> Result<BTreeSet<u64>, Problem> {
        let project = project.to_owned();
        Ok(self.store.read(move |conn| log::of_project(conn, &project, first, last)).await?)
    }
}
