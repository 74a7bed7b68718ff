//! Changes that others made to a worktree are found, reported, and repaired without loss.

use super::*;
use serde_json::json;
use std::os::unix::fs::symlink;

/// A worktree with a commit and something that is not committed, and a MAIN with something precious.
fn busy(flower: &Flower, seal: &str) {
    fs::write(flower.repo.join(".git/info/exclude"), "precious\n").unwrap();
    new(flower, "one", &[seal]);
    inside_ok(flower, "one", "echo c > committed; git add committed; git commit -qm c; echo u > uncommitted");
    put(flower, &flower.repo.join("precious"), "not committed, and ignored");
}

fn assert_nothing_happened_to_main(flower: &Flower) {
    assert_main_is_whole(flower);
    assert_eq!(fs::read_to_string(flower.repo.join("precious")).unwrap(), "not committed, and ignored");
}

/// The state, with the way out in the notes; no command goes on as if nothing were.
fn assert_state(flower: &Flower, state: &str) {
    let one = show(flower, "one");
    assert_eq!(one["state"], state, "{one}");
    says(&one["notes"], "flower worktree restore one");
    assert_eq!(flower.json(&["worktree"])[0]["state"], state);
    let error = flower.fails(&["worktree", "sync", "one"], 1);
    says(&error["hints"], "flower worktree restore one");
    assert_eq!(inside(flower, "one", "true").code, 1);
}

fn assert_ready(flower: &Flower) {
    let one = show(flower, "one");
    assert_eq!((&one["state"], &one["notes"]), (&json!("ready"), &json!([])), "{one}");
    assert_eq!(inside_ok(flower, "one", "cat committed; git log -1 --format=%s"), "c\nc");
    assert_nothing_happened_to_main(flower);
}

#[test]
fn a_directory_that_is_gone_is_made_again_from_its_branch() {
    for seal in ["--sealed", "--linked"] {
        let flower = served();
        busy(&flower, seal);
        let before = traces(&flower);
        fs::remove_dir_all(tree(&flower, "one")).unwrap();
        assert_state(&flower, "missing");
        assert!(!tree(&flower, "one").exists(), "nothing is made again by looking");
        flower.ok(&["worktree", "restore", "one"]);
        assert_ready(&flower);
        assert_eq!(traces(&flower), before, "{seal}");
        assert_eq!(inside_ok(&flower, "one", "git status --porcelain"), "");
        // Gone, it can also be let go, and brought back later.
        fs::remove_dir_all(tree(&flower, "one")).unwrap();
        remove(&flower, "one");
        assert_nothing_happened_to_main(&flower);
        flower.ok(&["worktree", "restore", "one"]);
        assert_ready(&flower);
    }
}

#[test]
fn a_directory_that_was_moved_away_is_missed_and_can_come_back() {
    let flower = served();
    busy(&flower, "--sealed");
    let elsewhere = flower.dir().join("elsewhere");
    fs::rename(tree(&flower, "one"), &elsewhere).unwrap();
    assert_state(&flower, "missing");
    fs::rename(&elsewhere, tree(&flower, "one")).unwrap();
    assert_ready(&flower);
    assert_eq!(inside_ok(&flower, "one", "cat uncommitted"), "u");
    // Let go while it is away, it stays where it was moved to.
    fs::rename(tree(&flower, "one"), &elsewhere).unwrap();
    remove(&flower, "one");
    assert_eq!(fs::read_to_string(elsewhere.join("uncommitted")).unwrap(), "u\n");
    assert_nothing_happened_to_main(&flower);
}

#[test]
fn a_foreign_file_in_place_of_a_worktree_is_neither_followed_nor_moved() {
    for seal in ["--sealed", "--linked"] {
        let flower = served();
        busy(&flower, seal);
        let (dir, aside) = (tree(&flower, "one"), flower.dir().join("aside"));
        fs::rename(&dir, &aside).unwrap();
        let other = flower.make_repository("other");
        let in_the_way: [(&str, &dyn Fn()); 4] = [
            ("a file", &|| fs::write(&dir, "foreign").unwrap()),
            ("a link to MAIN", &|| symlink(&flower.repo, &dir).unwrap()),
            ("a link to another repository", &|| symlink(&other, &dir).unwrap()),
            ("a link to nothing", &|| symlink("/nonexistent", &dir).unwrap()),
        ];
        for (what, place) in in_the_way {
            place();
            assert_state(&flower, "unknown");
            let error = flower.fails(&["worktree", "restore", "one"], 1);
            says(&error["hints"], "away");
            let error = flower.fails(&["worktree", "remove", "one"], 1);
            says(&error["hints"], "move away what is there");
            settled(&flower);
            assert!(fs::symlink_metadata(&dir).is_ok(), "{what} is not ours to move");
            assert_nothing_happened_to_main(&flower);
            assert_eq!(git(&flower, &other, &["status", "--porcelain"]), "");
            fs::remove_file(&dir).unwrap();
        }
        fs::rename(&aside, &dir).unwrap();
        assert_ready(&flower);
        assert_eq!(inside_ok(&flower, "one", "cat uncommitted"), "u");
    }
}

#[test]
fn a_dot_git_that_leads_elsewhere_is_put_right_and_kept() {
    for seal in ["--sealed", "--linked"] {
        let flower = served();
        busy(&flower, seal);
        let dot_git = tree(&flower, "one").join(".git");
        let right = fs::read_to_string(&dot_git).unwrap();
        let other = flower.make_repository("other");
        let wrongs: [(&str, &dyn Fn()); 4] = [
            ("leads to another repository", &|| {
                fs::write(&dot_git, format!("gitdir: {}/.git\n", other.display())).unwrap();
            }),
            ("leads to MAIN", &|| fs::write(&dot_git, format!("gitdir: {}/.git\n", flower.repo.display())).unwrap()),
            ("is a repository", &|| {
                fs::remove_file(&dot_git).unwrap();
                git(&flower, &tree(&flower, "one"), &["init", "--quiet"]);
            }),
            ("is gone", &|| fs::remove_file(&dot_git).unwrap()),
        ];
        for (what, wrong) in wrongs {
            wrong();
            assert_state(&flower, "unknown");
            flower.ok(&["worktree", "restore", "one"]);
            assert_eq!(fs::read_to_string(&dot_git).unwrap(), right, "{what}");
            assert_ready(&flower);
            assert_eq!(inside_ok(&flower, "one", "cat uncommitted"), "u");
            assert_eq!(git(&flower, &tree(&flower, "one"), &["status", "--porcelain"]), "?? uncommitted");
        }
        // A repository made there by hand, with commits that are nowhere else, is not lost by removing it.
        fs::remove_file(&dot_git).unwrap();
        flower.git(&tree(&flower, "one"), &["init", "--quiet"]);
        flower.git(
            &tree(&flower, "one"),
            &["-c", "maintenance.auto=false", "commit", "--quiet", "--allow-empty", "--message", "only here"],
        );
        let only = git(&flower, &tree(&flower, "one"), &["rev-parse", "HEAD"]);
        remove(&flower, "one");
        flower.ok(&["worktree", "restore", "one"]);
        assert_ready(&flower);
        let kept = flower.home.join("seals/repo/one/displaced.git");
        assert_eq!(git(&flower, &kept, &["--git-dir", ".", "log", "--format=%H", &only]), only);
    }
}

#[test]
fn a_worktree_that_git_forgot_is_made_known_again() {
    for seal in ["--sealed", "--linked"] {
        let flower = served();
        busy(&flower, seal);
        let forget = || fs::remove_dir_all(flower.repo.join(".git/worktrees")).unwrap();
        let before = traces(&flower);
        forget();
        assert_state(&flower, "unknown");
        flower.ok(&["worktree", "restore", "one"]);
        assert_ready(&flower);
        assert_eq!(traces(&flower), before, "{seal}");
        assert_eq!(git(&flower, &tree(&flower, "one"), &["status", "--porcelain"]), "?? uncommitted");
        assert_eq!(inside_ok(&flower, "one", "cat uncommitted"), "u");
        forget();
        remove(&flower, "one");
        assert_nothing_happened_to_main(&flower);
        flower.ok(&["worktree", "restore", "one"]);
        assert_ready(&flower);
        assert_eq!(inside_ok(&flower, "one", "cat uncommitted"), "u");
    }
}

#[test]
fn main_that_is_gone_is_said_and_comes_back() {
    let flower = served();
    busy(&flower, "--sealed");
    let elsewhere = flower.dir().join("moved");
    fs::rename(&flower.repo, &elsewhere).unwrap();
    let listed = flower.json_in(flower.dir(), &["worktree"]);
    assert_eq!(listed[0]["state"], "unknown", "{listed}");
    says(&listed[0]["notes"], "no repository any more");
    for verb in ["remove", "sync", "restore"] {
        let error = flower.run_in(flower.dir(), &["worktree", verb, "one", "--json"]).error(1);
        says(&error["message"], "no repository any more");
    }
    assert!(tree(&flower, "one").join("uncommitted").exists());
    fs::rename(&elsewhere, &flower.repo).unwrap();
    assert_ready(&flower);
}
