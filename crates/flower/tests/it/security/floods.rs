//! Requests that are too large, too deep or too slow. The daemon says no, stays small and goes on.

use crate::common::http::{Answer, connect, exchange};
use crate::common::{Flower, HANG, eventually};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// What the daemon may ever have used, in kB.
const MOST_MEMORY: u64 = 200_000;

fn stayed_small(flower: &Flower) {
    assert_eq!(flower.api("GET", "/api/briefs").send().status, 200, "it goes on");
    let peak = flower.memory("VmHWM");
    assert!(peak < MOST_MEMORY, "it used {peak} kB");
}

#[test]
fn a_body_without_end_is_413() {
    let flower = Flower::started();
    let before = flower.events();
    let gigabyte = (1_u64 << 30).to_string();
    for (path, kind) in [("/api/briefs", "application/json"), ("/api/images", "image/png")] {
        let declared = flower.api("POST", path).header("Content-Type", kind).header("Content-Length", &gigabyte).send();
        assert_eq!((declared.status, declared.kind().as_str()), (413, "too_large"), "{path}, declared");
        // Undeclared, in pieces: it ends when the daemon has had enough.
        let head = flower.api("POST", path).header("Content-Type", kind).header("Transfer-Encoding", "chunked");
        let stream = connect(flower.port()).expect("connected");
        let mut writing = stream.try_clone().expect("a second handle");
        writing.write_all(&head.bytes()).expect("the head is taken");
        let pouring = std::thread::spawn(move || {
            let piece = [b"10000\r\n".as_slice(), &[b' '; 0x10000], b"\r\n"].concat();
            let mut poured = 0_u64;
            while poured < 1 << 30 && writing.write_all(&piece).is_ok() {
                poured += 0x10000;
            }
            poured
        });
        let answer = Answer::read(&mut BufReader::new(stream), false).expect("an answer");
        assert_eq!((answer.status, answer.kind().as_str()), (413, "too_large"), "{path}, in pieces");
        let poured = pouring.join().expect("poured");
        assert!(poured < 1 << 28, "{path}: {poured} bytes were taken");
    }
    let stranger = flower.request("POST", "/api/briefs").header("Content-Length", &gigabyte).send();
    assert_eq!(stranger.status, 401);
    assert_eq!(flower.events(), before);
    stayed_small(&flower);
}

#[test]
fn a_head_of_a_megabyte_is_431() {
    let flower = Flower::started();
    let megabyte = "x".repeat(1 << 20);
    let many: String = (0..20_000).map(|i| format!("X-{i}: {}\r\n", &megabyte[..40])).collect();
    let start = format!("GET /api/briefs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", flower.port());
    for (what, head) in [
        ("one header", format!("{start}X-Long: {megabyte}\r\n\r\n")),
        ("many headers", format!("{start}{many}\r\n")),
        ("a token", format!("{start}Authorization: Bearer {megabyte}\r\n\r\n")),
        ("an address", format!("GET /{megabyte} HTTP/1.1\r\nHost: x\r\n\r\n")),
    ] {
        let answer = exchange(flower.port(), head.as_bytes(), false).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(matches!(answer.status, 431 | 414), "{what}: {answer:?}");
    }
    stayed_small(&flower);
}

#[test]
fn json_of_a_hundred_thousand_levels_is_400() {
    let flower = Flower::started();
    let before = flower.events();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    for (what, body) in [
        ("lists", format!("{open}{close}")),
        ("lists without end", open.clone()),
        ("objects", objects.clone()),
        ("in a field that is known", format!(r#"{{"title":{open}{close}}}"#)),
        ("in a field that is not", format!(r#"{{"title":"x","project":"repo","more":{open}{close}}}"#)),
        ("objects in a field that is not", format!(r#"{{"title":"x","project":"repo","more":{objects}}}"#)),
    ] {
        let answer = flower.api("POST", "/api/briefs").body("application/json", body).send();
        assert_eq!((answer.status, answer.kind().as_str()), (400, "usage"), "{what}");
    }
    assert_eq!(flower.events(), before);
    let brackets = r#"{"title":"x","project":"repo","spec":"[[[[\"\\"}"#.replace("[[[[", &"[{".repeat(1_000));
    let answer = flower.api("POST", "/api/briefs").body("application/json", brackets).send();
    assert_eq!(answer.status, 200, "brackets in a text are no levels: {answer:?}");
    stayed_small(&flower);
}

/// Files for a thousand sockets, where the shell allows fewer.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    assert!(maximum.is_none_or(|most| most >= 1_500), "this test needs 1,500 files; `ulimit -Hn` says {maximum:?}");
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).expect("the soft limit is ours to raise");
}

/// Reads what comes and says whether the other side has closed.
fn is_closed(socket: &mut TcpStream) -> bool {
    let mut buffer = [0; 1024];
    loop {
        match socket.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => return true,
        }
    }
}

/// The operator's connections are kept free, however many connections agents open.
#[test]
fn agents_cannot_take_the_last_connections() {
    use rustix::process::{Resource, getrlimit};
    raise_file_limit();
    let most = getrlimit(Resource::Nofile).current;
    assert!(most.is_none_or(|most| most >= 4_500), "this test needs 4,500 files; `ulimit -Hn` says {most:?}");
    let flower = Flower::started();
    let mut streams = Vec::new();
    let mut refused = None;
    for agent in 0..40 {
        let made = flower.json(&["token", "new", "--agent", &format!("agent-{agent}")]);
        let token = made["token"].as_str().expect("a token").to_owned();
        for _ in 0..128 {
            let (answer, frames) = flower.request("GET", "/api/events").token(&token).stream().expect("an answer");
            if answer.status != 200 {
                refused = Some(answer);
                break;
            }
            streams.push(frames);
        }
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("a bound");
    assert_eq!((refused.status, refused.header("connection")), (503, Some("close")), "{refused:?}");
    assert!(streams.len() > 3_000, "{}", streams.len());
    for _ in 0..50 {
        assert_eq!(flower.api("GET", "/api/status").send().status, 200, "over TCP, as the page does");
    }
    let (answer, _frames) = flower.api("GET", "/api/events").stream().expect("a stream");
    assert_eq!(answer.status, 200, "{answer:?}");
    stayed_small(&flower);
}

#[test]
fn a_thousand_slow_sockets_delay_no_other_request() {
    raise_file_limit();
    let flower = Flower::started();
    let port = flower.port();
    let half_a_head = format!("GET /api/briefs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX-Long: {}", "x".repeat(60_000));
    let mut slow: Vec<TcpStream> = (0..1_000)
        .map(|i| {
            let mut socket = connect(port).expect("connected");
            match i % 4 {
                0 => {}
                1 => socket.write_all(b"GET /api/bri").expect("sent"),
                _ => socket.write_all(half_a_head.as_bytes()).expect("sent"),
            }
            socket.set_nonblocking(true).expect("a socket");
            socket
        })
        .collect();
    // Half a body, with a token: it gets an answer in the end.
    let half_a_body = flower.api("POST", "/api/briefs").header("Content-Type", "application/json");
    let half_a_body = [half_a_body.header("Content-Length", "1000").bytes(), b"{".to_vec()].concat();
    let bodies: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut socket = connect(port).expect("connected");
            socket.write_all(&half_a_body).expect("sent");
            socket
        })
        .collect();
    for _ in 0..20 {
        let start = Instant::now();
        assert_eq!(flower.api("GET", "/api/briefs").send().status, 200);
        assert!(start.elapsed() < HANG, "others wait {:?}", start.elapsed());
    }
    assert!(flower.memory("VmRSS") < MOST_MEMORY);
    let mut drip = 0;
    eventually("every slow socket is closed", || {
        // A byte now and then is no request either.
        drip += 1;
        if drip % 25 == 0 {
            slow.iter_mut().step_by(10).for_each(|socket| drop(socket.write(b"x")));
        }
        slow.retain_mut(|socket| !is_closed(socket));
        slow.is_empty().then_some(())
    });
    for body in bodies {
        let answer = Answer::read(&mut BufReader::new(body), false).expect("an answer");
        assert_eq!((answer.status, answer.kind().as_str()), (408, "timeout"));
    }
    stayed_small(&flower);
}
