use crate::fixture::{Fixture, git_in, launcher, nothing};
use flower_git::{CommitId, ObjectId, OwnRef, Repo, Revisions};
use std::fs;
use std::path::PathBuf;

/// A clone with one more commit, and that commit.
fn clone(fixture: &Fixture) -> (PathBuf, CommitId) {
    let inside = fixture.beside("").join("inside");
    git_in(fixture.root(), &["clone", "--quiet", ".", inside.to_str().unwrap()]);
    fs::write(inside.join("inside"), "x").unwrap();
    git_in(&inside, &["add", "--all"]);
    git_in(&inside, &["commit", "--quiet", "--message", "inside"]);
    let new = CommitId::parse(&git_in(&inside, &["rev-parse", "HEAD"])).unwrap();
    (inside, new)
}

#[tokio::test]
async fn a_commit_comes_in_and_goes_out() {
    let fixture = Fixture::new();
    let base = fixture.commit_file("a", "1");
    let (inside, new) = clone(&fixture);
    let private = Repo::jailed(launcher(&inside));
    assert!(!fixture.repo.has_commit(&new).await.unwrap());
    let small = fixture.repo.receive_untrusted(&private, &new, std::slice::from_ref(&base), 10).await;
    assert!(small.unpacked.is_err(), "it is larger than ten bytes");
    let unknown = fixture.repo.receive_untrusted(&private, &nothing(), std::slice::from_ref(&base), 1 << 20).await;
    assert!(unknown.packed.is_err() && unknown.unpacked.is_err());
    let received = fixture.repo.receive_untrusted(&private, &new, &[base], 1 << 20).await;
    assert!(received.packed.is_ok() && received.unpacked.is_ok(), "{received:?}");
    assert!(fixture.repo.has_commit(&new).await.unwrap());
    let outside = fixture.commit_file("b", "2");
    assert!(!private.has_commit(&outside).await.unwrap());
    let sent = fixture.repo.send(&Revisions::new([&outside], [&new]), &private).await;
    assert!(sent.packed.is_ok() && sent.unpacked.is_ok(), "{sent:?}");
    assert!(private.has_commit(&outside).await.unwrap());
}

#[tokio::test]
async fn packs_are_written_checked_merged_and_taken_apart() {
    let fixture = Fixture::new();
    let repo = &fixture.repo;
    let (one, two) = (fixture.commit_file("a", "1"), fixture.commit_file("a", "2"));
    let folder = fixture.beside("packs");
    let files = |kind: &str| -> Vec<PathBuf> {
        let all = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
        all.filter(|path| path.extension().is_some_and(|found| found == kind)).collect()
    };
    let none = Revisions::new([&one], [&two]);
    assert!(!repo.has_any(&none).await.unwrap());
    repo.pack(&none, &folder.join("pack")).await.unwrap();
    assert!(files("pack").is_empty(), "there is nothing to pack");
    let newer = Revisions::new([&two], [&one]);
    assert!(repo.has_any(&newer).await.unwrap() && !newer.is_empty());
    assert_eq!(repo.commits_of(&newer, 1 << 10).await.unwrap(), [two.clone()]);
    assert!(repo.commits_of(&newer, 10).await.is_err(), "the answer is longer");
    repo.pack_fast(&newer, &folder.join("pack")).await.unwrap();
    assert_eq!(files("pack").len(), 1);
    repo.verify_packs(&files("idx")).await.unwrap();
    repo.verify_packs(&[]).await.unwrap();
    let other = Fixture::new();
    other.repo.unpack(fs::read(&files("pack")[0]).unwrap()).await.unwrap();
    assert!(other.repo.has_commit(&two).await.unwrap());
    assert!(other.repo.unpack(b"PACK".to_vec()).await.is_err());
    repo.pack_everything(&[ObjectId::from(two)], &fixture.beside("rest").join("pack")).await.unwrap();
    fixture.git(&["repack", "--quiet", "-d"]);
    let own = fixture.repository.git_dir.join("objects/pack");
    let packed = fs::read_dir(own).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let packed: Vec<String> = packed.filter(|name| name.ends_with(".pack")).collect();
    let names: Vec<&str> = packed.iter().map(String::as_str).collect();
    repo.merge_packs(&names, &fixture.beside("merged").join("pack")).await.unwrap();
    assert!(fs::read_dir(fixture.beside("merged")).unwrap().count() >= 2);
    repo.tidy().await.unwrap();
}

#[tokio::test]
async fn commits_are_kept_in_a_file_and_come_back() {
    let fixture = Fixture::new();
    let base = fixture.commit_file("a", "1");
    fixture.git(&["checkout", "--quiet", "--detach"]);
    let kept = fixture.commit_file("a", "2");
    let (name, file) = (OwnRef::parse("refs/flower/archive/1/x").unwrap(), fixture.beside("else").join("bundle"));
    fixture.repo.set_ref(&name, &base).await.unwrap();
    fixture.repo.bundle(std::slice::from_ref(&name), &base, &file).await.unwrap().unwrap();
    assert!(!file.exists(), "there is nothing that MAIN has not");
    fixture.repo.set_ref(&name, &kept).await.unwrap();
    fixture.repo.bundle(&[name], &base, &file).await.unwrap().unwrap();
    let missing = OwnRef::parse("refs/flower/none").unwrap();
    assert!(fixture.repo.bundle(&[missing], &base, &file).await.unwrap().is_err());
    fixture.git(&["checkout", "--quiet", "main"]);
    let other = fixture.beside("").join("other");
    git_in(fixture.dir.path(), &["clone", "--quiet", "--branch=main", "--no-local", "main", "other"]);
    let repository = flower_git::repository::Repository { git_dir: other.join(".git"), root: other };
    let other = Repo::main(&repository);
    assert!(!other.has_commit(&kept).await.unwrap());
    other.unbundle(&file).await.unwrap();
    assert!(other.has_commit(&kept).await.unwrap());
}

#[tokio::test]
async fn objects_can_lie_elsewhere_and_be_borrowed() {
    let fixture = Fixture::new();
    let commit = fixture.commit_file("a", "1");
    let objects = fixture.repository.git_dir.join("objects");
    // A folder whose name would end the list if it were not quoted.
    let lent = fixture.beside("lent:\"");
    fs::rename(objects.join(&commit.as_str()[..2]), lent.join(&commit.as_str()[..2])).unwrap();
    assert!(!fixture.repo.has_commit(&commit).await.unwrap());
    let borrowing = fixture.repo.clone().borrowing(&[lent.clone()]).without_grafts();
    assert!(borrowing.has_commit(&commit).await.unwrap());
    let elsewhere = fixture.repo.clone().with_objects_in(&lent).with_memory(1 << 30);
    assert!(elsewhere.has_commit(&commit).await.unwrap());
}
