//! Two agents in one worktree: the hook refuses commits to paths reserved by the other, and a commit that bypasses it needs
//! the operator.

use super::*;

#[test]
fn the_second_may_not_commit_what_the_first_has_reserved() {
    let flower = serving(&[("src/main", "1\n"), ("docs/a", "1\n")]);
    let lead = at_work(&flower, "Shared");
    let (member, agent) = packet(&flower, lead.dispatch, true);
    let inside = |script: &str| inside_as(&flower, &member, &lead.worktree, script);
    assert_eq!(as_agent(&flower, &lead.token, &["lease", "take", "src/"]).code, 0);
    assert_eq!(as_agent(&flower, &member, &["lease", "take", "docs/"]).code, 0);
    let refused = inside("echo 2 > src/main; echo 2 > docs/a; git add --all; git commit --quiet --message both");
    assert_ne!(refused.code, 0, "{refused:?}");
    for said in ["`src/main` is reserved by `agent-1`, for another ", "git restore --staged PATH"] {
        assert!(refused.stderr.contains(said), "`{said}`: {refused:?}");
    }
    // What the message says works, and what is one's own goes through.
    let own = inside("git commit --quiet --message docs -- docs/a; git rev-parse HEAD");
    assert_eq!(own.code, 0, "{own:?}");
    let own = own.stdout.trim().to_owned();
    let lead_commit = lead.inside(&flower, "git commit --quiet --message src -- src/main; git rev-parse HEAD");
    eventually("both are collected", || {
        (show_brief(&flower, lead.brief)["links"].to_string().contains(&lead_commit)).then_some(())
    });
    assert!(show_brief(&flower, lead.brief)["links"].to_string().contains(&own));
    flower.wait_until_idle("commits");
    assert_eq!(events(&flower, "lease_breached").len(), 0, "{agent}: each has kept to their own");
    landing_becomes(&flower, lead.lands(&flower), "landed");
}

#[test]
fn a_commit_that_bypasses_the_hook_needs_the_operator() {
    let flower = serving(&[("src/main", "1\n")]);
    let lead = at_work(&flower, "Shared");
    let (member, agent) = packet(&flower, lead.dispatch, true);
    assert_eq!(as_agent(&flower, &lead.token, &["lease", "take", "src/"]).code, 0);
    let around = inside_as(
        &flower,
        &member,
        &lead.worktree,
        "echo 2 > src/main; git add --all; git commit --no-verify --quiet --message around; git rev-parse HEAD",
    );
    assert_eq!(around.code, 0, "inside it goes through: {around:?}");
    let commit = around.stdout.trim().to_owned();
    let breach = eventually("it is found", || events(&flower, "lease_breached").pop());
    let body = &breach["body"];
    assert_eq!(
        (&body["commit"], &body["holder"], &body["paths"], &body["worktree"]),
        (&json!(commit), &json!(lead.agent), &json!(["src/main"]), &json!(lead.worktree)),
        "{breach}"
    );
    assert_eq!(body["by"], json!(agent), "who made it is said after the commit");
    let landing = lead.lands(&flower);
    let held = landing_becomes(&flower, landing, "approval");
    let reason = held["reason"].as_str().expect("a reason");
    assert!(reason.contains(&format!("changes `src/main`, which `{}` had reserved", lead.agent)), "{reason}");
    let inbox = flower.json(&["inbox"]);
    says(&inbox, "which `agent-1` had reserved");
    assert_eq!(std::fs::read_to_string(flower.repo.join("src/main")).unwrap(), "1\n");
    flower.ok(&["queue", "approve", &landing.to_string()]);
    landing_becomes(&flower, landing, "landed");
    assert_eq!(std::fs::read_to_string(flower.repo.join("src/main")).unwrap(), "2\n");
    assert_eq!(events(&flower, "lease_breached").len(), 1);
}

#[test]
fn a_commit_without_a_recorded_author_needs_the_operator() {
    let flower = serving(&[("src/main", "1\n")]);
    let lead = at_work(&flower, "Shared");
    let (member, _) = packet(&flower, lead.dispatch, true);
    assert_eq!(as_agent(&flower, &lead.token, &["lease", "take", "src/"]).code, 0);
    assert_eq!(as_agent(&flower, &member, &["lease", "take", "docs/"]).code, 0);
    // Without a hook no agent is recorded as its author.
    let silent = inside_as(
        &flower,
        &member,
        &lead.worktree,
        "echo 2 > src/main; git add --all; git -c core.hooksPath=/dev/null commit --quiet --message silent",
    );
    assert_eq!(silent.code, 0, "{silent:?}");
    let breach = eventually("it is found", || events(&flower, "lease_breached").pop());
    assert_eq!((&breach["body"]["by"], &breach["body"]["holder"]), (&json!(null), &json!(lead.agent)), "{breach}");
    landing_becomes(&flower, lead.lands(&flower), "approval");
}
