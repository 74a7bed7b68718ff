//! What an agent asks for: settled by the policy of its profile, by a person, or by time.

use crate::agent_bounds::stage::{Stage, assert_answers_until, play};
use crate::common::eventually;
use crate::common::work::says;
use serde_json::json;
use std::time::{Duration, Instant};

/// Asks for something within the worktree and for something beyond, and tells what came of it.
const BOTH: &str = "
    permission edit Change-a-file src/a.txt
    permission edit Change-the-passwords /etc/passwd
    permission fetch Look-at-a-page
    say over";

#[test]
fn the_policy_decides_what_it_can() {
    let policies = ["deny", "allow"].map(|policy| play(policy, &[], &format!("permissions = \"{policy}\"")));
    let stage = Stage::new(&(play("play", &[], "") + &policies.concat()));
    for (policy, word) in [("allow", "allowed"), ("deny", "denied")] {
        let work = stage.plays(policy, policy, &format!("{BOTH}\n fail enough"));
        let name = stage.agent_of(work);
        stage.becomes(&name, "stopped");
        let said = stage.texts(&name, "said").concat();
        assert_eq!(said.matches(&format!("permission: {word}")).count(), 3, "{said}");
        let asked = stage.texts(&name, "permission");
        assert_eq!(asked.len(), 3, "each is written down: {asked:?}");
        assert!(asked.iter().all(|text| text.starts_with(&format!("{word} by the policy"))), "{asked:?}");
    }
    assert_eq!(stage.events_of("permission_asked").len(), 0, "no person is asked");
}

#[test]
fn within_the_worktree_it_may_and_for_the_rest_a_person_is_asked() {
    let stage = Stage::plain("");
    let work = stage.plays("play", "Wants", &format!("{BOTH}\n write a.txt a\n commit a\n hand-back done"));
    let item = stage.asked();
    let name = stage.agent_of(work);
    let waiting = stage.becomes(&name, "waiting");
    let number = item["permission"].as_u64().expect("a number").to_string();
    says(&waiting["evidence"], &format!("permission {number} waits for a decision"));
    says(&item["text"], "Change-the-passwords (/etc/passwd)");
    says(&item["title"], &format!("{name} wants to edit"));
    assert_eq!(item["next"], format!("flower agent allow {number}; flower agent deny {number}"));
    assert_eq!((&item["brief"], &item["by"]["name"]), (&json!(work.brief), &json!(name)));
    let page = stage.ok(&["inbox"]);
    assert!(page.contains("flower agent allow") && page.contains("Change-the-passwords"), "{page}");

    // Who may not, and what is not there.
    let others = ["worker", "ops", "orchestrator"].map(|role| stage.token_for(role, role));
    for token in others.into_iter().chain([stage.token_of(&name)]) {
        let path = format!("/api/permissions/{number}");
        let answer = stage.request("POST", &path).token(&token).json(&json!({ "allow": true })).send();
        assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"), "{}", answer.text());
    }
    says(&stage.fails(&["agent", "allow", "999"], 3), "there is no permission 999");
    assert_eq!(stage.run(&["agent", "allow", "x"]).code, 2);

    // From the command line, and then over HTTP.
    let told = stage.ok(&["agent", "deny", &number, "those are not yours"]);
    assert!(told.contains(&format!("{name} may not: Change-the-passwords")), "{told}");
    says(&stage.fails(&["agent", "allow", &number], 4), "was denied already");
    assert_eq!(stage.run(&["agent", "deny", &number]).code, 0, "the same again is no news");
    let second = eventually("the next question", || {
        let open = stage.get("/api/permissions");
        open.as_array()?
            .iter()
            .find(|one| one["id"].as_u64().map(|id| id.to_string()).as_deref() != Some(number.as_str()))
            .cloned()
    });
    assert_eq!((&second["sort"], &second["title"]), (&json!("fetch"), &json!("Look-at-a-page")));
    let decided = stage.post(&format!("/api/permissions/{}", second["id"]), &json!({ "allow": true }));
    assert_eq!(decided["allowed"], true);
    stage.lands(work);
    let said = stage.texts(&name, "said").concat();
    assert_eq!(said, "permission: allowedpermission: deniedpermission: allowedover", "by the kind of an option");
    assert_eq!(stage.get("/api/permissions"), json!([]), "nothing is left open");
    let decided = stage.events_of("permission_decided");
    assert_eq!(decided.len(), 2);
    says(&decided[0], "those are not yours");
}

#[test]
fn an_undecided_permission_is_denied_after_its_deadline() {
    let stage = Stage::plain("permissions = \"ask\"\nask_timeout = \"2s\"");
    let begun = Instant::now();
    let work = stage.plays("play", "Late", "permission execute make\n write a a\n commit a\n hand-back done");
    let item = stage.asked();
    stage.lands(work);
    assert!(begun.elapsed() >= Duration::from_secs(2));
    let name = stage.agent_of(work);
    let log = stage.said(&name);
    assert!(log.contains("permission: denied") && log.contains("because of no decision in time"), "{log}");
    says(&stage.events_of("permission_decided")[0], "no decision in time");
    let number = item["permission"].to_string();
    says(&stage.fails(&["agent", "allow", &number], 4), "was denied already");
}

#[test]
fn endless_permission_requests_are_denied_and_do_not_block_others() {
    let config = play("play", &[], "")
        + &play("denied", &[], "permissions = \"deny\"\nturn_timeout = \"4s\"")
        + &play("asked", &[], "permissions = \"ask\"\nask_timeout = \"1s\"\nturn_timeout = \"4s\"");
    let stage = Stage::new(&config);
    let both = ["denied", "asked"].map(|profile| {
        let work = stage.plays(profile, profile, "permission-forever fetch Let-me");
        stage.agent_of(work)
    });
    eventually("they ask", || both.iter().all(|name| stage.said(name).contains("denied")).then_some(()));
    let begun = Instant::now();
    assert_answers_until(&stage, |answered| begun.elapsed() > Duration::from_secs(2) && answered > 150);
    for name in both {
        stage.becomes(&name, "failed");
        assert!(stage.said(&name).contains("the turn takes longer than 4 s"), "{}", stage.said(&name));
    }
    assert_eq!(stage.get("/api/permissions"), json!([]), "no question outlives its agent");
    let asked = stage.events_of("permission_asked").len();
    assert!(asked < 50, "a person is not asked {asked} times");
}

#[test]
fn after_a_restart_of_the_daemon_it_asks_anew() {
    let stage = Stage::new(&play("play", &["--forget"], "permissions = \"ask\""));
    let work = stage.plays("play", "Again", "permission fetch A-page\n write a a\n commit a\n hand-back done");
    let first = stage.asked()["permission"].as_u64().expect("a number");
    let name = stage.agent_of(work);
    stage.restart();
    let second = eventually("it asks anew", || {
        let item = stage.asked();
        item["permission"].as_u64().filter(|number| *number != first)
    });
    let decided = &stage.events_of("permission_decided")[0];
    assert_eq!((&decided["body"]["number"], &decided["body"]["allow"]), (&json!(first), &json!(false)), "{decided}");
    says(&stage.fails(&["agent", "allow", &first.to_string()], 4), "was denied already");
    stage.ok(&["agent", "allow", &second.to_string()]);
    stage.lands(work);
    assert_eq!(stage.agent(&name)["id"], 1, "it is the same agent");
    assert!(stage.said(&name).contains("permission: allowed"));
}
