//! A position in the event log that moves forward, for readers that get every event in order.

use super::EventLog;
use super::trace::Window;
use flower_contract::error::Problem;
use flower_core::Recorded;
use flower_store::live::LiveEvent;
use std::sync::Arc;
use tokio::sync::watch;

/// Events that are read at once.
const BATCH: usize = 256;

pub struct EventCursor {
    log: Arc<EventLog>,
    head: watch::Receiver<u64>,
    at: u64,
}

pub enum Batch {
    /// Events in memory, which all readers share.
    Live(Vec<Arc<LiveEvent>>),
    /// Older events, read from the log.
    Stored(Vec<Recorded>),
}

impl Batch {
    pub fn events(&self) -> impl Iterator<Item = &Recorded> {
        let (live, stored) = match self {
            Batch::Live(events) => (events.as_slice(), [].as_slice()),
            Batch::Stored(events) => ([].as_slice(), events.as_slice()),
        };
        live.iter().map(|event| &event.recorded).chain(stored)
    }

    /// The numbers of the first and the last event.
    pub fn span(&self) -> Option<(u64, u64)> {
        let first = self.events().next()?.seq;
        Some((first, self.events().last()?.seq))
    }
}

impl EventCursor {
    /// A cursor behind the event `after`, or behind the newest event.
    pub fn new(log: &Arc<EventLog>, after: Option<u64>) -> EventCursor {
        let head = log.live().subscribe();
        let at = after.unwrap_or_else(|| log.live().head());
        EventCursor { log: log.clone(), head, at }
    }

    /// Reads the next events and moves behind them. The batch is empty at the end of the log.
    pub async fn read(&mut self) -> Result<Batch, Problem> {
        // Before reading, so that an event which arrives meanwhile ends the next wait.
        self.head.borrow_and_update();
        let batch = match self.log.live().after(self.at, BATCH) {
            Some(events) => Batch::Live(events),
            None => {
                let window = Window { after: Some(self.at), limit: Some(BATCH as u64), ..Window::default() };
                Batch::Stored(self.log.events(window).await?)
            }
        };
        if let Some((_, last)) = batch.span() {
            self.at = last;
        }
        Ok(batch)
    }

    /// Whether the next events are in memory.
    pub fn is_live(&self) -> bool {
        self.log.live().after(self.at, 1).is_some()
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.log.live().head()
    }

    /// Waits until the log has grown since the last read. `None` if the log is closed.
    pub async fn grown(&mut self) -> Option<()> {
        self.head.changed().await.ok()
    }
}
