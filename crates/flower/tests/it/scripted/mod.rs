//! The scripted agent, driven line by line: what it plays, and how it misbehaves when it is told to.

mod driver;

use crate::common::work::{files, git, prepare};
use crate::common::{Flower, eventually};
use driver::{Driver, Place};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

fn said(driver: &Driver, all: &[&str]) {
    assert_eq!(driver.said(), all);
}

#[test]
fn the_scripted_agent_greets_and_refuses_unknown_methods() {
    let place = Place::new();
    let mut plain = place.agent(&[]);
    let hello = plain.hello();
    let result = &hello["result"];
    assert_eq!((&result["protocolVersion"], &result["agentInfo"]["name"]), (&json!(1), &json!("scripted")), "{hello}");
    assert_eq!(result["agentCapabilities"]["loadSession"], false);
    let session = plain.session.clone();
    let of = |id: &Value| json!({ "sessionId": id, "cwd": "/", "mcpServers": [], "modeId": "x", "prompt": [] });
    assert!(plain.ask("session/set_mode", &of(&session)).get("result").is_some());
    for (method, params, code) in [
        ("session/list", json!({}), -32601),
        ("session/load", of(&session), -32601),
        ("session/resume", of(&session), -32601),
        ("session/set_mode", of(&json!("absent")), -32002),
        ("session/prompt", of(&json!("absent")), -32002),
        ("session/prompt", json!({}), -32602),
        ("session/new", json!({ "cwd": 1 }), -32602),
    ] {
        assert_eq!(plain.ask(method, &params)["error"]["code"], code, "{method}");
    }
    plain.raw("no json");
    assert_eq!(plain.message().expect("an answer")["error"]["code"], -32700);
    let hello = place.agent(&["--resume"]).hello();
    let can = &hello["result"]["agentCapabilities"];
    assert_eq!((&can["loadSession"], &can["sessionCapabilities"]["resume"]), (&json!(true), &json!({})), "{hello}");
}

#[test]
fn its_flags_make_it_a_bad_start() {
    let place = Place::new();
    assert_eq!(place.silent(&["--exit-at-once", "7"]).ends().code(), Some(7));
    assert_eq!(place.silent(&["--refuse-initialize"]).hello()["error"]["code"], -32603);
    let mut locked = place.silent(&["--auth-required"]);
    locked.hello();
    let refused = locked.ask("session/new", &json!({ "cwd": place.work(), "mcpServers": [] }));
    assert_eq!(refused["error"]["code"], -32000);
    let mut mute = place.silent(&["--never-answer"]);
    mute.send("initialize", &json!({ "protocolVersion": 1 }));
    assert!(mute.lines.recv_timeout(Duration::from_millis(500)).is_err());
    mute.input = None;
    assert_eq!(mute.ends().code(), Some(0));
}

#[test]
fn the_scripted_agent_talks_edits_runs_and_commits() {
    let place = Place::new();
    let mut agent = place.agent(&["--delay", "1"]);
    let end = agent.play(
        "# a comment\n\nsay hello\nthink hard\nplan one; two\nwrite src/a.txt one\\ntwo\nappend src/a.txt three\n\
         write ../out.txt no\ncommit first thing\nrun echo out; echo err >&2\nrun exit 3\nrun head -c 9000 /dev/zero | tr '\\0' x\n\
         repeat 2 say again\nusage 10 100 0.5 1234\nend\nsay never",
    );
    assert_eq!(end, "end_turn");
    said(&agent, &["hello", "again", "again"]);
    assert_eq!(agent.updates("agent_thought_chunk")[0]["content"]["text"], "hard");
    assert_eq!(agent.updates("plan")[0]["entries"][1]["content"], "two");
    assert_eq!(place.file("src/a.txt"), "one\ntwo\nthree\n");
    assert!(!place.dir.path().join("out.txt").exists());
    let begun = agent.updates("tool_call");
    let full = place.work().join("src/a.txt");
    assert_eq!((&begun[0]["kind"], &begun[0]["locations"][0]["path"]), (&json!("edit"), &json!(full)));
    let diff = &begun[1]["content"][0];
    let texts = (&diff["oldText"], &diff["newText"]);
    assert_eq!(texts, (&json!("one\ntwo\n"), &json!("one\ntwo\nthree\n")), "{diff}");
    let calls = agent.calls();
    let states: Vec<&str> = calls.iter().map(|(state, _)| state.as_str()).collect();
    assert_eq!(states, ["completed", "completed", "failed", "completed", "completed", "failed", "completed"]);
    assert_eq!((calls[4].1.as_str(), calls[6].1.len()), ("out\nerr\n", 4096));
    let mut log = Command::new("git");
    let log = place.dress(log.args(["log", "--format=%s", "--name-only"]).current_dir(place.work())).output();
    assert_eq!(String::from_utf8_lossy(&log.expect("git runs").stdout), "first thing\n\nsrc/a.txt\n");
    assert_eq!(agent.updates("usage_update")[0]["cost"], json!({ "amount": 0.5, "currency": "USD" }));
}

#[test]
fn reported_usage_is_in_the_answer() {
    let place = Place::new();
    for (args, tokens) in [(&[][..], json!(50)), (&["--no-usage"][..], Value::Null)] {
        let mut agent = place.agent(args);
        let id = agent.begin("```play\nusage 1 2\nusage 1 2 0.1 50\n```");
        assert_eq!(agent.answer(id)["result"]["usage"]["totalTokens"], tokens);
        assert_eq!(agent.updates("usage_update").is_empty(), tokens.is_null());
        let id = agent.begin("and then?");
        assert_eq!(agent.answer(id)["result"]["usage"], Value::Null, "of that turn only");
    }
}

#[test]
fn the_scripted_agent_goes_on_after_waiting() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    assert_eq!(agent.play("say one\nwait\nsay two\nmust false\nsay three"), "end_turn");
    said(&agent, &["one"]);
    assert_eq!(agent.prompt("Please write a hand-over note for whoever comes next."), "end_turn");
    assert_eq!(agent.prompt("\nGo on.\nPlease."), "refusal");
    assert_eq!(agent.prompt("Anything else?"), "end_turn");
    said(
        &agent,
        &[
            "one",
            "Hand-over: 2 of 5 steps are done.",
            "heard: Go on.",
            "two",
            "it must succeed: false",
            "heard: Anything else?",
        ],
    );
    assert_eq!(agent.play("say four\ndance wildly\nsay five"), "end_turn");
    assert_eq!(agent.said()[6..], ["four", "unknown step: dance wildly"]);
    assert_eq!(agent.prompt("flower: dispatch=1\n```play member\nsay x\n```"), "end_turn");
    assert_eq!(agent.said()[8..], ["there is nothing to play for me"]);
}

#[test]
fn a_turn_that_hangs_is_cancelled_and_the_next_one_goes_on() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    let id = agent
        .begin("```play\nsay one\nhang\nsay two\nrun touch begun; sleep 300; touch ended\nsay three\nsleep 300\n```");
    agent.hears("one");
    let busy = agent.begin("more");
    assert_eq!(agent.answer(busy)["error"]["code"], -32600);
    agent.cancel();
    assert_eq!(agent.answer(id)["result"]["stopReason"], "cancelled");
    let id = agent.begin("Go on.");
    agent.hears("two");
    eventually("it runs", || place.work().join("begun").exists().then_some(()));
    agent.cancel();
    assert_eq!(agent.answer(id)["result"]["stopReason"], "cancelled");
    assert_eq!(agent.calls(), [("failed".to_owned(), "cancelled".to_owned())]);
    let id = agent.begin("Go on.");
    agent.hears("three");
    agent.cancel();
    assert_eq!(agent.answer(id)["result"]["stopReason"], "cancelled");
    // A cancel that comes too late means nothing to the next turn.
    agent.cancel();
    assert_eq!(agent.play("sleep 0.05\nsay still here"), "end_turn");
}

#[test]
fn a_muted_agent_writes_no_hand_over() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    assert_eq!(agent.play("mute-handover\nwait\nsay x"), "end_turn");
    let id = agent.begin("Write a hand-over note.");
    assert!(agent.lines.recv_timeout(Duration::from_millis(300)).is_err());
    agent.cancel();
    assert_eq!(agent.answer(id)["result"]["stopReason"], "cancelled");
    said(&agent, &[]);
}

#[test]
fn the_scripted_agent_asks_for_permission_and_reports_the_decision() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    let step = "permission edit Change it ./x/y";
    let id = agent.begin(&format!("```play\n{step}\n{step}\n{step}\n{step}\npermission-forever execute Build\n```"));
    let chosen = |option: &str| json!({ "result": { "outcome": { "outcome": "selected", "optionId": option } } });
    let answers = [
        chosen("allow_once"),
        chosen("reject_once"),
        json!({ "result": { "outcome": { "outcome": "cancelled" } } }),
        json!({ "error": { "code": -32603, "message": "broken" } }),
        chosen("allow_always"),
        chosen("reject_once"),
    ];
    for mut answer in answers {
        let asked = loop {
            let message = agent.message().expect("a question");
            if message["method"] == "session/request_permission" {
                break message;
            }
            agent.told.push(message);
        };
        let options = asked["params"]["options"].as_array().expect("options").iter();
        let kinds: Vec<&Value> = options.map(|option| &option["kind"]).collect();
        assert_eq!(kinds, ["reject_once", "allow_once", "allow_always"]);
        let call = &asked["params"]["toolCall"];
        if call["kind"] == "edit" {
            assert_eq!(
                (&call["title"], &call["locations"][0]["path"]),
                (&json!("Change it"), &json!(place.work().join("./x/y")))
            );
        }
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = asked["id"].clone();
        agent.raw(&answer.to_string());
    }
    agent.cancel();
    assert_eq!(agent.answer(id)["result"]["stopReason"], "cancelled");
    said(&agent, &["permission: allowed", "permission: denied", "permission: cancelled", "permission: denied"]);
}

#[test]
fn the_scripted_agent_floods_and_breaks_the_protocol() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    let steps = "flood 1000\nflood-tools 20\ngarbage 3\nlong-line 300000\nstderr 4\nunknown-update\nearly-response";
    assert_eq!(agent.play(steps), "end_turn");
    assert!(agent.said().len() == 1000 && agent.said().iter().all(|text| text.len() == 100));
    assert_eq!(agent.calls().len(), 20);
    assert_eq!((agent.noise.len(), agent.noise[3].len()), (4, 300_000));
    assert_eq!(agent.updates("from_the_future").len(), 1);
    assert!(agent.told.iter().any(|message| message["id"] == "unknown-request"));
    let id = agent.begin("```play\nbad-response\nsay after it\n```");
    let both = agent.answer(id);
    assert!(both.get("result").is_some() && both.get("error").is_some(), "{both}");
    assert_eq!(agent.prompt("go on"), "end_turn", "and the turn is over");
    agent.input = None;
    agent.ends();
    let mut errors = String::new();
    std::io::Read::read_to_string(agent.child.stderr.as_mut().expect("a pipe"), &mut errors).expect("text");
    assert_eq!(errors.lines().count(), 4);
}

#[test]
fn a_client_that_does_not_read_still_cancels() {
    let place = Place::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flower"));
    place.dress(command.arg("scripted-agent")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("flower runs");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut input = child.stdin.take().expect("a pipe");
    let mut send = |message: Value| writeln!(input, "{message}").expect("it reads");
    send(json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": { "cwd": "/", "mcpServers": [] } }));
    let made: Value = serde_json::from_str(&output.next().expect("a line").expect("text")).expect("JSON");
    let session = &made["result"]["sessionId"];
    let prompt = json!([{ "type": "text", "text": "```play\nflood 1000000\n```" }]);
    let params = json!({ "sessionId": session, "prompt": prompt });
    send(json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params }));
    std::thread::sleep(Duration::from_millis(300));
    send(json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } }));
    std::thread::sleep(Duration::from_millis(300));
    let lines: Vec<String> = output.map_while(Result::ok).take_while(|line| !line.contains("\"id\":2")).collect();
    assert!(lines.len() < 100_000, "{} lines were said after it", lines.len());
    child.kill().and_then(|()| child.wait()).expect("it ends");
}

#[test]
fn the_scripted_agent_dies_in_every_way() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    for (step, code, signal) in
        [("die", Some(1), None), ("die 9", Some(9), None), ("silent-exit", Some(0), None), ("crash", None, Some(6))]
    {
        let mut agent = place.agent(&[]);
        agent.begin(&format!("```play\nsay last words\n{step}\nsay never\n```"));
        let status = agent.ends();
        assert_eq!((status.code(), status.signal()), (code, signal), "{step}");
        said(&agent, &["last words"]);
    }
}

#[test]
fn a_hard_hang_ends_only_by_a_kill() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    agent.begin("```play\nsay now\nhang-hard\n```");
    agent.hears("now");
    let pid = rustix::process::Pid::from_child(&agent.child);
    eventually("it catches the signal", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("the field");
        let caught = u64::from_str_radix(caught.trim(), 16).expect("a set of signals");
        (caught & (1 << (rustix::process::Signal::TERM.as_raw() - 1)) != 0).then_some(())
    });
    agent.cancel();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    agent.input = None;
    assert!(agent.lines.recv_timeout(Duration::from_millis(700)).is_err());
    assert!(agent.child.try_wait().expect("asked").is_none(), "it is still there");
}

#[test]
fn a_forked_process_outlives_the_scripted_agent() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    assert_eq!(agent.play("fork"), "end_turn");
    let marks = ["scripted-fork".to_owned(), place.work().display().to_string()];
    let found = || {
        let all = fs::read_dir("/proc").expect("processes").flatten();
        let mut pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.find(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<String> =
                line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
            words.len() >= 5 && words[3..5] == marks
        })
    };
    let pid = eventually("it runs", found);
    drop(agent);
    assert_eq!(found(), Some(pid));
    let pid = rustix::process::Pid::from_raw(pid).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it was there");
}

#[test]
fn an_attack_says_whether_it_succeeded() {
    let place = Place::new();
    let (open, closed) = (place.dir.path().join("open"), place.dir.path().join("no/such/place"));
    let mut agent = place.agent(&[]);
    agent.play(&format!("attack {}\nattack {}", open.display(), closed.display()));
    assert_eq!(agent.said()[0], format!("attack: SUCCEEDED: {}", open.display()));
    assert!(agent.said()[1].starts_with("attack: refused "), "{:?}", agent.said());
    assert!(open.exists());
}

#[test]
fn a_fresh_agent_goes_on_where_the_last_one_died() {
    let place = Place::new();
    let first = "flower: agent=agent-1 dispatch=5 kind=implement role=lead brief=2 fence=1\n";
    let next =
        "flower: agent=agent-2 dispatch=5 kind=implement role=lead brief=2 fence=2\nIt had said in its hand-over: x\n";
    let script = "> ```play\n> run echo 1 >> log\n> die\n> run echo 2 >> log\n> die\n> run echo 3 >> log\n> ```\n";
    for (prompt, log) in [(first, "1\n"), (next, "1\n2\n")] {
        let mut agent = place.agent(&[]);
        agent.begin(&format!("{prompt}{script}"));
        assert_eq!(agent.ends().code(), Some(1));
        assert_eq!(place.file("log"), log);
    }
    for _ in 0..2 {
        assert_eq!(place.agent(&[]).prompt(&format!("{next}{script}")), "end_turn");
        assert_eq!(place.file("log"), "1\n2\n3\n", "and not again");
    }
    let mut member = place.agent(&[]);
    let other = first.replace("role=lead", "role=member member=1");
    member.prompt(&format!("{other}{}", script.replace("play", "play member").replace("die", "say alive")));
    assert_eq!(place.file("log"), "1\n2\n3\n1\n2\n3\n", "another part is another progress");
}

#[test]
fn an_agent_without_memory_plays_from_the_start_except_steps_played_once() {
    let place = Place::new();
    let prompt = "flower: agent=a dispatch=6 role=lead\n```play\nrun echo again >> log\nonce run echo once >> log\nonce die\n```";
    let mut agent = place.agent(&["--forget"]);
    agent.begin(prompt);
    assert_eq!(agent.ends().code(), Some(1));
    assert_eq!(place.agent(&["--forget"]).prompt(prompt), "end_turn");
    assert_eq!(place.file("log"), "again\nonce\nagain\n");
}

#[test]
fn a_session_is_resumed_by_another_process() {
    let place = Place::new();
    for method in ["session/load", "session/resume"] {
        let mut agent = place.agent(&["--resume"]);
        agent.begin("```play\nsay one\ndie 3\nsay two\n```");
        assert_eq!(agent.ends().code(), Some(3));
        let mut again = place.silent(&["--resume"]);
        again.hello();
        again.session = agent.session.clone();
        let params = json!({ "sessionId": agent.session, "cwd": place.work(), "mcpServers": [] });
        let answer = again.ask(method, &params);
        assert!(answer.get("result").is_some(), "{answer}");
        assert_eq!(again.prompt("You were away."), "end_turn");
        let told: &[&str] = if method == "session/load" { &["2 of 3 steps are done"] } else { &[] };
        said(&again, &[told, &["heard: You were away.", "two"]].concat());
        let unknown = again.ask(method, &json!({ "sessionId": "../x", "cwd": "/", "mcpServers": [] }));
        assert_eq!(unknown["error"]["code"], -32002);
    }
}

#[test]
fn without_a_server_every_tool_says_so_and_the_script_goes_on() {
    let place = Place::new();
    let mut agent = place.agent(&[]);
    assert_eq!(agent.play("inbox\nsay on"), "end_turn");
    said(&agent, &["check_inbox: no MCP server `flower` was handed over", "on"]);
    let server = json!([{ "name": "flower", "command": "/bin/true", "args": [], "env": [] }]);
    agent.open(&place.work(), &server);
    assert_eq!(agent.play("inbox"), "end_turn");
    assert_eq!(agent.said()[2], "check_inbox: the MCP server has ended");
}

/// With a real daemon, inside the seal of a real worktree, over `flower mcp`.
#[test]
fn the_scripted_agent_works_and_hands_back() {
    let flower = Flower::new();
    prepare(&flower);
    let script = "# Work\n\n```play\nreserve src/** docs/**\nnote found it\nquestion which one?\ntell operator hello there\ninbox\n\
        tool recall_brief {\"brief\": $brief}\ntool hand_back {\"dispatch\": $dispatch}\nwrite src/new.txt from somebody\nhand-back too early\n\
        commit the work\nhand-back it is done\n```\n";
    let work = begin(&flower, "Work", script);
    let mut agent = work.agent(&flower);
    assert_eq!(agent.prompt(&work.prompt(&flower)), "end_turn", "{:?}", agent.told);
    let calls = agent.calls();
    let states: Vec<&str> = calls.iter().map(|(state, _)| state.as_str()).collect();
    let done = "completed";
    assert_eq!(states, [done, done, done, done, done, done, "failed", done, "failed", done, done], "{calls:?}");
    let said = agent.said();
    assert!(said[0].starts_with("hand_back: ") && said[0].contains("fence"), "{said:?}");
    assert!(said[1].starts_with("hand_back: ") && said.len() == 2, "{said:?}");
    let landed = eventually("it lands", || {
        let dispatch = flower.json(&["dispatch", "show", &work.dispatch.to_string()]);
        (dispatch["state"] == "landed").then_some(dispatch)
    });
    assert_eq!(landed["result"]["summary"], "it is done", "{landed}");
    assert!(files(&flower.repo).contains_key(std::ffi::OsStr::new("src/new.txt")));
    let message = git(&flower, &flower.repo, &["log", "-1", "--format=%B", "--", "src/new.txt"]);
    assert!(message.starts_with("Work\n\nthe work\n"), "{message}");
    let trace = flower.json(&["trace", "--limit", "1000"]).to_string();
    for text in ["found it", "which one?", "hello there", "src/**"] {
        assert!(trace.contains(text), "`{text}` is not recorded");
    }
}

#[test]
fn the_scripted_agent_hands_back_a_failure() {
    let flower = Flower::new();
    prepare(&flower);
    let work = begin(&flower, "Hopeless", "```play\nfail it cannot be done\n```\n");
    let mut agent = work.agent(&flower);
    assert_eq!(agent.prompt(&work.prompt(&flower)), "end_turn");
    let dispatch = flower.json(&["dispatch", "show", &work.dispatch.to_string()]);
    assert_eq!((&dispatch["state"], &dispatch["result"]["summary"]), (&json!("failed"), &json!("it cannot be done")));
}

/// Claimed work, as flower hands it to an agent.
struct Work {
    brief: u64,
    dispatch: u64,
    fence: u64,
    worktree: String,
    token: String,
    name: String,
}

fn begin(flower: &Flower, title: &str, spec: &str) -> Work {
    let post = |path: &str, body: Value| {
        let answer = flower.api("POST", path).json(&body).send();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} is no number"));
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned();
    let brief = number(&post("/api/briefs", json!({ "title": title, "spec": spec, "project": "repo" }))["number"]);
    post(&format!("/api/briefs/{brief}/accept"), json!({}));
    let dispatch = number(&post(&format!("/api/briefs/{brief}/dispatches"), json!({}))["id"]);
    let packet = post(&format!("/api/dispatches/{dispatch}/packet"), json!({ "member": false }));
    let (token, name) = (text(&packet["token"]), text(&packet["agent"]));
    let claim = flower.request("POST", &format!("/api/dispatches/{dispatch}/claim")).token(&token);
    let claim = claim.json(&json!({ "seconds": 900, "wait": true })).send().json();
    let (fence, worktree) = (number(&claim["claim"]["fence"]), text(&claim["worktree"]));
    Work { brief, dispatch, fence, worktree, token, name }
}

impl Work {
    fn agent(&self, flower: &Flower) -> Driver {
        let mut command = flower.command(&["worktree", "shell", &self.worktree, "--", "flower", "scripted-agent"]);
        command.env("FLOWER_TOKEN", &self.token);
        let mut driver = Driver::spawn(command);
        driver.hello();
        let tree = crate::common::work::tree(flower, &self.worktree);
        driver.open(&tree, &json!([{ "name": "flower", "command": "flower", "args": ["mcp"], "env": [] }]));
        driver
    }

    /// The line that begins it, and the brief as agents read it.
    fn prompt(&self, flower: &Flower) -> String {
        let Work { brief, dispatch, fence, name, .. } = self;
        let line = format!(
            "flower: agent={name} dispatch={dispatch} kind=build role=lead member=0 brief={brief} fence={fence}"
        );
        format!("{line}\n\n{}", flower.ok(&["brief", "show", &brief.to_string(), "--as-agent"]))
    }
}
