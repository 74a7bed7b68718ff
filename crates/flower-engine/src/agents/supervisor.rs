//! The supervisor: which agents there are to be, and whether they are there. It looks at how things stand, so a crash costs
//! it nothing.

use super::agent_handle::{AgentHandle, Order};
use super::transcript::Transcript;
use crate::Agents;
use crate::passes;
use crate::profiles::config::Config;
use crate::profiles::{Standing, idle_in, wanted};
use crate::worktrees::disk;
use flower_contract::error::Problem;
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, Caller, Command, Dispatch, Role, Topic};
use flower_store::{agents, dispatches};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(5);
/// What comes together is looked at together.
const SETTLE: Duration = Duration::from_millis(100);

/// Transcripts of agents that have ended: 30 days, as archives.
const KEPT_SECONDS: i64 = 30 * 24 * 3_600;

/// What may leave something to do for an agent, or start one.
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
    /// Before anything else looks at leases: whoever was at work when the daemon ended goes on.
    pub async fn adopt(&self) {
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
        self.drop_permissions(None, "the daemon was started again").await;
    }

    pub async fn run(self: Arc<Self>) {
        let mut changes = self.store.follow(TOPICS, SETTLE);
        loop {
            let pass = passes::begin("agents", &self.store);
            if let Err(problem) = self.supervise().await {
                tracing::warn!("agents: {}", problem.message);
            }
            drop(pass);
            tokio::select! {
                () = changes.changed() => {}
                () = self.bell.notified() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
            self.wake_all();
        }
    }

    /// Deletes what was kept of agents that ended long ago.
    pub async fn tidy(&self) {
        let all = self.store.read(|conn| agents::all(conn, None, u64::MAX >> 1)).await.unwrap_or_default();
        let now = jiff::Timestamp::now();
        for agent in all {
            let ended = agent.ended_at.as_deref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
            let folder = self.home.agent(agent.number);
            if ended.is_some_and(|at| now.duration_since(at).as_secs() > KEPT_SECONDS) && folder.exists() {
                crate::worktrees::reclaim(&self.home, &folder);
            }
        }
    }

    async fn supervise(self: &Arc<Self>) -> Result<(), Problem> {
        self.end_unrecorded().await;
        let _alone = self.serving.lock().await;
        let read = self.store.read(|conn| Ok((agents::live(conn, None)?, dispatches::open(conn)?)));
        let (live, open) = read.await?;
        for running in self.handles() {
            if !live.iter().any(|agent| agent.number == running.number) {
                running.order.send_replace(Some(Order::Leave));
            }
        }
        for agent in &live {
            if self.handle(agent.number).is_none() {
                self.begin_agent(agent)?;
            }
        }
        self.serve_waiting(live, &open).await
    }

    /// What was stopped while nothing could be recorded.
    async fn end_unrecorded(&self) {
        let waiting: Vec<(u64, (Ending, String))> =
            self.to_end.lock().expect("no panic while held").iter().map(|(n, e)| (*n, e.clone())).collect();
        for (number, (how, why)) in waiting {
            let step = Step::Stop { how, why, output: None };
            if self.store.execute(&Caller::system(), Command::Agent { number, step }).await.is_ok() {
                self.to_end.lock().expect("no panic while held").remove(&number);
            }
        }
    }

    /// Records that there is to be such an agent, and lets it live.
    pub(super) async fn start_agent(self: &Arc<Self>, caller: &Caller, request: Request) -> Result<Agent, Problem> {
        let started = self.store.create::<Agent>(caller, Command::StartAgent(request)).await?;
        self.begin_agent(&started)?;
        Ok(started)
    }

    /// Lets an agent live that is recorded and does not run.
    fn begin_agent(self: &Arc<Self>, agent: &Agent) -> Result<(), Problem> {
        let folder = self.home.agent(agent.number);
        let io = |error: std::io::Error| self.home.problem(&folder, &error);
        disk::make_private(&folder).map_err(io)?;
        let running = {
            let mut all = self.running.lock().expect("no panic while held");
            let doomed = self.to_end.lock().expect("no panic while held").contains_key(&agent.number);
            let ending = self.ending.load(Ordering::Relaxed);
            if doomed || ending || all.contains_key(&agent.number) {
                return Ok(());
            }
            // Opened by one alone: two at once would take each other's file away.
            let transcript =
                Transcript::open(&folder.join("transcript"), self.hints.clone(), &agent.name).map_err(io)?;
            let transcript = Arc::new(transcript);
            let running = Arc::new(AgentHandle::new(agent.number, agent.name.clone(), transcript, self.hints.clone()));
            all.insert(agent.number, running.clone());
            running
        };
        let app = self.clone();
        tokio::spawn(async move {
            let living = tokio::spawn(app.clone().run_agent(running.clone()));
            // A bug of ours must not look like an agent that works.
            if let Err(error) = living.await {
                app.after_bug(&running, &error.to_string()).await;
            }
        });
        Ok(())
    }

    /// Those that wait for an agent of flower's, oldest first, as long as there is room.
    async fn serve_waiting(self: &Arc<Self>, mut live: Vec<Agent>, open: &[Dispatch]) -> Result<(), Problem> {
        let config = Config::load(&self.home)?;
        let mut standings: HashMap<String, Standing> = HashMap::new();
        for dispatch in open {
            let (Some(project), Some(worktree)) = (&dispatch.project, &dispatch.worktree) else { continue };
            let wanted = wanted(dispatch, &live);
            if wanted.is_empty() {
                continue;
            }
            if !standings.contains_key(project) {
                standings.insert(project.clone(), self.profiles.standing(project, &live).await?);
            }
            let Some(standing) = standings.get_mut(project) else { continue };
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
            for member in wanted {
                let blocked = self.profiles.blocked(&config, dispatch, member, standing).await?;
                if blocked.is_some() {
                    break;
                }
                let Some(profile) = dispatch.profile.clone().or_else(|| standing.settings.default.clone()) else {
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
                    most: standing.settings.max,
                };
                match self.start_agent(&Caller::system(), request).await {
                    Ok(started) => {
                        standing.live += 1;
                        live.push(started);
                    }
                    Err(problem) => tracing::debug!("dispatch {}: {}", dispatch.number, problem.message),
                }
            }
        }
        Ok(())
    }
}
