//! What outlives the process: how far a script has come, and sessions that can be resumed. Whoever has no home forgets.

use super::script::{Header, Script};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub(super) struct Memory(Option<PathBuf>);

/// Of one part of one dispatch.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The next step of each script.
    pub(super) next: BTreeMap<String, usize>,
    /// What is played once only, and has been.
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

    pub(super) fn keep_progress(&self, part: &str, progress: &Progress) {
        self.write(part, progress);
    }

    pub(super) fn session(&self, id: &str) -> Option<Remembered> {
        let is_ours = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        is_ours.then(|| self.read(&format!("session-{id}"))).flatten()
    }

    pub(super) fn keep_session(&self, id: &str, session: &Remembered) {
        self.write(&format!("session-{id}"), session);
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let text = fs::read(self.0.as_ref()?.join(format!("{name}.json"))).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The old or the new, whenever somebody ends the process.
    fn write<T: Serialize>(&self, name: &str, content: &T) {
        let (Some(dir), Ok(text)) = (&self.0, serde_json::to_vec(content)) else { return };
        let fresh = dir.join(format!("{name}.new"));
        let put = fs::create_dir_all(dir).and_then(|()| fs::write(&fresh, text));
        if let Err(error) = put.and_then(|()| fs::rename(&fresh, dir.join(format!("{name}.json")))) {
            eprintln!("scripted: nothing is remembered: {error}");
        }
    }
}
