//! Which agents have been tried: whether a session could be opened with a program, remembered by its version.

use super::Profiles;
use super::config::{Profile, Protocol};
use super::program::Program;
use crate::agents::Transport;
use crate::home::{Home, write_private};
use flower_contract::view::{TrialState, TrialView};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;

/// Far more than all profiles need.
const MAX_BYTES: u64 = 1 << 20;
/// Length of an error.
const MAX_WHY: usize = 500;

/// How the newest attempt to open a session with a program went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trial {
    /// The version of the program, and how it was started.
    pub(crate) program: String,
    pub(crate) at: String,
    /// Why no session could be opened. Absent: one was.
    #[serde(default)]
    pub(crate) error: Option<String>,
    /// The model that the session reported.
    #[serde(default)]
    pub(crate) model: Option<String>,
    /// How it took flower's tools.
    #[serde(default)]
    pub(crate) transport: Option<Transport>,
}

/// The trials of all profiles, kept in one file.
pub(super) struct Trials {
    home: Home,
    by_profile: BTreeMap<String, Trial>,
}

impl Trials {
    /// An unreadable file counts as none: then every agent is untried.
    pub(super) fn load(home: &Home) -> Trials {
        let mut text = Vec::new();
        let read = fs::File::open(home.agent_trials()).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
        let by_profile = read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Trials { home: home.clone(), by_profile }
    }

    fn store(&mut self, profile: &str, trial: Trial) {
        self.by_profile.insert(profile.to_owned(), trial);
        let text = serde_json::to_string(&self.by_profile).expect("plain data");
        if let Err(error) = write_private(&self.home.agent_trials(), &text) {
            tracing::warn!("the trial of `{profile}` is not stored: {error}");
        }
    }
}

/// What a trial is remembered by: another version, or another command, is untried.
pub(crate) fn identity(profile: &Profile, program: &Program) -> String {
    let version = program.version.clone().unwrap_or_else(|| {
        use std::os::unix::fs::MetadataExt;
        let about = fs::metadata(&program.real).map(|about| format!("{}-{}", about.mtime(), about.size()));
        about.unwrap_or_default()
    });
    format!("{version} {}", profile.command.join(" "))
}

impl Profiles {
    /// The newest trial of the profile with this program.
    pub(crate) fn trial(&self, profile: &Profile, program: &str) -> Option<Trial> {
        let trials = self.trials.lock().expect("no panic while held");
        trials.by_profile.get(&profile.name).filter(|trial| trial.program == program).cloned()
    }

    pub(crate) fn record_trial(&self, profile: &Profile, trial: Trial) {
        let error = trial.error.map(|why| flower_core::text::head(&why, MAX_WHY));
        let trial = Trial { error, ..trial };
        let mut trials = self.trials.lock().expect("no panic while held");
        // Each start of an agent records the same, so the file is written only when something is new.
        let is_known = trials
            .by_profile
            .get(&profile.name)
            .is_some_and(|known| Trial { at: trial.at.clone(), ..known.clone() } == trial);
        if !is_known {
            trials.store(&profile.name, trial);
        }
    }

    /// The trial of a profile as it is shown.
    pub(super) fn view_trial(&self, profile: &Profile, program: Option<&Program>) -> TrialView {
        let trial = program.and_then(|program| self.trial(profile, &identity(profile, program)));
        let state = match (&trial, profile.protocol) {
            // A terminal has no handshake.
            (_, Protocol::Pty) => TrialState::NotNeeded,
            (None, Protocol::Acp) => TrialState::NotTried,
            (Some(Trial { error: Some(_), .. }), Protocol::Acp) => TrialState::Failed,
            (Some(_), Protocol::Acp) => TrialState::Worked,
        };
        let (at, why, model) = trial
            .map(|trial| (trial.at, trial.error, trial.model))
            .map_or_else(|| (None, None, None), |(at, why, model)| (Some(at), why, model));
        TrialView { state, at, why, model }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::config::Config;

    #[test]
    fn trials_are_kept_in_a_file_and_a_damaged_one_counts_as_none() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let trial = Trial {
            program: "1.0 x".into(),
            at: "2026-11-01T00:00:00.000000Z".into(),
            error: None,
            model: Some("m".into()),
            transport: Some(Transport::Http),
        };
        Trials::load(&home).store("x", trial.clone());
        assert_eq!(Trials::load(&home).by_profile.get("x"), Some(&trial));
        fs::write(home.agent_trials(), "{").unwrap();
        assert!(Trials::load(&home).by_profile.is_empty());
    }

    #[test]
    fn another_version_or_command_is_another_program() {
        let text = |command: &str| format!("[agents.x]\nprotocol = \"acp\"\ncommand = {command}\n");
        let profile = |command: &str| Config::parse(&text(command)).unwrap().profile("x").unwrap().clone();
        let program = |version: &str| Program {
            path: "/x".into(),
            real: "/x".into(),
            read: Vec::new(),
            folders: Vec::new(),
            version: Some(version.to_owned()),
        };
        let one = identity(&profile("[\"x\"]"), &program("1"));
        assert_eq!(one, identity(&profile("[\"x\"]"), &program("1")));
        assert_ne!(one, identity(&profile("[\"x\"]"), &program("2")));
        assert_ne!(one, identity(&profile("[\"x\", \"--y\"]"), &program("1")));
    }
}
