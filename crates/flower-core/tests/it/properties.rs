//! Properties that hold after any commands in any order, on a complete world.

use flower_core::agent::Ending;
use flower_core::dispatch::DispatchState;
use flower_core::event::{KINDS, SCHEMA};
use flower_core::landing::State;
use flower_core::worktree::Stage;
use flower_core::{
    Agent, AgentId, Brief, BriefId, BriefKind, Caller, Command, Context, DispatchId, Draft, Event, Landing, LandingId,
    Lease, LeaseId, LinkKind, Pattern, PermissionId, Refusal, Role, ScratchpadId, Status, WorktreeId, World, agent,
    decide,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

proptest! {
    #![proptest_config(Config { cases: cases(), failure_persistence: None, ..Config::default() })]

    #[test]
    fn invariants_hold_after_every_step(steps in crate::commands::steps(80)) {
        let mut world = World::default();
        let mut replayed: Vec<(String, String, Draft)> = Vec::new();
        for (second, (caller, command)) in steps.iter().enumerate() {
            let at = at(second);
            let before = world.clone();
            let answer = decide(&world, caller, command);
            prop_assert_eq!(&answer, &decide(&world, caller, command), "the same question has one answer");
            match answer {
                Ok(drafts) => {
                    if let Command::Heartbeat { dispatch, fence, moment } = command {
                        world.record_heartbeat(*dispatch, *fence, moment.heartbeat());
                    }
                    for draft in drafts {
                        check_stored_form(&draft);
                        check_link_is_new(&world, &draft);
                        check_spec_version(draft.brief.and_then(|brief| world.briefs.get(&brief)), &draft.event);
                        world.apply_event(&draft.event, &Context { brief: draft.brief, at: &at, by: &caller.actor.name });
                        check_actor_takes_part(&world, caller, &draft);
                        replayed.push((at.clone(), caller.actor.name.clone(), draft));
                    }
                }
                Err(refusal) => check_refusal(&world, command, &refusal),
            }
            check_world(&world);
            check_transition(&before, &world);
            check_agents(&before, &world, command);
            check_reach(caller, &before, &world);
        }
        let mut again = World { beats: world.beats.clone(), ..World::default() };
        for (at, by, draft) in &replayed {
            again.apply_event(&draft.event, &Context { brief: draft.brief, at, by });
        }
        prop_assert_eq!(again, world, "replaying the events gives the same world");
    }
}

fn cases() -> u32 {
    if std::env::var_os("FLOWER_SOAK").is_some() { 10_000 } else { 200 }
}

/// Without this test the properties above could hold because no event ever occurs.
#[test]
fn random_commands_reach_every_event_and_status() {
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut kinds = BTreeSet::new();
    let mut statuses = BTreeSet::new();
    let (mut accepted, mut refused, mut cycles) = (0, 0, 0);
    // Counts the events that follow from the end of an agent, and the refusals to agents.
    let mut agents: BTreeMap<&str, u64> = BTreeMap::new();
    let of_agents = ["given up", "given back", "released", "there", "named", "ended", "no slot", "decided"];
    // Some events and refusals need several rare commands in a row, so it goes on until all have happened.
    for round in 0..5_000 {
        let all_happened =
            KINDS.iter().all(|kind| kinds.contains(*kind)) && of_agents.iter().all(|what| agents.contains_key(what));
        if round >= 300 && all_happened {
            break;
        }
        let steps = crate::commands::steps(80).new_tree(&mut runner).unwrap().current();
        let mut world = World::default();
        for (caller, command) in &steps {
            match decide(&world, caller, command) {
                Ok(drafts) => {
                    accepted += 1;
                    let stopped = matches!(command, Command::Agent { step: agent::Step::Stop { .. }, .. });
                    for draft in drafts {
                        if stopped {
                            let what = match draft.event {
                                Event::DispatchFailed(_) => "given up",
                                Event::DispatchExpired(_) => "given back",
                                Event::LeaseReleased(_) => "released",
                                _ => "other",
                            };
                            *agents.entry(what).or_default() += 1;
                        }
                        kinds.insert(draft.event.kind().to_owned());
                        world.apply_event(&draft.event, &Context { brief: draft.brief, at: "now", by: "me" });
                    }
                }
                Err(refusal) => {
                    refused += 1;
                    cycles += u64::from(matches!(refusal, Refusal::Cycle { .. }));
                    let what = match refusal {
                        Refusal::AgentThere { .. } => "there",
                        Refusal::AgentNamed { .. } => "named",
                        Refusal::AgentEnded { .. } => "ended",
                        Refusal::NoSlot { .. } => "no slot",
                        Refusal::PermissionDecided { .. } => "decided",
                        _ => "other",
                    };
                    *agents.entry(what).or_default() += 1;
                }
            }
            statuses.extend(world.briefs.values().map(|brief| brief.status));
        }
    }
    for what in of_agents {
        assert!(agents.contains_key(what), "`{what}` never happened: {agents:?}");
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !kinds.contains(**kind)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    assert_eq!(statuses.len(), Status::ALL.len(), "{statuses:?}");
    assert!(
        accepted > 1_000 && refused > 1_000 && cycles > 20,
        "{accepted} accepted, {refused} refused, {cycles} circles"
    );
}

fn at(second: usize) -> String {
    format!("2026-11-15T12:{:02}:{:02}.000000Z", second / 60, second % 60)
}

fn check_world(world: &World) {
    for brief in world.briefs.values() {
        let number = brief.number;
        let landed = world.landings.values().any(|l| l.state == State::Landed && l.briefs.contains(&number));
        let is_epic = world.briefs.values().any(|child| child.epic == Some(number)) || brief.kind == BriefKind::Epic;
        let proved = landed || is_epic || brief.status != Status::Landed;
        assert!(proved, "brief {number} landed without a landing");
        assert!(brief.accepted_version <= Some(brief.spec_version), "brief {number} has accepted what does not exist");
        assert_ne!(brief.accepted_version, Some(0), "brief {number} has accepted nothing");
        assert!(brief.open_questions.iter().all(|question| (1..=brief.questions).contains(question)));
        let names: BTreeSet<_> = brief.participants.iter().map(|p| (&p.name, p.sort)).collect();
        assert_eq!(names.len(), brief.participants.len(), "a participant joined brief {number} twice");
        let projects: BTreeSet<_> = brief.projects.iter().collect();
        assert_eq!(projects.len(), brief.projects.len(), "brief {number} belongs to a project twice");
        assert_eq!(brief.status == Status::Parked, brief.parked_from.is_some(), "brief {number}");
        let commits = world.links.iter().filter(|(of, kind, _)| (*of, *kind) == (number, LinkKind::Commit)).count();
        assert_eq!(brief.commits, commits as u64, "brief {number} counts its commits");
        assert!(brief.epic.is_none_or(|epic| world.briefs.contains_key(&epic)));
        assert!(brief.depends_on.iter().all(|needs| world.briefs.contains_key(needs)));
    }
    assert_eq!(world.last_brief, BriefId(world.briefs.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_scratchpad, ScratchpadId(world.scratchpads.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_landing, LandingId(world.landings.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_dispatch, DispatchId(world.dispatches.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_lease, LeaseId(world.leases.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_agent, AgentId(world.agents.len() as u64), "numbers have no gaps");
    assert_eq!(world.last_permission, PermissionId(world.permissions.len() as u64), "numbers have no gaps");
    let live = || world.agents.values().filter(|agent| agent.is_live());
    let names: BTreeSet<_> = live().map(|agent| &agent.name).collect();
    assert_eq!(names.len(), live().count(), "two live agents have one name");
    let at_work: Vec<_> = live().filter_map(|agent| Some((agent.dispatch?, agent.member))).collect();
    let places: BTreeSet<_> = at_work.iter().collect();
    assert_eq!(places.len(), at_work.len(), "two live agents are in one place: {:?}", world.agents);
    for agent in world.agents.values() {
        assert_eq!(agent.is_live(), agent.ended_at.is_none(), "{agent:?}");
        assert_eq!(agent.brief, agent.dispatch.map(|number| world.dispatches[&number].brief), "{agent:?}");
    }
    for dispatch in world.dispatches.values() {
        let claimed = matches!(dispatch.state, DispatchState::Claimed | DispatchState::Executing);
        assert_eq!(claimed, dispatch.claim.is_some(), "{dispatch:?}");
        assert!(dispatch.claim.as_ref().is_none_or(|claim| claim.fence == dispatch.fence), "{dispatch:?}");
        assert!(dispatch.runs.windows(2).all(|two| two[0].fence < two[1].fence), "fences only grow: {dispatch:?}");
        assert_eq!(dispatch.is_open(), dispatch.ended_at.is_none(), "{dispatch:?}");
    }
    let live: Vec<&Lease> = world.leases.values().filter(|lease| lease.live).collect();
    for (at, one) in live.iter().enumerate() {
        for other in &live[at + 1..] {
            let patterns: Vec<Pattern> = other.patterns.iter().map(|raw| Pattern::parse(raw).unwrap()).collect();
            let same_place = (&one.project, &one.worktree) == (&other.project, &other.worktree);
            // An expired lease that was not released yet may overlap with a later one, but not with an earlier one.
            let apart = one.holder == other.holder || one.overlap(&patterns).is_none();
            assert!(
                !same_place || apart || one.beat.boot != other.beat.boot || one.beat.at > other.beat.at,
                "{one:?} {other:?}"
            );
        }
    }
    for landing in world.landings.values() {
        assert_eq!(landing.is_open(), landing.ended_at.is_none(), "{landing:?}");
        assert!(!landing.is_open() || world.projects.contains_key(&landing.project), "a landing without its project");
        assert!(!landing.approved || landing.state != State::Approval, "it waits for what it has: {landing:?}");
    }
    let open: Vec<_> = world.landings.values().filter(|landing| landing.is_open()).collect();
    let commits: BTreeSet<_> = open.iter().map(|landing| (&landing.project, &landing.commit)).collect();
    assert_eq!(commits.len(), open.len(), "a commit is in the queue twice");
    assert_eq!(world.last_worktree, WorktreeId(world.worktrees.len() as u64), "numbers have no gaps");
    let live: Vec<_> = world.worktrees.values().filter(|w| w.is_live()).collect();
    let names: BTreeSet<_> = live.iter().map(|w| (&w.project, &w.name)).collect();
    assert_eq!(names.len(), live.len(), "two live worktrees have one name");
    for worktree in world.worktrees.values() {
        assert!(
            !worktree.is_live() || world.projects.contains_key(&worktree.project),
            "a worktree without its project"
        );
        let may_keep = matches!(worktree.stage, Stage::Removed | Stage::Restoring);
        assert!(worktree.archive.is_none() || may_keep, "{worktree:?}");
    }
    check_no_circle(world);
}

/// Checks for cycles with the rules' own search, and by repeatedly removing briefs without dependencies.
fn check_no_circle(world: &World) {
    let mut waiting: BTreeMap<BriefId, BTreeSet<BriefId>> =
        world.briefs.keys().map(|&number| (number, waits_for(world, number))).collect();
    for (&number, others) in &waiting {
        for &other in others {
            assert_eq!(world.path(other, number), None, "{number} waits for {other}, and back");
        }
    }
    while let Some(free) = waiting.iter().find(|(_, others)| others.is_empty()).map(|(&number, _)| number) {
        waiting.remove(&free);
        for others in waiting.values_mut() {
            others.remove(&free);
        }
    }
    assert!(waiting.is_empty(), "these wait for each other: {waiting:?}");
}

fn waits_for(world: &World, number: BriefId) -> BTreeSet<BriefId> {
    let children = world.briefs.values().filter(|brief| brief.epic == Some(number)).map(|brief| brief.number);
    let needs = world.briefs.get(&number).into_iter().flat_map(|brief| brief.depends_on.iter().copied());
    children.chain(needs).collect()
}

fn check_transition(before: &World, after: &World) {
    for (number, old) in &before.briefs {
        let new = &after.briefs[number];
        assert!((old.spec_version..=old.spec_version + 1).contains(&new.spec_version), "brief {number}");
        assert!(old.accepted_version <= new.accepted_version, "brief {number} went back to an older spec");
        if old.status.is_closed() {
            let back = old.status == Status::Landed && is_sent_back(before, after, new);
            assert!(old.status == new.status || back, "brief {number} was closed and came back");
        }
        assert!(old.questions <= new.questions);
        let names = |brief: &Brief| brief.participants.iter().map(|p| (p.name.clone(), p.sort)).collect::<Vec<_>>();
        assert!(names(new).starts_with(&names(old)), "no participant leaves brief {number}");
        assert_eq!(old.created_at, new.created_at);
    }
}

/// A landing of the brief was just reverted: the brief is in progress if a fix was requested, and parked otherwise.
fn is_sent_back(before: &World, after: &World, brief: &Brief) -> bool {
    let landed_now = |landing: &&Landing| {
        landing.state == State::Landed && before.landings.get(&landing.number).is_some_and(Landing::is_open)
    };
    after.landings.values().filter(landed_now).any(|revert| {
        let reverted = revert.of.and_then(|of| after.landings.get(&of));
        let of_brief = reverted
            .is_some_and(|landing| landing.state == State::RolledBack && landing.briefs.contains(&brief.number));
        of_brief
            && match revert.fix {
                true => brief.status == Status::InProgress,
                false => (brief.status, brief.parked_from) == (Status::Parked, Some(Status::InProgress)),
            }
    })
}

/// An ended agent stays ended, and its claim ends with it: the dispatch fails, or waits for the next claim.
fn check_agents(before: &World, after: &World, command: &Command) {
    for (number, old) in &before.agents {
        let new = &after.agents[number];
        if old.is_live() && !new.is_live() {
            check_end(before, after, new);
        }
        assert!(old.is_live() || old == new, "agent {number} had ended: {new:?}");
        let same_work = old.dispatch == new.dispatch;
        assert!(!same_work || old.restarts <= new.restarts, "agent {number} forgets its restarts");
        assert!(old.refreshes <= new.refreshes);
    }
    for (number, old) in &before.permissions {
        let decided = after.permissions[number].allowed;
        assert!(old.allowed.is_none() || old.allowed == decided, "permission {number} was decided twice");
    }
    if let Command::StartAgent(request) = command
        && after.last_agent > before.last_agent
    {
        let live = after.agents.values().filter(|agent| agent.is_live() && agent.project == request.project).count();
        assert!(live as u64 <= request.most, "{live} agents run, and {} may", request.most);
    }
}

fn check_end(before: &World, after: &World, agent: &Agent) {
    let end = agent.ended.as_ref().expect("it has ended");
    let Some(number) = agent.dispatch else { return };
    let (was, is) = (&before.dispatches[&number], &after.dispatches[&number]);
    let held = was.claim.as_ref().is_some_and(|claim| claim.holder == agent.name);
    match (held, end.how) {
        (true, Ending::Failed) => assert_eq!(is.state, DispatchState::Failed, "{agent:?}"),
        (true, _) => assert_eq!(is.state, DispatchState::Requested, "{agent:?}"),
        (false, _) => assert_eq!(was, is, "{agent:?} ended what it did not hold"),
    }
    assert!(is.claim.as_ref().is_none_or(|claim| claim.holder != agent.name), "it has ended, and holds: {is:?}");
    let there =
        |lease: &&Lease| Some(&lease.worktree) == is.worktree.as_ref() && Some(&lease.project) == is.project.as_ref();
    let left = after.leases.values().filter(there).find(|lease| lease.live && lease.holder == agent.name);
    assert!(left.is_none(), "it has ended, and has reserved: {left:?}");
}

/// A worker changes its own brief and the briefs of its packets, and no other.
fn check_reach(caller: &Caller, before: &World, after: &World) {
    if caller.role != Role::Worker {
        return;
    }
    let claimed = |number: BriefId| {
        let token = caller.token.as_deref().unwrap_or_default();
        after.dispatches.values().any(|dispatch| dispatch.brief == number && dispatch.was_run_by(token))
    };
    // What it proposed itself is new.
    let new = |number: BriefId| number > before.last_brief;
    let others = |world: &World| -> Vec<Brief> {
        let other = |brief: &&Brief| Some(brief.number) != caller.brief && !claimed(brief.number) && !new(brief.number);
        world.briefs.values().filter(other).cloned().collect()
    };
    let pads = |world: &World| -> Vec<_> {
        world.scratchpads.values().filter(|pad| pad.brief != caller.brief || pad.brief.is_none()).cloned().collect()
    };
    let links = |world: &World| -> Vec<_> {
        world.links.iter().filter(|(of, ..)| Some(*of) != caller.brief && !claimed(*of) && !new(*of)).cloned().collect()
    };
    assert_eq!(others(before), others(after), "{} changed another brief", caller.actor.name);
    assert_eq!(pads(before), pads(after), "{} wrote to another's scratchpad", caller.actor.name);
    assert_eq!(links(before), links(after), "{} linked to another brief", caller.actor.name);
    assert_eq!(before.projects, after.projects);
    assert_eq!(before.tokens, after.tokens);
    assert_eq!(before.worktrees, after.worktrees);
    assert_eq!(before.approved, after.approved);
    assert_eq!(before.landings, after.landings);
    assert_eq!(before.mains, after.mains);
    assert_eq!(before.agents, after.agents);
    assert_eq!(before.permissions, after.permissions);
}

fn check_spec_version(before: Option<&Brief>, event: &Event) {
    let current = before.map_or(0, |brief| brief.spec_version);
    let given = match event {
        Event::PlanProposed(plan) => Some((plan.version, plan.base)),
        Event::Refinement(refinement) => Some((refinement.version, refinement.base)),
        _ => None,
    };
    assert!(given.is_none_or(|given| given == (current + 1, current)), "{event:?} after version {current}");
}

fn check_link_is_new(world: &World, draft: &Draft) {
    if let (Event::LinkAdded(link), Some(brief)) = (&draft.event, draft.brief) {
        assert!(!world.links.contains(&(brief, link.kind, link.target.clone())), "linked twice: {link:?}");
    }
}

fn check_actor_takes_part(world: &World, caller: &Caller, draft: &Draft) {
    // The event that creates the brief precedes the event by which its creator joins.
    if matches!(draft.event, Event::BriefCreated(_)) {
        return;
    }
    let Some(brief) = draft.brief.map(|number| &world.briefs[&number]) else { return };
    let is_actor = |p: &flower_core::Participant| p.name == caller.actor.name && p.sort == caller.actor.sort;
    assert!(brief.participants.iter().any(is_actor), "{:?} is no participant of {}", caller.actor, brief.number);
}

fn check_stored_form(draft: &Draft) {
    let (kind, body) = (draft.event.kind(), draft.event.encode());
    assert!(KINDS.contains(&kind));
    let decoded = Event::decode(kind, SCHEMA, &body).expect("what was encoded decodes");
    assert_eq!(decoded, draft.event);
    assert_eq!(decoded.encode(), body);
    let json: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert!(json.is_object());
    assert!(!has_float(&json), "{body}");
    assert_eq!(json.to_string(), body, "another library writes the same text");
}

fn has_float(json: &serde_json::Value) -> bool {
    match json {
        serde_json::Value::Number(number) => !number.is_u64() && !number.is_i64(),
        serde_json::Value::Array(all) => all.iter().any(has_float),
        serde_json::Value::Object(fields) => fields.values().any(has_float),
        _ => false,
    }
}

fn check_refusal(world: &World, command: &Command, refusal: &Refusal) {
    assert!(!refusal.to_string().is_empty());
    assert!(refusal.hints().iter().all(|hint| !hint.is_empty()), "{refusal} names no next step");
    let Refusal::Cycle { path } = refusal else { return };
    assert!(path.len() >= 2 && path.first() == path.last(), "{path:?} is no circle");
    let new = world.last_brief.next();
    for hop in path.windows(2) {
        let (from, to) = (hop[0], hop[1]);
        let asked_for = match command {
            Command::AddNeed { brief, needs } => (from, to) == (*brief, *needs),
            Command::EditBrief { brief, changes } => changes.epic == Some(Some(from)) && to == *brief,
            Command::CreateBrief(flower_core::brief::Request { epic, needs, .. }) => {
                (from == new && needs.contains(&to)) || (*epic == Some(from) && to == new)
            }
            _ => false,
        };
        assert!(asked_for || waits_for(world, from).contains(&to), "{from} does not wait for {to} in {path:?}");
    }
}
