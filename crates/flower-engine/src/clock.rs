//! The clock for leases: time since boot, including suspend. Unlike the wall clock it cannot be set.

use flower_contract::error::Problem;
use flower_core::{BootTime, Heartbeat};
use flower_store::ephemeral;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// The machine and its boot, and the time at which flower first ran in that boot.
#[derive(Clone, Debug)]
pub struct BootClock {
    boot: String,
    since: u64,
}

impl BootClock {
    /// Reads from the store when flower first ran in this boot, or records it now.
    pub async fn new(store: &flower_store::Store) -> Result<BootClock, Problem> {
        let boot = boot_id();
        let key = format!("boot/{boot}");
        let of = key.clone();
        let known = store.read(move |conn| ephemeral::get(conn, &of)).await?;
        let since = match known.and_then(|text| text.parse().ok()) {
            Some(since) => since,
            None => {
                let now = uptime();
                store.remember(key, Some(now.to_string())).await?;
                now
            }
        };
        Ok(BootClock { boot, since })
    }

    pub fn moment(&self) -> BootTime {
        BootTime { boot: self.boot.clone(), now: uptime(), since: self.since }
    }

    /// The wall-clock time at which a lease expires.
    pub fn expires_at(&self, beat: &Heartbeat, seconds: u64) -> String {
        let left = self.moment().left(beat, seconds).min(i64::MAX as u64);
        let span = jiff::SignedDuration::from_millis(i64::try_from(left).unwrap_or(i64::MAX));
        jiff::Timestamp::now().checked_add(span).map_or_else(|_| super::now(), super::stamp)
    }
}

/// Milliseconds since boot.
fn uptime() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Identifies the machine and its current boot.
fn boot_id() -> String {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|t| !t.is_empty());
    let machine = read("/etc/machine-id").or_else(|| read("/proc/sys/kernel/hostname")).unwrap_or_default();
    format!("{machine}:{}", read("/proc/sys/kernel/random/boot_id").unwrap_or_default())
}
