//! The live stream: in order, without gaps and without repeats, across failures of the reader and of the daemon.

use crate::common::http::{Chunks, Request};
use crate::common::{Flower, PATIENCE, eventually};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// One connection to `/api/events`.
struct Events {
    frames: BufReader<Chunks>,
    /// What has moved without an event.
    stirred: Vec<String>,
}

impl Events {
    fn open(flower: &Flower, query: &str, last: Option<u64>) -> Events {
        Events::read(flower.api("GET", &format!("/api/events{query}")), last)
    }

    fn read(request: Request, last: Option<u64>) -> Events {
        let request = last.iter().fold(request, |request, id| request.header("Last-Event-ID", &id.to_string()));
        let (answer, frames) = request.stream().expect("a stream");
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
        Events { frames, stirred: Vec::new() }
    }

    /// The next event, or nothing when the daemon has ended the stream.
    fn next(&mut self) -> Option<Value> {
        let (mut id, mut data) = (None, None);
        loop {
            let mut line = String::new();
            let read = self.frames.read_line(&mut line);
            if read.ok()? == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if line == "event: stirred" {
                // A hint between events has no number.
                let mut rest = String::new();
                self.frames.read_line(&mut rest).ok()?;
                self.stirred.extend(serde_json::from_str::<Vec<String>>(rest.strip_prefix("data: ")?).ok()?);
            } else if let Some(value) = line.strip_prefix("id: ") {
                id = value.parse::<u64>().ok();
            } else if let Some(value) = line.strip_prefix("data: ") {
                data = serde_json::from_str::<Value>(value).ok();
            } else if line.is_empty() && data.is_some() {
                let event = data?;
                assert_eq!(event["seq"].as_u64(), id, "the id is the event's number");
                return Some(event);
            } else {
                assert!(line.is_empty() || line.starts_with(':') || line == "event: event", "{line:?}");
            }
        }
    }

    fn take(&mut self, count: usize) -> Vec<Value> {
        (0..count).map(|i| self.next().unwrap_or_else(|| panic!("the stream ended after {i} of {count}"))).collect()
    }
}

fn seq(event: &Value) -> u64 {
    event["seq"].as_u64().expect("a number")
}

/// Every number from `first` to `last`, once and in order.
fn assert_complete(seen: &[u64], first: u64, last: u64) {
    let expected: Vec<u64> = (first..=last).collect();
    let wrong = seen.iter().zip(&expected).find(|(seen, expected)| seen != expected);
    assert!(seen == expected, "{} events instead of {}; first wrong: {wrong:?}", seen.len(), expected.len());
}

fn note(flower: &Flower, brief: u64, text: &str) -> Request {
    flower.api("POST", &format!("/api/briefs/{brief}/notes")).json(&json!({ "text": text }))
}

/// Writes notes to brief 1 from several threads at once.
fn write(flower: &Flower, threads: usize, each: usize, text: &str) {
    let request = note(flower, 1, text);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..each).for_each(|_| assert_eq!(request.send().status, 200)));
        }
    });
}

fn with_a_brief() -> Flower {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "one"]);
    flower
}

#[test]
fn what_moves_without_an_event_is_hinted_at() {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "one"]);
    for seal in ["--sealed", "--linked"] {
        let made = flower.json(&["worktree", "new", &seal[2..], seal]);
        let mut events = Events::open(&flower, "", None);
        // Hints come between events, a little later than what they are about.
        let mut is_told = || {
            assert_eq!(note(&flower, 1, "again").send().status, 200);
            events.next().expect("an event");
            std::mem::take(&mut events.stirred).iter().any(|topic| topic == "worktrees").then_some(())
        };
        // What its making has stirred is over when nothing has come for a while.
        let mut quiet = 0;
        eventually("it is quiet", || {
            quiet = if is_told().is_some() { 0 } else { quiet + 1 };
            std::thread::sleep(std::time::Duration::from_millis(100));
            (quiet == 10).then_some(())
        });
        match seal {
            "--linked" => {
                let tree = std::path::Path::new(made["path"].as_str().expect("a path"));
                flower.git(tree, &["commit", "--quiet", "--allow-empty", "--message", "by hand"]);
            }
            _ => {
                let commit = "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m more";
                flower.ok(&["worktree", "shell", "sealed", "--", "sh", "-c", commit]);
            }
        }
        eventually("its branch moved", is_told);
    }
}

#[test]
fn a_revoked_token_ends_its_stream_and_no_other() {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "one"]);
    let token = flower.json(&["token", "new", "--agent", "rose", "--brief", "1"]);
    let request = flower.request("GET", "/api/events").token(token["token"].as_str().unwrap());
    let mut agent = Events::read(request, None);
    let mut operator = Events::open(&flower, "", None);
    assert_eq!(note(&flower, 1, "for both").send().status, 200);
    assert_eq!(
        (&agent.take(1)[0]["body"]["text"], &operator.take(1)[0]["body"]["text"]),
        (&json!("for both"), &json!("for both"))
    );
    flower.ok(&["token", "revoke", token["id"].as_str().unwrap()]);
    assert_eq!(note(&flower, 1, "not for rose").send().status, 200);
    assert_eq!(agent.next(), None);
    assert_eq!(operator.take(2)[1]["body"]["text"], "not for rose");
}

#[test]
fn a_worker_follows_its_own_brief_and_main() {
    let flower = with_a_brief();
    flower.ok(&["brief", "new", "two"]);
    let other = flower.make_repository("other");
    let registered = flower.api("POST", "/api/projects").json(&json!({ "dir": other })).send();
    assert_eq!(registered.status, 200, "{registered:?}");
    let made = flower.json(&["token", "new", "--agent", "mara", "--brief", "1"]);
    let token = made["token"].as_str().expect("a token");
    let before = flower.events();
    assert_eq!(note(&flower, 2, "not mine").send().status, 200);
    assert_eq!(note(&flower, 1, "mine").send().status, 200);
    flower.ok(&["freeze", "theirs", "--project", "other"]);
    flower.ok(&["freeze", "ours", "--project", "repo"]);
    flower.ok(&["token", "new", "--agent", "rose"]);
    flower.ok(&["agent", "tell", "rose", "not for mara"]);
    assert_eq!(note(&flower, 1, "mine again").send().status, 200);
    // What it finds in the log, and what comes while it listens.
    let from =
        |after: u64| Events::read(flower.request("GET", &format!("/api/events?after={after}")).token(token), None);
    let (mut late, mut live) = (from(before), from(flower.events()));
    assert_eq!(note(&flower, 2, "not mine either").send().status, 200);
    assert_eq!(note(&flower, 1, "the last").send().status, 200);
    let told = |event: Value| {
        let text = event["body"]["text"].as_str().or(event["body"]["why"].as_str()).unwrap_or_default();
        text.to_owned()
    };
    let seen: Vec<String> = late.take(4).into_iter().map(told).collect();
    assert_eq!(seen, ["mine", "ours", "mine again", "the last"]);
    assert_eq!(live.next().map(told).as_deref(), Some("the last"));
    for query in ["?brief=2", "?project=other"] {
        let answer = flower.request("GET", &format!("/api/events{query}")).token(token).send();
        assert_eq!(answer.status, 403, "{query}: {answer:?}");
    }
}

#[test]
fn the_streams_of_an_agent_are_bounded_and_the_operator_keeps_others() {
    let flower = with_a_brief();
    let made = flower.json(&["token", "new", "--agent", "mara", "--brief", "1"]);
    let token = made["token"].as_str().expect("a token");
    let open = || flower.request("GET", "/api/events").token(token).stream().expect("an answer");
    let mut streams = Vec::new();
    let refused = loop {
        let (answer, frames) = open();
        if answer.status != 200 {
            break answer;
        }
        streams.push(frames);
        assert!(streams.len() <= 200, "there is no bound");
    };
    assert_eq!((refused.status, streams.len()), (503, 128), "{refused:?}");
    assert_eq!(flower.request("GET", "/api/status").token(token).send().status, 503, "of all its calls");
    assert_eq!(flower.api("GET", "/api/status").send().status, 200);
    let mut operator = Events::open(&flower, "", None);
    assert_eq!(note(&flower, 1, "seen").send().status, 200);
    assert_eq!(operator.next().expect("an event")["body"]["text"], "seen");
    // Those that end make room.
    drop(streams);
    eventually("there is room again", || (open().0.status == 200).then_some(()));
}

#[test]
fn events_come_in_order_and_as_the_trace_has_them() {
    let flower = with_a_brief();
    let before = flower.events();
    let mut from_the_start = Events::open(&flower, "?after=0", None);
    let mut from_now_on = Events::open(&flower, "", None);
    write(&flower, 4, 10, "x");
    let all = from_the_start.take(before as usize + 40);
    assert_eq!(Value::from(all), flower.json(&["trace"]));
    let new: Vec<u64> = from_now_on.take(40).iter().map(seq).collect();
    assert_complete(&new, before + 1, before + 40);
}

#[test]
fn a_reader_that_comes_and_goes_loses_nothing_and_sees_nothing_twice() {
    let flower = with_a_brief();
    let (threads, each) = (4, 100);
    let last = flower.events() + (threads * each) as u64;
    let mut seen: Vec<u64> = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| write(&flower, threads, each, "x"));
        for visit in 0_u64.. {
            let at = seen.last().copied().unwrap_or(0);
            let mut events = match visit % 3 {
                0 => Events::open(&flower, &format!("?after={at}"), None),
                1 => Events::open(&flower, "", Some(at)),
                // A browser that reconnects repeats its address; what it has seen counts more.
                _ => Events::open(&flower, "?after=0", Some(at)),
            };
            let stay = (1 + visit * 7 % 23).min(last - at);
            seen.extend(events.take(stay as usize).iter().map(seq));
            assert_complete(&seen, 1, at + stay);
            if at + stay == last {
                break;
            }
        }
    });
}

#[test]
fn a_reader_that_stops_is_dropped_and_goes_on_without_loss() {
    /// What the daemon remembers; older events are in the log only.
    const RING: u64 = 4_096;
    let flower = with_a_brief();
    let mut slow = Events::open(&flower, "?after=0", None);
    let mut seen = vec![slow.next().map(|event| seq(&event)).expect("the first event")];
    // Far more than the ring, and than the kernel keeps for a reader that takes nothing.
    write(&flower, 16, 330, &"x".repeat(5_000));
    let last = flower.events();
    assert!(last > RING + 1_000);
    while let Some(event) = slow.next() {
        seen.push(seq(&event));
        assert_ne!(seen.last(), Some(&last), "it was not dropped");
    }
    let dropped_at = *seen.last().expect("some events");
    assert_complete(&seen, 1, dropped_at);
    let mut resumed = Events::open(&flower, "", Some(dropped_at));
    seen.extend(resumed.take((last - dropped_at) as usize).iter().map(seq));
    assert_complete(&seen, 1, last);
    // Having caught up through the log, it is live.
    assert_eq!(note(&flower, 1, "live again").send().status, 200);
    assert_eq!(resumed.next().map(|event| event["body"]["text"].clone()), Some(json!("live again")));
    let memory = flower.memory("VmHWM");
    assert!(memory < 200_000, "a slow reader costs no memory: {memory} kB");
}

#[test]
fn a_reader_of_one_brief_sees_only_that() {
    let flower = with_a_brief();
    flower.ok(&["brief", "new", "two"]);
    let mut events = Events::open(&flower, "?after=0&brief=2", None);
    for i in 0..10 {
        assert_eq!(note(&flower, 1 + i % 2, &format!("note {i}")).send().status, 200);
    }
    let trace = flower.json(&["brief", "trace", "2"]);
    let trace = trace.as_array().expect("a list");
    assert_eq!(trace.len(), 2 + 5, "made, joined, five notes");
    assert_eq!(events.take(trace.len()), *trace);
    // What lies between two of its events is not its own, yet it goes on from there.
    let foreign = seq(&trace[6]) - 1;
    let mut resumed = Events::open(&flower, "?brief=2", Some(foreign));
    assert_eq!(resumed.next().as_ref(), Some(&trace[6]));
    assert_eq!(note(&flower, 1, "of one").send().status, 200);
    assert_eq!(note(&flower, 2, "of two").send().status, 200);
    assert_eq!(resumed.next().map(|event| event["body"]["text"].clone()), Some(json!("of two")));
}

#[test]
fn a_reader_of_one_project_sees_only_that() {
    let flower = with_a_brief();
    let other = flower.make_repository("other");
    flower.json_in(&other, &["init"]);
    flower.json_in(&other, &["brief", "new", "of other"]);
    let mut events = Events::open(&flower, "?after=0&project=other", None);
    let follower = Follower::start(&flower, &["trace", "--follow", "--after", "0", "--project", "other", "--json"]);
    for brief in [1, 2, 1, 2] {
        assert_eq!(note(&flower, brief, "more").send().status, 200);
    }
    let trace = flower.json(&["trace", "--project", "other"]);
    let trace = trace.as_array().expect("a list");
    assert!(trace.iter().any(|event| event["kind"] == "project_registered"), "{trace:?}");
    assert!(trace.iter().all(|event| event["brief"] != 1), "{trace:?}");
    assert_eq!(trace.iter().filter(|event| event["kind"] == "note_added").count(), 2);
    assert_eq!(events.take(trace.len()), *trace);
    assert_eq!(follower.take(trace.len()), *trace);
    let newest = flower.json(&["trace", "--project", "other", "--limit", "2"]);
    assert_eq!(newest.as_array().expect("a list")[..], trace[trace.len() - 2..]);
    let error = flower.fails(&["trace", "--project", "third", "--follow"], 3);
    assert!(error["hints"][0].as_str().is_some_and(|hint| hint.contains("other")), "{error}");
}

#[test]
fn a_restart_ends_the_stream_and_resuming_gives_the_rest() {
    let flower = with_a_brief();
    let mut events = Events::open(&flower, "?after=0", None);
    let mut seen: Vec<u64> = Vec::new();
    for round in 0..3 {
        write(&flower, 2, 10, "before");
        let here = flower.events();
        // Once all of it is read before the end, otherwise some is left over.
        let stay = here - seen.last().copied().unwrap_or(0) - round % 2 * 7;
        seen.extend(events.take(stay as usize).iter().map(seq));
        flower.restart();
        while let Some(event) = events.next() {
            seen.push(seq(&event));
        }
        write(&flower, 2, 10, "while no client reads");
        events = Events::open(&flower, "", seen.last().copied());
    }
    let last = flower.events();
    let missing = last - seen.last().copied().unwrap_or(0);
    seen.extend(events.take(missing as usize).iter().map(seq));
    assert_complete(&seen, 1, last);
}

/// A `--follow` on its own; it ends with the test.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    fn start(flower: &Flower, args: &[&str]) -> Follower {
        let mut child = flower.command(args).stdout(Stdio::piped()).spawn().expect("flower runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Follower { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line")
    }

    /// The next lines, each of which is one event.
    fn take(&self, count: usize) -> Vec<Value> {
        let parse = |line: String| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (0..count).map(|_| parse(self.line())).collect()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn following_on_the_command_line_survives_a_restart() {
    let flower = with_a_brief();
    flower.ok(&["brief", "new", "two"]);
    let everything = Follower::start(&flower, &["trace", "--follow", "--after", "0", "--json"]);
    let one_brief = Follower::start(&flower, &["brief", "trace", "2", "--follow", "--json"]);
    flower.ok(&["brief", "note", "1", "before"]);
    flower.ok(&["brief", "note", "2", "before"]);
    let (here, mut seen, mut of_two) = (flower.events(), Vec::new(), Vec::new());
    seen.extend(everything.take(here as usize));
    of_two.extend(one_brief.take(3));
    flower.restart();
    flower.ok(&["brief", "note", "2", "after"]);
    flower.ok(&["brief", "note", "1", "after"]);
    seen.extend(everything.take((flower.events() - here) as usize));
    of_two.extend(one_brief.take(1));
    assert_eq!(Value::from(seen), flower.json(&["trace"]));
    assert_eq!(Value::from(of_two), flower.json(&["brief", "trace", "2"]));
}

#[test]
fn following_begins_now_and_speaks_to_people_too() {
    let flower = with_a_brief();
    let before = flower.events();
    let follower = Follower::start(&flower, &["trace", "--follow", "--json"]);
    let first = eventually("it follows", || {
        assert_eq!(note(&flower, 1, "knock").send().status, 200);
        follower.lines.recv_timeout(std::time::Duration::from_millis(200)).ok()
    });
    let first: Value = serde_json::from_str(&first).expect("JSON");
    assert!(seq(&first) > before, "only what is new");
    let person = Follower::start(&flower, &["brief", "trace", "1", "--follow"]);
    let line = person.line();
    assert!(line.contains("brief created") && line.contains("one") && !line.contains('\u{1b}'), "{line:?}");
    assert_eq!(flower.fails(&["brief", "trace", "9", "--follow"], 3)["kind"], "not_found");
}
