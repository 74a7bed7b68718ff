//! Change hints for state that is not in the event log, such as what an agent does now or the progress of a check. A hint
//! has only a topic, and its receiver reads the state again; so a lost hint only delays an update.

use std::sync::Arc;
use tokio::sync::broadcast;

/// Hints that wait for one receiver. A receiver that is further behind reads everything again.
const CHANNEL_CAPACITY: usize = 256;

#[derive(Clone, Debug)]
pub struct ChangeHints(broadcast::Sender<Arc<str>>);

impl Default for ChangeHints {
    fn default() -> ChangeHints {
        ChangeHints(broadcast::Sender::new(CHANNEL_CAPACITY))
    }
}

impl ChangeHints {
    /// The state of agents, as lists show it.
    pub const AGENTS: &'static str = "agents";
    pub const INBOX: &'static str = "inbox";
    pub const LANDINGS: &'static str = "landings";
    pub const WORKTREES: &'static str = "worktrees";
    /// For a receiver that has missed hints.
    pub const ALL: &'static str = "all";

    pub fn publish(&self, topic: &str) {
        // Most of the time no page is open.
        if self.0.receiver_count() > 0 {
            let _ = self.0.send(topic.into());
        }
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.subscribe()
    }
}
