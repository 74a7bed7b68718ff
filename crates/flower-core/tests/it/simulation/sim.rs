//! One run: a world, its actors, and the watch.

use crate::simulation::agents::{Agent, Letter};
use crate::simulation::chance::Chance;
use crate::simulation::clock::Clock;
use crate::simulation::crew::Process;
use crate::simulation::daemon::Daemon;
use crate::simulation::fault::Fault;
use crate::simulation::watch::Watch;
use flower_core::event::SCHEMA;
use flower_core::{
    Actor, ActorType, AgentId, BriefId, Caller, Command, Context, Door, Draft, Event, Refusal, Role, World, chain,
    decide,
};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

pub const STEPS: u64 = 200;

/// An event as it is stored.
pub struct Entry {
    pub at: String,
    pub by: String,
    pub brief: Option<BriefId>,
    pub kind: String,
    pub body: String,
}

pub struct Sim {
    pub chance: Chance,
    /// Changes the wall clock at random: no rule may read it.
    wall: Chance,
    pub clock: Clock,
    pub world: World,
    pub log: Vec<Entry>,
    /// Whether to keep the history. It is off by default, because it takes longer than the rest of the run.
    is_told: bool,
    history: Vec<String>,
    pub watch: Watch,
    pub agents: Vec<Agent>,
    /// Messages on their way from agents to the daemon.
    pub network: Vec<Letter>,
    /// Messages that the daemon has received but not decided, with the time of their arrival.
    pub waiting: Vec<(usize, Caller, Command)>,
    pub daemons: [Daemon; 2],
    /// By the number of an agent that flower runs.
    pub crew: BTreeMap<AgentId, Process>,
    /// Maximum agents that flower runs: 0 in half of the runs, so that other agents get work too.
    pub most_crew: u64,
    pub tokens: u64,
    pub fault: Fault,
    /// The first invariant that was violated.
    pub broken: Option<String>,
    /// The number of occurrences of each kind of event.
    pub counts: BTreeMap<&'static str, u64>,
    pub step: u64,
}

/// The result of one seed.
pub struct Outcome {
    pub broken: Option<String>,
    pub history: Vec<String>,
    /// The hash of all events, without the times of the wall clock.
    pub hash: String,
    pub counts: BTreeMap<&'static str, u64>,
}

pub fn operator() -> Caller {
    Caller::unbound(Actor { sort: ActorType::Operator, name: "mike".into() }, Role::Operator, Door::Cli)
}

pub fn run(seed: u64, wall: u64, fault: Fault) -> Outcome {
    Sim::new(seed, wall, fault).run()
}

/// Runs a seed and keeps its history.
pub fn run_telling(seed: u64, wall: u64, fault: Fault) -> Outcome {
    let mut sim = Sim::new(seed, wall, fault);
    sim.is_told = true;
    sim.run()
}

impl Sim {
    fn run(mut self) -> Outcome {
        self.set_up();
        while self.step < STEPS && self.broken.is_none() {
            self.step += 1;
            self.one_step();
            self.check();
        }
        if self.broken.is_none() {
            self.come_to_rest();
        }
        if self.broken.is_none() {
            self.replay();
        }
        self.outcome()
    }

    pub fn new(seed: u64, wall: u64, fault: Fault) -> Sim {
        Sim {
            chance: Chance::new(seed),
            wall: Chance::new(wall),
            clock: Clock::new(),
            world: World::default(),
            log: Vec::new(),
            is_told: false,
            history: Vec::new(),
            watch: Watch::default(),
            agents: Vec::new(),
            network: Vec::new(),
            waiting: Vec::new(),
            daemons: [Daemon::default(), Daemon::default()],
            crew: BTreeMap::new(),
            most_crew: 0,
            tokens: 0,
            fault,
            broken: None,
            counts: BTreeMap::new(),
            step: 0,
        }
    }

    fn set_up(&mut self) {
        self.daemons[0].is_up = true;
        self.clock.flower_runs();
        self.make_project();
        self.most_crew = self.chance.pick(&[0, 0, 1, 4]).expect("there are some");
        let agents = 5 + self.chance.below(8);
        self.agents = (0..agents).map(Agent::new).collect();
        for _ in 0..4 {
            self.operator_creates();
        }
        for number in 1..=self.world.last_brief.0 {
            self.operator_plans(BriefId(number));
        }
        self.daemon_looks(0);
        self.daemon_does_all(0);
    }

    fn one_step(&mut self) {
        let pass = match self.chance.below(100) {
            0..10 => 0,
            10..13 => 100_000 + self.chance.below(600_000),
            _ => self.chance.below(9_000),
        };
        self.clock.pass(pass);
        match self.chance.below(100) {
            0..35 => self.operator_acts(),
            35..60 => self.agent_acts(),
            60..98 => self.daemon_acts(),
            _ => self.machine_restarts(),
        }
        // Several agents act between two steps, and some of their messages arrive.
        for _ in 0..self.chance.below(4) {
            self.agent_acts();
            self.deliver();
        }
        self.deliver();
        for _ in 0..self.chance.below(3) {
            self.supervisor_acts();
        }
    }

    /// Everything outside the log is lost, and the clock restarts.
    fn machine_restarts(&mut self) {
        self.note(format_args!("the machine restarts"));
        self.count("restart");
        let now = self.chance.below(40_000);
        self.clock.restart(now);
        self.waiting.clear();
        self.network.retain(|_| self.chance.percent(50));
        for daemon in &mut self.daemons {
            *daemon = Daemon::default();
        }
        self.crew_goes();
        for at in 0..self.agents.len() {
            if self.chance.percent(10) {
                self.agents[at].dies();
            }
        }
    }

    /// Decides a command on the current world, and applies its events.
    pub fn submit(&mut self, caller: &Caller, command: &Command) -> Result<Vec<Event>, Refusal> {
        let (as_caller, as_command) = self.fault.twist(&self.world, caller, command);
        let answer = decide(&self.world, &as_caller, &as_command);
        let drafts = match answer {
            Ok(drafts) => self.fault.thin(drafts),
            Err(refusal) => {
                self.note(format_args!("{} {command:?}\n        refused: {refusal}", caller.actor.name));
                let seen = self.watch.refused(caller, command, &refusal);
                self.report(seen);
                return Err(refusal);
            }
        };
        let events: Vec<Event> = drafts.iter().map(|draft| draft.event.clone()).collect();
        let kinds = events.iter().map(Event::kind).collect::<Vec<_>>().join(", ");
        self.note(format_args!("{} {command:?}\n        {kinds}", caller.actor.name));
        let seen = self.watch.accepted(&self.world, &self.clock, caller, command, &drafts);
        self.report(seen);
        if let Command::Heartbeat { dispatch, fence, moment } = &as_command {
            self.fault.beat(&mut self.world, *dispatch, *fence, moment.heartbeat());
        }
        for draft in &drafts {
            self.record(caller, draft);
        }
        self.fault.harm(&mut self.world, &events);
        Ok(events)
    }

    fn record(&mut self, caller: &Caller, draft: &Draft) {
        let at = format!("{}-11-15T12:00:00.000000Z", 1971 + self.wall.below(60));
        let by = caller.actor.name.clone();
        self.world.apply_event(&draft.event, &Context { brief: draft.brief, at: &at, by: &by });
        let (kind, body) = (draft.event.kind().to_owned(), draft.event.encode());
        self.log.push(Entry { at, by, brief: draft.brief, kind, body });
    }

    pub fn check(&mut self) {
        let seen = self.watch.state(&self.world, &self.clock);
        self.report(seen);
    }

    pub fn report(&mut self, seen: Result<(), String>) {
        if let (None, Err(what)) = (&self.broken, seen) {
            self.note(format_args!("BROKEN: {what}"));
            self.broken = Some(format!("step {}: {what}", self.step));
        }
    }

    pub fn note(&mut self, what: fmt::Arguments<'_>) {
        if !self.is_told {
            return;
        }
        let (step, now, boot) = (self.step, self.clock.now, self.clock.boot());
        self.history.push(format!("{step:>4} {boot} {now:>9} ms  {what}"));
    }

    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// The stored events lead to the same world; heartbeats are stored separately.
    fn replay(&mut self) {
        let mut again = World { beats: self.world.beats.clone(), ..World::default() };
        for entry in &self.log {
            let event = Event::decode(&entry.kind, SCHEMA, &entry.body).expect("what was stored can be read");
            again.apply_event(&event, &Context { brief: entry.brief, at: &entry.at, by: &entry.by });
        }
        if again != self.world {
            self.report(Err("replaying the events gives another world".into()));
        }
    }

    fn outcome(mut self) -> Outcome {
        for (what, times) in std::mem::take(&mut self.watch.counts) {
            *self.counts.entry(what).or_default() += times;
        }
        let mut text = String::new();
        for entry in &self.log {
            writeln!(text, "{} {:?} {} {}", entry.by, entry.brief, entry.kind, entry.body).expect("it is a string");
        }
        let hash = chain::sha256(text.as_bytes());
        Outcome { broken: self.broken, history: self.history, hash, counts: self.counts }
    }
}
