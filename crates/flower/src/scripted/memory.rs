//! State that outlives the process: the progress of scripts, and sessions that can be resumed. Stored in HOME; without HOME
//! nothing is stored.

use super::script::{Header, Script};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub(super) struct Memory(Option<PathBuf>);

/// The progress of one agent in one dispatch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The next step of each script.
    pub(super) next: BTreeMap<String, usize>,
    /// The `once` steps that were executed.
    pub(super) once: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub(super) header: Header,
    pub(super) script: Option<Script>,
    pub(super) next: usize,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory(std::env::var_os("HOME").map(|home| Path::new(&home).join(".scripted")))
    }

    pub(super) fn progress(&self, part: &str) -> Progress {
        self.read(part).unwrap_or_default()
    }

    pub(super) fn store_progress(&self, part: &str, progress: &Progress) {
        self.write(part, progress);
    }

    pub(super) fn session(&self, id: &str) -> Option<Remembered> {
        let is_valid = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_valid.then(|| self.read(&format!("session-{id}"))).flatten()
    }

    pub(super) fn store_session(&self, id: &str, session: &Remembered) {
        self.write(&format!("session-{id}"), session);
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = fs::read(self.0.as_ref()?.join(format!("{name}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Replaces the file atomically: a kill leaves the old or the new content.
    fn write<T: Serialize>(&self, name: &str, content: &T) {
        let (Some(dir), Ok(text)) = (&self.0, serde_json::to_vec(content)) else { return };
        let fresh = dir.join(format!("{name}.new"));
        let put = fs::create_dir_all(dir).and_then(|()| fs::write(&fresh, text));
        if let Err(error) = put.and_then(|()| fs::rename(&fresh, dir.join(format!("{name}.json")))) {
            eprintln!("scripted: progress cannot be stored: {error}");
        }
    }
}
