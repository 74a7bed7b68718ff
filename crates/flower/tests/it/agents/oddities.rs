//! Agents that differ from what flower would like: in how they take its tools, how they call them, which model they use, and
//! what they do at their start.

use crate::agents::stage::*;
use serde_json::{Value, json};

const WORK: &str = "list-tools\nwrite odd.txt hello\ncommit odd\nhand-back all is done";

/// A stage with one agent with these flags and further lines in its profile.
fn with(flags: &[&str], more: &str) -> Stage {
    Stage::with("max = 4", &profile("play", flags, more))
}

/// The model and tools of an agent as they are recorded, oldest first.
fn connected(stage: &Stage) -> Vec<(Value, Value)> {
    let events = stage.events("agent_connected");
    events.into_iter().map(|event| (event["body"]["model"].clone(), event["body"]["tools"].clone())).collect()
}

#[test]
fn an_agent_that_takes_no_server_over_pipes_gets_the_tools_over_http() {
    let stage = with(&["--no-stdio-mcp"], "");
    let dispatch = stage.play("Odd", WORK);
    let name = stage.agent_of(dispatch);
    stage.becomes(dispatch, "landed");
    let log = stage.log(&name);
    assert!(log.contains("does not take flower's tools over standard input and output"), "{log}");
    assert!(log.contains("hand_back"), "{log}");
    assert_eq!(connected(&stage), [(json!(null), json!(true))]);
    let by: Vec<Value> = stage.events("dispatch_handed_back").iter().map(|event| event["door"].clone()).collect();
    assert_eq!(by, ["mcp"]);
    // What has worked is offered first the next time.
    let again = stage.play("Odd again", "write again.txt x\ncommit again\nhand-back done");
    stage.becomes(again, "landed");
    let log = stage.log(&stage.agent_of(again));
    assert!(!log.contains("does not take flower's tools"), "{log}");
}

#[test]
fn an_agent_without_tools_is_noticed_and_told_the_command_line() {
    let stage = with(&["--ignore-tools"], "tools_timeout = \"1s\"");
    // It hands back as its prompt says.
    let script =
        format!("write odd.txt hello\ncommit odd\n{GATE}\nrun flower handback 1 --fence 1 --summary \"by hand\"");
    let dispatch = stage.play("Odd", &script);
    assert_eq!(dispatch, 1);
    let name = stage.agent_of(dispatch);
    let item = stage.until("the inbox says it", || {
        stage.inbox("message").into_iter().find(|item| item["cause"] == "agent_without_tools")
    });
    assert_eq!(item["agent"], name.as_str(), "{item}");
    assert_eq!(stage.agent(&name)["tools"], false);
    assert!(stage.flower.ok(&["agent", "show", &name]).contains("none of flower's"));
    stage.open(dispatch);
    stage.becomes(dispatch, "landed");
    let log = stage.log(&name);
    assert!(log.contains("has not asked for flower's tools over standard input and output within 1 s"), "{log}");
    assert!(log.contains("the prompt tells the command line instead"), "{log}");
    assert!(log.contains("run `flower handback 1 --fence 1 --summary"), "{log}");
    stage.until("the item leaves the inbox when its agent has ended", || {
        stage.inbox("message").is_empty().then_some(())
    });
}

#[test]
fn arguments_are_taken_as_other_clients_send_them() {
    let stage = with(&["--extra-arguments"], "");
    let script = "reserve odd.txt\ntool add_note {\"brief\": $brief, \"text\": \"noted\", \"colour\": 1}\n\
                  write odd.txt x\ncommit odd\nhand-back done";
    let dispatch = stage.play("Odd", script);
    let name = stage.agent_of(dispatch);
    stage.becomes(dispatch, "landed");
    let log = stage.log(&name);
    assert!(log.contains("ignored, because `add_note` has no such argument: `colour`"), "{log}");
    assert!(!log.contains("wait_for_previous`"), "what Gemini adds to every call is not worth a word: {log}");
    assert_eq!(stage.events("note_added").len(), 1);
    assert_eq!(stage.events("lease_taken").len(), 1);
}

#[test]
fn a_worker_is_told_the_tools_that_it_can_use() {
    let stage = Stage::new();
    let dispatch = stage.play("Odd", WORK);
    let name = stage.agent_of(dispatch);
    stage.becomes(dispatch, "landed");
    let log = stage.log(&name);
    let told = log.lines().find_map(|line| line.strip_prefix("said: tools: ")).unwrap_or_else(|| panic!("{log}"));
    let told: Vec<&str> = told.split(' ').collect();
    assert!(told.contains(&"hand_back") && told.contains(&"create_brief"), "{told:?}");
    let needless = ["start_work", "propose_plan"];
    assert!(!needless.iter().any(|tool| told.contains(tool)), "its work is claimed, and its brief planned: {told:?}");
}

#[test]
fn the_model_of_a_profile_is_chosen_by_option_or_by_set_model_and_shown() {
    for flags in [&["--models", "big,small"][..], &["--models", "big,small", "--set-model"]] {
        let stage = with(flags, "model = \"small\"");
        let dispatch = stage.play("Odd", WORK);
        let name = stage.agent_of(dispatch);
        stage.becomes(dispatch, "landed");
        assert_eq!(stage.agent(&name)["model"], "small", "{flags:?}");
        assert_eq!(connected(&stage)[0].0, "small");
        assert!(stage.log(&name).contains("session started, model `small`"), "{}", stage.log(&name));
        assert!(stage.flower.ok(&["agent", "show", &name]).contains("small"));
        assert!(stage.flower.ok(&["agent", "--all"]).contains("small"));
        assert!(stage.flower.ok(&["trace", "--limit", "1000"]).contains("model `small`"));
    }
}

#[test]
fn the_default_model_of_an_agent_is_shown() {
    let stage = with(&["--models", "vendors-own"], "");
    let dispatch = stage.play("Odd", WORK);
    let name = stage.agent_of(dispatch);
    stage.becomes(dispatch, "landed");
    assert_eq!(stage.agent(&name)["model"], "vendors-own");
    let profiles = stage.flower.json(&["agent", "profiles", "play"]);
    assert_eq!(
        (&profiles[0]["trial"]["state"], &profiles[0]["trial"]["model"]),
        (&json!("worked"), &json!("vendors-own"))
    );
}

#[test]
fn a_model_that_cannot_be_chosen_fails_the_work_with_those_that_can() {
    for (flags, words) in [
        (&["--models", "big,small"][..], "it offers `big`, `small`"),
        (&["--models", "big,small", "--set-model"], "it offers `big`, `small`"),
        (&[], "offer no models"),
    ] {
        let stage = with(flags, "model = \"huge\"");
        let dispatch = stage.play("Odd", WORK);
        let failed = stage.becomes(dispatch, "failed");
        let summary = text(&failed["result"]["summary"]);
        assert!(summary.contains("`huge`") && summary.contains(words), "{summary}");
        let agent = stage.agent_ends(&stage.agent_of(dispatch));
        assert_eq!((&agent["state"], &agent["restarts"]), (&json!("failed"), &json!(0)), "{agent}");
        assert_eq!(stage.landed("odd.txt"), None);
    }
}

#[test]
fn an_agent_that_keeps_its_own_model_does_not_work() {
    let stage = with(&["--models", "big,small", "--keep-model"], "model = \"small\"");
    let dispatch = stage.play("Odd", WORK);
    let summary = text(&stage.becomes(dispatch, "failed")["result"]["summary"]);
    assert!(summary.contains("`small`") && summary.contains("reports `big`"), "{summary}");
}

#[test]
fn two_agents_that_listen_on_one_port_run_at_the_same_time() {
    // Each worktree has a network of its own.
    let stage = with(&["--bind", "4096"], "network = \"closed\"");
    let script = |file: &str| format!("write {file} x\ncommit {file}\n{GATE}\nhand-back done");
    let (one, two) = (stage.play("One", &script("one.txt")), stage.play("Two", &script("two.txt")));
    for dispatch in [one, two] {
        stage.becomes(dispatch, "executing");
        stage.agent_becomes(&stage.agent_of(dispatch), "working");
    }
    assert_eq!(stage.agents().len(), 2);
    for dispatch in [one, two] {
        stage.open(dispatch);
    }
    for dispatch in [one, two] {
        stage.becomes(dispatch, "landed");
        assert_eq!(stage.agent(&stage.agent_of(dispatch))["restarts"], 0);
    }
}

#[test]
fn an_agent_is_not_tried_until_a_session_was_opened() {
    let stage = with(&["--models", "big,small", "--no-stdio-mcp", "--bind", "4096"], "");
    let trial = |profiles: Value| profiles[0]["trial"].clone();
    let page = stage.flower.ok(&["agent", "profiles", "play"]);
    assert!(page.contains("installed, not tried") && page.contains("flower agent profiles play --try"), "{page}");
    assert_eq!(trial(stage.flower.json(&["agent", "profiles", "play"]))["state"], "not_tried");
    let tried = trial(stage.flower.json(&["agent", "profiles", "play", "--try"]));
    assert_eq!((&tried["state"], &tried["model"]), (&json!("worked"), &json!("big")), "{tried}");
    assert!(stage.flower.ok(&["agent", "profiles", "play"]).contains("runs"));
    stage.gone("scripted-agent");
    // Another command is another program, and a daemon remembers what an earlier one has tried.
    stage.set_profiles(&profile("play", &["--refuse-initialize"], ""));
    assert_eq!(trial(stage.flower.json(&["agent", "profiles", "play"]))["state"], "not_tried");
    let failed = trial(stage.flower.json(&["agent", "profiles", "play", "--try"]));
    assert_eq!(failed["state"], "failed");
    assert!(text(&failed["why"]).contains("refused `initialize`"), "{failed}");
    stage.flower.ok(&["down"]);
    assert_eq!(trial(stage.flower.json(&["agent", "profiles", "play"]))["state"], "failed");
}

#[test]
fn a_limit_that_cannot_be_measured_is_said_at_the_dispatch() {
    let limits = "[spend]\nper_day = 20\ntokens_per_day = 1000\n";
    for (reports, words) in [
        ("", Some("the limit `per_day` and `tokens_per_day` does not hold for `play`")),
        ("reports = [\"cost\"]", Some("the limit `tokens_per_day` does not hold for `play`")),
        ("reports = [\"cost\", \"tokens\"]", None),
    ] {
        let stage = Stage::new();
        stage.set_profiles(&format!("{}\n{limits}", profile("play", &[], reports)));
        let brief = stage.brief("Odd", WORK);
        let page = stage.flower.ok(&["dispatch", &brief.to_string(), "--agent", "play"]);
        match words {
            Some(words) => assert!(page.contains(words), "{page}"),
            None => assert!(!page.contains("does not hold"), "{page}"),
        }
    }
}

#[test]
fn what_an_agent_does_not_report_well_is_not_counted() {
    let script = "usage 100 1000 0.5 700\nwrite odd.txt x\ncommit odd\nhand-back done";
    for (reports, cost, tokens) in [
        ("reports = [\"cost\"]", json!(0.5), json!(null)),
        ("reports = [\"tokens\"]", json!(null), json!(700)),
        ("", json!(0.5), json!(700)),
    ] {
        let stage = with(&[], reports);
        let dispatch = stage.play("Odd", script);
        let name = stage.agent_of(dispatch);
        stage.becomes(dispatch, "landed");
        let agent = stage.agent_ends(&name);
        assert_eq!((&agent["cost"], &agent["tokens"]), (&cost, &tokens), "{reports}");
    }
}
