//! Green results of checks, so that a check need not run again on the same tree. They are in a file of FLOWER_HOME, which no jail
//! shows. A file that cannot be read is forgotten: then the checks run.

use super::check_runner::Origin;
use crate::home::write_private;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

/// Far more than the landings of some days.
const MAX_RESULTS: usize = 2_000;
/// The key of a result does not cover the system's own programs, which are updated now and then.
const MAX_AGE_SECONDS: i64 = 3 * 24 * 60 * 60;

pub(super) struct GreenChecks {
    file: PathBuf,
    /// Oldest first. `None` until the file was read.
    known: Mutex<Option<Vec<GreenCheck>>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GreenCheck {
    /// The digest of everything that the result depends on.
    key: String,
    pub(super) origin: Origin,
    /// Seconds since 1970.
    at: i64,
}

impl GreenChecks {
    pub(super) fn new(file: PathBuf) -> GreenChecks {
        GreenChecks { file, known: Mutex::default() }
    }

    pub(super) fn find(&self, key: &str) -> Option<GreenCheck> {
        self.with(|known| known.iter().rev().find(|green| green.key == key && is_recent(green)).cloned())
    }

    pub(super) fn add(&self, key: String, origin: Origin) {
        self.change(|known| {
            known.retain(|green| green.key != key && is_recent(green));
            known.push(GreenCheck { key, origin, at: Timestamp::now().as_second() });
            let over = known.len().saturating_sub(MAX_RESULTS);
            known.drain(..over);
        });
    }

    /// Forgets a result, because the check has failed now.
    pub(super) fn remove(&self, key: &str) {
        if self.find(key).is_some() {
            self.change(|known| known.retain(|green| green.key != key));
        }
    }

    fn with<T>(&self, read: impl FnOnce(&mut Vec<GreenCheck>) -> T) -> T {
        let mut known = self.known.lock().expect("no panic while held");
        let load = || fs::read(&self.file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        read(known.get_or_insert_with(load))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<GreenCheck>)) {
        let written = self.with(|known| {
            change(known);
            write_private(&self.file, &serde_json::to_string(known).expect("plain data"))
        });
        if let Err(error) = written {
            tracing::warn!("{}: {error}", self.file.display());
        }
    }
}

fn is_recent(green: &GreenCheck) -> bool {
    Timestamp::now().as_second() - green.at < MAX_AGE_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;
    use flower_core::LandingId;

    #[test]
    fn green_results_survive_a_restart_and_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("green.json");
        let green = GreenChecks::new(file.clone());
        green.add("a".into(), Origin::Landing(LandingId(12)));
        green.add("b".into(), Origin::Worktree("price".into()));
        let again = GreenChecks::new(file.clone());
        assert_eq!(again.find("a").unwrap().origin.in_words(), "in landing 12");
        assert_eq!(again.find("b").unwrap().origin.in_words(), "when `price` was checked");
        again.remove("a");
        assert!(again.find("a").is_none() && GreenChecks::new(file.clone()).find("a").is_none());
        let many = (0..MAX_RESULTS + 5).map(|number| GreenCheck {
            key: number.to_string(),
            origin: Origin::Proposal,
            at: Timestamp::now().as_second(),
        });
        again.with(|known| *known = many.collect());
        again.add("newest".into(), Origin::Proposal);
        assert_eq!(again.with(|known| known.len()), MAX_RESULTS);
        assert!(again.find("0").is_none() && again.find("newest").is_some());
        fs::write(&file, "[{\"key\":").unwrap();
        assert!(GreenChecks::new(file).find("newest").is_none(), "what cannot be read is forgotten");
    }

    #[test]
    fn an_old_result_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let green = GreenChecks::new(dir.path().join("green.json"));
        let old = GreenCheck {
            key: "a".into(),
            origin: Origin::Proposal,
            at: Timestamp::now().as_second() - MAX_AGE_SECONDS,
        };
        green.with(|known| known.push(old));
        assert!(green.find("a").is_none());
    }
}
