use crate::fixture::{Fixture, nothing};
use flower_git::{ObjectId, Questions};

#[tokio::test]
async fn objects_with_any_content_are_read() {
    let fixture = Fixture::new();
    let content = "a\nb missing\n";
    let commit = fixture.commit_file("a", content);
    let blob = ObjectId::parse(&fixture.git(&["rev-parse", "HEAD:a"])).unwrap();
    let ids = [blob.clone(), commit.clone().into(), blob.clone()];
    let objects = fixture.repo.read_objects(&ids).await.unwrap();
    let read: Vec<_> = objects.iter().map(Result::unwrap).collect();
    assert_eq!(read.iter().map(|object| object.kind).collect::<Vec<_>>(), ["blob", "commit", "blob"]);
    assert_eq!((read[0].id, read[0].content), (blob.as_str(), content.as_bytes()));
    let some_missing = fixture.repo.read_objects(&[blob.clone(), nothing().into()]).await.unwrap();
    let results: Vec<bool> = some_missing.iter().map(|object| object.is_ok()).collect();
    assert_eq!(results, [true, false]);
    assert_eq!(fixture.repo.read_blob(&blob).await.unwrap(), content.as_bytes());
    assert!(fixture.repo.read_blob(&nothing().into()).await.is_err());
    assert_eq!(fixture.repo.read_file(&commit, "none").await.unwrap(), None);
}

#[tokio::test]
async fn questions_are_answered_each_by_its_own() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("dir/a", "text");
    let mut questions = Questions::new();
    let asked = [
        questions.commit("none"),
        questions.commit("main"),
        questions.commit("HEAD"),
        // In two lines this would be two questions.
        questions.commit("main\ncontents HEAD:dir/a"),
    ];
    let files = [
        questions.file("HEAD", "none"),
        questions.file("HEAD", "dir"),
        questions.file("HEAD", "dir/a"),
        questions.file("none", "dir/a"),
    ];
    let answers = fixture.repo.ask(questions).await.unwrap();
    let commits = asked.map(|question| answers.commit(question));
    assert_eq!(commits, [None, Some(commit.clone()), Some(commit), None]);
    let contents = files.map(|question| answers.file(question).map(<[u8]>::to_vec));
    assert_eq!(contents, [None, None, Some(b"text".to_vec()), None]);
}

#[tokio::test]
async fn what_is_there_and_what_is_new_is_known() {
    let fixture = Fixture::new();
    let old = fixture.commit_file("a", "1");
    fixture.write(b"large", &"x".repeat(5_000));
    let new = fixture.commit_file("b", "2");
    let there = fixture.repo.present(&[nothing(), old.clone()]).await.unwrap();
    assert_eq!(there, [old.clone()]);
    assert_eq!(fixture.repo.present::<ObjectId>(&[]).await.unwrap(), []);
    assert_eq!(fixture.repo.present_commits(&[old.clone(), nothing()]).await.unwrap(), [old.clone()]);
    let found = fixture.repo.new_objects(&new, &old, 1_000).await.unwrap();
    // The commit, its tree and one file.
    assert_eq!((found.ids.len(), found.large), (3, 1));
    assert!(fixture.repo.new_objects(&nothing(), &old, 1_000).await.is_err());
    assert_eq!(fixture.repo.largest_unreached(&new).await.unwrap(), None);
    fixture.git(&["update-ref", "refs/heads/main", old.as_str()]);
    assert_eq!(fixture.repo.largest_unreached(&new).await.unwrap(), Some(5_000));
    assert!(fixture.repo.largest_unreached(&nothing()).await.is_err());
}
