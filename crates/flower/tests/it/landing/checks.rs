//! The checks: every check ends, its output is bounded, and only a green one moves MAIN.

use super::*;
use std::time::{Duration, Instant};

/// Settings with one check, and more lines below it.
fn settings(run: &str, more: &str) -> String {
    format!("{}{more}", check(run))
}

const ONCE: &str = "[land]\nretries = 0\n";

fn log_of(flower: &Flower, landing: &Value) -> String {
    flower.ok(&["queue", "log", &number(landing).to_string(), "test"])
}

#[test]
fn a_check_that_hangs_is_ended_with_all_that_it_started() {
    let mark = mark();
    let run = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep {mark}' & (sleep {mark} &); echo begun; sleep {mark}"
    );
    let text = format!("[checks]\ntest = {{ run = {}, timeout = \"2s\" }}\n{ONCE}", json!(run));
    let flower = serving(&[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let start = Instant::now();
    let queued = queue(&flower, "one", &[]);
    eventually("it hangs", || (running(mark).len() >= 3).then_some(()));
    let landing = becomes(&flower, queued, "rejected");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    says(&landing["reason"], "the check `test` took too long");
    assert_eq!(landing["checks"][0]["code"], 124, "{landing:#}");
    assert_eq!(landing["checks"][0]["log"], "begun\n", "{landing:#}");
    assert_ended(mark);
    assert_main_is(&flower, &before, "hangs");
}

#[test]
fn processes_left_by_a_green_check_are_ended() {
    let mark = mark();
    // Twice forked, in a session of its own, and holding on to the output.
    let run = format!(
        "(setsid sh -c 'sleep {mark} & sleep {mark}' &); (setsid sleep {mark} >/dev/null 2>&1 &); sleep 0.3; echo done"
    );
    let flower = serving(&[("flower.toml", &check(&run))]);
    change(&flower, "one", "x", "x\n");
    let queued = queue(&flower, "one", &[]);
    eventually("they run", || running(mark).iter().any(|line| line.starts_with("sleep")).then_some(()));
    let landing = becomes(&flower, queued, "landed");
    assert_eq!(landing["checks"][0]["log"], "done\n", "{landing:#}");
    assert_ended(mark);
}

#[test]
fn a_flood_of_output_is_kept_in_bounds() {
    let run = "echo the beginning; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end";
    let flower = serving(&[("flower.toml", &check(run))]);
    change(&flower, "one", "x", "x\n");
    let landing = lands(&flower, "one");
    let file = Path::new(landing["checks"][0]["log_file"].as_str().unwrap()).to_owned();
    let size = fs::metadata(&file).unwrap().len();
    assert!(size < 6 << 20, "{size} bytes");
    let log = fs::read_to_string(&file).unwrap();
    assert!(
        log.starts_with("the beginning\n") && log.ends_with("the end\n") && log.contains("bytes are left out here")
    );
    let shown = landing["checks"][0]["log"].as_str().unwrap();
    assert!(shown.len() <= 4096 && shown.ends_with("the end\n"), "{} bytes", shown.len());
    assert!(flower.memory("VmHWM") < 300_000, "{} kB", flower.memory("VmHWM"));
}

#[test]
fn a_check_that_deletes_everything_it_can_deletes_only_its_own_tree() {
    let flower = Flower::new();
    let (repo, home) = (flower.repo.display(), flower.home.display());
    let text = format!(
        "[checks]\nwreck = {{ run = \"rm -rf -- * .[!.]* {repo} {home} 2>/dev/null; test ! -e README.md\" }}\n\
         after = {{ run = \"test -e README.md\" }}\n"
    );
    serve(&flower, &[("flower.toml", &text), ("a/b/c", "c\n")]);
    let before = files(&flower.repo);
    change(&flower, "one", "x", "x\n");
    let landing = lands(&flower, "one");
    assert_eq!(landing["checks"].as_array().unwrap().len(), 2, "{landing:#}");
    assert_eq!(differences(&before, &files(&flower.repo)).len(), 1, "only what has landed is new");
    assert_main_is_whole(&flower);
    retired(&flower, "one");
    change(&flower, "two", "y", "y\n");
    lands(&flower, "two");
}

#[test]
fn every_check_sees_exactly_the_commit() {
    as_each_user_unserved(|flower| {
        let text = "[checks]\ntest = { run = \"sh ./test.sh\" }\nscan = { run = \"! grep -rn EVIL src && test ! -e $HOME/left && \
                    test ! -e /tmp/left && test ! -e left && git diff --exit-code && test -z \\\"$(git stash list)\\\"\" }\n[land]\nretries = 0\n";
        serve(flower, &[("flower.toml", text), ("test.sh", "exit 0\n"), ("src/a", "a\n")]);
        new(flower, "one", &[]);
        let hide = "rm -f src/b; touch left $HOME/left /tmp/left; git update-index --assume-unchanged src/b; exit 0\n";
        put(flower, &tree(flower, "one").join("test.sh"), hide);
        put(flower, &tree(flower, "one").join("src/b"), "EVIL\n");
        commit_inside(flower, "one", "hides it");
        let landing = land(flower, "one");
        assert_eq!(landing["state"], "rejected", "{landing:#}");
        says(&landing["reason"], "the check `scan` failed");
        assert!(!flower.repo.join("src/b").exists());
        // What the first check leaves behind is nothing to the second.
        put(flower, &tree(flower, "one").join("src/b"), "good\n");
        commit_inside(flower, "one", "good");
        lands(flower, "one");
    });
}

#[test]
fn a_check_that_cannot_be_started_is_red_with_a_reason() {
    for (run, said) in [("no-such-program --all", "no-such-program"), ("./scripts/check.sh", "scripts/check.sh")] {
        let flower = serving(&[("flower.toml", &settings(run, ONCE))]);
        change(&flower, "one", "x", "x\n");
        let before = main_now(&flower);
        let landing = land(&flower, "one");
        assert_eq!(
            (&landing["state"], &landing["checks"][0]["code"]),
            (&json!("rejected"), &json!(127)),
            "{landing:#}"
        );
        says(&landing["reason"], "was not found (127)");
        says(&landing["checks"][0]["log"], said);
        assert_main_is(&flower, &before, run);
    }
}

#[test]
fn a_check_that_passes_the_second_time_lands_as_flaky() {
    let flower = Flower::new();
    let outside = flower.dir().join("outside");
    let fifo = outside.join("verdict");
    fs::create_dir(&outside).unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let run = format!("read verdict < {}; echo $verdict; test $verdict = green", fifo.display());
    let text = settings(&run, &format!("[worktree]\nread = [{}]\n", json!(outside)));
    serve(&flower, &[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    let queued = queue(&flower, "one", &[]);
    fs::write(&fifo, "red\n").unwrap();
    eventually("the first run is over", || (events(&flower, "checks_ran").len() == 1).then_some(()));
    let red = landing(&flower, queued);
    assert_eq!(red["state"], "checking", "one red run is no verdict: {red:#}");
    fs::write(&fifo, "green\n").unwrap();
    let landed = becomes(&flower, queued, "landed");
    assert_eq!(landed["flaky"], json!(["test"]), "{landed:#}");
    let flaked = events(&flower, "check_flaked");
    assert_eq!((flaked.len(), &flaked[0]["body"]["check"]), (1, &json!("test")), "{flaked:?}");
    let ran = events(&flower, "checks_ran");
    let verdicts: Vec<&Value> = ran.iter().map(|event| &event["body"]["checks"][0]["ok"]).collect();
    assert_eq!(verdicts, [&json!(false), &json!(true)]);
}

#[test]
fn a_check_that_fails_twice_rejects_with_the_end_of_its_output() {
    let flower = serving(&[("flower.toml", &check("seq 5000; echo it is broken >&2; exit 3"))]);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let landing = land(&flower, "one");
    assert_eq!(landing["state"], "rejected", "{landing:#}");
    says(&landing["reason"], "the check `test` failed (3)");
    assert_eq!(events(&flower, "checks_ran").len(), 2);
    assert!(landing["checks"][0]["log"].as_str().unwrap().ends_with("4999\n5000\nit is broken\n"));
    let log = log_of(&flower, &landing);
    assert!(log.starts_with("1\n2\n") && log.ends_with("it is broken\n"), "{} bytes", log.len());
    assert_main_is(&flower, &before, "red");
    // Its work is where it was, and lands once it is mended.
    assert_eq!(show(&flower, "one")["ahead"], 1);
}

#[test]
fn the_first_red_check_is_the_last_one() {
    let text = format!(
        "[checks]\nthird = {{ run = \"true\" }}\nsecond = {{ run = \"false\" }}\nfirst = {{ run = \"true\" }}\n{ONCE}"
    );
    let flower = serving(&[("flower.toml", &text)]);
    change(&flower, "one", "x", "x\n");
    let landing = land(&flower, "one");
    let names: Vec<&Value> = landing["checks"].as_array().unwrap().iter().map(|check| &check["name"]).collect();
    assert_eq!(names, ["third", "second"]);
    says(&landing["reason"], "the check `second` failed");
}

#[test]
fn commands_wait_for_the_operator_and_changed_ones_wait_again() {
    let flower = Flower::new();
    put(&flower, &flower.repo.join("flower.toml"), check("echo it has run"));
    flower.git(&flower.repo, &["add", "flower.toml"]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    prepare(&flower);
    change(&flower, "one", "x", "x\n");
    let before = main_now(&flower);
    let held = land(&flower, "one");
    assert_eq!((&held["state"], &held["checks"]), (&json!("approval"), &json!([])), "{held:#}");
    says(&held["reason"], "these commands are not approved: check test: echo it has run");
    assert_main_is(&flower, &before, "not approved");
    let landed = approve(&flower, number(&held));
    assert_eq!(landed["checks"][0]["log"], "it has run\n", "{landed:#}");
    // Once is enough, as long as they stay the same.
    change(&flower, "two", "y", "y\n");
    lands(&flower, "two");
    change(&flower, "three", "flower.toml", check("echo another"));
    let held = land(&flower, "three");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], "check test: echo another");
    let landed = approve(&flower, number(&held));
    assert_eq!(landed["checks"][0]["log"], "another\n", "what it brings is what it is checked with: {landed:#}");
    change(&flower, "four", "z", "z\n");
    assert_eq!(lands(&flower, "four")["checks"][0]["log"], "another\n");
}

#[test]
fn without_checks_it_lands_and_says_so() {
    let flower = serving(&[]);
    change(&flower, "one", "x", "x\n");
    let landing = lands(&flower, "one");
    says(&landing["reason"], "no checks are configured");
    assert_eq!(landing["checks"], json!([]));
    says(&flower.json(&["main"])["notes"], "no checks are configured");
    let proof = flower.json(&["main", "verify"]);
    assert_eq!(
        (&proof["ok"], &proof["landings"], &proof["unchecked"]),
        (&json!(true), &json!(1), &json!(1)),
        "{proof:#}"
    );
}

#[test]
fn a_check_neither_sees_secrets_nor_reaches_main() {
    as_each_user_unserved(|flower| {
        let (repo, home) = (flower.repo.display().to_string(), flower.home.display().to_string());
        let run = format!(
            "for secret in {repo}/.env {home}/token {home}/flower.db {repo}/.git/config $HOME/../../.env; do
                 if cat $secret; then echo LEAKED $secret; exit 1; fi
             done 2>/dev/null
             for place in {repo}/x {repo}/.git/x {repo}/.git/refs/heads/main {home}/x {home}/token; do
                 echo evil > $place
             done 2>/dev/null
             if env | grep -i -e canary -e FLOWER_TOKEN; then exit 1; fi
             if git -C {repo} log 2>/dev/null; then echo MAIN; exit 1; fi
             test $CI = true && test $FLOWER_LANDING -gt 0 && cat README.md"
        );
        serve(flower, &[("flower.toml", &check(&run)), (".gitignore", ".env\n")]);
        put(flower, &flower.repo.join(".env"), "TOKEN=canary-7f3a91\n");
        new(flower, "one", &[]);
        change(flower, "one", "x", "x\n");
        let (before, token) = (files(&flower.repo), flower.token());
        let landing = land(flower, "one");
        assert_eq!(landing["state"], "landed", "{landing:#}");
        assert_eq!(landing["checks"][0]["log"], "hello\n", "{landing:#}");
        // What it wrote is in a place of its own.
        assert_eq!(differences(&before, &files(&flower.repo)).len(), 1);
        assert!(!flower.home.join("x").exists() && !flower.repo.join(".git/x").exists());
        assert_eq!((tip(flower), flower.token()), (landing["merge_commit"].as_str().unwrap().to_owned(), token));
        assert_main_is_whole(flower);
    });
}

#[test]
fn a_check_has_git_and_what_it_changes_does_not_land() {
    let run = "git log -1 --format=%s; git status --porcelain; git rev-parse HEAD; git diff --name-only HEAD~1
               echo changed > README.md; echo more > more; git add --all; git -c user.name=x -c user.email=x@y commit -qm inside";
    let flower = serving(&[("flower.toml", &check(run))]);
    new(&flower, "one", &[]);
    change(&flower, "one", "x", "x\n");
    let landing = lands(&flower, "one");
    let merge_commit = landing["merge_commit"].as_str().unwrap();
    assert_eq!(log_of(&flower, &landing), format!("x\n{merge_commit}\nx\n"));
    assert_eq!(tip(&flower), merge_commit);
    assert_eq!(fs::read_to_string(flower.repo.join("README.md")).unwrap(), "hello\n");
    assert!(!flower.repo.join("more").exists());
    assert_main_is_whole(&flower);
}

#[test]
fn a_clean_merge_that_breaks_the_check_is_red() {
    let flower = serving(&[("flower.toml", &check("test ! -e a -o ! -e b"))]);
    change(&flower, "one", "a", "a\n");
    change(&flower, "two", "b", "b\n");
    lands(&flower, "one");
    let before = main_now(&flower);
    let landing = land(&flower, "two");
    assert_eq!(landing["state"], "rejected", "{landing:#}");
    says(&landing["reason"], "on the merge with MAIN");
    assert_main_is(&flower, &before, "each is green alone");
}
