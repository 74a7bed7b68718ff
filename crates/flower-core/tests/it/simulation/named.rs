//! Named requirements, and minimal cases of the defects that the simulation has found.

use flower_core::dispatch::{HandBack, State, Step};
use flower_core::{
    Actor, ActorType, Binding, BootTime, BriefId, BriefKind, Caller, Command, Context, Dispatch, DispatchId, Door,
    Event, Fence, Refusal, Role, Status, World, decide, dispatch, token,
};

const BRIEF: BriefId = BriefId(1);
const DISPATCH: DispatchId = DispatchId(1);
const LEASE: u64 = 60;
const YEARS: u64 = 10 * 365 * 86_400_000;

/// A world with [`BRIEF`], dispatched as [`DISPATCH`].
struct Stage {
    world: World,
    /// The wall clock's time. Events contain it, but no rule reads it.
    wall: &'static str,
}

impl Stage {
    fn new() -> Stage {
        let mut stage = Stage { world: World::default(), wall: "2026-11-15T12:00:00.000000Z" };
        let (title, kind, spec) = ("A change".to_owned(), BriefKind::Feature, Some("# Plan\n".to_owned()));
        let (projects, epic, needs, auto_dispatch, design_loop) = (vec![], None, vec![], false, false);
        let new = Command::CreateBrief(flower_core::brief::Request {
            title,
            kind,
            spec,
            projects,
            epic,
            needs,
            auto_dispatch,
            design_loop,
        });
        let asked = Command::RequestDispatch(dispatch::Request { brief: BRIEF, ..Default::default() });
        for command in [new, Command::Accept { brief: BRIEF, version: None }, asked] {
            stage.tell(&Caller::system(), &command).expect("it is the way to begin");
        }
        stage
    }

    fn tell(&mut self, caller: &Caller, command: &Command) -> Result<Vec<Event>, Refusal> {
        let drafts = decide(&self.world, caller, command)?;
        if let Command::Heartbeat { dispatch, fence, moment } = command {
            self.world.record_heartbeat(*dispatch, *fence, moment.heartbeat());
        }
        for draft in &drafts {
            self.world
                .apply_event(&draft.event, &Context { brief: draft.brief, at: self.wall, by: &caller.actor.name });
        }
        Ok(drafts.into_iter().map(|draft| draft.event).collect())
    }

    /// An agent with a packet.
    fn agent(&mut self, number: u64) -> Caller {
        let (id, agent) = (format!("t{number}"), format!("a{number}"));
        let (sha256, role, run) = (id.clone(), Role::Worker, Some(Binding { dispatch: DISPATCH, member: false }));
        let (brief, worktree) = (Some(BRIEF), None);
        let request = token::Request { id: id.clone(), agent: agent.clone(), role, brief, worktree, sha256, run };
        self.tell(&Caller::system(), &Command::IssueToken(request)).expect("it is open");
        let actor = Actor { sort: ActorType::Agent, name: agent };
        Caller { brief, token: Some(id), run, ..Caller::unbound(actor, role, Door::Mcp) }
    }

    fn claim(&mut self, caller: &Caller, moment: BootTime) -> Result<Vec<Event>, Refusal> {
        let step = Step::Claim { holder: None, packet: None, seconds: LEASE, moment };
        self.tell(caller, &Command::Dispatch { number: DISPATCH, step })
    }

    fn beat(&mut self, caller: &Caller, fence: Fence, moment: BootTime) -> Result<Vec<Event>, Refusal> {
        self.tell(caller, &Command::Heartbeat { dispatch: DISPATCH, fence, moment })
    }

    /// Whether a claim ended.
    fn expire(&mut self, moment: BootTime) -> bool {
        let step = Step::Expire { moment };
        let events = self.tell(&Caller::system(), &Command::Dispatch { number: DISPATCH, step }).expect("it is there");
        events.iter().any(|event| matches!(event, Event::DispatchExpired(_)))
    }

    fn hand_back(&mut self, caller: &Caller, fence: Fence, failed: bool) -> Result<Vec<Event>, Refusal> {
        let (summary, not_done, tip, commits) = ("what I did".to_owned(), None, None, Vec::new());
        let step = Step::HandBack(HandBack { fence, summary, not_done, failed, tip, commits });
        self.tell(caller, &Command::Dispatch { number: DISPATCH, step })
    }

    fn dispatch(&self) -> Dispatch {
        self.world.dispatches[&DISPATCH].clone()
    }
}

fn moment(boot: &str, now: u64, since: u64) -> BootTime {
    BootTime { boot: boot.to_owned(), now, since }
}

fn is_late(event: &Event, of: Fence) -> bool {
    matches!(event, Event::DispatchLate(late) if late.fence == of)
}

#[test]
fn a_thousand_late_answers_are_refused_and_kept() {
    const LATE: u64 = 1_000;
    let mut stage = Stage::new();
    let mut agents = Vec::new();
    for number in 1..=LATE + 1 {
        let agent = stage.agent(number);
        let now = number * 2 * LEASE * 1_000;
        // The dispatcher expires half of the claims, the next claim ends the others.
        if number % 2 == 0 {
            assert!(stage.expire(moment("m:1", now, 0)));
        }
        stage.claim(&agent, moment("m:1", now, 0)).expect("the previous claim is over");
        assert_eq!(stage.dispatch().fence, Fence(number));
        agents.push(agent);
    }
    let (before, mut kept) = (stage.dispatch(), 0);
    let (newest, late) = agents.split_last().expect("there are many");
    for (number, agent) in (1..).zip(late) {
        let fence = Fence(number);
        let events = stage.hand_back(agent, fence, number % 3 == 0).unwrap_or_else(|no| panic!("fence {fence}: {no}"));
        assert!(matches!(&events[..], [event] if is_late(event, fence)), "fence {fence}: {events:?}");
        kept += events.len();
        assert_eq!(stage.dispatch(), before, "fence {fence} changed something");
        assert_eq!(stage.world.briefs[&BRIEF].status, Status::InProgress);
    }
    assert_eq!(kept, 1_000);
    stage.hand_back(newest, Fence(LATE + 1), false).expect("the newest counts");
    assert_eq!(stage.dispatch().state, State::HandedBack);
    let events = stage.hand_back(&late[0], Fence(1), false).expect("also after the end it is kept");
    assert!(is_late(&events[0], Fence(1)));
}

#[test]
fn no_clock_makes_a_wrong_expiry() {
    let lease = LEASE * 1_000;
    let mut stage = Stage::new();
    let agent = stage.agent(1);
    stage.claim(&agent, moment("m:1", 5_000, 0)).unwrap();

    // A boot clock that does not advance, with several wall clock times.
    for wall in ["2026-11-15T11:00:00.000000Z", "2036-11-15T12:00:00.000000Z", "1970-01-01T00:00:00.000000Z"] {
        stage.wall = wall;
        let note = Command::AddNote { brief: BRIEF, text: "time flies".into(), comment: false, images: vec![] };
        stage.tell(&agent, &note).unwrap();
        assert!((0..100).all(|_| !stage.expire(moment("m:1", 5_000, 0))), "{wall}");
    }

    // A heartbeat in the last millisecond of each lease, also across restarts of the machine.
    let mut now = 5_000;
    for round in 0..1_000 {
        let (boot, since) = (format!("m:{}", 1 + round / 100), if round < 100 { 0 } else { 900 });
        if round > 0 && round % 100 == 0 {
            now = 1_000;
            // After a restart the lease is renewed once, from when flower runs again, however long the machine was off.
            assert!(!stage.expire(moment(&boot, since, since)));
            assert!(!stage.expire(moment(&boot, since + lease - 1, since)));
        } else {
            now += lease - 1;
        }
        assert!(!stage.expire(moment(&boot, now, since)), "round {round}");
        stage.beat(&agent, Fence(1), moment(&boot, now, since)).unwrap();
    }

    // Another machine cannot expire the lease; its own machine can.
    assert!(!stage.expire(moment("n:1", now + YEARS, 0)));
    assert!(!stage.expire(moment("m:11", 500, 500)));
    assert!(!stage.expire(moment("m:11", 500 + lease - 1, 500)));
    assert!(stage.expire(moment("m:11", 500 + lease, 500)), "renewed once, not for ever");

    // After ten years of running the claim expires correctly, once.
    let other = stage.agent(2);
    stage.claim(&other, moment("m:11", 100_000, 500)).unwrap();
    assert!(stage.expire(moment("m:11", 100_000 + YEARS, 500)));
    assert!(!stage.expire(moment("m:11", 100_000 + YEARS, 500)));
    assert_eq!(stage.dispatch().fence, Fence(2));

    // A heartbeat that another machine receives counts on that machine.
    let third = stage.agent(3);
    stage.claim(&third, moment("m:11", 200_000, 500)).unwrap();
    stage.beat(&third, Fence(3), moment("n:7", 3, 0)).unwrap();
    assert!(!stage.expire(moment("m:11", 200_000 + YEARS, 500)));
    assert!(stage.expire(moment("n:7", 3 + lease, 0)));
}

/// Found by the simulation: a refusal names the newest fence, and a previous holder continued with it.
#[test]
fn an_old_holder_cannot_act_with_the_fence_of_the_new_one() {
    let mut stage = Stage::new();
    let (old, new) = (stage.agent(1), stage.agent(2));
    stage.claim(&old, moment("m:1", 0, 0)).unwrap();
    stage.claim(&new, moment("m:1", 60_000, 0)).unwrap();
    for failed in [false, true] {
        let refusal = stage.hand_back(&old, Fence(2), failed).unwrap_err();
        assert!(matches!(refusal, Refusal::Forbidden { .. }), "{refusal}");
    }
    assert!(matches!(stage.beat(&old, Fence(2), moment("m:1", 100_000, 0)), Err(Refusal::Forbidden { .. })));
    assert!(matches!(stage.beat(&old, Fence(1), moment("m:1", 100_000, 0)), Err(Refusal::StaleFence { .. })));
    // The new holder cannot hand back with the fence of the previous one either.
    assert!(matches!(stage.hand_back(&new, Fence(1), true), Err(Refusal::Forbidden { .. })));
    assert_eq!(stage.dispatch().claim.map(|claim| claim.fence), Some(Fence(2)));
    assert!(is_late(&stage.hand_back(&old, Fence(1), false).unwrap()[0], Fence(1)));
    assert_eq!(stage.hand_back(&new, Fence(2), false).map(|events| events.len()).ok(), Some(2));
}

/// A packet that was never used cannot hand back for another run, however many claims were dropped.
#[test]
fn an_unused_packet_cannot_answer_for_a_forgotten_run() {
    let mut stage = Stage::new();
    for number in 1..=40 {
        let agent = stage.agent(number);
        stage.claim(&agent, moment("m:1", number * 60_000, 0)).unwrap();
    }
    let unused = stage.agent(41);
    assert!(stage.dispatch().runs.iter().all(|run| run.fence > Fence(1)), "the first one is forgotten");
    for fence in [0, 1, 20, 40, 41].map(Fence) {
        assert!(matches!(stage.hand_back(&unused, fence, false), Err(Refusal::Forbidden { .. })), "fence {fence}");
    }
}

/// Found by the simulation: of two heartbeats that arrived in the wrong order, the older one counted.
#[test]
fn an_overtaken_heartbeat_is_ignored() {
    let mut stage = Stage::new();
    let agent = stage.agent(1);
    stage.claim(&agent, moment("m:1", 0, 0)).unwrap();
    stage.beat(&agent, Fence(1), moment("m:1", 50_000, 0)).unwrap();
    stage.beat(&agent, Fence(1), moment("m:1", 1_000, 0)).unwrap();
    assert!(!stage.expire(moment("m:1", 100_000, 0)));
    // After a restart the clock starts at zero, so a smaller value is later.
    stage.beat(&agent, Fence(1), moment("m:2", 3_000, 2_000)).unwrap();
    assert!(!stage.expire(moment("m:2", 62_999, 2_000)));
    assert!(stage.expire(moment("m:2", 63_000, 2_000)));
}
