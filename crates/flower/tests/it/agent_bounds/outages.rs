//! A rate limit or an outage of the model: flower shows it and waits, and does not count it as a restart of the agent.

use crate::agent_bounds::stage::{Stage, play, shell};
use crate::common::eventually;
use crate::common::work::says;
use serde_json::json;
use std::time::{Duration, Instant};

const REST: &str = "\nwrite $.txt x\ncommit $\nhand-back done";

/// The signs of the built-in profiles, for the scripted agent.
fn with_signs(name: &str, signs: &str) -> String {
    play(name, &["--resume"], &format!("outages = [{signs}]"))
}

#[test]
fn a_limit_is_waited_for_and_is_no_death() {
    let config = with_signs("play", "{ kind = \"limit\", code = 429 }")
        + &with_signs("codex-like", "{ kind = \"outage\", text = \"exceeded retry limit, last status: 5\" }");
    let stage = Stage::new(&config);
    // More often than an agent may die.
    let refused = "refuse {\"code\": 429, \"message\": \"Rate limit exceeded. Try again in 0.2s\"}\n";
    let limited = stage.plays("play", "Limited", &format!("{}{}", refused.repeat(5), REST.replace('$', "limited")));
    // This one ends its turn as if nothing had been.
    let said = "say exceeded retry limit, last status: 503 Service Unavailable, try again in 0.2s\nwait\n";
    let broken =
        stage.plays("codex-like", "Broken", &format!("run true\n{}{}", said.repeat(5), REST.replace('$', "broken")));
    for work in [limited, broken] {
        stage.lands(work);
        let agent = stage.agent(&stage.agent_of(work));
        assert_eq!((&agent["restarts"], &agent["ended"]["how"]), (&json!(0), &json!("retired")), "{agent}");
    }
    let log = stage.said(&stage.agent_of(limited));
    assert_eq!(log.matches("the model's limit is reached: Rate limit exceeded").count(), 5, "{log}");
    assert_eq!(log.matches("; parked until ").count(), 5, "{log}");
    assert_eq!(
        log.matches("\"prompt\": flower: agent=").count(),
        6,
        "the prompt without an effect is sent again: {log}"
    );
    let log = stage.said(&stage.agent_of(broken));
    assert!(log.contains("the model does not answer: exceeded retry limit"), "{log}");
    assert!(log.contains("your last turn was cut off"), "what had an effect is not asked for twice: {log}");
    assert!(!log.contains("Your turn ended, and dispatch"), "{log}");
}

#[test]
fn a_parked_agent_says_until_when_and_can_be_stopped_or_sent_on() {
    let stage = Stage::new(&with_signs("play", "{ kind = \"limit\", text = \"hit your limit\" }"));
    let script = "once refuse {\"code\": -32603, \"message\": \"You've hit your limit, try again in 2 hours\"}";
    let on = stage.plays("play", "On", &format!("{script}{}", REST.replace('$', "on")));
    let stopped = stage.plays("play", "Stopped", script);
    let name = stage.agent_of(on);
    let parked = stage.becomes(&name, "parked");
    let until: jiff::Timestamp = parked["parked_until"].as_str().expect("a time").parse().expect("a time");
    let minutes = until.duration_since(jiff::Timestamp::now()).as_mins();
    assert!((115..=121).contains(&minutes), "{parked}");
    says(&parked["evidence"], "the model's limit is reached: You've hit your limit");
    assert!(stage.ok(&["agent"]).contains("parked until "), "{}", stage.ok(&["agent"]));
    assert_eq!(stage.shown_dispatch(on)["state"], "executing", "it keeps its claim");
    // A new session tries the model at once.
    stage.ok(&["agent", "refresh", &name]);
    stage.lands(on);
    let name = stage.agent_of(stopped);
    stage.becomes(&name, "parked");
    let begun = Instant::now();
    stage.ok(&["agent", "stop", &name]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn an_unknown_error_is_a_death_and_says_so() {
    let stage = Stage::new(&with_signs("play", "{ kind = \"limit\", code = 429 }"));
    let refused = "refuse {\"code\": -32603, \"message\": \"the moon is full\"}\n";
    let work = stage.plays("play", "Unknown", &format!("{refused}{}", REST.replace('$', "x")));
    stage.lands(work);
    let agent = stage.agent(&stage.agent_of(work));
    assert_eq!(agent["restarts"], 1, "{agent}");
    says(&stage.events_of("agent_restarted")[0], "the moon is full");
}

#[test]
fn a_program_in_a_terminal_is_parked_by_its_last_output() {
    let script = "if [ ! -e tried ]; then touch tried; echo 'RateLimitError: try again in 1s'; exit 1; fi; rm tried
        echo x > term.txt; git add term.txt; git commit -qm term";
    let fields = "outages = [{ kind = \"limit\", text = \"RateLimitError\" }]";
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", script, fields)));
    let work = stage.plays("term", "Term", "say nothing");
    stage.lands(work);
    let agent = stage.agent(&stage.agent_of(work));
    assert_eq!(agent["restarts"], 0, "{agent}");
    says(&json!(stage.said(&stage.agent_of(work))), "the model's limit is reached: RateLimitError");
}

#[test]
fn turns_that_end_at_once_are_spread_over_time() {
    let stage = Stage::plain("");
    let begun = Instant::now();
    let work = stage.plays("play", "Idler", "say no\nwait\nsay no\nwait\nwrite a a\ncommit a\nhand-back done");
    let name = stage.agent_of(work);
    let waiting = stage.until(&name, "paused", |agent| {
        agent["evidence"].as_str().is_some_and(|evidence| evidence.contains("the turn ended at once"))
    });
    assert_eq!(waiting["state"], "waiting", "{waiting}");
    stage.lands(work);
    assert!(begun.elapsed() >= Duration::from_secs(10), "2 s before the first reminder, 8 s before the second");
    // A message ends the pause, and is no reminder.
    let work =
        stage.plays("play", "Talker", "say no\nwait\nsay no\nwait\nsay no\nwait\nwrite b b\ncommit b\nhand-back done");
    let name = stage.agent_of(work);
    let paused = |seconds: &str| {
        stage.until(&name, "paused", |agent| agent["evidence"].as_str().is_some_and(|text| text.ends_with(seconds)));
    };
    paused("in 2 s");
    paused("in 8 s");
    stage.ok(&["agent", "tell", &name, "go on"]);
    stage.lands(work);
    eventually("told", || stage.said(&name).contains("go on").then_some(()));
}
