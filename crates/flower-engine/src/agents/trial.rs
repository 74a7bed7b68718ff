//! Tries an agent: starts its program in a jail without any network, and opens a session. Nothing is asked of a model.

use super::acp_driver::drain_early;
use super::launch_spec::Equipment;
use super::opening::{OpenError, OpenedSession, Opening};
use super::process::Process;
use super::session_tools::{FlowerTools, Transport, may_be_the_server};
use super::transcript::Transcript;
use crate::Agents;
use crate::acp::{AUTH_REQUIRED, AcpError, Connection};
use crate::notify::ChangeHints;
use crate::profiles::config::{Config, Profile, Protocol};
use crate::profiles::program::Program;
use crate::profiles::{Trial, identity, keys, user_home};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::ProfileView;
use flower_core::Caller;
use flower_core::policy::{self, Action};
use flower_jail::{Bind, Spec};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// For all of it; each request has a shorter deadline.
const TRIAL_TIMEOUT: Duration = Duration::from_secs(180);
/// Stands where the token of a run would: a trial calls no tool.
const NO_TOKEN: &str = "trial";

/// The directories of a trial.
struct TrialDirs {
    folder: PathBuf,
    tree: PathBuf,
    home: PathBuf,
    tmp: PathBuf,
}

impl TrialDirs {
    fn make(folder: PathBuf) -> io::Result<TrialDirs> {
        let _ = fs::remove_dir_all(&folder);
        let [tree, home, tmp] = ["tree", "home", "tmp"].map(|name| folder.join(name));
        for dir in [&tree, &home, &tmp] {
            fs::create_dir_all(dir)?;
        }
        Ok(TrialDirs { folder, tree, home, tmp })
    }
}

impl Drop for TrialDirs {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!("{}: {error}", self.folder.display());
        }
    }
}

impl Agents {
    /// Tries a profile, and returns it with the result. One that cannot run is returned as it is.
    pub async fn try_profile(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<ProfileView, Problem> {
        policy::require_action(caller, Action::StartAgent)?;
        let config = Config::load(&self.home)?;
        let profile = config.profile(name)?;
        if profile.protocol == Protocol::Pty {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("`{name}` runs in a terminal, so there is no handshake to try"),
                format!("start it: `flower agent spawn {name} --brief N`"),
            ));
        }
        self.worktrees.require_jail().await?;
        let program = self.profiles.find_program(profile).await;
        if let (Ok(program), None) = (program, keys::missing_key(profile, self.profiles.keys(), &user_home())) {
            let trial = self.try_program(profile, &program).await?;
            self.profiles.record_trial(profile, trial);
        }
        self.profiles.show(name).await
    }

    async fn try_program(&self, profile: &Profile, program: &Program) -> Result<Trial, Problem> {
        let folder = self.home.agent_trial(&profile.name);
        let io = |error: io::Error| self.home.problem(&folder, &error);
        let _one_at_a_time = self.trial_lock.lock().await;
        let place = TrialDirs::make(folder.clone()).map_err(io)?;
        let transcript = Transcript::open(&place.folder.join("transcript"), ChangeHints::default(), "trial");
        let transcript = Arc::new(transcript.map_err(io)?);
        let equipment =
            trial_jail(&place).and_then(|spec| self.lend_into(spec, profile, &[program], &place.home)).map_err(io)?;
        transcript.set_mask(Arc::new(equipment.mask([])));
        let Equipment { spec, env, lent, .. } = equipment;
        let launcher = save_jail(&place, &spec).map_err(io)?;
        let env: Vec<_> = env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let keyless = !profile.env.iter().any(|name| self.profiles.keys().has(name));
        let authenticate = lent.as_ref().filter(|_| keyless).and(profile.authenticate.clone());
        let mut command: Vec<OsString> = vec![program.path.clone().into()];
        command.extend(profile.command.iter().skip(1).map(OsString::from));
        let mut trial =
            Trial { program: identity(profile, program), at: crate::now(), error: None, model: None, transport: None };
        let started = Process::start(&launcher, &command, &place.tree, &env, transcript.clone());
        let opened = match started {
            Ok((process, stdin, stdout)) => {
                let (connection, mut incoming) = Connection::new(stdout, stdin);
                let connection = Arc::new(connection);
                let tools = FlowerTools { url: self.url.clone(), token: NO_TOKEN.to_owned() };
                let opening = Opening { connection: &connection, profile, dir: &place.tree, tools };
                let talking = drain_early(&transcript, &mut incoming, open(&opening, authenticate));
                let opened = tokio::time::timeout(TRIAL_TIMEOUT, talking).await;
                process.end().await;
                opened.unwrap_or_else(|_| Err(format!("no session within {} s", TRIAL_TIMEOUT.as_secs())))
            }
            Err(error) => Err(format!("the process cannot be started: {error}")),
        };
        if let Some(lent) = lent {
            lent.take_back();
        }
        match opened {
            Ok((model, transport)) => (trial.model, trial.transport) = (model, transport),
            Err(why) => {
                transcript.flush_all();
                let said = transcript.last_output().map(|said| format!("; it said: {said}")).unwrap_or_default();
                trial.error = Some(transcript.masked(&format!("{why}{said}")));
            }
        }
        Ok(trial)
    }

    /// Remembers that a session could be opened with this program.
    pub(super) fn record_trial(
        &self,
        profile: &Profile,
        program: &str,
        session: &OpenedSession,
        model: Option<String>,
    ) {
        let (program, at) = (program.to_owned(), crate::now());
        self.profiles.record_trial(profile, Trial { program, at, error: None, model, transport: session.transport });
    }

    /// Remembers that none could, unless one could before: then the reason is not the program.
    pub(super) fn record_failed_trial(&self, profile: &Profile, program: &str, error: &OpenError) {
        if self.profiles.trial(profile, program).is_some_and(|trial| trial.error.is_none()) {
            return;
        }
        let (program, at, error) = (program.to_owned(), crate::now(), Some(in_words(error)));
        self.profiles.record_trial(profile, Trial { program, at, error, model: None, transport: None });
    }
}

/// A jail as a worktree has it, with an empty folder, and only a loopback device.
fn trial_jail(place: &TrialDirs) -> io::Result<Spec> {
    let mut spec = Spec::new(place.tree.clone());
    let home = user_home();
    spec.write.push(place.tree.clone());
    spec.binds.push(Bind { from: place.home.clone(), at: home.clone(), write: true });
    spec.binds.push(Bind { from: place.tmp.clone(), at: "/tmp".into(), write: true });
    spec.env.insert("HOME".into(), home.to_string_lossy().into_owned());
    let flower = std::env::current_exe()?;
    spec.programs.extend(flower.parent().map(Path::to_owned));
    spec.read.push(flower);
    Ok(spec)
}

/// Saves the spec of a jail, and returns the command that runs a program in it.
fn save_jail(place: &TrialDirs, spec: &Spec) -> io::Result<Vec<OsString>> {
    let file = place.folder.join("jail.json");
    spec.save(&file)?;
    Ok(flower_jail::command(&std::env::current_exe()?, &file))
}

/// Opens a session with flower's tools over any transport that the agent takes. Returns its model.
async fn open(
    opening: &Opening<'_>,
    authenticate: Option<String>,
) -> Result<(Option<String>, Option<Transport>), String> {
    let open = async {
        let capabilities = opening.initialize(authenticate).await?;
        let mut refused = None;
        for transport in Transport::to_try(None, capabilities.mcp_capabilities.http) {
            match opening.open_new(Some(transport)).await {
                Ok(session) => return Ok(session),
                Err(error) if may_be_the_server(&error, opening.profile) => refused = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        match opening.open_new(None).await {
            Ok(session) => Ok(session),
            Err(error) => Err(OpenError::from(refused.unwrap_or(error))),
        }
    };
    let session = open.await.map_err(|error| in_words(&error))?;
    let chosen = opening.choose(&session).await.map_err(|error| in_words(&error))?;
    Ok((chosen.model, session.transport))
}

fn in_words(error: &OpenError) -> String {
    match error {
        OpenError::Acp(AcpError::Refused { code: AUTH_REQUIRED, message, .. }) => {
            format!("the agent requires a login: {message}")
        }
        OpenError::Acp(error) => error.to_string(),
        OpenError::Failed(why) => why.clone(),
    }
}
