//! The store decides on the part of the world that it loads for one command. For every command the decision must equal
//! that of the rules on the whole world.

use crate::commands;
use crate::databases::{self, Database};
use crate::given::{a_life, start_agent};
use crate::ledger::Ledger;
use flower_core::agent::{self, Ending};
use flower_core::{AgentId, BootTime, Brief, BriefId, Caller, Command, DispatchId, Recorded, World, decide, lease};
use flower_store::briefs::{self, Filter};
use flower_store::{StoreError, agents, dispatches, worktrees};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;

#[test]
fn the_loaded_world_is_sufficient_on_sqlite() {
    check_all(25, || Some(databases::sqlite()));
}

#[test]
fn the_loaded_world_is_sufficient_on_postgres() {
    check_all(8, databases::postgres);
}

// The agent was started in another worktree than that of its dispatch.
on_both!(leases_of_an_agent_are_found_in_the_worktree_of_its_dispatch, |db: Database| {
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    let mut start = start_agent("ada", Some(DispatchId(1)), 1);
    if let Command::StartAgent(request) = &mut start {
        request.worktree = "elsewhere".into();
    }
    ledger.done(start);
    let (project, worktree, holder) = ("web".to_owned(), "fix".to_owned(), Some("ada".to_owned()));
    let moment = BootTime { boot: "m:a".into(), now: 5_000, since: 0 };
    let patterns = vec!["docs/".to_owned()];
    ledger.done(Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds: 60, moment }));
    let (how, why, output) = (Ending::Stopped, "enough".to_owned(), None);
    let events = ledger.done(Command::Agent { number: AgentId(3), step: agent::Step::Stop { how, why, output } });
    assert!(events.iter().any(|event| event.kind == "lease_released"), "{events:?}");
});

fn check_all(cases: u32, database: fn() -> Option<Database>) {
    let cases = if std::env::var_os("FLOWER_SOAK").is_some() { cases * 40 } else { cases };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&commands::steps(80), |steps| {
        // Reported as skipped if there is no PostgreSQL.
        database().map_or(Ok(()), |database| check(&Ledger::open(&database), &steps))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn check(ledger: &Ledger, steps: &[(Caller, Command)]) -> Result<(), TestCaseError> {
    let mut world = World::default();
    for (caller, command) in steps {
        let expected = decide(&world, caller, command);
        match (ledger.submit(caller, command), expected) {
            (Ok(events), Ok(drafts)) => {
                let recorded = |event: &Recorded| (event.stream.clone(), event.brief, event.event().unwrap());
                let recorded: Vec<_> = events.iter().map(recorded).collect();
                let drafts: Vec<_> = drafts.into_iter().map(|d| (d.stream.to_string(), d.brief, d.event)).collect();
                prop_assert_eq!(recorded, drafts, "{:?}", command);
                if let Command::Heartbeat { dispatch, fence, moment } = command {
                    world.record_heartbeat(*dispatch, *fence, moment.heartbeat());
                }
                for event in &events {
                    world.apply(event).unwrap();
                }
            }
            (Err(StoreError::Refused(found)), Err(refusal)) => prop_assert_eq!(found, refusal, "{:?}", command),
            (found, expected) => prop_assert!(false, "{command:?}: {found:?} instead of {expected:?}"),
        }
    }
    check_tables(ledger, &world)?;
    prop_assert_eq!(ledger.rebuild(false).mended, Vec::<String>::new());
    Ok(())
}

/// Checks that the tables agree with the world.
fn check_tables(ledger: &Ledger, world: &World) -> Result<(), TestCaseError> {
    let briefs: Vec<Brief> = ledger.read(|conn| briefs::list(conn, &Filter::default(), BriefId(0), 1_000));
    prop_assert_eq!(briefs, world.briefs.values().cloned().collect::<Vec<_>>());
    let projects = ledger.read(flower_store::projects::all).into_iter().map(|project| (project.name, project.root));
    prop_assert_eq!(projects.collect::<BTreeMap<_, _>>(), world.projects.clone());
    let tokens = ledger.read(flower_store::tokens::all).into_iter().filter(|token| token.revoked_at.is_none());
    prop_assert_eq!(tokens.map(|token| (token.id, token.agent)).collect::<BTreeMap<_, _>>(), world.tokens.clone());
    let open = ledger.read(dispatches::open);
    let expected: Vec<_> = world.dispatches.values().filter(|dispatch| dispatch.is_open()).cloned().collect();
    prop_assert_eq!(open, expected);
    let leases = ledger.read(|conn| dispatches::leases(conn, None));
    prop_assert_eq!(leases, world.leases.values().filter(|lease| lease.live).cloned().collect::<Vec<_>>());
    let all = ledger.read(|conn| agents::all(conn, None, 1_000)).into_iter().map(|agent| (agent.number, agent));
    prop_assert_eq!(all.collect::<BTreeMap<_, _>>(), world.agents.clone());
    let live = ledger.read(|conn| agents::live(conn, None));
    prop_assert_eq!(live, world.agents.values().filter(|agent| agent.is_live()).cloned().collect::<Vec<_>>());
    let waiting = ledger.read(agents::permissions);
    let expected = world.permissions.values().filter(|permission| permission.allowed.is_none());
    prop_assert_eq!(waiting, expected.cloned().collect::<Vec<_>>());
    for (number, permission) in world.permissions.clone() {
        prop_assert_eq!(ledger.read(move |conn| agents::permission(conn, number)), Some(permission));
    }
    let live = ledger.read(|conn| worktrees::live(conn, None)).into_iter().map(|w| (w.number, w));
    let expected = world.worktrees.clone().into_iter().filter(|(_, w)| w.is_live());
    prop_assert_eq!(live.collect::<BTreeMap<_, _>>(), expected.collect::<BTreeMap<_, _>>());
    for (number, pad) in world.scratchpads.clone() {
        let row = ledger.read(move |conn| flower_store::scratchpads::scratchpad(conn, number)).expect("a scratchpad");
        prop_assert_eq!((row.brief, row.version, row.text.len() as u64), (pad.brief, pad.version, pad.bytes));
    }
    let links = ledger.read(|conn| conn.rows("SELECT brief, kind, target FROM links", &[]));
    prop_assert_eq!(links.len(), world.links.len());
    Ok(())
}
