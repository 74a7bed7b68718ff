//! Briefs are written by the same use cases whichever door they come through.

use crate::harness::{Engine, agent, operator};
use flower_contract::error::ProblemKind;
use flower_contract::request::{Needs, Plan, Refine, SetStatus};
use flower_core::attention::Cause;
use flower_core::policy::Read;
use flower_core::{BriefId, BriefKind, Role, Status};

#[tokio::test]
async fn a_new_brief_is_a_draft_of_a_feature_in_its_project() {
    let engine = Engine::with_project().await;
    let brief = engine.brief("Dark mode").await;
    assert_eq!((brief.number, brief.kind, brief.status), (1, BriefKind::Feature, Status::Draft));
    assert_eq!(brief.projects.iter().map(|project| project.name.as_str()).collect::<Vec<_>>(), ["shop"]);
}

#[tokio::test]
async fn the_plan_of_an_agent_waits_in_the_inbox_until_it_is_accepted() {
    let engine = Engine::with_project().await;
    let brief = engine.brief("Dark mode").await.number;
    let (briefs, overview) = (&engine.app.briefs, &engine.app.overview);
    let orchestrator = agent(Role::Orchestrator);
    briefs.propose_plan(&orchestrator, BriefId(brief), Plan { markdown: "# Grey".into() }).await.expect("a plan");
    let inbox = overview.inbox(&operator()).await.expect("an inbox");
    assert_eq!(
        inbox.iter().map(|item| (item.cause, item.brief)).collect::<Vec<_>>(),
        [(Cause::PlanProposed, Some(brief))]
    );
    assert_eq!(inbox[0].next, format!("flower brief accept {brief}"));
    let accept = flower_contract::request::Accept { version: Some(1) };
    let accepted = briefs.accept(&operator(), BriefId(brief), accept).await.expect("accepted");
    assert_eq!((accepted.status, accepted.spec.accepted_version), (Status::Planned, Some(1)));
    assert!(overview.inbox(&operator()).await.expect("an inbox").is_empty());
}

#[tokio::test]
async fn a_refinement_of_an_old_version_is_a_conflict_and_changes_nothing() {
    let engine = Engine::with_project().await;
    let brief = engine.brief("Dark mode").await.number;
    let briefs = &engine.app.briefs;
    briefs.propose_plan(&operator(), BriefId(brief), Plan { markdown: "one".into() }).await.expect("a plan");
    let refine = |text: &str, base| Refine { markdown: text.into(), base: Some(base), why: None };
    briefs.refine(&operator(), BriefId(brief), refine("two", 1)).await.expect("a refinement");
    let late = briefs.refine(&operator(), BriefId(brief), refine("three", 1)).await.expect_err("it is late");
    assert_eq!(late.kind, ProblemKind::Conflict);
    assert_eq!(briefs.show(BriefId(brief)).await.expect("the brief").spec.markdown, "two");
}

#[tokio::test]
async fn a_question_comes_back_with_its_number_and_its_answer_ends_it() {
    let engine = Engine::with_project().await;
    let brief = engine.brief("Dark mode").await.number;
    let briefs = &engine.app.briefs;
    let (_, first) = briefs.ask(&operator(), BriefId(brief), "which grey?".into(), false).await.expect("asked");
    let (_, second) = briefs.ask(&operator(), BriefId(brief), "which font?".into(), true).await.expect("asked");
    assert_eq!((first, second), (1, 2));
    briefs.answer(&operator(), BriefId(brief), first, "the dark one".into()).await.expect("answered");
    let open = engine.app.overview.inbox(&operator()).await.expect("an inbox");
    assert_eq!(open.iter().map(|item| item.question).collect::<Vec<_>>(), [Some(second)]);
}

#[tokio::test]
async fn bad_words_and_circles_are_refused_with_a_next_step() {
    let engine = Engine::with_project().await;
    let (one, two) = (engine.brief("One").await.number, engine.brief("Two").await.number);
    let briefs = &engine.app.briefs;
    let status = SetStatus { status: "finished".into(), why: None };
    let unknown = briefs.set_status(&operator(), BriefId(one), status).await.expect_err("no such status");
    assert!(!unknown.hints.is_empty(), "{unknown:?}");
    briefs.change_needs(&operator(), BriefId(one), Needs { needs: two, drop: false }).await.expect("a need");
    let circle =
        briefs.change_needs(&operator(), BriefId(two), Needs { needs: one, drop: false }).await.expect_err("a circle");
    assert!(!circle.hints.is_empty(), "{circle:?}");
}

#[tokio::test]
async fn a_worker_reads_its_own_brief_and_no_other() {
    let engine = Engine::with_project().await;
    let (own, other) = (engine.brief("Own").await.number, engine.brief("Other").await.number);
    let mut worker = agent(Role::Worker);
    worker.brief = Some(BriefId(own));
    assert!(engine.may_read(&worker, Read::Brief { number: Some(BriefId(own)) }).await);
    assert!(!engine.may_read(&worker, Read::Brief { number: Some(BriefId(other)) }).await);
    assert!(!engine.may_read(&worker, Read::Inbox).await);
}
