//! Agents that flower did not start: they came with a token, and are listed as what they are.

use super::*;

fn agents(flower: &Flower) -> Vec<Value> {
    flower.json(&["agent"]).as_array().expect("a list").clone()
}

#[test]
fn an_agent_that_joined_by_mcp_is_listed_until_its_claim_ends() {
    let flower = serving(&[]);
    let brief = planned(&flower, "Joined");
    let dispatch = dispatched(&flower, brief, &json!({}));
    let (token, agent) = packet(&flower, dispatch, false);
    assert_eq!(agents(&flower), [Value::Null; 0], "a packet is no agent");
    let mut client = Piped::start(&flower, Era::November2025, Some(&token));
    begins(&mut client, json!({ "dispatch": dispatch }));
    let listed = agents(&flower);
    let [one] = &listed[..] else { panic!("{listed:#?}") };
    assert_eq!((&one["name"], &one["joined"], &one["profile"]), (&json!(agent), &json!(true), &json!("unknown")));
    assert_eq!(
        (&one["worktree"], &one["brief"], &one["dispatch"]),
        (&json!("b1-joined"), &json!(brief), &json!(dispatch))
    );
    assert_eq!((&one["state"], &one["project"]), (&json!("working"), &json!("repo")), "{one:#}");
    assert!(one["quiet_seconds"].as_u64().is_some_and(|seconds| seconds < 60), "{one:#}");
    let page = flower.ok(&["agent", "show", &agent]);
    assert!(page.contains("joined by itself and holds its claim") && page.contains("flower agent tell"), "{page}");
    assert!(flower.ok(&["agent"]).contains(&agent));
    for verb in [&["stop"][..], &["log"], &["refresh"]] {
        let error = flower.fails(&[&["agent"], verb, &[&agent]].concat(), 1);
        assert!(error["message"].as_str().unwrap().contains("joined by itself"), "{error}");
    }
    // The claim is in the tables, so the next daemon knows it.
    flower.restart();
    assert_eq!(agents(&flower)[0]["name"], json!(agent));
    flower.ok(&["dispatch", "cancel", &dispatch.to_string()]);
    eventually("it is gone with its claim", || agents(&flower).is_empty().then_some(()));
}

#[test]
fn an_agent_without_a_claim_and_a_member_are_listed_too() {
    let flower = serving(&[]);
    let lead = at_work(&flower, "Shared");
    let (token, member) = packet(&flower, lead.dispatch, true);
    let mut beside = Http::start(&flower, Era::November2025, &token);
    begins(&mut beside, json!({}));
    let mut stranger = Piped::start(&flower, Era::November2025, None);
    stranger.done("list_briefs", json!({}));
    let listed = agents(&flower);
    assert_eq!(listed.len(), 3, "{listed:#?}");
    let of = |name: &str| listed.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{listed:#?}"));
    assert_eq!(of(&lead.agent)["dispatch"], json!(lead.dispatch), "by commands alone");
    let one = of(&member);
    assert_eq!(
        (&one["member"], &one["worktree"], &one["state"]),
        (&json!(1), &json!(lead.worktree), &json!("working"))
    );
    let free = listed.iter().find(|one| one["dispatch"].is_null()).expect("the stranger");
    assert_eq!((&free["state"], &free["worktree"], &free["joined"]), (&json!("idle"), &json!(""), &json!(true)));
    // Another agent sees itself only.
    let own = call(&flower, &token, "GET", "/api/agents", &json!(null)).json();
    assert_eq!(own.as_array().map(Vec::len), Some(1), "{own:#}");
    assert_eq!(own[0]["name"], json!(member));
    // With its token, it is gone.
    let tokens = flower.json(&["token"]);
    let id = tokens.as_array().unwrap().iter().find(|token| token["agent"] == free["name"]).expect("its token")["id"]
        .clone();
    flower.ok(&["token", "revoke", id.as_str().unwrap()]);
    assert_eq!(agents(&flower).len(), 2);
}
