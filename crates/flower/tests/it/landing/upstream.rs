//! MAIN's remote: what others push comes in through the checks, what has landed goes out, and a remote that does neither delays
//! no landing.

use super::*;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A bare repository as MAIN's remote, and another person's clone of it.
struct Remote {
    bare: PathBuf,
    other: PathBuf,
}

impl Remote {
    /// Serves MAIN with a remote, checked by whether there is a file `bad`.
    fn of(flower: &Flower, more: &str) -> Remote {
        let remote = Remote { bare: flower.dir().join("remote.git"), other: flower.dir().join("other") };
        let (bare, other) = (remote.bare.to_str().unwrap(), remote.other.to_str().unwrap());
        flower.git(flower.dir(), &["init", "--quiet", "--bare", "--initial-branch", "main", bare]);
        flower.git(&flower.repo, &["remote", "add", "upstream", bare]);
        serve(flower, &[("flower.toml", &format!("{}{more}", check("test ! -e bad")))]);
        flower.git(&flower.repo, &["push", "--quiet", "upstream", "main"]);
        flower.git(flower.dir(), &["clone", "--quiet", bare, other]);
        remote
    }

    /// Another person pushes a file.
    fn push(&self, flower: &Flower, path: &str, content: &str) -> String {
        put(flower, &self.other.join(path), content);
        self.push_all(flower, path)
    }

    fn push_all(&self, flower: &Flower, message: &str) -> String {
        flower.git(&self.other, &["pull", "--quiet", "--no-rebase", "--no-edit"]);
        flower.git(&self.other, &["add", "--all"]);
        flower.git(&self.other, &["commit", "--quiet", "--message", message]);
        flower.git(&self.other, &["push", "--quiet"]);
        git(flower, &self.other, &["rev-parse", "HEAD"])
    }

    fn tip(&self, flower: &Flower) -> String {
        git(flower, &self.bare, &["rev-parse", "main"])
    }

    /// The remote takes nothing, or again everything.
    fn refuse(&self, flower: &Flower, refuses: bool) {
        let hook = self.bare.join("hooks/pre-receive");
        put(flower, &hook, "#!/bin/sh\necho not today >&2\nexit 1\n");
        fs::set_permissions(&hook, fs::Permissions::from_mode(if refuses { 0o755 } else { 0o644 })).unwrap();
    }
}

const PUSH: &str = "[land]\npush = true\n";

fn pull(flower: &Flower) -> Value {
    settlement(&flower.run(&["main", "pull", "--wait", "--json"]))
}

#[test]
fn pull_brings_the_remotes_commits_in_through_the_checks() {
    as_each_user_unserved(|flower| {
        let remote = Remote::of(flower, "");
        assert_eq!(flower.json(&["main", "pull"])["landing"], Value::Null, "nothing is new");
        remote.push(flower, "before", "before\n");
        let pushed = remote.push(flower, "theirs", "theirs\n");
        let landing = pull(flower);
        assert_eq!((&landing["state"], &landing["source"]), (&json!("landed"), &json!("upstream")), "{landing:#}");
        assert_eq!(landing["checks"][0]["ok"], true, "{landing:#}");
        // MAIN had nothing of its own: it is where the remote is, after one run of the checks.
        assert_eq!((tip(flower), &landing["upstream"]), (pushed.clone(), &json!(2)), "{landing:#}");
        assert_eq!(landing["merge_commit"], pushed.as_str(), "{landing:#}");
        let history = flower.json(&["main", "log"]);
        assert_eq!((&history[0]["landing"], &history[1]["landing"]), (&landing["id"], &landing["id"]), "{history:#}");
        assert_eq!(history[2]["landing"], Value::Null, "{history:#}");
        assert_eq!(fs::read_to_string(flower.repo.join("theirs")).unwrap(), "theirs\n");
        assert_main_is_whole(flower);
        assert_eq!(flower.json(&["main", "verify"])["ok"], true);
        let again = flower.json(&["main", "pull"]);
        assert_eq!((&again["landing"], &again["remote"]), (&Value::Null, &json!("upstream")));
        // What has landed here meanwhile stays.
        change(flower, "one", "ours", "ours\n");
        lands(flower, "one");
        remote.push(flower, "more", "more\n");
        let landing = pull(flower);
        assert_eq!((&landing["state"], &landing["upstream"]), (&json!("landed"), &Value::Null), "{landing:#}");
        assert!(flower.repo.join("ours").exists() && flower.repo.join("more").exists());
        assert_eq!(
            remote.tip(flower),
            git(flower, &flower.repo, &["rev-parse", "main^2"]),
            "nothing is pushed unasked"
        );
    });
}

#[test]
fn red_hostile_or_conflicting_remote_commits_do_not_land() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    let good = remote.tip(&flower);
    let before = main_now(&flower);
    let reset = || {
        flower.git(&remote.other, &["reset", "--quiet", "--hard", &good]);
        flower.git(&remote.other, &["push", "--quiet", "--force"]);
    };
    remote.push(&flower, "bad", "bad\n");
    let landing = pull(&flower);
    assert_eq!(landing["state"], "rejected", "{landing:#}");
    says(&landing["reason"], "the check `test` failed");
    assert_main_is(&flower, &before, "red");
    reset();
    std::os::unix::fs::symlink("../../outside", remote.other.join("link")).unwrap();
    remote.push_all(&flower, "link");
    let landing = pull(&flower);
    assert_eq!(landing["state"], "rejected", "{landing:#}");
    says(&landing["reason"], "which MAIN does not have");
    assert_main_is(&flower, &before, "hostile");
    reset();
    remote.push(&flower, "flower.toml", &check("echo others; test ! -e bad"));
    let landing = pull(&flower);
    assert_eq!(landing["state"], "approval", "{landing:#}");
    says(&landing["reason"], "these commands are not approved: check test: echo others");
    assert_main_is(&flower, &before, "commands");
    flower.ok(&["queue", "cancel", &number(&landing).to_string()]);
    reset();
    change(&flower, "one", "README.md", "ours\n");
    lands(&flower, "one");
    let before = main_now(&flower);
    remote.push(&flower, "README.md", "theirs\n");
    let landing = pull(&flower);
    assert_eq!((&landing["state"], &landing["paths"]), (&json!("rejected"), &json!(["README.md"])), "{landing:#}");
    assert_main_is(&flower, &before, "diverged");
}

#[test]
fn a_remote_whose_history_was_rewritten_takes_nothing_away() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    remote.push(&flower, "theirs", "theirs\n");
    assert_eq!(pull(&flower)["state"], "landed");
    let before = main_now(&flower);
    // Back by one commit: MAIN has all of that.
    flower.git(&remote.other, &["reset", "--quiet", "--hard", "HEAD~1"]);
    flower.git(&remote.other, &["push", "--quiet", "--force"]);
    assert_eq!(flower.json(&["main", "pull"])["landing"], Value::Null);
    assert_main_is(&flower, &before, "moved back");
    // Something else instead of it comes beside it.
    put(&flower, &remote.other.join("instead"), "instead\n");
    flower.git(&remote.other, &["add", "--all"]);
    flower.git(&remote.other, &["commit", "--quiet", "--message", "instead"]);
    flower.git(&remote.other, &["push", "--quiet", "--force"]);
    assert_eq!(pull(&flower)["state"], "landed");
    assert!(flower.repo.join("theirs").exists() && flower.repo.join("instead").exists());
    assert_main_is_whole(&flower);
}

#[test]
fn without_a_remote_the_way_to_one_is_named() {
    let flower = serving(&[GREEN]);
    says(&flower.fails(&["main", "pull"], 1)["hints"], "git remote add origin");
    for command in ["push", "settle"] {
        let refused = flower.fails(&["main", command], 1);
        says(&refused["message"], "MAIN of `repo` has no remote");
        says(&refused["hints"], "git remote add origin");
    }
    let main = flower.json(&["main"]);
    assert_eq!((&main["state"], &main["push"]), (&json!("stable"), &Value::Null));
}

#[test]
fn landings_are_pushed_if_the_settings_say_so() {
    as_each_user_unserved(|flower| {
        let remote = Remote::of(flower, PUSH);
        for name in ["one", "two"] {
            change(flower, name, name, "work\n");
            let landed = lands(flower, name);
            eventually("it is pushed", || (remote.tip(flower) == landed["merge_commit"]).then_some(()));
        }
        let pushed = eventually("it is recorded", || {
            let pushed = events(flower, "pushed");
            (pushed.len() == 2).then_some(pushed)
        });
        assert_eq!(pushed[1]["body"]["commit"], tip(flower).as_str());
        let main = flower.json(&["main"]);
        assert_eq!((&main["push"]["remote"], &main["push"]["failure"]), (&json!("upstream"), &Value::Null), "{main:#}");
        assert_eq!(main["push"]["commit"], tip(flower).as_str());
    });
}

#[test]
fn commits_pushed_by_others_are_merged_checked_and_pushed() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, PUSH);
    remote.push(&flower, "theirs", "theirs\n");
    change(&flower, "one", "ours", "ours\n");
    let landed = lands(&flower, "one");
    eventually("both are everywhere", || {
        (remote.tip(&flower) == tip(&flower) && flower.repo.join("theirs").exists()).then_some(())
    });
    let files = git(&flower, &remote.bare, &["ls-tree", "--name-only", "main"]);
    assert!(files.contains("theirs") && files.contains("ours"), "{files}");
    let all = flower.json(&["queue", "--all"]);
    assert_eq!((&all[0]["source"], &all[0]["state"]), (&json!("upstream"), &json!("landed")), "{all:#}");
    assert_eq!(all[0]["checks"][0]["ok"], true, "{all:#}");
    let failed = events(&flower, "push_failed");
    assert_eq!((failed.len(), &failed[0]["body"]["commit"]), (1, &landed["merge_commit"]), "{failed:?}");
    says(&failed[0]["body"]["why"], "upstream has commits that MAIN has not");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn commits_pushed_by_others_that_fail_checks_are_reported_and_not_landed() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, PUSH);
    let theirs = remote.push(&flower, "bad", "bad\n");
    change(&flower, "one", "ours", "ours\n");
    lands(&flower, "one");
    let rejected = eventually("theirs is turned down", || {
        let all = flower.json(&["queue", "--all"]);
        (all[0]["source"] == "upstream" && all[0]["state"] == "rejected").then(|| all[0].clone())
    });
    says(&rejected["reason"], "the check `test` failed");
    let main = flower.json(&["main"]);
    says(&main["push"]["failure"], "upstream has commits that MAIN has not");
    assert_eq!((main["state"].as_str(), remote.tip(&flower)), (Some("stable"), theirs));
    assert!(!flower.repo.join("bad").exists());
    // It is not tried again and again.
    let before = flower.events();
    flower.wait_for_pass("merge_queue");
    flower.wait_until_idle("post_landing");
    assert_eq!(flower.events(), before);
    // They mend it, and all of it comes together.
    fs::remove_file(remote.other.join("bad")).unwrap();
    remote.push_all(&flower, "mended");
    assert_eq!(pull(&flower)["state"], "landed");
    eventually("both are everywhere", || (remote.tip(&flower) == tip(&flower)).then_some(()));
}

#[test]
fn a_remote_that_refuses_or_is_gone_is_told_and_tried_again_by_hand() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, PUSH);
    let before = remote.tip(&flower);
    remote.refuse(&flower, true);
    change(&flower, "one", "one", "work\n");
    let landed = lands(&flower, "one");
    let failed = eventually("it is recorded", || events(&flower, "push_failed").first().cloned());
    assert_eq!(failed["body"]["commit"], landed["merge_commit"], "{failed}");
    says(&failed["body"]["why"], "upstream did not take it");
    assert_eq!(remote.tip(&flower), before);
    let main = flower.json(&["main"]);
    assert_eq!(main["state"], "stable", "{main:#}");
    says(&main["push"]["failure"], "pre-receive hook declined");
    says(&flower.fails(&["main", "push"], 1)["message"], "pre-receive hook declined");
    remote.refuse(&flower, false);
    assert_eq!(flower.json(&["main", "push"])["push"]["failure"], Value::Null);
    assert_eq!(remote.tip(&flower), landed["merge_commit"]);
    let away = flower.dir().join("away.git");
    fs::rename(&remote.bare, &away).unwrap();
    says(&flower.fails(&["main", "pull"], 1)["message"], "upstream gives nothing");
    change(&flower, "two", "two", "work\n");
    let landed = lands(&flower, "two");
    eventually("it is recorded", || {
        events(&flower, "push_failed")
            .iter()
            .any(|event| event["body"]["commit"] == landed["merge_commit"])
            .then_some(())
    });
    fs::rename(&away, &remote.bare).unwrap();
    flower.ok(&["main", "push"]);
    assert_eq!(remote.tip(&flower), landed["merge_commit"]);
}

/// It takes the call and says nothing.
#[test]
fn a_remote_that_hangs_delays_no_landing() {
    let flower = Flower::new();
    Remote::of(&flower, PUSH);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git://127.0.0.1:{}/repository", silent.local_addr().unwrap().port());
    flower.git(&flower.repo, &["remote", "set-url", "upstream", &address]);
    change(&flower, "one", "one", "work\n");
    lands(&flower, "one");
    let (_call, _) = silent.accept().expect("a push");
    let start = Instant::now();
    retired(&flower, "one");
    change(&flower, "two", "two", "work\n");
    lands(&flower, "two");
    assert_eq!(flower.json(&["main"])["state"], "stable");
    assert!(flower.repo.join("two").exists());
    let mut pull = flower.command(&["main", "pull"]).spawn().expect("flower runs");
    let (_another, _) = silent.accept().expect("a pull");
    change(&flower, "three", "three", "work\n");
    lands(&flower, "three");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let start = Instant::now();
    flower.ok(&["down"]);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(!pull.wait().unwrap().success());
}

/// The remote's first-parent history does not go through MAIN: it has merged MAIN as the other side.
#[test]
fn main_is_not_moved_forward_past_its_own_landings() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    change(&flower, "one", "ours", "ours\n");
    let landed = lands(&flower, "one");
    put(&flower, &remote.other.join("theirs"), "theirs\n");
    flower.git(&remote.other, &["add", "--all"]);
    flower.git(&remote.other, &["commit", "--quiet", "--message", "theirs"]);
    flower.git(&remote.other, &["pull", "--quiet", "--no-rebase", "--no-edit", flower.repo.to_str().unwrap(), "main"]);
    flower.git(&remote.other, &["push", "--quiet"]);
    let pulled = pull(&flower);
    assert_eq!((&pulled["state"], &pulled["upstream"]), (&json!("landed"), &Value::Null), "{pulled:#}");
    let parents = git(&flower, &flower.repo, &["rev-parse", "main^1", "main^2"]);
    assert_eq!(parents, format!("{}\n{}", landed["merge_commit"].as_str().unwrap(), remote.tip(&flower)));
    let verified = flower.json(&["main", "verify"]);
    assert_eq!((&verified["ok"], &verified["landings"]), (&json!(true), &json!(2)), "{verified:#}");
}

#[test]
fn what_was_pulled_can_be_verified_reverted_and_pushed() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    // A first try is red; the same commit is green later.
    remote.push(&flower, "bad", "bad\n");
    assert_eq!(pull(&flower)["state"], "rejected");
    fs::remove_file(remote.other.join("bad")).unwrap();
    remote.push_all(&flower, "mended");
    let pulled = pull(&flower);
    assert_eq!((&pulled["state"], &pulled["upstream"]), (&json!("landed"), &json!(2)), "{pulled:#}");
    change(&flower, "one", "ours", "ours\n");
    lands(&flower, "one");
    let verified = flower.json(&["main", "verify"]);
    assert_eq!((&verified["ok"], &verified["landings"]), (&json!(true), &json!(2)), "{verified:#}");
    remote.push(&flower, "theirs", "theirs\n");
    let pulled = pull(&flower);
    let id = number(&pulled).to_string();
    let reverted = settlement(&flower.run(&["revert", &id, "--why", "no", "--wait", "--json"]));
    assert_eq!(reverted["state"], "landed", "{reverted:#}");
    assert!(!flower.repo.join("theirs").exists() && flower.repo.join("ours").exists());
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
    flower.ok(&["main", "push"]);
    assert_eq!(remote.tip(&flower), tip(&flower));
    // A commit above what was pulled, by hand, is none of the remote's.
    remote.push(&flower, "more", "more\n");
    assert_eq!(pull(&flower)["upstream"], 1);
    flower
        .git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "--message", "x"]);
    assert_eq!(flower.run(&["main", "verify"]).code, 1);
}

#[test]
fn a_kill_at_every_step_leaves_a_pull_before_or_after() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    for (count, place) in
        ["landing.begun", "landing.checked", "main.journal", "main.moved", "main.tree", "landing.recorded"]
            .into_iter()
            .enumerate()
    {
        let before = tip(&flower);
        let pushed = remote.push(&flower, "theirs", &format!("{count}\n"));
        let mut daemon = dying_at(&flower, place);
        let _ = flower.run(&["main", "pull"]);
        daemon.wait().expect("it dies");
        assert!([&before, &pushed].contains(&&tip(&flower)), "{place}");
        flower.start();
        if flower.json(&["queue"]) == json!([]) {
            flower.run(&["main", "pull", "--wait"]);
        }
        eventually("it has landed", || (flower.json(&["queue"]) == json!([])).then_some(()));
        assert_eq!(tip(&flower), pushed, "{place}");
        assert_main_is_whole(&flower);
        let verified = flower.json(&["main", "verify"]);
        assert_eq!(
            (&verified["ok"], &verified["landings"]),
            (&json!(true), &json!(count + 1)),
            "{place}: {verified:#}"
        );
    }
}

#[test]
fn git_pull_in_main_is_put_back_and_main_pull_is_offered() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    let pushed = remote.push(&flower, "theirs", "theirs\n");
    let before = main_now(&flower);
    let mut git = Command::new("git");
    let output = flower.in_own_environment(git.args(["pull", "--quiet", "upstream", "main"]).current_dir(&flower.repo));
    assert!(!output.output().unwrap().status.success());
    eventually("it is put back", || events(&flower, "main_put_back").first().cloned());
    assert_main_is(&flower, &before, "put back");
    says(&flower.json(&["main"])["notes"], "flower main pull");
    assert_eq!(pull(&flower)["state"], "landed");
    assert_eq!(tip(&flower), pushed);
    assert_eq!(events(&flower, "main_alarm"), [Value::Null; 0]);
}

#[test]
fn a_remote_that_conflicts_is_settled_in_a_worktree() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    says(&flower.fails(&["main", "settle"], 1)["hints"], "flower main pull");
    change(&flower, "one", "README.md", "ours\n");
    lands(&flower, "one");
    let theirs = remote.push(&flower, "README.md", "theirs\n");
    let pulled = flower.run(&["main", "pull", "--wait", "--json"]);
    assert!(pulled.code == 4 && pulled.stderr.contains("in which it is settled: `flower main settle`"), "{pulled:?}");
    let inbox = flower.json(&["inbox"]);
    assert_eq!((&inbox[0]["cause"], inbox.as_array().unwrap().len()), (&json!("remote_conflicts"), 1), "{inbox:#}");
    assert_eq!(inbox[0]["next"], "flower main settle --project repo");
    let refused = flower.fails(&["main", "push"], 1);
    says(&refused["message"], "do not merge with MAIN");
    assert_eq!(refused["hints"], json!(["settle them: `flower main settle`"]));
    // It begins at that commit too, for other work.
    new(&flower, "other", &["--from", &theirs]);
    let settle = flower.json(&["main", "settle"]);
    assert_eq!(inside_ok(&flower, "other", "cat README.md; git status --porcelain"), "theirs");
    let again = flower.fails(&["main", "settle"], 4);
    says(&again["message"], "worktree `settle-1` already begins at that commit");
    says(&again["hints"], "flower worktree shell settle-1");
    assert_eq!(
        (&settle["worktree"]["name"], &settle["paths"]),
        (&json!("settle-1"), &json!(["README.md"])),
        "{settle:#}"
    );
    assert_eq!(settle["commit"], theirs.as_str());
    let conflict = inside_ok(&flower, "settle-1", "cat README.md");
    assert!(conflict.contains("<<<<<<<"), "{conflict}");
    inside_ok(&flower, "settle-1", "echo both > README.md; git commit -qam settled");
    let landed = lands(&flower, "settle-1");
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "both\n", "{landed:#}");
    git(&flower, &flower.repo, &["merge-base", "--is-ancestor", &theirs, "main"]);
    assert_eq!(flower.json(&["inbox"]), json!([]));
    assert_eq!(flower.json(&["main", "pull"])["landing"], Value::Null);
    flower.ok(&["main", "push"]);
    assert_eq!(remote.tip(&flower), tip(&flower));
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn a_settlement_that_is_killed_is_completed_by_the_next_one() {
    let flower = Flower::new();
    let remote = Remote::of(&flower, "");
    change(&flower, "one", "README.md", "ours\n");
    lands(&flower, "one");
    remote.push(&flower, "README.md", "theirs\n");
    assert_eq!(flower.run(&["main", "pull", "--wait"]).code, 4);
    let mut daemon = dying_at(&flower, flower_engine::failpoint::SETTLE_NAME);
    assert_eq!(flower.run(&["main", "settle"]).code, 5);
    assert!(!daemon.wait().unwrap().success());
    let unmerged = inside_ok(&flower, "settle-1", "cat README.md");
    assert_eq!(unmerged, "theirs");
    let settle = flower.json(&["main", "settle"]);
    assert_eq!(settle["worktree"]["name"], "settle-1", "{settle:#}");
    let conflict = inside_ok(&flower, "settle-1", "cat README.md");
    assert!(conflict.contains("<<<<<<<"), "{conflict}");
    says(&flower.fails(&["main", "settle"], 4)["message"], "worktree `settle-1` already begins at that commit");
}
