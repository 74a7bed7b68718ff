use crate::fixture::{Fixture, LINES, NO_TEXT, nothing};
use flower_git::{ChangeKind, GitError, Identity, NewCommit};
use std::fs;
use std::os::unix::ffi::OsStrExt;

#[tokio::test]
async fn differences_of_files_with_any_name_have_their_kind() {
    let fixture = Fixture::new();
    for name in [b"changed".as_slice(), b"gone", b"retyped"] {
        fixture.write(name, "1");
    }
    let old = fixture.commit("old");
    fixture.write(b"changed", "2");
    fixture.write(LINES, "new");
    fixture.write(NO_TEXT, "new");
    fs::remove_file(fixture.root().join("gone")).unwrap();
    fs::remove_file(fixture.root().join("retyped")).unwrap();
    std::os::unix::fs::symlink("changed", fixture.root().join("retyped")).unwrap();
    let new = fixture.commit("new");
    let changes = fixture.repo.diff_trees(&old, &new).await.unwrap();
    let kind = |name: &[u8]| changes.iter().find(|change| change.path.as_bytes() == name).map(|change| change.kind);
    assert_eq!(changes.len(), 5);
    assert_eq!(kind(b"changed"), Some(ChangeKind::Modified));
    assert_eq!(kind(b"gone"), Some(ChangeKind::Deleted));
    assert_eq!(kind(b"retyped"), Some(ChangeKind::Retyped));
    assert_eq!((kind(LINES), kind(NO_TEXT)), (Some(ChangeKind::Added), Some(ChangeKind::Added)));
    assert_eq!(fixture.repo.diff_trees(&new, &new).await.unwrap(), []);
    assert!(fixture.repo.diff_trees(&new, &nothing()).await.is_err());
    let (empty, patch) = (fixture.repo.empty_tree().await.unwrap(), async |stat: bool| {
        String::from_utf8_lossy(&fixture.repo.diff_text(&old, &new, stat).await.unwrap()).into_owned()
    });
    assert!(patch(false).await.contains("+2") && patch(true).await.contains("5 files changed"));
    assert_eq!(fixture.repo.diff_trees(&empty, &old).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_tree_is_listed_whole_at_its_top_and_at_one_path() {
    let fixture = Fixture::new();
    fixture.write(b"dir/file", "12345");
    fixture.write(LINES, "1");
    fixture.write(NO_TEXT, "1");
    let commit = fixture.commit("files");
    let repo = &fixture.repo;
    let top = repo.list_top(&commit).await.unwrap();
    assert_eq!(top.entries().map(|entry| entry.path.as_bytes()).collect::<Vec<_>>(), [b"dir", NO_TEXT, LINES]);
    let files = repo.list_files_with_sizes(&commit).await.unwrap();
    assert_eq!(files.entries().map(|entry| entry.size).collect::<Vec<_>>(), [Some(5), Some(1), Some(1)]);
    assert_eq!(repo.list_everything(&commit).await.unwrap().entries().count(), 4);
    let tree = repo.tree_of(&commit).await.unwrap();
    assert_eq!(repo.list_files(&tree).await.unwrap().entries().count(), 3);
    let one = repo.list_path(&commit, "dir/file").await.unwrap();
    let one = one.entries().next().unwrap();
    assert_eq!((one.kind, one.size, one.path.as_bytes()), ("blob", Some(5), &b"dir/file"[..]));
    assert_eq!(repo.list_path(&commit, "none").await.unwrap().entries().count(), 0);
    assert!(repo.list_files(&nothing()).await.is_err());
}

#[tokio::test]
async fn commits_merge_conflict_and_undo_each_other() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    fixture.write(LINES, "1");
    let base = fixture.commit("base");
    fixture.write(LINES, "ours");
    let ours = fixture.commit("ours");
    fixture.git(&["checkout", "--quiet", "-b", "theirs", base.as_str()]);
    let beside = fixture.commit_file("b", "theirs");
    fixture.write(LINES, "theirs");
    let theirs = fixture.commit("theirs");
    let clean = repo.merge_trees(None, &ours, &beside).await.unwrap();
    assert!(clean.conflicts.is_empty());
    assert_eq!(repo.read_file(&clean.tree, "b").await.unwrap().as_deref(), Some(b"theirs".as_slice()));
    let conflict = repo.merge_trees(None, &ours, &theirs).await.unwrap();
    assert_eq!(conflict.conflicts.iter().map(|path| path.as_bytes()).collect::<Vec<_>>(), [LINES]);
    let unknown = repo.merge_trees(None, &ours, &nothing()).await.unwrap_err();
    assert!(matches!(unknown, GitError::CannotMerge { .. }), "{unknown}");
    // From `beside` to `base` takes `beside` back out.
    let undone = repo.merge_trees(Some(&beside), &theirs, &base).await.unwrap();
    assert_eq!(repo.read_file(&undone.tree, "b").await.unwrap(), None);
    assert!(repo.merge_changes_nothing(&ours, &base).await.unwrap());
    assert!(!repo.merge_changes_nothing(&ours, &beside).await.unwrap());
    assert!(!repo.merge_changes_nothing(&ours, &theirs).await.unwrap());
}

#[tokio::test]
async fn a_commit_is_by_whom_it_is_said_to_be() {
    let fixture = Fixture::new();
    let repo = fixture.repo.clone().durable();
    let first = fixture.commit_file("a", "1");
    let tree = repo.tree_with_file(&first, "flower.toml", b"[checks]\n").await.unwrap();
    let committer = Identity::default();
    let new = NewCommit { tree: &tree, parents: &[&first], message: "x\n", committer: &committer, author: None };
    let made = repo.commit_tree(new).await.unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%an %ae %cn", made.as_str()]), "flower flower@localhost flower");
    assert_eq!(repo.first_parent(&made).await.unwrap(), Some(first.clone()));
    assert_eq!(repo.list_top(&made).await.unwrap().entries().count(), 2);
    let author = repo.author(&first).await.unwrap();
    let committer = Identity { name: Some("Bo".into()), email: None };
    let made = repo.commit_tree(NewCommit { author: Some(&author), committer: &committer, ..new }).await.unwrap();
    assert_eq!(fixture.git(&["log", "-1", "--format=%an %cn", made.as_str()]), "Ada Bo");
    let again = repo.tree_with_file(&made, "flower.toml", b"other").await.unwrap();
    assert_eq!(repo.list_top(&again).await.unwrap().entries().count(), 2, "it takes the place of the other");
}

#[tokio::test]
async fn renames_and_attributes_are_found() {
    let fixture = Fixture::new();
    fixture.write(NO_TEXT, "some lines\nthat stay\nas they are\n");
    let old = fixture.commit("old");
    fs::rename(
        fixture.root().join(std::ffi::OsStr::from_bytes(NO_TEXT)),
        fixture.root().join(std::ffi::OsStr::from_bytes(LINES)),
    )
    .unwrap();
    let new = fixture.commit("new");
    let renames = fixture.repo.renames(&old, &new).await.unwrap();
    assert_eq!(
        renames.iter().map(|(from, to)| (from.as_bytes(), to.as_bytes())).collect::<Vec<_>>(),
        [(NO_TEXT, LINES)]
    );
    assert!(!fixture.repo.attributes_mention(&new, "filter=lfs").await.unwrap());
    fixture.write(b"deep/.gitattributes", "*.bin filter=lfs\n");
    let lfs = fixture.commit("lfs");
    assert!(fixture.repo.attributes_mention(&lfs, "filter=lfs").await.unwrap());
}
