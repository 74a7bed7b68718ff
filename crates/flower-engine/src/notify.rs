//! Hints that something has moved which no event tells of: what an agent does at this moment, how a check gets on. Whoever
//! hears one looks again; a hint says nothing of what is there now, so that losing one costs a moment and nothing else.

use std::sync::Arc;
use tokio::sync::broadcast;

/// Hints that one listener may be behind; beyond that it looks at everything again.
const BEHIND: usize = 256;

#[derive(Clone, Debug)]
pub struct ChangeHints(broadcast::Sender<Arc<str>>);

impl Default for ChangeHints {
    fn default() -> ChangeHints {
        ChangeHints(broadcast::Sender::new(BEHIND))
    }
}

impl ChangeHints {
    /// What agents do, as lists of them show it.
    pub const AGENTS: &'static str = "agents";
    pub const INBOX: &'static str = "inbox";
    pub const LANDINGS: &'static str = "landings";
    pub const WORKTREES: &'static str = "worktrees";
    /// What a listener is told that was too far behind.
    pub const ALL: &'static str = "all";

    pub fn publish(&self, topic: &str) {
        // Most of the time nobody looks.
        if self.0.receiver_count() > 0 {
            let _ = self.0.send(topic.into());
        }
    }

    pub fn listen(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.subscribe()
    }
}
