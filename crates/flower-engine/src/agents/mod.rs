//! Agents that flower starts, watches and retires.
//!
//! The log says which agents there are to be; `supervisor.rs` sees to it that they are there, `runner.rs` is the life of
//! one of them, `drive.rs` and `session.rs` speak ACP with it, `show.rs` gives it a terminal instead.

mod calls;
pub mod credentials;
mod drive;
mod equip;
mod files;
mod folder;
pub mod keys;
mod known;
pub mod mask;
mod node;
mod permissions;
mod process;
pub mod profiles;
pub mod program;
mod prompt;
mod raw;
mod runner;
mod running;
mod session;
mod show;
mod spend;
mod supervisor;
pub mod terminals;
pub mod transcript;

pub use running::{Running, State};

use super::projects::ProjectChoice;
use super::settings::AgentSettings;
use super::{App, require_steering};
use credentials::{Lent, Taken};
use equip::user_home;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{AgentView, EndView, FillView, ProfileView, TranscriptView};
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::policy::Read;
use flower_core::{Agent, Caller, Command, Refusal, Role, Worktree, dispatch};
use flower_store::agents as table;
use flower_store::agents::SpentOn;
use keys::Keys;
use mask::Mask;
use profiles::{Config, Profile};
use program::{Missing, Program};
use running::{Body, Order};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A stop that stops.
const STOP: Duration = Duration::from_secs(5);
/// So long a program that was found counts as found.
const FOUND: Duration = Duration::from_secs(20);
/// Of a transcript, at once.
const PAGE: u64 = 256 << 10;

/// What was looked for, when, and what was found.
type Found = (Instant, Profile, Result<Program, Missing>);

/// What the daemon remembers about agents beside the log.
#[derive(Default)]
pub struct Agents {
    running: Mutex<BTreeMap<u64, Arc<Running>>>,
    pub keys: Keys,
    /// The supervisor is to look around.
    bell: Notify,
    /// Held by whoever finds an agent for what waits, so that nobody else does meanwhile.
    serving: tokio::sync::Mutex<()>,
    /// What was lent to whom.
    lent: Mutex<HashMap<u64, Lent>>,
    /// By profile: its program as it was last found, and when. Looking for it may start another program.
    found: Mutex<HashMap<String, Found>>,
    /// The daemon ends: none begins any more.
    ending: AtomicBool,
    /// Ended, and not recorded yet.
    to_end: Mutex<HashMap<u64, (Ending, String)>>,
}

impl Agents {
    fn get(&self, number: u64) -> Option<Arc<Running>> {
        self.running.lock().expect("no panic while held").get(&number).cloned()
    }

    fn all(&self) -> Vec<Arc<Running>> {
        self.running.lock().expect("no panic while held").values().cloned().collect()
    }

    fn forget(&self, running: &Running) {
        self.running.lock().expect("no panic while held").remove(&running.number);
    }

    fn hold(&self, number: u64, lent: Option<Lent>) {
        if let Some(lent) = lent {
            self.lent.lock().expect("no panic while held").insert(number, lent);
        }
    }

    /// What must not be seen of what this agent was lent, if it is one of ours.
    pub fn mask_of(&self, caller: &Caller) -> Option<Arc<Mask>> {
        let all = self.running.lock().expect("no panic while held");
        all.values().find(|running| running.name == caller.actor.name).map(|running| running.transcript.masking())
    }

    /// The supervisor looks around.
    pub fn look(&self) {
        self.bell.notify_one();
    }

    /// Whatever an agent waits for may be there.
    pub fn wake_all(&self) {
        for running in self.all() {
            running.wake.notify_one();
        }
    }
}

/// Which agent somebody wants.
#[derive(Clone, Debug)]
pub struct Spawn {
    pub profile: String,
    pub name: Option<String>,
    pub worktree: Option<String>,
    pub brief: Option<u64>,
    pub standing: bool,
    pub role: Role,
}

impl App {
    pub(crate) async fn agent(&self, number: u64) -> Result<Agent, Problem> {
        let found = self.store.read(move |conn| table::agent(conn, number)).await?;
        found.ok_or_else(|| Refusal::NoAgent { name: number.to_string(), known: Vec::new() }.into())
    }

    /// The live one of this name, else the newest.
    async fn agent_named(&self, name: &str) -> Result<Agent, Problem> {
        let wanted = name.to_owned();
        let read = self.store.read(move |conn| Ok((table::named(conn, &wanted)?, table::live(conn, None)?)));
        let (found, live) = read.await?;
        let known = live.into_iter().map(|agent| agent.name).take(20).collect();
        found.ok_or_else(|| Refusal::NoAgent { name: name.to_owned(), known }.into())
    }

    /// Those that run, oldest first; with `all`, also those that have ended, newest first.
    pub async fn agents(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        all: bool,
        limit: u64,
    ) -> Result<Vec<AgentView>, Problem> {
        let reader = self.reader(caller).await?;
        let project = self.find_project(choice).await?;
        let found = self.store.read(move |conn| match all {
            true => table::all(conn, project.as_deref(), limit),
            false => table::live(conn, project.as_deref()),
        });
        let mut views = Vec::new();
        for agent in found.await? {
            let Agent { project, worktree, name, .. } = &agent;
            if reader.may(Read::Agent { project, worktree, name }) {
                views.push(self.view_agent(agent).await?);
            }
        }
        Ok(views)
    }

    /// Names of those that run in a worktree.
    pub(crate) async fn agents_in(&self, worktree: &Worktree) -> Vec<String> {
        let project = worktree.project.clone();
        let live = self.store.read(move |conn| table::live(conn, Some(&project))).await.unwrap_or_default();
        live.into_iter().filter(|agent| agent.worktree == worktree.name).map(|agent| agent.name).collect()
    }

    pub async fn show_agent(&self, name: &str) -> Result<AgentView, Problem> {
        let agent = self.agent_named(name).await?;
        self.view_agent(agent).await
    }

    async fn view_agent(&self, agent: Agent) -> Result<AgentView, Problem> {
        let number = agent.number;
        let spent = self.store.read(move |conn| table::spent(conn, SpentOn::Agent(number))).await?;
        let running = self.agents.get(number);
        let observed = running.as_ref().map(|running| running.observed());
        let (state, evidence, since) = match (&agent.ended, &observed) {
            (Some(end), _) => {
                let state = if end.how == Ending::Failed { State::Failed } else { State::Stopped };
                (state, end.why.clone(), agent.ended_at.clone().unwrap_or_default())
            }
            (None, Some(seen)) => (seen.state, seen.evidence.clone(), seen.since.clone()),
            (None, None) => {
                let evidence = "flower has not looked for it since it started".to_owned();
                (State::Unknown, evidence, self.started_at.clone())
            }
        };
        let live = agent.is_live();
        Ok(AgentView {
            id: number,
            name: agent.name,
            profile: agent.profile,
            role: agent.role,
            standing: agent.standing,
            project: agent.project,
            worktree: agent.worktree,
            brief: agent.brief,
            dispatch: agent.dispatch,
            member: agent.member,
            state,
            evidence,
            quiet_seconds: observed.as_ref().filter(|_| live).map(|seen| seen.heard.elapsed().as_secs()),
            context: observed
                .and_then(|seen| seen.context)
                .filter(|_| live)
                .map(|(used, size)| FillView { used, size }),
            cost: spent.cost.map(spend::amount),
            currency: spent.currency,
            tokens: spent.tokens,
            pid: running.as_ref().and_then(|running| running.body()).map(|body| body.pid()),
            terminal: matches!(running.and_then(|running| running.body()), Some(Body::Shown(_))),
            restarts: agent.restarts,
            refreshes: agent.refreshes,
            since,
            started_at: agent.started_at,
            ended_at: agent.ended_at,
            ended: agent.ended.map(|end| EndView { how: end.how, why: end.why, output: end.output }),
        })
    }

    pub async fn agent_profiles(self: &Arc<Self>) -> Result<Vec<ProfileView>, Problem> {
        let config = Config::load(&self.home)?;
        let app = self.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let home = user_home();
            let all = config.profiles.values();
            all.map(|profile| program::readiness(profile, &app.agents.keys, &home)).collect()
        });
        looking.await.map_err(|error| Problem::bug(error.to_string()))
    }

    /// The program of a profile, looked for again after a while.
    async fn find_program(&self, profile: &Profile) -> Result<Program, Missing> {
        {
            let found = self.agents.found.lock().expect("no panic while held");
            if let Some((at, of, program)) = found.get(&profile.name)
                && at.elapsed() < FOUND
                && of == profile
            {
                return program.clone();
            }
        }
        let wanted = profile.clone();
        let found = tokio::task::spawn_blocking(move || program::find(&wanted)).await;
        let found = found.unwrap_or_else(|error| Err(Missing { what: error.to_string(), how: "try again".to_owned() }));
        let new = (Instant::now(), profile.clone(), found.clone());
        self.agents.found.lock().expect("no panic while held").insert(profile.name.clone(), new);
        found
    }

    /// Which variables profiles name.
    pub fn wanted_keys(&self) -> Result<Vec<String>, Problem> {
        Ok(keys::wanted(&Config::load(&self.home)?))
    }

    /// Whatever agents may be lent: none of it lands.
    pub(crate) fn lent_secrets(&self) -> Vec<Vec<u8>> {
        let profiles = Config::load(&self.home).map(|config| config.profiles).unwrap_or_default();
        let home = user_home();
        let mut secrets = Vec::new();
        for profile in profiles.values() {
            secrets.extend(self.agents.keys.secrets(profile).iter().map(|secret| secret.expose().to_owned()));
            let files = profile.credentials.iter().filter_map(|name| name.strip_prefix("~/"));
            let texts = files.filter_map(|below| std::fs::read_to_string(home.join(below)).ok());
            secrets.extend(texts.flat_map(|text| known::in_credentials(&text)));
        }
        secrets.retain(|secret| secret.len() >= mask::LEAST);
        secrets.into_iter().map(String::into_bytes).collect()
    }

    /// Values of the operator's environment, for agents; in memory only.
    pub fn give_keys(&self, caller: &Caller, values: BTreeMap<String, String>) -> Result<(), Problem> {
        super::require_operator(caller, "give keys to agents")?;
        self.agents.keys.give(&Config::load(&self.home)?, values)?;
        self.agents.wake_all();
        self.agents.look();
        Ok(())
    }

    /// A profile that must name its model does.
    pub(crate) fn require_model(&self, profile: Option<&str>) -> Result<(), Problem> {
        // A dispatch waits for a profile that is not there, and for a file that cannot be read.
        let (Some(name), Ok(config)) = (profile, Config::load(&self.home)) else { return Ok(()) };
        let missing = config.profile(name).ok().and_then(Profile::missing_model);
        missing.map_or(Ok(()), |(what, how)| Err(Problem::new(ProblemKind::Refused, what, how)))
    }

    /// Starts an agent: for a brief, which is dispatched to it, or to stay in a worktree.
    pub async fn spawn_agent(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        spawn: Spawn,
    ) -> Result<AgentView, Problem> {
        require_steering(caller, "start agents")?;
        let config = Config::load(&self.home)?;
        let profile = config.profile(&spawn.profile)?;
        self.find_program(profile).await.map_err(|missing| {
            Problem::new(
                ProblemKind::Refused,
                format!("`{}` cannot run here: {}", profile.name, missing.what),
                missing.how,
            )
        })?;
        if let Some(number) = spawn.brief
            && let Some(brief) = self.store.read(move |conn| flower_store::briefs::state(conn, number)).await?
            && let Some(project) = brief.projects.first()
        {
            self.network_for(profile, project).await?;
        }
        self.require_jail().await?;
        let _alone = self.agents.serving.lock().await;
        let dispatch = match spawn.brief {
            Some(brief) => Some(self.dispatch_for(caller, brief, &spawn).await?),
            None => None,
        };
        let project = match &dispatch {
            Some(dispatch) => dispatch.project.clone(),
            None => self.find_project(choice).await?,
        };
        let project = project.ok_or_else(|| {
            Problem::usage("which project is it for?", "run it in the project's folder, or say `--project NAME`")
        })?;
        let chosen = dispatch.as_ref().and_then(|dispatch| dispatch.worktree.clone()).or(spawn.worktree);
        let Some(worktree) = chosen else {
            return Err(Problem::usage(
                "an agent works in a worktree, or on a brief",
                "say `--worktree NAME` or `--brief N`",
            ));
        };
        self.network_for(profile, &project).await?;
        let most = self.agent_settings(&project).await.max;
        let request = Request {
            name: spawn.name,
            profile: spawn.profile,
            role: spawn.role,
            standing: spawn.standing,
            project,
            worktree,
            dispatch: dispatch.map(|dispatch| dispatch.number),
            member: 0,
            most,
        };
        let started = self.start_agent(caller, request).await?;
        self.show_agent(&started.name).await
    }

    /// The dispatch of a brief that waits for somebody, or a new one.
    async fn dispatch_for(&self, caller: &Caller, brief: u64, spawn: &Spawn) -> Result<flower_core::Dispatch, Problem> {
        let open = self.store.read(flower_store::dispatches::open).await?;
        let waits = |d: &flower_core::Dispatch| d.brief == brief && d.state == DispatchState::Requested;
        if let Some(waiting) = open.into_iter().find(waits) {
            return Ok(waiting);
        }
        let request = dispatch::Request {
            brief,
            profile: Some(spawn.profile.clone()),
            worktree: spawn.worktree.clone(),
            agents: 1,
            ..dispatch::Request::default()
        };
        let id = self.request_dispatch(caller, request).await?.id;
        self.dispatch(id).await
    }

    /// Stops it and everything it started. Its claim is free again.
    pub async fn stop_agent(&self, caller: &Caller, name: &str, why: Option<String>) -> Result<AgentView, Problem> {
        require_steering(caller, "stop agents")?;
        let agent = self.agent_named(name).await?;
        let why = why.unwrap_or_else(|| format!("stopped by {}", caller.actor.name));
        self.end_agent(caller, agent.number, Ending::Stopped, why).await?;
        self.show_agent(name).await
    }

    /// Every agent at once; what they work on goes on once that is over.
    pub(crate) async fn halt_agents(&self, caller: &Caller, why: &str) -> Result<(), Problem> {
        let live = self.store.read(|conn| table::live(conn, None)).await?;
        let ending = live.iter().map(|agent| self.end_agent(caller, agent.number, Ending::Halted, why.to_owned()));
        let ended = futures_util::future::join_all(ending).await;
        ended.into_iter().collect()
    }

    /// Nothing of it runs afterwards, whether or not that could be recorded.
    async fn end_agent(&self, caller: &Caller, number: u64, how: Ending, why: String) -> Result<(), Problem> {
        self.agents.to_end.lock().expect("no panic while held").insert(number, (how, why.clone()));
        let recording = self.submit(caller, Command::Agent { number, step: Step::Stop { how, why, output: None } });
        let ending = async {
            let Some(running) = self.agents.get(number) else { return Ok(()) };
            running.order.send_replace(Some(Order::Leave));
            running.until_over(STOP).await
        };
        let (recorded, ended) = tokio::join!(recording, ending);
        if recorded.is_ok() {
            self.agents.to_end.lock().expect("no panic while held").remove(&number);
        }
        recorded?;
        ended
    }

    /// The daemon ends: nothing is recorded, and they go on after the next start.
    pub async fn leave_agents(&self) {
        self.agents.ending.store(true, Ordering::Relaxed);
        let all = self.agents.all();
        for running in &all {
            running.order.send_replace(Some(Order::Leave));
        }
        futures_util::future::join_all(all.iter().map(|running| running.until_over(Duration::from_secs(3)))).await;
    }

    /// Asks for a hand-over, and lets a fresh one go on.
    pub async fn refresh_agent(&self, caller: &Caller, name: &str) -> Result<AgentView, Problem> {
        require_steering(caller, "refresh agents")?;
        let agent = self.agent_named(name).await?;
        match self.agents.get(agent.number) {
            Some(running) if agent.is_live() => running.want_refresh(),
            _ => return Err(Refusal::AgentEnded { name: name.to_owned() }.into()),
        }
        self.show_agent(name).await
    }

    /// What it said and did, from a position on, or the last of it.
    pub async fn agent_log(&self, name: &str, after: Option<u64>) -> Result<TranscriptView, Problem> {
        let agent = self.agent_named(name).await?;
        let file = self.transcript_file(agent.number);
        let io = |error: std::io::Error| self.home.problem(&file, &error);
        match self.agents.get(agent.number) {
            Some(running) => {
                let transcript = &running.transcript;
                let after = after.unwrap_or_else(|| transcript.near_the_end(PAGE));
                transcript.page(after, PAGE).map_err(io)
            }
            None => {
                let page = transcript::read(&file, after, PAGE).map_err(io)?;
                Ok(TranscriptView { over: !agent.is_live() && !page.more, ..page })
            }
        }
    }

    /// Waits until there is more after a position, or for a while; none once it has ended.
    pub async fn agent_log_grows(&self, name: &str, after: u64) -> Result<bool, Problem> {
        let agent = self.agent_named(name).await?;
        let Some(running) = self.agents.get(agent.number) else { return Ok(agent.is_live()) };
        let mut end = running.transcript.watch();
        let mut over = running.over.subscribe();
        tokio::select! {
            _ = end.wait_for(|end| *end > after) => {}
            _ = over.wait_for(|over| *over) => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
        }
        Ok(true)
    }

    fn transcript_file(&self, number: u64) -> PathBuf {
        self.home.agent(number).join("transcript")
    }

    /// `[agents]` of a project; what cannot be read is as if it said nothing.
    pub(crate) async fn agent_settings(&self, project: &str) -> AgentSettings {
        self.facts_of(project).await.map(|facts| facts.settings.agents).unwrap_or_default()
    }

    async fn take_login_back(&self, running: &Running) {
        let lent = self.agents.lent.lock().expect("no panic while held").remove(&running.number);
        let Some(lent) = lent else { return };
        let taken = tokio::task::spawn_blocking(move || lent.take_back()).await;
        match taken {
            Ok(Taken::Refreshed) => running.transcript.flower("its login was refreshed, and yours with it"),
            Ok(Taken::Left(why)) => {
                running.transcript.flower(format!("its login has changed and yours has not: {why}"));
            }
            Ok(Taken::Unchanged) => {}
            Err(error) => tracing::warn!("agent {}: {error}", running.name),
        }
    }
}
