//! The clock of the simulated machine: it counts up while the machine runs, and restarts with the machine.

use flower_core::{BootTime, Heartbeat};

pub struct Clock {
    boots: u64,
    pub now: u64,
    /// When flower first ran after the machine had started; `None` before that.
    pub since: Option<u64>,
}

impl Clock {
    pub fn new() -> Clock {
        Clock { boots: 1, now: 50_000, since: None }
    }

    pub fn pass(&mut self, milliseconds: u64) {
        self.now += milliseconds;
    }

    /// The machine restarts, and flower does not run yet.
    pub fn restart(&mut self, now: u64) {
        *self = Clock { boots: self.boots + 1, now, since: None };
    }

    pub fn flower_runs(&mut self) {
        self.since.get_or_insert(self.now);
    }

    pub fn boot(&self) -> String {
        format!("machine:{}", self.boots)
    }

    /// The boot time that the daemon reads.
    pub fn moment(&self) -> BootTime {
        BootTime { boot: self.boot(), now: self.now, since: self.since.unwrap_or(self.now) }
    }

    /// Whether a lease is over, computed independently of the rules: by the time without heartbeats during which
    /// heartbeats could have arrived.
    pub fn is_over(&self, heard: &Heartbeat, seconds: u64) -> bool {
        let silent = if heard.boot == self.boot() {
            self.now.saturating_sub(heard.at)
        } else {
            self.since.map_or(0, |since| self.now - since)
        };
        silent >= seconds * 1_000
    }

    /// The later of two heartbeats; the names of boots contain their order.
    pub fn later(one: Heartbeat, other: Heartbeat) -> Heartbeat {
        let order = |beat: &Heartbeat| {
            let boot = beat.boot.rsplit(':').next().and_then(|number| number.parse::<u64>().ok());
            (boot, beat.at)
        };
        if order(&other) > order(&one) { other } else { one }
    }
}
