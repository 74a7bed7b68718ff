//! Live events: the newest events in memory, and a signal for new ones. A reader that falls too far behind reads the
//! log instead.

use flower_core::{Recorded, Topic};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;
use tokio::sync::watch;

const MAX_EVENTS: usize = 4096;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// An event that is sent to many readers; a door encodes it once for all of them.
#[derive(Debug)]
pub struct LiveEvent {
    pub recorded: Recorded,
    /// The topics that the event changes.
    pub topics: &'static [Topic],
    pub rendered: OnceLock<Vec<u8>>,
}

#[derive(Debug)]
pub struct Live {
    ring: RwLock<Ring>,
    bell: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<LiveEvent>>,
    bytes: usize,
}

impl Live {
    pub fn new(head: u64) -> Live {
        Live { ring: RwLock::default(), bell: watch::Sender::new(head) }
    }

    /// The number of the newest event, which can be awaited.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    pub fn head(&self) -> u64 {
        *self.bell.borrow()
    }

    /// Adds events that follow the newest one. Events that are already in memory are skipped; a gap is an error, after
    /// which the caller reads the log instead.
    pub fn push(&self, events: Vec<Recorded>) -> Result<(), Gap> {
        let mut ring = self.ring.write().expect("no panic while the ring is held");
        let mut head = self.head();
        let mut pushed = Ok(());
        for recorded in events {
            if recorded.seq <= head {
                continue;
            }
            if recorded.seq != head + 1 {
                pushed = Err(Gap { after: head });
                break;
            }
            head = recorded.seq;
            ring.bytes += recorded.body.len();
            ring.events.push_back(Arc::new(LiveEvent {
                topics: recorded.description().topics,
                recorded,
                rendered: OnceLock::new(),
            }));
            while ring.events.len() > MAX_EVENTS || ring.bytes > MAX_BYTES {
                let Some(oldest) = ring.events.pop_front() else { break };
                ring.bytes -= oldest.recorded.body.len();
            }
        }
        // Sent while the ring is locked, so that the next writer sees this head.
        self.bell.send_if_modified(|known| std::mem::replace(known, head) != head);
        pushed
    }

    /// Up to `limit` events after `after`, or `None` if some of them are not in memory any more.
    pub fn after(&self, after: u64, limit: usize) -> Option<Vec<Arc<LiveEvent>>> {
        let ring = self.ring.read().expect("no panic while the ring is held");
        if after >= self.head() {
            return Some(Vec::new());
        }
        let first = ring.events.front()?.recorded.seq;
        let skip = usize::try_from((after + 1).checked_sub(first)?).ok()?;
        Some(ring.events.iter().skip(skip).take(limit).cloned().collect())
    }
}

/// Waits for events that change some topics. Background loops follow the log with this instead of being called.
pub struct Follower {
    live: Arc<Live>,
    bell: watch::Receiver<u64>,
    seen: u64,
    topics: &'static [Topic],
    /// Events that arrive within this time are reported together.
    settle: Duration,
}

impl Follower {
    /// Starts after the newest event.
    pub fn new(live: Arc<Live>, topics: &'static [Topic], settle: Duration) -> Follower {
        let bell = live.subscribe();
        let seen = *bell.borrow();
        Follower { live, bell, seen, topics, settle }
    }

    /// Returns once an event has changed one of the topics. A call that is dropped before it returns loses nothing.
    pub async fn changed(&mut self) {
        loop {
            let head = *self.bell.borrow_and_update();
            if head > self.seen {
                // If events were dropped from memory meanwhile, they count as a change.
                let changed = self.live.after(self.seen, usize::MAX).is_none_or(|events| {
                    events.iter().any(|event| event.topics.iter().any(|topic| self.topics.contains(topic)))
                });
                if changed {
                    tokio::time::sleep(self.settle).await;
                    self.seen = *self.bell.borrow_and_update();
                    return;
                }
                self.seen = head;
            }
            // The follower itself keeps the sender alive.
            self.bell.changed().await.expect("the live events are there");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub after: u64,
}
