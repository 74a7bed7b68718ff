//! Dispatches are requested, claimed and handed back.

use crate::harness::{Engine, commit_in, eventually, operator, put, shop};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{DispatchView, HandBackView};
use flower_core::dispatch::{DispatchState, Request};
use flower_core::landing::State;
use flower_core::readiness::DispatchKind;
use flower_core::worktree::WorktreeKind;
use flower_core::{BriefId, Caller, DispatchId, Door, Fence, Status};
use flower_engine::dispatch::{ClaimOptions, HandBackRequest, RecallOptions};
use flower_engine::projects::ProjectChoice;
use std::path::PathBuf;

/// A request for work on a planned brief, in a worktree that is there already.
async fn requested(engine: &Engine, title: &str, worktree: &str) -> (DispatchView, PathBuf) {
    let dir = engine.worktree(worktree, WorktreeKind::Ephemeral).await;
    let brief = engine.planned(title).await;
    let request = Request { brief: BriefId(brief), worktree: Some(worktree.into()), ..Request::default() };
    (engine.app.dispatcher.request(&operator(), request).await.expect("a dispatch"), dir)
}

/// The agent of a fresh packet.
async fn worker(engine: &Engine, dispatch: u64) -> Caller {
    let packet = engine.app.dispatcher.packet(&operator(), DispatchId(dispatch), false).await.expect("a packet");
    engine.app.access.identify(&packet.token, Door::Api).await.expect("an agent")
}

async fn claim(engine: &Engine, caller: &Caller, dispatch: u64) -> Result<DispatchView, Problem> {
    let options = ClaimOptions { wait: true, ..ClaimOptions::default() };
    engine.app.dispatcher.claim(caller, DispatchId(dispatch), options).await
}

async fn hand_back(engine: &Engine, caller: &Caller, dispatch: u64, fence: u64) -> Result<HandBackView, Problem> {
    let request = HandBackRequest {
        fence: Fence(fence),
        summary: "It is done".into(),
        not_done: None,
        failed: false,
        by_exit: false,
    };
    engine.app.dispatcher.hand_back(caller, DispatchId(dispatch), request).await
}

#[tokio::test]
async fn a_brief_is_built_only_with_an_accepted_plan() {
    let engine = Engine::with_project().await;
    let brief = engine.brief("Cart").await.number;
    let request = || Request { brief: BriefId(brief), kind: Some(DispatchKind::Build), ..Request::default() };
    let refused = engine.app.dispatcher.request(&operator(), request()).await.expect_err("it has no plan");
    assert!(!refused.hints.is_empty(), "{refused:?}");
    let planned = engine.planned("Price").await;
    let request = Request { brief: BriefId(planned), ..Request::default() };
    let dispatch = engine.app.dispatcher.request(&operator(), request).await.expect("a dispatch");
    assert_eq!(
        (dispatch.state, dispatch.kind, dispatch.spec_version),
        (DispatchState::Requested, DispatchKind::Build, 1)
    );
    assert!(dispatch.worktree.is_some() && dispatch.claim.is_none(), "{dispatch:?}");
}

#[tokio::test]
async fn a_claim_belongs_to_one_holder_and_starts_the_work() {
    let engine = Engine::with_project().await;
    let (dispatch, _) = requested(&engine, "Cart", "one").await;
    let (first, second) = (worker(&engine, dispatch.id).await, worker(&engine, dispatch.id).await);
    let claimed = claim(&engine, &first, dispatch.id).await.expect("claimed");
    let held = claimed.claim.expect("a claim");
    assert_eq!((claimed.state, held.fence, held.holder), (DispatchState::Executing, 1, first.actor.name.clone()));
    assert_eq!(claimed.base, Some(engine.tip()));
    assert_eq!(claim(&engine, &second, dispatch.id).await.expect_err("it is taken").kind, ProblemKind::Conflict);
    assert_eq!(engine.app.briefs.show(BriefId(dispatch.brief)).await.expect("the brief").status, Status::InProgress);
}

#[tokio::test]
async fn the_oldest_dispatch_is_claimed_first_and_then_none_is_left() {
    let engine = Engine::with_project().await;
    let (one, _) = requested(&engine, "One", "one").await;
    let (two, _) = requested(&engine, "Two", "two").await;
    let next = async || {
        let any = ProjectChoice::default();
        engine.app.dispatcher.claim_next(&operator(), &any, ClaimOptions::default()).await
    };
    assert_eq!(next().await.expect("the first").id, one.id);
    assert_eq!(next().await.expect("the second").id, two.id);
    assert_eq!(next().await.expect_err("none is left").kind, ProblemKind::NotFound);
}

#[tokio::test]
async fn work_is_handed_back_once_it_is_committed_and_lands_with_its_brief() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    tokio::spawn(engine.app.dispatcher.clone().run());
    let (dispatch, dir) = requested(&engine, "Cart", "one").await;
    let agent = worker(&engine, dispatch.id).await;
    claim(&engine, &agent, dispatch.id).await.expect("claimed");
    put(&dir, "cart.txt", "2\n");
    let refused = hand_back(&engine, &agent, dispatch.id, 1).await.expect_err("it is not committed");
    assert!(refused.message.contains("`cart.txt`"), "{refused:?}");
    let commit = commit_in(&dir, "cart.txt", "2\n");
    let back = hand_back(&engine, &agent, dispatch.id, 1).await.expect("handed back");
    assert_eq!(back.dispatch.result.expect("a result").commits, [commit]);
    let landed = engine.settled(back.landing.expect("a landing")).await;
    assert_eq!((landed.state, landed.briefs), (State::Landed, vec![dispatch.brief]));
    assert_eq!(engine.app.briefs.show(BriefId(dispatch.brief)).await.expect("the brief").status, Status::Landed);
    eventually(async || {
        let dispatch = engine.app.dispatcher.show(DispatchId(dispatch.id)).await.expect("the dispatch");
        (dispatch.state == DispatchState::Landed).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_result_on_its_way_into_the_queue_does_not_wait_for_the_operator() {
    let engine = Engine::with_project().await;
    let (dispatch, dir) = requested(&engine, "Cart", "one").await;
    let agent = worker(&engine, dispatch.id).await;
    claim(&engine, &agent, dispatch.id).await.expect("claimed");
    commit_in(&dir, "cart.txt", "2\n");
    let reader = {
        let overview = engine.app.overview.clone();
        tokio::spawn(async move {
            loop {
                let items = overview.inbox(&operator()).await.expect("the inbox");
                if !items.is_empty() {
                    return items;
                }
            }
        })
    };
    hand_back(&engine, &agent, dispatch.id, 1).await.expect("handed back");
    assert!(!reader.is_finished(), "{:?}", reader.await);
    reader.abort();
}

#[tokio::test]
async fn work_that_does_not_merge_with_main_is_not_taken_back() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let (dispatch, dir) = requested(&engine, "Cart", "one").await;
    let agent = worker(&engine, dispatch.id).await;
    claim(&engine, &agent, dispatch.id).await.expect("claimed");
    commit_in(&dir, "price.txt", "3\n");
    engine.work("two", "price.txt", "2\n").await;
    assert_eq!(engine.land("two").await.state, State::Landed);
    let refused = hand_back(&engine, &agent, dispatch.id, 1).await.expect_err("it conflicts");
    assert_eq!(refused.kind, ProblemKind::Conflict);
    assert!(refused.message.contains("`price.txt`"), "{refused:?}");
    let shown = engine.app.dispatcher.show(DispatchId(dispatch.id)).await.expect("the dispatch");
    assert_eq!(shown.state, DispatchState::Executing);
}

#[tokio::test]
async fn a_recall_says_how_far_main_has_moved_and_which_paths_of_the_agent_it_changes() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let (dispatch, dir) = requested(&engine, "Cart", "one").await;
    let recall = async || {
        let recalled = engine.app.dispatcher.recall(BriefId(dispatch.brief), RecallOptions::default()).await;
        recalled.expect("a recall").text
    };
    let agent = worker(&engine, dispatch.id).await;
    claim(&engine, &agent, dispatch.id).await.expect("claimed");
    commit_in(&dir, "price.txt", "3\n");
    assert!(recall().await.contains("Your branch has all of it."), "{}", recall().await);
    engine.work("two", "cart.txt", "2\n").await;
    assert_eq!(engine.land("two").await.state, State::Landed);
    let other = recall().await;
    assert!(other.contains("It has 1 commit that your branch has not; they change none of your paths."), "{other}");
    engine.work("three", "price.txt", "2\n").await;
    assert_eq!(engine.land("three").await.state, State::Landed);
    let shared = recall().await;
    assert!(shared.contains("they change `price.txt`, as you do: `git merge origin/main`."), "{shared}");
}

#[tokio::test]
async fn an_old_fence_hands_back_nothing() {
    let engine = Engine::with_project().await;
    let (dispatch, dir) = requested(&engine, "Cart", "one").await;
    let agent = worker(&engine, dispatch.id).await;
    claim(&engine, &agent, dispatch.id).await.expect("claimed");
    commit_in(&dir, "cart.txt", "2\n");
    assert!(hand_back(&engine, &agent, dispatch.id, 7).await.is_err());
    assert!(engine.app.merge_queue.queue(&operator(), &shop(), true, 10).await.expect("the queue").is_empty());
}

#[tokio::test]
async fn a_cancelled_dispatch_cannot_be_claimed() {
    let engine = Engine::with_project().await;
    let (dispatch, _) = requested(&engine, "Cart", "one").await;
    let agent = worker(&engine, dispatch.id).await;
    let cancelled = engine.app.dispatcher.cancel(&operator(), DispatchId(dispatch.id), Some("later".into())).await;
    assert_eq!(cancelled.expect("cancelled").state, DispatchState::Cancelled);
    assert!(claim(&engine, &agent, dispatch.id).await.is_err());
}
