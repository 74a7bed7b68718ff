//! Reading MAIN changes nothing; what looks after MAIN records it.

use crate::harness::{Engine, agent, operator, shop};
use flower_contract::error::ProblemKind;
use flower_core::Role;

fn kinds(events: &[flower_core::Recorded]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

#[tokio::test]
async fn a_repository_without_commits_is_registered_and_main_is_recorded_when_it_has_one() {
    let engine = Engine::new().await;
    engine.app.registration.register(&operator(), &engine.repo, None).await.expect("a project");
    assert_eq!(kinds(&engine.events().await), ["project_registered"]);
    assert!(!engine.repo.join(".git/hooks/reference-transaction").exists());
    engine.commit("price.txt", "1\n");
    let main = engine.app.merge_queue.main_view(&shop()).await.expect("MAIN");
    assert_eq!((main.state.as_str(), main.branch.as_str()), ("stable", "main"));
    assert_eq!(kinds(&engine.events().await), ["project_registered", "main_recorded"]);
    assert!(engine.repo.join(".git/hooks/reference-transaction").exists());
}

#[tokio::test]
async fn reading_the_history_of_an_unrecorded_main_records_nothing() {
    let engine = Engine::new().await;
    engine.app.registration.register(&operator(), &engine.repo, None).await.expect("a project");
    engine.commit("price.txt", "1\n");
    let log = engine.app.merge_queue.main_log(&shop(), 10).await.expect("the history");
    assert_eq!(log.len(), 1);
    assert_eq!(kinds(&engine.events().await), ["project_registered"]);
    assert!(!engine.repo.join(".git/hooks/reference-transaction").exists());
}

#[tokio::test]
async fn a_halt_freezes_every_project_and_is_shown_in_the_status() {
    let engine = Engine::with_project().await;
    let halted = engine.app.agents.halt(&operator(), Some("lunch".into())).await.expect("halted");
    assert_eq!(halted.halted, ["shop"]);
    let status = engine.app.overview.status(&operator(), shop(), false).await.expect("a status");
    let main = status.main.expect("MAIN");
    assert_eq!((main.state.as_str(), main.reason.as_deref()), ("frozen", Some("lunch")));
}

#[tokio::test]
async fn a_worker_is_refused_before_anything_is_looked_up() {
    let engine = Engine::with_project().await;
    let nowhere = flower_engine::projects::ProjectChoice { name: Some("nowhere".into()), dir: None };
    let refused = engine.app.merge_queue.adopt_main(&agent(Role::Worker), &nowhere).await.expect_err("refused");
    assert_eq!(
        (refused.kind, refused.message.as_str()),
        (ProblemKind::Forbidden, "worker `ben` may not adopt what happened to MAIN")
    );
}
