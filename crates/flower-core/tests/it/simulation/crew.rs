//! Agents that flower runs: the supervisor starts one for a waiting dispatch, claims with its token, and sends
//! heartbeats while its process lives. A process can die at any time, and all die with the daemon; the claims of their
//! agents remain.

use crate::simulation::sim::{Sim, operator};
use flower_core::agent::{Author, Ending, Request, Step};
use flower_core::dispatch::{self, HandBack};
use flower_core::{Actor, ActorType, AgentId, Binding, Caller, Command, DispatchId, Door, Fence, Role, chain, token};

/// Unexpected ends of an agent's processes after which the agent fails.
const MAX_RESTARTS: u64 = 3;
/// Longer than a simulated run, so that such a claim never ends by time.
const LEASE: u64 = 80_000;

/// The supervisor's state of one agent; everything but the process survives the daemon.
#[derive(Default)]
pub struct Process {
    runs: bool,
    /// The process ended with the daemon, which does not count as a failure.
    went_with_daemon: bool,
    caller: Option<Caller>,
    fence: Fence,
}

impl Sim {
    pub fn supervisor_acts(&mut self) {
        if !self.daemons[0].is_up || self.most_crew == 0 {
            return;
        }
        let live: Vec<AgentId> = self.world.agents.values().filter(|a| a.is_live()).map(|a| a.number).collect();
        match (self.chance.pick(&live), self.chance.below(100)) {
            (Some(number), 0..3) => {
                self.count("agent stopped");
                self.stops(&operator(), number, Ending::Stopped);
            }
            (Some(number), 3..80) => self.tends(number),
            _ => self.starts_agent(),
        }
    }

    /// Sometimes for a dispatch that already has a holder.
    fn starts_agent(&mut self) {
        let any = self.chance.percent(20);
        let wanted = self.world.dispatches.values().filter(|d| any || (d.is_open() && d.claim.is_none()));
        let wanted: Vec<DispatchId> = wanted.map(|d| d.number).collect();
        let Some(number) = self.chance.pick(&wanted) else { return };
        let worktree = self.world.dispatches[&number].worktree.clone().unwrap_or_else(|| "place".to_owned());
        let (name, profile, role, standing) = (None, "crew".to_owned(), Role::Worker, false);
        let (project, dispatch, member, most) = ("web".to_owned(), Some(number), 0, self.most_crew);
        let request = Request { name, profile, role, standing, project, worktree, dispatch, member, most };
        if self.submit(&Caller::system(), &Command::StartAgent(request)).is_ok() {
            self.count("agent started");
            self.crew.insert(self.world.last_agent, Process { runs: true, ..Process::default() });
        }
    }

    fn tends(&mut self, number: AgentId) {
        let agent = self.world.agents[&number].clone();
        let dispatch = self.world.dispatches[&agent.dispatch.expect("each has work here")].clone();
        let process = &self.crew[&number];
        let (runs, blameless, fence) = (process.runs, process.went_with_daemon, process.fence);
        if !dispatch.is_open() {
            self.count("agent retired");
            self.stops(&Caller::system(), number, Ending::Retired);
        } else if !runs && blameless {
            self.count("agent brought back");
            self.begins(number);
        } else if !runs && agent.restarts >= MAX_RESTARTS {
            self.count("agent given up");
            self.stops(&Caller::system(), number, Ending::Failed);
        } else if !runs {
            self.count("agent restarted");
            let step = Step::Restart { why: "its process ended".into() };
            let _ = self.submit(&Caller::system(), &Command::Agent { number, step });
            self.begins(number);
        } else if self.crew[&number].caller.is_none() {
            self.gives_token(number, &agent.name, dispatch.number);
        } else if dispatch.claim.as_ref().is_some_and(|claim| claim.holder == agent.name) {
            self.works_for(number, dispatch.number, fence);
        } else {
            self.claims_for(number, dispatch.number);
        }
    }

    fn begins(&mut self, number: AgentId) {
        let process = self.crew.get_mut(&number).expect("it was started");
        (process.runs, process.went_with_daemon) = (true, false);
    }

    fn gives_token(&mut self, number: AgentId, agent: &str, dispatch: DispatchId) {
        self.tokens += 1;
        let (id, role) = (format!("t{}", self.tokens), Role::Worker);
        let (brief, worktree) = (Some(self.world.dispatches[&dispatch].brief), None);
        let run = Some(Binding { dispatch, member: false });
        let (sha256, actor) = (chain::sha256(id.as_bytes()), Actor { sort: ActorType::Agent, name: agent.to_owned() });
        let request = token::Request { id: id.clone(), agent: agent.to_owned(), role, brief, worktree, sha256, run };
        if self.submit(&Caller::system(), &Command::IssueToken(request)).is_ok() {
            let caller = Caller { brief, token: Some(id), run, ..Caller::unbound(actor, role, Door::Mcp) };
            self.crew.get_mut(&number).expect("it was started").caller = Some(caller);
        }
    }

    fn claims_for(&mut self, number: AgentId, dispatch: DispatchId) {
        let caller = self.crew[&number].caller.clone().expect("it has a token");
        let (holder, packet, seconds, moment) = (None, None, LEASE, self.clock.moment());
        let step = dispatch::Step::Claim { holder, packet, seconds, moment };
        if self.submit(&caller, &Command::Dispatch { number: dispatch, step }).is_ok() {
            let fence = self.world.dispatches[&dispatch].fence;
            self.crew.get_mut(&number).expect("it was started").fence = fence;
        } else if self.chance.percent(30) {
            // Another agent claimed the dispatch first.
            self.stops(&Caller::system(), number, Ending::Stopped);
        }
    }

    fn works_for(&mut self, number: AgentId, dispatch: DispatchId, fence: Fence) {
        let caller = self.crew[&number].caller.clone().expect("it has a token");
        let agent_step = |step| Command::Agent { number, step };
        let _ = match self.chance.below(100) {
            0..40 => self.submit(&caller, &Command::Heartbeat { dispatch, fence, moment: self.clock.moment() }),
            40..48 => {
                let (summary, not_done, tip, commits) = (format!("step {}", self.step), None, None, Vec::new());
                let back = HandBack { fence, summary, not_done, failed: self.chance.percent(20), tip, commits };
                self.submit(&caller, &Command::Dispatch { number: dispatch, step: dispatch::Step::HandBack(back) })
            }
            48..54 => {
                let (note, author) = ("go on".to_owned(), Author::Flower);
                self.submit(&Caller::system(), &agent_step(Step::Refresh { note, author, used: None, size: None }))
            }
            54..60 => {
                let spend = Step::Spend { tokens: Some(self.step), cost: None, currency: None };
                self.submit(&Caller::system(), &agent_step(spend))
            }
            _ => {
                self.note(format_args!("the process of agent {number} ends"));
                self.crew.get_mut(&number).expect("it was started").runs = false;
                return;
            }
        };
    }

    fn stops(&mut self, caller: &Caller, number: AgentId, how: Ending) {
        let step = Step::Stop { how, why: "enough".into(), output: None };
        let _ = self.submit(caller, &Command::Agent { number, step });
    }

    /// All processes end with the daemon.
    pub fn crew_goes(&mut self) {
        for process in self.crew.values_mut().filter(|process| process.runs) {
            (process.runs, process.went_with_daemon) = (false, true);
        }
    }

    pub fn halts_all(&mut self) {
        let live: Vec<AgentId> = self.world.agents.values().filter(|a| a.is_live()).map(|a| a.number).collect();
        for number in live {
            self.stops(&Caller::system(), number, Ending::Halted);
        }
    }
}
