//! Agents that are not there, not themselves, or not fed: each ends with a reason that can be read, and nothing else breaks.

use crate::agent_bounds::stage::{Stage, play};
use crate::common::work::says;
use crate::common::{eventually, finish};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

#[test]
fn a_program_that_is_no_agent_fails_with_a_reason() {
    let quick = "turn_timeout = \"2s\"";
    let command = |name: &str, words: &str| {
        format!("[agents.{name}]\nprotocol = \"acp\"\ncommand = [{words}]\nany_of = []\nturn_timeout = \"2s\"\n")
    };
    let config = play("play", &[], "")
        + &play("exits", &["--exit-at-once", "7"], "")
        + &play("silent", &["--never-answer"], quick)
        + &play("refuses", &["--refuse-initialize"], "")
        + &command("lines", "\"yes\", \"ten million lines\"")
        + &command("wordy", "\"sh\", \"-c\", \"seq 1000; exec sleep 60\"")
        + &command("dies", "\"sh\", \"-c\", \"echo I am no agent >&2; exit 3\"");
    let stage = Stage::new(&config);
    let before = stage.memory("VmRSS");
    let works = ["exits", "silent", "refuses", "lines", "wordy", "dies"].map(|profile| {
        let work = stage.plays(profile, profile, "say nothing");
        (profile, work, stage.agent_of(work))
    });
    // A proper agent at work is not disturbed.
    let fine = stage.plays("play", "Fine", "write a a\n commit a\n hand-back done");
    stage.lands(fine);
    for (profile, work, name) in works {
        let ended = stage.becomes(&name, "failed");
        let why = &ended["ended"]["why"];
        says(why, "the process ended 4 times; the last reason: ");
        assert_eq!(ended["restarts"], 3);
        says(
            why,
            match profile {
                "exits" => "the process ended with exit code 7",
                "silent" | "wordy" => "`initialize` was not answered within 2 s",
                "refuses" => "the agent refused `initialize`",
                "lines" => "the agent wrote 10000 lines that are no ACP",
                _ => "exit code 3",
            },
        );
        let log = stage.said(&name);
        assert!(log.contains("given up: "), "{log}");
        match profile {
            "lines" => assert!(log.matches("ten million lines").count() <= 100, "bounded"),
            "wordy" => assert!(log.contains("\"noise\": 1\n"), "{log}"),
            "dies" => says(&ended["ended"]["output"], "I am no agent"),
            _ => {}
        }
        let dispatch = stage.shown_dispatch(work);
        assert!(["requested", "failed"].contains(&dispatch["state"].as_str().expect("a state")), "{dispatch}");
        let inbox = stage.get("/api/inbox");
        says(&inbox, &format!("{name} was given up"));
    }
    assert!(stage.memory("VmRSS") < before + (32 << 10), "{before} kB before, {} kB now", stage.memory("VmRSS"));
}

#[test]
fn unusual_protocol_messages_are_tolerated() {
    let stage = Stage::plain("");
    let odd = stage.plays(
        "play",
        "Odd",
        "
        unknown-update
        early-response
        garbage 200
        long-line 3000000
        stderr 500
        write a a
        commit a
        hand-back done",
    );
    let bad = stage.plays("play", "Bad", "write b b\n commit b\n bad-response\n hand-back done");
    let long = stage.plays("play", "Long", "write c c\n commit c\n long-line 40000000\n hand-back done");
    for (work, restarts, words) in
        [(odd, 0, ""), (bad, 1, "it has a result and an error"), (long, 1, "a line of more than 32 MB")]
    {
        let name = stage.agent_of(work);
        stage.lands(work);
        assert!(stage.agent(&name)["restarts"].as_u64() <= Some(restarts), "{}", stage.said(&name));
        assert!(stage.said(&name).contains(words));
    }
}

#[test]
fn an_agent_that_is_not_installed_is_reported_as_missing() {
    let missing = "[agents.absent]\nprotocol = \"acp\"\ncommand = [\"no-such-agent\"]\nany_of = []\ninstall = \"get it from nowhere\"\n";
    let stage = Stage::new(&(play("play", &[], "") + missing));
    let error = stage.fails(&["agent", "spawn", "absent", "--worktree", "one"], 1);
    says(&error["message"], "`absent` cannot run here: `no-such-agent` is not on the PATH");
    says(&error["hints"], "get it from nowhere");
    let brief = stage.brief("Waits", "say nothing").to_string();
    let error = stage.fails(&["dispatch", &brief, "--agent", "absent"], 1);
    says(&error["message"], "`absent` cannot run here: `no-such-agent` is not on the PATH");
    says(&error["hints"], "get it from nowhere");
    assert_eq!(stage.get("/api/agents?all=true"), json!([]), "none was begun");
    let page = stage.ok(&["agent", "profiles"]);
    assert!(page.contains("get it from nowhere") && page.contains("cannot run"), "{page}");
    // Nor is one of a name that is nearly right.
    let error = stage.fails(&["agent", "spawn", "pley", "--worktree", "one"], 3);
    says(&error["hints"][0], "did you mean `play`?");
    says(&stage.fails(&["dispatch", &brief, "--agent", "abzent"], 3)["hints"][0], "did you mean `absent`?");
    // One that disappears while its dispatch waits is named, and once it is there again, the dispatch goes on by itself.
    stage.ok(&["freeze"]);
    stage.configure(&(play("play", &[], "") + &play("abzent", &[], "") + missing));
    let other = stage.plays("abzent", "Other", "say nothing");
    stage.configure(&(play("play", &[], "") + missing));
    assert!(stage.waits(other, "no_profile").contains("did you mean `absent`?"));
    stage.configure(&(play("play", &[], "") + &play("abzent", &[], "")));
    stage.ok(&["thaw"]);
    let name = stage.agent_of(other);
    stage.hears(&name, "nothing");
}

#[test]
fn an_unknown_agent_is_not_found() {
    let stage = Stage::plain("");
    for args in [
        &["agent", "show", "absent"][..],
        &["agent", "log", "absent"],
        &["agent", "log", "absent", "--follow"],
        &["agent", "stop", "absent"],
        &["agent", "refresh", "absent"],
        &["agent", "tell", "absent", "hello"],
    ] {
        stage.fails(args, 3);
    }
    let name = stage.standing("play", "one");
    let error = stage.fails(&["agent", "show", "plya-1"], 3);
    says(&error["hints"], &name);
    stage.fails(&["agent", "spawn", "play", "--worktree", "one", "--name", &name], 4);
    for (args, code) in [
        (&["agent", "spawn", "play"][..], 2),
        (&["agent", "spawn", "play", "--worktree", "../x"], 2),
        (&["agent", "spawn", "play", "--brief", "99"], 3),
        (&["agent", "spawn", "play", "--worktree", "one", "--role", "operator"], 2),
        (&["agent", "spawn", "play", "--worktree", "one", "--name", "a b"], 2),
        (&["agent", "show", ""], 2),
    ] {
        assert_eq!(stage.run(args).code, code, "{args:?}: {:?}", stage.run(args));
    }
    stage.ok(&["agent", "stop", &name]);
    assert_eq!(stage.run(&["agent", "stop", &name]).code, 0, "it is stopped");
    says(&stage.fails(&["agent", "refresh", &name], 1), "has ended");
}

#[test]
fn unreadable_settings_do_not_stop_agents_at_work() {
    let profile = play("play", &[], "");
    let stage = Stage::new(&profile);
    let work = stage.plays(
        "play",
        "Works",
        "run while [ ! -e go ]; do sleep 0.1; done\n write a a\n commit a\n hand-back done",
    );
    let name = stage.agent_of(work);
    stage.until(&name, "at its tool", |agent| {
        agent["evidence"].as_str().is_some_and(|words| words.starts_with("tool: "))
    });
    stage.configure("[agents.play\ncommand =");
    let file = stage.home.join("config.toml").display().to_string();
    for args in [&["agent", "profiles"][..], &["agent", "spawn", "play", "--worktree", "two"], &["agent", "spend"]] {
        let error = finish(stage.command(&[args, &["--json"]].concat())).error(2);
        says(&error["message"], &file);
    }
    let second = stage.plays("play", "Waits", "write b b\n commit b\n hand-back done");
    assert!(stage.waits(second, "no_profile").contains(&file));
    let tree = stage.worktree(stage.agent(&name)["worktree"].as_str().expect("a name"));
    fs::write(tree.join("go"), "").expect("a file");
    stage.lands(work);
    // A daemon starts with such a file too, and waiting agents go on when it is corrected.
    stage.ok(&["down"]);
    stage.ok(&["up"]);
    assert!(stage.waits(second, "no_profile").contains(&file));
    stage.configure(&profile);
    stage.lands(second);
}

#[test]
fn a_worktree_is_not_taken_away_from_under_it() {
    let stage = Stage::plain("turn_timeout = \"10s\"");
    let work = stage.plays("play", "Held", "run sleep 20\n write a a\n commit a\n hand-back done");
    let name = stage.agent_of(work);
    let worktree = stage.agent(&name)["worktree"].as_str().expect("a name").to_owned();
    stage.until(&name, "at its tool", |agent| {
        agent["evidence"].as_str().is_some_and(|words| words.starts_with("tool: "))
    });
    let refused = stage.run(&["worktree", "remove", &worktree, "--json"]);
    assert!([1, 4].contains(&refused.code), "{refused:?}");
    assert!(refused.stderr.contains("is at work in"), "{refused:?}");
    // By hand it can be, and then the agent says what is wrong.
    fs::remove_dir_all(stage.worktree(&worktree)).expect("removed");
    let other = stage.plays("play", "Other", "write b b\n commit b\n hand-back done");
    stage.lands(other);
    let gone =
        stage.until(&name, "held up", |agent| agent["evidence"].as_str().is_some_and(|why| why.contains("is gone")));
    says(&gone["evidence"], &worktree);
    assert_eq!(gone["pid"], json!(null));
    stage.ok(&["agent", "stop", &name]);
}

#[test]
fn without_a_key_it_waits_and_with_one_it_goes_on() {
    let stage = Stage::new(&play("play", &[], "env = [\"PLAY_KEY\"]").replace("any_of = []\n", ""));
    let work = stage.plays(
        "play",
        "Keyless",
        "run test -n \"$PLAY_KEY\" && echo has it\n write a a\n commit a\n hand-back done",
    );
    let name = stage.agent_of(work);
    let waiting = stage.becomes(&name, "waiting");
    says(&waiting["evidence"], "no key: set PLAY_KEY and run `flower up`");
    let page = stage.ok(&["agent", "profiles"]);
    assert!(page.contains("PLAY_KEY (missing)"), "{page}");
    let begun = Instant::now();
    assert_eq!(finish(stage.with_env(&["up"], &[("PLAY_KEY", "aKey-12345678")])).code, 0);
    stage.hears(&name, "has it");
    assert!(begun.elapsed() < Duration::from_secs(12), "at once, not when it looks again");
    stage.lands(work);
    assert_eq!(stage.agent(&name)["restarts"], 0, "to wait is no failure");
}

#[test]
fn an_agent_that_requires_a_login_waits_for_it() {
    let stage = Stage::new(&play("play", &["--auth-required"], ""));
    let work = stage.plays("play", "Login", "write a a\n commit a\n hand-back done");
    let name = stage.agent_of(work);
    let waiting = stage.becomes(&name, "waiting");
    says(&waiting["evidence"], "the agent requires a login");
    assert_eq!(waiting["pid"], json!(null), "nothing runs meanwhile");
    assert_eq!(waiting["restarts"], 0);
    stage.configure(&play("play", &[], ""));
    // It looks again after a while, or when there is news.
    stage.ok(&["brief", "note", &work.brief.to_string(), "logged in now"]);
    stage.lands(work);
    assert_eq!(stage.agent(&name)["restarts"], 0);
}

#[test]
fn every_agent_is_stopped_within_five_seconds() {
    let stage = Stage::plain("");
    let names =
        ["hang", "hang-hard", "permission-forever edit Let-me /x", "flood 1000000", "fork\n hang-hard"].map(|script| {
            let title = script.split_whitespace().next().expect("a word");
            let work = stage.plays("play", title, &format!("say here\n {script}"));
            stage.agent_of(work)
        });
    for name in names {
        eventually("it is at it", || stage.said(&name).contains("here").then_some(()));
        let asked = Instant::now();
        stage.ok(&["agent", "stop", &name, "enough"]);
        assert!(asked.elapsed() < Duration::from_secs(5), "{name}: {:?}", asked.elapsed());
        let ended = stage.agent(&name);
        assert_eq!((&ended["state"], &ended["ended"]["how"]), (&json!("stopped"), &json!("stopped")), "{ended}");
    }
}
