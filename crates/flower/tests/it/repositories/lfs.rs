//! Repositories with LFS: contents in MAIN, pointers in worktrees, and what comes out of them.

use super::*;
use crate::common::skip::skip;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

/// A MAIN with a file of LFS whose content is checked out, as `git lfs` makes it. `None` where git-lfs is not installed.
fn with_lfs() -> Option<Flower> {
    let is_installed =
        std::process::Command::new("git-lfs").arg("version").output().is_ok_and(|out| out.status.success());
    if !is_installed {
        skip("git-lfs is missing");
        return None;
    }
    let flower = Flower::new();
    flower.git(&flower.repo, &["lfs", "install", "--local", "--skip-repo"]);
    put(&flower, &flower.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    put(&flower, &flower.repo.join("a.bin"), content(1));
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "lfs"]);
    prepare(&flower);
    Some(flower)
}

fn content(seed: u8) -> Vec<u8> {
    (0..50_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed).collect()
}

fn blob(flower: &Flower, revision: &str) -> String {
    git(flower, &flower.repo, &["cat-file", "blob", revision])
}

fn touch(path: &Path) {
    let content = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn a_content_that_did_not_change_is_no_change_by_hand() {
    let Some(flower) = with_lfs() else { return };
    touch(&flower.repo.join("a.bin"));
    assert_eq!(flower.json(&["main"])["state"], "stable");
    let refused = flower.fails(&["main", "rescue"], 1);
    says(&refused["message"], "there is nothing in MAIN to be rescued");
    new(&flower, "one", &["--lfs-pointers"]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x");
    flower.ok(&["land", "one", "--wait"]);
    // One byte more is.
    let mut edited = content(1);
    edited.push(0);
    fs::write(flower.repo.join("a.bin"), &edited).unwrap();
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["alarm"]["files"]), (&json!("dirty"), &json!(["a.bin"])), "{main:#}");
    // What is rescued is a pointer, and its content is kept.
    flower.json(&["main", "rescue", "--as", "mine"]);
    assert_eq!(fs::read(flower.repo.join("a.bin")).unwrap(), content(1));
    assert_eq!(flower.json(&["main"])["state"], "stable");
    assert!(blob(&flower, "flower/mine:a.bin").ends_with("size 50001"));
    flower.ok(&["land", "mine", "--wait"]);
    assert_eq!(fs::read(flower.repo.join("a.bin")).unwrap(), edited);
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
}

/// In many repositories such files are older than LFS.
#[test]
fn a_file_that_main_has_as_it_is_is_no_change_by_hand() {
    let Some(flower) = with_lfs() else { return };
    put(&flower, &flower.repo.join("raw.bin"), "raw\n");
    let without = ["-c", "filter.lfs.process=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.required=false"];
    for args in [&["add", "raw.bin"][..], &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "raw"]]
    {
        flower.git(&flower.repo, &[&without[..], args].concat());
    }
    // Adopted by the operator, who knows it: MAIN begins there anew.
    flower.ok(&["project", "remove", "--yes", "repo"]);
    flower.ok(&["up"]);
    for path in ["raw.bin", "a.bin"] {
        touch(&flower.repo.join(path));
    }
    assert_eq!(flower.json(&["main"])["state"], "stable");
    says(&flower.fails(&["main", "rescue"], 1)["message"], "there is nothing in MAIN to be rescued");
    put(&flower, &flower.repo.join("raw.bin"), "edited\n");
    assert_eq!(flower.json(&["main"])["alarm"]["files"], json!(["raw.bin"]));
}

#[test]
fn a_pull_that_was_refused_is_put_back_with_its_contents() {
    let Some(flower) = with_lfs() else { return };
    let beside = flower.dir().join("beside");
    flower.git(&flower.repo, &["worktree", "add", "--quiet", "-b", "beside", beside.to_str().unwrap()]);
    put(&flower, &beside.join("a.bin"), content(2));
    put(&flower, &beside.join("new.bin"), content(3));
    flower.git(&beside, &["add", "."]);
    flower.git(&beside, &["commit", "--quiet", "--message", "beside"]);
    let mut merge = std::process::Command::new("git");
    let merged = flower.in_own_environment(merge.args(["merge", "--quiet", "beside"]).current_dir(&flower.repo));
    assert!(!merged.output().unwrap().status.success());
    let main = flower.json(&["main"]);
    assert_eq!(main["state"], "stable", "{main:#}");
    assert_eq!(fs::read(flower.repo.join("a.bin")).unwrap(), content(1));
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
}

#[test]
fn what_is_committed_inside_is_a_pointer_and_its_content_comes_out() {
    let Some(flower) = with_lfs() else { return };
    new(&flower, "one", &["--lfs-pointers"]);
    for (name, seed) in [("b.bin", 2), ("folder/c.bin", 3), ("a.bin", 4)] {
        put(&flower, &tree(&flower, "one").join(name), content(seed));
    }
    inside_ok(&flower, "one", "git add -A; git commit -qm new; git lfs ls-files");
    let shown = show(&flower, "one");
    assert_eq!((&shown["dirty"], &shown["notes"]), (&json!(false), &json!([])), "{shown:#}");
    assert!(blob(&flower, "flower/one:b.bin").starts_with("version https://git-lfs.github.com/spec/v1\n"));
    flower.ok(&["land", "one", "--wait"]);
    // As the file that was there before.
    for (name, seed) in [("b.bin", 2), ("folder/c.bin", 3), ("a.bin", 4)] {
        assert_eq!(fs::read(flower.repo.join(name)).unwrap(), content(seed), "{name}");
    }
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(flower.json(&["main"])["state"], "stable");
    flower.git(&flower.repo, &["lfs", "fsck"]);
}

#[test]
fn where_main_has_pointers_a_landing_writes_pointers() {
    let Some(flower) = with_lfs() else { return };
    let pointer = blob(&flower, "HEAD:a.bin");
    put(&flower, &flower.repo.join("a.bin"), format!("{pointer}\n"));
    flower.git(&flower.repo, &["add", "a.bin"]);
    assert_eq!(flower.json(&["main"])["state"], "stable", "a pointer is what git has");
    new(&flower, "one", &["--lfs-pointers"]);
    put(&flower, &tree(&flower, "one").join("b.bin"), content(2));
    inside_ok(&flower, "one", "git add -A; git commit -qm new");
    flower.ok(&["land", "one", "--wait"]);
    assert!(fs::read_to_string(flower.repo.join("b.bin")).unwrap().ends_with("size 50000\n"));
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(flower.json(&["main"])["state"], "stable");
    // Its content is there all the same.
    flower.git(&flower.repo, &["lfs", "checkout", "b.bin"]);
    assert_eq!(fs::read(flower.repo.join("b.bin")).unwrap(), content(2));
}

/// A kill leaves up to a gigabyte.
#[test]
fn a_content_that_a_kill_left_incomplete_is_deleted_at_the_next_start() {
    let flower = Flower::new();
    prepare(&flower);
    flower.ok(&["down"]);
    let drafts = flower_git::lfs::drafts(&flower.repo.join(".git/lfs/objects"));
    put(&flower, &drafts.join("1-0"), "half of it");
    flower.start();
    assert!(!drafts.exists());
}

#[test]
fn many_pointers_are_read_by_one_git() {
    let mut flower = Flower::new();
    put(&flower, &flower.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "attributes"]);
    let (bin, log) = (flower.dir().join("bin"), flower.dir().join("commands"));
    let path = std::env::var("PATH").unwrap();
    let real = path.split(':').map(|dir| Path::new(dir).join("git")).find(|git| git.exists()).expect("git");
    put(
        &flower,
        &bin.join("git"),
        format!("#!/bin/sh\necho \"$*\" >> {}\nexec {} \"$@\"\n", log.display(), real.display()),
    );
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    flower.env("PATH", &format!("{}:{path}", bin.display()));
    prepare(&flower);
    new(&flower, "one", &["--linked", "--lfs-pointers"]);
    let dir = tree(&flower, "one");
    for n in 0..30 {
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{n:064x}\nsize 3\n");
        put(&flower, &dir.join(format!("{n}.bin")), pointer);
    }
    let without = ["-c", "filter.lfs.process=", "-c", "filter.lfs.clean=", "-c", "filter.lfs.required=false"];
    flower.git(&dir, &[&without[..], &["add", "."]].concat());
    flower.git(&dir, &[&without[..], &["commit", "--quiet", "--message", "pointers"]].concat());
    fs::write(&log, "").unwrap();
    flower.ok(&["land", "one", "--wait"]);
    let log = fs::read_to_string(&log).unwrap();
    let single = log.lines().filter(|line| line.contains("cat-file blob")).count();
    assert!(log.contains("cat-file") && single < 10, "{single}: {log}");
}

#[test]
fn a_content_with_another_hash_stays_inside_with_its_commit() {
    let Some(flower) = with_lfs() else { return };
    new(&flower, "one", &["--lfs-pointers"]);
    put(&flower, &tree(&flower, "one").join("b.bin"), content(2));
    // The content is replaced before anything comes out.
    inside_ok(
        &flower,
        "one",
        "git add -A; tree=$(git write-tree); f=$(find $(git rev-parse --git-dir)/lfs/objects -type f); chmod u+w $f; \
         echo evil > $f; git update-ref HEAD $(git commit-tree -p HEAD -m evil $tree)",
    );
    let refused = flower.fails(&["land", "one"], 1);
    says(&refused["message"], "has another hash or size than its pointer says");
    let stored =
        std::process::Command::new("find").arg(flower.repo.join(".git/lfs/objects")).args(["-type", "f"]).output();
    assert_eq!(String::from_utf8_lossy(&stored.unwrap().stdout).lines().count(), 1, "only the one of MAIN");
}
