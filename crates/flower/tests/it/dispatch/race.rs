//! Many claimers, each a process of its own, and many dispatches: each has exactly one winner, and every loser is told
//! who it is.

use super::*;
use crate::common::skip::skip;
use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::process::{Command, Stdio};

/// Tells a process of this program that it is one of the claimers.
const CLAIMER: &str = "FLOWER_TEST_CLAIMER";

fn size() -> (usize, u64) {
    if is_soak() { (64, 500) } else { (8, 60) }
}

#[test]
fn each_dispatch_has_one_winner_on_sqlite() {
    race(&Flower::new());
}

#[test]
fn each_dispatch_has_one_winner_on_postgres() {
    let Ok(base) = std::env::var("FLOWER_TEST_POSTGRES") else {
        return skip("FLOWER_TEST_POSTGRES names no PostgreSQL");
    };
    let schema = Schema::create(&base);
    let join = if base.contains('?') { '&' } else { '?' };
    let mut flower = Flower::new();
    flower.env("FLOWER_DATABASE_URL", &format!("{base}{join}options=-csearch_path%3D{}", schema.name));
    race(&flower);
    assert!(!flower.home.join("flower.db").exists(), "it was that database");
    // The daemon that uses the schema ends before it goes.
    drop(flower);
}

/// Dropped with all that is in it.
struct Schema {
    base: String,
    name: String,
}

impl Schema {
    fn create(base: &str) -> Schema {
        let schema = Schema { base: base.to_owned(), name: format!("race_{}", std::process::id()) };
        schema.run(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", schema.name));
        schema
    }

    fn run(&self, sql: &str) {
        let mut client = postgres::Client::connect(&self.base, postgres::NoTls).expect("PostgreSQL answers");
        client.batch_execute(&format!("SET client_min_messages = warning; {sql}")).expect("a schema");
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        self.run(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name));
    }
}

fn race(flower: &Flower) {
    let (claimers, dispatches) = size();
    prepare(flower);
    new(flower, "arena", &["--linked"]);
    for n in 1..=dispatches {
        let brief = proposed(flower, &format!("Brief {n}"), &json!({ "kind": "research" }));
        assert_eq!(dispatched(flower, brief, &json!({ "worktree": "arena" })), n);
    }
    let mut racers: Vec<_> = (0..claimers)
        .map(|n| {
            let (name, role) = (format!("racer-{n}"), "orchestrator");
            let token = post(flower, "/api/tokens", &json!({ "agent": name, "role": role }))["token"].clone();
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["dispatch::race::a_claimer", "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
            command.env(CLAIMER, json!([flower.port(), token, dispatches, n]).to_string());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it runs")
        })
        .collect();
    // All are there before the first begins.
    for racer in &mut racers {
        racer.stdin.take().expect("a pipe").write_all(b"go\n").expect("it listens");
    }
    let mut winners: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut losers: Vec<(u64, String)> = Vec::new();
    let mut most = 0;
    for (n, racer) in racers.into_iter().enumerate() {
        let output = racer.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "racer {n}: {text}");
        let answers: Vec<(u64, u16, String)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("claim "))
            .map(|line| serde_json::from_str(line).expect("an answer"))
            .collect();
        assert_eq!(answers.len() as u64, dispatches, "racer {n} asked for each once");
        let mut won = 0;
        for (dispatch, status, body) in answers {
            match status {
                200 => {
                    won += 1;
                    winners.entry(dispatch).or_default().push(format!("racer-{n}"));
                }
                409 => losers.push((dispatch, body)),
                _ => panic!("racer {n}, dispatch {dispatch}: {status} {body}"),
            }
        }
        most = most.max(won);
    }
    assert_eq!(winners.len() as u64, dispatches, "each is won");
    assert!(winners.values().all(|all| all.len() == 1), "by one: {winners:?}");
    assert!((most as u64) < dispatches, "it was a race");
    for (dispatch, body) in &losers {
        let holder = &winners[dispatch][0];
        assert!(body.contains(&format!("is claimed by `{holder}`")), "dispatch {dispatch}, won by {holder}: {body}");
    }
    let claims = events(flower, "dispatch_claimed");
    assert_eq!((claims.len() as u64, losers.len() as u64), (dispatches, dispatches * (claimers as u64 - 1)));
    for claim in &claims {
        let body = &claim["body"];
        assert_eq!((&body["fence"], &body["holder"]), (&json!(1), &json!(winners[&number(&body["number"])][0])));
    }
    assert_eq!(flower.json(&["log", "verify"])["ok"], true);
}

/// A process that claims one dispatch after the other over one connection.
#[test]
#[ignore = "a helper"]
fn a_claimer() {
    let asked = std::env::var(CLAIMER).expect("it is started by a race");
    let (port, token, dispatches, place): (u16, String, u64, u64) = serde_json::from_str(&asked).expect("what to do");
    std::io::stdin().read_line(&mut String::new()).expect("a word");
    let mut stream = crate::common::http::connect(port).expect("a daemon");
    let mut reader = BufReader::new(stream.try_clone().expect("a connection"));
    // They begin at the same one, and every second goes backwards: they meet all the time.
    let forwards: Vec<u64> = (1..=dispatches).collect();
    let order: Vec<u64> = if place % 2 == 0 { forwards } else { forwards.into_iter().rev().collect() };
    let mut answers = Vec::new();
    for dispatch in order {
        let path = format!("/api/dispatches/{dispatch}/claim");
        let request = crate::common::http::Request::new(port, "POST", &path).token(&token).json(&json!({}));
        stream.write_all(&request.header("Connection", "keep-alive").bytes()).expect("it takes it");
        let answer = Answer::read(&mut reader, false).expect("an answer");
        answers.push(json!([dispatch, answer.status, answer.text()]));
    }
    // Written at the end: a claimer that waits for its reader does not race.
    for answer in answers {
        writeln!(std::io::stdout(), "\nclaim {answer}").expect("a reader");
    }
}
