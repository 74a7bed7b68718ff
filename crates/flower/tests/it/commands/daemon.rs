//! Starting and stopping the daemon, finding it, and one that is not what was expected.

use super::assert_has;
use crate::common::http::connect;
use crate::common::{Flower, finish};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

#[test]
fn up_twice_is_the_same_daemon_with_a_new_link() {
    let flower = Flower::new();
    let (first, second) = (flower.start(), flower.start());
    assert_has(&first, &["url", "open_url", "project", "pid"]);
    assert_eq!((&first["pid"], &first["url"]), (&second["pid"], &second["url"]));
    assert_ne!(first["open_url"], second["open_url"]);
    let down = flower.json(&["down"]);
    assert_eq!(down["pid"], first["pid"]);
    assert!(connect(flower.port()).is_err(), "the port is closed");
    assert_eq!(flower.json(&["down"]), json!({ "pid": null }), "to stop what does not run is no error");
    // The address of the page stays, so that its tabs do.
    assert_eq!(flower.start()["url"], first["url"]);
    // Any command starts the daemon, not only `up`.
    flower.ok(&["down"]);
    assert_eq!(flower.json(&["brief"]), json!([]));
}

/// A daemon that is asked and ends before it answers, as one does that is killed. Says what it was asked for.
fn dying_daemon(flower: &Flower) -> std::thread::JoinHandle<String> {
    let path = flower.home.join("flower.sock");
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("a socket");
    std::thread::spawn(move || {
        loop {
            let (socket, _) = listener.accept().expect("a connection");
            let mut line = String::new();
            BufReader::new(&socket).read_line(&mut line).expect("a line");
            // The check whether a daemon listens sends nothing.
            if !line.is_empty() {
                fs::remove_file(&path).expect("its socket goes first");
                return line;
            }
        }
    })
}

#[test]
fn a_read_that_a_killed_daemon_takes_with_it_is_asked_of_the_next_one() {
    let flower = Flower::started();
    flower.ok(&["brief", "new", "one"]);
    flower.ok(&["down"]);
    let dying = dying_daemon(&flower);
    let briefs = flower.run(&["brief", "--json"]);
    assert_eq!(briefs.code, 0, "{briefs:?}");
    let briefs: Value = serde_json::from_str(&briefs.stdout).expect("JSON");
    assert_eq!(briefs[0]["title"], "one");
    assert!(dying.join().expect("it was asked").starts_with("GET /api/briefs"));
    // What changes something is never sent twice: the one before may have done it.
    flower.ok(&["down"]);
    let dying = dying_daemon(&flower);
    let made = flower.run(&["brief", "new", "two", "--json"]);
    assert_eq!(made.error(5)["kind"], "unreachable");
    assert!(dying.join().expect("it was asked").starts_with("POST /api/briefs"));
    assert_eq!(flower.json(&["brief"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn where_an_address_is_given_a_read_waits_for_the_next_daemon_and_starts_none() {
    let flower = Flower::started();
    flower.ok(&["down"]);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let dying = std::thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a connection");
        let mut line = String::new();
        BufReader::new(&socket).read_line(&mut line).expect("a line");
        line
    });
    let mut command = flower.command(&["brief", "--json"]);
    command.env("FLOWER_URL", url);
    let output = finish(command);
    assert_eq!(output.error(5)["kind"], "unreachable");
    assert!(dying.join().expect("it was asked").starts_with("GET "));
    assert!(!flower.home.join("flower.sock").exists(), "none was started");
}

#[test]
fn many_commands_at_once_start_one_daemon() {
    let flower = Flower::new();
    let pids: Vec<Value> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(|| flower.start()["pid"].clone())).collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    });
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
}

#[test]
fn a_port_is_taken_as_asked_or_not_at_all() {
    let flower = Flower::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let error = flower.fails(&["up", "--port", &port], 5);
    assert!(error["message"].as_str().is_some_and(|m| m.contains(&port)), "{error}");
    assert!(!flower.home.join("flower.sock").exists());
    drop(taken);
    assert_eq!(flower.json(&["up", "--port", &port])["url"], format!("http://127.0.0.1:{port}"));
    assert_eq!(flower.json(&["up", "--port", &port])["url"], format!("http://127.0.0.1:{port}"));
    let error = flower.fails(&["up", "--port", "1"], 4);
    assert!(error["hints"][0].as_str().is_some_and(|hint| hint.contains("flower down")), "{error}");
    // The port of last time is a wish: if it is gone, another does.
    flower.ok(&["down"]);
    let taken = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    assert_ne!(flower.start()["url"], format!("http://127.0.0.1:{port}"));
    drop(taken);
}

#[test]
fn in_the_foreground_it_greets_and_ends_when_told() {
    let flower = Flower::new();
    let mut command = flower.command(&["up", "--foreground", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut greeting = String::new();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !greeting.ends_with("\n}\n") {
        greeting += &(lines.next().expect("a greeting").unwrap() + "\n");
    }
    let up: Value = serde_json::from_str(&greeting).expect("JSON");
    assert_eq!((&up["pid"], &up["project"]), (&json!(child.id()), &json!("repo")));
    assert_eq!(flower.fails(&["up", "--foreground"], 4)["kind"], "conflict", "a second one in the same home");
    flower.ok(&["brief", "new", "one"]);
    flower.ok(&["down"]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_home_with_a_long_path_works() {
    let mut flower = Flower::new();
    flower.home = flower.dir().join("a-rather-long-name-of-a-folder".repeat(4)).join("and another one".repeat(8));
    assert!(flower.home.as_os_str().len() > 240, "far longer than an address of a socket");
    flower.start();
    flower.ok(&["brief", "new", "one"]);
    flower.restart();
    assert_eq!(flower.json(&["brief", "show", "1"])["title"], "one");
}

#[test]
fn with_flower_url_no_daemon_is_started() {
    let theirs = Flower::started();
    let url = format!("http://127.0.0.1:{}", theirs.port());
    let ours = Flower::new();
    let run = |url: &str, token: &str, args: &[&str]| {
        let mut command = ours.command(&[args, &["--json"]].concat());
        command.env("FLOWER_URL", url).env("FLOWER_TOKEN", token);
        finish(command)
    };
    let token = theirs.token();
    let made = run(&url, &token, &["brief", "new", "over there", "--project", "repo"]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_eq!(theirs.json(&["brief", "show", "1"])["title"], "over there");
    let unused = "http://127.0.0.1:1";
    for args in [&["brief"][..], &["up"], &["status"], &["brief", "new", "x"], &["inbox"]] {
        let error = run(unused, &token, args).error(5);
        assert_eq!(error["kind"], "unreachable");
        assert!(error["hints"][0].as_str().is_some_and(|hint| hint.contains("FLOWER_URL")), "{error}");
    }
    assert_eq!(run(&url, "", &["brief"]).error(2)["kind"], "usage", "no token for it");
    assert_eq!(run(&url, "wrong", &["brief"]).error(1)["kind"], "unauthorized");
    for wrong in
        ["nonsense", "https://127.0.0.1:1", "http://127.0.0.1", "http://user@127.0.0.1:1", "http://127.0.0.1:1/x"]
    {
        assert_eq!(run(wrong, &token, &["brief"]).error(2)["kind"], "usage", "{wrong}");
    }
    // It is not ours to stop.
    assert_eq!(run(&url, &token, &["down"]).error(2)["kind"], "usage");
    assert!(connect(theirs.port()).is_ok());
    assert!(!ours.home.exists(), "nothing was made here");
}

/// Answers every request on this listener in the name of another version.
fn pretend<S: Read + Write>(accepted: impl Iterator<Item = std::io::Result<S>>) {
    for mut stream in accepted.map_while(Result::ok) {
        let mut buffer = [0; 4096];
        // A mere knock sends nothing.
        if stream.read(&mut buffer).is_ok_and(|read| read > 0) {
            let body = r#"{"version":"9.9.9"}"#;
            let head = format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close", body.len());
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nx-flower-version: 9.9.9\r\n{head}\r\n\r\n{body}");
        }
    }
}

#[test]
fn a_daemon_of_another_version_is_not_spoken_to() {
    let flower = Flower::new();
    fs::create_dir(&flower.home).unwrap();
    let socket = UnixListener::bind(flower.home.join("flower.sock")).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", tcp.local_addr().unwrap());
    std::thread::spawn(move || pretend(socket.incoming()));
    std::thread::spawn(move || pretend(tcp.incoming()));
    let tell = |error: Value| {
        assert_eq!(error["kind"], "unreachable");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("9.9.9") && message.contains(flower_contract::VERSION), "{message}");
        let hint = error["hints"][0].as_str().unwrap();
        assert!(hint.contains("flower down") && hint.contains("flower up"), "{hint}");
    };
    for args in [&["brief"][..], &["brief", "new", "x"], &["up"], &["status"], &["brief", "trace", "1", "--follow"]] {
        tell(flower.fails(args, 5));
    }
    let mut remote = flower.command(&["brief", "--json"]);
    remote.env("FLOWER_URL", url);
    tell(finish(remote).error(5));
    assert!(!flower.home.join("flower.db").exists(), "no second daemon was started beside it");
}
