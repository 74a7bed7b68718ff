//! What an agent is given: its jail, the keys and the one file that its profile names, and flower's own tools.

use super::credentials::{self, Lent};
use super::mask::Mask;
use super::profiles::Profile;
use super::program::Program;
use crate::App;
use crate::worktrees::place::Place;
use crate::worktrees::private;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Agent;
use flower_core::worktree::Seal;
use flower_jail::Network;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

pub(super) struct Equipment {
    pub(super) launcher: Vec<OsString>,
    pub(super) command: Vec<OsString>,
    pub(super) dir: PathBuf,
    /// What is [`user_home`] inside.
    pub(super) home: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) mask: Arc<Mask>,
    pub(super) lent: Option<Lent>,
}

/// The operator's own home.
pub(super) fn user_home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/nonexistent"), PathBuf::from)
}

impl App {
    /// The narrower of what the project and the profile say, if either says anything. A profile that names a wider network than the
    /// project allows cannot do its work there, which is said before anything starts.
    pub(super) async fn network_for(&self, profile: &Profile, project: &str) -> Result<Option<Network>, Problem> {
        let allowed = self.facts_of(project).await?.settings.worktree.network;
        match (allowed, profile.network) {
            (Some(Network::Closed), Some(needed @ (Network::Web | Network::Open))) => Err(Problem::new(
                ProblemKind::Refused,
                format!(
                    "profile `{}` needs a network (`network = \"{}\"`), and `network = \"closed\"` in {project}'s \
                     flower.toml allows none",
                    profile.name,
                    if needed == Network::Web { "web" } else { "open" },
                ),
                format!(
                    "for a model that needs none, set `network = \"closed\"` in `[agents.{}]` of config.toml; or set \
                     `network = \"web\"` in `[worktree]` of flower.toml",
                    profile.name
                ),
            )),
            (Some(allowed), Some(needed)) => Ok(Some(allowed.min(needed))),
            (allowed, needed) => Ok(allowed.or(needed)),
        }
    }

    pub(super) async fn equip(
        &self,
        agent: &Agent,
        profile: &Profile,
        program: &Program,
        place: &Place,
        token: &str,
    ) -> Result<Equipment, Problem> {
        if place.seal == Seal::Linked {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("worktree `{}` is linked, so nothing would keep an agent away from MAIN", place.name),
                "use a sealed one: `flower worktree new NAME`",
            ));
        }
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        let network = self.network_for(profile, &place.project).await?;
        let mut spec = self.approved_spec(place).await?;
        spec.network = network.unwrap_or(spec.network);
        spec.connect.extend(&profile.connect);
        spec.read.extend(profile.readable(&user_home()));
        spec.read.extend(program.read.iter().cloned());
        spec.programs.extend(program.folders.iter().cloned());
        spec.env.extend(profile.set.clone());
        let mut env = vec![("FLOWER_TOKEN".into(), token.into())];
        let mut secrets = vec![token.to_owned()];
        for name in &profile.env {
            if let Some(value) = self.agents.keys.value(name) {
                spec.pass_env.push(name.clone());
                env.push((name.into(), value.expose().into()));
            }
        }
        secrets.extend(self.agents.keys.secrets(profile).iter().map(|secret| secret.expose().to_owned()));
        let home = place.home();
        let lent = credentials::lend(profile, &user_home(), &home).map_err(io)?;
        let file = lent.as_ref().and_then(|lent| fs::read_to_string(user_home().join(lent.below())).ok());
        let mask = Mask::of_credentials(secrets, &file.unwrap_or_default());
        let launcher = private::launcher(place, &spec, &format!("agent-{}", agent.number)).map_err(io)?;
        let mut command = vec![program.path.clone().into_os_string()];
        command.extend(profile.command.iter().skip(1).map(OsString::from));
        Ok(Equipment { launcher, command, dir: place.tree.clone(), home, env, mask: Arc::new(mask), lent })
    }
}
