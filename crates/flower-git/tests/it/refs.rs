use crate::fixture::{Fixture, nothing};
use flower_git::{MainBranch, OwnRef, RefName, RefUpdates};

fn own(name: &str) -> OwnRef {
    OwnRef::parse(name).unwrap()
}

#[tokio::test]
async fn a_ref_is_set_found_listed_and_deleted() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    assert_eq!(repo.head().await.unwrap(), None);
    let (one, two) = (fixture.commit_file("a", "1"), fixture.commit_file("a", "2"));
    let name = own("refs/flower/keep/w/x");
    assert_eq!(repo.tip(&name).await.unwrap(), None);
    repo.set_ref(&name, &one).await.unwrap();
    assert_eq!(repo.tip(&name).await.unwrap(), Some(one.clone()));
    assert_eq!(repo.head().await.unwrap(), Some(two.clone()));
    let listed = repo.own_refs_below("refs/flower/").await.unwrap();
    assert_eq!(listed, [(name.clone(), one.clone().into())]);
    assert_eq!(repo.refs_below("refs/tags/").await.unwrap(), []);
    assert!(repo.delete_ref(&name, &two).await.is_err(), "it is elsewhere");
    repo.delete_ref(&name, &one).await.unwrap();
    assert_eq!(repo.tip(&name).await.unwrap(), None);
}

#[tokio::test]
async fn refs_of_others_are_listed_and_are_not_flowers_own() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("a", "1");
    fixture.git(&["tag", "tä-g"]);
    let all = fixture.repo.refs_below("refs/").await.unwrap();
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["refs/heads/main", "refs/tags/tä-g"]);
    assert!(all.iter().all(|(_, object)| object.as_str() == commit.as_str()));
    assert_eq!(fixture.repo.own_refs_below("refs/").await.unwrap(), []);
}

#[tokio::test]
async fn updates_happen_all_or_not_at_all() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let (one, two) = (fixture.commit_file("a", "1"), fixture.commit_file("a", "2"));
    let (kept, branch) = (own("refs/flower/keep/w/x"), OwnRef::branch("flower/w").unwrap());
    let mut updates = RefUpdates::new();
    updates.create(&branch, &one);
    updates.set(&kept, &one);
    updates.set(&kept, &one);
    repo.update_refs(updates).await.unwrap();
    // It is not at `two`, so neither happens.
    let mut updates = RefUpdates::new();
    updates.delete(&kept);
    updates.swap(&branch, &one, &two);
    assert!(repo.update_refs(updates).await.is_err());
    assert_eq!(repo.tip(&kept).await.unwrap(), Some(one.clone()));
    let mut updates = RefUpdates::new();
    updates.delete(&own("refs/flower/never/there"));
    updates.swap(&branch, &two, &one);
    updates.delete_at(&kept, &one);
    repo.update_refs(updates).await.unwrap();
    assert_eq!(repo.tip(&branch).await.unwrap(), Some(two));
    assert_eq!(repo.tip(&kept).await.unwrap(), None);
    let mut again = RefUpdates::new();
    again.create(&branch, &one);
    assert!(repo.update_refs(again).await.is_err(), "it is there already");
    repo.update_refs(RefUpdates::new()).await.unwrap();
}

#[tokio::test]
async fn what_a_ref_reaches_is_known_and_a_tree_proves_nothing() {
    let fixture = Fixture::new();
    let one = fixture.commit_file("a", "1");
    fixture.git(&["checkout", "--quiet", "--detach"]);
    let lost = fixture.commit_file("a", "2");
    let tree = fixture.repo.tree_of(&one).await.unwrap();
    let reached = async |object: &flower_git::ObjectId| {
        fixture.repo.is_reachable_from(object, &["refs/heads", "refs/tags"]).await.unwrap()
    };
    assert!(reached(&one.into()).await);
    assert!(!reached(&lost.into()).await);
    assert!(!reached(&tree.into()).await);
}

#[tokio::test]
async fn a_tree_can_be_kept_and_a_missing_branch_has_no_reason() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("a", "1");
    let (tree, name) = (fixture.repo.tree_of(&commit).await.unwrap(), own("refs/flower/saved/index"));
    assert_eq!(fixture.repo.tree_at(&name).await.unwrap(), None);
    fixture.repo.set_ref(&name, &tree).await.unwrap();
    assert_eq!(fixture.repo.tree_at(&name).await.unwrap(), Some(tree));
    let missing = RefName::branch("flower/none").unwrap();
    assert_eq!(fixture.repo.tip_or_reason(&missing).await.unwrap(), Err(String::new()));
    let main = RefName::branch("main").unwrap();
    assert_eq!(fixture.repo.tip_or_reason(&main).await.unwrap(), Ok(commit.clone()));
    fixture.repo.set_origin("main", &commit).await.unwrap();
    let origin = RefName::parse("refs/remotes/origin/main").unwrap();
    assert_eq!(fixture.repo.tip(&origin).await.unwrap(), Some(commit));
}

#[tokio::test]
async fn mains_branch_moves_only_from_where_it_is() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.commit_file("a", "1"), fixture.commit_file("a", "2"));
    let main = MainBranch::of(&fixture.repository, "main").unwrap();
    let refused = main.swap(&one, &nothing()).await.unwrap().unwrap_err();
    assert!(refused.contains("refs/heads/main"), "{refused}");
    main.swap(&two, &one).await.unwrap().unwrap();
    assert_eq!(fixture.repo.tip(main.name()).await.unwrap(), Some(one.clone()));
    assert!(main.recreate(&two).await.is_err(), "it is there");
    fixture.git(&["update-ref", "-d", "refs/heads/main"]);
    main.recreate(&two).await.unwrap();
    fixture.git(&["checkout", "--quiet", "--detach", one.as_str()]);
    main.attach_head().await.unwrap();
    assert_eq!(fixture.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(fixture.head(), two);
}
