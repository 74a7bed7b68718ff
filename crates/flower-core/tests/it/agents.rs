//! Agents that flower runs and their permission requests: rights, refusals with their hints, and what ends with an
//! agent.

use flower_core::agent::{Author, Ending, Request, Step};
use flower_core::dispatch::{self, DispatchState};
use flower_core::{
    Actor, ActorType, Agent, AgentId, BootTime, BriefId, Caller, Command, Context, DispatchId, Door, Event, LeaseId,
    PermissionId, Refusal, RefusalKind, Role, WorktreeId, World, decide, lease, main_branch, permission, worktree,
};

fn caller(role: Role) -> Caller {
    let sort = if role == Role::Operator { ActorType::Operator } else { ActorType::Agent };
    Caller::unbound(Actor { sort, name: format!("{role}-1") }, role, Door::Api)
}

fn act(world: &mut World, caller: &Caller, command: &Command) -> Result<Vec<Event>, Refusal> {
    let drafts = decide(world, caller, command)?;
    let apply = |draft: flower_core::Draft| {
        world.apply_event(
            &draft.event,
            &Context { brief: draft.brief, at: "2026-11-16T10:00:00Z", by: &caller.actor.name },
        );
        draft.event
    };
    Ok(drafts.into_iter().map(apply).collect())
}

fn done(world: &mut World, command: &Command) -> Vec<Event> {
    act(world, &caller(Role::Operator), command).unwrap_or_else(|refusal| panic!("{command:?}: {refusal}"))
}

fn refused(world: &mut World, command: &Command) -> Refusal {
    let before = world.clone();
    let refusal = act(world, &caller(Role::Operator), command).expect_err("it is refused");
    assert_eq!(*world, before);
    refusal
}

/// Two briefs, dispatched as 1 and 2 for two agents each, in a worktree that is ready.
fn asked() -> World {
    let mut world = World::default();
    let project = "web".to_owned();
    done(&mut world, &Command::RegisterProject { name: project.clone(), root: "/web".into() });
    let step = main_branch::Step::Record { branch: "main".into(), tip: "a".repeat(40) };
    done(&mut world, &Command::Main { project: project.clone(), step });
    let place = worktree::Request {
        project: project.clone(),
        name: "place".into(),
        kind: worktree::WorktreeKind::Lane,
        seal: worktree::Seal::Sealed,
        base: "a".repeat(40),
        from: "main".into(),
        brief: None,
    };
    done(&mut world, &Command::RequestWorktree(place));
    done(&mut world, &Command::FinishWorktree { number: WorktreeId(1), path: "/place".into() });
    for brief in [1, 2].map(BriefId) {
        let new = Command::CreateBrief(flower_core::brief::Request {
            title: "Work".into(),
            kind: flower_core::BriefKind::Feature,
            spec: Some("# Work\n".into()),
            projects: vec![project.clone()],
            epic: None,
            needs: vec![],
            auto_dispatch: false,
            design_loop: false,
        });
        done(&mut world, &new);
        done(&mut world, &Command::Accept { brief, version: None });
        let worktree = Some("place".into());
        let request = dispatch::Request { brief, worktree, agents: 2, ..dispatch::Request::default() };
        done(&mut world, &Command::RequestDispatch(request));
    }
    world
}

fn wanted(dispatch: Option<DispatchId>) -> Request {
    Request {
        name: None,
        profile: "claude".into(),
        role: Role::Worker,
        standing: false,
        project: "web".into(),
        worktree: "place".into(),
        dispatch,
        member: 0,
        most: 4,
    }
}

fn named(name: &str, dispatch: Option<DispatchId>) -> Request {
    Request { name: Some(name.to_owned()), ..wanted(dispatch) }
}

/// Starts an agent and returns it.
fn start(world: &mut World, request: Request) -> Agent {
    let events = done(world, &Command::StartAgent(request));
    assert!(events.iter().any(|event| matches!(event, Event::AgentStarted(_))), "{events:?}");
    world.agents[&world.last_agent].clone()
}

fn step(number: AgentId, step: Step) -> Command {
    Command::Agent { number, step }
}

fn stop(number: AgentId, how: Ending) -> Command {
    step(number, Step::Stop { how, why: "enough".into(), output: None })
}

fn restart(number: AgentId) -> Command {
    step(number, Step::Restart { why: "code 1".into() })
}

fn moment() -> BootTime {
    BootTime { boot: "m:1".into(), now: 1_000, since: 0 }
}

fn claim(number: DispatchId, holder: &str) -> Command {
    let (holder, packet, seconds) = (Some(holder.to_owned()), None, 60);
    Command::Dispatch { number, step: dispatch::Step::Claim { holder, packet, seconds, moment: moment() } }
}

fn reserve(holder: &str, pattern: &str) -> Command {
    let (project, worktree, holder) = ("web".to_owned(), "place".to_owned(), Some(holder.to_owned()));
    let patterns = vec![pattern.to_owned()];
    Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds: 60, moment: moment() })
}

fn question(agent: AgentId) -> permission::Request {
    let (title, sort) = ("Run `npm publish`".to_owned(), "execute".to_owned());
    permission::Request { agent, title, sort, paths: vec!["package.json".into()], seconds: 300 }
}

#[test]
fn an_agent_starts_for_a_dispatch_that_waits() {
    let mut world = asked();
    let agent = start(&mut world, wanted(Some(DispatchId(1))));
    assert_eq!(
        (agent.number, agent.name.as_str(), agent.brief, agent.member),
        (AgentId(1), "claude-1", Some(BriefId(1)), 0)
    );
    assert_eq!((agent.restarts, agent.refreshes, agent.is_live()), (0, 0, true));
    assert_eq!((agent.by.as_str(), agent.started_at.as_str()), ("operator-1", "2026-11-16T10:00:00Z"));
    assert_eq!(world.dispatches[&DispatchId(1)].state, DispatchState::Requested, "it has not claimed it yet");
    // The dispatch has room for one member besides the lead, before and after the lead has claimed it.
    done(&mut world, &claim(DispatchId(1), "claude-1"));
    let beside = start(&mut world, Request { member: 1, ..wanted(Some(DispatchId(1))) });
    assert_eq!((beside.name.as_str(), beside.member), ("claude-2", 1));
    let standing = start(&mut world, Request { standing: true, ..named("night-shift", None) });
    assert_eq!((standing.brief, standing.dispatch, standing.standing), (None, None, true));
}

#[test]
fn each_refusal_to_start_names_the_next_step() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    done(&mut world, &claim(DispatchId(2), "somebody"));
    type Case = (Request, RefusalKind, &'static str, &'static str);
    let cases: Vec<Case> = vec![
        (
            named("bob", Some(DispatchId(2))),
            RefusalKind::Refused,
            "dispatch 2 is `claimed`, not waiting for a claim",
            "",
        ),
        (
            named("bob", Some(DispatchId(1))),
            RefusalKind::Conflict,
            "agent `ada` works on dispatch 1 already",
            "look at it: `flower agent show ada`",
        ),
        (
            named("ada", None),
            RefusalKind::Conflict,
            "there is an agent `ada` already",
            "choose another name: `--name NAME`",
        ),
        (
            named("operator", None),
            RefusalKind::Conflict,
            "there is an agent `operator` already",
            "choose another name: `--name NAME`",
        ),
        (
            Request { most: 1, ..wanted(None) },
            RefusalKind::Refused,
            "1 agents run, and no more than 1 may at once",
            "wait until one has ended, stop one (`flower agent stop NAME`), or raise `max` below `[agents]` in flower.toml",
        ),
        (Request { member: 2, ..wanted(Some(DispatchId(1))) }, RefusalKind::Invalid, "agents", ""),
        (wanted(Some(DispatchId(9))), RefusalKind::NotFound, "there is no dispatch 9", ""),
        (Request { project: "api".into(), ..wanted(None) }, RefusalKind::NotFound, "api", ""),
        (Request { worktree: "../up".into(), ..wanted(None) }, RefusalKind::Invalid, "../up", ""),
        (Request { profile: "a b".into(), ..wanted(None) }, RefusalKind::Invalid, "a b", ""),
        (named("a b", None), RefusalKind::Invalid, "a b", ""),
        (Request { role: Role::Operator, ..wanted(None) }, RefusalKind::Invalid, "claude-2", ""),
    ];
    for (request, kind, message, hint) in cases {
        let refusal = refused(&mut world, &Command::StartAgent(request));
        assert_eq!(refusal.kind(), kind, "{refusal}");
        assert!(refusal.to_string().contains(message), "{refusal}, not {message}");
        assert!(refusal.hints().join("\n").contains(hint), "{:?}, not {hint}", refusal.hints());
        assert!(refusal.hints().iter().all(|hint| !hint.is_empty()), "{refusal}");
    }
    // An ended dispatch has no room for an agent.
    done(&mut world, &Command::Dispatch { number: DispatchId(2), step: dispatch::Step::Cancel { why: None } });
    for member in [0, 1] {
        let refusal = refused(&mut world, &Command::StartAgent(Request { member, ..wanted(Some(DispatchId(2))) }));
        assert!(matches!(refusal, Refusal::DispatchState { number: DispatchId(2), .. }), "{refusal}");
    }
}

#[test]
fn a_slot_is_free_again_after_an_end() {
    let mut world = asked();
    for _ in 0..4 {
        start(&mut world, wanted(None));
    }
    let refusal = refused(&mut world, &Command::StartAgent(wanted(None)));
    assert_eq!(refusal, Refusal::NoSlot { running: 4, most: 4 });
    done(&mut world, &stop(AgentId(3), Ending::Retired));
    assert_eq!(start(&mut world, wanted(None)).number, AgentId(5));
    // The slots are counted per project.
    done(&mut world, &Command::RegisterProject { name: "api".into(), root: "/api".into() });
    start(&mut world, Request { project: "api".into(), most: 1, ..wanted(None) });
}

#[test]
fn the_name_that_an_agent_gets_by_itself_is_free_and_plain() {
    let mut world = asked();
    start(&mut world, named("claude-2", None));
    assert_eq!(start(&mut world, wanted(None)).name, "claude-3", "another agent is named claude-2");
    assert_eq!(start(&mut world, wanted(None)).name, "claude-4", "and now claude-3 is taken");
    let long = "x".repeat(64);
    let agent = start(&mut world, Request { profile: long, ..wanted(None) });
    assert_eq!(agent.name, format!("{}-4", "x".repeat(40)));
    // The name of an ended agent is free.
    done(&mut world, &stop(AgentId(1), Ending::Stopped));
    start(&mut world, named("claude-2", None));
}

#[test]
fn each_step_does_what_it_says() {
    let mut world = asked();
    let number = start(&mut world, Request { standing: true, ..named("ada", None) }).number;
    done(&mut world, &step(number, Step::Assign { dispatch: DispatchId(1) }));
    for restarts in [1, 2] {
        let events = done(&mut world, &restart(number));
        assert!(matches!(events.last(), Some(Event::AgentRestarted(it)) if it.restarts == restarts), "{events:?}");
    }
    let connect = |model: &str, tools| step(number, Step::Connect { model: Some(model.into()), tools });
    assert_eq!(done(&mut world, &connect("opus", None)).len(), 1);
    assert_eq!(done(&mut world, &connect("opus", Some(false))).len(), 1);
    assert_eq!(done(&mut world, &connect("opus", Some(false))), [], "nothing has changed");
    let agent = &world.agents[&number];
    assert_eq!((agent.model.as_deref(), agent.tools), (Some("opus"), Some(false)));
    let refresh = Step::Refresh { note: "go on\n".into(), author: Author::Flower, used: Some(9), size: None };
    done(&mut world, &step(number, refresh));
    let agent = world.agents[&number].clone();
    assert_eq!(
        (agent.dispatch, agent.brief, agent.restarts, agent.refreshes),
        (Some(DispatchId(1)), Some(BriefId(1)), 2, 1)
    );
    assert_eq!(agent.hand_over.as_deref(), Some("go on"));
    // An agent is assigned one work after the other, and its counters start again with each.
    let next = step(number, Step::Assign { dispatch: DispatchId(2) });
    assert_eq!(refused(&mut world, &next), Refusal::Busy { number: DispatchId(2), other: DispatchId(1) });
    done(&mut world, &Command::Dispatch { number: DispatchId(1), step: dispatch::Step::Cancel { why: None } });
    done(&mut world, &next);
    let agent = world.agents[&number].clone();
    assert_eq!(
        (agent.dispatch, agent.brief, agent.restarts, agent.refreshes),
        (Some(DispatchId(2)), Some(BriefId(2)), 0, 1)
    );
    assert_eq!(agent.hand_over, None);
    // A dispatch with a live lead accepts no second one.
    let other = start(&mut world, Request { standing: true, ..named("bob", None) }).number;
    let there = refused(&mut world, &step(other, Step::Assign { dispatch: DispatchId(2) }));
    assert_eq!(there, Refusal::AgentThere { name: "ada".into(), dispatch: DispatchId(2) });
    assert!(matches!(
        refused(&mut world, &step(other, Step::Assign { dispatch: DispatchId(1) })),
        Refusal::DispatchState { .. }
    ));
    assert!(matches!(
        refused(&mut world, &step(other, Step::Assign { dispatch: DispatchId(9) })),
        Refusal::NoDispatch { .. }
    ));
}

/// Regression: the agent kept its member number, so two agents with one number could work on one dispatch.
#[test]
fn a_member_leads_the_next_work_it_is_assigned() {
    let mut world = asked();
    let beside = start(&mut world, Request { member: 1, ..named("ada", Some(DispatchId(1))) }).number;
    start(&mut world, Request { member: 1, ..named("bob", Some(DispatchId(2))) });
    done(&mut world, &Command::Dispatch { number: DispatchId(1), step: dispatch::Step::Cancel { why: None } });
    done(&mut world, &step(beside, Step::Assign { dispatch: DispatchId(2) }));
    assert_eq!((world.agents[&beside].dispatch, world.agents[&beside].member), (Some(DispatchId(2)), 0));
    let refusal = refused(&mut world, &Command::StartAgent(named("eve", Some(DispatchId(2)))));
    assert_eq!(refusal, Refusal::AgentThere { name: "ada".into(), dispatch: DispatchId(2) });
}

#[test]
fn a_claim_ends_with_its_agent() {
    for &how in Ending::ALL {
        let mut world = asked();
        start(&mut world, named("ada", Some(DispatchId(1))));
        start(&mut world, Request { member: 1, ..named("bob", Some(DispatchId(1))) });
        done(&mut world, &claim(DispatchId(1), "ada"));
        done(&mut world, &reserve("ada", "src/"));
        done(&mut world, &reserve("eve", "docs/"));
        let events = done(&mut world, &stop(AgentId(1), how));
        assert!(events.iter().any(|event| matches!(event, Event::AgentStopped(_))));
        let dispatch = world.dispatches[&DispatchId(1)].clone();
        if how == Ending::Failed {
            assert_eq!(dispatch.state, DispatchState::Failed);
            assert_eq!(dispatch.result.map(|result| result.summary).as_deref(), Some("ada was given up: enough"));
        } else {
            assert_eq!(dispatch.state, DispatchState::Requested, "{how}");
            start(&mut world, named("ada", Some(DispatchId(1))));
        }
        assert!(dispatch.claim.is_none());
        assert!(!world.leases[&LeaseId(1)].live, "{how}: its own paths are free");
        assert!(world.leases[&LeaseId(2)].live, "{how}: those of others are not");
        let agent = &world.agents[&AgentId(1)];
        assert_eq!(agent.ended.as_ref().map(|end| (end.how, end.why.as_str())), Some((how, "enough")));
        assert_eq!(agent.ended_at.as_deref(), Some("2026-11-16T10:00:00Z"));
    }
}

#[test]
fn an_agent_without_a_claim_ends_no_dispatch() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    start(&mut world, Request { member: 1, ..named("bob", Some(DispatchId(1))) });
    done(&mut world, &claim(DispatchId(1), "ada"));
    done(&mut world, &reserve("ada", "src/"));
    done(&mut world, &reserve("bob", "docs/"));
    done(&mut world, &stop(AgentId(2), Ending::Failed));
    assert_eq!(world.dispatches[&DispatchId(1)].claim.as_ref().map(|claim| claim.holder.as_str()), Some("ada"));
    assert!(world.leases[&LeaseId(1)].live && !world.leases[&LeaseId(2)].live, "only its own paths are free");
    // The end of a lead that never claimed the dispatch does not change the dispatch.
    start(&mut world, named("eve", Some(DispatchId(2))));
    done(&mut world, &stop(AgentId(3), Ending::Failed));
    assert_eq!(world.dispatches[&DispatchId(2)].state, DispatchState::Requested);
}

#[test]
fn stopping_twice_changes_nothing_and_an_ended_agent_takes_no_step() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    done(&mut world, &stop(AgentId(1), Ending::Stopped));
    for &how in Ending::ALL {
        assert_eq!(done(&mut world, &stop(AgentId(1), how)), []);
    }
    assert_eq!(
        world.agents[&AgentId(1)].ended.as_ref().map(|end| end.how),
        Some(Ending::Stopped),
        "the first one counts"
    );
    let (note, author, used, size) = ("x".to_owned(), Author::Agent, None, None);
    for next in [
        Step::Assign { dispatch: DispatchId(2) },
        Step::Restart { why: "x".into() },
        Step::Refresh { note, author, used, size },
    ] {
        let refusal = refused(&mut world, &step(AgentId(1), next));
        assert_eq!(refusal, Refusal::AgentEnded { name: "ada".into() });
        assert_eq!(refusal.kind(), RefusalKind::Refused);
        assert!(refusal.hints()[0].contains("`flower agent log ada`"), "{:?}", refusal.hints());
    }
    let refusal = refused(&mut world, &Command::AskPermission(question(AgentId(1))));
    assert_eq!(refusal, Refusal::AgentEnded { name: "ada".into() });
    for number in [0, 2, u64::MAX].map(AgentId) {
        let refusal = refused(&mut world, &stop(number, Ending::Stopped));
        assert_eq!(refusal.kind(), RefusalKind::NotFound);
        assert!(refusal.hints()[0].contains("`flower dispatch N --agent PROFILE`"), "{:?}", refusal.hints());
    }
}

#[test]
fn usage_is_recorded_also_after_the_end() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    done(&mut world, &stop(AgentId(1), Ending::Retired));
    let spend = |tokens, cost, currency: Option<&str>| {
        step(AgentId(1), Step::Spend { tokens, cost, currency: currency.map(str::to_owned) })
    };
    assert_eq!(done(&mut world, &spend(None, None, Some("USD"))), [], "nothing is no event");
    let before = world.agents.clone();
    let events = done(&mut world, &spend(Some(0), Some(u64::MAX), Some("a currency of ours")));
    let [Event::AgentSpent(spent)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((spent.brief, spent.dispatch, spent.tokens), (Some(BriefId(1)), Some(DispatchId(1)), Some(0)));
    assert_eq!(spent.currency.as_deref(), Some("a curre…"));
    assert_eq!(spent.cost, Some(1_000_000_000_000), "any reported value can be summed up by a database");
    assert_eq!(world.agents, before);
    let events = done(&mut world, &spend(Some(u64::MAX), None, None));
    assert!(matches!(&events[..], [Event::AgentSpent(spent)] if spent.tokens == Some(1_000_000_000_000)));
}

#[test]
fn notes_and_output_are_cut_and_cleaned() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    let dirty = "a\u{1b}[31m\r\n\u{202e}b\0\t ";
    let refresh =
        |note: String| step(AgentId(1), Step::Refresh { note, author: Author::Agent, used: None, size: None });
    done(&mut world, &refresh(dirty.to_owned()));
    assert_eq!(world.agents[&AgentId(1)].hand_over.as_deref(), Some("a[31m\nb"));
    done(&mut world, &refresh(format!("first {}", "世".repeat(90_000))));
    let note = world.agents[&AgentId(1)].hand_over.clone().unwrap_or_default();
    assert!((16_380..=16_384).contains(&note.len()) && note.starts_with("first"), "{}", note.len());
    let events = done(&mut world, &step(AgentId(1), Step::Restart { why: format!("two\nlines {}", "x".repeat(900)) }));
    let why = match &events[..] {
        [Event::AgentRestarted(it)] => it.why.clone(),
        other => panic!("{other:?}"),
    };
    assert!(why.starts_with("two lines x") && why.chars().count() == 500, "{why}");
    let (why, output) = ("x\ny".to_owned(), Some(format!("{dirty}{}\u{7} last\n\n", "世".repeat(9_000))));
    done(&mut world, &step(AgentId(1), Step::Stop { how: Ending::Failed, why, output }));
    let end = world.agents[&AgentId(1)].ended.clone().expect("it has ended");
    let output = end.output.unwrap_or_default();
    assert_eq!(end.why, "x y");
    assert!(output.len() <= 4_096 && output.ends_with("世 last") && !output.contains('\u{7}'), "{output}");
}

#[test]
fn a_permission_is_decided_once() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    let decide =
        |number, allow, why: Option<&str>| Command::DecidePermission { number, allow, why: why.map(str::to_owned) };
    for allow in [true, false] {
        done(&mut world, &Command::AskPermission(question(AgentId(1))));
        let number = world.last_permission;
        let asked = world.permissions[&number].clone();
        assert_eq!((asked.name.as_str(), asked.worktree.as_str(), asked.brief), ("ada", "place", Some(BriefId(1))));
        assert_eq!((asked.allowed, asked.seconds), (None, 300));
        assert_eq!(refused(&mut world, &decide(number, allow, Some(" "))).kind(), RefusalKind::Invalid);
        done(&mut world, &decide(number, allow, Some("so be it")));
        assert_eq!(world.permissions[&number].allowed, Some(allow));
        assert_eq!(done(&mut world, &decide(number, allow, None)), [], "the same again is nothing new");
        let refusal = refused(&mut world, &decide(number, !allow, None));
        assert_eq!(refusal, Refusal::PermissionDecided { number, allowed: allow });
        assert_eq!(refusal.kind(), RefusalKind::Conflict);
        assert!(refusal.to_string().contains(if allow { "given" } else { "denied" }), "{refusal}");
        assert!(refusal.hints()[0].contains("`flower inbox`"), "{:?}", refusal.hints());
    }
    let refusal = refused(&mut world, &decide(PermissionId(3), true, None));
    assert_eq!((refusal.kind(), &refusal), (RefusalKind::NotFound, &Refusal::NoPermission { number: PermissionId(3) }));
    assert!(refusal.hints()[0].contains("`flower inbox`"));
    let refusal = refused(&mut world, &Command::AskPermission(question(AgentId(9))));
    assert!(matches!(refusal, Refusal::NoAgent { .. }), "{refusal}");
    // A request can be decided after the end of its agent, so that a waiting client gets an answer.
    done(&mut world, &Command::AskPermission(question(AgentId(1))));
    done(&mut world, &stop(AgentId(1), Ending::Halted));
    done(&mut world, &decide(PermissionId(3), false, None));
}

/// The person who decides sees the whole request, including characters that are usually hidden.
#[test]
fn hidden_characters_in_a_permission_request_become_visible() {
    let mut world = asked();
    start(&mut world, named("ada", Some(DispatchId(1))));
    let title = format!("  rm\u{202e}\u{200b} -r\n/\u{1b}[8m {}", "x".repeat(5_000));
    let paths = (0..99).map(|_| format!("src\u{202e}{}", "y".repeat(900))).collect();
    done(&mut world, &Command::AskPermission(permission::Request { title, paths, ..question(AgentId(1)) }));
    let asked = &world.permissions[&PermissionId(1)];
    assert!(asked.title.starts_with("rm\\u{202E}\\u{200B} -r\\u{000A}/\\u{001B}[8m x"), "{}", asked.title);
    assert!(asked.title.chars().count() <= 1_000 && asked.title.ends_with('…'));
    assert_eq!(asked.paths.len(), 20);
    assert!(asked.paths.iter().all(|path| path.starts_with("src\\u{202E}y") && path.chars().count() <= 500));
}

#[test]
fn each_role_takes_only_its_own_steps() {
    let mut world = asked();
    start(&mut world, Request { standing: true, ..named("ada", None) });
    done(&mut world, &Command::AskPermission(question(AgentId(1))));
    let orchestrates = Request { role: Role::Orchestrator, ..wanted(None) };
    let (note, author, used, size) = ("x".to_owned(), Author::Agent, None, None);
    let spend = Step::Spend { tokens: Some(1), cost: None, currency: None };
    // An orchestrator starts workers and stops agents. The other steps are for the operator, and for flower as the
    // supervisor.
    let cases = [
        (Command::StartAgent(wanted(Some(DispatchId(1)))), true),
        (stop(AgentId(1), Ending::Stopped), true),
        (Command::StartAgent(orchestrates), false),
        (Command::StartAgent(Request { role: Role::Ops, ..wanted(None) }), false),
        (step(AgentId(1), Step::Assign { dispatch: DispatchId(1) }), false),
        (restart(AgentId(1)), false),
        (step(AgentId(1), Step::Refresh { note, author, used, size }), false),
        (step(AgentId(1), spend), false),
        (Command::AskPermission(question(AgentId(1))), false),
        (Command::DecidePermission { number: PermissionId(1), allow: true, why: None }, false),
    ];
    for (command, steers) in cases {
        for &role in Role::ALL {
            let may = match role {
                Role::Operator => true,
                Role::Orchestrator => steers,
                Role::Worker | Role::Ops => false,
            };
            let mut bound = caller(role);
            if role == Role::Worker {
                (bound.actor.name, bound.brief, bound.token) = ("ada".into(), Some(BriefId(1)), Some("t1".into()));
            }
            match act(&mut world.clone(), &bound, &command) {
                Ok(_) => assert!(may, "{role} {command:?}"),
                Err(refusal) => {
                    assert!(!may && refusal.kind() == RefusalKind::Forbidden, "{role} {command:?}: {refusal}");
                    assert!(refusal.hints().iter().all(|hint| !hint.is_empty()));
                }
            }
        }
        act(&mut world.clone(), &Caller::system(), &command).expect("flower may");
    }
}
