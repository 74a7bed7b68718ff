//! What the merge queue lands, rejects and holds.

use crate::harness::{Engine, agent, commit_in, commit_staged, eventually, git, operator, put, shop};
use flower_contract::error::ProblemKind;
use flower_core::landing::{HoldCode, Priority, Revert, State, Verdict};
use flower_core::worktree::WorktreeKind;
use flower_core::{BriefId, LandingId, Role, Status};
use flower_engine::merge_queue::LandOptions;
use std::os::unix::fs::symlink;
use std::path::Path;

#[tokio::test]
async fn work_without_checks_lands_in_main_and_in_its_checkout() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    engine.work("one", "cart.txt", "2\n").await;
    let landed = engine.land("one").await;
    assert_eq!((landed.state, landed.verdict), (State::Landed, None), "{landed:?}");
    assert_eq!(landed.merge_commit, Some(engine.tip()));
    assert_eq!(engine.main_file("cart.txt").as_deref(), Some("2\n"));
    assert_eq!(git(&engine.repo, &["status", "--porcelain"]), "");
    let main = engine.app.merge_queue.main_view(&shop()).await.expect("MAIN");
    assert_eq!((main.state.as_str(), main.recorded_tip), ("stable", engine.tip()));
}

#[tokio::test]
async fn a_conflict_is_rejected_with_its_paths_and_the_landing_that_came_first() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    engine.work("one", "price.txt", "2\n").await;
    engine.work("two", "price.txt", "3\n").await;
    assert_eq!(engine.land("one").await.state, State::Landed);
    let rejected = engine.land("two").await;
    assert_eq!((rejected.state, rejected.verdict), (State::Rejected, Some(Verdict::Conflict)), "{rejected:?}");
    assert_eq!(rejected.paths, ["price.txt"]);
    let reason = rejected.reason.expect("a reason");
    assert!(reason.contains("since then landing 1 (price.txt) changed it"), "{reason}");
    assert_eq!(engine.main_file("price.txt").as_deref(), Some("2\n"));
}

/// What is forbidden, how it is committed, and the words of the rejection.
type Forbidden = (&'static str, fn(&Path), &'static str);

#[tokio::test]
async fn the_gate_rejects_what_main_never_gets() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let before = engine.tip();
    let cases: [Forbidden; 4] = [
        ("link", |dir| symlink("/etc/passwd", dir.join("users")).expect("a link"), "leads to `/etc/passwd`"),
        ("twin", |dir| put(dir, "PRICE.txt", "2\n"), "differs from another name by upper and lower case"),
        ("hidden", |dir| put(dir, "pri\u{200b}ce.txt", "2\n"), "has characters that cannot be seen"),
        (
            "submodule",
            |dir| {
                let head = git(dir, &["rev-parse", "HEAD"]);
                git(dir, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},part")]);
            },
            "is a submodule",
        ),
    ];
    for (name, make, words) in cases {
        let dir = engine.worktree(name, WorktreeKind::Ephemeral).await;
        make(&dir);
        if name != "submodule" {
            git(&dir, &["add", "--all"]);
        }
        commit_staged(&dir, name);
        let rejected = engine.land(name).await;
        assert_eq!((rejected.state, rejected.verdict), (State::Rejected, Some(Verdict::Gate)), "{name}: {rejected:?}");
        assert!(rejected.reason.as_ref().is_some_and(|reason| reason.contains(words)), "{name}: {rejected:?}");
        assert_eq!(engine.tip(), before, "{name}");
    }
}

#[tokio::test]
async fn the_gate_holds_a_sensitive_path_until_the_operator_approves_it() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let before = engine.tip();
    engine.work("one", ".github/workflows/ci.yml", "on: push\n").await;
    let held = engine.land("one").await;
    assert_eq!(held.state, State::Approval, "{held:?}");
    assert_eq!(held.held.iter().map(|hold| hold.code).collect::<Vec<_>>(), [HoldCode::SensitivePath]);
    assert_eq!((held.paths, engine.tip()), (vec![".github/workflows/ci.yml".to_owned()], before));
    let queue = &engine.app.merge_queue;
    let refused = queue.approve(&agent(Role::Orchestrator), LandingId(held.id), false).await.expect_err("refused");
    assert_eq!(refused.kind, ProblemKind::Forbidden);
    queue.approve(&operator(), LandingId(held.id), false).await.expect("approved");
    assert_eq!(engine.settled(held.id).await.state, State::Landed);
    assert!(engine.main_file(".github/workflows/ci.yml").is_some());
}

#[tokio::test]
async fn commands_that_a_landing_brings_are_held_with_their_text() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    engine.work("one", "flower.toml", "[checks]\ntest = { run = \"make test\" }\n").await;
    let held = engine.land("one").await;
    assert_eq!(held.state, State::Approval, "{held:?}");
    let commands = held.held.iter().find(|hold| hold.code == HoldCode::CommandsNotApproved).expect("the commands");
    assert!(commands.commands.iter().any(|command| command.contains("make test")), "{commands:?}");
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_rejected() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    engine.work("one", "flower.toml", "[checks\n").await;
    let rejected = engine.land("one").await;
    assert_eq!((rejected.state, rejected.verdict), (State::Rejected, Some(Verdict::Gate)), "{rejected:?}");
    assert_eq!(rejected.paths, ["flower.toml"]);
}

#[tokio::test]
async fn a_worktree_without_new_commits_is_refused_with_the_next_step() {
    let engine = Engine::with_project().await;
    let dir = engine.worktree("one", WorktreeKind::Ephemeral).await;
    let options = LandOptions { briefs: Vec::new(), title: None, priority: Priority::Normal, join: false };
    let queue = &engine.app.merge_queue;
    let nothing = queue.land(&operator(), &shop(), "one", options.clone()).await.expect_err("nothing to land");
    assert!(nothing.message.contains("has nothing that is not in MAIN"), "{nothing:?}");
    put(&dir, "cart.txt", "2\n");
    let unsaved = queue.land(&operator(), &shop(), "one", options).await.expect_err("nothing is committed");
    assert!(unsaved.message.contains("files are changed") && !unsaved.hints.is_empty(), "{unsaved:?}");
}

#[tokio::test]
async fn what_was_queued_while_frozen_lands_in_order_after_the_thaw() {
    let engine = Engine::with_project().await;
    engine.work("one", "one.txt", "1\n").await;
    engine.work("two", "two.txt", "2\n").await;
    let queue = &engine.app.merge_queue;
    queue.freeze(&operator(), &shop(), Some("the release".into())).await.expect("frozen");
    let (one, two) = (engine.queue("one", Vec::new()).await, engine.queue("two", Vec::new()).await);
    let waiting = queue.show(LandingId(one)).await.expect("the landing");
    assert!(waiting.reason.as_ref().is_some_and(|why| why.contains("frozen: the release")), "{waiting:?}");
    queue.thaw(&operator(), &shop()).await.expect("thawed");
    engine.run_merge_queue();
    let (first, second) = (engine.settled(one).await, engine.settled(two).await);
    assert_eq!((first.state, second.state), (State::Landed, State::Landed));
    assert_eq!(second.onto, first.merge_commit);
}

#[tokio::test]
async fn a_revert_takes_the_work_out_parks_its_brief_and_holds_the_next_attempt() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let brief = engine.planned("Cart").await;
    engine.work("one", "cart.txt", "2\n").await;
    let landed = engine.queue("one", vec![brief]).await;
    assert_eq!(engine.settled(landed).await.state, State::Landed);
    let revert = Revert { of: LandingId(landed), why: "it is slow".into(), fix: false };
    let reverted = engine.app.merge_queue.revert(&operator(), revert).await.expect("queued").id;
    assert_eq!(engine.settled(reverted).await.state, State::Landed);
    assert_eq!(engine.settled(landed).await.state, State::RolledBack);
    assert_eq!(engine.main_file("cart.txt"), None);
    assert_eq!(engine.app.briefs.show(BriefId(brief)).await.expect("the brief").status, Status::Parked);
    engine.work("two", "cart.txt", "3\n").await;
    let again = engine.queue("two", vec![brief]).await;
    let held = engine.settled(again).await;
    assert_eq!(held.held.iter().map(|hold| hold.code).collect::<Vec<_>>(), [HoldCode::RevertedBefore], "{held:?}");
}

#[tokio::test]
async fn a_commit_in_main_by_hand_stops_landings_until_it_is_settled() {
    let engine = Engine::with_project().await;
    engine.work("one", "cart.txt", "2\n").await;
    let recorded = engine.tip();
    engine.commit("by-hand.txt", "x\n");
    let queue = &engine.app.merge_queue;
    let main = queue.main_view(&shop()).await.expect("MAIN");
    assert_eq!((main.state.as_str(), main.recorded_tip), ("moved", recorded.clone()));
    let number = engine.queue("one", Vec::new()).await;
    let waiting = queue.show(LandingId(number)).await.expect("the landing");
    assert!(waiting.reason.as_ref().is_some_and(|why| why.contains("landings wait")), "{waiting:?}");
    queue.restore_main(&operator(), &shop()).await.expect("restored");
    assert_eq!((engine.tip(), engine.main_file("by-hand.txt")), (recorded, None));
    engine.run_merge_queue();
    assert_eq!(engine.settled(number).await.state, State::Landed);
}

#[tokio::test]
async fn a_landing_removes_a_finished_worktree_and_updates_a_lane() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let lane = engine.worktree("lane", WorktreeKind::Lane).await;
    let done = engine.work("one", "cart.txt", "2\n").await;
    assert_eq!(engine.land("one").await.state, State::Landed);
    eventually(async || (!done.exists() && lane.join("cart.txt").exists()).then_some(())).await;
    assert_eq!(git(&lane, &["merge-base", "HEAD", &engine.tip()]), engine.tip());
    commit_in(&lane, "next.txt", "3\n");
    assert_eq!(engine.land("lane").await.state, State::Landed);
}

#[tokio::test]
async fn a_landing_is_queued_although_main_cannot_be_examined() {
    let engine = Engine::with_project().await;
    engine.work("one", "cart.txt", "2\n").await;
    git(&engine.repo, &["checkout", "--quiet", "--detach"]);
    std::fs::write(engine.repo.join(".git/index"), "no index").expect("a file");
    let number = engine.queue("one", Vec::new()).await;
    let queued = engine.app.merge_queue.show(LandingId(number)).await.expect("the landing");
    assert_eq!(queued.state, State::Queued, "{queued:?}");
}
