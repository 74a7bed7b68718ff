//! Time for leases: a clock that counts up while the machine runs, and that cannot be set.

use serde::{Deserialize, Serialize};

/// A reading of the boot clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootTime {
    /// Identifies the boot of the machine that the reading belongs to.
    pub boot: String,
    /// Milliseconds since the machine started.
    pub now: u64,
    /// The reading at which flower first ran after that boot.
    pub since: u64,
}

/// The boot time of the last heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub boot: String,
    pub at: u64,
}

impl BootTime {
    pub fn heartbeat(&self) -> Heartbeat {
        Heartbeat { boot: self.boot.clone(), at: self.now }
    }

    /// Milliseconds that are left of `seconds` after `beat`. A lease from before the machine started counts from when
    /// flower first ran again, because its holder could not send a heartbeat in between. A lease of another machine
    /// never ends here: only that machine can compare its clock.
    pub fn left(&self, beat: &Heartbeat, seconds: u64) -> u64 {
        if machine(&beat.boot) != machine(&self.boot) {
            return u64::MAX;
        }
        let from = if beat.boot == self.boot { beat.at } else { self.since };
        from.saturating_add(seconds.saturating_mul(1_000)).saturating_sub(self.now)
    }

    pub fn is_over(&self, beat: &Heartbeat, seconds: u64) -> bool {
        self.left(beat, seconds) == 0
    }
}

/// The machine's id, before the colon. Clocks of different machines cannot be compared.
fn machine(boot: &str) -> Option<&str> {
    boot.split_once(':').map(|(machine, _)| machine)
}

/// A duration in words, such as `15 minutes`.
pub fn in_words(milliseconds: u64) -> String {
    let count = |n: u64, unit: &str| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
    match milliseconds.div_ceil(1_000) {
        seconds @ 0..=90 => count(seconds, "second"),
        seconds @ 91..=5_400 => count(seconds.div_ceil(60), "minute"),
        seconds => count(seconds.div_ceil(3_600), "hour"),
    }
}

/// Parses a duration such as `90s`, `15m` or `2h` into seconds, from one second to one day.
pub fn seconds(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit = match unit.trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit).filter(|seconds| (1..=86_400).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(boot: &str, now: u64, since: u64) -> BootTime {
        BootTime { boot: boot.into(), now, since }
    }

    #[test]
    fn a_lease_ends_when_its_time_is_over() {
        let beat = moment("a", 5_000, 0).heartbeat();
        assert_eq!(moment("a", 14_999, 0).left(&beat, 10), 1);
        assert!(moment("a", 15_000, 0).is_over(&beat, 10));
        // A clock that does not advance ends no lease.
        assert!(!moment("a", 5_000, 0).is_over(&beat, 10));
    }

    #[test]
    fn after_a_restart_of_the_machine_it_is_renewed_once() {
        let beat = moment("a", 9_000_000, 0).heartbeat();
        assert_eq!(moment("b", 3_000, 2_000).left(&beat, 10), 9_000);
        assert!(moment("b", 12_000, 2_000).is_over(&beat, 10));
    }

    #[test]
    fn a_lease_of_another_machine_is_not_judged_here() {
        let beat = moment("one:a", 5_000, 0).heartbeat();
        assert!(!moment("two:b", u64::MAX / 2, 0).is_over(&beat, 10));
        assert!(moment("one:b", 20_000, 0).is_over(&beat, 10));
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(in_words(1), "1 second");
        assert_eq!(in_words(90_000), "90 seconds");
        assert_eq!(in_words(15 * 60_000), "15 minutes");
        assert_eq!(in_words(8 * 3_600_000), "8 hours");
    }
}
