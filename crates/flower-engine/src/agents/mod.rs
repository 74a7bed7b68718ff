//! Agents that flower starts, watches and retires.
//!
//! The log says which agents there are to be; `supervisor.rs` sees to it that they are there, `runner.rs` is the life of
//! one of them, `drive.rs` and `session.rs` speak ACP with it, `show.rs` gives it a terminal instead.

mod acp_driver;
mod agent_handle;
mod calls;
pub mod credentials;
mod files;
mod folder;
mod launch_spec;
mod permissions;
mod process;
mod prompt;
mod pty_driver;
mod runner;
mod session;
mod spend;
mod supervisor;
pub mod terminals;
pub mod transcript;

pub use agent_handle::{AgentHandle, State};

use super::projects::ProjectChoice;
use crate::Setup;
use crate::clock::BootClock;
use crate::home::Home;
use crate::notify::ChangeHints;
use crate::profiles::config::Config;
use crate::profiles::mask::Mask;
use crate::{Access, Dispatcher, MergeQueue, Messages, Profiles, Projects, Worktrees};
use agent_handle::{AgentProcess, Order};
use credentials::{Lent, Taken};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{AgentView, EndView, FillView, HaltView, TranscriptView};
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::main_branch;
use flower_core::policy::{self, Action, Read};
use flower_core::{Agent, Caller, Command, Refusal, Role, dispatch};
use flower_store::Store;
use flower_store::agents as table;
use flower_store::agents::SpentOn;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use terminals::Terminals;
use tokio::sync::Notify;

/// A stop that stops.
const STOP: Duration = Duration::from_secs(5);
/// Of a transcript, at once.
const PAGE: u64 = 256 << 10;

pub struct Agents {
    store: Store,
    home: Home,
    clock: BootClock,
    hints: ChangeHints,
    url: String,
    started_at: String,
    access: Arc<Access>,
    projects: Arc<Projects>,
    messages: Arc<Messages>,
    worktrees: Arc<Worktrees>,
    profiles: Arc<Profiles>,
    merge_queue: Arc<MergeQueue>,
    dispatcher: Arc<Dispatcher>,
    terminals: Terminals,
    running: Mutex<BTreeMap<u64, Arc<AgentHandle>>>,
    /// Wakes the supervisor.
    bell: Notify,
    /// Held while an agent is chosen for a waiting dispatch.
    serving: tokio::sync::Mutex<()>,
    /// By agent: the login that was lent to it.
    lent: Mutex<HashMap<u64, Lent>>,
    /// The daemon ends: no agent starts any more.
    ending: AtomicBool,
    /// Agents that have ended and are not recorded as ended yet.
    to_end: Mutex<HashMap<u64, (Ending, String)>>,
}

impl Agents {
    #[expect(clippy::too_many_arguments, reason = "each is a service that agents depend on")]
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        messages: &Arc<Messages>,
        worktrees: &Arc<Worktrees>,
        profiles: &Arc<Profiles>,
        merge_queue: &Arc<MergeQueue>,
        dispatcher: &Arc<Dispatcher>,
    ) -> Agents {
        Agents {
            store: setup.store.clone(),
            home: setup.home.clone(),
            clock: setup.clock.clone(),
            hints: setup.hints.clone(),
            url: setup.url.clone(),
            started_at: setup.started_at.clone(),
            access: access.clone(),
            projects: projects.clone(),
            messages: messages.clone(),
            worktrees: worktrees.clone(),
            profiles: profiles.clone(),
            merge_queue: merge_queue.clone(),
            dispatcher: dispatcher.clone(),
            terminals: Terminals::default(),
            running: Mutex::default(),
            bell: Notify::default(),
            serving: tokio::sync::Mutex::default(),
            lent: Mutex::default(),
            ending: AtomicBool::new(false),
            to_end: Mutex::default(),
        }
    }

    fn handle(&self, number: u64) -> Option<Arc<AgentHandle>> {
        self.running.lock().expect("no panic while held").get(&number).cloned()
    }

    fn handles(&self) -> Vec<Arc<AgentHandle>> {
        self.running.lock().expect("no panic while held").values().cloned().collect()
    }

    fn forget(&self, running: &AgentHandle) {
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
        for running in self.handles() {
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

impl Agents {
    pub(crate) async fn get(&self, number: u64) -> Result<Agent, Problem> {
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
    pub async fn list(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        all: bool,
        limit: u64,
    ) -> Result<Vec<AgentView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let project = self.projects.find(choice).await?;
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

    pub async fn show(&self, name: &str) -> Result<AgentView, Problem> {
        let agent = self.agent_named(name).await?;
        self.view_agent(agent).await
    }

    async fn view_agent(&self, agent: Agent) -> Result<AgentView, Problem> {
        let number = agent.number;
        let spent = self.store.read(move |conn| table::spent(conn, SpentOn::Agent(number))).await?;
        let running = self.handle(number);
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
            cost: spent.cost.map(crate::profiles::amount),
            currency: spent.currency,
            tokens: spent.tokens,
            pid: running.as_ref().and_then(|running| running.body()).map(|body| body.pid()),
            terminal: matches!(running.and_then(|running| running.body()), Some(AgentProcess::Shown(_))),
            restarts: agent.restarts,
            refreshes: agent.refreshes,
            since,
            started_at: agent.started_at,
            ended_at: agent.ended_at,
            ended: agent.ended.map(|end| EndView { how: end.how, why: end.why, output: end.output }),
        })
    }

    /// Values of the operator's environment, for agents; in memory only.
    pub fn give_keys(&self, caller: &Caller, values: BTreeMap<String, String>) -> Result<(), Problem> {
        policy::require_action(caller, Action::GiveKeys)?;
        self.profiles.keys.give(&Config::load(&self.home)?, values)?;
        self.wake_all();
        self.look();
        Ok(())
    }

    /// Starts an agent: for a brief, which is dispatched to it, or to stay in a worktree.
    pub async fn spawn(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        spawn: Spawn,
    ) -> Result<AgentView, Problem> {
        policy::require_action(caller, Action::StartAgent)?;
        let config = Config::load(&self.home)?;
        let profile = config.profile(&spawn.profile)?;
        self.profiles.find_program(profile).await.map_err(|missing| {
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
            self.profiles.network_for(profile, project).await?;
        }
        self.worktrees.require_jail().await?;
        let _alone = self.serving.lock().await;
        let dispatch = match spawn.brief {
            Some(brief) => Some(self.dispatch_for(caller, brief, &spawn).await?),
            None => None,
        };
        let project = match &dispatch {
            Some(dispatch) => dispatch.project.clone(),
            None => self.projects.find(choice).await?,
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
        self.profiles.network_for(profile, &project).await?;
        let most = self.profiles.agent_settings(&project).await.max;
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
        self.show(&started.name).await
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
        let id = self.dispatcher.request(caller, request).await?.id;
        self.dispatcher.get(id).await
    }

    /// Stops it and everything it started. Its claim is free again.
    pub async fn stop(&self, caller: &Caller, name: &str, why: Option<String>) -> Result<AgentView, Problem> {
        policy::require_action(caller, Action::StopAgent)?;
        let agent = self.agent_named(name).await?;
        let why = why.unwrap_or_else(|| format!("stopped by {}", caller.actor.name));
        self.end_agent(caller, agent.number, Ending::Stopped, why).await?;
        self.show(name).await
    }

    /// Stops everything in all projects: no landing moves MAIN, running checks and agents end.
    pub async fn halt(&self, caller: &Caller, why: Option<String>) -> Result<HaltView, Problem> {
        let why = why.unwrap_or_else(|| "halted".to_owned());
        let mut halted = Vec::new();
        for project in self.projects.list().await? {
            let step = main_branch::Step::Freeze { why: Some(why.clone()) };
            match self.store.execute(caller, Command::Main { project: project.name.clone(), step }).await {
                Ok(_) => halted.push(project.name),
                // Nothing can land where there is no MAIN.
                Err(problem) if problem.kind == flower_contract::error::ProblemKind::Refused => {}
                Err(problem) => return Err(problem),
            }
        }
        self.merge_queue.stop_all();
        self.halt_agents(caller, &why).await?;
        Ok(HaltView { halted, why })
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
        self.to_end.lock().expect("no panic while held").insert(number, (how, why.clone()));
        let recording =
            self.store.execute(caller, Command::Agent { number, step: Step::Stop { how, why, output: None } });
        let ending = async {
            let Some(running) = self.handle(number) else { return Ok(()) };
            running.order.send_replace(Some(Order::Leave));
            running.until_over(STOP).await
        };
        let (recorded, ended) = tokio::join!(recording, ending);
        if recorded.is_ok() {
            self.to_end.lock().expect("no panic while held").remove(&number);
        }
        recorded?;
        ended
    }

    /// The daemon ends: nothing is recorded, and they go on after the next start.
    pub async fn leave_all(&self) {
        self.ending.store(true, Ordering::Relaxed);
        let all = self.handles();
        for running in &all {
            running.order.send_replace(Some(Order::Leave));
        }
        futures_util::future::join_all(all.iter().map(|running| running.until_over(Duration::from_secs(3)))).await;
    }

    /// Asks for a hand-over, and lets a fresh one go on.
    pub async fn refresh(&self, caller: &Caller, name: &str) -> Result<AgentView, Problem> {
        policy::require_action(caller, Action::RefreshAgent)?;
        let agent = self.agent_named(name).await?;
        match self.handle(agent.number) {
            Some(running) if agent.is_live() => running.want_refresh(),
            _ => return Err(Refusal::AgentEnded { name: name.to_owned() }.into()),
        }
        self.show(name).await
    }

    /// The transcript from a position on, or its end. With `wait`, an empty page is answered only after a while.
    pub async fn log(&self, name: &str, after: Option<u64>, wait: bool) -> Result<TranscriptView, Problem> {
        let page = self.log_page(name, after).await?;
        match after.filter(|_| wait && page.entries.is_empty() && !page.over) {
            Some(after) => {
                self.log_grows(name, after).await?;
                self.log_page(name, Some(after)).await
            }
            None => Ok(page),
        }
    }

    async fn log_page(&self, name: &str, after: Option<u64>) -> Result<TranscriptView, Problem> {
        let agent = self.agent_named(name).await?;
        let file = self.transcript_file(agent.number);
        let io = |error: std::io::Error| self.home.problem(&file, &error);
        match self.handle(agent.number) {
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

    /// Waits until the transcript has an entry after the position, the agent has ended, or 20 seconds have passed.
    async fn log_grows(&self, name: &str, after: u64) -> Result<(), Problem> {
        let agent = self.agent_named(name).await?;
        let Some(running) = self.handle(agent.number) else { return Ok(()) };
        let mut end = running.transcript.watch();
        let mut over = running.over.subscribe();
        tokio::select! {
            _ = end.wait_for(|end| *end > after) => {}
            _ = over.wait_for(|over| *over) => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
        }
        Ok(())
    }

    fn transcript_file(&self, number: u64) -> PathBuf {
        self.home.agent(number).join("transcript")
    }

    async fn take_login_back(&self, running: &AgentHandle) {
        let lent = self.lent.lock().expect("no panic while held").remove(&running.number);
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
