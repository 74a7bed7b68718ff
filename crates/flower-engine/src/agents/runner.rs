//! Runs one agent: its processes, one after the other, until its work is done or it is stopped.

use super::agent_handle::{AgentHandle, ClaimedWork, State};
use super::refused_hosts::RefusedHosts;
use super::session_tools::Transport;
use crate::Agents;
use crate::dispatch::ClaimOptions;
use crate::home::write_private;
use crate::profiles::config::{Config, Protocol};
use crate::profiles::keys;
use crate::profiles::outages::Outage;
use crate::profiles::user_home;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::agent::{Ending, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, AgentId, Binding, Caller, Command, Dispatch, DispatchId, Door, Worktree};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Restarts during one dispatch before the agent is given up.
const MAX_RESTARTS: u64 = 3;
/// Before the first restart; each further restart waits three times as long.
const RESTART_DELAY: Duration = Duration::from_millis(700);
/// How often a waiting agent tries again without being woken.
const RETRY_INTERVAL: Duration = Duration::from_secs(15);
/// How often the claim of a running agent is renewed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(20);

/// How a process ended, or why none was started.
pub(super) enum ProcessExit {
    /// The work is done; the agent ends.
    Retire(String),
    /// The next process starts at once: with a new session, or for other work.
    StartNext,
    /// Unexpected end; a restart may help.
    Died(String),
    /// A restart would not help.
    Failed(String),
    /// Something is missing now, such as a key; tried again later.
    Wait(String),
    /// The model does not answer for now; tried again later, and not counted.
    Park(Outage),
    /// The agent has ended in the log.
    AlreadyEnded,
}

/// State of an agent's run, kept in `run.json` while the agent lives. Readable by its owner only.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RunState {
    pub(super) dispatch: Option<DispatchId>,
    pub(super) token: String,
    pub(super) session: Option<String>,
    /// How the session reaches flower's tools.
    #[serde(default)]
    pub(super) transport: Option<Transport>,
    pub(super) refreshes: u64,
    /// What the session had cost when that was recorded last.
    #[serde(default)]
    pub(super) cost: Option<f64>,
    /// Why the work of the last process was not taken, for the next one.
    #[serde(default)]
    pub(super) refused: Option<String>,
}

/// What a process of the agent is started with.
pub(super) struct Run {
    pub(super) agent: Agent,
    pub(super) caller: Caller,
    pub(super) state: RunState,
    pub(super) worktree: Worktree,
    pub(super) dispatch: Option<Dispatch>,
}

impl Agents {
    /// Runs the agent until it ends or a stop is requested.
    #[tracing::instrument(name = "agent", skip_all, fields(number = %handle.number, name = handle.name))]
    pub(super) async fn run_agent(self: Arc<Self>, handle: Arc<AgentHandle>) {
        tokio::select! {
            biased;
            () = handle.stop_requested() => {}
            () = self.run_processes(&handle) => {}
        }
        self.end_process(&handle).await;
        self.clean_up(&handle).await;
    }

    /// Cleans up after a panic in the agent's task. It counts as a death of the process.
    pub(super) async fn after_panic(self: &Arc<Self>, handle: &Arc<AgentHandle>, what: &str) {
        tracing::error!("bug: agent {}: {what}", handle.name);
        self.end_process(handle).await;
        self.after_death(handle, format!("internal error in flower ({what})")).await;
        self.clean_up(handle).await;
    }

    /// Releases what belongs to the agent. Its token is revoked if the agent has ended, but not if the daemon ends.
    async fn clean_up(&self, handle: &AgentHandle) {
        handle.transcript.flush_all();
        if self.get(handle.number).await.is_ok_and(|agent| !agent.is_live()) {
            let file = self.home.agent(handle.number).join("run.json");
            if let Some(state) = load_run_state(&file)
                && let Ok(caller) = self.access.identify(&state.token, Door::Daemon).await
                && let Some(id) = caller.token
                && let Err(problem) = self.store.execute(&Caller::system(), Command::RevokeToken { id }).await
            {
                tracing::debug!("agent {}: {}", handle.name, problem.message);
            }
            let _ = std::fs::remove_file(&file);
        }
        self.remove_handle(handle);
        handle.ended.send_replace(true);
        self.wake_supervisor();
    }

    async fn run_processes(self: &Arc<Self>, handle: &Arc<AgentHandle>) {
        loop {
            let exit = self.run_process(handle).await.unwrap_or_else(|problem| ProcessExit::Wait(problem.message));
            self.end_process(handle).await;
            let number = handle.number;
            match exit {
                ProcessExit::Retire(why) => return self.record_end(number, Ending::Retired, why, None).await,
                ProcessExit::Failed(why) => return self.give_up_agent(handle, why).await,
                ProcessExit::AlreadyEnded => return,
                ProcessExit::StartNext => handle.set_state(State::Starting, "starting the next process"),
                ProcessExit::Died(why) => {
                    if !self.after_death(handle, why).await {
                        return;
                    }
                }
                ProcessExit::Park(outage) => {
                    let until = self.begin_wait(handle, &outage);
                    self.wait_parked(handle, until).await;
                }
                ProcessExit::Wait(why) => {
                    handle.set_state(State::Waiting, &why);
                    let _ = tokio::time::timeout(RETRY_INTERVAL, handle.wake.notified()).await;
                }
            }
        }
    }

    /// Records the death of a process. Whether the agent is restarted.
    async fn after_death(self: &Arc<Self>, handle: &Arc<AgentHandle>, why: String) -> bool {
        let number = handle.number;
        let why = handle.transcript.masked(&why);
        handle.transcript.add_note(format!("process ended: {why}"));
        let Ok(agent) = self.get(number).await else { return false };
        if agent.restarts >= MAX_RESTARTS {
            let times = MAX_RESTARTS + 1;
            self.give_up_agent(handle, format!("the process ended {times} times; the last reason: {why}")).await;
            return false;
        }
        handle.set_state(State::Starting, &format!("restarting; {why}"));
        self.submit_with_retry(Command::Agent { number, step: Step::Restart { why } }).await;
        tokio::time::sleep(RESTART_DELAY * 3_u32.pow(u32::try_from(agent.restarts).unwrap_or(0))).await;
        true
    }

    /// Ends the process. Credentials are taken back afterwards, when no process can change them.
    async fn end_process(&self, handle: &AgentHandle) {
        self.terminals.remove(&handle.name);
        handle.end_process().await;
        self.return_credentials(handle).await;
    }

    async fn give_up_agent(&self, handle: &AgentHandle, why: String) {
        handle.transcript.add_note(format!("given up: {why}"));
        handle.transcript.flush_all();
        let output = handle.transcript.last_output();
        self.record_end(handle.number, Ending::Failed, handle.transcript.masked(&why), output).await;
    }

    pub(super) async fn record_end(&self, number: AgentId, how: Ending, why: String, output: Option<String>) {
        self.submit_with_retry(Command::Agent { number, step: Step::Stop { how, why, output } }).await;
    }

    /// Submits a command, and repeats it while the disk is full or the database unreachable.
    pub(super) async fn submit_with_retry(&self, command: Command) {
        loop {
            match self.store.execute(&Caller::system(), command.clone()).await {
                Ok(_) => return,
                Err(problem) if matches!(problem.kind, ProblemKind::NoSpace | ProblemKind::Unreachable) => {
                    tracing::warn!("agents: {}; trying again", problem.message);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                Err(problem) => return tracing::warn!("agents: {}", problem.message),
            }
        }
    }

    /// Starts the next process of the agent and waits for its end.
    async fn run_process(self: &Arc<Self>, handle: &Arc<AgentHandle>) -> Result<ProcessExit, Problem> {
        let agent = self.get(handle.number).await?;
        if !agent.is_live() {
            return Ok(ProcessExit::AlreadyEnded);
        }
        let profile = match Config::load(&self.home)?.profile(&agent.profile) {
            Ok(profile) => profile.clone(),
            Err(problem) => return Ok(ProcessExit::Failed(problem.message)),
        };
        if let Some(why) = keys::missing_key(&profile, self.profiles.keys(), &user_home()) {
            return Ok(ProcessExit::Wait(why));
        }
        let program = match self.profiles.find_program(&profile).await {
            Ok(program) => program,
            Err(missing) => return Ok(ProcessExit::Failed(missing.to_string())),
        };
        handle.set_state(State::Starting, "preparing the worktree");
        let run = match self.claim_work(agent, handle).await? {
            Ok(run) => run,
            Err(exit) => return Ok(exit),
        };
        let place = self.worktrees.require_ready(&run.worktree).await?;
        let launch = match self.launch_spec(&run.agent, &profile, &program, &place, &run.state.token).await {
            // A refused launch spec does not change by waiting.
            Err(problem) if problem.kind == ProblemKind::Refused => return Ok(ProcessExit::Failed(problem.message)),
            launch => launch?,
        };
        handle.transcript.set_mask(launch.mask.clone());
        handle.clear_context();
        handle.set_state(State::Starting, "starting the process");
        let mut hosts = RefusedHosts::new(place.network_record(), &handle.transcript);
        let running = async {
            match profile.protocol {
                Protocol::Acp => self.run_acp(handle, run, profile, launch).await,
                Protocol::Pty => self.run_in_pty(handle, run, profile, launch).await,
            }
        };
        let exit = tokio::select! {
            exit = running => exit,
            never = hosts.follow() => match never {},
        };
        hosts.note_new();
        if matches!(exit, Err(_) | Ok(ProcessExit::Failed(_))) {
            hosts.explain_failure();
        }
        exit
    }

    /// Makes sure that the agent has a token, holds the claim and has a worktree.
    async fn claim_work(
        self: &Arc<Self>,
        agent: Agent,
        handle: &AgentHandle,
    ) -> Result<Result<Run, ProcessExit>, Problem> {
        let done = |why: &str| Ok(Err(ProcessExit::Retire(why.to_owned())));
        let Some(number) = agent.dispatch else {
            let (state, caller) = self.identity(&agent).await?;
            let worktree = self.worktrees.ensure(&agent.project, &agent.worktree, None).await?;
            handle.set_work(None);
            return Ok(Ok(Run { agent, caller, state, worktree, dispatch: None }));
        };
        let dispatch = self.dispatcher.get(number).await?;
        let is_taken = dispatch.claim.as_ref().is_some_and(|claim| claim.holder != agent.name && agent.member == 0);
        if agent.standing && (!dispatch.is_open() || is_taken) {
            // A standing agent runs without work until it gets the next dispatch.
            let agent = Agent { dispatch: None, brief: None, ..agent };
            return Box::pin(self.claim_work(agent, handle)).await;
        }
        if !dispatch.is_open() {
            return done("the work has ended");
        }
        let (mut state, mut caller) = self.identity(&agent).await?;
        // Only the lead claims; members work under its claim.
        if agent.member == 0 {
            let is_claimed = dispatch.claim.is_some() && is_run_by(&dispatch, &caller);
            if !is_claimed {
                if dispatch.state != DispatchState::Requested {
                    return done("another agent has claimed the work");
                }
                // A token can claim a dispatch once; after an expired claim a new token is needed.
                if dispatch.was_run_by(caller.token.as_deref().unwrap_or_default()) {
                    (state, caller) = self.issue_identity(&agent).await?;
                }
                let options = ClaimOptions { wait: true, ..ClaimOptions::default() };
                match self.dispatcher.claim(&caller, number, options).await {
                    Err(problem)
                        if problem.kind == ProblemKind::Conflict && !self.has_claimed(number, &caller).await =>
                    {
                        return done("another agent has claimed the work");
                    }
                    claimed => claimed.map(drop)?,
                }
            } else if dispatch.state == DispatchState::Claimed {
                // An earlier claim was interrupted before its worktree was ready.
                self.dispatcher.prepare(number).await?;
            }
        }
        let worktree = self.worktrees.ensure(&agent.project, &agent.worktree, agent.brief).await?;
        let dispatch = self.dispatcher.get(number).await?;
        let (fence, lead) = (dispatch.fence, agent.member == 0);
        handle.set_work(Some(ClaimedWork {
            dispatch: number,
            fence,
            lead,
            token: caller.token.clone().unwrap_or_default(),
        }));
        Ok(Ok(Run { agent, caller, state, worktree, dispatch: Some(dispatch) }))
    }

    async fn has_claimed(&self, number: DispatchId, caller: &Caller) -> bool {
        self.dispatcher.get(number).await.is_ok_and(|dispatch| is_run_by(&dispatch, caller))
    }

    /// The token of the agent's run. It is kept while the agent lives, so that a restart changes neither name nor claim.
    async fn identity(&self, agent: &Agent) -> Result<(RunState, Caller), Problem> {
        let file = self.home.agent(agent.number).join("run.json");
        if let Some(state) = load_run_state(&file).filter(|state| state.dispatch == agent.dispatch)
            && let Ok(caller) = self.access.identify(&state.token, Door::Daemon).await
        {
            return Ok((state, caller));
        }
        self.issue_identity(agent).await
    }

    async fn issue_identity(&self, agent: &Agent) -> Result<(RunState, Caller), Problem> {
        let run = agent.dispatch.map(|dispatch| Binding { dispatch, member: agent.member > 0 });
        let worktree = Some(agent.worktree.clone());
        let new = self
            .access
            .issue_token(&Caller::system(), agent.name.clone(), agent.role, agent.brief, worktree, run)
            .await?;
        let state =
            RunState { dispatch: agent.dispatch, token: new.token, refreshes: agent.refreshes, ..RunState::default() };
        self.save_run_state(agent.number, &state)?;
        let caller = self.access.identify(&state.token, Door::Daemon).await?;
        Ok((state, caller))
    }

    pub(super) fn save_run_state(&self, number: AgentId, state: &RunState) -> Result<(), Problem> {
        let file = self.home.agent(number).join("run.json");
        let text = serde_json::to_string(state).expect("plain data");
        write_private(&file, &text).map_err(|error| self.home.problem(&file, &error))
    }

    /// Renews the claim for the agent, when a heartbeat is due.
    pub(super) async fn send_heartbeat(&self, handle: &AgentHandle) {
        let Some(work) = handle.work().filter(|work| work.lead) else { return };
        if !handle.is_heartbeat_due(HEARTBEAT_INTERVAL) {
            return;
        }
        let beat = Command::Heartbeat { dispatch: work.dispatch, fence: work.fence, moment: self.clock.moment() };
        if let Err(problem) = self.store.execute(&Caller::system(), beat).await {
            tracing::debug!("agent {}: {}", handle.name, problem.message);
        }
    }

    /// Whether the dispatch has ended, or another agent holds its claim.
    pub(super) async fn has_lost_work(&self, handle: &AgentHandle) -> bool {
        let Some(work) = handle.work() else { return false };
        match self.dispatcher.get(work.dispatch).await {
            Ok(dispatch) if work.lead => {
                // After its own hand-back the agent may finish its turn.
                let has_handed_back = dispatch.state == DispatchState::HandedBack && dispatch.is_run_by(&work.token);
                let holds = dispatch.claim.is_some() && dispatch.is_run_by(&work.token);
                !(has_handed_back || holds)
            }
            Ok(dispatch) => !dispatch.is_open(),
            Err(_) => false,
        }
    }
}

fn is_run_by(dispatch: &Dispatch, caller: &Caller) -> bool {
    caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token))
}

fn load_run_state(file: &Path) -> Option<RunState> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}
