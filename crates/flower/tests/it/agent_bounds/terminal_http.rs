//! The daemon's addresses for terminals, with a real terminal behind them.

use crate::agent_bounds::stage::{Stage, play, shell};
use crate::common::http::Chunks;
use serde_json::json;
use std::io::{BufReader, Read};
use std::time::{Duration, Instant};

/// An agent with a terminal that runs this script.
fn with_terminal(script: &str) -> (Stage, String) {
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", script, "")));
    let name = stage.standing("term", "one");
    stage.until(&name, "with a terminal", |agent| agent["terminal"] == true);
    (stage, name)
}

/// The offset at which the answer begins, and its body.
fn open(stage: &Stage, name: &str, query: &str) -> (String, BufReader<Chunks>) {
    let request = stage.api("GET", &format!("/api/agents/{name}/terminal{query}")).header("TE", "trailers");
    let (answer, body) = request.stream().expect("a head, even if the terminal shows nothing");
    assert_eq!(answer.status, 200, "{answer:?}");
    (answer.header("x-flower-offset").expect("an offset").to_owned(), body)
}

fn reads(body: &mut BufReader<Chunks>, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    body.read_exact(&mut bytes).expect("output");
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

/// The rest of the output and the exit code in the trailers.
fn ends(mut body: BufReader<Chunks>) -> (String, Option<String>) {
    let mut rest = String::new();
    body.read_to_string(&mut rest).expect("the rest");
    (rest, body.into_inner().trailer("x-flower-exit").expect("trailers"))
}

#[test]
fn a_terminal_is_watched_typed_into_and_resized() {
    let (stage, name) = with_terminal("stty -echo; echo on; cat; stty size; exit 3");
    let types = |keys: &str| {
        let request = stage.api("POST", &format!("/api/agents/{name}/terminal/keys"));
        assert_eq!(request.body("application/octet-stream", keys).send().status, 204);
    };
    let resize = |columns: u16, rows: u16| {
        let request = stage.api("POST", &format!("/api/agents/{name}/terminal/size"));
        request.json(&json!({ "columns": columns, "rows": rows })).send().status
    };
    let (offset, mut body) = open(&stage, &name, "");
    assert_eq!(offset, "0");
    reads(&mut body, "on\r\n");
    types("hello\n");
    reads(&mut body, "hello\r\n");
    let (offset, mut later) = open(&stage, &name, "?after=9");
    assert_eq!(offset, "9");
    reads(&mut later, "\r\n");
    let (_, beyond) = open(&stage, &name, "?after=9999");
    assert_eq!((resize(99, 44), resize(0, 44)), (204, 422));
    types("\x04");
    let end = ("44 99\r\n".to_owned(), Some("3".to_owned()));
    assert_eq!(ends(body), end);
    assert_eq!(ends(later), end);
    assert_eq!(ends(beyond), end, "an offset beyond the end begins at the end");
}

#[test]
fn streams_end_with_the_daemon() {
    let (stage, name) = with_terminal("exec sleep 600");
    let (_, mut body) = open(&stage, &name, "");
    let down = std::thread::spawn(move || {
        let mut rest = Vec::new();
        let ended = body.read_to_end(&mut rest).map_err(|error| error.kind());
        (ended, Instant::now())
    });
    let asked = Instant::now();
    stage.ok(&["down"]);
    let (ended, at) = down.join().expect("read");
    assert!(matches!(ended, Ok(0) | Err(std::io::ErrorKind::UnexpectedEof)), "{ended:?}");
    assert!(at.duration_since(asked) < Duration::from_secs(5), "{:?}", at.duration_since(asked));
}
