//! Reading the trace, of one brief or of everything.

use super::{App, PAGE};
use crate::error::Problem;
pub use crate::store::LiveEvent;
use crate::store::log;
use crate::view::EventView;
use flower_core::Recorded;

/// Which part of the trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Window {
    pub brief: Option<u64>,
    /// Events after this one, oldest first.
    pub after: Option<u64>,
    /// The newest events before this one; without either, the newest of all.
    pub before: Option<u64>,
    pub limit: Option<u64>,
}

impl App {
    /// A page of events, oldest first.
    pub async fn trace(&self, window: Window) -> Result<Vec<EventView>, Problem> {
        if let Some(brief) = window.brief {
            self.show_brief(brief).await?;
        }
        Ok(self.events(window).await?.iter().map(EventView::told).collect())
    }

    pub async fn events(&self, window: Window) -> Result<Vec<Recorded>, Problem> {
        let limit = window.limit.unwrap_or(PAGE).clamp(1, PAGE);
        let events = self.store.read(move |conn| match (window.after, window.brief) {
            (Some(after), Some(brief)) => log::of_brief(conn, brief, after, limit),
            (Some(after), None) => log::after(conn, after, limit),
            (None, brief) => log::newest(conn, brief, window.before.unwrap_or(i64::MAX as u64), limit),
        });
        Ok(events.await?)
    }
}
