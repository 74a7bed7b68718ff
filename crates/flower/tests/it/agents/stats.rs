//! The scorecard: what real dispatches of scripted agents leave in it.

use super::stage::{Stage, list, number};
use serde_json::{Value, json};

fn scores(stage: &Stage) -> Vec<Value> {
    list(&stage.flower.json(&["agent", "stats"]))
}

#[test]
fn the_scorecard_counts_landings_failures_and_cost_by_profile() {
    let stage = Stage::new();
    assert_eq!(scores(&stage), [json!(null); 0]);
    for title in ["One", "Two"] {
        let path = title.to_lowercase();
        let script = format!("write {path}.txt x\nusage 10 100 0.25\ncommit {path}\nhand-back done");
        let dispatch = stage.play(title, &script);
        stage.becomes(dispatch, "landed");
        stage.agent_ends(&stage.agent_of(dispatch));
    }
    let failed = stage.play("Three", "fail no way");
    stage.becomes(failed, "failed");
    stage.agent_ends(&stage.agent_of(failed));
    let all = scores(&stage);
    assert_eq!(all.len(), 1, "{all:?}");
    let score = &all[0];
    assert_eq!((&score["profile"], &score["kind"], &score["model"]), (&json!("play"), &json!("build"), &json!(null)));
    let counted = ["ended", "landed", "first_try", "fixes", "failed"].map(|key| number(&score[key]));
    assert_eq!(counted, [3, 2, 2, 0, 1], "{score}");
    assert!(score["seconds"].is_u64(), "{score}");
    let shown = stage.flower.ok(&["agent", "stats"]);
    assert!(shown.contains("2 (100 %)"), "{shown}");
    // A restart changes nothing: all of it is in the log.
    stage.flower.restart();
    assert_eq!(scores(&stage), all);
    assert_eq!(list(&stage.flower.json(&["agent", "stats", "--days", "1"])), all);
}

#[test]
fn the_time_of_a_standing_agent_is_not_known() {
    let stage = Stage::new();
    stage.flower.ok(&["agent", "spawn", "play", "--worktree", "porch", "--standing"]);
    let brief = stage.brief("Porch", "write porch.txt x\ncommit porch\nhand-back done");
    let dispatch = stage.dispatch_with(brief, &json!({ "worktree": "porch" }));
    stage.becomes(dispatch, "landed");
    let score = stage.until("it is counted", || scores(&stage).into_iter().next());
    assert_eq!((&score["landed"], &score["seconds"]), (&json!(1), &json!(null)), "{score}");
}
