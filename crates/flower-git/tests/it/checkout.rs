use crate::fixture::{Fixture, LINES, NO_TEXT, git_in, launcher, nothing};
use flower_git::{Head, Merge, Repo};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[tokio::test]
async fn uncommitted_files_with_any_name_are_listed() {
    let fixture = Fixture::new();
    fixture.write(b".gitignore", "ignored\n");
    fixture.write(b".env", "x");
    fixture.commit("first");
    assert!(fixture.repo.uncommitted().await.unwrap().is_empty());
    for name in [LINES, NO_TEXT, b"ignored", b"new/file"] {
        fixture.write(name, "x");
    }
    let paths = fixture.repo.uncommitted().await.unwrap();
    assert_eq!(paths.iter().map(|path| path.as_bytes()).collect::<Vec<_>>(), [b"new/", NO_TEXT, LINES]);
    let all = fixture.repo.uncommitted_and_ignored().await.unwrap();
    let ignored: Vec<&OsStr> = all.iter().filter(|status| status.is_ignored).map(|status| &*status.path).collect();
    assert_eq!((all.len(), ignored), (4, vec![OsStr::new("ignored")]));
    assert_eq!(fixture.repo.tracked(".env*").await.unwrap(), [".env"]);
    assert!(fixture.repo.tracked("none*").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_checkout_moves_only_if_its_files_are_as_they_should_be() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let (old, new) = (fixture.commit_file("a", "old"), fixture.commit_file("a", "new"));
    let read = || fs::read_to_string(fixture.root().join("a")).unwrap();
    repo.check_out(&old).await.unwrap();
    assert_eq!(read(), "old");
    repo.move_checkout(&old, &new).await.unwrap();
    assert_eq!(read(), "new");
    fixture.write(b"a", "mine, not theirs");
    assert!(repo.move_checkout(&new, &old).await.is_err());
    assert!(repo.move_index(&new, &old).await.is_err());
    assert_eq!(read(), "mine, not theirs");
    repo.move_index_only(&new, &old).await.unwrap();
    assert_eq!(repo.staged_tree().await.unwrap(), Some(repo.tree_of(&old).await.unwrap()));
    repo.reset_index(&Head).await.unwrap();
    assert_eq!(repo.write_tree().await.unwrap(), repo.tree_of(&new).await.unwrap());
    assert!(repo.check_out(&nothing()).await.is_err());
}

#[tokio::test]
async fn files_are_written_from_another_index() {
    let fixture = Fixture::new();
    fixture.write(LINES, "1");
    fixture.write(NO_TEXT, "1");
    let commit = fixture.commit("first");
    let repo = fixture.repo.clone().with_index(&fixture.beside("else").join("index"));
    repo.read_index(&commit).await.unwrap();
    repo.refresh_index().await.unwrap();
    assert!(repo.differing_files().await.unwrap().is_empty());
    fixture.write(LINES, "2");
    repo.refresh_index().await.unwrap();
    let differing = repo.differing_files().await.unwrap();
    assert_eq!(differing.iter().map(|path| path.as_bytes()).collect::<Vec<_>>(), [LINES]);
    let (lines, no_text) = (OsStr::from_bytes(LINES), OsStr::from_bytes(NO_TEXT));
    let folder = fixture.beside("a folder");
    repo.export_files(&[no_text, lines], &folder).await.unwrap();
    assert_eq!(fs::read_to_string(folder.join(lines)).unwrap(), "1");
    assert!(repo.export_files(&["none".as_ref()], &folder).await.is_err());
    repo.write_files(&[lines]).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.root().join(lines)).unwrap(), "1");
    repo.write_files(&[]).await.unwrap();
    fs::remove_file(fixture.root().join(lines)).unwrap();
    repo.write_all_files().await.unwrap();
    assert!(fixture.root().join(lines).exists());
    // The repository's own index is as it was.
    assert!(fixture.repo.uncommitted().await.unwrap().is_empty());
    fixture.write(b"added", "x");
    repo.add_all().await.unwrap();
    assert_ne!(repo.write_tree().await.unwrap(), fixture.repo.write_tree().await.unwrap());
}

#[tokio::test]
async fn a_worktree_is_added_looked_at_and_merged_into() {
    let fixture = Fixture::new();
    let base = fixture.commit_file("a", "1");
    fixture.git(&["branch", "flower/w"]);
    let (tree, admin) = (fixture.beside("").join("w"), fixture.repository.git_dir.join("worktrees/w"));
    fixture.repo.add_worktree(&tree, "flower/w").await.unwrap();
    let linked = Repo::linked(&fixture.repository, &admin, &tree);
    assert_eq!(linked.head().await.unwrap(), Some(base));
    assert!(fixture.repo.add_worktree(&tree, "flower/w").await.is_err());
    let main = fixture.commit_file("a", "main");
    fs::write(tree.join("b"), "x").unwrap();
    assert_eq!(linked.uncommitted().await.unwrap(), ["b"]);
    fs::remove_file(tree.join("b")).unwrap();
    assert_eq!(linked.merge(&main).await.unwrap(), Merge::Done);
    assert_eq!(linked.head().await.unwrap(), Some(main));
    // The same through a launcher, as in a jail, where git has settings of its own.
    fixture.git(&["config", "user.name", "Ada"]);
    fixture.git(&["config", "user.email", "ada@example.com"]);
    fs::write(tree.join("a"), "inside").unwrap();
    git_in(&tree, &["commit", "--quiet", "--all", "--message", "inside"]);
    let theirs = fixture.commit_file("a", "outside");
    let jailed = Repo::jailed(launcher(&tree));
    let Merge::Conflict(said) = jailed.merge(&theirs).await.unwrap() else { panic!("it does not merge") };
    assert!(said.starts_with("CONFLICT") && said.contains('a'), "{said}");
    jailed.abort_merge().await.unwrap();
    jailed.abort_merge().await.unwrap();
    assert!(linked.uncommitted().await.unwrap().is_empty());
}

#[tokio::test]
async fn submodules_of_the_index_are_found_and_marked() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("a", "1");
    let cache = format!("160000,{commit},vendor/lib");
    fixture.git(&["update-index", "--add", "--cacheinfo", &cache]);
    let found = fixture.repo.gitlinks().await.unwrap();
    assert_eq!(found, [("vendor/lib".into(), false)]);
    fixture.repo.skip_worktree(&["vendor/lib".into()]).await.unwrap();
    assert_eq!(fixture.repo.gitlinks().await.unwrap(), [("vendor/lib".into(), true)]);
    fixture.repo.skip_worktree(&[]).await.unwrap();
    assert!(fixture.repo.skip_worktree(&["none".into()]).await.is_err());
}
