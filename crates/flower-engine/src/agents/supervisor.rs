//! The supervisor: which agents there are to be, and whether they are there. It looks at how things stand, so a crash costs
//! it nothing.

use super::profiles::Config;
use super::running::{Order, Running};
use super::transcript::Transcript;
use crate::App;
use crate::settings::AgentSettings;
use crate::worktrees::disk;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::agent::{Ending, Request, Step};
use flower_core::dispatch::DispatchState;
use flower_core::readiness::Reason;
use flower_core::{Agent, Caller, Command, Dispatch, Role, Topic};
use flower_store::{agents, dispatches, landings};
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

/// How things stand where a dispatch waits.
struct Standing {
    settings: AgentSettings,
    live: u64,
    frozen: bool,
}

impl App {
    /// Before anything else looks at leases: whoever was at work when the daemon ended goes on.
    pub async fn adopt_agents(&self) {
        let read = self.store.read(|conn| Ok((agents::live(conn, None)?, dispatches::open(conn)?)));
        let Ok((live, open)) = read.await else { return };
        for agent in &live {
            let claim =
                open.iter().find(|d| Some(d.number) == agent.dispatch).and_then(|d| d.claim.as_ref().map(|c| (d, c)));
            if let Some((dispatch, claim)) = claim.filter(|(_, claim)| claim.holder == agent.name) {
                let beat =
                    Command::Heartbeat { dispatch: dispatch.number, fence: claim.fence, moment: self.clock.moment() };
                let _ = self.submit(&Caller::system(), beat).await;
            }
        }
        self.drop_permissions(None, "the daemon was started again").await;
    }

    pub async fn run_agents(self: Arc<Self>) {
        let mut changes = self.store.follow(TOPICS, SETTLE);
        loop {
            if let Err(problem) = self.supervise().await {
                tracing::warn!("agents: {}", problem.message);
            }
            tokio::select! {
                () = changes.changed() => {}
                () = self.agents.bell.notified() => {}
                () = tokio::time::sleep(EVERY) => {}
            }
            self.agents.wake_all();
        }
    }

    /// Deletes what was kept of agents that ended long ago.
    pub async fn tidy_agents(&self) {
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
        let _alone = self.agents.serving.lock().await;
        let read = self.store.read(|conn| Ok((agents::live(conn, None)?, dispatches::open(conn)?)));
        let (live, open) = read.await?;
        for running in self.agents.all() {
            if !live.iter().any(|agent| agent.number == running.number) {
                running.order.send_replace(Some(Order::Leave));
            }
        }
        for agent in &live {
            if self.agents.get(agent.number).is_none() {
                self.begin_agent(agent)?;
            }
        }
        self.serve_waiting(live, &open).await
    }

    /// What was stopped while nothing could be recorded.
    async fn end_unrecorded(&self) {
        let waiting: Vec<(u64, (Ending, String))> =
            self.agents.to_end.lock().expect("no panic while held").iter().map(|(n, e)| (*n, e.clone())).collect();
        for (number, (how, why)) in waiting {
            let step = Step::Stop { how, why, output: None };
            if self.submit(&Caller::system(), Command::Agent { number, step }).await.is_ok() {
                self.agents.to_end.lock().expect("no panic while held").remove(&number);
            }
        }
    }

    /// Records that there is to be such an agent, and lets it live.
    pub(super) async fn start_agent(self: &Arc<Self>, caller: &Caller, request: Request) -> Result<Agent, Problem> {
        let events = self.submit(caller, Command::StartAgent(request)).await?;
        let started = events.iter().find_map(|e| Agent::started(&e.event().ok()?, e.brief, &e.at, &e.actor_name));
        let started = started.ok_or_else(|| Problem::bug("an agent was started and no event says so"))?;
        self.begin_agent(&started)?;
        Ok(started)
    }

    /// Lets an agent live that is recorded and does not run.
    fn begin_agent(self: &Arc<Self>, agent: &Agent) -> Result<(), Problem> {
        let folder = self.home.agent(agent.number);
        let io = |error: std::io::Error| self.home.problem(&folder, &error);
        disk::make_private(&folder).map_err(io)?;
        let running = {
            let mut all = self.agents.running.lock().expect("no panic while held");
            let doomed = self.agents.to_end.lock().expect("no panic while held").contains_key(&agent.number);
            let ending = self.agents.ending.load(Ordering::Relaxed);
            if doomed || ending || all.contains_key(&agent.number) {
                return Ok(());
            }
            // Opened by one alone: two at once would take each other's file away.
            let transcript =
                Transcript::open(&folder.join("transcript"), self.stirs.clone(), &agent.name).map_err(io)?;
            let transcript = Arc::new(transcript);
            let running = Arc::new(Running::new(agent.number, agent.name.clone(), transcript, self.stirs.clone()));
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
                standings.insert(project.clone(), self.standing(project, &live).await?);
            }
            let Some(standing) = standings.get_mut(project) else { continue };
            if dispatch.state == DispatchState::Requested
                && let Some(idle) = idle_in(&live, open, dispatch)
            {
                let step = Step::Assign { dispatch: dispatch.number };
                if self.submit(&Caller::system(), Command::Agent { number: idle, step }).await.is_ok() {
                    let assigned = live.iter_mut().filter(|agent| agent.number == idle);
                    assigned.for_each(|agent| agent.dispatch = Some(dispatch.number));
                    self.agents.wake_all();
                }
                continue;
            }
            for member in wanted {
                let blocked = self.blocked(&config, dispatch, member, standing).await?;
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

    async fn standing(&self, project: &str, live: &[Agent]) -> Result<Standing, Problem> {
        let of = project.to_owned();
        let main = self.store.read(move |conn| landings::main(conn, &of)).await?;
        let running = live.iter().filter(|agent| agent.project == project).count();
        Ok(Standing {
            settings: self.agent_settings(project).await,
            live: u64::try_from(running).unwrap_or(u64::MAX),
            frozen: main.is_some_and(|main| main.frozen.is_some()),
        })
    }

    /// Why no agent begins there now, if none does.
    async fn blocked(
        &self,
        config: &Config,
        dispatch: &Dispatch,
        member: u64,
        standing: &Standing,
    ) -> Result<Option<Reason>, Problem> {
        let reason = |code: &str, message: String| Ok(Some(Reason { code: code.to_owned(), message }));
        let id = dispatch.number;
        let Some(name) = dispatch.profile.as_deref().or(standing.settings.default.as_deref()) else {
            return Ok(Some(no_agent(dispatch)));
        };
        let before = self.store.read(move |conn| agents::of_dispatch(conn, id)).await?;
        let last = before.iter().rev().find(|agent| agent.member == member);
        let by_hand = |end: &flower_core::agent::End| matches!(end.how, Ending::Stopped | Ending::Failed);
        if let Some(stopped) = last.filter(|agent| agent.ended.as_ref().is_some_and(by_hand)) {
            return reason(
                "agent_stopped",
                format!(
                    "{} was stopped; start another: `flower agent spawn {name} --brief {}`",
                    stopped.name, dispatch.brief
                ),
            );
        }
        match config.profile(name) {
            Err(problem) => {
                let hint = problem.hints.first().cloned().unwrap_or_default();
                return reason("no_profile", format!("{}: {hint}", problem.message));
            }
            Ok(profile) => {
                if let Err(missing) = self.find_program(profile).await {
                    return reason("agent_missing", format!("`{name}` cannot run here: {missing}"));
                }
                let network = self.network_for(profile, dispatch.project.as_deref().unwrap_or_default()).await;
                if let Err(problem) = network
                    && problem.kind == ProblemKind::Refused
                {
                    let hint = problem.hints.first().cloned().unwrap_or_default();
                    return reason("network_closed", format!("{}: {hint}", problem.message));
                }
            }
        }
        if standing.frozen {
            return reason("main_frozen", "MAIN is frozen, so no agent begins: `flower thaw`".to_owned());
        }
        if let Some(why) = self.spend_limit(&config.spend, dispatch.brief).await? {
            return reason("spend_limit", why);
        }
        if standing.live >= standing.settings.max {
            let place = self.place_in_line(dispatch, &standing.settings).await?;
            return reason(
                "no_slot",
                format!("{place} in line: {} of {} agents run", standing.live, standing.settings.max),
            );
        }
        Ok(None)
    }

    /// Among those of its project that wait for an agent of flower's.
    async fn place_in_line(&self, dispatch: &Dispatch, settings: &AgentSettings) -> Result<String, Problem> {
        let open = self.store.read(dispatches::open).await?;
        let waits = |d: &&Dispatch| {
            d.state == DispatchState::Requested
                && d.project == dispatch.project
                && d.number <= dispatch.number
                && d.profile.as_ref().or(settings.default.as_ref()).is_some()
        };
        Ok(ordinal(open.iter().filter(waits).count().max(1)))
    }

    /// Why a dispatch that waits has no agent of flower's yet; none if one is on its way.
    pub(crate) async fn why_unserved(&self, dispatch: &Dispatch) -> Result<Option<Reason>, Problem> {
        if dispatch.state != DispatchState::Requested {
            return Ok(None);
        }
        let (Some(project), Some(_)) = (&dispatch.project, &dispatch.worktree) else {
            return Ok(Some(no_agent(dispatch)));
        };
        let live = self.store.read(|conn| agents::live(conn, None)).await?;
        if live.iter().any(|agent| agent.dispatch == Some(dispatch.number)) {
            return Ok(None);
        }
        let config = match Config::load(&self.home) {
            Ok(config) => config,
            Err(problem) => return Ok(Some(Reason { code: "no_profile".to_owned(), message: problem.message })),
        };
        let standing = self.standing(project, &live).await?;
        self.blocked(&config, dispatch, 0, &standing).await
    }
}

fn no_agent(dispatch: &Dispatch) -> Reason {
    let id = dispatch.number;
    let message = format!("no agent is configured; it waits for whoever claims it: `flower dispatch packet {id}`");
    Reason { code: "no_agent".to_owned(), message }
}

/// A standing agent of the dispatch's worktree that has nothing to do.
fn idle_in(live: &[Agent], open: &[Dispatch], dispatch: &Dispatch) -> Option<u64> {
    let is_busy = |agent: &Agent| agent.dispatch.is_some_and(|number| open.iter().any(|d| d.number == number));
    let fits = |agent: &&Agent| {
        agent.standing
            && agent.role == Role::Worker
            && Some(&agent.project) == dispatch.project.as_ref()
            && Some(&agent.worktree) == dispatch.worktree.as_ref()
            && dispatch.profile.as_ref().is_none_or(|profile| *profile == agent.profile)
    };
    live.iter().filter(fits).find(|agent| !is_busy(agent)).map(|agent| agent.number)
}

/// Which agents of a dispatch are not there yet: the lead before it is claimed, the others while it is worked on.
fn wanted(dispatch: &Dispatch, live: &[Agent]) -> Vec<u64> {
    let there = |member: u64| live.iter().any(|a| a.dispatch == Some(dispatch.number) && a.member == member);
    match dispatch.state {
        DispatchState::Requested => (0..1).filter(|member| !there(*member)).collect(),
        // Whoever works by hand brings others along by hand.
        DispatchState::Executing if there(0) => (1..dispatch.agents).filter(|member| !there(*member)).collect(),
        _ => Vec::new(),
    }
}

fn ordinal(place: usize) -> String {
    let ending = match (place % 10, place % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{place}{ending}")
}
