//! Claims: one holder, a fence that only grows, and a lease that every sign of life renews.

use super::*;

fn beat(flower: &Flower, token: &str, dispatch: u64, fence: u64) -> Answer {
    call(flower, token, "POST", &format!("/api/dispatches/{dispatch}/beat"), &json!({ "fence": fence }))
}

/// A dispatch but for when its claim ends, which is counted from now.
fn standing(flower: &Flower, dispatch: u64) -> Value {
    let mut shown = show_dispatch(flower, dispatch);
    shown["claim"]["expires_at"] = json!(null);
    shown
}

fn expired(flower: &Flower) -> usize {
    events(flower, "dispatch_expired").len()
}

#[test]
fn the_loser_is_told_who_holds_it() {
    let flower = serving(&[]);
    dispatched(&flower, planned(&flower, "One"), &json!({}));
    let held = flower.json(&["claim", "1", "--as", "ada"]);
    assert_eq!((&held["state"], &held["claim"]["holder"]), (&json!("executing"), &json!("ada")), "{held}");
    assert!(held["base"].is_string() && held["claim"]["expires_at"].is_string(), "{held}");
    let lost = flower.fails(&["claim", "1", "--as", "bob"], 4);
    says(&lost["message"], "dispatch 1 is claimed by `ada`, for another 15 minutes");
    says(&lost["hints"], "flower claim --next");
    assert_eq!(flower.fails(&["claim", "--next"], 3)["message"], "nothing waits to be claimed");
    dispatched(&flower, planned(&flower, "Two"), &json!({}));
    assert_eq!(flower.json(&["claim", "--next", "--as", "bob"])["id"], 2);
    let two = show_brief(&flower, 2);
    let on_it = two["participants"].as_array().expect("a list").iter().find(|p| p["name"] == "bob").expect("bob");
    assert_eq!((&on_it["active"], &on_it["worktree"]), (&json!(true), &json!("b2-two")), "{two}");
    for lease in ["0s", "25h", "soon", "-1s"] {
        assert_eq!(flower.run(&["claim", "2", &format!("--lease={lease}")]).code, 2, "{lease}");
    }
    assert_eq!(flower.fails(&["claim", "1", "--as", "a\u{202e}b"], 4)["kind"], "conflict");
}

#[test]
fn a_claim_of_the_next_dispatch_holds_even_if_its_worktree_cannot_be_made() {
    let flower = serving(&[]);
    for title in ["One", "Two"] {
        dispatched(&flower, planned(&flower, title), &json!({}));
    }
    flower.git(&flower.repo, &["branch", "flower/b1-one"]);
    says(&flower.fails(&["claim", "--next", "--as", "ada"], 4)["message"], "there is a branch `flower/b1-one` already");
    assert_eq!(show_dispatch(&flower, 1)["claim"]["holder"], "ada", "it is claimed all the same");
    assert_eq!(show_dispatch(&flower, 2)["state"], "requested", "and nothing else is");
}

#[test]
fn a_lease_that_runs_out_puts_it_back_and_the_fence_grows() {
    let flower = serving(&[]);
    dispatched(&flower, planned(&flower, "One"), &json!({}));
    for fence in 1..=3 {
        let held = flower.json(&["claim", "1", "--as", "ada", "--lease", "1s"]);
        assert_eq!(held["claim"]["fence"], fence, "{held}");
        let back = becomes(&flower, 1, "requested");
        assert_eq!(back["claim"], json!(null), "{back}");
    }
    let over = events(&flower, "dispatch_expired");
    let fences: Vec<&Value> = over.iter().map(|event| &event["body"]["fence"]).collect();
    assert_eq!(fences, [1, 2, 3], "{over:?}");
    assert_eq!((&over[0]["body"]["holder"], &over[0]["actor"]["type"]), (&json!("ada"), &json!("system")));
    // Its worktree stays for the next holder.
    assert!(tree(&flower, "b1-one").exists());
}

#[test]
fn every_call_with_the_token_renews_it() {
    let flower = serving(&[]);
    let dispatch = dispatched(&flower, planned(&flower, "One"), &json!({}));
    let quiet = dispatched(&flower, planned(&flower, "Two"), &json!({}));
    let work = claimed(&flower, dispatch, 3);
    claimed(&flower, quiet, 3);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(7) {
        assert_eq!(call(&flower, &work.token, "GET", "/api/briefs", &json!(null)).status, 200);
        std::thread::sleep(Duration::from_millis(500));
    }
    let held = show_dispatch(&flower, dispatch);
    assert_eq!((&held["state"], &held["claim"]["fence"]), (&json!("executing"), &json!(1)), "{held}");
    // The one without heartbeats is back: its lease was the same.
    assert_eq!(show_dispatch(&flower, quiet)["state"], "requested");
    assert_eq!(expired(&flower), 1);
    becomes(&flower, dispatch, "requested");
}

#[test]
fn a_claim_outlives_the_daemon_and_ends_without_heartbeats() {
    let flower = serving(&[]);
    let work = at_work(&flower, "One");
    let before = show_dispatch(&flower, work.dispatch);
    flower.restart();
    kill_and_start(&flower);
    let after = show_dispatch(&flower, work.dispatch);
    for key in ["state", "base", "worktree"] {
        assert_eq!(after[key], before[key], "{key}: {after}");
    }
    assert_eq!((&after["claim"]["holder"], &after["claim"]["fence"]), (&json!(work.agent), &json!(1)), "{after}");
    let beaten = as_agent(&flower, &work.token, &["beat", "1", "--fence", "1"]);
    assert!(beaten.code == 0 && beaten.stdout.contains("dispatch 1 is renewed for 15 minutes"), "{beaten:?}");
    assert_eq!((expired(&flower), events(&flower, "dispatch_claimed").len()), (0, 1));
    // A short one that ran out while no daemon ran ends as soon as one does.
    let dispatch = dispatched(&flower, planned(&flower, "Short"), &json!({}));
    claimed(&flower, dispatch, 1);
    flower.ok(&["down"]);
    std::thread::sleep(Duration::from_millis(1_200));
    flower.start();
    becomes(&flower, dispatch, "requested");
    assert_eq!(expired(&flower), 1);
    assert_eq!(flower.json(&["log", "verify"])["ok"], true);
}

#[test]
fn a_late_answer_counts_as_long_as_its_fence_is_the_newest() {
    let flower = serving(&[]);
    let dispatch = dispatched(&flower, planned(&flower, "Late"), &json!({}));
    let work = claimed(&flower, dispatch, 2);
    let commit = work.commit(&flower, "x", "x");
    becomes(&flower, dispatch, "requested");
    let landing = work.lands(&flower);
    landing_becomes(&flower, landing, "landed");
    let landed = becomes(&flower, dispatch, "landed");
    assert_eq!(
        (&landed["result"]["commits"], &landed["result"]["tip"]),
        (&json!([commit]), &json!(commit)),
        "{landed}"
    );
    assert_eq!(events(&flower, "dispatch_late").len(), 0);
}

#[test]
fn an_answer_with_an_older_fence_is_kept_and_changes_nothing() {
    let flower = serving(&[]);
    let dispatch = dispatched(&flower, planned(&flower, "Late"), &json!({}));
    let old = claimed(&flower, dispatch, 1);
    becomes(&flower, dispatch, "requested");
    let new = claimed(&flower, dispatch, 900);
    assert_eq!((old.fence, new.fence), (1, 2));
    let before = standing(&flower, dispatch);
    for _ in 0..2 {
        let late = old.hand_back(&flower, &[]).error(4);
        says(&late["message"], "fence 1 of dispatch 1 is not the newest, which is 2");
        says(&late["message"], &format!("held by `{}`", new.agent));
        says(&late["message"], "your answer is kept in the trace");
    }
    let kept = events(&flower, "dispatch_late");
    assert_eq!((kept.len(), &kept[0]["body"]["summary"]), (2, &json!("It is done")), "{kept:?}");
    assert_eq!((&kept[0]["body"]["holder"], &kept[0]["brief"]), (&json!(old.agent), &json!(old.brief)), "{kept:?}");
    assert_eq!(standing(&flower, dispatch), before);
    assert_eq!(beat(&flower, &old.token, dispatch, 1).status, 409);
    // A fence that was never given.
    for fence in [0, 3, u64::MAX] {
        let body = json!({ "fence": fence, "summary": "x" });
        let answer = call(&flower, &new.token, "POST", "/api/dispatches/1/handback", &body);
        assert_eq!(answer.status, 409, "{fence}: {}", answer.text());
        assert_eq!(beat(&flower, &new.token, dispatch, fence).status, 409, "{fence}");
    }
    for fence in ["-1", "1.5", "x", "18446744073709551616"] {
        let args = ["handback", "1", &format!("--fence={fence}"), "--summary", "x"];
        assert_eq!(as_agent(&flower, &new.token, &args).code, 2, "{fence}");
    }
    assert_eq!(events(&flower, "dispatch_late").len(), 2);
    assert_eq!(beat(&flower, &new.token, dispatch, 2).status, 200);
}

#[test]
fn leases_are_measured_on_the_boot_clock_alone() {
    let uptime = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        u64::try_from(now.tv_sec).expect("a time") * 1_000 + u64::try_from(now.tv_nsec).expect("a time") / 1_000_000
    };
    let flower = serving(&[]);
    let before = uptime();
    let work = at_work(&flower, "One");
    assert_eq!(as_agent(&flower, &work.token, &["lease", "take", "src/"]).code, 0);
    let after = uptime();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    for kind in ["dispatch_claimed", "lease_taken"] {
        let event = events(&flower, kind).remove(0);
        let at = number(&event["body"]["boot_ms"]);
        assert!((before..=after).contains(&at), "{kind}: {before} {at} {after}");
        assert!(event["body"]["boot"].as_str().expect("a text").ends_with(&format!(":{}", boot.trim())), "{event}");
    }
    // There is one place that reads a clock for them, and it reads that one.
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../flower-engine/src");
    let (mut folders, mut makers) = (vec![source], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(" BootTime {")) {
                makers.push(path);
            }
        }
    }
    let [clock] = makers.as_slice() else { panic!("boot times are made in {makers:?}") };
    let text = std::fs::read_to_string(clock).expect("a file");
    assert!(clock.ends_with("src/clock.rs") && text.contains("clock_gettime(ClockId::Boottime)"), "{clock:?}");
    assert!(!text.contains("ClockId::Realtime") && !text.contains("ClockId::Monotonic"));
}
