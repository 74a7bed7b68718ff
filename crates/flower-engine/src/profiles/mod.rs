//! Agent profiles: which agents are configured, whether their programs and keys exist, and why an agent does not start.

pub mod config;
mod eligibility;
mod file;
pub mod keys;
pub mod mask;
pub mod mcp;
mod node;
pub mod outages;
pub mod program;
pub(crate) mod secret_patterns;
mod spend;
mod trials;

use crate::Setup;
use crate::Worktrees;
use crate::home::Home;
use crate::network::NetworkPolicy;
use crate::settings::AgentSettings;
use config::{Config, Profile};
pub(crate) use eligibility::{ProjectCapacity, idle_in, missing_members};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{NetworkMode, ProfileView};
use flower_store::Store;
use keys::Keys;
use program::{Missing, Program};
pub(crate) use spend::amount;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use trials::Trials;
pub(crate) use trials::{Trial, identity};

/// How long the result of a search is used.
const PROGRAM_CACHE_TIME: Duration = Duration::from_secs(20);

/// When a program was looked for, for which profile, and the result.
type CachedProgram = (Instant, Profile, Result<Program, Missing>);

/// A value that must not land, and what it is called.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NamedSecret {
    pub(crate) name: String,
    pub(crate) value: Vec<u8>,
}

pub struct Profiles {
    store: Store,
    home: Home,
    worktrees: Arc<Worktrees>,
    /// Keys of agents, in memory only.
    keys: Keys,
    /// Cache of found programs by profile, because a search may start Node.
    programs: Mutex<HashMap<String, CachedProgram>>,
    trials: Mutex<Trials>,
}

impl Profiles {
    pub(crate) fn new(setup: &Setup, worktrees: &Arc<Worktrees>) -> Profiles {
        Profiles {
            store: setup.store.clone(),
            home: setup.home.clone(),
            worktrees: worktrees.clone(),
            keys: Keys::default(),
            programs: Mutex::default(),
            trials: Mutex::new(Trials::load(&setup.home)),
        }
    }

    /// The keys that are lent to agents.
    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub async fn list(self: &Arc<Self>) -> Result<Vec<ProfileView>, Problem> {
        let config = Config::load(&self.home)?;
        let app = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let home = user_home();
            let all = config.profiles.values();
            all.map(|profile| app.view(profile, &home)).collect()
        });
        looking.await.map_err(|error| Problem::bug(error.to_string()))
    }

    /// One profile, as [`Profiles::list`] shows it.
    pub(crate) async fn show(self: &Arc<Self>, name: &str) -> Result<ProfileView, Problem> {
        let profile = Config::load(&self.home)?.profile(name)?.clone();
        let app = self.clone();
        let looking = tokio::task::spawn_blocking(move || app.view(&profile, &user_home()));
        looking.await.map_err(|error| Problem::bug(error.to_string()))
    }

    /// Searches the program, which may start Node.
    fn view(&self, profile: &Profile, home: &Path) -> ProfileView {
        let found = program::find(profile);
        let trial = self.view_trial(profile, found.as_ref().ok());
        program::readiness(profile, &self.keys, home, found, trial)
    }

    /// The program of a profile, cached for a while.
    pub(crate) async fn find_program(&self, profile: &Profile) -> Result<Program, Missing> {
        {
            let found = self.programs.lock().expect("no panic while held");
            if let Some((at, of, program)) = found.get(&profile.name)
                && at.elapsed() < PROGRAM_CACHE_TIME
                && of == profile
            {
                return program.clone();
            }
        }
        let wanted = profile.clone();
        let found = tokio::task::spawn_blocking(move || program::find(&wanted)).await;
        let found = found.unwrap_or_else(|error| Err(Missing { what: error.to_string(), how: "try again".to_owned() }));
        let new = (Instant::now(), profile.clone(), found.clone());
        self.programs.lock().expect("no panic while held").insert(profile.name.clone(), new);
        found
    }

    /// The variables that profiles name.
    pub fn wanted_keys(&self) -> Result<Vec<String>, Problem> {
        Ok(keys::named_variables(&Config::load(&self.home)?))
    }

    /// All secrets that agents may be lent. The gate rejects landings with one of them.
    pub(crate) fn lent_secrets(&self) -> Vec<NamedSecret> {
        let profiles = Config::load(&self.home).map(|config| config.profiles).unwrap_or_default();
        let home = user_home();
        let mut secrets: Vec<NamedSecret> = Vec::new();
        for profile in profiles.values() {
            let of = format!("a key that profile `{}` lends", profile.name);
            let named = |name: &str, value: String| NamedSecret { name: name.to_owned(), value: value.into_bytes() };
            secrets.extend(self.keys.secrets(profile).iter().map(|secret| named(&of, secret.expose().to_owned())));
            for file in &profile.credentials {
                let Some(below) = file.strip_prefix("~/") else { continue };
                let Ok(text) = std::fs::read_to_string(home.join(below)) else { continue };
                let name = format!("a value of `{file}`");
                secrets.extend(secret_patterns::in_credentials(&text).into_iter().map(|value| named(&name, value)));
            }
        }
        secrets.retain(|secret| secret.value.len() >= mask::MIN_SECRET);
        secrets
    }

    /// Fails if the profile does not exist, or if its agents cannot run here because a program or a model is missing. An agent
    /// without a key starts and waits for it.
    pub(crate) async fn require_runnable(&self, name: &str) -> Result<(), Problem> {
        // While the file is not valid the dispatch waits, and shows the reason.
        let Ok(config) = Config::load(&self.home) else { return Ok(()) };
        let profile = config.profile(name)?;
        let missing = match (profile.missing_model(), self.find_program(profile).await) {
            (Some((what, how)), _) => Some((what, how)),
            (None, Err(missing)) => Some((format!("`{name}` cannot run here: {}", missing.what), missing.how)),
            (None, Ok(_)) => None,
        };
        let Some((what, how)) = missing else { return Ok(()) };
        let by_hand = "or start an agent by hand, with a packet: `flower dispatch BRIEF`".to_owned();
        Err(Problem { kind: ProblemKind::Refused, message: what, hints: vec![how, by_hand] })
    }

    /// `[agents]` of a project; the defaults if it cannot be read.
    pub(crate) async fn agent_settings(&self, project: &str) -> AgentSettings {
        self.worktrees.facts_of(project).await.map(|facts| facts.settings.agents).unwrap_or_default()
    }

    /// The network of an agent: the narrower of those of project and profile. Fails if the profile needs a network and the project allows none, so
    /// that this is known before the agent starts.
    pub(crate) async fn network_for(&self, profile: &Profile, project: &str) -> Result<NetworkPolicy, Problem> {
        let settings = self.worktrees.facts_of(project).await?.settings.worktree;
        match (settings.network, profile.network) {
            (Some(NetworkMode::Closed), Some(needed @ (NetworkMode::Web | NetworkMode::Open))) => Err(Problem::new(
                ProblemKind::Refused,
                format!(
                    "profile `{}` needs a network (`network = \"{}\"`), and `network = \"closed\"` in {project}'s \
                     flower.toml allows none",
                    profile.name,
                    needed.as_str(),
                ),
                format!(
                    "for a model that needs none, set `network = \"closed\"` in `[agents.{}]` of config.toml; or set \
                     `network = \"web\"` in `[worktree]` of flower.toml",
                    profile.name
                ),
            )),
            (allowed, needed) => {
                // A side that names no network leaves the choice to the other.
                let mode = allowed.or(needed).unwrap_or_default();
                let project = NetworkPolicy { mode: allowed.unwrap_or(mode), ..settings.network_policy() };
                let profile = NetworkPolicy { mode: needed.unwrap_or(mode), ..profile.network_policy() };
                Ok(project.narrowed_by(&profile))
            }
        }
    }
}

/// The operator's home directory.
pub(crate) fn user_home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from)
}
