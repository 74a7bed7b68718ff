//! Rejected landings: an agent is asked to fix them in the same worktree, with the evidence, a limited number of times.

use super::*;
use crate::agents::stage::profile;

/// Red as long as there is a file `bad`; one red run is a verdict.
const SETTINGS: (&str, &str) = (
    "flower.toml",
    "[checks]\ntest = { run = \"echo looking; if test -e bad; then echo it is broken: $(cat bad); exit 3; fi\" }\n[land]\nretries = 0\n",
);

/// The dispatcher of the next daemon has looked at everything.
fn look_again(flower: &Flower) {
    flower.restart();
    flower.wait_for_pass("dispatcher");
}

/// The same after the daemon was killed.
fn look_again_after_a_kill(flower: &Flower) {
    kill_and_start(flower);
    flower.wait_for_pass("dispatcher");
}

#[test]
fn a_failed_check_requests_a_fix_with_its_output() {
    let flower = serving(&[SETTINGS]);
    let work = at_work(&flower, "Breaks");
    work.commit(&flower, "bad", "the very reason");
    let landing = work.lands(&flower);
    landing_becomes(&flower, landing, "rejected");
    let fix = nth_dispatch(&flower, work.brief, 1);
    assert_eq!(
        (&fix["kind"], &fix["state"], &fix["of"], &fix["worktree"]),
        (&json!("fix"), &json!("requested"), &json!(landing), &json!(work.worktree)),
        "{fix:#}"
    );
    let evidence = fix["evidence"].as_str().expect("evidence");
    for said in [
        &format!("Landing {landing} did not pass the checks on the merged tree"),
        "Check `test` ended with 3:",
        "looking\nit is broken: the very reason",
    ] {
        assert!(evidence.contains(said), "`{said}`: {evidence}");
    }
    assert_eq!(show_brief(&flower, work.brief)["status"], "in_progress");
    look_again(&flower);
    look_again_after_a_kill(&flower);
    assert_eq!(dispatches_of(&flower, work.brief).len(), 2, "one for one landing");
    // The agent that fixes it reads it as a quotation.
    let recalled = flower.ok(&["brief", "show", &work.brief.to_string(), "--as-agent"]);
    assert!(recalled.contains("> it is broken: the very reason"), "{recalled}");
    // Taken back, it is not asked for again.
    flower.ok(&["dispatch", "cancel", &fix["id"].to_string()]);
    look_again(&flower);
    assert_eq!(dispatches_of(&flower, work.brief).len(), 2, "nor after it was taken back");
    // Asked for by hand and mended, all of it is in MAIN.
    let mending = claimed(&flower, dispatched(&flower, work.brief, &json!({})), 900);
    assert_eq!(mending.worktree, work.worktree);
    mending.inside(
        &flower,
        "test -e bad; git rm --quiet bad; echo good > good; git add good; git commit --quiet --message mended",
    );
    landing_becomes(&flower, mending.lands(&flower), "landed");
    for dispatch in [work.dispatch, mending.dispatch] {
        becomes(&flower, dispatch, "landed");
    }
    assert_eq!(show_brief(&flower, work.brief)["status"], "landed");
    assert_eq!(dispatches_of(&flower, work.brief).len(), 3);
}

#[test]
fn a_conflict_with_main_requests_a_fix() {
    let flower = serving(&[("same", "before\n")]);
    let (one, two) = (at_work(&flower, "One"), at_work(&flower, "Two"));
    one.commit(&flower, "same", "one");
    two.commit(&flower, "same", "two");
    // Both merge with MAIN as it stands when they are handed back.
    flower.ok(&["freeze"]);
    let (first, second) = (one.lands(&flower), two.lands(&flower));
    flower.ok(&["thaw"]);
    landing_becomes(&flower, first, "landed");
    landing_becomes(&flower, second, "rejected");
    let fix = nth_dispatch(&flower, two.brief, 1);
    assert_eq!((&fix["kind"], &fix["of"], &fix["worktree"]), (&json!("fix"), &json!(second), &json!(two.worktree)));
    says(&fix["evidence"], &format!("Landing {second} does not merge with MAIN"));
    says(&fix["evidence"], "Paths: same");
    assert_eq!(dispatches_of(&flower, one.brief).len(), 1);
}

/// Dispatched work that has landed, and its landing.
fn landed(flower: &Flower) -> (Work, u64) {
    let work = at_work(flower, "Back");
    work.commit(flower, "x", "x");
    let landing = work.lands(flower);
    landing_becomes(flower, landing, "landed");
    becomes(flower, work.dispatch, "landed");
    (work, landing)
}

#[test]
fn a_revert_parks_the_brief_and_starts_nothing() {
    let flower = serving(&[]);
    let (work, landing) = landed(&flower);
    let trailers = git(&flower, &flower.repo, &["log", "-1", "--format=%(trailers)", "main"]);
    assert!(trailers.ends_with(&format!("Flower-Agent: {}", work.agent)), "{trailers}");
    flower.ok(&["revert", &landing.to_string(), "--why", "it breaks the login", "--wait"]);
    let brief = show_brief(&flower, work.brief);
    assert_eq!(brief["status"], "parked", "{brief}");
    look_again(&flower);
    assert_eq!(dispatches_of(&flower, work.brief).len(), 1, "no agent was asked for");
    let trace = flower.json(&["brief", "trace", &work.brief.to_string()]).to_string();
    assert!(trace.contains("it breaks the login"), "{trace}");
    // Taken up again, no fix is requested until it is dispatched.
    flower.ok(&["brief", "status", &work.brief.to_string(), "in_progress"]);
    look_again(&flower);
    look_again_after_a_kill(&flower);
    assert_eq!(dispatches_of(&flower, work.brief).len(), 1, "no agent was asked for");
}

#[test]
fn a_fix_is_not_given_to_a_profile_whose_dispatch_was_cancelled() {
    let flower = serving(&[("flower.toml", "[checks]\ntest = { run = \"false\" }\n[land]\nretries = 0\n")]);
    let brief = planned(&flower, "By hand after all");
    put(&flower, &flower.home.join("config.toml"), profile("claude", &[], ""));
    flower.ok(&["freeze"]);
    let claude = dispatched(&flower, brief, &json!({ "agent": "claude" }));
    flower.ok(&["dispatch", "cancel", &claude.to_string()]);
    flower.ok(&["thaw"]);
    let work = claimed(&flower, dispatched(&flower, brief, &json!({})), 900);
    work.commit(&flower, "x", "x");
    landing_becomes(&flower, work.lands(&flower), "rejected");
    let fix = nth_dispatch(&flower, brief, 2);
    assert_eq!((&fix["kind"], &fix["agent"]), (&json!("fix"), &Value::Null), "{fix}");
}

#[test]
fn a_reverted_landing_requests_a_fix_if_asked_for() {
    let flower = serving(&[]);
    let (work, landing) = landed(&flower);
    flower.ok(&["revert", &landing.to_string(), "--why", "it breaks the login", "--fix"]);
    let fix = nth_dispatch(&flower, work.brief, 1);
    assert_eq!((&fix["kind"], &fix["of"], &fix["worktree"]), (&json!("fix"), &json!(landing), &json!(work.worktree)));
    says(&fix["evidence"], &format!("Landing {landing} was taken back out of MAIN"));
    says(&fix["evidence"], "The operator's reason: it breaks the login");
    assert_eq!(show_brief(&flower, work.brief)["status"], "in_progress");
    look_again(&flower);
    assert_eq!(dispatches_of(&flower, work.brief).len(), 2);
    // The worktree may be gone by then; a claim makes one of that name, and says how to get at the work again.
    let mending = claimed(&flower, number(&fix["id"]), 900);
    assert_eq!(mending.worktree, work.worktree);
    let way = fix["evidence"].as_str().expect("evidence").split('`').find(|part| part.starts_with("git revert "));
    mending.inside(&flower, &format!("git merge --quiet origin/main; {} --no-edit; cat x", way.expect("a way back")));
    // The operator took it out, so the operator lets it in again.
    let again = mending.lands(&flower);
    let held = landing_becomes(&flower, again, "approval");
    says(&held["reason"], &format!("landing {landing} of brief {} was reverted", work.brief));
    flower.ok(&["queue", "approve", &again.to_string()]);
    landing_becomes(&flower, again, "landed");
    assert_eq!(std::fs::read_to_string(flower.repo.join("x")).unwrap(), "x\n");
}

#[test]
fn after_five_attempts_a_person_is_asked() {
    let flower = serving(&[("flower.toml", "[checks]\ntest = { run = \"false\" }\n[land]\nretries = 0\n")]);
    let brief = planned(&flower, "Hopeless");
    dispatched(&flower, brief, &json!({}));
    let mut landing = 0;
    for attempt in 0..=5 {
        let asked = nth_dispatch(&flower, brief, attempt);
        assert_eq!(asked["kind"], if attempt == 0 { "build" } else { "fix" }, "{asked}");
        let work = claimed(&flower, number(&asked["id"]), 900);
        work.commit(&flower, "x", &attempt.to_string());
        landing = work.lands(&flower);
        landing_becomes(&flower, landing, "rejected");
    }
    let asked = |inbox: &Value| -> Vec<Value> {
        let all = inbox.as_array().expect("a list").iter();
        all.filter(|item| item["kind"] == "question").cloned().collect()
    };
    let question = eventually("a question", || asked(&flower.json(&["inbox"])).pop());
    assert_eq!(question["brief"], brief, "{question}");
    says(&question["text"], &format!("Landing {landing} went wrong after 5 attempts to mend this brief"));
    says(&question["text"], &format!("flower dispatch {brief} --kind fix"));
    look_again(&flower);
    look_again_after_a_kill(&flower);
    assert_eq!(asked(&flower.json(&["inbox"])).len(), 1, "once");
    assert_eq!(dispatches_of(&flower, brief).len(), 6, "and no sixth attempt");
    // Answered, it waits for what the operator does about it.
    flower.ok(&["brief", "answer", &brief.to_string(), "1", "try again"]);
    look_again(&flower);
    assert_eq!((asked(&flower.json(&["inbox"])).len(), dispatches_of(&flower, brief).len()), (0, 6));
    dispatched(&flower, brief, &json!({ "kind": "fix" }));
}
