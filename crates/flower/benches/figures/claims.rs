//! P9: 64 claimers who want the same 500 dispatches. Each has one winner.

use crate::Figure;
use crate::scratch::{Daemon, fill, home, new_brief, open_at, runtime};
use flower_core::BriefId;
use flower_core::{Command, dispatch};
use flower_store::Location;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::Barrier;

const CLAIMERS: usize = 64;
const DISPATCHES: u64 = 500;
/// Each way of claiming is measured so often; the median counts.
const ROUNDS: usize = 3;
const GOAL: f64 = 1_000.0;

pub fn measure() -> Vec<Figure> {
    let mut figures = on("SQLite", None);
    match std::env::var("FLOWER_TEST_POSTGRES") {
        Ok(url) => figures.extend(on("PostgreSQL", Some(&url))),
        Err(_) => eprintln!("  without PostgreSQL; beside one: `cargo xtask postgres -- cargo xtask bench P9`"),
    }
    figures
}

fn on(database: &str, url: Option<&str>) -> Vec<Figure> {
    let runtime = runtime();
    let mut races = Vec::new();
    let mut nexts = Vec::new();
    for round in 0..ROUNDS {
        eprintln!("  {database}, round {} of {ROUNDS} …", round + 1);
        for (wish, runs) in [(Wish::Each, &mut races), (Wish::Next, &mut nexts)] {
            runs.push(once(&runtime, url, wish));
        }
    }
    let figure = |how: &str, mut runs: Vec<Run>, reached: fn(&Run) -> f64, goal| {
        runs.sort_by(|a, b| reached(a).total_cmp(&reached(b)));
        let run = &runs[runs.len() / 2];
        Figure {
            id: "P9",
            what: format!(
                "{CLAIMERS} claimers × {DISPATCHES} dispatches over HTTP, {database}, {how}; median of {ROUNDS}"
            ),
            measured: format!(
                "{DISPATCHES} of {DISPATCHES} with one winner; {:.0} granted/s, {:.0} attempts/s ({} attempts)",
                run.granted(),
                run.tried(),
                run.attempts
            ),
            peer: "–".into(),
            ratio: None,
            goal,
            reached: reached(run) >= GOAL,
        }
    };
    vec![
        // Of 64 attempts 63 have to lose, so that how many are granted says little.
        figure("each tries to claim every one, in the same order", races, Run::tried, "500 of 500; ≥ 1,000 attempts/s"),
        figure("each claims the next one that waits", nexts, Run::granted, "500 of 500; ≥ 1,000 granted/s"),
    ]
}

/// On a database of its own.
fn once(runtime: &tokio::runtime::Runtime, base: Option<&str>, wish: Wish) -> Run {
    let home = home();
    let url = base.map(empty_schema);
    let location = match &url {
        Some(url) => Location::parse(url).expect("the URL of a database"),
        None => Location::Sqlite(home.path().join("flower.db")),
    };
    let store = open_at(&location, home.path());
    runtime.block_on(async {
        let request = |brief| {
            Command::RequestDispatch(dispatch::Request { brief: BriefId(brief), ..dispatch::Request::default() })
        };
        fill(&store, (0..DISPATCHES).map(|n| new_brief(format!("Brief {n}"), "A plan".into()))).await;
        fill(&store, (1..=DISPATCHES).map(|brief| Command::Accept { brief: BriefId(brief), version: None })).await;
        fill(&store, (1..=DISPATCHES).map(request)).await;
    });
    store.close();
    let (daemon, _) = Daemon::start_on(home.path(), url.as_deref());
    let run = runtime.block_on(compete(&daemon, wish));
    assert_eq!(run.winners.len() as u64, DISPATCHES, "every dispatch has a winner");
    assert!(run.winners.values().all(|winners| *winners == 1), "and only one: {:?}", run.winners);
    run
}

/// The throw-away cluster has one database; each run gets a schema of its own in it.
fn empty_schema(base: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("bench_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut client = postgres::Client::connect(base, postgres::NoTls).expect("PostgreSQL answers");
    client.batch_execute(&format!("CREATE SCHEMA {name}")).expect("a schema");
    let join = if base.contains('?') { '&' } else { '?' };
    format!("{base}{join}options=-csearch_path%3D{name}")
}

#[derive(Clone, Copy)]
enum Wish {
    /// Every one, in the same order as all others.
    Each,
    /// Whichever waits.
    Next,
}

/// What came out of it.
struct Run {
    /// By dispatch: how many were told that it is theirs.
    winners: BTreeMap<u64, u32>,
    attempts: u64,
    took: Duration,
}

impl Run {
    fn granted(&self) -> f64 {
        self.winners.len() as f64 / self.took.as_secs_f64()
    }

    fn tried(&self) -> f64 {
        self.attempts as f64 / self.took.as_secs_f64()
    }
}

async fn compete(daemon: &Daemon, wish: Wish) -> Run {
    let (port, token) = (daemon.port().expect("a port"), daemon.token());
    let ready = Arc::new(Barrier::new(CLAIMERS + 1));
    let claimers: Vec<_> = (0..CLAIMERS)
        .map(|n| {
            let ready = ready.clone();
            let mut caller = Caller::new(port, token.clone(), format!("claimer-{n}"));
            tokio::spawn(async move {
                caller.connect().await;
                ready.wait().await;
                caller.claim_all(wish).await
            })
        })
        .collect();
    ready.wait().await;
    let start = Instant::now();
    let mut run = Run { winners: BTreeMap::new(), attempts: 0, took: Duration::ZERO };
    for claimer in claimers {
        let (won, attempts) = claimer.await.expect("no panic");
        run.attempts += attempts;
        for number in won {
            *run.winners.entry(number).or_default() += 1;
        }
    }
    run.took = start.elapsed();
    run
}

/// A client that keeps its connection.
struct Caller {
    port: u16,
    token: String,
    name: String,
    stream: Option<BufReader<TcpStream>>,
}

impl Caller {
    fn new(port: u16, token: String, name: String) -> Caller {
        Caller { port, token, name, stream: None }
    }

    async fn connect(&mut self) {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("the daemon accepts");
        stream.set_nodelay(true).expect("a socket");
        self.stream = Some(BufReader::new(stream));
    }

    /// What was won, and how often it was tried.
    async fn claim_all(&mut self, wish: Wish) -> (Vec<u64>, u64) {
        let (mut won, mut attempts) = (Vec::new(), 0);
        match wish {
            Wish::Each => {
                for number in 1..=DISPATCHES {
                    attempts += 1;
                    match self.claim(&format!("/api/dispatches/{number}/claim")).await {
                        (200, answer) => won.push(self.mine(&answer)),
                        (409, _) => {}
                        (status, answer) => panic!("{status}: {answer}"),
                    }
                }
            }
            Wish::Next => loop {
                attempts += 1;
                match self.claim("/api/claims").await {
                    (200, answer) => won.push(self.mine(&answer)),
                    (404, _) => break,
                    (status, answer) => panic!("{status}: {answer}"),
                }
            },
        }
        (won, attempts)
    }

    fn mine(&self, answer: &Value) -> u64 {
        assert_eq!(answer["claim"]["holder"], *self.name, "whoever is told so holds it");
        answer["id"].as_u64().expect("a number")
    }

    async fn claim(&mut self, path: &str) -> (u16, Value) {
        let (port, token) = (self.port, &self.token);
        let body = json!({ "as": self.name }).to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = self.stream.as_mut().expect("connected");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(stream.read_line(&mut line).await.expect("answered") > 0, "the daemon hung up");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().and_then(|code| code.parse().ok()).expect("a status");
            } else if let Some(rest) = line.strip_prefix("content-length:") {
                length = rest.trim().parse().expect("a length");
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.expect("the whole answer");
        (status, serde_json::from_slice(&body).expect("JSON"))
    }
}
