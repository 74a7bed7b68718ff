//! Why a dispatch that waits gets no agent yet.

use super::config::Config;
use crate::Profiles;
use crate::settings::AgentSettings;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::agent::Ending;
use flower_core::dispatch::DispatchState;
use flower_core::readiness::{Reason, ReasonCode};
use flower_core::{Agent, Dispatch, Role};
use flower_store::{agents, dispatches, landings};

/// How things stand where a dispatch waits.
pub(crate) struct Standing {
    pub(crate) settings: AgentSettings,
    pub(crate) live: u64,
    frozen: bool,
}

impl Profiles {
    pub(crate) async fn standing(&self, project: &str, live: &[Agent]) -> Result<Standing, Problem> {
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
    pub(crate) async fn blocked(
        &self,
        config: &Config,
        dispatch: &Dispatch,
        member: u64,
        standing: &Standing,
    ) -> Result<Option<Reason>, Problem> {
        let reason = |code: ReasonCode, message: String| Ok(Some(Reason { code, message }));
        let id = dispatch.number;
        let Some(name) = dispatch.profile.as_deref().or(standing.settings.default.as_deref()) else {
            return Ok(Some(no_agent(dispatch)));
        };
        let before = self.store.read(move |conn| agents::of_dispatch(conn, id)).await?;
        let last = before.iter().rev().find(|agent| agent.member == member);
        let by_hand = |end: &flower_core::agent::End| matches!(end.how, Ending::Stopped | Ending::Failed);
        if let Some(stopped) = last.filter(|agent| agent.ended.as_ref().is_some_and(by_hand)) {
            return reason(
                ReasonCode::AgentStopped,
                format!(
                    "{} was stopped; start another: `flower agent spawn {name} --brief {}`",
                    stopped.name, dispatch.brief
                ),
            );
        }
        match config.profile(name) {
            Err(problem) => {
                let hint = problem.hints.first().cloned().unwrap_or_default();
                return reason(ReasonCode::NoProfile, format!("{}: {hint}", problem.message));
            }
            Ok(profile) => {
                if let Err(missing) = self.find_program(profile).await {
                    return reason(ReasonCode::AgentMissing, format!("`{name}` cannot run here: {missing}"));
                }
                let network = self.network_for(profile, dispatch.project.as_deref().unwrap_or_default()).await;
                if let Err(problem) = network
                    && problem.kind == ProblemKind::Refused
                {
                    let hint = problem.hints.first().cloned().unwrap_or_default();
                    return reason(ReasonCode::NetworkClosed, format!("{}: {hint}", problem.message));
                }
            }
        }
        if standing.frozen {
            return reason(ReasonCode::MainFrozen, "MAIN is frozen, so no agent begins: `flower thaw`".to_owned());
        }
        if let Some(why) = self.spend_limit(&config.spend, dispatch.brief).await? {
            return reason(ReasonCode::SpendLimit, why);
        }
        if standing.live >= standing.settings.max {
            let place = self.place_in_line(dispatch, &standing.settings).await?;
            return reason(
                ReasonCode::NoSlot,
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
            Err(problem) => return Ok(Some(Reason { code: ReasonCode::NoProfile, message: problem.message })),
        };
        let standing = self.standing(project, &live).await?;
        self.blocked(&config, dispatch, 0, &standing).await
    }
}

fn no_agent(dispatch: &Dispatch) -> Reason {
    let id = dispatch.number;
    let message = format!("no agent is configured; it waits for whoever claims it: `flower dispatch packet {id}`");
    Reason { code: ReasonCode::NoAgent, message }
}

/// A standing agent of the dispatch's worktree that has nothing to do.
pub(crate) fn idle_in(live: &[Agent], open: &[Dispatch], dispatch: &Dispatch) -> Option<u64> {
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
pub(crate) fn wanted(dispatch: &Dispatch, live: &[Agent]) -> Vec<u64> {
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
