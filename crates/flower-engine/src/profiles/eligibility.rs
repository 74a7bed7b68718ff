//! Why a waiting dispatch has no agent yet.

use super::config::Config;
use crate::Profiles;
use crate::settings::AgentSettings;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::agent::Ending;
use flower_core::dispatch::DispatchState;
use flower_core::readiness::{Reason, ReasonCode};
use flower_core::{Agent, AgentId, Dispatch, Role};
use flower_store::{agents, dispatches, landings};
use std::collections::HashMap;

/// What decides in one project whether another agent may start.
pub(crate) struct ProjectCapacity {
    pub(crate) settings: AgentSettings,
    pub(crate) live: u64,
    frozen: bool,
}

impl Profiles {
    pub(crate) async fn capacity(&self, project: &str, live: &[Agent]) -> Result<ProjectCapacity, Problem> {
        let of = project.to_owned();
        let main = self.store.read(move |conn| landings::main(conn, &of)).await?;
        let running = live.iter().filter(|agent| agent.project == project).count();
        Ok(ProjectCapacity {
            settings: self.agent_settings(project).await,
            live: u64::try_from(running).unwrap_or(u64::MAX),
            frozen: main.is_some_and(|main| main.frozen.is_some()),
        })
    }

    /// Why no agent can start for the dispatch now. None if one can.
    pub(crate) async fn blocked(
        &self,
        config: &Config,
        dispatch: &Dispatch,
        member: u64,
        capacity: &ProjectCapacity,
    ) -> Result<Option<Reason>, Problem> {
        let reason = |code: ReasonCode, message: String| Ok(Some(Reason { code, message }));
        let id = dispatch.number;
        let Some(name) = dispatch.profile.as_deref().or(capacity.settings.default.as_deref()) else {
            return Ok(Some(no_agent(dispatch)));
        };
        let before = self.store.read(move |conn| agents::of_dispatch(conn, id)).await?;
        let last = before.iter().rev().find(|agent| agent.member == member);
        // An agent that was stopped or given up is not replaced automatically.
        let is_final = |end: &flower_core::agent::End| matches!(end.how, Ending::Stopped | Ending::Failed);
        if let Some(stopped) = last.filter(|agent| agent.ended.as_ref().is_some_and(is_final)) {
            return reason(
                ReasonCode::AgentStopped,
                format!(
                    "{} was stopped; start another: `flower agent spawn {name} --brief {}`",
                    stopped.name, dispatch.brief
                ),
            );
        }
        if let Some(reason) = self.profile_problem(config, name, dispatch.project.as_deref().unwrap_or_default()).await
        {
            return Ok(Some(reason));
        }
        if capacity.frozen {
            return reason(ReasonCode::MainFrozen, "MAIN is frozen, so no agent starts: `flower thaw`".to_owned());
        }
        if let Some(why) = self.spend_limit(&config.spend, dispatch.brief).await? {
            return reason(ReasonCode::SpendLimit, why);
        }
        if capacity.live >= capacity.settings.max {
            let position = self.position_in_line(dispatch, &capacity.settings).await?;
            return reason(
                ReasonCode::NoSlot,
                format!("{position} in line: {} of {} agents run", capacity.live, capacity.settings.max),
            );
        }
        Ok(None)
    }

    /// Why agents of a profile cannot run in a project: the profile, its program or its network is missing.
    async fn profile_problem(&self, config: &Config, name: &str, project: &str) -> Option<Reason> {
        let with_hint = |code: ReasonCode, problem: Problem| {
            let hint = problem.hints.first().cloned().unwrap_or_default();
            Reason { code, message: format!("{}: {hint}", problem.message) }
        };
        let profile = match config.profile(name) {
            Ok(profile) => profile,
            Err(problem) => return Some(with_hint(ReasonCode::NoProfile, problem)),
        };
        if let Err(missing) = self.find_program(profile).await {
            let message = format!("`{name}` cannot run here: {missing}");
            return Some(Reason { code: ReasonCode::AgentMissing, message });
        }
        match self.network_for(profile, project).await {
            Err(problem) if problem.kind == ProblemKind::Refused => Some(with_hint(ReasonCode::NetworkClosed, problem)),
            // Other errors are reported when the agent is started.
            Ok(_) | Err(_) => None,
        }
    }

    /// The waiting dispatches whose agent cannot start until a person changes something, each with the reason.
    pub(crate) async fn stuck(&self) -> Result<Vec<(Dispatch, Reason)>, Problem> {
        let (mut open, live) = self.store.read(|conn| Ok((dispatches::open(conn)?, agents::live(conn, None)?))).await?;
        open.retain(|d| d.state == DispatchState::Requested && d.worktree.is_some());
        open.retain(|d| !live.iter().any(|agent| agent.dispatch == Some(d.number)));
        let Some(config) = Config::load(&self.home).ok().filter(|_| !open.is_empty()) else { return Ok(Vec::new()) };
        // One answer for each profile in each project, because reading a project's settings starts git.
        let mut defaults: HashMap<String, Option<String>> = HashMap::new();
        let mut known: HashMap<(String, String), Option<Reason>> = HashMap::new();
        let mut stuck = Vec::new();
        for dispatch in open {
            let Some(project) = dispatch.project.clone() else { continue };
            let name = match &dispatch.profile {
                Some(name) => Some(name.clone()),
                None => match defaults.get(&project) {
                    Some(default) => default.clone(),
                    None => {
                        let default = self.agent_settings(&project).await.default;
                        defaults.insert(project.clone(), default.clone());
                        default
                    }
                },
            };
            let Some(name) = name else { continue };
            let key = (project, name);
            if !known.contains_key(&key) {
                let problem = self.profile_problem(&config, &key.1, &key.0).await;
                known.insert(key.clone(), problem);
            }
            if let Some(reason) = known.get(&key).cloned().flatten() {
                stuck.push((dispatch, reason));
            }
        }
        Ok(stuck)
    }

    /// The position of a dispatch among those of its project that wait for an agent.
    async fn position_in_line(&self, dispatch: &Dispatch, settings: &AgentSettings) -> Result<String, Problem> {
        let open = self.store.read(dispatches::open).await?;
        let waits = |d: &&Dispatch| {
            d.state == DispatchState::Requested
                && d.project == dispatch.project
                && d.number <= dispatch.number
                && d.profile.as_ref().or(settings.default.as_ref()).is_some()
        };
        Ok(ordinal(open.iter().filter(waits).count().max(1)))
    }

    /// Why a waiting dispatch has no agent yet. None if one is starting.
    pub(crate) async fn why_waiting(&self, dispatch: &Dispatch) -> Result<Option<Reason>, Problem> {
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
            Err(problem) => return Ok(Some(Reason { code: ReasonCode::NoProfile, message: problem.message })),
        };
        let capacity = self.capacity(project, &live).await?;
        self.blocked(&config, dispatch, 0, &capacity).await
    }
}

fn no_agent(dispatch: &Dispatch) -> Reason {
    let id = dispatch.number;
    let message = format!("no agent is configured; the dispatch waits for a claim: `flower dispatch packet {id}`");
    Reason { code: ReasonCode::NoAgent, message }
}

/// A standing agent of the dispatch's worktree without work.
pub(crate) fn idle_in(live: &[Agent], open: &[Dispatch], dispatch: &Dispatch) -> Option<AgentId> {
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

/// The members of a dispatch that have no agent yet: the lead (0) before the claim, the others while the lead works.
pub(crate) fn missing_members(dispatch: &Dispatch, live: &[Agent]) -> Vec<u64> {
    let there = |member: u64| live.iter().any(|a| a.dispatch == Some(dispatch.number) && a.member == member);
    match dispatch.state {
        DispatchState::Requested => (0..1).filter(|member| !there(*member)).collect(),
        // Only if flower started the lead; an agent that a person started gets no members.
        DispatchState::Executing if there(0) => (1..dispatch.agents).filter(|member| !there(*member)).collect(),
        _ => Vec::new(),
    }
}

fn ordinal(position: usize) -> String {
    let ending = match (position % 10, position % 100) {
        (1, rest) if rest != 11 => "st",
        (2, rest) if rest != 12 => "nd",
        (3, rest) if rest != 13 => "rd",
        _ => "th",
    };
    format!("{position}{ending}")
}
