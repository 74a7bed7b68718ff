//! From a dispatch to MAIN: an agent is started for it, works, hands back and leaves.

use crate::agents::stage::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The token that an agent works with.
fn token_of(stage: &Stage, agent: &Value) -> String {
    let file = stage.flower.home.join("agents").join(agent["id"].to_string()).join("run.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(file).expect("it is kept")).expect("JSON");
    text(&kept["token"])
}

#[test]
fn an_agent_is_started_for_a_dispatch_and_leaves_when_it_has_landed() {
    let stage = Stage::new();
    let script = format!("fork\n{GATE}\nwrite src/new.txt hello\ncommit new\nhand-back all is done");
    let dispatch = stage.play("Work", &script);
    let name = stage.agent_of(dispatch);
    let worktree = text(&stage.show(dispatch)["worktree"]);
    let executing = stage.becomes(dispatch, "executing");
    assert_eq!(executing["claim"]["holder"], name.as_str(), "{executing}");
    stage.until("what it forks runs", || (!stage.processes("scripted-fork").is_empty()).then_some(()));
    let working = stage.agent(&name);
    assert_eq!(
        (&working["worktree"], &working["profile"], &working["state"], &working["dispatch"], &working["member"]),
        (&json!(worktree), &json!("play"), &json!("working"), &json!(dispatch), &json!(0))
    );
    let token = token_of(&stage, &working);
    let asks = || stage.flower.request("GET", "/api/briefs").token(&token).send().status;
    assert_eq!(asks(), 200);
    stage.open(dispatch);
    let landed = stage.becomes(dispatch, "landed");
    assert_eq!((&landed["held_by"], &landed["result"]["summary"]), (&json!(name), &json!("all is done")), "{landed}");
    let ended = stage.agent_ends(&name);
    assert_eq!((&ended["state"], &ended["ended"]["how"]), (&json!("stopped"), &json!("retired")), "{ended}");
    assert_eq!(stage.landed("src/new.txt").as_deref(), Some("hello\n"));
    stage.until("its worktree is removed", || {
        let live = list(&stage.flower.json(&["worktree"]));
        live.iter().all(|one| one["name"] != worktree.as_str()).then_some(())
    });
    stage.gone("scripted-fork");
    stage.gone("scripted-agent");
    stage.until("its token ends with it", || (asks() == 401).then_some(()));
    assert_eq!(stage.agents(), [json!(null); 0]);
}

#[test]
fn an_agent_sees_commits_of_the_operator_in_its_next_turn() {
    let stage = Stage::new();
    let script = format!(
        "write first.txt x\ncommit first\n{GATE}\nwait\nmust test -z \"$(git status --porcelain)\"\n\
         must git log --format=%s -1 | grep -qx operator\nwrite second.txt x\ncommit second\nhand-back done"
    );
    let dispatch = stage.play("Work", &script);
    let name = stage.agent_of(dispatch);
    stage.becomes(dispatch, "executing");
    let worktree = text(&stage.show(dispatch)["worktree"]);
    let dir = crate::common::work::tree(&stage.flower, &worktree);
    stage.until("its first commit is outside", || {
        let known = stage.flower.json(&["worktree", "show", &worktree]);
        (known["ahead"] == 1).then_some(())
    });
    std::fs::write(dir.join("operator.txt"), "hello\n").unwrap();
    stage.flower.git(&dir, &["add", "operator.txt"]);
    stage.flower.git(&dir, &["-c", "maintenance.auto=false", "commit", "--quiet", "--message", "operator"]);
    stage.open(dispatch);
    stage.becomes(dispatch, "landed");
    stage.agent_ends(&name);
    for file in ["first.txt", "operator.txt", "second.txt"] {
        assert!(stage.landed(file).is_some(), "{file}");
    }
}

#[test]
fn automatic_dispatches_use_the_default_profile() {
    let stage = Stage::new();
    let script = "write auto.txt x\ncommit auto\nhand-back done";
    let brief = stage.brief_with("By itself", script, &json!({ "auto_dispatch": true }));
    let dispatch = number(&stage.until("a dispatch", || stage.dispatches_of(brief).pop())["id"]);
    stage.becomes(dispatch, "landed");
    assert_eq!(stage.agent(&stage.agent_of(dispatch))["profile"], "play");
}

#[test]
fn an_agent_is_spawned_for_a_brief() {
    let stage = Stage::serving("[agents]\nmax = 4\n", &profile("play", &[], ""), &[]);
    let brief = stage.brief("Spawned", "write spawned.txt x\ncommit spawned\nhand-back done");
    let agent = stage.flower.json(&["agent", "spawn", "play", "--brief", &brief.to_string(), "--name", "ada"]);
    assert_eq!((&agent["name"], &agent["brief"]), (&json!("ada"), &json!(brief)));
    let dispatch = number(&agent["dispatch"]);
    assert_eq!(stage.becomes(dispatch, "landed")["held_by"], "ada");
    // Without a default profile a dispatch that names none has no agent.
    let waiting = stage.play("Unserved", "hand-back done");
    assert_eq!(stage.waits(waiting), ["no_agent"]);
}

#[test]
fn a_standing_agent_gets_one_dispatch_after_the_other_and_hears_what_it_is_told() {
    let stage = Stage::new();
    let spawned = stage.flower.json(&["agent", "spawn", "play", "--worktree", "porch", "--standing"]);
    let name = text(&spawned["name"]);
    let idle = stage.agent_becomes(&name, "idle");
    assert_eq!((&idle["worktree"], &idle["dispatch"]), (&json!("porch"), &json!(null)));
    stage.flower.ok(&["agent", "tell", &name, "the kettle is on"]);
    stage.hears(&name, "the kettle is on");
    stage.hears(&name, "said: heard: While you worked, this arrived");
    for file in ["one.txt", "two.txt"] {
        stage.agent_becomes(&name, "idle");
        let brief = stage.brief(file, &format!("write {file} x\ncommit {file}\nhand-back done"));
        let dispatch = stage.dispatch_with(brief, &json!({ "worktree": "porch" }));
        assert_eq!(stage.becomes(dispatch, "landed")["held_by"], name.as_str());
        assert!(stage.landed(file).is_some());
    }
    let agent = stage.agent_becomes(&name, "idle");
    assert_eq!((&agent["standing"], &agent["restarts"]), (&json!(true), &json!(0)));
    assert_eq!(stage.all_agents().len(), 1);
    stage.flower.ok(&["agent", "tell", &name, "and the tea is ready"]);
    stage.hears(&name, "and the tea is ready");
    stage.flower.ok(&["agent", "stop", &name]);
    assert_eq!(stage.agent_ends(&name)["ended"]["how"], "stopped");
}

#[test]
fn three_agents_share_a_worktree() {
    let stage = Stage::new();
    let commit = |file: &str| {
        format!(
            "reserve {file}\nwrite {file} from its agent\nrun for n in 1 2 3 4 5 6 7 8 9; do git add {file} && git commit \
             --quiet -m {file} -- {file} && break; sleep 0.2; done"
        )
    };
    let both = "must n=0; while [ $n -lt 600 ]; do git log --format=%s | grep -qx one.txt && git log --format=%s | grep -qx \
        two.txt && exit 0; sleep 0.1; n=$((n + 1)); done; exit 1";
    let spec = format!(
        "```play\n{both}\n{}\nhand-back three did it\n```\n\n```play member\n{}\n```\n\n```play member 2\n{}\n```\n",
        commit("lead.txt"),
        commit("one.txt"),
        commit("two.txt")
    );
    let dispatch = stage.dispatch_with(stage.brief("Together", &spec), &json!({ "agents": 3 }));
    stage.becomes(dispatch, "landed");
    for file in ["lead.txt", "one.txt", "two.txt"] {
        assert_eq!(stage.landed(file).as_deref(), Some("from its agent\n"), "{file}");
    }
    let all = stage.all_agents();
    let members: BTreeSet<u64> = all.iter().map(|agent| number(&agent["member"])).collect();
    let worktrees: BTreeSet<String> = all.iter().map(|agent| text(&agent["worktree"])).collect();
    assert_eq!((all.len(), members, worktrees.len()), (3, BTreeSet::from([0, 1, 2]), 1), "{all:?}");
    for agent in &all {
        let ended = stage.agent_ends(&text(&agent["name"]));
        assert_eq!((&ended["ended"]["how"], &ended["restarts"]), (&json!("retired"), &json!(0)), "{ended}");
    }
    let taken: BTreeSet<String> =
        stage.events("lease_taken").iter().map(|event| text(&event["actor"]["name"])).collect();
    assert_eq!(taken.len(), 3, "each has reserved what it changed");
    stage.gone("scripted-agent");
}

#[test]
fn no_more_run_at_once_than_there_is_room_for() {
    let stage = Stage::with("max = 2", &profile("play", &[], ""));
    let script = |n: usize| format!("{GATE}\nwrite {n}.txt x\ncommit {n}\nhand-back done");
    let all: Vec<u64> = (0..5).map(|n| stage.play(&format!("Part {n}"), &script(n))).collect();
    for dispatch in &all[..2] {
        stage.becomes(*dispatch, "executing");
    }
    for (place, dispatch) in ["1st", "2nd", "3rd"].iter().zip(&all[2..]) {
        let waiting = stage.show(*dispatch);
        assert_eq!((&waiting["state"], &waiting["waits"][0]["code"]), (&json!("requested"), &json!("no_slot")));
        let message = text(&waiting["waits"][0]["message"]);
        assert!(message.starts_with(&format!("{place} in line")) && message.contains("2 of 2"), "{message}");
    }
    let mut opened = BTreeSet::new();
    stage.until("all land", || {
        let live = stage.agents();
        assert!(live.len() <= 2, "{live:?}");
        let shown: Vec<Value> = all.iter().map(|dispatch| stage.show(*dispatch)).collect();
        for one in shown.iter().filter(|one| one["state"] == "executing") {
            let dispatch = number(&one["id"]);
            if opened.insert(dispatch) {
                stage.open(dispatch);
            }
        }
        shown.iter().all(|one| one["state"] == "landed").then_some(())
    });
    let began: Vec<u64> =
        stage.events("agent_started").iter().map(|event| number(&event["body"]["dispatch"])).collect();
    assert_eq!(began, all, "dispatches are served in order, each once");
}

#[test]
fn no_agent_begins_while_main_is_frozen() {
    let stage = Stage::new();
    stage.flower.ok(&["freeze", "an inventory"]);
    let dispatch = stage.play("Later", "write later.txt x\ncommit later\nhand-back done");
    assert_eq!(stage.waits(dispatch), ["main_frozen"]);
    // An agent spawned by hand may begin; it proves that the supervisor has looked.
    stage.flower.ok(&["agent", "spawn", "play", "--worktree", "aside", "--standing", "--name", "aside"]);
    stage.agent_becomes("aside", "idle");
    assert_eq!((stage.waits(dispatch), stage.newest_of(dispatch)), (vec!["main_frozen".to_owned()], None));
    stage.flower.ok(&["thaw"]);
    stage.becomes(dispatch, "landed");
}

#[test]
fn an_agent_that_asks_waits_for_the_answer() {
    let stage = Stage::new();
    let brief = stage.brief("Asks", "question which colour?\nwait\nwrite colour.txt blue\ncommit it\nhand-back done");
    let dispatch = stage.dispatch(brief);
    let name = stage.agent_of(dispatch);
    let waiting = stage.agent_becomes(&name, "waiting");
    assert!(text(&waiting["evidence"]).contains("question"), "{waiting}");
    let asked = stage.inbox("question").pop().expect("a question");
    assert_eq!((&asked["brief"], &asked["text"]), (&json!(brief), &json!("which colour?")), "{asked}");
    assert_eq!(stage.show(dispatch)["state"], "executing");
    stage.flower.ok(&["brief", "answer", &brief.to_string(), &asked["question"].to_string(), "blue, like the sea"]);
    stage.becomes(dispatch, "landed");
    let log = stage.log(&name);
    assert!(log.contains("blue, like the sea") && !log.contains("Your turn ended"), "{log}");
}

#[test]
fn an_early_hand_back_is_refused_with_a_reason() {
    let stage = Stage::new();
    let dispatch = stage.play("Early", "write early.txt x\nhand-back too early\nwait\ncommit it\nhand-back done");
    stage.becomes(dispatch, "landed");
    let log = stage.log(&stage.agent_of(dispatch));
    assert!(log.contains("said: hand_back: ") && log.contains("early.txt"), "{log}");
    assert!(log.contains(&format!("Your turn ended, and dispatch {dispatch} is not handed back")), "{log}");
}

#[test]
fn an_agent_that_never_hands_back_fails() {
    let stage = Stage::new();
    let dispatch = stage.play("Idler", "say I would rather not");
    let failed = stage.becomes(dispatch, "failed");
    let name = stage.agent_of(dispatch);
    assert!(text(&failed["result"]["summary"]).contains("4 times without handing back"), "{failed}");
    let ended = stage.agent_ends(&name);
    assert_eq!((&ended["state"], &ended["ended"]["how"]), (&json!("failed"), &json!("failed")));
    assert_eq!(stage.log(&name).matches("prompt: Your turn ended").count(), 3);
    let alarm = stage.inbox("alarm").pop().expect("an alarm");
    assert!(alarm.to_string().contains(&name), "{alarm}");
    stage.gone("scripted-agent");
}

/// The dispatch that mends what went wrong with the first one.
fn fix_of(stage: &Stage, brief: u64) -> Value {
    stage.until("a fix", || stage.dispatches_of(brief).into_iter().find(|dispatch| dispatch["kind"] == "fix"))
}

#[test]
fn a_failed_check_is_fixed_by_an_agent() {
    let settings = "[checks]\ntest = { run = \"if test -e bad; then echo it is broken; exit 3; fi\" }\n[land]\nretries = 0\n\
        [agents]\ndefault = \"play\"\n";
    let stage = Stage::serving(settings, &profile("play", &[], ""), &[]);
    let spec = "```play\nwrite bad x\ncommit bad\nhand-back done\n```\n\n```play fix\nrun git rm -q bad\nwrite good x\n\
        commit good\nhand-back mended\n```\n";
    let brief = stage.brief("Breaks", spec);
    let first = stage.dispatch(brief);
    let fix = number(&fix_of(&stage, brief)["id"]);
    stage.becomes(fix, "landed");
    stage.becomes(first, "landed");
    assert_eq!((stage.landed("bad"), stage.landed("good").as_deref()), (None, Some("x\n")));
    let log = stage.log(&stage.agent_of(fix));
    assert!(log.contains("kind=fix") && log.contains("it is broken"), "{log}");
}

#[test]
fn a_conflict_with_main_is_fixed_by_an_agent() {
    let settings = "[agents]\ndefault = \"play\"\n";
    let stage = Stage::serving(settings, &profile("play", &[], ""), &[("same", "before\n")]);
    let mending = "```play fix\nrun git merge origin/main\nwrite same both\ncommit merged\nhand-back mended\n```\n";
    let spec = |text: &str| format!("```play\n{GATE}\nwrite same {text}\ncommit it\nhand-back done\n```\n\n{mending}");
    let briefs = ["one", "two"].map(|text| stage.brief(text, &spec(text)));
    let dispatches = briefs.map(|brief| stage.dispatch(brief));
    for dispatch in dispatches {
        stage.becomes(dispatch, "executing");
    }
    // Both merge with MAIN as it stands when they are handed back.
    stage.flower.ok(&["freeze"]);
    for dispatch in dispatches {
        stage.open(dispatch);
        stage.becomes(dispatch, "handed_back");
    }
    stage.flower.ok(&["thaw"]);
    let fix = number(&fix_of(&stage, briefs[1])["id"]);
    stage.becomes(fix, "landed");
    assert_eq!(stage.landed("same").as_deref(), Some("both\n"));
}
