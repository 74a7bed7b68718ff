//! `check_work`: an agent tries its commits before it hands back.

use super::*;

#[test]
fn an_agent_learns_what_its_landing_would_say() {
    let toml = "[checks]\ntest = { run = \"echo looking; test ! -e broken\" }\n";
    let flower = serving(&[("flower.toml", toml), ("shared", "1\n")]);
    let (one, two) = (at_work(&flower, "One"), at_work(&flower, "Two"));
    let mut agent = Piped::start(&flower, Era::November2025, Some(&one.token));
    let mut other = Piped::start(&flower, Era::November2025, Some(&two.token));
    let mut stranger = Piped::start(&flower, Era::November2025, None);
    assert!(stranger.fails("check_work", json!({})).contains("`start_work`"));
    other.done("reserve_paths", json!({ "patterns": ["docs/"] }));
    one.commit(&flower, "docs/broken", "x");
    one.commit(&flower, "broken", "x");
    let red = agent.done("check_work", json!({}));
    assert!(red.contains("- test: failed with exit code 1") && red.contains("\n> looking\n"), "{red}");
    assert!(red.contains("has reserved:\n> docs/\n"), "{red}");
    assert!(red.ends_with("Next: correct that, commit, and `check_work` again."), "{red}");
    one.inside(&flower, "git rm --quiet broken; git commit --quiet --message mended");
    two.commit(&flower, "shared", "two");
    let green = agent.done("check_work", json!({ "check": "test", "budget": 500 }));
    assert!(green.contains("- test: passed") && green.contains("`hand_back`"), "{green}");
    let unknown = agent.fails("check_work", json!({ "check": "lint" }));
    assert!(unknown.contains("there is no check `lint`"), "{unknown}");
    // Its landing need not check again.
    let landing = one.lands(&flower);
    let landed = eventually("it lands", || {
        let landing = flower.json(&["queue", "show", &landing.to_string()]);
        (landing["state"] == "landed").then_some(landing)
    });
    assert_eq!(landed["checks"][0]["reused"], format!("when `{}` was checked", one.worktree), "{landed:#}");
    // A conflict names its paths.
    two.commit(&flower, "docs/broken", "other");
    let conflict = other.done("check_work", json!({}));
    assert!(conflict.contains("Does not merge with MAIN") && conflict.contains("\n> docs/broken\n"), "{conflict}");
    assert!(conflict.contains("`git merge origin/main`"), "{conflict}");
}
