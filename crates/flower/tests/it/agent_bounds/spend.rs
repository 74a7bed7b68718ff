//! What agents have used: by run, by brief and by day, as far as they say; and where that ends.

use crate::agent_bounds::stage::{Stage, play};
use crate::agents::stage::kill;
use crate::common::eventually;
use crate::common::work::says;
use serde_json::{Value, json};

#[test]
fn spend_is_listed_by_run_brief_and_day() {
    let stage = Stage::new(&(play("play", &[], "") + &play("silent", &["--no-usage"], "")));
    let nothing = stage.ok(&["agent", "spend"]);
    assert!(nothing.contains("no agent has reported"), "{nothing}");
    // Within a session the cost is the whole of it so far; tokens are those of the turn.
    let first = stage.plays(
        "play",
        "Two turns",
        "
        usage 100 1000 0.25 700
        wait
        usage 200 1000 0.75 300
        write a a
        commit a
        hand-back done",
    );
    let name = stage.agent_of(first);
    stage.lands(first);
    let shown = stage.becomes(&name, "stopped");
    assert_eq!((&shown["cost"], &shown["currency"], &shown["tokens"]), (&json!(0.75), &json!("USD"), &json!(1000)));
    // Another run is another session, which costs anew.
    let second = stage.plays("play", "One turn", "usage 100 1000 0.5 50\n fail I cannot");
    stage.becomes(&stage.agent_of(second), "stopped");
    let silent = stage.plays("silent", "Silent", "usage 100 1000 9.5 90\n write b b\n commit b\n hand-back done");
    stage.lands(silent);
    let unknown = stage.becomes(&stage.agent_of(silent), "stopped");
    assert_eq!((&unknown["cost"], &unknown["tokens"]), (&Value::Null, &Value::Null), "not told is not nothing");
    let page = stage.ok(&["agent", "--all"]);
    assert!(page.contains("0.75 USD") && page.contains("unknown"), "{page}");

    let spending = stage.json(&["agent", "spend"]);
    assert_eq!(spending["days"].as_array().map(Vec::len), Some(1), "{spending}");
    assert_eq!((&spending["days"][0]["cost"], &spending["days"][0]["tokens"]), (&json!(1.25), &json!(1050)));
    let of = |brief: u64| {
        let all = spending["briefs"].as_array().expect("a list");
        all.iter().find(|spent| spent["of"].as_str() == Some(&*brief.to_string())).cloned()
    };
    assert_eq!(of(first.brief).expect("known")["cost"], 0.75);
    assert_eq!(of(second.brief).expect("known")["tokens"], 50);
    assert_eq!(of(silent.brief), None);
    let one = stage.flower.api("GET", &format!("/api/spending?brief={}", first.brief)).send().json();
    assert_eq!(
        one["briefs"],
        json!([{ "of": first.brief.to_string(), "tokens": 1000, "cost": 0.75, "currency": "USD" }])
    );
    assert_eq!(spending["per_day"], Value::Null);
    let page = stage.ok(&["agent", "spend"]);
    assert!(
        page.contains("1.25 USD") && page.contains("1050") && page.contains(&format!("#{}", first.brief)),
        "{page}"
    );
}

#[test]
fn a_limit_holds_back_what_would_begin_and_no_more() {
    let profile = play("play", &[], "");
    let limited = |limit: &str| format!("{profile}[spend]\n{limit}\n");
    let stage = Stage::new(&limited("per_day = 1.0"));
    let spends = |cost: f64, tokens: u64| {
        format!("usage 10 1000 {cost} {tokens}\n write f{tokens} x\n commit x\n hand-back done")
    };
    let first = stage.plays("play", "First", &spends(1.5, 400));
    stage.lands(first);
    let second = stage.plays("play", "Second", &spends(0.25, 200));
    let why = stage.waits(second, "spend_limit");
    assert!(why.contains("today's limit of 1 USD is reached") && why.contains("config.toml"), "{why}");
    assert_eq!(stage.get("/api/agents").as_array().map(Vec::len), Some(0), "none begins");
    let page = stage.ok(&["dispatch", "show", &second.dispatch.to_string()]);
    assert!(page.contains("today's limit"), "{page}");
    let page = stage.ok(&["agent", "spend"]);
    assert!(page.contains("no agent starts above these limits: 1 a day"), "{page}");
    stage.configure(&limited("per_day = 5.0"));
    stage.lands(second);

    stage.configure(&limited("tokens_per_day = 600"));
    let third = stage.plays("play", "Third", &spends(0.25, 100));
    says(&json!(stage.waits(third, "spend_limit")), "today's limit of 600 tokens");
    stage.configure(&limited("per_brief = 0.2"));
    stage.lands(third);

    // A brief that has cost enough is not built again; others are.
    let fails = stage.plays("play", "Costly", "usage 10 1000 0.3 10\n fail I cannot");
    stage.becomes(&stage.agent_of(fails), "stopped");
    let again = stage.dispatch(fails.brief, "play");
    let why = stage.waits(again, "spend_limit");
    assert!(why.contains(&format!("the limit of 0.2 USD for brief {}", fails.brief)), "{why}");
    let other = stage.plays("play", "Other", &spends(0.1, 1));
    stage.lands(other);
}

#[test]
fn the_cost_of_a_turn_is_recorded_even_if_it_is_cut_off() {
    let stage = Stage::new(&play("play", &[], ""));
    let long = stage.plays("play", "Long", "usage 60000 100000 1.25\n sleep 60\n hand-back done");
    let agent = stage.agent_of(long);
    let cost = || stage.json(&["agent", "show", &agent])["cost"].clone();
    eventually("its cost is told while it works", || (cost() == json!(1.25)).then_some(()));
    assert_eq!(stage.json(&["agent", "spend"])["days"][0]["cost"], json!(1.25));
    stage.ok(&["agent", "stop", &agent]);
    assert_eq!(stage.json(&["agent", "spend"])["days"][0]["cost"], json!(1.25), "once, and still");
}

/// Some agents go on from what a session had cost, others begin at zero.
#[test]
fn a_resumed_session_costs_nothing_twice() {
    let stage = Stage::new(&play("play", &["--resume"], ""));
    for (path, then) in [("goes-on", 0.75), ("from-zero", 0.25)] {
        let script = format!(
            "usage 10 100 0.50\nrun true\nhang\nusage 20 100 {then}\nwrite {path} a\ncommit {path}\nhand-back done"
        );
        let work = stage.plays("play", path, &script);
        let name = stage.agent_of(work);
        eventually("it hangs", || (!stage.texts(&name, "tool").is_empty()).then_some(()));
        kill(u32::try_from(stage.agent(&name)["pid"].as_u64().expect("a process")).expect("a pid"));
        stage.lands(work);
        assert!(stage.said(&name).contains("session resumed"));
        let spent = stage.flower.api("GET", &format!("/api/spending?brief={}", work.brief)).send().json();
        assert_eq!(spent["briefs"][0]["cost"], json!(0.75), "{path}: {spent}");
    }
}
