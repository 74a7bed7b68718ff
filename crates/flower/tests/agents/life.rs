//! From a dispatch to MAIN: an agent is started for it, works, hands back and leaves.

use crate::stage::*;
use serde_json::json;

#[test]
fn an_agent_is_started_for_a_dispatch_and_leaves_when_it_has_landed() {
    let stage = Stage::new();
    let brief = stage.brief("Work", "run sleep 0.5\nfork\nwrite src/new.txt hello\ncommit new\nhand-back done");
    let dispatch = stage.dispatch(brief);
    let name = stage.agent_of(dispatch);
    let worktree = text(&stage.show(dispatch)["worktree"]);
    let working = stage.agent_becomes(&name, "working");
    assert_eq!((&working["worktree"], &working["profile"]), (&json!(worktree), &json!("play")));
    let landed = stage.becomes(dispatch, "landed");
    assert_eq!(landed["held_by"], name.as_str(), "{landed}");
    let ended = stage.agent_ends(&name);
    assert_eq!((&ended["state"], &ended["ended"]["how"]), (&json!("stopped"), &json!("retired")), "{ended}");
    assert_eq!(stage.landed("src/new.txt").as_deref(), Some("hello\n"));
    stage.until("its worktree is removed", || {
        let live = list(&stage.flower.json(&["worktree"]));
        live.iter().all(|one| one["name"] != worktree.as_str()).then_some(())
    });
    stage.gone("scripted-fork");
    stage.gone("scripted-agent");
}
