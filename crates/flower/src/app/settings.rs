//! `flower.toml`, as MAIN's branch has it. What lies uncommitted in a directory counts for nothing.

use crate::error::{Problem, ProblemKind};
use crate::jail::Network;
use flower_core::chain::sha256;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub project: ProjectSettings,
    pub worktree: WorktreeSettings,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProjectSettings {
    /// MAIN's branch, where it is neither `main` nor `master`.
    pub main: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Files and folders of MAIN that every worktree sees, read-only.
    pub playbooks: Vec<String>,
    /// Commands that make a new worktree ready, run inside its jail.
    pub setup: Vec<String>,
    /// Ignored folders of MAIN that a new worktree gets a copy of.
    pub carry: Vec<String>,
    /// What runs inside may reach the web unless said otherwise.
    pub network: Option<Network>,
    /// Further ports that what runs inside may connect to.
    pub connect: Vec<u16>,
    /// Further places that what runs inside may read.
    pub read: Vec<std::path::PathBuf>,
}

impl Settings {
    pub fn parse(text: &str) -> Result<Settings, Problem> {
        toml::from_str(text).map_err(|error| {
            Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot be read: {}", error.to_string().trim_end().replace('\n', "; ")),
                "mend it on MAIN's branch and try again",
            )
        })
    }

    /// Every command that the file brings along, and everything by which it opens a jail further than usual.
    pub fn commands(&self) -> Vec<String> {
        self.worktree.setup.iter().cloned().chain(self.openings()).collect()
    }

    /// What a sealed worktree shows and reaches beyond the usual, in words.
    pub fn openings(&self) -> Vec<String> {
        let network = (self.worktree.network == Some(Network::Open)).then(|| "(reach any network)".to_owned());
        let ports = self.worktree.connect.iter().map(|port| format!("(connect to port {port})"));
        let places = self.worktree.read.iter().map(|path| format!("(read {})", path.display()));
        network.into_iter().chain(ports).chain(places).collect()
    }

    /// What an approval is bound to: it ends when a command changes.
    pub fn commands_sha256(&self) -> String {
        sha256(serde_json::to_string(&self.commands()).expect("plain data").as_bytes())
    }
}
