//! Nothing that a repository configures runs, whatever is done with it.

use crate::fixture::Fixture;
use flower_git::{Identity, Log, NewCommit, OwnRef, RefUpdates};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[tokio::test]
async fn nothing_that_is_configured_runs() {
    let fixture = Fixture::new();
    let (old, new) = (fixture.commit_file("a.txt", "1"), fixture.commit_file("a.txt", "2"));
    let ran = fixture.beside("").join("ran");
    let program = fixture.beside("bin").join("program");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $@\" >> {}\ncat\n", ran.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "filter.odd.clean",
        "filter.odd.smudge",
        "diff.odd.textconv",
        "merge.odd.driver",
        "credential.helper",
        "uploadpack.packObjectsHook",
        "gpg.program",
    ] {
        fixture.git(&["config", key, program]);
    }
    fixture.git(&["config", "commit.gpgSign", "true"]);
    let hooks = fixture.repository.git_dir.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "post-index-change", "pre-auto-gc", "post-merge", "pre-push"]
    {
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    fs::write(fixture.root().join(".gitattributes"), "* filter=odd diff=odd merge=odd\n").unwrap();
    let repo = &fixture.repo;
    repo.uncommitted().await.unwrap();
    repo.uncommitted_and_ignored().await.unwrap();
    repo.check_out(&old).await.unwrap();
    repo.move_checkout(&old, &new).await.unwrap();
    repo.diff_text(&old, &new, false).await.unwrap();
    repo.log(&Log::of(&new, 5)).await.unwrap();
    repo.merge_trees(None, &old, &new).await.unwrap();
    repo.add_all().await.unwrap();
    let (tree, committer) = (repo.write_tree().await.unwrap(), Identity::default());
    let commit = NewCommit { tree: &tree, parents: &[&new], message: "x", committer: &committer, author: None };
    let commit = repo.commit_tree(commit).await.unwrap();
    let (name, mut updates) = (OwnRef::parse("refs/flower/x").unwrap(), RefUpdates::new());
    repo.set_ref(&name, &commit).await.unwrap();
    updates.delete(&name);
    repo.update_refs(updates).await.unwrap();
    repo.identity().await.unwrap();
    repo.tidy().await.unwrap();
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap_or_default());
}

#[tokio::test]
async fn settings_are_read_set_and_taken_out_without_a_trace() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let file = fixture.repository.git_dir.join("config");
    let before = fs::read_to_string(&file).unwrap();
    assert_eq!(repo.local_setting("extensions.worktreeConfig").await.unwrap(), None);
    repo.set_local("extensions.worktreeConfig", "true").await.unwrap();
    assert_eq!(repo.local_setting("extensions.worktreeConfig").await.unwrap().as_deref(), Some("true"));
    repo.unset_local("extensions", "worktreeConfig").await.unwrap();
    repo.unset_local("extensions", "worktreeConfig").await.unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    fixture.git(&["config", "user.name", "Ada"]);
    assert_eq!(repo.identity().await.unwrap().name.as_deref(), Some("Ada"));
}

#[tokio::test]
async fn addresses_of_submodules_are_read_from_an_object() {
    let fixture = Fixture::new();
    fixture.write(b".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = ext::sh -c id\n");
    fixture.commit("submodules");
    let object = |path: &str| flower_git::ObjectId::parse(&fixture.git(&["rev-parse", path])).unwrap();
    let addresses = fixture.repo.submodule_addresses(&object("HEAD:.gitmodules")).await.unwrap();
    assert_eq!(addresses, ["ext::sh -c id"]);
    assert!(fixture.repo.submodule_addresses(&object("HEAD")).await.unwrap().is_empty());
}
