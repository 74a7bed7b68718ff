//! The life of one agent: its processes, one after the other, until its work is done or somebody ends it.

use super::agent_handle::{AgentHandle, Order, State, Work};
use crate::Agents;
use crate::dispatch::ClaimOptions;
use crate::home::write_private;
use crate::profiles::config::{Config, Protocol};
use crate::profiles::keys;
use crate::profiles::user_home;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::agent::{Ending, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, Binding, Caller, Command, Dispatch, Door, Worktree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Ended so often during one piece of work, it is given up.
const MOST_RESTARTS: u64 = 3;
/// Between two processes of the same agent.
const PAUSE: Duration = Duration::from_millis(700);
/// What an agent waits for may come without anybody saying so.
const LOOK_AGAIN: Duration = Duration::from_secs(15);
/// It lives, so its claim does; renewed well before it is over.
const BEAT: Duration = Duration::from_secs(20);

/// How a process ended, or why there is none.
pub(super) enum ProcessExit {
    /// Its work is done.
    Retire(String),
    /// The next one goes on at once: refreshed, or with other work.
    Fresh,
    /// Unexpectedly; the next one may do better.
    Died(String),
    /// No other would do better.
    Failed(String),
    /// Something is missing that may come.
    Wait(String),
    /// The log says that there is no such agent any more.
    Gone,
}

/// What is kept of a run while its agent lives: for its owner alone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RunState {
    pub(super) dispatch: Option<u64>,
    pub(super) token: String,
    pub(super) session: Option<String>,
    pub(super) refreshes: u64,
}

/// All that a process of it is started with.
pub(super) struct Run {
    pub(super) agent: Agent,
    pub(super) caller: Caller,
    pub(super) kept: RunState,
    pub(super) worktree: Worktree,
    pub(super) dispatch: Option<Dispatch>,
}

impl Agents {
    /// Until it has ended, or is told to.
    #[tracing::instrument(name = "agent", skip_all, fields(number = running.number, name = running.name))]
    pub(super) async fn run_agent(self: Arc<Self>, running: Arc<AgentHandle>) {
        tokio::select! {
            biased;
            Order::Leave = running.ordered() => {}
            () = self.live(&running) => {}
        }
        self.end_process(&running).await;
        self.leave(&running).await;
    }

    /// What is left of an agent whose life ended by a bug of flower's: it counts as one that died.
    pub(super) async fn after_bug(self: &Arc<Self>, running: &Arc<AgentHandle>, what: &str) {
        tracing::error!("bug: agent {}: {what}", running.name);
        self.end_process(running).await;
        self.after_death(running, format!("flower made a mistake ({what})")).await;
        self.leave(running).await;
    }

    /// Nothing of it runs any more. If it has ended for good, nobody can speak in its name either.
    async fn leave(&self, running: &AgentHandle) {
        running.transcript.settle();
        if self.get(running.number).await.is_ok_and(|agent| !agent.is_live()) {
            let file = self.home.agent(running.number).join("run.json");
            let kept: Option<RunState> = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
            if let Some(kept) = kept
                && let Ok(caller) = self.access.identify(&kept.token, Door::Daemon).await
                && let Some(id) = caller.token
                && let Err(problem) = self.store.execute(&Caller::system(), Command::RevokeToken { id }).await
            {
                tracing::debug!("agent {}: {}", running.name, problem.message);
            }
            let _ = std::fs::remove_file(&file);
        }
        self.forget(running);
        running.over.send_replace(true);
        self.look();
    }

    async fn live(self: &Arc<Self>, running: &Arc<AgentHandle>) {
        loop {
            let over = self.process(running).await.unwrap_or_else(|problem| ProcessExit::Wait(problem.message));
            self.end_process(running).await;
            let number = running.number;
            match over {
                ProcessExit::Retire(why) => return self.record_end(number, Ending::Retired, why, None).await,
                ProcessExit::Failed(why) => return self.give_up_agent(running, why).await,
                ProcessExit::Gone => return,
                ProcessExit::Fresh => running.see(State::Starting, "the next process begins"),
                ProcessExit::Died(why) => {
                    if !self.after_death(running, why).await {
                        return;
                    }
                }
                ProcessExit::Wait(why) => {
                    running.see(State::Waiting, &why);
                    let _ = tokio::time::timeout(LOOK_AGAIN, running.wake.notified()).await;
                }
            }
        }
    }

    /// Whether it is started again.
    async fn after_death(self: &Arc<Self>, running: &Arc<AgentHandle>, why: String) -> bool {
        let number = running.number;
        let why = running.transcript.masked(&why);
        running.transcript.flower(format!("it ended: {why}"));
        let Ok(agent) = self.get(number).await else { return false };
        if agent.restarts >= MOST_RESTARTS {
            let times = MOST_RESTARTS + 1;
            self.give_up_agent(running, format!("it ended {times} times, the last time because {why}")).await;
            return false;
        }
        running.see(State::Starting, &format!("it ended ({why}) and is started again"));
        self.submit_with_retry(Command::Agent { number, step: Step::Restart { why } }).await;
        tokio::time::sleep(PAUSE * 3_u32.pow(u32::try_from(agent.restarts).unwrap_or(0))).await;
        true
    }

    /// What was lent is taken back once nothing of it runs.
    async fn end_process(&self, running: &AgentHandle) {
        self.terminals.remove(&running.name);
        running.end_body().await;
        self.take_login_back(running).await;
    }

    async fn give_up_agent(&self, running: &AgentHandle, why: String) {
        running.transcript.flower(format!("it is given up: {why}"));
        running.transcript.settle();
        let words = running.transcript.last_words();
        self.record_end(running.number, Ending::Failed, running.transcript.masked(&why), words).await;
    }

    pub(super) async fn record_end(&self, number: u64, how: Ending, why: String, output: Option<String>) {
        self.submit_with_retry(Command::Agent { number, step: Step::Stop { how, why, output } }).await;
    }

    /// Until it is recorded: a full disk is no reason to forget it.
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

    async fn process(self: &Arc<Self>, running: &Arc<AgentHandle>) -> Result<ProcessExit, Problem> {
        let agent = self.get(running.number).await?;
        if !agent.is_live() {
            return Ok(ProcessExit::Gone);
        }
        let profile = match Config::load(&self.home)?.profile(&agent.profile) {
            Ok(profile) => profile.clone(),
            Err(problem) => return Ok(ProcessExit::Failed(problem.message)),
        };
        if let Some(why) = keys::missing(&profile, &self.profiles.keys, &user_home()) {
            return Ok(ProcessExit::Wait(why));
        }
        let program = match self.profiles.find_program(&profile).await {
            Ok(program) => program,
            Err(missing) => return Ok(ProcessExit::Failed(missing.to_string())),
        };
        running.see(State::Starting, "its worktree is made ready");
        let run = match self.claim_work(agent, running).await? {
            Ok(run) => run,
            Err(over) => return Ok(over),
        };
        let place = self.worktrees.require_ready(&run.worktree).await?;
        let equipment = match self.equip(&run.agent, &profile, &program, &place, &run.kept.token).await {
            Err(problem) if problem.kind == ProblemKind::Refused => return Ok(ProcessExit::Failed(problem.message)),
            equipment => equipment?,
        };
        running.transcript.mask(equipment.mask.clone());
        running.empty_context();
        running.see(State::Starting, "its process begins");
        match profile.protocol {
            Protocol::Acp => self.run_acp(running, run, profile, equipment).await,
            Protocol::Pty => self.run_in_pty(running, run, profile, equipment).await,
        }
    }

    /// Its identity, its claim and its worktree, as far as they are not there already.
    async fn claim_work(
        self: &Arc<Self>,
        agent: Agent,
        running: &AgentHandle,
    ) -> Result<Result<Run, ProcessExit>, Problem> {
        let done = |why: &str| Ok(Err(ProcessExit::Retire(why.to_owned())));
        let Some(number) = agent.dispatch else {
            let (kept, caller) = self.identity(&agent).await?;
            let worktree = self.worktrees.ensure(&agent.project, &agent.worktree, None).await?;
            running.set_work(None);
            return Ok(Ok(Run { agent, caller, kept, worktree, dispatch: None }));
        };
        let dispatch = self.dispatcher.get(number).await?;
        let others = dispatch.claim.as_ref().is_some_and(|claim| claim.holder != agent.name && agent.member == 0);
        if agent.standing && (!dispatch.is_open() || others) {
            // It waits for the next.
            let agent = Agent { dispatch: None, brief: None, ..agent };
            return Box::pin(self.claim_work(agent, running)).await;
        }
        if !dispatch.is_open() {
            return done("its work has ended");
        }
        let (mut kept, mut caller) = self.identity(&agent).await?;
        if agent.member == 0 {
            let ours = |dispatch: &Dispatch, caller: &Caller| {
                caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token)) && dispatch.claim.is_some()
            };
            if !ours(&dispatch, &caller) {
                if dispatch.state != DispatchState::Requested {
                    return done("somebody else has claimed its work");
                }
                // A token claims once; after a lease that ran out it takes a new one.
                if dispatch.was_run_by(caller.token.as_deref().unwrap_or_default()) {
                    (kept, caller) = self.new_identity(&agent).await?;
                }
                let wish = ClaimOptions { wait: true, ..ClaimOptions::default() };
                match self.dispatcher.claim(&caller, number, wish).await {
                    Err(problem) if problem.kind == ProblemKind::Conflict && !self.is_ours(number, &caller).await => {
                        return done("somebody else has claimed its work");
                    }
                    claimed => claimed.map(drop)?,
                }
            } else if dispatch.state == DispatchState::Claimed {
                self.dispatcher.prepare(number).await?;
            }
        }
        let worktree = self.worktrees.ensure(&agent.project, &agent.worktree, agent.brief).await?;
        let dispatch = self.dispatcher.get(number).await?;
        let (fence, lead) = (dispatch.fence, agent.member == 0);
        running.set_work(Some(Work { dispatch: number, fence, lead, token: caller.token.clone().unwrap_or_default() }));
        Ok(Ok(Run { agent, caller, kept, worktree, dispatch: Some(dispatch) }))
    }

    async fn is_ours(&self, number: u64, caller: &Caller) -> bool {
        let dispatch = self.dispatcher.get(number).await;
        dispatch.is_ok_and(|dispatch| caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token)))
    }

    /// The token of its run, kept for as long as it lives, so that a restart changes neither its name nor its claim.
    async fn identity(&self, agent: &Agent) -> Result<(RunState, Caller), Problem> {
        let file = self.home.agent(agent.number).join("run.json");
        let kept: Option<RunState> = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        if let Some(kept) = kept.filter(|kept| kept.dispatch == agent.dispatch)
            && let Ok(caller) = self.access.identify(&kept.token, Door::Daemon).await
        {
            return Ok((kept, caller));
        }
        self.new_identity(agent).await
    }

    async fn new_identity(&self, agent: &Agent) -> Result<(RunState, Caller), Problem> {
        let run = agent.dispatch.map(|dispatch| Binding { dispatch, member: agent.member > 0 });
        let worktree = Some(agent.worktree.clone());
        let new = self
            .access
            .issue_token(&Caller::system(), agent.name.clone(), agent.role, agent.brief, worktree, run)
            .await?;
        let kept = RunState { dispatch: agent.dispatch, token: new.token, session: None, refreshes: agent.refreshes };
        self.keep(agent.number, &kept)?;
        let caller = self.access.identify(&kept.token, Door::Daemon).await?;
        Ok((kept, caller))
    }

    pub(super) fn keep(&self, number: u64, kept: &RunState) -> Result<(), Problem> {
        let file = self.home.agent(number).join("run.json");
        let text = serde_json::to_string(kept).expect("plain data");
        write_private(&file, &text).map_err(|error| self.home.problem(&file, &error))
    }

    /// A process that flower started beats by living.
    pub(super) async fn beat_for(&self, running: &AgentHandle) {
        let Some(work) = running.work().filter(|work| work.lead) else { return };
        if !running.is_beat_due(BEAT) {
            return;
        }
        let beat = Command::Heartbeat { dispatch: work.dispatch, fence: work.fence, moment: self.clock.moment() };
        if let Err(problem) = self.store.execute(&Caller::system(), beat).await {
            tracing::debug!("agent {}: {}", running.name, problem.message);
        }
    }

    /// Whether what it works on has ended, or is somebody else's.
    pub(super) async fn is_work_gone(&self, running: &AgentHandle) -> bool {
        let Some(work) = running.work() else { return false };
        match self.dispatcher.get(work.dispatch).await {
            Ok(dispatch) if work.lead => {
                // Handed back by itself, it may still say a last word.
                let by_itself = dispatch.state == DispatchState::HandedBack && dispatch.is_run_by(&work.token);
                let holds = dispatch.claim.is_some() && dispatch.is_run_by(&work.token);
                !(by_itself || holds)
            }
            Ok(dispatch) => !dispatch.is_open(),
            Err(_) => false,
        }
    }
}
