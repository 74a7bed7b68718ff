//! Simulated agents: they claim, work, hang, return too late, repeat requests, and try actions without the right to.

use crate::simulation::daemon::is_late;
use crate::simulation::sim::Sim;
use flower_core::dispatch::{HandBack, Step};
use flower_core::{
    Actor, ActorType, BriefId, Caller, Command, DispatchId, Door, Event, Fence, LeaseId, Refusal, Role, lease, token,
};

/// Every overlap between two of these is witnessed by a path in [`crate::simulation::watch::PATHS`].
pub const PATTERNS: &[&str] =
    &["src/", "src/a.rs", "src/*.rs", "docs", "docs/*.md", "**/a.rs", "tests/**", "Cargo.toml"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    /// Waits for a packet.
    Free,
    /// Has a packet, and does not know yet whether it is valid.
    Claiming,
    Working,
    /// Sends nothing for this many of its turns.
    Hung(u64),
    Dead,
}

pub struct Agent {
    pub name: String,
    mood: Mood,
    caller: Option<Caller>,
    dispatch: DispatchId,
    fence: Fence,
    /// Ended runs that the agent still considers its own.
    past: Vec<(Caller, DispatchId, Fence)>,
}

/// A message on its way.
pub struct Letter {
    from: usize,
    caller: Caller,
    wish: Wish,
}

#[derive(Clone, Debug)]
enum Wish {
    Claim { dispatch: DispatchId, packet: Option<String>, seconds: u64 },
    Heartbeat { dispatch: DispatchId, fence: Fence },
    HandBack { dispatch: DispatchId, fence: Fence, failed: bool },
    Lease { worktree: String, patterns: Vec<String>, seconds: u64 },
    Release { number: LeaseId },
    Plan { brief: BriefId },
    Say { to: String },
}

impl Agent {
    pub fn new(number: u64) -> Agent {
        let name = format!("a{number}");
        let (dispatch, fence) = (DispatchId::default(), Fence::default());
        Agent { name, mood: Mood::Free, caller: None, dispatch, fence, past: Vec::new() }
    }

    pub fn is_free(&self) -> bool {
        self.mood == Mood::Free
    }

    pub fn dies(&mut self) {
        self.mood = Mood::Dead;
    }

    pub fn takes_packet(&mut self, packet: &token::Request) {
        let actor = Actor { sort: ActorType::Agent, name: packet.agent.clone() };
        let mut caller = Caller::unbound(actor, Role::Worker, Door::Mcp);
        (caller.brief, caller.worktree) = (packet.brief, packet.worktree.clone());
        (caller.token, caller.run) = (Some(packet.id.clone()), packet.run);
        let run = packet.run.expect("it is a packet");
        self.mood = if run.member { Mood::Working } else { Mood::Claiming };
        (self.caller, self.dispatch, self.fence) = (Some(caller), run.dispatch, Fence::default());
    }

    fn rests(&mut self) {
        if self.mood != Mood::Dead {
            self.mood = Mood::Free;
        }
        self.past.extend(self.caller.take().map(|caller| (caller, self.dispatch, self.fence)));
    }
}

impl Sim {
    pub fn agent_acts(&mut self) {
        let at = self.chance.index(self.agents.len());
        let agent = &mut self.agents[at];
        match agent.mood {
            // A new agent replaces a dead one, which never sends anything again.
            Mood::Dead if self.chance.percent(20) => self.agents[at] = Agent::new(100 + self.step),
            Mood::Dead => {}
            Mood::Hung(0) => self.wakes(at),
            Mood::Hung(turns) => agent.mood = Mood::Hung(turns - 1),
            Mood::Free if self.chance.percent(60) => {}
            Mood::Free => self.haunts(at),
            Mood::Claiming if self.chance.percent(40) => {}
            Mood::Claiming => self.claims(at, None),
            Mood::Working => self.works(at),
        }
    }

    /// After hanging, most agents have finished their work and do not know what happened meanwhile.
    fn wakes(&mut self, at: usize) {
        self.agents[at].mood = Mood::Working;
        let (dispatch, fence) = (self.agents[at].dispatch, self.agents[at].fence);
        if self.chance.percent(60) {
            self.sends(at, &Wish::HandBack { dispatch, fence, failed: false });
        }
    }

    fn claims(&mut self, at: usize, packet: Option<String>) {
        let seconds = self.chance.pick(&[60, 120, 600]).expect("there are some");
        let dispatch = self.agents[at].dispatch;
        self.sends(at, &Wish::Claim { dispatch, packet, seconds });
    }

    fn works(&mut self, at: usize) {
        let (dispatch, fence) = (self.agents[at].dispatch, self.agents[at].fence);
        let caller = self.agents[at].caller.clone().expect("a working agent has a token");
        match self.chance.below(100) {
            0..38 => self.sends(at, &Wish::Heartbeat { dispatch, fence }),
            38..56 => {
                let (Some(worktree), Some(one)) = (caller.worktree, self.chance.pick(PATTERNS)) else { return };
                let other = self.chance.pick(PATTERNS).filter(|_| self.chance.percent(40));
                let patterns = [one].into_iter().chain(other).map(str::to_owned).collect();
                let seconds = 30 + self.chance.below(300);
                self.sends(at, &Wish::Lease { worktree, patterns, seconds });
            }
            56..61 => {
                let number = self.chance.id(self.world.last_lease);
                self.sends(at, &Wish::Release { number });
            }
            61..65 => self.claims(at, None),
            65..68 => self.sends(at, &Wish::Plan { brief: caller.brief.unwrap_or(BriefId(1)) }),
            68..70 => {
                let to = self.chance.pick(&["operator", "a1", "nobody"]).expect("there are some").to_owned();
                self.sends(at, &Wish::Say { to });
            }
            70..84 => {
                let failed = self.chance.percent(25);
                self.sends(at, &Wish::HandBack { dispatch, fence, failed });
            }
            84..89 => self.agents[at].dies(),
            89..95 => self.agents[at].mood = Mood::Hung(1 + self.chance.below(3)),
            _ => self.steals(at),
        }
    }

    /// Uses its own token with the fence or the dispatch of another agent, or with a used packet.
    fn steals(&mut self, at: usize) {
        self.count("tried to steal");
        let own = self.agents[at].dispatch;
        let other = self.chance.id(self.world.last_dispatch);
        let dispatch = if self.chance.percent(60) { own } else { other };
        // Refusals name the newest fence, so other agents can know it.
        let fence = self.world.dispatches.get(&dispatch).map_or(Fence(1), |dispatch| dispatch.fence);
        let used = Some(format!("t{}", 1 + self.chance.below(self.tokens)));
        let used = used.filter(|id| self.watch.is_used(id));
        let wish = match self.chance.below(4) {
            0 => Wish::Heartbeat { dispatch, fence },
            1 | 2 => Wish::HandBack { dispatch, fence, failed: self.chance.percent(50) },
            _ => Wish::Claim { dispatch: other, packet: used, seconds: 600 },
        };
        self.sends(at, &wish);
    }

    /// Continues an ended run as if it had not ended.
    fn haunts(&mut self, at: usize) {
        let past = self.agents[at].past.clone();
        let Some((caller, dispatch, fence)) = self.chance.pick(&past) else { return };
        let newest = self.world.dispatches.get(&dispatch).map_or(fence, |dispatch| dispatch.fence);
        let fence = if self.chance.percent(25) { newest } else { fence };
        let wish = match self.chance.below(4) {
            0 => Wish::Heartbeat { dispatch, fence },
            1 => Wish::Claim { dispatch, packet: None, seconds: 60 },
            _ => Wish::HandBack { dispatch, fence, failed: false },
        };
        self.network.push(Letter { from: at, caller, wish });
    }

    /// Some messages are lost, and some arrive twice.
    fn sends(&mut self, at: usize, wish: &Wish) {
        let Some(caller) = self.agents[at].caller.clone() else { return };
        let times = match self.chance.below(100) {
            0..12 => 0,
            12..22 => 2,
            _ => 1,
        };
        if times == 0 {
            self.note(format_args!("{} sends {wish:?}, which is lost", caller.actor.name));
        }
        for _ in 0..times {
            self.network.push(Letter { from: at, caller: caller.clone(), wish: wish.clone() });
        }
    }

    /// Delivers a random message; it gets the time of its arrival.
    pub fn deliver(&mut self) {
        if self.network.is_empty() || !self.is_served() {
            return;
        }
        let at = self.chance.index(self.network.len());
        let Letter { from, caller, wish } = self.network.remove(at);
        // The door first checks the token, and the token of a packet as well.
        let given = if let Wish::Claim { packet: Some(packet), .. } = &wish { Some(packet) } else { None };
        let in_force = |token: &String| self.world.tokens.contains_key(token);
        if !caller.token.iter().chain(given).all(in_force) {
            self.note(format_args!("{} is turned away with a token that ended: {wish:?}", caller.actor.name));
            self.count("turned away");
            return;
        }
        let command = self.command(wish);
        if self.chance.percent(25) {
            self.note(format_args!("{} waits to be decided: {command:?}", caller.actor.name));
            self.waiting.push((from, caller, command));
        } else {
            self.answer(from, &caller, &command);
        }
    }

    /// Decides messages that wait in the daemon, not always in order.
    pub fn decide_waiting(&mut self) {
        while !self.waiting.is_empty() {
            let at = self.chance.index(self.waiting.len());
            let (from, caller, command) = self.waiting.remove(at);
            self.answer(from, &caller, &command);
        }
    }

    fn command(&mut self, wish: Wish) -> Command {
        let moment = self.clock.moment();
        match wish {
            Wish::Claim { dispatch: number, packet, seconds } => {
                Command::Dispatch { number, step: Step::Claim { holder: None, packet, seconds, moment } }
            }
            Wish::Heartbeat { dispatch, fence } => Command::Heartbeat { dispatch, fence, moment },
            Wish::HandBack { dispatch: number, fence, failed } => {
                let (summary, not_done, tip, commits) = (format!("step {}", self.step), None, None, Vec::new());
                let back = HandBack { fence, summary, not_done, failed, tip, commits };
                Command::Dispatch { number, step: Step::HandBack(back) }
            }
            Wish::Lease { worktree, patterns, seconds } => {
                let (project, holder) = ("web".to_owned(), None);
                Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds, moment })
            }
            Wish::Release { number } => Command::ReleaseLease { number, why: "done".into(), over: None },
            Wish::Plan { brief } => Command::ProposePlan { brief, markdown: "# Better\n".into() },
            Wish::Say { to } => Command::SendMessage { to, text: "hello".into() },
        }
    }

    fn answer(&mut self, from: usize, caller: &Caller, command: &Command) {
        let answer = self.submit(caller, command);
        let agent = &mut self.agents[from];
        // The answer may be lost as well; the agent then asks again.
        if agent.caller.as_ref().and_then(|c| c.token.as_ref()) != caller.token.as_ref() || self.chance.percent(15) {
            return;
        }
        let dispatch = agent.dispatch;
        match (command, answer) {
            (Command::Dispatch { number, step: Step::Claim { .. } }, Ok(events)) if *number == dispatch => {
                let claimed = events.iter().find_map(|event| match event {
                    Event::DispatchClaimed(claimed) => Some(claimed.fence),
                    _ => None,
                });
                agent.fence = claimed.unwrap_or(self.world.dispatches[number].fence);
                if agent.mood == Mood::Claiming {
                    agent.mood = Mood::Working;
                }
            }
            (Command::Dispatch { number, step: Step::Claim { .. } }, Err(refusal)) if *number == dispatch => {
                let patient = matches!(refusal, Refusal::Claimed { .. }) && self.chance.percent(70);
                if agent.mood == Mood::Claiming && !patient {
                    agent.rests();
                }
            }
            // Most agents stop when they are told that they are too late; some continue.
            (Command::Dispatch { number, step: Step::HandBack(_) }, answer)
                if *number == dispatch
                    && (answer.as_ref().is_ok_and(|events| !is_late(events)) || self.chance.percent(80)) =>
            {
                agent.rests();
            }
            _ => {}
        }
    }
}
