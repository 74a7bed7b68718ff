//! A late hand-back is stored without effect, and no clock ends a lease early.

use flower_core::dispatch::{DispatchState, HandBack, Request, Step};
use flower_core::{
    Actor, ActorType, BootTime, BriefId, Caller, Command, Context, DispatchId, Door, Event, Fence, Heartbeat, LeaseId,
    Refusal, RefusalKind, Role, WorktreeId, World, decide, lease, main_branch, worktree,
};

const DISPATCH: DispatchId = DispatchId(1);
const SECONDS: u64 = 900;
const BOOT: &str = "machine:boot-1";

fn at(boot: &str, now: u64, since: u64) -> BootTime {
    BootTime { boot: boot.to_owned(), now, since }
}

fn operator() -> Caller {
    let actor = Actor { sort: ActorType::Operator, name: "ada".to_owned() };
    Caller::unbound(actor, Role::Operator, Door::Cli)
}

/// Submits the command and returns its events.
fn act(world: &mut World, command: &Command) -> Result<Vec<Event>, Refusal> {
    let caller = operator();
    let drafts = decide(world, &caller, command)?;
    if let Command::Heartbeat { dispatch, fence, moment } = command {
        world.record_heartbeat(*dispatch, *fence, moment.heartbeat());
    }
    Ok(drafts
        .into_iter()
        .map(|draft| {
            world.apply_event(
                &draft.event,
                &Context { brief: draft.brief, at: "2026-11-16T10:00:00Z", by: &caller.actor.name },
            );
            draft.event
        })
        .collect())
}

fn done(world: &mut World, command: &Command) -> Vec<Event> {
    act(world, command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"))
}

/// A world with one dispatch that waits for a claim, in a worktree that is ready.
fn waiting() -> World {
    let mut world = World::default();
    let project = "web".to_owned();
    done(&mut world, &Command::RegisterProject { name: project.clone(), root: "/web".into() });
    let step = main_branch::Step::Record { branch: "main".into(), tip: "a".repeat(40) };
    done(&mut world, &Command::Main { project: project.clone(), step });
    let brief = Command::CreateBrief(flower_core::brief::Request {
        title: "Work".into(),
        kind: flower_core::BriefKind::Feature,
        spec: Some("# Work\n".into()),
        projects: vec![project.clone()],
        epic: None,
        needs: vec![],
        auto_dispatch: false,
        design_loop: false,
    });
    done(&mut world, &brief);
    done(&mut world, &Command::Accept { brief: BriefId(1), version: None });
    let place = worktree::Request {
        project,
        name: "place".into(),
        kind: worktree::WorktreeKind::Lane,
        seal: worktree::Seal::Sealed,
        base: "a".repeat(40),
        from: "main".into(),
        brief: None,
    };
    done(&mut world, &Command::RequestWorktree(place));
    done(&mut world, &Command::FinishWorktree { number: WorktreeId(1), path: "/place".into() });
    done(
        &mut world,
        &Command::RequestDispatch(Request { brief: BriefId(1), worktree: Some("place".into()), ..Request::default() }),
    );
    world
}

fn claim(world: &mut World, holder: &str, moment: BootTime) -> Result<Vec<Event>, Refusal> {
    let step = Step::Claim { holder: Some(holder.to_owned()), packet: None, seconds: SECONDS, moment };
    act(world, &Command::Dispatch { number: DISPATCH, step })
}

fn back(fence: Fence, summary: &str) -> Command {
    let (not_done, tip) = (None, None);
    let back = HandBack { fence, summary: summary.to_owned(), not_done, failed: false, tip, commits: vec![] };
    Command::Dispatch { number: DISPATCH, step: Step::HandBack(back) }
}

fn expire(world: &mut World, moment: BootTime) -> bool {
    let events = done(world, &Command::Dispatch { number: DISPATCH, step: Step::Expire { moment } });
    events.iter().any(|event| matches!(event, Event::DispatchExpired(_)))
}

#[test]
fn a_late_answer_without_a_token_is_refused_and_kept_too() {
    let mut world = waiting();
    let mut now = 1_000;
    let (mut kept, mut asked) = (0, 0);
    for round in 1..=50_u64 {
        claim(&mut world, &format!("agent-{round}"), at(BOOT, now, 0)).expect("the dispatch has no holder");
        assert_eq!(world.dispatches[&DISPATCH].fence, Fence(round), "a fence only grows");
        // In the last round all previous holders hand back, many times.
        let late: Vec<Fence> = if round == 50 { (0..1_000).map(|n| Fence(n % 49 + 1)).collect() } else { vec![] };
        for fence in late {
            let before = world.dispatches[&DISPATCH].clone();
            let events = done(&mut world, &back(fence, &format!("late {asked}")));
            let [Event::DispatchLate(said)] = events.as_slice() else { panic!("{events:?}") };
            assert_eq!((said.fence, said.summary.as_str()), (fence, format!("late {asked}").as_str()));
            // Only the holders of the last 32 claims are stored.
            if fence > Fence(18) {
                assert_eq!(said.holder, format!("agent-{fence}"));
            }
            assert_eq!(world.dispatches[&DISPATCH], before, "nothing has changed");
            let beat = Command::Heartbeat { dispatch: DISPATCH, fence, moment: at(BOOT, now, 0) };
            assert_eq!(act(&mut world, &beat).unwrap_err().kind(), RefusalKind::Conflict);
            asked += 1;
            kept += 1;
        }
        now += SECONDS * 1_000;
        if round < 50 {
            assert!(expire(&mut world, at(BOOT, now, 0)));
        }
    }
    assert_eq!((asked, kept), (1_000, 1_000));
    for fence in [0, 51, u64::MAX].map(Fence) {
        assert_eq!(act(&mut world, &back(fence, "x")).unwrap_err().kind(), RefusalKind::Conflict, "{fence}");
    }
    // The newest fence counts, also after its lease has expired.
    assert!(expire(&mut world, at(BOOT, now, 0)));
    done(&mut world, &back(Fence(50), "in time"));
    assert_eq!(world.dispatches[&DISPATCH].state, DispatchState::HandedBack);
    // After that every hand-back is stored as late.
    assert!(matches!(done(&mut world, &back(Fence(49), "x")).as_slice(), [Event::DispatchLate(_)]));
    assert_eq!(act(&mut world, &back(Fence(50), "x")).unwrap_err().kind(), RefusalKind::Refused);
}

/// Times at which a lease with the last heartbeat `beat` must not be over.
fn harmless(beat: &Heartbeat) -> Vec<(&'static str, BootTime)> {
    let ms = SECONDS * 1_000;
    vec![
        ("frozen", at(&beat.boot, beat.at, 0)),
        ("an hour back", at(&beat.boot, beat.at.saturating_sub(3_600_000), 0)),
        ("at its very beginning", at(&beat.boot, 0, 0)),
        ("just in time", at(&beat.boot, beat.at + ms - 1, 0)),
        ("another boot, just begun", at("machine:boot-2", 1, 1)),
        ("another boot, up for years, flower just begun", at("machine:boot-2", u64::MAX / 2, u64::MAX / 2)),
        ("another boot, nearly over", at("machine:boot-2", 5_000 + ms - 1, 5_000)),
        ("another boot that began later than now", at("machine:boot-2", 5, 10_000)),
        ("another machine", at("other:boot-1", u64::MAX, 0)),
        ("another machine without a name", at(":boot-1", u64::MAX, 0)),
    ]
}

/// Times at which a lease with the last heartbeat `beat` must be over.
fn over(beat: &Heartbeat) -> Vec<(&'static str, BootTime)> {
    let ms = SECONDS * 1_000;
    vec![
        ("its time", at(&beat.boot, beat.at + ms, 0)),
        ("ten years later", at(&beat.boot, beat.at + 315_360_000_000, 0)),
        ("the end of time", at(&beat.boot, u64::MAX, 0)),
        ("another boot, its time", at("machine:boot-2", 5_000 + ms, 5_000)),
        ("another boot, ten years later", at("machine:boot-2", 315_360_000_000, 5_000)),
    ]
}

#[test]
fn no_clock_ends_a_claim_before_its_time() {
    for start in [0, 1, 1_000, 3_600_000, 315_360_000_000] {
        let mut world = waiting();
        let begun = at(BOOT, start, 0);
        claim(&mut world, "ada", begun.clone()).expect("the dispatch has no holder");
        for (what, moment) in harmless(&begun.heartbeat()) {
            assert!(!expire(&mut world, moment.clone()), "{start}, {what}");
            let lost = claim(&mut world, "bob", moment).expect_err(what);
            assert!(matches!(&lost, Refusal::Claimed { holder, .. } if holder == "ada"), "{start}, {what}: {lost}");
        }
        for (what, moment) in over(&begun.heartbeat()) {
            assert!(expire(&mut world.clone(), moment.clone()), "{start}, {what}");
            claim(&mut world.clone(), "bob", moment).expect(what);
        }
        // The lease counts from the time of the last heartbeat.
        let later = at(BOOT, start + SECONDS * 1_000 - 1, 0);
        done(&mut world, &Command::Heartbeat { dispatch: DISPATCH, fence: Fence(1), moment: later.clone() });
        for (what, moment) in harmless(&later.heartbeat()) {
            assert!(!expire(&mut world, moment), "{start}, {what}");
        }
        assert!(expire(&mut world, over(&later.heartbeat())[0].1.clone()));
    }
}

#[test]
fn no_clock_ends_a_path_lease_before_its_time() {
    let take = |world: &mut World, holder: &str, moment: BootTime| {
        let (project, worktree, holder) = ("web".to_owned(), "place".to_owned(), Some(holder.to_owned()));
        let patterns = vec!["src/".to_owned()];
        act(
            world,
            &Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds: SECONDS, moment }),
        )
    };
    let mut world = waiting();
    let begun = at(BOOT, 3_600_000, 0);
    take(&mut world, "ada", begun.clone()).expect("it is free");
    for (what, moment) in harmless(&begun.heartbeat()) {
        assert_eq!(take(&mut world, "bob", moment.clone()).expect_err(what).kind(), RefusalKind::Conflict, "{what}");
        let release = Command::ReleaseLease { number: LeaseId(1), why: "over".into(), over: Some(moment) };
        assert_eq!(done(&mut world, &release), [], "{what}");
    }
    for (what, moment) in over(&begun.heartbeat()) {
        let release = Command::ReleaseLease { number: LeaseId(1), why: "over".into(), over: Some(moment.clone()) };
        assert_eq!(done(&mut world.clone(), &release).len(), 1, "{what}");
        take(&mut world.clone(), "bob", moment).expect(what);
    }
}

#[test]
fn a_heartbeat_at_the_end_of_time_overflows_nothing() {
    let moment = at(BOOT, u64::MAX, 0);
    for beat in [u64::MAX, u64::MAX - 1, u64::MAX - SECONDS * 1_000] {
        let beat = Heartbeat { boot: BOOT.to_owned(), at: beat };
        assert!(moment.left(&beat, 86_400) <= 86_400_000);
        assert!(at(BOOT, 5, 0).left(&beat, SECONDS) > 0, "a clock that went back ends nothing");
    }
    let far = at("machine:boot-2", u64::MAX - 5, u64::MAX - 10);
    assert!(!far.is_over(&Heartbeat { boot: BOOT.to_owned(), at: 0 }, SECONDS), "it has just begun");
}
