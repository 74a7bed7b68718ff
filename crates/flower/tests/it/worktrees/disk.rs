//! A disk that is full or cannot be written: what was begun is taken back, and what was there stays.

use super::*;
use crate::reliability::namespace::{mount_tmpfs, remount, with_mounts};

#[test]
fn a_full_disk_leaves_nothing_half_made_and_loses_nothing() {
    with_mounts("worktrees::disk::a_full_disk_leaves_nothing_half_made_and_loses_nothing", || {
        let flower = Flower::new();
        fs::create_dir(&flower.home).unwrap();
        mount_tmpfs(&flower.home, 12 * 1024);
        prepare(&flower);
        for n in 0..8 {
            let content: Vec<u8> =
                (0..256 * 1024_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> (8 + n)) as u8).collect();
            put(&flower, &flower.repo.join(format!("large{n}")), content);
        }
        flower.git(&flower.repo, &["add", "."]);
        flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "large"]);
        record_main(&flower);
        new(&flower, "before", &[]);
        inside_ok(&flower, "before", "echo kept > kept");
        // Room for events, not for another checkout of two megabytes.
        let ballast = flower.home.join("ballast");
        let used = Command::new("df").args(["--output=avail", "-k"]).arg(&flower.home).output().unwrap();
        let free: u64 = String::from_utf8_lossy(&used.stdout).lines().nth(1).unwrap().trim().parse().unwrap();
        fs::write(&ballast, vec![b'x'; usize::try_from((free - 1500) * 1024).unwrap()]).unwrap();
        let before = traces(&flower);
        let error = flower.fails(&["worktree", "new", "one"], 5);
        assert_eq!(error["kind"], "no_space", "{error}");
        says(&error["hints"], "free some space");
        // Events still fit, so the daemon works on.
        assert_eq!(show(&flower, "before")["state"], "ready");
        eventually("nothing is left", || (traces(&flower) == before).then_some(()));
        assert_eq!(fs::read_to_string(tree(&flower, "before").join("kept")).unwrap(), "kept\n");
        fs::remove_file(&ballast).unwrap();
        new(&flower, "one", &[]);
        remove(&flower, "before");
        flower.ok(&["worktree", "restore", "before"]);
        assert_eq!(inside_ok(&flower, "before", "cat kept"), "kept");
        assert_main_is_whole(&flower);
        flower.ok(&["down"]);
        let _ = Command::new("umount").arg("--lazy").arg(&flower.home).status();
    });
}

#[test]
fn a_home_on_another_file_system_is_as_good() {
    with_mounts("worktrees::disk::a_home_on_another_file_system_is_as_good", || {
        let flower = Flower::new();
        fs::create_dir(&flower.home).unwrap();
        mount_tmpfs(&flower.home, 12 * 1024);
        prepare(&flower);
        for seal in ["--sealed", "--linked"] {
            new(&flower, "one", &[seal]);
            inside_ok(&flower, "one", "echo u > u; echo c > c; git add c; git commit -qm c; echo s > s; git add s");
            let before = snapshot(&tree(&flower, "one"));
            remove(&flower, "one");
            assert_eq!(git(&flower, &flower.repo, &["worktree", "list"]).lines().count(), 1);
            flower.ok(&["worktree", "restore", "one"]);
            assert_eq!(differences(&before, &snapshot(&tree(&flower, "one"))), [""; 0], "{seal}");
            assert_eq!(inside_ok(&flower, "one", "git status --porcelain"), "A  s\n?? u", "{seal}");
            remove(&flower, "one");
            forget(&flower);
        }
        assert_main_is_whole(&flower);
        flower.ok(&["down"]);
        let _ = Command::new("umount").arg("--lazy").arg(&flower.home).status();
    });
}

#[test]
fn a_repository_that_cannot_be_written_is_said() {
    with_mounts("worktrees::disk::a_repository_that_cannot_be_written_is_said", || {
        let flower = served();
        let refs = flower.repo.join(".git/refs");
        assert!(Command::new("mount").arg("--bind").args([&refs, &refs]).status().unwrap().success());
        remount(&refs, "ro");
        let before = traces(&flower);
        let error = flower.fails(&["worktree", "new", "one"], 5);
        assert_eq!(error["kind"], "unreachable", "{error}");
        says(&error["hints"], "writable");
        assert_eq!(traces(&flower), before);
        remount(&refs, "rw");
        new(&flower, "one", &[]);
        assert_main_is_whole(&flower);
        flower.ok(&["down"]);
        let _ = Command::new("umount").arg("--lazy").arg(&refs).status();
    });
}

#[test]
fn a_home_that_forbids_it_is_said() {
    // Where the tests do not run as root, an ordinary user runs them.
    let flower = Flower::of_ordinary_user().unwrap_or_else(Flower::new);
    prepare(&flower);
    new(&flower, "before", &[]);
    for folder in ["worktrees/repo", "seals/repo"] {
        let path = flower.home.join(folder);
        let free = fs::metadata(&path).unwrap().permissions();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
        let before = traces(&flower);
        let output = flower.run(&["worktree", "new", "one", "--json"]);
        let error = output.error(output.code);
        assert_eq!(output.code, 5, "{folder}: {error}");
        says(&error["message"], "ermission denied");
        eventually("nothing is left", || (traces(&flower) == before).then_some(()));
        fs::set_permissions(&path, free).unwrap();
    }
    new(&flower, "one", &[]);
    assert_main_is_whole(&flower);
}

/// What amended commits leave in MAIN's repository is bounded for each worktree, and git can delete it once nothing is kept of it.
#[test]
fn objects_of_one_worktree_in_main_are_bounded_and_can_be_collected() {
    let mut flower = Flower::new();
    flower.env("FLOWER_MAX_BROUGHT_BYTES", "500000");
    prepare(&flower);
    new(&flower, "one", &[]);
    let amend = "head -c 200000 /dev/urandom > big; git add big; git commit -q --amend -m big; git rev-parse HEAD:big";
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x");
    let first = inside_ok(&flower, "one", amend);
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one:big"]), first);
    let second = inside_ok(&flower, "one", amend);
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one:big"]), second);
    inside_ok(&flower, "one", amend);
    let seen = show(&flower, "one");
    says(&seen["notes"], "it would be over 489 KB");
    says(&seen["notes"], "flower worktree new NAME --from flower/one");
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one:big"]), second, "the rest stays inside");
    // Others are not concerned, and small commits still come out.
    new(&flower, "two", &["--from", "flower/one"]);
    inside_ok(&flower, "two", "echo y > y; git add y; git commit -qm y");
    assert_eq!(show(&flower, "two")["notes"], serde_json::json!([]));
    inside_ok(&flower, "one", "git rm -q --cached big; git commit -q --amend -m small");
    assert!(!show(&flower, "one")["notes"].to_string().contains("it would be over"));
    for name in ["one", "two"] {
        remove(&flower, name);
    }
    forget(&flower);
    git(&flower, &flower.repo, &["reflog", "expire", "--expire=now", "--all"]);
    git(&flower, &flower.repo, &["gc", "--quiet", "--prune=now"]);
    for blob in [first, second] {
        let mut there = Command::new("git");
        flower.in_own_environment(there.args(["cat-file", "-e", &blob]).current_dir(&flower.repo));
        assert!(!there.stderr(Stdio::null()).status().unwrap().success(), "{blob} is still there");
    }
    assert_main_is_whole(&flower);
}
