//! The scorecard of agents: gathers what they worked on, for the rules that count.

use crate::Agents;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::ScoreView;
use flower_core::agent::Agent;
use flower_core::readiness::DispatchKind;
use flower_core::scorecard::{Score, Worked, scorecard};
use flower_core::{Dispatch, DispatchId};
use flower_store::{agents, dispatches};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// Agents and dispatches that are read at most, the newest ones.
const MAX_READ: u64 = 5_000;

impl Agents {
    /// How agents did, by profile, model and kind of dispatch: of all dispatches, or of those of the last days.
    pub async fn stats(&self, choice: &ProjectChoice, days: Option<u32>) -> Result<Vec<ScoreView>, Problem> {
        let project = self.projects.find(choice).await?;
        let of = project.clone();
        let read = self.store.read(move |conn| {
            let ran = agents::on_dispatches(conn, of.as_deref(), MAX_READ)?;
            let all = dispatches::all(conn, None, MAX_READ)?;
            let first = all.last().map_or(DispatchId(0), |dispatch| dispatch.number);
            Ok((ran, all, agents::spent_by_dispatch(conn, first)?))
        });
        let (ran, all, spent) = read.await?;
        let spent: HashMap<DispatchId, _> = spent.into_iter().collect();
        let since = days.map(|days| Timestamp::now() - SignedDuration::from_hours(24 * i64::from(days)));
        let is_chosen = |dispatch: &&Dispatch| {
            let is_new = since.is_none_or(|since| {
                dispatch.requested_at.parse::<Timestamp>().is_ok_and(|requested| requested >= since)
            });
            is_new && (project.is_none() || dispatch.project == project)
        };
        let mut on: HashMap<DispatchId, Vec<&Agent>> = HashMap::new();
        for agent in &ran {
            on.entry(agent.dispatch.unwrap_or_default()).or_default().push(agent);
        }
        let worked = all.iter().filter(is_chosen).filter_map(|dispatch| {
            let agents = on.get(&dispatch.number).map(Vec::as_slice).unwrap_or_default();
            // A standing agent is assigned one dispatch after the other, and is found by its name.
            let holds = |agent: &&Agent| dispatch.runs.last().is_some_and(|run| run.holder == agent.name);
            let lead = agents.iter().find(|agent| agent.member == 0).copied();
            let lead = lead.or_else(|| ran.iter().find(holds))?;
            let usage = spent.get(&dispatch.number).cloned().unwrap_or_default();
            Some(Worked {
                dispatch,
                profile: lead.profile.clone(),
                model: lead.model.clone(),
                seconds: time_of(agents),
                cost: usage.cost,
                currency: usage.currency,
                tokens: usage.tokens,
            })
        });
        let fixes: Vec<&Dispatch> = all.iter().filter(|dispatch| dispatch.kind == DispatchKind::Fix).collect();
        Ok(scorecard(&worked.collect::<Vec<_>>(), &fixes).into_iter().map(view).collect())
    }
}

/// How long the leading agents ran together. Not known if one has not ended, or if a standing agent did it between other work.
fn time_of(agents: &[&Agent]) -> Option<u64> {
    let leads: Vec<_> = agents.iter().filter(|agent| agent.member == 0 && !agent.standing).collect();
    if leads.is_empty() { None } else { leads.iter().map(|agent| seconds(agent)).sum() }
}

/// How long an agent ran, if it has ended.
fn seconds(agent: &Agent) -> Option<u64> {
    let (start, end): (Timestamp, Timestamp) =
        (agent.started_at.parse().ok()?, agent.ended_at.as_deref()?.parse().ok()?);
    u64::try_from(end.duration_since(start).as_secs()).ok()
}

fn view(score: Score) -> ScoreView {
    ScoreView {
        profile: score.profile,
        model: score.model,
        kind: score.kind,
        ended: score.ended,
        landed: score.landed,
        first_try: score.first_try,
        fixes: score.fixes,
        failed: score.failed,
        seconds: score.seconds,
        cost_per_landing: score.cost_per_landing.map(crate::profiles::amount),
        currency: score.currency,
        tokens: score.tokens,
    }
}
