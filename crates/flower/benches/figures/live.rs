//! P16: from an append to the eyes of 1,000 readers.

use crate::scratch::{Daemon, fill, home, new_brief, open, runtime};
use crate::{Figure, ms, quantile};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{Barrier, mpsc};

const READERS: usize = 1_000;
const EVENTS: usize = 50;

pub fn measure() -> Vec<Figure> {
    let home = home();
    let store = open(home.path());
    let runtime = runtime();
    runtime.block_on(fill(&store, std::iter::once(new_brief("One".into(), "A plan".into()))));
    store.close();
    raise_file_limit();
    let (daemon, _) = Daemon::start(home.path());
    let mut delays = runtime.block_on(watch(&daemon));
    let (p50, p99) = (quantile(&mut delays, 0.5), quantile(&mut delays, 0.99));
    vec![Figure {
        id: "P16",
        what: format!(
            "append sent → read by each of {READERS} SSE readers, p99 of {} (median {})",
            delays.len(),
            ms(p50)
        ),
        measured: ms(p99),
        peer: "–".into(),
        ratio: None,
        goal: "≤ 100 ms",
        reached: p99 <= Duration::from_millis(100),
    }]
}

async fn watch(daemon: &Daemon) -> Vec<Duration> {
    let (port, token) = (daemon.port().expect("a port"), daemon.token());
    let ready = Arc::new(Barrier::new(READERS + 1));
    let (seen, mut arrivals) = mpsc::unbounded_channel();
    for _ in 0..READERS {
        let (ready, seen, token) = (ready.clone(), seen.clone(), token.clone());
        tokio::spawn(async move {
            let mut stream = connect(port).await;
            let request =
                format!("GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n");
            stream.write_all(request.as_bytes()).await.expect("sent");
            let mut lines = BufReader::new(stream).lines();
            while let Some(line) = lines.next_line().await.expect("read") {
                if line.starts_with(": flower") {
                    break;
                }
            }
            ready.wait().await;
            while let Ok(Some(line)) = lines.next_line().await {
                if line.starts_with("data: ")
                    && let Some((_, rest)) = line.split_once("probe ")
                {
                    let number: usize = rest.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
                    if seen.send((number, Instant::now())).is_err() {
                        break;
                    }
                }
            }
        });
    }
    drop(seen);
    ready.wait().await;
    let mut sent = Vec::new();
    let mut delays = Vec::new();
    for number in 0..EVENTS {
        let mut stream = connect(port).await;
        let body = format!("{{\"text\":\"probe {number} here\"}}");
        let request = format!(
            "POST /api/briefs/1/notes HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        sent.push(Instant::now());
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("answered");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        for _ in 0..READERS {
            let arrival = tokio::time::timeout(Duration::from_secs(30), arrivals.recv()).await;
            let (number, at) = arrival.expect("every reader sees every event").expect("readers are there");
            delays.push(at.duration_since(sent[number]));
        }
    }
    delays
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect(("127.0.0.1", port)).await.expect("the daemon accepts")
}

fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most.min(8_192), most).expect("ours to raise");
}
