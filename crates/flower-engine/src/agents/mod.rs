//! Agents that flower starts, supervises and ends.
//!
//! The log says which agents should run. `supervisor.rs` starts and stops them, `runner.rs` runs the processes of one agent,
//! `acp_driver.rs` and `session.rs` speak ACP with it, `pty_driver.rs` runs it in a terminal instead.

mod acp_driver;
mod agent_handle;
mod call_facts;
pub mod credentials;
mod files;
mod guarded_file;
mod joined;
mod launch_spec;
mod model_choice;
mod opening;
mod parking;
mod permissions;
mod process;
mod prompt;
mod pty_driver;
mod refused_hosts;
mod runner;
mod session;
mod session_tools;
mod shells;
mod spend;
mod stats;
mod supervisor;
pub mod terminals;
mod tool_calls;
pub mod transcript;
mod trial;

pub use agent_handle::{AgentHandle, State};
pub(crate) use session_tools::Transport;
pub use shells::{ShellHold, ShellRequest};

use super::projects::ProjectChoice;
use crate::Setup;
use crate::clock::BootClock;
use crate::home::Home;
use crate::notify::ChangeHints;
use crate::profiles::config::Config;
use crate::profiles::mask::Mask;
use crate::{Access, Dispatcher, MergeQueue, Messages, Profiles, Projects, Worktrees};
use agent_handle::AgentProcess;
use credentials::{LentCredentials, Returned};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{AgentView, EndView, FillView, HaltView, MessageView, TranscriptView};
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::main_branch;
use flower_core::policy::{self, Action, Read};
use flower_core::{Agent, AgentId, BriefId, Caller, Command, DispatchId, Refusal, Role, dispatch};
use flower_store::Store;
use flower_store::agents as table;
use flower_store::agents::SpentOn;
use joined::LastCall;
use shells::OpenShell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use terminals::Terminals;
use tokio::sync::Notify;

/// How long a stop waits for the end of an agent.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of one page of a transcript.
const LOG_PAGE_BYTES: u64 = 256 << 10;

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
    handles: Mutex<BTreeMap<AgentId, Arc<AgentHandle>>>,
    /// Wakes the supervisor.
    supervisor_wake: Notify,
    /// Locked while an agent is chosen for a waiting dispatch, so that it gets only one.
    assignment_lock: tokio::sync::Mutex<()>,
    /// Locked while an agent is tried.
    trial_lock: tokio::sync::Mutex<()>,
    /// By agent: the credentials that were lent to it.
    lent: Mutex<HashMap<AgentId, LentCredentials>>,
    /// By their id: the shells that a person has opened with what a profile lends.
    shells: Mutex<BTreeMap<String, OpenShell>>,
    /// By the id of their token: agents that flower did not start.
    callers: Mutex<HashMap<String, LastCall>>,
    /// The daemon ends, so no agent is started.
    shutting_down: AtomicBool,
    /// Agents whose end could not be recorded yet.
    unrecorded_ends: Mutex<HashMap<AgentId, (Ending, String)>>,
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
            handles: Mutex::default(),
            supervisor_wake: Notify::default(),
            assignment_lock: tokio::sync::Mutex::default(),
            trial_lock: tokio::sync::Mutex::default(),
            lent: Mutex::default(),
            shells: Mutex::default(),
            callers: Mutex::default(),
            shutting_down: AtomicBool::new(false),
            unrecorded_ends: Mutex::default(),
        }
    }

    fn handle(&self, number: AgentId) -> Option<Arc<AgentHandle>> {
        self.handles.lock().expect("no panic while held").get(&number).cloned()
    }

    fn handles(&self) -> Vec<Arc<AgentHandle>> {
        self.handles.lock().expect("no panic while held").values().cloned().collect()
    }

    fn remove_handle(&self, handle: &AgentHandle) {
        self.handles.lock().expect("no panic while held").remove(&handle.number);
    }

    fn keep_lent(&self, number: AgentId, lent: Option<LentCredentials>) {
        if let Some(lent) = lent {
            self.lent.lock().expect("no panic while held").insert(number, lent);
        }
    }

    /// Masks the secrets that were lent to the caller, if it is a running agent of flower, or in a worktree with an open shell.
    pub fn mask_of(&self, caller: &Caller) -> Option<Arc<Mask>> {
        let own = {
            let all = self.handles.lock().expect("no panic while held");
            all.values().find(|handle| handle.name == caller.actor.name).map(|handle| handle.transcript.current_mask())
        };
        own.or_else(|| self.mask_of_shell(caller.worktree.as_deref()?))
    }

    /// Lets the supervisor check all agents now.
    pub fn wake_supervisor(&self) {
        self.supervisor_wake.notify_one();
    }

    /// Wakes all agents, because something that they wait for may have happened.
    pub fn wake_all(&self) {
        for handle in self.handles() {
            handle.wake.notify_one();
        }
    }
}

/// Which agent to start.
#[derive(Clone, Debug)]
pub struct SpawnRequest {
    pub profile: String,
    pub name: Option<String>,
    pub worktree: Option<String>,
    pub brief: Option<BriefId>,
    pub standing: bool,
    pub role: Role,
}

impl Agents {
    pub(crate) async fn get(&self, number: AgentId) -> Result<Agent, Problem> {
        let found = self.store.read(move |conn| table::agent(conn, number)).await?;
        found.ok_or_else(|| Refusal::NoAgent { name: number.to_string(), known: Vec::new() }.into())
    }

    /// The live agent of this name, else the newest.
    async fn agent_named(&self, name: &str) -> Result<Agent, Problem> {
        match self.find_named(name).await? {
            Ok(agent) => Ok(agent),
            Err(refusal) => Err(self.joined(name).await?.map_or_else(|| refusal.into(), |_| joined::not_ours(name))),
        }
    }

    async fn find_named(&self, name: &str) -> Result<Result<Agent, Refusal>, Problem> {
        let wanted = name.to_owned();
        let read = self.store.read(move |conn| Ok((table::named(conn, &wanted)?, table::live(conn, None)?)));
        let (found, live) = read.await?;
        let known = live.into_iter().map(|agent| agent.name).take(20).collect();
        Ok(found.ok_or_else(|| Refusal::NoAgent { name: name.to_owned(), known }))
    }

    /// Live agents, oldest first; with `all`, also ended agents, newest first. Then those that joined by themselves.
    pub async fn list(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        all: bool,
        limit: u64,
    ) -> Result<Vec<AgentView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let project = self.projects.find(choice).await?;
        let of = project.clone();
        let found = self.store.read(move |conn| match all {
            true => table::all(conn, of.as_deref(), limit),
            false => table::live(conn, of.as_deref()),
        });
        let mut views = Vec::new();
        for agent in found.await? {
            let Agent { project, worktree, name, .. } = &agent;
            if reader.may(Read::Agent { project, worktree, name }) {
                views.push(self.view_agent(agent).await?);
            }
        }
        views.extend(self.list_joined(&reader, project.as_deref()).await?);
        views.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(views)
    }

    pub async fn show(&self, name: &str) -> Result<AgentView, Problem> {
        match self.find_named(name).await? {
            Ok(agent) => self.view_agent(agent).await,
            Err(refusal) => self.joined(name).await?.ok_or_else(|| refusal.into()),
        }
    }

    async fn view_agent(&self, agent: Agent) -> Result<AgentView, Problem> {
        let number = agent.number;
        let spent = self.store.read(move |conn| table::spent(conn, SpentOn::Agent(number))).await?;
        let handle = self.handle(number);
        let observed = handle.as_ref().map(|handle| handle.observed());
        let (state, evidence, since) = match (&agent.ended, &observed) {
            (Some(end), _) => {
                let state = if end.how == Ending::Failed { State::Failed } else { State::Stopped };
                (state, end.why.clone(), agent.ended_at.clone().unwrap_or_default())
            }
            (None, Some(seen)) => (seen.state, seen.evidence.clone(), seen.since.clone()),
            (None, None) => {
                let evidence = "not checked since the daemon started".to_owned();
                (State::Unknown, evidence, self.started_at.clone())
            }
        };
        let live = agent.is_live();
        Ok(AgentView {
            id: number.0,
            name: agent.name,
            profile: agent.profile,
            role: agent.role,
            standing: agent.standing,
            joined: false,
            project: agent.project,
            worktree: agent.worktree,
            brief: agent.brief.map(u64::from),
            dispatch: agent.dispatch.map(u64::from),
            member: agent.member,
            state,
            evidence,
            parked_until: observed.as_ref().and_then(|seen| seen.parked_until).map(|at| at.to_string()),
            quiet_seconds: observed.as_ref().filter(|_| live).map(|seen| seen.last_activity.elapsed().as_secs()),
            context: observed
                .and_then(|seen| seen.context)
                .filter(|_| live)
                .map(|(used, size)| FillView { used, size }),
            cost: spent.cost.map(crate::profiles::amount),
            currency: spent.currency,
            tokens: spent.tokens,
            model: agent.model,
            tools: agent.tools,
            pid: handle.as_ref().and_then(|handle| handle.process()).map(|process| process.pid()),
            terminal: matches!(handle.and_then(|handle| handle.process()), Some(AgentProcess::InTerminal(_))),
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
        self.profiles.keys().add(&Config::load(&self.home)?, values)?;
        self.wake_all();
        self.wake_supervisor();
        Ok(())
    }

    /// Starts an agent: for a brief, which is dispatched to it, or as a standing agent of a worktree.
    pub async fn spawn(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        spawn: SpawnRequest,
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
        let _lock = self.assignment_lock.lock().await;
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
        let max = self.profiles.agent_settings(&project).await.max;
        let request = Request {
            name: spawn.name,
            profile: spawn.profile,
            role: spawn.role,
            standing: spawn.standing,
            project,
            worktree,
            dispatch: dispatch.map(|dispatch| dispatch.number),
            member: 0,
            most: max,
        };
        let started = self.start_agent(caller, request).await?;
        self.show(&started.name).await
    }

    /// The unclaimed dispatch of a brief, or a new one.
    async fn dispatch_for(
        &self,
        caller: &Caller,
        brief: BriefId,
        spawn: &SpawnRequest,
    ) -> Result<flower_core::Dispatch, Problem> {
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
        self.dispatcher.get(DispatchId(id)).await
    }

    /// Stops an agent with all processes that it started, and frees its claim.
    pub async fn stop(&self, caller: &Caller, name: &str, why: Option<String>) -> Result<AgentView, Problem> {
        policy::require_action(caller, Action::StopAgent)?;
        let agent = self.agent_named(name).await?;
        let why = why.unwrap_or_else(|| format!("stopped by {}", caller.actor.name));
        self.end_agent(caller, agent.number, Ending::Stopped, why).await?;
        self.show(name).await
    }

    /// Stops everything: freezes MAIN of all projects, ends running checks and all agents.
    pub async fn halt(&self, caller: &Caller, why: Option<String>) -> Result<HaltView, Problem> {
        let why = why.unwrap_or_else(|| "halted".to_owned());
        let mut halted = Vec::new();
        for project in self.projects.list().await? {
            let step = main_branch::Step::Halt { why: why.clone() };
            match self.store.execute(caller, Command::Main { project: project.name.clone(), step }).await {
                Ok(_) => halted.push(project.name),
                // A project without a recorded MAIN has nothing to freeze.
                Err(problem) if problem.kind == flower_contract::error::ProblemKind::Refused => {}
                Err(problem) => return Err(problem),
            }
        }
        self.merge_queue.stop_all();
        self.halt_agents(caller, &why).await?;
        Ok(HaltView { halted, why })
    }

    /// Ends all agents. Their work continues when MAIN is thawed.
    pub(crate) async fn halt_agents(&self, caller: &Caller, why: &str) -> Result<(), Problem> {
        let live = self.store.read(|conn| table::live(conn, None)).await?;
        let ending = live.iter().map(|agent| self.end_agent(caller, agent.number, Ending::Halted, why.to_owned()));
        let ended = futures_util::future::join_all(ending).await;
        ended.into_iter().collect()
    }

    /// Ends the processes of an agent and records its end. If recording fails, the supervisor tries it again.
    async fn end_agent(&self, caller: &Caller, number: AgentId, how: Ending, why: String) -> Result<(), Problem> {
        self.unrecorded_ends.lock().expect("no panic while held").insert(number, (how, why.clone()));
        let recording =
            self.store.execute(caller, Command::Agent { number, step: Step::Stop { how, why, output: None } });
        let ending = async {
            let Some(handle) = self.handle(number) else { return Ok(()) };
            handle.request_stop();
            handle.wait_until_ended(STOP_TIMEOUT).await
        };
        let (recorded, ended) = tokio::join!(recording, ending);
        if recorded.is_ok() {
            self.unrecorded_ends.lock().expect("no panic while held").remove(&number);
        }
        recorded?;
        ended
    }

    /// Ends all processes because the daemon ends. Nothing is recorded, so the agents continue after the next start.
    pub async fn stop_all(&self) {
        self.shutting_down.store(true, Ordering::Relaxed);
        let all = self.handles();
        for handle in &all {
            handle.request_stop();
        }
        let ending =
            futures_util::future::join_all(all.iter().map(|handle| handle.wait_until_ended(Duration::from_secs(3))));
        tokio::join!(ending, self.end_all_shells());
    }

    /// Asks the agent for a hand-over note and continues in a new session.
    pub async fn refresh(&self, caller: &Caller, name: &str) -> Result<AgentView, Problem> {
        policy::require_action(caller, Action::RefreshAgent)?;
        let agent = self.agent_named(name).await?;
        match self.handle(agent.number) {
            Some(handle) if agent.is_live() => handle.request_refresh(),
            _ => return Err(Refusal::AgentEnded { name: name.to_owned() }.into()),
        }
        self.show(name).await
    }

    /// Asks an agent for a hand-over note on its brief, also one that flower did not start. It goes on afterwards.
    pub async fn ask_for_note(&self, caller: &Caller, name: &str) -> Result<MessageView, Problem> {
        policy::require_action(caller, Action::AskForNote)?;
        self.messages.send(caller, name, prompt::NOTE_REQUEST.to_owned()).await
    }

    /// A page of the agent's transcript from a position on, or the last page. With `wait`, an empty page is answered only
    /// after the transcript has grown, or after a while.
    pub async fn log(&self, name: &str, after: Option<u64>, wait: bool) -> Result<TranscriptView, Problem> {
        let page = self.log_page(name, after).await?;
        match after.filter(|_| wait && page.entries.is_empty() && !page.over) {
            Some(after) => {
                self.wait_for_log(name, after).await?;
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
            Some(handle) => {
                let transcript = &handle.transcript;
                let after = after.unwrap_or_else(|| transcript.position_before_end(LOG_PAGE_BYTES));
                transcript.page(after, LOG_PAGE_BYTES).map_err(io)
            }
            None => {
                let page = transcript::read(&file, after, LOG_PAGE_BYTES).map_err(io)?;
                Ok(TranscriptView { over: !agent.is_live() && !page.more, ..page })
            }
        }
    }

    /// Waits until the transcript grows beyond a position, the agent ends, or 20 s pass.
    async fn wait_for_log(&self, name: &str, after: u64) -> Result<(), Problem> {
        let agent = self.agent_named(name).await?;
        let Some(handle) = self.handle(agent.number) else { return Ok(()) };
        let mut end = handle.transcript.watch();
        let mut ended = handle.ended.subscribe();
        tokio::select! {
            _ = end.wait_for(|end| *end > after) => {}
            _ = ended.wait_for(|ended| *ended) => {}
            () = tokio::time::sleep(Duration::from_secs(20)) => {}
        }
        Ok(())
    }

    fn transcript_file(&self, number: AgentId) -> PathBuf {
        self.home.agent(number).join("transcript")
    }

    /// Ends the loan of credentials, and takes over a refreshed login.
    async fn return_credentials(&self, handle: &AgentHandle) {
        let lent = self.lent.lock().expect("no panic while held").remove(&handle.number);
        let Some(lent) = lent else { return };
        let taken = tokio::task::spawn_blocking(move || lent.take_back()).await;
        match taken {
            Ok(Returned::Refreshed) => {
                handle.transcript.add_note("the agent refreshed its login; your credentials file has the new one");
            }
            Ok(Returned::Rejected(why)) => {
                handle
                    .transcript
                    .add_note(format!("the agent changed its login; your credentials file stays as it is: {why}"));
            }
            Ok(Returned::Unchanged) => {}
            Err(error) => tracing::warn!("agent {}: {error}", handle.name),
        }
    }
}
