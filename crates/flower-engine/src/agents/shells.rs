//! Shells that a person opens in a worktree with what a profile lends: `flower worktree shell --as`. The command line runs the
//! jail; the daemon lends and takes back. A shell is open as long as the command line holds a connection.

use super::credentials::{LentCredentials, Returned};
use super::guarded_file::GuardedFile;
use super::launch_spec::Equipment;
use crate::Agents;
use crate::profiles::config::{Config, Profile};
use crate::profiles::mask::Mask;
use crate::profiles::mcp::McpConfiguration;
use crate::profiles::program::{self, Missing, Program, SearchPath};
use crate::profiles::{keys, user_home};
use crate::projects::ProjectChoice;
use crate::worktrees::paths::WorktreePaths;
use crate::worktrees::private;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ShellEndView, ShellView};
use flower_core::Caller;
use flower_core::policy::{self, Action};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a new shell waits for the connection that holds it.
const HOLD_TIMEOUT: Duration = Duration::from_secs(10);
/// From the end of that connection to that of the processes inside: both follow from the death of the command line.
const EXIT_TIME: Duration = Duration::from_millis(500);
/// Open shells of one daemon. A person has some.
const MAX_SHELLS: usize = 256;

/// What a person asks for.
#[derive(Clone, Debug)]
pub struct ShellRequest {
    pub profile: String,
    /// The program to run; by default that of the profile.
    pub program: Option<String>,
    /// The directories that are searched before the daemon's own, as in `PATH`.
    pub path: Option<String>,
}

pub(super) struct OpenShell {
    worktree: String,
    profile: String,
    mask: Arc<Mask>,
    lent: Option<LentCredentials>,
    /// The file with the spec of its jail.
    spec: PathBuf,
    is_held: bool,
}

/// Keeps a shell open. The shell ends with it.
pub struct ShellHold {
    agents: Arc<Agents>,
    id: String,
}

impl Drop for ShellHold {
    fn drop(&mut self) {
        let (agents, id) = (self.agents.clone(), std::mem::take(&mut self.id));
        // Without a runtime the daemon has ended, and has taken everything back.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                tokio::time::sleep(EXIT_TIME).await;
                agents.end_shell(&id).await;
            });
        }
    }
}

/// What is found of the programs that a shell needs.
struct Programs {
    /// What a person runs of this profile.
    of_profile: Result<Program, Missing>,
    /// What was named instead, if it is a program outside of the worktree.
    named: Option<Program>,
}

impl Agents {
    /// Lends a worktree's jail what a dispatch to the profile would, and returns how to run a program in it. Only the operator may
    /// ask: the answer has the values of keys.
    pub async fn open_shell(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        request: ShellRequest,
    ) -> Result<ShellView, Problem> {
        policy::require_action(caller, Action::GiveKeys)?;
        if self.shells.lock().expect("no panic while held").len() >= MAX_SHELLS {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{MAX_SHELLS} shells are open"),
                "close one of them: leave its program",
            ));
        }
        let config = Config::load(&self.home)?;
        let profile = config.profile(&request.profile)?;
        let worktree = self.worktrees.find_to_enter(choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        let programs = find_programs(profile, &request, &place).await?;
        let command = command(profile, &request, &programs)?;
        let all: Vec<&Program> = programs.of_profile.iter().chain(&programs.named).collect();
        let equipment = self.equip(profile, &all, &place).await?;
        let mask = Arc::new(equipment.mask([]));
        let Equipment { mut spec, env, lent, mut notes, .. } = equipment;
        if lent.is_some() && env.is_empty() {
            spec.env.extend(profile.login_set.clone());
        }
        notes.extend(keys::missing_key(profile, self.profiles.keys(), &user_home()));
        notes.extend(profile.missing_model().map(|(what, how)| format!("{what}: choose one in the session, or {how}")));
        if let Some(mcp) = &profile.mcp
            && let Err(why) = add_tools(mcp, &place.home())
        {
            notes.push(format!("flower's tools are not in {}: {why}; a packet prints the entry", mcp.file));
        }
        let id = crate::home::random_hex()[..16].to_owned();
        let file = format!("shell-{id}");
        let launcher =
            private::launcher(&place, &spec, &file).map_err(|error| self.home.problem(&place.folder, &error))?;
        let shell = OpenShell {
            worktree: place.name.clone(),
            profile: profile.name.clone(),
            mask,
            lent,
            spec: place.folder.join(format!("{file}.json")),
            is_held: false,
        };
        self.shells.lock().expect("no panic while held").insert(id.clone(), shell);
        self.end_unless_held(id.clone());
        Ok(ShellView {
            id,
            name: worktree.name,
            path: place.tree.to_string_lossy().into_owned(),
            launcher: launcher.into_iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            command,
            environment: env.into_iter().collect(),
            notes,
        })
    }

    fn end_unless_held(self: &Arc<Self>, id: String) {
        let agents = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(HOLD_TIMEOUT).await;
            let is_held = {
                let shells = agents.shells.lock().expect("no panic while held");
                shells.get(&id).is_none_or(|shell| shell.is_held)
            };
            if !is_held {
                agents.end_shell(&id).await;
            }
        });
    }

    /// Keeps a shell open until the result is dropped.
    pub fn hold_shell(self: &Arc<Self>, id: &str) -> Result<ShellHold, Problem> {
        let mut shells = self.shells.lock().expect("no panic while held");
        match shells.get_mut(id) {
            Some(shell) if !shell.is_held => {
                shell.is_held = true;
                Ok(ShellHold { agents: self.clone(), id: id.to_owned() })
            }
            Some(_) => Err(Problem::new(
                ProblemKind::Conflict,
                "this shell is held already",
                "open another: `flower worktree shell NAME --as PROFILE`",
            )),
            None => Err(Problem::new(
                ProblemKind::NotFound,
                "there is no such open shell",
                "open one: `flower worktree shell NAME --as PROFILE`",
            )),
        }
    }

    /// Ends a shell: takes the login back. Does nothing if it has ended.
    pub async fn end_shell(&self, id: &str) -> ShellEndView {
        let shell = self.shells.lock().expect("no panic while held").remove(id);
        let Some(shell) = shell else { return ShellEndView { notes: Vec::new() } };
        let OpenShell { profile, worktree, lent, spec, .. } = shell;
        let _ = std::fs::remove_file(spec);
        let Some(lent) = lent else { return ShellEndView { notes: Vec::new() } };
        let returned = tokio::task::spawn_blocking(move || lent.take_back()).await;
        let note = match returned {
            Ok(Returned::Unchanged) => None,
            Ok(Returned::Refreshed) => {
                Some(format!("`{profile}` refreshed its login; your credentials file has the new one"))
            }
            Ok(Returned::Rejected(why)) => {
                Some(format!("`{profile}` changed its login; your credentials file stays as it is: {why}"))
            }
            Err(error) => Some(format!("the login could not be taken back: {error}")),
        };
        if let Some(note) = &note {
            tracing::info!("shell in {worktree}: {note}");
        }
        ShellEndView { notes: note.into_iter().collect() }
    }

    pub(super) async fn end_all_shells(&self) {
        let all: Vec<String> = self.shells.lock().expect("no panic while held").keys().cloned().collect();
        futures_util::future::join_all(all.iter().map(|id| self.end_shell(id))).await;
    }

    pub(super) fn mask_of_shell(&self, worktree: &str) -> Option<Arc<Mask>> {
        let shells = self.shells.lock().expect("no panic while held");
        shells.values().find(|shell| shell.worktree == worktree).map(|shell| shell.mask.clone())
    }
}

impl Agents {
    /// The profile of an open shell in a worktree of this name.
    pub(super) fn profile_of_shell(&self, worktree: &str) -> Option<String> {
        let shells = self.shells.lock().expect("no panic while held");
        shells.values().find(|shell| shell.worktree == worktree).map(|shell| shell.profile.clone())
    }
}

async fn find_programs(profile: &Profile, request: &ShellRequest, place: &WorktreePaths) -> Result<Programs, Problem> {
    let (profile, program, covered) = (profile.clone(), request.program.clone(), place.covered.clone());
    let mut search = SearchPath::of_this_process();
    if let Some(path) = request.path.as_deref().filter(|path| !path.is_empty()) {
        let folders = std::env::split_paths(path).chain(std::env::split_paths(&search.path)).collect::<Vec<_>>();
        search.path = std::env::join_paths(folders).unwrap_or(search.path);
    }
    let finding = tokio::task::spawn_blocking(move || {
        // A jail shows other files at these paths, or none.
        let is_covered = |path: &Path| covered.iter().any(|folder| path.starts_with(folder));
        let is_outside =
            |program: &Program| !is_covered(&program.path) && !program.read.iter().any(|path| is_covered(path));
        let named = program.and_then(|name| program::find_command(&name, &search)).filter(is_outside);
        Programs { of_profile: program::find_by_hand(&profile, &search), named }
    });
    finding.await.map_err(|error| Problem::bug(error.to_string()))
}

/// The words to run inside: what was named, or the program of the profile with its arguments.
fn command(profile: &Profile, request: &ShellRequest, programs: &Programs) -> Result<Vec<String>, Problem> {
    let in_words = |program: &Program| program.path.to_string_lossy().into_owned();
    if let Some(name) = &request.program {
        // What is not found outside may be inside: a program of the worktree, or of its home.
        return Ok(vec![programs.named.as_ref().map_or_else(|| name.clone(), in_words)]);
    }
    match &programs.of_profile {
        Ok(program) => Ok(std::iter::once(in_words(program)).chain(profile.by_hand.iter().skip(1).cloned()).collect()),
        Err(missing) => Err(Problem::new(
            ProblemKind::Refused,
            format!("`{}` cannot be started by hand here: {}", profile.name, missing.what),
            missing.how.clone(),
        )),
    }
}

/// Adds flower's tools to the agent's configuration in the home of the jail, which an earlier agent may have changed.
fn add_tools(mcp: &McpConfiguration, home: &Path) -> Result<(), String> {
    let below = mcp.below().ok_or("its path is not valid")?;
    let in_words = |error: io::Error| error.to_string();
    let file = GuardedFile::create(home, below).map_err(in_words)?;
    let content = match file.read() {
        Ok(content) => content,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(in_words(error)),
    };
    let content = String::from_utf8(content).map_err(|_| "it is no text")?;
    match mcp.add_to(&content)? {
        Some(added) => file.write(added.as_bytes()).map_err(in_words),
        None => Ok(()),
    }
}
