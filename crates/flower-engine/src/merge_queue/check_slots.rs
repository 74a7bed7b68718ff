//! Decides when checks run: those of one landing, or of one `flower check`, in each project at a time. Landings go first: one that
//! is ready ends the run of a `flower check`, which starts over afterwards. That loses little, because the landing moves MAIN, so
//! that the run would have been of an outdated merge, and green results are reused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch};

#[derive(Default)]
pub(super) struct CheckSlots(Mutex<HashMap<String, Arc<Slot>>>);

/// The slot of one project.
#[derive(Default)]
struct Slot {
    held: Arc<AsyncMutex<()>>,
    /// The landings that wait for the slot or hold it.
    landings: watch::Sender<usize>,
}

/// Held while the checks of a landing run.
pub(super) struct LandingSlot {
    slot: Arc<Slot>,
    held: Option<OwnedMutexGuard<()>>,
}

impl Drop for LandingSlot {
    fn drop(&mut self) {
        self.held.take();
        self.slot.landings.send_modify(|count| *count -= 1);
    }
}

/// Held while a `flower check` runs.
pub(super) struct CheckSlot {
    _held: OwnedMutexGuard<()>,
    landings: watch::Receiver<usize>,
}

impl CheckSlot {
    /// Returns when a landing needs the slot.
    pub(super) async fn claimed(&mut self) {
        // The sender lives as long as the queue.
        let _ = self.landings.wait_for(|count| *count > 0).await;
    }
}

impl CheckSlots {
    fn of(&self, project: &str) -> Arc<Slot> {
        self.0.lock().expect("no panic while held").entry(project.to_owned()).or_default().clone()
    }

    /// Waits for the slot, and makes a `flower check` that holds it give it up.
    pub(super) async fn take_for_landing(&self, project: &str) -> LandingSlot {
        let slot = self.of(project);
        slot.landings.send_modify(|count| *count += 1);
        // Counted down when it is dropped, also while it still waits.
        let mut taken = LandingSlot { slot, held: None };
        taken.held = Some(taken.slot.held.clone().lock_owned().await);
        taken
    }

    /// Waits until no landing needs the slot, then takes it.
    pub(super) async fn take_for_check(&self, project: &str) -> CheckSlot {
        let slot = self.of(project);
        let mut landings = slot.landings.subscribe();
        loop {
            let _ = landings.wait_for(|count| *count == 0).await;
            let held = slot.held.clone().lock_owned().await;
            if *landings.borrow() == 0 {
                return CheckSlot { _held: held, landings };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_landing_goes_before_a_check_that_waits_and_ends_one_that_runs() {
        let slots = CheckSlots::default();
        let mut check = slots.take_for_check("a").await;
        let other = slots.take_for_check("b").await;
        let landing = slots.take_for_landing("a");
        let mut landing = std::pin::pin!(landing);
        assert!(tokio::time::timeout(Duration::from_millis(10), &mut landing).await.is_err(), "the check holds it");
        check.claimed().await;
        drop((check, other));
        let landing = landing.await;
        let waiting = slots.take_for_check("a");
        let mut waiting = std::pin::pin!(waiting);
        assert!(tokio::time::timeout(Duration::from_millis(10), &mut waiting).await.is_err(), "the landing holds it");
        drop(landing);
        waiting.await;
        // A landing that gives up while it waits is not waited for.
        let held = slots.take_for_check("a").await;
        assert!(tokio::time::timeout(Duration::from_millis(10), slots.take_for_landing("a")).await.is_err());
        drop(held);
        slots.take_for_check("a").await;
    }
}
