//! The supervisor compares the agents in the log with the running ones, and starts and stops agents accordingly. It keeps no
//! state of its own, so a crash loses nothing.

use super::agent_handle::AgentHandle;
use super::transcript::Transcript;
use crate::Agents;
use crate::passes;
use crate::profiles::config::Config;
use crate::profiles::{ProjectCapacity, idle_in, missing_members};
use crate::worktrees::disk;
use flower_contract::error::Problem;
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, AgentId, Caller, Command, Dispatch, Role, Topic};
use flower_store::{agents, dispatches};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Events within this time are handled together.
const DEBOUNCE: Duration = Duration::from_millis(100);

/// How long files of ended agents are kept: 30 days, like archives.
const MAX_AGE_SECONDS: i64 = 30 * 24 * 3_600;

/// Topics of events that can give an agent something to do, or start one.
const TOPICS: &[Topic] = &[
    Topic::Agents,
    Topic::Briefs,
    Topic::Dispatches,
    Topic::Landings,
    Topic::Messages,
    Topic::Permissions,
    Topic::Questions,
    Topic::Specs,
];

impl Agents {
    /// Renews the claims of agents that worked when the daemon ended. Must run before claims are checked for expiry.
    pub async fn renew_claims(&self) {
        let read = self.store.read(|conn| Ok((agents::live(conn, None)?, dispatches::open(conn)?)));
        let Ok((live, open)) = read.await else { return };
        for agent in &live {
            let claim =
                open.iter().find(|d| Some(d.number) == agent.dispatch).and_then(|d| d.claim.as_ref().map(|c| (d, c)));
            if let Some((dispatch, claim)) = claim.filter(|(_, claim)| claim.holder == agent.name) {
                let beat =
                    Command::Heartbeat { dispatch: dispatch.number, fence: claim.fence, moment: self.clock.moment() };
                let _ = self.store.execute(&Caller::system(), beat).await;
            }
        }
        self.deny_open_permissions(None, "the daemon was started again").await;
    }

    pub async fn run(self: Arc<Self>) {
        let mut changes = self.store.follow(TOPICS, DEBOUNCE);
        loop {
            let pass = passes::begin("agents", &self.store);
            if let Err(problem) = self.supervise().await {
                tracing::warn!("agents: {}", problem.message);
            }
            drop(pass);
            tokio::select! {
                () = changes.changed() => {}
                () = self.supervisor_wake.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            self.wake_all();
        }
    }

    /// Deletes the files of agents that ended long ago.
    pub async fn delete_old_files(&self) {
        let all = self.store.read(|conn| agents::all(conn, None, u64::MAX >> 1)).await.unwrap_or_default();
        let now = jiff::Timestamp::now();
        for agent in all {
            let ended = agent.ended_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
            let folder = self.home.agent(agent.number);
            if ended.is_some_and(|at| now.duration_since(at).as_secs() > MAX_AGE_SECONDS) && folder.exists() {
                crate::worktrees::reclaim(&self.home, &folder);
            }
        }
    }

    async fn supervise(self: &Arc<Self>) -> Result<(), Problem> {
        self.record_ends().await;
        let _lock = self.assignment_lock.lock().await;
        let read = self.store.read(|conn| Ok((agents::live(conn, None)?, dispatches::open(conn)?)));
        let (live, open) = read.await?;
        for handle in self.handles() {
            if !live.iter().any(|agent| agent.number == handle.number) {
                handle.request_stop();
            }
        }
        for agent in &live {
            if self.handle(agent.number).is_none() {
                self.launch(agent)?;
            }
        }
        self.start_waiting(live, &open).await
    }

    /// Records the ends of agents that could not be recorded before.
    async fn record_ends(&self) {
        let waiting: Vec<(AgentId, (Ending, String))> =
            self.unrecorded_ends.lock().expect("no panic while held").iter().map(|(n, e)| (*n, e.clone())).collect();
        for (number, (how, why)) in waiting {
            let step = Step::Stop { how, why, output: None };
            if self.store.execute(&Caller::system(), Command::Agent { number, step }).await.is_ok() {
                self.unrecorded_ends.lock().expect("no panic while held").remove(&number);
            }
        }
    }

    /// Records a new agent and launches it.
    pub(super) async fn start_agent(self: &Arc<Self>, caller: &Caller, request: Request) -> Result<Agent, Problem> {
        let started = self.store.create::<Agent>(caller, Command::StartAgent(request)).await?;
        self.launch(&started)?;
        Ok(started)
    }

    /// Starts the task of a recorded agent, if it does not run yet.
    fn launch(self: &Arc<Self>, agent: &Agent) -> Result<(), Problem> {
        let folder = self.home.agent(agent.number);
        let io = |error: std::io::Error| self.home.problem(&folder, &error);
        disk::make_private(&folder).map_err(io)?;
        let handle = {
            let mut all = self.handles.lock().expect("no panic while held");
            let has_ended = self.unrecorded_ends.lock().expect("no panic while held").contains_key(&agent.number);
            let is_shutting_down = self.shutting_down.load(Ordering::Relaxed);
            if has_ended || is_shutting_down || all.contains_key(&agent.number) {
                return Ok(());
            }
            // Opened under the lock: two open transcripts would replace each other's file.
            let transcript =
                Transcript::open(&folder.join("transcript"), self.hints.clone(), &agent.name).map_err(io)?;
            let transcript = Arc::new(transcript);
            let handle = Arc::new(AgentHandle::new(agent.number, agent.name.clone(), transcript, self.hints.clone()));
            all.insert(agent.number, handle.clone());
            handle
        };
        let agents = self.clone();
        tokio::spawn(async move {
            let task = tokio::spawn(agents.clone().run_agent(handle.clone()));
            // After a panic the agent must not be shown as working.
            if let Err(error) = task.await {
                agents.after_panic(&handle, &error.to_string()).await;
            }
        });
        Ok(())
    }

    /// Starts or assigns agents for waiting dispatches, oldest first, up to the limit of each project.
    async fn start_waiting(self: &Arc<Self>, mut live: Vec<Agent>, open: &[Dispatch]) -> Result<(), Problem> {
        let config = Config::load(&self.home)?;
        let mut capacities: HashMap<String, ProjectCapacity> = HashMap::new();
        for dispatch in open {
            let (Some(project), Some(worktree)) = (&dispatch.project, &dispatch.worktree) else { continue };
            let missing = missing_members(dispatch, &live);
            if missing.is_empty() {
                continue;
            }
            if !capacities.contains_key(project) {
                capacities.insert(project.clone(), self.profiles.capacity(project, &live).await?);
            }
            let Some(capacity) = capacities.get_mut(project) else { continue };
            // A standing agent without work is used before a new one is started.
            if dispatch.state == DispatchState::Requested
                && let Some(idle) = idle_in(&live, open, dispatch)
            {
                let step = Step::Assign { dispatch: dispatch.number };
                if self.store.execute(&Caller::system(), Command::Agent { number: idle, step }).await.is_ok() {
                    let assigned = live.iter_mut().filter(|agent| agent.number == idle);
                    assigned.for_each(|agent| agent.dispatch = Some(dispatch.number));
                    self.wake_all();
                }
                continue;
            }
            for member in missing {
                // If one member cannot start, the following ones wait too.
                if self.profiles.blocked(&config, dispatch, member, capacity).await?.is_some() {
                    break;
                }
                let Some(profile) = dispatch.profile.clone().or_else(|| capacity.settings.default.clone()) else {
                    break;
                };
                let request = Request {
                    name: None,
                    profile,
                    role: Role::Worker,
                    standing: false,
                    project: project.clone(),
                    worktree: worktree.clone(),
                    dispatch: Some(dispatch.number),
                    member,
                    most: capacity.settings.max,
                };
                match self.start_agent(&Caller::system(), request).await {
                    Ok(started) => {
                        capacity.live += 1;
                        live.push(started);
                    }
                    Err(problem) => tracing::debug!("dispatch {}: {}", dispatch.number, problem.message),
                }
            }
        }
        Ok(())
    }
}
