//! Repositories become projects, and are given back as they were.

use crate::harness::{Engine, commit_in, eventually, git, linked, operator, shop};
use flower_contract::error::ProblemKind;
use flower_core::worktree::WorktreeKind;
use flower_engine::projects::ProjectChoice;

#[tokio::test]
async fn a_project_is_found_by_name_by_directory_and_as_the_only_one() {
    let engine = Engine::with_project().await;
    let inside = engine.repo.join("src");
    std::fs::create_dir(&inside).expect("a directory");
    let by_dir = ProjectChoice { name: None, dir: Some(inside) };
    for choice in [shop(), by_dir, ProjectChoice::default()] {
        let new = engine.app.registration.project_for_new(&operator(), &choice).await;
        assert_eq!(new.expect("a project"), "shop", "{choice:?}");
    }
    assert_eq!(engine.app.projects.find(&ProjectChoice::default()).await.expect("no error"), None);
}

#[tokio::test]
async fn registering_again_finds_the_project_and_another_name_is_a_conflict() {
    let engine = Engine::with_project().await;
    let registration = &engine.app.registration;
    let again = registration.register(&operator(), &engine.repo, None).await.expect("the same project");
    assert_eq!(again.name, "shop");
    let other = registration.register(&operator(), &engine.repo, Some("store".into())).await.expect_err("a conflict");
    assert_eq!(other.kind, ProblemKind::Conflict);
}

#[tokio::test]
async fn a_removed_project_leaves_its_repository_without_hooks_and_lock() {
    let engine = Engine::with_project().await;
    let git = engine.repo.join(".git");
    assert!(git.join("hooks/reference-transaction").exists() && git.join("flower.lock").exists());
    let removed = engine.app.registration.remove(&operator(), "shop").await.expect("removed");
    assert!(removed.branches_left.is_empty() && removed.archives_left.is_empty(), "{removed:?}");
    assert!(!git.join("hooks/reference-transaction").exists() && !git.join("flower.lock").exists());
    assert!(engine.app.registration.list(&operator()).await.expect("projects").is_empty());
}

/// Also for what is asked before the refusal.
#[tokio::test]
async fn a_refused_rename_leaves_the_folders_of_the_other_project_alone() {
    let engine = Engine::with_project().await;
    let other = engine.path().join("other");
    std::fs::create_dir(&other).expect("a directory");
    git(&other, &["init", "--quiet", "--initial-branch", "main"]);
    commit_in(&other, "file.txt", "1\n");
    let registration = &engine.app.registration;
    registration.register(&operator(), &other, None).await.expect("a project");
    let of_other = ProjectChoice { name: Some("other".into()), dir: None };
    let made = engine.app.worktrees.create(&operator(), "other", linked("one", WorktreeKind::Lane)).await;
    let path = made.expect("a worktree").path;
    let caller = operator();
    let mut rename = Box::pin(registration.rename(&caller, "shop", "other"));
    loop {
        let polled = futures_util::poll!(rename.as_mut());
        let shown = engine.app.worktrees.show(&of_other, "one").await.expect("the worktree");
        assert_eq!(shown.path, path);
        if let std::task::Poll::Ready(renamed) = polled {
            let refused = renamed.expect_err("the name is taken");
            assert_eq!(refused.kind, ProblemKind::Conflict, "{refused:?}");
            break;
        }
    }
}

#[tokio::test]
async fn a_directory_without_a_repository_is_refused_with_the_next_step() {
    let engine = Engine::new().await;
    let refused = engine.app.registration.register(&operator(), engine.path(), None).await.expect_err("refused");
    assert_eq!(refused.kind, ProblemKind::Refused);
    assert!(refused.hints[0].contains("git init"), "{refused:?}");
}

#[tokio::test]
async fn a_removed_project_keeps_branches_with_work_and_loses_the_others() {
    let engine = Engine::with_project().await;
    engine.work("kept", "cart.txt", "2\n").await;
    engine.worktree("empty", WorktreeKind::Ephemeral).await;
    let refused = engine.app.registration.remove(&operator(), "shop").await.expect_err("it has worktrees");
    assert!(!refused.hints.is_empty(), "{refused:?}");
    let worktrees = &engine.app.worktrees;
    for name in ["kept", "empty"] {
        worktrees.remove(&operator(), &shop(), name).await.expect("removed");
    }
    eventually(async || (worktrees.archives(&shop()).await.expect("archives").len() == 2).then_some(())).await;
    let preview = engine.app.registration.preview_removal(&operator(), "shop").await.expect("a preview");
    let removed = engine.app.registration.remove(&operator(), "shop").await.expect("removed");
    assert_eq!(removed.branches_left, preview.branches_left);
    assert_eq!(git(&engine.repo, &["branch", "--list", "--format=%(refname:short)", "flower/*"]), "flower/kept");
    assert_eq!(git(&engine.repo, &["status", "--porcelain"]), "");
}
