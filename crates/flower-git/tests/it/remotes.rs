use crate::fixture::{Fixture, git_in, launcher};
use flower_git::{GitError, OwnRef, Push, Repo};

#[tokio::test]
async fn a_branch_is_pushed_fetched_and_refused_if_it_is_behind() {
    let fixture = Fixture::new();
    let first = fixture.commit_file("a", "1");
    let repo = &fixture.repo;
    assert_eq!((repo.remotes().await.unwrap(), repo.remote_of("main").await.unwrap()), (Vec::new(), None));
    let remote = fixture.beside("remote");
    git_in(&remote, &["init", "--quiet", "--bare", "--initial-branch=main"]);
    fixture.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    fixture.git(&["config", "branch.main.remote", "origin"]);
    fixture.git(&["config", "branch.local.remote", "."]);
    assert_eq!(repo.remotes().await.unwrap(), ["origin"]);
    assert_eq!(repo.remote_of("main").await.unwrap().as_deref(), Some("origin"));
    assert_eq!(repo.remote_of("local").await.unwrap(), None);
    let kept = OwnRef::parse("refs/flower/upstream/main").unwrap();
    assert!(repo.fetch("origin", "main", &kept).await.is_err(), "there is no such branch yet");
    assert_eq!(repo.push("origin", &first, "main").await.unwrap(), Push::Done);
    repo.fetch("origin", "main", &kept).await.unwrap();
    assert_eq!(repo.tip(&kept).await.unwrap(), Some(first.clone()));
    let other = fixture.commit_file("a", "2");
    assert_eq!(repo.push("origin", &other, "main").await.unwrap(), Push::Done);
    let Push::Refused { is_behind, why } = repo.push("origin", &first, "main").await.unwrap() else {
        panic!("the remote has more")
    };
    assert!(is_behind && !why.is_empty(), "{why}");
    let Push::Refused { is_behind, .. } = repo.push("nowhere", &first, "main").await.unwrap() else {
        panic!("there is no such remote")
    };
    assert!(!is_behind);
}

#[tokio::test]
async fn no_remote_is_spoken_with_from_elsewhere() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("a", "1");
    let jailed = Repo::jailed(launcher(fixture.root()));
    assert!(matches!(jailed.push("origin", &commit, "main").await, Err(GitError::NoRemotesHere)));
    let linked = Repo::linked(&fixture.repository, &fixture.repository.git_dir, fixture.root());
    let kept = OwnRef::parse("refs/flower/upstream/main").unwrap();
    assert!(matches!(linked.fetch("origin", "main", &kept).await, Err(GitError::NoRemotesHere)));
}
