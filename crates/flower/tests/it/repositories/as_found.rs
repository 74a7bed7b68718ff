//! Sparse checkouts, LFS, deleted repositories, and a FLOWER_HOME that cannot be meant.

use super::*;
use std::os::unix::fs::PermissionsExt;

fn commit_all(flower: &Flower) {
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "more"]);
}

#[test]
fn a_landing_leaves_a_sparse_checkout_sparse() {
    let flower = Flower::new();
    for path in ["seen/a", "unseen/a"] {
        put(&flower, &flower.repo.join(path), "a\n");
    }
    commit_all(&flower);
    flower.git(&flower.repo, &["sparse-checkout", "set", "seen"]);
    prepare(&flower);
    new(&flower, "one", &[]);
    inside_ok(
        &flower,
        "one",
        "for d in seen unseen other; do mkdir -p $d; echo b > $d/a; echo c > $d/c; done; git add -A; git commit -qm x",
    );
    flower.ok(&["land", "one", "--wait"]);
    assert_eq!(fs::read_to_string(flower.repo.join("seen/a")).unwrap(), "b\n");
    assert_eq!(fs::read_to_string(flower.repo.join("seen/c")).unwrap(), "c\n");
    assert!(!flower.repo.join("unseen").exists() && !flower.repo.join("other").exists());
    assert_eq!(git(&flower, &flower.repo, &["show", "HEAD:unseen/c"]), "c");
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]), "");
    assert_eq!(flower.json(&["main"])["state"], "stable");
}

#[test]
fn a_file_that_belongs_into_lfs_lands_only_as_a_pointer() {
    let flower = Flower::new();
    put(&flower, &flower.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    commit_all(&flower);
    prepare(&flower);
    new(&flower, "one", &["--lfs-pointers"]);
    // As on a machine without git-lfs.
    let git = "git -c filter.lfs.process= -c filter.lfs.clean= -c filter.lfs.required=false";
    inside_ok(&flower, "one", &format!("echo raw > a.bin; echo text > a.txt; {git} add -A; {git} commit -qm raw"));
    let landed = flower.run(&["land", "one", "--wait"]);
    assert_ne!(landed.code, 0, "{landed:?}");
    assert!(format!("{landed:?}").contains("`a.bin` belongs into LFS"), "{landed:?}");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n";
    put(&flower, &tree(&flower, "one").join("a.bin"), pointer);
    inside_ok(&flower, "one", &format!("{git} commit -qam pointer"));
    flower.ok(&["land", "one", "--wait"]);
    assert_eq!(fs::read_to_string(flower.repo.join("a.bin")).unwrap(), pointer);
}

#[test]
fn a_deleted_repository_is_reported_and_its_removal_too() {
    let flower = Flower::started();
    fs::remove_dir_all(&flower.repo).unwrap();
    let elsewhere = flower.dir().to_owned();
    let status = flower.json_in(&elsewhere, &["status", "--project", "repo"]);
    assert_ne!(status["main"]["state"], "stable", "{status}");
    says(&status["main"]["reason"], "no repository any more");
    let removed = flower.run_in(&elsewhere, &["project", "remove", "repo"]);
    assert_eq!(removed.code, 0, "{removed:?}");
    assert!(removed.stdout.contains("not at its path any more"), "{removed:?}");
    fs::create_dir(&flower.repo).unwrap();
}

#[test]
fn a_project_is_removed_right_after_its_worktrees() {
    let flower = Flower::new();
    prepare(&flower);
    for name in ["one", "two", "three"] {
        new(&flower, name, &[]);
    }
    for name in ["one", "two", "three"] {
        flower.ok(&["worktree", "remove", name]);
    }
    flower.ok(&["project", "remove", "repo"]);
}

#[test]
fn a_relative_home_is_refused() {
    let mut flower = Flower::new();
    flower.env("FLOWER_HOME", "relative");
    let error = flower.fails(&["status"], 2);
    says(&error["hints"], "full path");
    assert!(!flower.repo.join("relative").exists());
}

#[test]
fn a_home_inside_of_the_checkout_is_refused_before_it_is_made() {
    let mut flower = Flower::new();
    let outside = flower.home.clone();
    for home in [".flower-home", ".git/flower-home", "new/deep/home"] {
        flower.home = flower.repo.join(home);
        for command in ["up", "init"] {
            let error = flower.fails(&[command], 1);
            says(&error["message"], "lies inside of the checkout");
        }
        assert!(!flower.home.exists(), "{home}");
    }
    // Its daemon may have been started elsewhere.
    flower.home = flower.repo.join("inside");
    let elsewhere = flower.dir().to_owned();
    assert_eq!(flower.run_in(&elsewhere, &["up"]).code, 0);
    let error = flower.api("POST", "/api/projects").json(&serde_json::json!({ "dir": flower.repo })).send();
    assert!(error.status == 422 && error.text().contains("lies inside of the checkout"), "{}", error.text());
    flower.ok(&["down"]);
    flower.home = outside;
}

#[test]
fn a_git_folder_that_cannot_be_written_is_named_and_nothing_is_left_in_it() {
    as_each_user(|flower| {
        if flower.is_root() {
            return;
        }
        new(flower, "one", &[]);
        inside_ok(flower, "one", "echo 1 > one; git add -A; git commit -qm one");
        flower.wait_until_idle("merge_queue");
        show(flower, "one");
        let dot_git = flower.repo.join(".git");
        let refs = || git(flower, &flower.repo, &["for-each-ref"]);
        let before = refs();
        let mode = |mode: u32| fs::set_permissions(&dot_git, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o555);
        for args in [&["worktree", "new", "two"][..], &["land", "one"], &["project", "remove", "repo"]] {
            let error = flower.run(&[args, &["--json"]].concat());
            let said = &error.stderr;
            assert!(
                error.code != 0 && said.contains("/repo/.git") && !said.contains("FLOWER_HOME"),
                "{args:?}: {error:?}"
            );
        }
        assert_eq!(refs(), before);
        assert_eq!(flower.json(&["queue"]), serde_json::json!([]));
        mode(0o755);
        flower.ok(&["land", "one", "--wait"]);
        new(flower, "two", &[]);
        flower.ok(&["doctor"]);
    });
}
