//! Worktrees are made, synchronised, removed and restored.

use crate::harness::{Engine, commit_in, eventually, git, linked, operator, put, shop};
use flower_contract::error::ProblemKind;
use flower_core::landing::State;
use flower_core::worktree::{Seal, WorktreeKind};
use flower_engine::worktrees::NewWorktree;

#[tokio::test]
async fn a_worktree_begins_at_main_and_shows_what_happens_in_it() {
    let engine = Engine::with_project().await;
    let dir = engine.worktree("one", WorktreeKind::Ephemeral).await;
    let worktrees = &engine.app.worktrees;
    let show = async || worktrees.show(&shop(), "one").await.expect("the worktree");
    let made = show().await;
    assert_eq!((made.state.as_str(), made.branch.as_str(), made.base), ("ready", "flower/one", engine.tip()));
    assert_eq!((made.ahead, made.dirty), (0, false));
    put(&dir, "cart.txt", "2\n");
    assert!(show().await.dirty);
    commit_in(&dir, "cart.txt", "2\n");
    let committed = show().await;
    assert_eq!((committed.ahead, committed.behind, committed.dirty), (1, 0, false));
}

#[tokio::test]
async fn a_name_that_is_taken_or_leads_elsewhere_is_refused_and_records_nothing() {
    let engine = Engine::with_project().await;
    engine.worktree("one", WorktreeKind::Ephemeral).await;
    let before = engine.events().await.len();
    for name in ["one", "../one", "a/b", ".git", ""] {
        let refused = engine.app.worktrees.create(&operator(), "shop", linked(name, WorktreeKind::Lane)).await;
        assert!(!refused.expect_err(name).hints.is_empty(), "{name}");
    }
    assert_eq!(engine.events().await.len(), before);
}

#[tokio::test]
async fn without_a_jail_a_sealed_worktree_is_refused_and_records_nothing() {
    let engine = Engine::with_project().await;
    let before = engine.events().await.len();
    let sealed = NewWorktree { seal: Seal::Sealed, ..linked("one", WorktreeKind::Ephemeral) };
    let refused = engine.app.worktrees.create(&operator(), "shop", sealed).await.expect_err("no jail");
    assert_eq!(refused.kind, ProblemKind::Refused);
    assert!(refused.message.contains("cannot seal a worktree"), "{refused:?}");
    assert_eq!(engine.events().await.len(), before);
}

#[tokio::test]
async fn a_removed_worktree_comes_back_with_its_commits_and_its_uncommitted_files() {
    let engine = Engine::with_project().await;
    let dir = engine.work("one", "cart.txt", "2\n").await;
    let head = git(&dir, &["rev-parse", "HEAD"]);
    put(&dir, "notes/todo.txt", "later\n");
    put(&dir, "price.txt", "changed\n");
    let worktrees = &engine.app.worktrees;
    worktrees.remove(&operator(), &shop(), "one").await.expect("removed");
    assert!(!dir.exists());
    let archive = eventually(async || worktrees.archives(&shop()).await.expect("archives").pop()).await;
    assert_eq!((archive.name.as_str(), archive.archive.tip, archive.archive.branch_kept), ("one", head.clone(), true));
    let restored = worktrees.restore(&operator(), &shop(), "one", None).await.expect("restored");
    assert_eq!((restored.state.as_str(), restored.dirty), ("ready", true));
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]), head);
    for (file, text) in [("cart.txt", "2\n"), ("notes/todo.txt", "later\n"), ("price.txt", "changed\n")] {
        assert_eq!(std::fs::read_to_string(dir.join(file)).expect(file), text);
    }
    assert!(worktrees.archives(&shop()).await.expect("archives").is_empty());
}

#[tokio::test]
async fn a_sync_merges_main_and_names_what_prevents_it() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    let behind = engine.worktree("behind", WorktreeKind::Ephemeral).await;
    commit_in(&behind, "own.txt", "x\n");
    let conflicting = engine.worktree("conflicting", WorktreeKind::Ephemeral).await;
    let own = commit_in(&conflicting, "price.txt", "3\n");
    engine.work("one", "price.txt", "2\n").await;
    assert_eq!(engine.land("one").await.state, State::Landed);
    let worktrees = &engine.app.worktrees;
    let merged = worktrees.sync(&shop(), "behind").await.expect("looked at");
    assert_eq!((merged.merged, merged.worktree.behind), (true, 0), "{merged:?}");
    assert_eq!(std::fs::read_to_string(behind.join("price.txt")).expect("a file"), "2\n");
    let refused = worktrees.sync(&shop(), "conflicting").await.expect_err("it conflicts");
    assert_eq!(refused.kind, ProblemKind::Conflict);
    assert!(refused.message.contains("price.txt"), "{refused:?}");
    assert_eq!(
        (git(&conflicting, &["rev-parse", "HEAD"]), git(&conflicting, &["status", "--porcelain"])),
        (own, String::new())
    );
}
