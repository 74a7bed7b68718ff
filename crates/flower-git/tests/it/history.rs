use crate::fixture::{Fixture, LINES, NO_TEXT, nothing};
use flower_git::{Author, CommitId, Log, RefName};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[tokio::test]
async fn descent_is_known_and_a_missing_commit_is_an_error() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let (one, two) = (fixture.commit_file("a", "1"), fixture.commit_file("a", "2"));
    let main = RefName::branch("main").unwrap();
    assert!(repo.is_ancestor(&one, &two).await.unwrap());
    assert!(repo.is_ancestor(&two, &main).await.unwrap());
    assert!(!repo.is_ancestor(&two, &one).await.unwrap());
    assert!(repo.is_ancestor(&nothing(), &two).await.is_err());
    assert!(repo.has_commit(&one).await.unwrap());
    assert!(!repo.has_commit(&nothing()).await.unwrap());
    assert_eq!(repo.first_parent(&two).await.unwrap(), Some(one.clone()));
    assert_eq!(repo.first_parent(&one).await.unwrap(), None);
    assert!(repo.tree_of(&nothing()).await.is_err());
}

#[tokio::test]
async fn histories_part_and_have_nothing_in_common() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let base = fixture.commit_file("a", "1");
    let ours = fixture.commit_file("b", "1");
    fixture.git(&["checkout", "--quiet", "-b", "other", base.as_str()]);
    let theirs = fixture.commit_file("c", "1");
    assert_eq!(repo.merge_base(&ours, &theirs).await.unwrap(), Some(base.clone()));
    assert_eq!(repo.merge_bases(&ours, &theirs).await.unwrap(), [base.clone()]);
    assert_eq!(repo.count_apart(&ours, &theirs).await.unwrap(), (1, 1));
    assert_eq!(repo.new_commits(&theirs, &ours, 10).await.unwrap(), [theirs.clone()]);
    assert_eq!(repo.commits_to_replay(&theirs, &ours).await.unwrap(), [(theirs.clone(), vec![base])]);
    fixture.git(&["checkout", "--quiet", "--orphan", "alone"]);
    let alone = fixture.commit("alone");
    assert_eq!(repo.merge_base(&ours, &alone).await.unwrap(), None);
    assert_eq!(repo.merge_bases(&ours, &alone).await.unwrap(), []);
}

#[tokio::test]
async fn a_log_has_every_commit_with_any_message() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let first = fixture.commit_file("a", "1");
    fixture.git(&["checkout", "--quiet", "-b", "side"]);
    let side = fixture.commit("A \u{1f} subject \u{2}\n\nFlower-Landing: 7\nFlower-Brief: 1\nFlower-Brief: 2");
    fixture.git(&["checkout", "--quiet", "main"]);
    fixture.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "side"]);
    let merge = fixture.head();
    let log = repo.log(&Log::of(&merge, 10).trailers(&["Flower-Landing", "Flower-Brief"])).await.unwrap();
    assert_eq!((log.len(), &log[0].commit), (3, &merge));
    assert_eq!(log[0].parents, [first.clone(), side.clone()]);
    let of = |commit: &CommitId| log.iter().find(|entry| entry.commit == *commit).unwrap();
    assert_eq!((of(&side).subject.as_str(), of(&side).author.as_str()), ("A \u{1f} subject \u{2}", "Ada"));
    assert_eq!((&of(&side).parents, &of(&first).parents), (&vec![first.clone()], &Vec::new()));
    assert_eq!(of(&side).trailers, ["7", "1,2"]);
    assert_eq!(of(&first).trailers, ["", ""]);
    let only = |log: Vec<flower_git::LogEntry>| log.into_iter().map(|entry| entry.commit).collect::<Vec<_>>();
    assert_eq!(only(repo.log(&Log::of(&merge, 10).first_parent()).await.unwrap()), [merge.clone(), first.clone()]);
    assert_eq!(only(repo.log(&Log::of(&merge, 10).no_merges().without(&first)).await.unwrap()), [side.clone()]);
    assert_eq!(repo.log(&Log::of(&merge, 1)).await.unwrap().len(), 1);
    assert_eq!(repo.log(&Log::of(&first, 9).without(&merge)).await.unwrap(), []);
    assert!(repo.log(&Log::of(&RefName::branch("none").unwrap(), 1)).await.is_err());
    assert!(repo.message(&side).await.unwrap().ends_with("Flower-Brief: 2"));
    assert_eq!(repo.subject(&merge).await.unwrap(), "merge");
    let Author { name, email, date } = repo.author(&side).await.unwrap();
    assert_eq!((name.as_str(), email.as_str()), ("Ada", "ada@example.com"));
    assert!(date.split(' ').next().is_some_and(|seconds| seconds.parse::<u64>().is_ok()), "{date}");
    assert!(repo.author(&nothing()).await.is_err());
}

#[tokio::test]
async fn changed_paths_with_any_name_are_whole() {
    let fixture = Fixture::new();
    let old = fixture.commit_file("a", "1");
    let empty = fixture.commit("nothing");
    // Looks like a commit to whoever splits at lines.
    let trap = format!("x\n{old}");
    for name in [LINES, NO_TEXT, trap.as_bytes(), b":100644 x"] {
        fixture.write(name, "x");
    }
    let new = fixture.commit("odd names");
    let changed = fixture.repo.changed_paths(&old, &new, 10).await.unwrap();
    assert_eq!(changed.len(), 2);
    assert_eq!((&changed[1].0, changed[1].1.len()), (&empty, 0));
    let mut paths: Vec<&[u8]> = changed[0].1.iter().map(|path| path.as_bytes()).collect();
    paths.sort_unstable();
    let mut expected: Vec<&[u8]> = vec![LINES, NO_TEXT, trap.as_bytes(), b":100644 x"];
    expected.sort_unstable();
    assert_eq!(paths, expected);
    let touching =
        async |path: &[u8]| fixture.repo.commits_touching(&new, Some(&old), &[OsStr::from_bytes(path)], 5).await;
    assert_eq!(touching(NO_TEXT).await.unwrap(), [new.clone()]);
    assert_eq!(touching(b"*").await.unwrap(), [], "a pattern is a name like any other");
    assert_eq!(fixture.repo.commits_touching(&new, None, &["a".as_ref()], 5).await.unwrap(), [old]);
}

#[tokio::test]
async fn a_lost_object_is_noticed() {
    let fixture = Fixture::new();
    fixture.commit_file("a", "1");
    assert_eq!(fixture.repo.check_connectivity().await.unwrap(), Ok(()));
    let blob = fixture.git(&["rev-parse", "HEAD:a"]);
    std::fs::remove_file(fixture.repository.git_dir.join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    assert!(fixture.repo.check_connectivity().await.unwrap().is_err());
}
