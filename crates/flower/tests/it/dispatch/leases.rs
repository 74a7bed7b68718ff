//! Path leases: what overlaps is refused and its holder named, what escapes is no path at all, and all of it ends.

use super::*;

fn take(flower: &Flower, work: &Work, patterns: &[&str], seconds: u64) -> Answer {
    let body = json!({ "patterns": patterns, "seconds": seconds });
    call(flower, &work.token, "POST", "/api/leases?project=repo", &body)
}

fn holders(flower: &Flower) -> Vec<String> {
    let all = flower.json(&["lease"]);
    all.as_array().expect("a list").iter().map(|lease| lease["holder"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn an_overlapping_lease_is_refused_and_its_holder_named() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Shared");
    let (other, agent) = packet(&flower, work.dispatch, true);
    let taken = as_agent(&flower, &work.token, &["lease", "take", "src/", "docs/*.md", "--ttl", "30m", "--json"]);
    let taken: Value = serde_json::from_str(&taken.stdout).unwrap_or_else(|_| panic!("{taken:?}"));
    assert_eq!(
        (&taken["holder"], &taken["worktree"], &taken["patterns"], &taken["brief"]),
        (&json!(work.agent), &json!(work.worktree), &json!(["src/", "docs/*.md"]), &json!(work.brief)),
        "{taken}"
    );
    for pattern in ["src/main.rs", "src", "**/main.rs", "docs/", "docs/a.md", "**"] {
        let refused = as_agent(&flower, &other, &["lease", "take", "free", pattern, "--json"]).error(4);
        says(&refused["message"], &format!("`{pattern}` overlaps with `"));
        says(&refused["message"], &format!("`{}` has reserved for another 30 minutes", work.agent));
        says(&refused["hints"], &format!("flower agent tell {} TEXT", work.agent));
    }
    assert_eq!(holders(&flower), std::slice::from_ref(&work.agent), "nothing of a refused wish is taken");
    for pattern in ["docs/sub/a.md", "source/", "src2", "docs/a.txt"] {
        let free = as_agent(&flower, &other, &["lease", "take", pattern]);
        assert_eq!(free.code, 0, "{pattern}: {free:?}");
        assert!(free.stdout.starts_with(&format!("{agent} holds {pattern} in {}", work.worktree)), "{free:?}");
    }
    // One's own is no obstacle, and the same again takes its place.
    for _ in 0..3 {
        assert_eq!(take(&flower, &work, &["src/", "docs/*.md"], 60).status, 200);
    }
    assert_eq!(take(&flower, &work, &["src/main.rs"], 60).status, 200);
    assert_eq!(holders(&flower).iter().filter(|holder| **holder == work.agent).count(), 2);
    // Another worktree is another place.
    let elsewhere = at_work(&flower, "Elsewhere");
    assert_eq!(take(&flower, &elsewhere, &["src/"], 60).status, 200);
    let path = format!("/api/leases?project=repo&worktree={}", work.worktree);
    let reached = call(&flower, &elsewhere.token, "POST", &path, &json!({ "patterns": ["x"] }));
    assert_eq!(reached.status, 403, "{}", reached.text());
    let named =
        call(&flower, &work.token, "POST", "/api/leases?project=repo", &json!({ "patterns": ["x"], "as": "ada" }));
    assert_eq!(named.status, 403, "an agent cannot reserve in another's name: {}", named.text());
}

#[test]
fn what_escapes_is_no_pattern() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Escape");
    for pattern in
        ["../x", "/etc", "a/../../b", ".git/x", ".git", ".GIT/config", "a//b", "./a", "a/.", "..", "a\\b", ""]
    {
        let refused = as_agent(&flower, &work.token, &["lease", "take", "--json", "--", pattern]).error(2);
        says(&refused["message"], "is no pattern of paths");
    }
    for pattern in ["a\0b", "a\nb", "a\u{202e}b", &"x".repeat(600), &"a/".repeat(40)] {
        let answer = take(&flower, &work, &[pattern], 60);
        assert_eq!(answer.status, 422, "{pattern:?}: {}", answer.text());
    }
    let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(take(&flower, &work, &many, 60).status, 422);
    assert_eq!(take(&flower, &work, &[], 60).status, 422);
    for seconds in [0, 86_401, u64::MAX] {
        assert_eq!(take(&flower, &work, &["x"], seconds).status, 422, "{seconds}");
    }
    for ttl in ["0s", "25h", "soon"] {
        assert_eq!(as_agent(&flower, &work.token, &["lease", "take", "x", "--ttl", ttl]).code, 2, "{ttl}");
    }
    assert_eq!(flower.fails(&["lease", "take", "x"], 2)["message"], "no worktree is named");
    assert_eq!(flower.fails(&["lease", "take", "x", "--worktree", "nowhere"], 3)["kind"], "not_found");
    assert_eq!(flower.json(&["lease"]), json!([]));
    assert_eq!(events(&flower, "lease_taken").len(), 0);
}

#[test]
fn a_lease_ends_by_time_by_hand_and_with_its_run() {
    let flower = serving(&[]);
    let released = |why: &str| {
        eventually(why, || events(&flower, "lease_released").iter().any(|e| e["body"]["why"] == why).then_some(()));
    };
    // By time, and another agent may take it at once.
    let work = at_work(&flower, "Ends");
    let (other, agent) = packet(&flower, work.dispatch, true);
    assert_eq!(take(&flower, &work, &["src/"], 1).status, 200);
    eventually("its time is over", || (flower.json(&["lease"]) == json!([])).then_some(()));
    assert_eq!(as_agent(&flower, &other, &["lease", "take", "src/main.rs"]).code, 0);
    released("its time was over");
    // By hand: one's own only.
    let id = flower.json(&["lease"])[0]["id"].to_string();
    assert_eq!(as_agent(&flower, &work.token, &["lease", "release", &id]).code, 1);
    assert_eq!(holders(&flower), std::slice::from_ref(&agent));
    assert_eq!(as_agent(&flower, &other, &["lease", "release"]).code, 0);
    released(&format!("given back by {agent}"));
    assert_eq!(flower.fails(&["lease", "release", &id], 3)["kind"], "not_found");
    // With the hand-back.
    assert_eq!(take(&flower, &work, &["src/", "docs/"], 3_600).status, 200);
    says(&work.hand_back(&flower, &[]).error(1)["message"], "there is no commit of yours");
    assert_eq!(work.hand_back(&flower, &[]).code, 0);
    released("the work was handed back");
    // With a dispatch that is taken back.
    let cancelled = at_work(&flower, "Cancelled");
    assert_eq!(take(&flower, &cancelled, &["src/"], 3_600).status, 200);
    flower.ok(&["dispatch", "cancel", &cancelled.dispatch.to_string()]);
    released("the dispatch was cancelled");
    // With a claim that runs out.
    let silent = claimed(&flower, dispatched(&flower, planned(&flower, "Silent"), &json!({})), 1);
    assert_eq!(take(&flower, &silent, &["src/"], 3_600).status, 200);
    becomes(&flower, silent.dispatch, "requested");
    released("its holder was not heard of any more");
    assert_eq!(flower.json(&["lease"]), json!([]));
}
