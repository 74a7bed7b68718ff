//! Live events: the newest ones in memory, and a bell. Whoever reads slower than this remembers goes back to the log.

use flower_core::{Recorded, Topic};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;
use tokio::sync::watch;

const MAX_EVENTS: usize = 4096;
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// An event on its way to many readers; what a door makes of it is made once.
#[derive(Debug)]
pub struct LiveEvent {
    pub recorded: Recorded,
    /// What it changes.
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

    /// The number of the newest event, and a way to wait for the next.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    pub fn head(&self) -> u64 {
        *self.bell.borrow()
    }

    /// Adds events that follow the newest one. What is known already is passed over; a gap is refused, and the caller
    /// reads the log instead.
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
        // While the ring is held: whoever pushes next must see what is known now.
        self.bell.send_if_modified(|known| std::mem::replace(known, head) != head);
        pushed
    }

    /// Up to `limit` events after `after`, or nothing if some of them are no longer remembered.
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
    /// Events that come together are reported together.
    settle: Duration,
}

impl Follower {
    /// Begins after the newest event.
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
                // More events than are remembered count as a change.
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
