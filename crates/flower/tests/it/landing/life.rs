//! A landing from the queue to MAIN and back: order, freezing, stopping, and what becomes of briefs, worktrees and history.

use super::*;
use std::time::{Duration, Instant};

/// A brief whose plan is accepted.
fn brief(flower: &Flower, title: &str, more: &[&str]) -> u64 {
    let spec = flower.file("spec.md", "# Plan\n\nDo it.\n");
    let brief = flower.json(&[&["brief", "new", title, "--spec", &spec], more].concat());
    let number = brief["number"].as_u64().unwrap_or_else(|| panic!("{brief}"));
    flower.ok(&["brief", "accept", &number.to_string()]);
    number
}

fn status(flower: &Flower, brief: u64) -> String {
    flower.json(&["brief", "show", &brief.to_string()])["status"].as_str().unwrap().to_owned()
}

fn for_brief(flower: &Flower, name: &str, brief: u64) {
    new(flower, name, &["--linked", "--brief", &brief.to_string()]);
    change(flower, name, name, "work\n");
}

/// The numbers of what waits, in order.
fn waiting(flower: &Flower) -> Vec<u64> {
    flower.json(&["queue"]).as_array().unwrap().iter().map(number).collect()
}

/// Titles of MAIN's first-parent history, newest first.
fn history(flower: &Flower) -> Vec<String> {
    let log = git(flower, &flower.repo, &["log", "--first-parent", "--format=%s", "main"]);
    log.lines().map(str::to_owned).collect()
}

/// A check that takes for ever as long as there is a file `slow`.
fn slow(mark: u64) -> String {
    check(&format!("if [ -e slow ]; then sleep {mark}; fi"))
}

fn begun(flower: &Flower, landing: u64, mark: u64) {
    becomes(flower, landing, "checking");
    eventually("its check runs", || running(mark).iter().any(|line| line.starts_with("sleep")).then_some(()));
}

#[test]
fn the_queue_follows_priority_and_age_but_dependencies_land_first() {
    let flower = serving(&[GREEN]);
    let needed = brief(&flower, "needed", &[]);
    let needs = brief(&flower, "needs", &["--needs", &needed.to_string()]);
    flower.ok(&["freeze", "to look at the order"]);
    let mut numbers = Vec::new();
    for_brief(&flower, "needs", needs);
    numbers.push(queue(&flower, "needs", &["--priority", "high"]));
    says(&landing(&flower, numbers[0])["reason"], &format!("it needs brief {needed}, which is planned"));
    for (name, priority) in [("low", "low"), ("normal", "normal"), ("high", "high")] {
        change(&flower, name, name, "work\n");
        numbers.push(queue(&flower, name, &["--priority", priority]));
    }
    for_brief(&flower, "needed", needed);
    numbers.push(queue(&flower, "needed", &["--priority", "low"]));
    let [first, low, normal, high, last] = numbers[..] else { panic!("{numbers:?}") };
    assert_eq!(waiting(&flower), [high, normal, low, last, first]);
    says(&landing(&flower, first)["reason"], &format!("it needs landing {last}"));
    flower.ok(&["thaw"]);
    becomes(&flower, first, "landed");
    assert_eq!(history(&flower)[..5], ["needs", "needed", "low", "normal", "high"]);
    assert_eq!(waiting(&flower), [0; 0]);
}

#[test]
fn nothing_lands_while_it_is_frozen() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &check(&format!("if [ -e slow ]; then sleep 1.{mark}; fi")))]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let main = flower.json(&["freeze", "the release"]);
    assert_eq!((&main["state"], &main["reason"]), (&json!("frozen"), &json!("the release")), "{main:#}");
    let queued = queue(&flower, "one", &[]);
    flower.wait_for_pass("merge_queue");
    says(&landing(&flower, queued)["reason"], "the queue is frozen: the release; `flower thaw`");
    assert_main_is(&flower, &before, "frozen");
    assert_eq!(flower.json(&["thaw"])["state"], "stable");
    becomes(&flower, queued, "landed");
    // Frozen while its check runs: it goes back, and lands later.
    change(&flower, "two", "slow", "");
    let before = main_now(&flower);
    let queued = queue(&flower, "two", &[]);
    begun(&flower, queued, mark);
    flower.ok(&["freeze"]);
    says(&becomes(&flower, queued, "queued")["reason"], "frozen");
    assert_main_is(&flower, &before, "frozen during its check");
    flower.ok(&["thaw"]);
    becomes(&flower, queued, "landed");
}

#[test]
fn halt_stops_a_running_check_and_nothing_lands() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &slow(mark))]);
    change(&flower, "one", "slow", "");
    change(&flower, "two", "x", "x\n");
    let before = main_now(&flower);
    let first = queue(&flower, "one", &[]);
    let second = queue(&flower, "two", &[]);
    begun(&flower, first, mark);
    let start = Instant::now();
    flower.ok(&["halt", "something is wrong"]);
    assert_ended(mark);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    becomes(&flower, first, "queued");
    flower.wait_for_pass("merge_queue");
    for number in [first, second] {
        let landing = landing(&flower, number);
        assert_eq!(landing["state"], "queued", "{landing:#}");
        says(&landing["reason"], "the queue is frozen: something is wrong");
    }
    assert_main_is(&flower, &before, "halted");
    assert_eq!(flower.json(&["main"])["state"], "frozen");
    flower.ok(&["queue", "cancel", &first.to_string()]);
    flower.ok(&["thaw"]);
    becomes(&flower, second, "landed");
    assert!(!flower.repo.join("slow").exists());
}

#[test]
fn a_landing_cancelled_during_its_check_ends_and_the_next_one_follows() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &slow(mark))]);
    let brief = brief(&flower, "slow", &[]);
    for_brief(&flower, "one", brief);
    change(&flower, "one", "slow", "");
    change(&flower, "two", "x", "x\n");
    let first = queue(&flower, "one", &[]);
    begun(&flower, first, mark);
    let second = queue(&flower, "two", &[]);
    says(&landing(&flower, second)["reason"], &format!("landing {first} goes before it"));
    assert_eq!(status(&flower, brief), "in_review");
    let cancelled = flower.json(&["queue", "cancel", &first.to_string()]);
    assert_eq!(cancelled["state"], "cancelled", "{cancelled:#}");
    assert_ended(mark);
    becomes(&flower, second, "landed");
    assert_eq!(landing(&flower, first)["state"], "cancelled");
    assert_eq!(status(&flower, brief), "in_progress");
    assert!(!flower.repo.join("slow").exists());
    assert!(tree(&flower, "one").join("slow").exists(), "its work stays where it is");
    assert_eq!(flower.fails(&["queue", "cancel", &first.to_string()], 1)["kind"], "refused");
}

#[test]
fn of_one_worktree_the_newest_landing_counts() {
    let mark = mark();
    let flower = serving(&[("flower.toml", &slow(mark))]);
    change(&flower, "one", "slow", "");
    let first = queue(&flower, "one", &[]);
    begun(&flower, first, mark);
    assert_eq!(flower.fails(&["land", "one"], 4)["kind"], "conflict", "the same commit twice");
    fs::remove_file(tree(&flower, "one").join("slow")).unwrap();
    change(&flower, "one", "x", "x\n");
    let second = lands(&flower, "one");
    assert_ended(mark);
    let replaced = landing(&flower, first);
    assert_eq!(replaced["state"], "cancelled", "{replaced:#}");
    says(&replaced["reason"], &format!("replaced by landing {}", number(&second)));
    assert!(flower.repo.join("x").exists() && !flower.repo.join("slow").exists());
}

#[test]
fn every_landing_waits_where_the_settings_say_so() {
    let text = format!("{}[land]\napprove = \"operator\"\n", GREEN.1);
    let flower = serving(&[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], "every landing waits for the operator");
    assert_main_is(&flower, &before, "not approved");
    // Others pass it by, but not without approval of their own.
    change(&flower, "two", "y", "y\n");
    assert_eq!(land(&flower, "two")["state"], "approval");
    approve(&flower, number(&held));
    assert!(flower.repo.join("x").exists() && !flower.repo.join("y").exists());
}

#[test]
fn briefs_follow_their_landings() {
    let flower = serving(&[("flower.toml", &check("test ! -e bad"))]);
    let epic = flower.json(&["brief", "new", "epic", "--kind", "epic"])["number"].as_u64().unwrap();
    let first = brief(&flower, "first", &["--epic", &epic.to_string()]);
    let second = brief(&flower, "second", &["--epic", &epic.to_string(), "--needs", &first.to_string()]);
    for_brief(&flower, "first", first);
    change(&flower, "first", "bad", "");
    let rejected = land(&flower, "first");
    assert_eq!(rejected["state"], "rejected", "{rejected:#}");
    assert_eq!(rejected["briefs"], json!([first]));
    assert_eq!(status(&flower, first), "in_progress");
    let trace = flower.json(&["brief", "trace", &first.to_string()]).to_string();
    let in_review = trace.find("\"to\":\"in_review\"").expect("it was in review");
    assert!(in_review < trace.find("\"to\":\"in_progress\"").unwrap_or(0), "{trace}");
    fs::remove_file(tree(&flower, "first").join("bad")).unwrap();
    commit_inside(&flower, "first", "mended");
    assert_eq!(events(&flower, "dependency_met").len(), 0);
    let landed = lands(&flower, "first");
    assert_eq!((status(&flower, first), status(&flower, epic)), ("landed".to_owned(), "draft".to_owned()));
    let met = events(&flower, "dependency_met");
    assert_eq!((met.len(), &met[0]["brief"], &met[0]["body"]["needs"]), (1, &json!(second), &json!(first)), "{met:?}");
    let page = flower.json(&["brief", "show", &first.to_string()]).to_string();
    assert!(page.contains(landed["merge_commit"].as_str().unwrap()), "it is linked: {page}");
    // The second one comes by hand: `--brief`.
    change(&flower, "other", "other", "work\n");
    land_with(&flower, "other", &["--brief", &second.to_string()]);
    assert_eq!((status(&flower, second), status(&flower, epic)), ("landed".to_owned(), "landed".to_owned()));
    assert_eq!(history(&flower)[0], "second", "a landing is called as its brief");
}

#[test]
fn revert_takes_a_landing_back() {
    let flower = serving(&[("flower.toml", &check("true")), ("kept", "kept\n"), ("gone", "gone\n")]);
    let brief = brief(&flower, "a change", &[]);
    let before = main_now(&flower);
    for_brief(&flower, "one", brief);
    put(&flower, &tree(&flower, "one").join("kept"), "changed\n");
    fs::remove_file(tree(&flower, "one").join("gone")).unwrap();
    commit_inside(&flower, "one", "more");
    let landed = lands(&flower, "one");
    assert_eq!(status(&flower, brief), "landed");
    // Something else lands meanwhile, and stays.
    change(&flower, "two", "two", "work\n");
    lands(&flower, "two");
    let id = number(&landed).to_string();
    let reverted = settlement(&flower.run(&["revert", &id, "--why", "it broke the page", "--wait", "--json"]));
    assert_eq!((&reverted["state"], &reverted["source"]), (&json!("landed"), &json!("revert")), "{reverted:#}");
    assert_eq!(reverted["reverts"], landed["id"]);
    assert_eq!(reverted["checks"][0]["ok"], true, "it is checked, too: {reverted:#}");
    assert_eq!(landing(&flower, number(&landed))["state"], "rolled_back");
    assert_eq!(status(&flower, brief), "parked");
    assert_eq!(events(&flower, "rolled_back")[0]["body"]["by"], reverted["id"]);
    fs::remove_file(flower.repo.join("two")).unwrap();
    assert_eq!(differences(&before.1, &files(&flower.repo)), [""; 0]);
    flower.git(&flower.repo, &["checkout", "--quiet", "two"]);
    assert_main_is_whole(&flower);
    assert_eq!(flower.fails(&["revert", &id, "--why", "x"], 1)["kind"], "refused", "once is enough");
    let verified = flower.json(&["main", "verify"]);
    assert_eq!((&verified["ok"], &verified["landings"]), (&json!(true), &json!(3)), "{verified:#}");
    // And that can be taken back in its turn.
    let again = settlement(&flower.run(&[
        "revert",
        &number(&reverted).to_string(),
        "--why",
        "it was right",
        "--wait",
        "--json",
    ]));
    assert_eq!(again["state"], "landed", "{again:#}");
    assert_eq!(fs::read_to_string(flower.repo.join("kept")).unwrap(), "changed\n");
    assert!(!flower.repo.join("gone").exists() && flower.repo.join("one").exists());
}

#[test]
fn a_revert_of_lines_changed_since_is_refused() {
    let flower = serving(&[GREEN, ("a", "1\n")]);
    change(&flower, "one", "a", "2\n");
    let first = number(&lands(&flower, "one")).to_string();
    change(&flower, "two", "a", "3\n");
    lands(&flower, "two");
    let before = main_now(&flower);
    let error = flower.fails(&["revert", &first, "--why", "x"], 4);
    says(&error["message"], "a changed since");
    assert_main_is(&flower, &before, "in conflict");
}

#[test]
fn an_ephemeral_worktree_goes_once_it_has_landed_and_comes_back() {
    let flower = serving(&[GREEN, (".gitignore", "build\n")]);
    for (name, seal) in [("sealed", "--sealed"), ("linked", "--linked")] {
        new(&flower, name, &[seal]);
        change(&flower, name, name, "work\n");
        put(&flower, &tree(&flower, name).join("build/out"), "built\n");
        let before = files(&tree(&flower, name));
        let landed = lands(&flower, name);
        retired(&flower, name);
        settled(&flower);
        assert!(!tree(&flower, name).exists());
        flower.ok(&["worktree", "restore", name]);
        assert_eq!(differences(&before, &files(&tree(&flower, name))), [""; 0], "{name}");
        assert_eq!(inside_ok(&flower, name, "git status --porcelain; git rev-parse HEAD"), landed["commit"], "{name}");
        flower.ok(&["worktree", "remove", name]);
        settled(&flower);
    }
}

#[test]
fn an_ephemeral_worktree_with_more_to_come_stays_and_says_why() {
    let flower = serving(&[GREEN]);
    change(&flower, "one", "x", "x\n");
    put(&flower, &tree(&flower, "one").join("not-committed"), "work\n");
    lands(&flower, "one");
    let told = eventually("it is told", || events(&flower, "worktree_synced").first().cloned());
    says(&told["body"]["why_not"], "it has changes that are not committed");
    assert_eq!(fs::read_to_string(tree(&flower, "one").join("not-committed")).unwrap(), "work\n");
    // A second landing of it is as good as the first.
    commit_inside(&flower, "one", "more");
    lands(&flower, "one");
    retired(&flower, "one");
}

#[test]
fn lanes_are_brought_up_to_date_or_told_why_not() {
    let flower = serving(&[GREEN]);
    for name in ["clean", "dirty", "busy", "conflict"] {
        new(&flower, name, &["--lane"]);
    }
    put(&flower, &tree(&flower, "dirty").join("README.md"), "edited\n");
    change(&flower, "conflict", "x", "another\n");
    let busy = Running::inside(&flower, "busy");
    change(&flower, "one", "x", "x\n");
    let landed = lands(&flower, "one");
    let tip = landed["merge_commit"].clone();
    let synced = eventually("all of them are told", || {
        let synced = events(&flower, "worktree_synced");
        (synced.len() == 4).then_some(synced)
    });
    let lanes = flower.json(&["worktree"]);
    let told = |name: &str| {
        let lane = lanes.as_array().unwrap().iter().find(|lane| lane["name"] == name).unwrap();
        let of = |event: &&Value| event["body"]["number"] == lane["number"];
        let event = synced.iter().find(of).unwrap_or_else(|| panic!("{name} is not told: {synced:#?}"));
        assert_eq!(event["body"]["onto"], tip, "{event}");
        event["body"]["why_not"].clone()
    };
    assert_eq!(told("clean"), Value::Null);
    assert_eq!(fs::read_to_string(tree(&flower, "clean").join("x")).unwrap(), "x\n");
    assert_eq!(show(&flower, "clean")["behind"], 0);
    says(&told("dirty"), "not committed");
    says(&told("busy"), "at work");
    says(&told("conflict"), "x");
    assert_eq!(fs::read_to_string(tree(&flower, "dirty").join("README.md")).unwrap(), "edited\n");
    assert_eq!(fs::read_to_string(tree(&flower, "conflict").join("x")).unwrap(), "another\n");
    assert!(!tree(&flower, "busy").join("x").exists() && !tree(&flower, "dirty").join("x").exists());
    drop(busy);
}

const AUTHOR: &str =
    "export GIT_AUTHOR_NAME='An Agent' GIT_AUTHOR_EMAIL=agent@example.com GIT_AUTHOR_DATE='1700000000 +0200';";

/// A worktree of three commits, one of which claims to be flower's.
fn three_commits(flower: &Flower) -> u64 {
    let brief = brief(flower, "three commits", &[]);
    new(flower, "one", &["--brief", &brief.to_string()]);
    inside_ok(
        flower,
        "one",
        &format!(
            "{AUTHOR} for n in 1 2 3; do
                 echo $n > file$n; git add file$n
                 git commit -qm \"number $n\" -m 'Body.' -m \"Flower-Landing: 999\nFlower-Brief: 999\nSigned-off-by: A\"
             done"
        ),
    );
    brief
}

fn with_history(history: &str) -> Flower {
    let flower =
        serving(&[("flower.toml", &format!("{}[land]\nhistory = \"{history}\"\n", check("ls; test ! -e red")))]);
    // MAIN goes on meanwhile.
    three_commits(&flower);
    change(&flower, "other", "other", "work\n");
    lands(&flower, "other");
    flower
}

fn trailers(flower: &Flower, commit: &str) -> String {
    git(flower, &flower.repo, &["log", "-1", "--format=%(trailers:unfold)", commit])
}

fn assert_trailers(flower: &Flower, commit: &str, landing: &Value) {
    let found = trailers(flower, commit);
    let id = number(landing);
    for line in [
        format!("Flower-Landing: {id}"),
        "Flower-Brief: 1".into(),
        "Flower-Worktree: one".into(),
        "Flower-Agent: tester".into(),
    ] {
        assert_eq!(found.lines().filter(|found| **found == line).count(), 1, "`{line}` in {commit}: {found}");
    }
    assert!(!found.contains("999"), "{found}");
}

#[test]
fn history_merge_keeps_the_commits_behind_one_merge() {
    let flower = with_history("merge");
    let before = tip(&flower);
    let landing = lands(&flower, "one");
    assert_eq!(history(&flower)[..2], ["three commits", "other"]);
    let parents = git(&flower, &flower.repo, &["log", "-1", "--format=%P", "main"]);
    assert_eq!(parents, format!("{before} {}", landing["commit"].as_str().unwrap()));
    assert_trailers(&flower, "main", &landing);
    let body = git(&flower, &flower.repo, &["log", "-1", "--format=%b", "main"]);
    assert!(body.contains("- number 1\n- number 2\n- number 3\n"), "{body}");
    assert_eq!(git(&flower, &flower.repo, &["log", "-1", "--format=%an", "main^2"]), "An Agent");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn history_squash_makes_one_commit_of_them() {
    let flower = with_history("squash");
    let before = tip(&flower);
    let landing = lands(&flower, "one");
    let line = git(&flower, &flower.repo, &["log", "-1", "--format=%P|%s|%an|%ae|%ad|%cn", "--date=raw", "main"]);
    assert_eq!(line, format!("{before}|three commits|An Agent|agent@example.com|1700000000 +0200|Tester"));
    assert_trailers(&flower, "main", &landing);
    for file in ["file1", "file2", "file3", "other"] {
        assert!(flower.repo.join(file).exists(), "{file}");
    }
    assert_main_is_whole(&flower);
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
    retired(&flower, "one");
}

#[test]
fn history_rebase_puts_each_commit_on_main_and_checks_each() {
    let flower = with_history("rebase");
    let before = tip(&flower);
    let landing = lands(&flower, "one");
    assert_eq!(history(&flower)[..4], ["number 3", "number 2", "number 1", "other"]);
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "main~3"]), before);
    assert_eq!(git(&flower, &flower.repo, &["log", "--merges", "--format=%s", &format!("{before}..main")]), "");
    for commit in ["main", "main~1", "main~2"] {
        let line = git(&flower, &flower.repo, &["log", "-1", "--format=%an|%ae|%ad|%cn", "--date=raw", commit]);
        assert_eq!(line, "An Agent|agent@example.com|1700000000 +0200|Tester", "{commit}");
        assert_trailers(&flower, commit, &landing);
        assert!(trailers(&flower, commit).contains("Signed-off-by: A"), "{commit}");
    }
    // The check has seen each of them, as it will be on MAIN.
    let seen: Vec<String> = (1..=3)
        .map(|n| fs::read_to_string(flower.home.join(format!("landings/{}/{n}-test.log", number(&landing)))).unwrap())
        .collect();
    let files = |log: &str| log.lines().filter(|line| line.starts_with("file")).count();
    assert_eq!(seen.iter().map(|log| files(log)).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(seen.iter().all(|log| log.contains("other")));
    assert_main_is_whole(&flower);
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
    // One of them is red, and the next one mends it: that is good enough for a merge, not for this.
    new(&flower, "two", &["--linked"]);
    change(&flower, "two", "red", "");
    inside_ok(&flower, "two", "git rm -q red; echo x > green; git add --all; git commit -qm mended");
    let before = main_now(&flower);
    let rejected = land(&flower, "two");
    assert_eq!(rejected["state"], "rejected", "{rejected:#}");
    assert_main_is(&flower, &before, "a commit between is red");
}

#[test]
fn main_log_and_verify_know_every_landing() {
    let flower = serving(&[GREEN]);
    let brief = brief(&flower, "a change", &[]);
    for_brief(&flower, "one", brief);
    let first = lands(&flower, "one");
    change(&flower, "two", "two", "work\n");
    let second = lands(&flower, "two");
    let log = flower.json(&["main", "log"]);
    let seen = |at: usize| {
        (&log[at]["commit"], &log[at]["landing"], &log[at]["worktree"], &log[at]["title"], &log[at]["briefs"])
    };
    assert_eq!(seen(0), (&second["merge_commit"], &second["id"], &json!("two"), &json!("two"), &json!([])));
    assert_eq!(seen(1), (&first["merge_commit"], &first["id"], &json!("one"), &json!("a change"), &json!([brief])));
    assert_eq!((&log[2]["landing"], &log[2]["title"]), (&Value::Null, &json!("files")));
    let proof = flower.json(&["main", "verify"]);
    assert_eq!(
        (&proof["ok"], &proof["landings"], &proof["problems"]),
        (&json!(true), &json!(2), &json!([])),
        "{proof:#}"
    );
    // A commit by hand, with trailers as flower would write them.
    let forged = format!("forged\n\nFlower-Landing: {}\nFlower-Agent: tester\n", second["id"]);
    flower.git(
        &flower.repo,
        &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "--message", &forged],
    );
    let output = flower.run(&["main", "verify", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let proof: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(proof["ok"], false, "{proof:#}");
    says(&proof["problems"], "(forged) is on MAIN, and no landing of flower's brought it");
    flower.ok(&["main", "restore"]);
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn a_landing_is_followed_in_the_log_by_its_number() {
    let flower = serving(&[GREEN]);
    new(&flower, "work", &[]);
    change(&flower, "work", "file", "work\n");
    let landed = flower.json(&["land", "work", "--wait"]);
    assert_eq!((number(&landed), landed["state"].as_str()), (1, Some("landed")), "{landed}");
    let log = std::fs::read_to_string(flower.home.join("daemon.log")).expect("a log");
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("stream=landing/1 ") || line.contains("landing{number=1}")).collect();
    for kind in ["landing_queued", "landing_checking", "checks_ran", "landed"] {
        assert!(lines.iter().any(|line| line.contains(&format!("{kind}: "))), "no {kind} in {lines:#?}");
    }
    let checking = lines.iter().find(|line| line.contains("landing_checking: ")).expect("a line");
    assert!(checking.contains("landing{number=1}"), "the span of the landing: {checking}");
    let queued = lines.iter().find(|line| line.contains("landing_queued: ")).expect("a line");
    assert!(queued.contains("request{id="), "the span of the request: {queued}");
}

/// Other tests rely on it to prove that nothing happens.
#[test]
fn every_background_loop_reports_its_passes() {
    let flower = serving(&[GREEN]);
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit --quiet --message x");
    lands(&flower, "one");
    for name in flower_engine::passes::LOOPS {
        flower.wait_until_idle(name);
    }
}

/// The subjects of all commits that MAIN reaches.
fn titles(flower: &Flower) -> Vec<String> {
    git(flower, &flower.repo, &["log", "--format=%s", "main"]).lines().map(str::to_owned).collect()
}

#[test]
fn a_landing_of_one_commit_is_one_commit_in_main() {
    let flower = serving(&[GREEN]);
    for (seal, name) in ["--sealed", "--linked"].into_iter().zip(["sealed", "linked"]) {
        let before = tip(&flower);
        new(&flower, name, &[seal]);
        let script = format!(
            "echo x > {name}; git add {name}; git -c user.name=Ann -c user.email=ann@example.com commit -q \
             -m 'Add {name}' -m 'Because.' -m 'Reviewed-by: Bob <bob@example.com>' --date='1700000000 +0200'"
        );
        inside_ok(&flower, name, &script);
        let landed = lands(&flower, name);
        assert_ne!(landed["merge_commit"], landed["commit"]);
        let line = git(&flower, &flower.repo, &["log", "-1", "--format=%P|%s|%an|%ae|%ad|%cn", "--date=raw", "main"]);
        assert_eq!(line, format!("{before}|Add {name}|Ann|ann@example.com|1700000000 +0200|Tester"));
        let body = git(&flower, &flower.repo, &["log", "-1", "--format=%b", "main"]);
        assert!(body.starts_with("Because.\n\nReviewed-by: Bob <bob@example.com>\nFlower-Landing: "), "{body}");
        retired(&flower, name);
        assert_eq!(git(&flower, &flower.repo, &["branch", "--list", &format!("flower/{name}")]), "", "its branch goes");
    }
    flower.ok(&["freeze"]);
    flower.ok(&["thaw"]);
    let reverted = settlement(&flower.run(&["revert", "1", "--why", "no", "--wait", "--json"]));
    assert_eq!(reverted["state"], "landed", "{reverted:#}");
    let titles = titles(&flower);
    let mut once = titles.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), titles.len(), "no title stands twice: {titles:?}");
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

/// To git, a commit that has landed as another one is not in MAIN.
#[test]
fn work_goes_on_upon_a_commit_that_has_landed() {
    let flower = serving(&[GREEN, ("a", "1\n")]);
    for (seal, name) in ["--sealed", "--linked"].into_iter().zip(["sealed", "linked"]) {
        new(&flower, name, &["--lane", seal]);
        // The same line each time. It is brought up to date in between, or not.
        for (step, syncs) in [(1, false), (2, true), (3, false)] {
            inside_ok(&flower, name, &format!("echo {name} {step} > a; git commit -qam '{name} {step}'"));
            if step == 2 {
                // Committed before it is up to date with its own landing.
                flower.ok(&["worktree", "sync", name]);
            }
            let landed = lands(&flower, name);
            assert_eq!(fs::read_to_string(flower.repo.join("a")).unwrap(), format!("{name} {step}\n"), "{landed:#}");
            assert_eq!(git(&flower, &flower.repo, &["log", "-1", "--format=%s", "main"]), format!("{name} {step}"));
            if syncs {
                flower.ok(&["worktree", "sync", name]);
            }
            says(&flower.fails(&["land", name], 1)["message"], "has nothing that is not in MAIN");
        }
        let parents = git(&flower, &flower.repo, &["log", "--format=%p", "--first-parent", "-3", "main"]);
        assert!(parents.lines().all(|line| !line.contains(' ')), "{parents}");
        // Taken back in the lane itself, it is work that MAIN has not.
        let before = fs::read_to_string(flower.repo.join("a")).unwrap();
        inside_ok(&flower, name, "echo other > a; git commit -qam 'taken back'");
        assert_eq!(show(&flower, name)["state"], "ready");
        lands(&flower, name);
        assert_ne!(fs::read_to_string(flower.repo.join("a")).unwrap(), before);
    }
    assert_main_is_whole(&flower);
    assert_eq!(flower.json(&["main", "verify"])["ok"], true);
}

#[test]
fn a_client_that_waits_for_a_landing_outlives_a_killed_daemon() {
    let flower = serving(&[]);
    change(&flower, "one", "x", "x\n");
    flower.ok(&["freeze", "release"]);
    let command = flower.command(&["land", "one", "--wait"]);
    let waits = std::thread::spawn(move || crate::common::finish(command));
    eventually("it is queued", || (flower.json(&["queue"])[0]["state"] == "queued").then_some(()));
    let killed = flower.pid();
    let pid = rustix::process::Pid::from_raw(killed.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // No other command starts the next daemon.
    eventually("the client starts the next daemon", || {
        let lock = std::fs::read_to_string(flower.home.join("lock")).unwrap_or_default();
        let holder: Value = serde_json::from_str(&lock).unwrap_or_default();
        (holder["pid"] != killed && holder["port"].is_u64()).then_some(())
    });
    flower.ok(&["thaw"]);
    let output = waits.join().unwrap();
    assert!(output.code == 0 && output.stdout.contains("landed"), "{output:?}");
}
