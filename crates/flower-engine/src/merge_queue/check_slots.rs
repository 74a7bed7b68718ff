//! Decides when checks run: those of one landing, or of one `flower check`, in each project at a time. Landings go first: one that
//! is ready ends the run of a `flower check`, which starts over afterwards. That loses little, because the landing moves MAIN, so
//! that the run would have been of an outdated merge, and green results are reused. A `flower check` that has let
//! [`MAX_LANDINGS_AHEAD`] landings pass is due: it gets the slot next, and keeps it. After a check that was due, a landing that
//! waits is next, so that neither can starve the other.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Landings that a `flower check` lets pass. With more, a busy queue delays the answer by hours; with fewer, landings wait for runs
/// whose result they would outdate.
pub(super) const MAX_LANDINGS_AHEAD: u64 = 3;

#[derive(Default)]
pub(super) struct CheckSlots(Mutex<HashMap<String, Arc<Slot>>>);

/// The slot of one project.
#[derive(Default)]
struct Slot {
    state: Mutex<State>,
    /// Changes with the state.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    is_held: bool,
    /// The landings that wait for the slot or hold it.
    landings: usize,
    /// Landings that were processed since the daemon started.
    processed: u64,
    /// The runs of `flower check` by number, the oldest first.
    checks: BTreeMap<u64, WaitingCheck>,
    last_check: u64,
    /// The last holder was a check that was due.
    was_due: bool,
}

struct WaitingCheck {
    /// How many landings had been processed when it began to wait.
    since: u64,
    /// Whether it waits for the slot now.
    is_waiting: bool,
}

impl State {
    fn is_due(&self, check: &WaitingCheck) -> bool {
        self.processed - check.since >= MAX_LANDINGS_AHEAD
    }

    /// The check that goes before all landings, if one does.
    fn due(&self) -> Option<u64> {
        if self.was_due && self.landings > 0 {
            return None;
        }
        self.checks.iter().find(|(_, check)| check.is_waiting && self.is_due(check)).map(|(&number, _)| number)
    }

    /// The check that may have the slot.
    fn next_check(&self) -> Option<u64> {
        let oldest = || self.checks.iter().find(|(_, check)| check.is_waiting).map(|(&number, _)| number);
        match self.due() {
            None if self.landings == 0 => oldest(),
            due => due,
        }
    }
}

impl Slot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changes.send_replace(());
        changed
    }

    /// Waits until the slot is free and `may_take` holds, then takes it.
    async fn take(&self, may_take: impl Fn(&State) -> bool, was_due: impl Fn(&State) -> bool) {
        let mut changes = self.changes.subscribe();
        loop {
            {
                let mut state = self.state();
                if !state.is_held && may_take(&state) {
                    state.was_due = was_due(&state);
                    state.is_held = true;
                    return;
                }
            }
            // The sender lives as long as the slot.
            let _ = changes.changed().await;
        }
    }
}

/// Held while the checks of a landing run, and while they wait.
pub(super) struct LandingSlot {
    slot: Arc<Slot>,
    is_held: bool,
}

impl Drop for LandingSlot {
    fn drop(&mut self) {
        self.slot.change(|state| {
            state.landings -= 1;
            state.is_held &= !self.is_held;
        });
    }
}

/// A `flower check` from its beginning to its end.
pub(super) struct CheckTurn {
    slot: Arc<Slot>,
    number: u64,
}

impl CheckTurn {
    /// Whether it goes before landings.
    pub(super) fn is_due(&self) -> bool {
        let state = self.slot.state();
        state.checks.get(&self.number).is_some_and(|check| state.is_due(check))
    }

    /// Waits until no landing needs the slot, or this check is due, then takes it.
    pub(super) async fn take(&self) -> CheckSlot<'_> {
        let mut taken = CheckSlot { turn: self, is_held: false, is_due: false };
        self.set_waiting(true);
        self.slot.take(|state| state.next_check() == Some(self.number), |state| state.due() == Some(self.number)).await;
        (taken.is_held, taken.is_due) = (true, self.slot.state().was_due);
        self.set_waiting(false);
        taken
    }

    fn set_waiting(&self, is_waiting: bool) {
        self.slot.change(|state| {
            if let Some(check) = state.checks.get_mut(&self.number) {
                check.is_waiting = is_waiting;
            }
        });
    }
}

impl Drop for CheckTurn {
    fn drop(&mut self) {
        self.slot.change(|state| state.checks.remove(&self.number));
    }
}

/// Held while the checks of a `flower check` run.
pub(super) struct CheckSlot<'a> {
    turn: &'a CheckTurn,
    is_held: bool,
    is_due: bool,
}

impl CheckSlot<'_> {
    /// Returns when a landing needs the slot; never if this check was due.
    pub(super) async fn claimed(&self) {
        let mut changes = self.turn.slot.changes.subscribe();
        while self.is_due || self.turn.slot.state().landings == 0 {
            let _ = changes.changed().await;
        }
    }
}

impl Drop for CheckSlot<'_> {
    fn drop(&mut self) {
        self.turn.set_waiting(false);
        self.turn.slot.change(|state| state.is_held &= !self.is_held);
    }
}

impl CheckSlots {
    fn of(&self, project: &str) -> Arc<Slot> {
        self.0.lock().expect("no panic while held").entry(project.to_owned()).or_default().clone()
    }

    /// Counts a landing that has ended, with or without checks.
    pub(super) fn landing_processed(&self, project: &str) {
        self.of(project).change(|state| state.processed += 1);
    }

    /// Waits for the slot, and makes a `flower check` that holds it give it up, unless that was due.
    pub(super) async fn take_for_landing(&self, project: &str) -> LandingSlot {
        let slot = self.of(project);
        slot.change(|state| state.landings += 1);
        // Counted down when it is dropped, also while it still waits.
        let mut taken = LandingSlot { slot, is_held: false };
        taken.slot.take(|state| state.due().is_none(), |_| false).await;
        taken.is_held = true;
        taken
    }

    /// Begins to count the landings that pass a `flower check`.
    pub(super) fn begin_check(&self, project: &str) -> CheckTurn {
        let slot = self.of(project);
        let number = slot.change(|state| {
            state.last_check += 1;
            let check = WaitingCheck { since: state.processed, is_waiting: false };
            state.checks.insert(state.last_check, check);
            state.last_check
        });
        CheckTurn { slot, number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::time::Duration;

    /// Whether the future is ready without anything else happening.
    async fn is_ready<T>(future: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(Duration::from_millis(10), future).await.ok()
    }

    #[tokio::test]
    async fn a_landing_goes_before_a_check_that_waits_and_ends_one_that_runs() {
        let slots = CheckSlots::default();
        let (turn, elsewhere) = (slots.begin_check("a"), slots.begin_check("b"));
        let check = turn.take().await;
        let other = elsewhere.take().await;
        let mut landing = pin!(slots.take_for_landing("a"));
        assert!(is_ready(&mut landing).await.is_none(), "the check holds it");
        check.claimed().await;
        drop((check, other));
        let landing = landing.await;
        let mut waiting = pin!(turn.take());
        assert!(is_ready(&mut waiting).await.is_none(), "the landing holds it");
        drop(landing);
        drop(waiting.await);
        // A landing that gives up while it waits is not waited for.
        let held = turn.take().await;
        assert!(is_ready(slots.take_for_landing("a")).await.is_none());
        drop(held);
        drop(turn.take().await);
        // Neither is a check.
        let landing = slots.take_for_landing("a").await;
        assert!(is_ready(turn.take()).await.is_none());
        drop(landing);
        drop(slots.take_for_landing("a").await);
    }

    #[tokio::test]
    async fn a_check_that_let_enough_landings_pass_is_next_and_keeps_the_slot() {
        let slots = CheckSlots::default();
        let (first, second) = (slots.begin_check("a"), slots.begin_check("a"));
        for passed in 0..MAX_LANDINGS_AHEAD {
            assert!(!first.is_due(), "{passed} have passed");
            drop(slots.take_for_landing("a").await);
            slots.landing_processed("a");
        }
        assert!(first.is_due() && second.is_due() && !slots.begin_check("a").is_due());
        let before = slots.take_for_landing("a").await;
        let (mut check, mut other) = (pin!(first.take()), pin!(second.take()));
        let mut landing = pin!(slots.take_for_landing("a"));
        assert!(is_ready(&mut check).await.is_none() && is_ready(&mut other).await.is_none());
        assert!(is_ready(&mut landing).await.is_none());
        drop(before);
        let check = check.await;
        assert!(is_ready(check.claimed()).await.is_none(), "it was due");
        assert!(is_ready(&mut landing).await.is_none() && is_ready(&mut other).await.is_none());
        drop(check);
        // The other one is due as well, but a landing has waited for the first.
        assert!(is_ready(&mut other).await.is_none());
        let landing = landing.await;
        drop(landing);
        drop(other.await);
        assert!(is_ready(slots.take_for_landing("a")).await.is_some());
    }
}
