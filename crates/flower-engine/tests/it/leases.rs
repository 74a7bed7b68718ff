//! Paths of a worktree are reserved by one agent at a time.

use crate::harness::{Engine, agent, operator, shop};
use flower_contract::error::ProblemKind;
use flower_core::worktree::WorktreeKind;
use flower_core::{Caller, Role};
use std::time::Duration;

fn named(name: &str) -> Caller {
    let mut caller = agent(Role::Orchestrator);
    caller.actor.name = name.into();
    caller
}

#[tokio::test]
async fn a_reserved_path_is_free_for_others_once_it_is_given_back() {
    let engine = Engine::with_project().await;
    engine.worktree("one", WorktreeKind::Lane).await;
    let leases = &engine.app.leases;
    let (ben, eve) = (named("ben"), named("eve"));
    let take = async |caller: &Caller, path: &str| {
        leases.take(caller, &shop(), Some("one"), vec![path.to_owned()], Some(Duration::from_secs(600)), None).await
    };
    let taken = take(&ben, "src/").await.expect("a lease");
    assert_eq!((taken.holder.as_str(), taken.patterns), ("ben", vec!["src/".to_owned()]));
    assert_eq!(take(&eve, "src/main.rs").await.expect_err("it is reserved").kind, ProblemKind::Conflict);
    take(&eve, "docs/").await.expect("another path");
    let released = leases.release(&ben, &shop(), None, Some("one")).await.expect("released");
    assert_eq!(released.iter().map(|lease| lease.id).collect::<Vec<_>>(), [taken.id]);
    take(&eve, "src/main.rs").await.expect("it is free");
    let holders = leases.list(&operator(), &shop(), Some("one")).await.expect("leases");
    assert_eq!(holders.iter().map(|lease| lease.holder.as_str()).collect::<Vec<_>>(), ["eve", "eve"]);
}

#[tokio::test]
async fn a_worker_reserves_nothing_outside_its_worktree() {
    let engine = Engine::with_project().await;
    engine.worktree("one", WorktreeKind::Lane).await;
    engine.worktree("two", WorktreeKind::Lane).await;
    let mut worker = agent(Role::Worker);
    worker.worktree = Some("one".into());
    let leases = &engine.app.leases;
    let refused = leases.take(&worker, &shop(), Some("two"), vec!["src/".into()], None, None).await;
    assert_eq!(refused.expect_err("not its own").kind, ProblemKind::Forbidden);
    assert!(leases.list(&operator(), &shop(), None).await.expect("leases").is_empty());
}
