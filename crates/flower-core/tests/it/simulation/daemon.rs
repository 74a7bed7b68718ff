//! The daemon's dispatcher in pure steps. It reads the state, collects intentions, and executes them one by one on the
//! state at that time. It may end between any two steps, and two daemons may run at once.

use crate::simulation::fault::Fault;
use crate::simulation::sim::Sim;
use flower_core::dispatch::{self, Claim, Step};
use flower_core::landing;
use flower_core::readiness::DispatchKind;
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{BriefId, Caller, Command, DispatchId, Event, Fence, LandingId, LeaseId, Status};

#[derive(Default)]
pub struct Daemon {
    pub is_up: bool,
    plan: Vec<Intention>,
}

#[derive(Clone, Debug)]
enum Intention {
    Expire(DispatchId),
    Release(LeaseId),
    Dispatch(BriefId),
    Land(DispatchId),
    Cancel(DispatchId),
    Revoke(String),
    Fix { brief: BriefId, of: LandingId },
    Prepare { number: DispatchId, fence: Fence },
}

impl Sim {
    pub fn daemon_acts(&mut self) {
        let at = usize::from(self.chance.percent(25));
        match (self.daemons[at].is_up, self.chance.below(100)) {
            // A second daemon runs only sometimes.
            (false, 0..70) if at == 0 || self.chance.percent(50) => self.daemon_starts(at),
            (false, _) => {}
            (true, 0..4) => self.daemon_ends(at),
            (true, 4..30) => self.decide_waiting(),
            (true, _) if self.daemons[at].plan.is_empty() => self.daemon_looks(at),
            (true, 30..80) => self.daemon_does_next(at),
            (true, _) => self.daemon_does_all(at),
        }
    }

    pub fn is_served(&self) -> bool {
        self.daemons.iter().any(|daemon| daemon.is_up)
    }

    fn daemon_starts(&mut self, at: usize) {
        self.note(format_args!("daemon {at} starts"));
        self.clock.flower_runs();
        self.daemons[at].is_up = true;
    }

    /// The intentions and undecided commands of the daemon are lost.
    fn daemon_ends(&mut self, at: usize) {
        let left = self.daemons[at].plan.len();
        self.note(format_args!("daemon {at} ends, with {left} intentions"));
        self.count("daemon ended");
        self.daemons[at] = Daemon::default();
        self.waiting.clear();
        if at == 0 {
            self.crew_goes();
        }
    }

    /// Asks the same queries that the daemon asks its store.
    pub fn daemon_looks(&mut self, at: usize) {
        let (world, moment) = (&self.world, self.clock.moment());
        let mut plan = Vec::new();
        for dispatch in world.dispatches.values() {
            let careless = self.fault == Fault::ExpiresAtOnce;
            let over =
                |claim: &Claim| careless || moment.is_over(&world.last_heartbeat(dispatch, claim), claim.seconds);
            if dispatch.claim.as_ref().is_some_and(over) {
                plan.push(Intention::Expire(dispatch.number));
            }
        }
        let over = world.leases.values().filter(|lease| lease.live && lease.is_over(&moment));
        plan.extend(over.map(|lease| Intention::Release(lease.number)));
        plan.extend(
            world.briefs.values().filter(|brief| brief.wants().is_some()).map(|b| Intention::Dispatch(b.number)),
        );
        for dispatch in world.dispatches.values() {
            let number = dispatch.number;
            match world.briefs[&dispatch.brief].status {
                Status::Landed if dispatch.state == dispatch::State::HandedBack => plan.push(Intention::Land(number)),
                status if status.is_closed() && dispatch.is_open() => plan.push(Intention::Cancel(number)),
                _ => {}
            }
            if dispatch.claim.is_some() && dispatch.state == dispatch::State::Claimed {
                plan.push(Intention::Prepare { number, fence: dispatch.fence });
            }
        }
        let of_ended = |token: &&String| {
            let of = self.watch.dispatch_of(token).and_then(|number| world.dispatches.get(&number));
            of.is_some_and(|dispatch| dispatch.is_over())
        };
        plan.extend(world.tokens.keys().filter(of_ended).cloned().map(Intention::Revoke));
        for landing in world.landings.values().filter(|landing| landing.state == landing::State::Rejected) {
            for &brief in &landing.briefs {
                let mut known = world.dispatches.values().filter(|dispatch| dispatch.brief == brief);
                let asked = known.any(|dispatch| dispatch.of == Some(landing.number) || dispatch.is_open());
                let newer = world.landings.values().any(|l| l.number > landing.number && l.briefs.contains(&brief));
                if !asked && !newer && world.briefs[&brief].status == Status::InProgress {
                    plan.push(Intention::Fix { brief, of: landing.number });
                }
            }
        }
        self.note(format_args!("daemon {at} looks: {plan:?}"));
        self.daemons[at].plan = plan;
    }

    pub fn daemon_does_all(&mut self, at: usize) {
        while !self.daemons[at].plan.is_empty() {
            self.daemon_does_next(at);
        }
    }

    fn daemon_does_next(&mut self, at: usize) {
        if self.daemons[at].plan.is_empty() {
            return;
        }
        let intention = self.daemons[at].plan.remove(0);
        let moment = self.clock.moment();
        let step = |number, step| Command::Dispatch { number, step };
        let command = match intention.clone() {
            Intention::Expire(number) => step(number, Step::Expire { moment }),
            Intention::Release(number) => {
                Command::ReleaseLease { number, why: "its time was over".into(), over: Some(moment) }
            }
            Intention::Dispatch(brief) => Command::AutoDispatch { brief },
            Intention::Land(number) => step(number, Step::Land),
            Intention::Cancel(number) => step(number, Step::Cancel { why: Some("its brief is over".into()) }),
            Intention::Revoke(id) => Command::RevokeToken { id },
            Intention::Fix { brief, of } => {
                let (kind, of) = (Some(DispatchKind::Fix), Some(of));
                Command::RequestDispatch(dispatch::Request { brief, kind, of, ..Default::default() })
            }
            Intention::Prepare { number, fence } => {
                self.make_worktree(number);
                step(number, Step::Execute { fence, base: None })
            }
        };
        if self.submit(&Caller::system(), &command).is_err() {
            // After a refusal the daemon drops the other intentions of that kind until it reads the state again.
            let sort = std::mem::discriminant(&intention);
            self.daemons[at].plan.retain(|other| std::mem::discriminant(other) != sort);
        }
    }

    fn make_worktree(&mut self, number: DispatchId) {
        let dispatch = &self.world.dispatches[&number];
        let (Some(project), Some(name)) = (dispatch.project.clone(), dispatch.worktree.clone()) else { return };
        if self.world.worktrees.values().any(|w| w.is_live() && w.name == name) {
            return;
        }
        let (brief, base, from) = (Some(dispatch.brief), "c0ffee".repeat(6), "main".to_owned());
        let request =
            worktree::Request { project, name, kind: WorktreeKind::Lane, seal: Seal::Sealed, base, from, brief };
        let _ = self.submit(&Caller::system(), &Command::RequestWorktree(request));
        let made = Command::FinishWorktree { number: self.world.last_worktree, path: "/w".into() };
        let _ = self.submit(&Caller::system(), &made);
    }

    /// All agents are gone and time advances; the dispatcher runs until it has nothing left to do.
    pub fn come_to_rest(&mut self) {
        self.note(format_args!("all agents leave"));
        (self.network, self.waiting) = (Vec::new(), Vec::new());
        if self.chance.percent(50) {
            self.clock.restart(1_000);
        }
        self.daemon_starts(0);
        self.halts_all();
        self.clock.pass(2 * 86_400_000);
        let mut rounds = 0;
        loop {
            let before = self.log.len();
            self.daemon_looks(0);
            self.daemon_does_all(0);
            self.check();
            if self.log.len() == before || self.broken.is_some() {
                break;
            }
            rounds += 1;
            if rounds > 20 {
                self.report(Err("the dispatcher does not come to rest".into()));
                return;
            }
        }
        let seen = self.watch.at_rest(&self.world);
        self.report(seen);
    }
}

/// Whether a hand-back was stored as late.
pub fn is_late(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::DispatchLate(_)))
}
