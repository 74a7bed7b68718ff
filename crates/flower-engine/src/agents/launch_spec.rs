//! Builds what an agent is started with: its jail, and the keys and the credentials file of its profile.

use super::credentials::{self, LentCredentials};
use crate::Agents;
use crate::profiles::config::Profile;
use crate::profiles::mask::Mask;
use crate::profiles::program::Program;
use crate::profiles::{identity, user_home};
use crate::worktrees::paths::WorktreePaths;
use crate::worktrees::private;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Agent;
use flower_core::worktree::Seal;
use flower_jail::Spec;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

pub(super) struct LaunchSpec {
    pub(super) launcher: Vec<OsString>,
    pub(super) command: Vec<OsString>,
    pub(super) dir: PathBuf,
    /// The directory outside that is [`user_home`] in the jail.
    pub(super) home: PathBuf,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) mask: Arc<Mask>,
    pub(super) lent: Option<LentCredentials>,
    /// The program, as trials name it.
    pub(super) program: String,
}

/// A jail with everything that a profile lends to it. flower starts agents in it, and a person opens shells in it.
pub(super) struct Equipment {
    pub(super) spec: Spec,
    pub(super) env: Vec<(String, String)>,
    pub(super) lent: Option<LentCredentials>,
    /// What must not be shown: keys, and the content of the credentials file.
    secrets: Vec<String>,
    credentials: String,
    /// What the operator should know before the program runs.
    pub(super) notes: Vec<String>,
}

impl Equipment {
    pub(super) fn mask(&self, further: impl IntoIterator<Item = String>) -> Mask {
        Mask::of_credentials(self.secrets.iter().cloned().chain(further), &self.credentials)
    }
}

impl Agents {
    pub(super) async fn launch_spec(
        &self,
        agent: &Agent,
        profile: &Profile,
        program: &Program,
        place: &WorktreePaths,
        token: &str,
    ) -> Result<LaunchSpec, Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        let equipment = self.equip(profile, &[program], place).await?;
        let mask = Arc::new(equipment.mask([token.to_owned()]));
        let Equipment { spec, env, lent, .. } = equipment;
        let env = std::iter::once(("FLOWER_TOKEN".to_owned(), token.to_owned())).chain(env);
        let env = env.map(|(name, value)| (name.into(), value.into())).collect();
        let launcher = private::launcher(place, &spec, &format!("agent-{}", agent.number)).map_err(io)?;
        let mut command = vec![program.path.clone().into_os_string()];
        command.extend(profile.command.iter().skip(1).map(OsString::from));
        let (dir, program) = (place.tree.clone(), identity(profile, program));
        Ok(LaunchSpec { launcher, command, dir, home: place.home(), env, mask, lent, program })
    }

    /// The jail of a worktree with everything that a profile lends: network, paths, variables, keys and login.
    pub(super) async fn equip(
        &self,
        profile: &Profile,
        programs: &[&Program],
        place: &WorktreePaths,
    ) -> Result<Equipment, Problem> {
        if place.seal == Seal::Linked {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("worktree `{}` is linked, so an agent in it could change MAIN", place.name),
                "use a sealed one: `flower worktree new NAME`",
            ));
        }
        let network = self.profiles.network_for(profile, &place.project).await?;
        let notes = self.worktrees.bring_in_at_entry(place).await.into_iter().collect();
        let spec = self.worktrees.approved_spec(place, Some(&network)).await?;
        let equipment = self.lend_into(spec, profile, programs, &place.home());
        let equipment = equipment.map_err(|error| self.home.problem(&place.folder, &error))?;
        Ok(Equipment { notes, ..equipment })
    }

    /// Adds to a jail what a profile lends: programs, paths, variables, keys, and the login in the home of the jail.
    pub(super) fn lend_into(
        &self,
        mut spec: Spec,
        profile: &Profile,
        programs: &[&Program],
        home: &Path,
    ) -> io::Result<Equipment> {
        spec.read.extend(profile.readable(&user_home()));
        for program in programs {
            spec.read.extend(program.read.iter().cloned());
            spec.programs.extend(program.folders.iter().cloned());
        }
        spec.env.extend(profile.set.clone());
        let mut env = Vec::new();
        for name in &profile.env {
            if let Some(value) = self.profiles.keys().value(name) {
                spec.pass_env.push(name.clone());
                env.push((name.clone(), value.expose().to_owned()));
            }
        }
        let secrets = self.profiles.keys().secrets(profile).iter().map(|secret| secret.expose().to_owned()).collect();
        let lent = credentials::lend(profile, &user_home(), home)?;
        let file = lent.as_ref().and_then(|lent| fs::read_to_string(user_home().join(lent.below())).ok());
        let credentials = file.unwrap_or_default();
        Ok(Equipment { spec, env, lent, secrets, credentials, notes: Vec::new() })
    }
}
