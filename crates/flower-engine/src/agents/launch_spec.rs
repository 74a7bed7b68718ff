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
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

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

impl Agents {
    pub(super) async fn launch_spec(
        &self,
        agent: &Agent,
        profile: &Profile,
        program: &Program,
        place: &WorktreePaths,
        token: &str,
    ) -> Result<LaunchSpec, Problem> {
        if place.seal == Seal::Linked {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("worktree `{}` is linked, so an agent in it could change MAIN", place.name),
                "use a sealed one: `flower worktree new NAME`",
            ));
        }
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        let network = self.profiles.network_for(profile, &place.project).await?;
        self.worktrees.bring_in_at_entry(place).await;
        let mut spec = self.worktrees.approved_spec(place, Some(&network)).await?;
        spec.read.extend(profile.readable(&user_home()));
        spec.read.extend(program.read.iter().cloned());
        spec.programs.extend(program.folders.iter().cloned());
        spec.env.extend(profile.set.clone());
        let mut env = vec![("FLOWER_TOKEN".into(), token.into())];
        let mut secrets = vec![token.to_owned()];
        for name in &profile.env {
            if let Some(value) = self.profiles.keys().value(name) {
                spec.pass_env.push(name.clone());
                env.push((name.into(), value.expose().into()));
            }
        }
        secrets.extend(self.profiles.keys().secrets(profile).iter().map(|secret| secret.expose().to_owned()));
        let home = place.home();
        let lent = credentials::lend(profile, &user_home(), &home).map_err(io)?;
        let file = lent.as_ref().and_then(|lent| fs::read_to_string(user_home().join(lent.below())).ok());
        let mask = Mask::of_credentials(secrets, &file.unwrap_or_default());
        let launcher = private::launcher(place, &spec, &format!("agent-{}", agent.number)).map_err(io)?;
        let mut command = vec![program.path.clone().into_os_string()];
        command.extend(profile.command.iter().skip(1).map(OsString::from));
        let (dir, program) = (place.tree.clone(), identity(profile, program));
        Ok(LaunchSpec { launcher, command, dir, home, env, mask: Arc::new(mask), lent, program })
    }
}
