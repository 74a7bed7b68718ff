//! What the project and the profile say together: the narrower network, and a model that must be named.

use crate::agents::stage::*;

const CLOSED: &str = "[agents]\ndefault = \"play\"\nmax = 4\n[worktree]\nnetwork = \"closed\"\n";

#[test]
fn a_project_without_a_network_is_not_opened_by_a_profile() {
    let profiles = profile("play", &[], "network = \"web\"");
    let stage = Stage::serving(CLOSED, &profiles, &[]);
    let brief = stage.brief("Work", "hand-back done");
    let error = stage.flower.fails(&["agent", "spawn", "play", "--brief", &brief.to_string()], 1);
    let words = error.to_string();
    assert!(words.contains("`play` needs a network") && words.contains("flower.toml"), "{words}");
    let dispatch = stage.dispatch(brief);
    stage.until("it says why it waits", || stage.waits(dispatch).contains(&"network_closed".to_owned()).then_some(()));
    assert!(stage.agents().is_empty(), "nothing has started");
}

/// An agent whose model runs on this machine works, over flower's port alone.
#[test]
fn flower_is_reached_from_inside_a_closed_network_and_nothing_else_is() {
    let profiles = profile("play", &[], "");
    let stage = Stage::serving(CLOSED, &profiles, &[]);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let probe = format!("run ! bash -c ': < /dev/tcp/127.0.0.1/{port}'");
    let dispatch = stage.play("Work", &format!("{probe}\nwrite a.txt x\ncommit a\nhand-back done"));
    stage.becomes(dispatch, "landed");
    assert_eq!(stage.landed("a.txt").as_deref(), Some("x\n"));
    other.set_nonblocking(true).unwrap();
    assert!(other.accept().is_err(), "another port of this machine was reached");
}

#[test]
fn opencode_does_not_run_without_a_chosen_model() {
    let stage = Stage::serving("[agents]\nmax = 4\n", "", &[]);
    let brief = stage.brief("Work", "hand-back done");
    let refused = [
        stage.flower.fails(&["agent", "spawn", "opencode", "--brief", &brief.to_string()], 1),
        stage.flower.fails(&["dispatch", &brief.to_string(), "--agent", "opencode"], 1),
    ];
    for error in refused {
        let words = error.to_string();
        assert!(words.contains("has no `model`") && words.contains("[agents.opencode]"), "{words}");
    }
    assert!(stage.dispatches_of(brief).is_empty() && stage.agents().is_empty(), "nothing has started");
    let missing = |stage: &Stage| {
        let all = list(&stage.flower.json(&["agent", "profiles"]));
        all.into_iter().find(|one| one["profile"] == "opencode").expect("it is known")["missing"].to_string()
    };
    assert!(missing(&stage).contains("has no `model`"));
    stage.set_profiles("[agents.opencode]\nmodel = \"anthropic/claude\"\n");
    assert!(!missing(&stage).contains("has no `model`"));
    let error = stage.flower.fails(&["dispatch", &brief.to_string(), "--agent", "opencode"], 1);
    assert!(error["message"].to_string().contains("is not on the PATH"), "{error}");
}
