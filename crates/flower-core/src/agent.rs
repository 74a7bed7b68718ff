//! Agents that flower runs: which agents should run, for which work, and how each ended. The current activity of their
//! processes is observed, not recorded.

use crate::actor::Role;
use crate::aggregate::{Aggregate, Context, subject};
use crate::dispatch::{self, Dispatch, DispatchState};
use crate::event::{
    AgentAssigned, AgentConnected, AgentEvent, AgentRefreshed, AgentRestarted, AgentSpent, AgentStarted, AgentStopped,
    DispatchFailed, Draft, Stream,
};
use crate::ids::{AgentId, BriefId, DispatchId};
use crate::refusal::Refusal;
use crate::word::words;
use crate::world::World;
use crate::{Event, text, worktree};
use serde::{Deserialize, Serialize};

words! {
    /// How an agent ended.
    Ending ("ending") {
        /// Its work is done.
        Retired = "retired",
        /// A person or another agent stopped it.
        Stopped = "stopped",
        /// Its process ended too often, or it did not do its work.
        Failed = "failed",
        /// All agents were stopped at once; its work continues when agents may run again.
        Halted = "halted",
    }
}

words! {
    /// Who wrote a hand-over note.
    Author ("author") { Agent = "agent", Flower = "flower" }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub number: AgentId,
    pub name: String,
    pub profile: String,
    pub role: Role,
    /// A standing agent stays when its work is done, and is assigned the next work.
    pub standing: bool,
    pub project: String,
    pub worktree: String,
    pub brief: Option<BriefId>,
    pub dispatch: Option<DispatchId>,
    /// 0 is the lead; higher numbers are members that assist it in the same worktree.
    pub member: u64,
    /// The number of processes that ended unexpectedly during the current work.
    pub restarts: u64,
    pub refreshes: u64,
    /// The model of its newest session, if the session reported one or flower chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether its newest session has flower's tools. Absent: not known yet, or an agent in a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// The note that the previous agent on this work left for this agent.
    pub hand_over: Option<String>,
    pub ended: Option<End>,
    pub by: String,
    pub started_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub how: Ending,
    pub why: String,
    /// The last output of the agent, where it helps to explain the ending.
    pub output: Option<String>,
}

/// A request to start an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Absent: the agent is named after its profile.
    pub name: Option<String>,
    pub profile: String,
    pub role: Role,
    pub standing: bool,
    pub project: String,
    pub worktree: String,
    pub dispatch: Option<DispatchId>,
    pub member: u64,
    /// The maximum number of agents that may run in the project at once.
    pub most: u64,
}

const OUTPUT_BYTES: usize = 4 * 1024;
/// Maximum amount in one report. No agent uses more at once, and the sum of millions of such reports still fits into a
/// database integer.
const MAX_SPENT: u64 = 1_000_000_000_000;
const WHY_CHARS: usize = 500;
/// Names of models are shorter.
const MODEL_CHARS: usize = 200;

impl Aggregate for Agent {
    subject!(Agent "agent", AgentEvent, AgentId);

    fn create(change: AgentEvent<'_>, context: &Context<'_>) -> Option<Agent> {
        let AgentEvent::AgentStarted(new) = change else { return None };
        Some(Agent {
            number: new.number,
            name: new.name.clone(),
            profile: new.profile.clone(),
            role: new.role,
            standing: new.standing,
            project: new.project.clone(),
            worktree: new.worktree.clone(),
            brief: context.brief,
            dispatch: new.dispatch,
            member: new.member,
            restarts: 0,
            refreshes: 0,
            model: None,
            tools: None,
            hand_over: None,
            ended: None,
            by: context.by.to_owned(),
            started_at: context.at.to_owned(),
            ended_at: None,
        })
    }

    fn evolve(&mut self, change: AgentEvent<'_>, context: &Context<'_>) {
        match change {
            AgentEvent::AgentStarted(_) | AgentEvent::AgentSpent(_) => {}
            AgentEvent::AgentAssigned(assigned) => {
                self.dispatch = Some(assigned.dispatch);
                self.brief = context.brief;
                // An agent that is assigned work becomes its lead, also if it was a member before.
                self.member = 0;
                self.restarts = 0;
                self.hand_over = None;
            }
            AgentEvent::AgentRestarted(_) => self.restarts += 1,
            AgentEvent::AgentConnected(connected) => {
                self.model.clone_from(&connected.model);
                self.tools = connected.tools;
            }
            AgentEvent::AgentRefreshed(refreshed) => {
                self.refreshes += 1;
                self.hand_over = Some(refreshed.note.clone());
            }
            AgentEvent::AgentStopped(stopped) => {
                let (how, why, output) = (stopped.how, stopped.why.clone(), stopped.output.clone());
                self.ended = Some(End { how, why, output });
                self.ended_at = Some(context.at.to_owned());
            }
        }
    }
}

impl Agent {
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    fn draft(&self, event: impl Into<Event>) -> Draft {
        Draft { stream: Stream::Agent(self.number), brief: self.brief, event: event.into() }
    }
}

/// A change of an agent's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Assigns the next work to a standing agent.
    Assign {
        dispatch: DispatchId,
    },
    /// The agent's process ended unexpectedly, and the next process starts.
    Restart {
        why: String,
    },
    /// A session is open, or more is known about it.
    Connect {
        model: Option<String>,
        tools: Option<bool>,
    },
    /// The agent's context was full: a fresh context continues from the note.
    Refresh {
        note: String,
        author: Author,
        used: Option<u64>,
        size: Option<u64>,
    },
    /// Tokens and cost used since the last report, as far as the agent reports them.
    Spend {
        tokens: Option<u64>,
        /// In millionths of the currency.
        cost: Option<u64>,
        currency: Option<String>,
    },
    Stop {
        how: Ending,
        why: String,
        output: Option<String>,
    },
}

pub(crate) fn start(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let profile = text::name("profile", &request.profile)?;
    world.require_project(&request.project)?;
    let worktree = worktree::name(&request.worktree)?;
    let live = || world.agents.values().filter(|agent| agent.is_live());
    let mut brief = None;
    if let Some(number) = request.dispatch {
        let dispatch = world.dispatch(number)?;
        require_free(dispatch, request.member)?;
        brief = Some(dispatch.brief);
        if let Some(there) = live().find(|a| a.dispatch == Some(number) && a.member == request.member) {
            return Err(Refusal::AgentThere { name: there.name.clone(), dispatch: number });
        }
    }
    let running = live().filter(|agent| agent.project == request.project).count();
    if u64::try_from(running).unwrap_or(u64::MAX) >= request.most {
        return Err(Refusal::NoSlot { running, most: request.most });
    }
    let number = world.last_agent.next();
    let is_taken = |name: &str| name == "operator" || live().any(|agent| agent.name == name);
    let name = match &request.name {
        Some(name) => text::name("agent", name)?,
        None => own_name(&profile, number, is_taken),
    };
    if is_taken(&name) {
        return Err(Refusal::AgentNamed { name });
    }
    if request.role == Role::Operator {
        return Err(Refusal::OperatorToken { name });
    }
    let event = AgentStarted {
        number,
        name,
        profile,
        role: request.role,
        standing: request.standing,
        project: request.project.clone(),
        worktree,
        dispatch: request.dispatch,
        member: request.member,
    };
    Ok(vec![Draft { stream: Stream::Agent(number), brief, event: event.into() }])
}

/// Names an agent after its profile, cut so that a number fits: the agent's own number, or the next one if that name is
/// taken.
fn own_name(profile: &str, number: AgentId, is_taken: impl Fn(&str) -> bool) -> String {
    let short: String = profile.chars().take(40).collect();
    let mut at = number;
    loop {
        let name = format!("{short}-{at}");
        if !is_taken(&name) {
            return name;
        }
        at = at.next();
    }
}

/// Checks that an agent may start on the dispatch: a lead only if the dispatch has no holder, a member only if there is
/// room.
fn require_free(dispatch: &Dispatch, member: u64) -> Result<(), Refusal> {
    let (number, state) = (dispatch.number, dispatch.state);
    let wanted = |wanted: &'static str| Err(Refusal::DispatchState { number, state, wanted });
    match (state, member) {
        (DispatchState::Requested, 0) => Ok(()),
        (_, 0) => wanted("waiting for a claim"),
        _ if !dispatch.is_open() => wanted("open"),
        (_, member) if member < dispatch.agents => Ok(()),
        _ => Err(Refusal::TooMany {
            what: "agents",
            count: usize::try_from(member + 1).unwrap_or(usize::MAX),
            most: usize::try_from(dispatch.agents).unwrap_or(usize::MAX),
        }),
    }
}

pub(crate) fn step(world: &World, number: AgentId, step: &Step) -> Result<Vec<Draft>, Refusal> {
    let agent = world.agent(number)?;
    match step {
        // Allowed after the end as well: the total is known only then.
        Step::Spend { tokens, cost, currency } => {
            if tokens.is_none() && cost.is_none() {
                return Ok(Vec::new());
            }
            let (brief, dispatch) = (agent.brief, agent.dispatch);
            let currency = currency.as_deref().map(|word| text::cut(word, 8));
            return Ok(vec![agent.draft(AgentSpent {
                number,
                brief,
                dispatch,
                tokens: tokens.map(|tokens| tokens.min(MAX_SPENT)),
                cost: cost.map(|cost| cost.min(MAX_SPENT)),
                currency,
            })]);
        }
        // Stopping an agent twice changes nothing.
        Step::Stop { .. } if !agent.is_live() => return Ok(Vec::new()),
        _ if !agent.is_live() => return Err(Refusal::AgentEnded { name: agent.name.clone() }),
        _ => {}
    }
    match step {
        Step::Assign { dispatch: next } => assign(world, agent, *next),
        Step::Restart { why } => {
            let (restarts, why) = (agent.restarts + 1, text::cut(why, WHY_CHARS));
            Ok(vec![agent.draft(AgentRestarted { number, restarts, why })])
        }
        Step::Connect { model, tools } => {
            let model = model.as_deref().map(|model| text::cut(model, MODEL_CHARS));
            if (&model, *tools) == (&agent.model, agent.tools) {
                return Ok(Vec::new());
            }
            Ok(vec![agent.draft(AgentConnected { number, model, tools: *tools })])
        }
        Step::Refresh { note, author, used, size } => {
            let note = text::head(note, text::NOTE_BYTES / 4);
            Ok(vec![agent.draft(AgentRefreshed { number, note, author: *author, used: *used, size: *size })])
        }
        Step::Stop { how, why, output } => Ok(stop(world, agent, *how, why, output.as_deref())),
        Step::Spend { .. } => Ok(Vec::new()),
    }
}

fn assign(world: &World, agent: &Agent, next: DispatchId) -> Result<Vec<Draft>, Refusal> {
    let dispatch = world.dispatch(next)?;
    require_free(dispatch, 0)?;
    let works_on = |number| world.dispatches.get(&number).filter(|dispatch| dispatch.is_open());
    if let Some(busy) = agent.dispatch.and_then(works_on) {
        return Err(Refusal::Busy { number: next, other: busy.number });
    }
    let there = world.agents.values().find(|a| a.is_live() && a.dispatch == Some(next) && a.member == 0);
    if let Some(there) = there {
        return Err(Refusal::AgentThere { name: there.name.clone(), dispatch: next });
    }
    let mut draft = agent.draft(AgentAssigned { number: agent.number, dispatch: next });
    draft.brief = Some(dispatch.brief);
    Ok(vec![draft])
}

/// Ends the agent and its claim: the dispatch waits for the next claim, or fails if the agent failed.
fn stop(world: &World, agent: &Agent, how: Ending, why: &str, output: Option<&str>) -> Vec<Draft> {
    let why = text::cut(why, WHY_CHARS);
    let output = output.map(|text| text::tail(text, OUTPUT_BYTES));
    let mut drafts = vec![agent.draft(AgentStopped { number: agent.number, how, why: why.clone(), output })];
    let Some(dispatch) = agent.dispatch.and_then(|number| world.dispatches.get(&number)) else { return drafts };
    match dispatch.claim.as_ref().filter(|claim| claim.holder == agent.name) {
        Some(claim) if how == Ending::Failed => {
            let (number, fence, holder) = (dispatch.number, claim.fence, claim.holder.clone());
            let summary = format!("{} was given up: {why}", agent.name);
            let failed = DispatchFailed { number, fence, holder, summary, not_done: None };
            drafts.push(dispatch::draft(dispatch, failed));
            drafts.extend(dispatch::release_all(world, dispatch, &agent.name, "its agent was given up"));
        }
        Some(claim) => drafts.extend(dispatch::expire(world, dispatch, claim, Some(why))),
        None => drafts.extend(dispatch::release(world, dispatch, &agent.name, "its holder has ended")),
    }
    drafts
}

impl World {
    pub fn agent(&self, number: AgentId) -> Result<&Agent, Refusal> {
        self.agents.get(&number).ok_or_else(|| Refusal::NoAgent { name: number.to_string(), known: Vec::new() })
    }
}
