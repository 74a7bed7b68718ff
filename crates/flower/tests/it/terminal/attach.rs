//! `flower agent attach`: at a terminal, against the real daemon, and against one that does what a test says.

use crate::common::http::Answer;
use crate::common::{Flower, PATIENCE, eventually};
use crate::terminal::daemon::FakeDaemon;
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Size of the terminal that attaches.
pub const TOKEN: &str = "0123456789012345678901234567890123456789";

/// The program at a terminal of its own.
pub struct Screen {
    keyboard: File,
    shown: Arc<Mutex<Vec<u8>>>,
    child: Child,
    before: String,
}

/// Everything that can be set, as text that can be compared.
fn settings(terminal: &File) -> String {
    let Termios { input_modes, output_modes, control_modes, local_modes, special_codes, .. } =
        tcgetattr(terminal).expect("settings");
    format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?} {special_codes:?}")
}

impl Screen {
    fn start(mut command: Command) -> Screen {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let slave = File::from(ioctl_tiocgptpeer(&master, flags).expect("the other side"));
        tcsetwinsize(&slave, Winsize { ws_row: 25, ws_col: 81, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
        let stream = || Stdio::from(slave.try_clone().expect("a copy"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        flower_jail::lead_session(&mut command);
        let before = settings(&slave);
        let child = command.spawn().expect("flower runs");
        let keyboard = File::from(master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (keyboard.try_clone().expect("a copy"), shown.clone());
        // Held open on this side, so that its settings can be read when the program has ended.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                to.lock().expect("whole").extend_from_slice(&bytes[..length]);
            }
            drop(slave);
        });
        Screen { keyboard, shown, child, before }
    }

    pub fn attach(flower: &Flower, port: u16) -> Screen {
        let mut command = flower.command(&["agent", "attach", "rose"]);
        command.env("FLOWER_URL", format!("http://127.0.0.1:{port}")).env("FLOWER_TOKEN", TOKEN);
        let screen = Screen::start(command);
        screen.sees(b"attached to rose; Ctrl-] detaches");
        screen
    }

    pub fn types(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("typed");
    }

    fn has(&self, text: &[u8]) -> bool {
        self.shown.lock().expect("whole").windows(text.len()).any(|shown| shown == text)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().expect("whole")).into_owned()
    }

    pub fn sees(&self, text: &[u8]) {
        let start = Instant::now();
        while !self.has(text) {
            let shown = self.text();
            assert!(start.elapsed() < PATIENCE / 3, "no `{}`: {shown:?}", String::from_utf8_lossy(text));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.keyboard).expect("settings").local_modes.contains(LocalModes::ICANON)
    }

    /// Its exit code; the terminal is as it was.
    pub fn ends(&mut self) -> Option<i32> {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                break status;
            }
            assert!(start.elapsed() < PATIENCE / 3, "it does not end: {:?}", self.text());
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(settings(&self.keyboard), self.before, "the terminal is as it was");
        status.code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_unknown_agent_cannot_be_attached_to() {
    let flower = Flower::started();
    let error = flower.fails(&["agent", "attach", "absent"], 1);
    assert_eq!(error["kind"], "refused", "not without a terminal");
    assert!(error["hints"][0].as_str().unwrap().contains("`flower agent log absent`"), "{error}");
    let mut screen = Screen::start(flower.command(&["agent", "attach", "absent"]));
    screen.sees(b"no agent `absent` has a terminal");
    screen.sees(b"`flower agent log absent`");
    assert_eq!(screen.ends(), Some(3));
    assert!(!screen.has(b"attached"));
}

#[test]
fn operators_write_to_terminals_and_ops_only_read_them() {
    let flower = Flower::started();
    let token = |role: &str| {
        let made = flower.json(&["token", "new", "--agent", role, "--role", role]);
        made["token"].as_str().expect("a token").to_owned()
    };
    let calls = |token: &str| -> Vec<Answer> {
        let at = |method: &str, below: &str| {
            flower.request(method, &format!("/api/agents/absent/terminal{below}")).token(token)
        };
        vec![
            at("GET", "").send(),
            at("GET", "?after=5").send(),
            at("POST", "/keys").body("application/octet-stream", "x").send(),
            at("POST", "/size").json(&json!({ "columns": 80, "rows": 24 })).send(),
        ]
    };
    for token in [flower.token(), token("orchestrator")] {
        for answer in calls(&token) {
            assert_eq!((answer.status, answer.kind().as_str()), (404, "not_found"), "{answer:?}");
            assert!(answer.json()["error"]["hints"][0].as_str().unwrap().contains("flower agent log absent"));
        }
    }
    for answer in calls(&token("worker")) {
        assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"), "{answer:?}");
    }
    let looks_only: Vec<u16> = calls(&token("ops")).iter().map(|answer| answer.status).collect();
    assert_eq!(looks_only, [404, 404, 403, 403]);
    let keys = |kind: &str, length: usize| {
        let request = flower.api("POST", "/api/agents/absent/terminal/keys");
        request.body(kind, vec![b'x'; length]).send().status
    };
    assert_eq!(keys("application/octet-stream", 64 * 1024), 404);
    assert_eq!(keys("application/octet-stream", 64 * 1024 + 1), 413);
    assert_eq!(keys("application/json", 1), 415);
    for wrong in [json!({ "columns": -1, "rows": 24 }), json!({ "columns": 80 }), json!({ "columns": 1e9, "rows": 1 })]
    {
        let answer = flower.api("POST", "/api/agents/absent/terminal/size").json(&wrong).send();
        assert_eq!(answer.status, 400, "{answer:?}");
    }
}

#[test]
fn keys_go_in_and_what_draws_comes_out() {
    let (flower, daemon) = (Flower::new(), FakeDaemon::start());
    let mut screen = Screen::attach(&flower, daemon.port);
    let mut stream = daemon.stream();
    assert_eq!(stream.path, "/api/agents/rose/terminal");
    stream.show(b"\x1b[?1049h\x1b[1mhello\x1b]52;c;ZXZpbA");
    stream.show(b"==\x07\x1b[6");
    stream.show(b"n\x1b[c\x05 there");
    screen.sees(b"\x1b[?1049h\x1b[1mhello there");
    assert!(screen.is_raw());
    assert!(!screen.has(b"ZXZpbA") && !screen.has(b"\x1b[6n") && !screen.has(b"\x1b[c"), "{}", screen.text());
    eventually("its size is known", || daemon.posted("/size").contains(r#"{"columns":81,"rows":25}"#).then_some(()));
    let size = Winsize { ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen.keyboard, size).expect("resized");
    eventually("and followed", || daemon.posted("/size").ends_with(r#"{"columns":100,"rows":40}"#).then_some(()));
    let typed: String = (0..200).map(|number| format!("{number},")).collect();
    for piece in typed.as_bytes().chunks(7) {
        screen.types(piece);
    }
    screen.types(b"\x03\x1a\x1b[A\r");
    let expected = format!("{typed}\x03\x1a\x1b[A\r");
    eventually("all keys came", || (daemon.posted("/keys").len() >= expected.len()).then_some(()));
    assert_eq!(daemon.posted("/keys"), expected, "in their order, none acted upon here");
    screen.types(b"last\x1dnever");
    screen.sees(b"detached from rose");
    assert_eq!(screen.ends(), Some(0));
    assert_eq!(daemon.posted("/keys"), format!("{expected}last"));
    assert!(screen.has(b"\x1b[?1049l") && screen.has(b"\x1b[?25h"), "the screen is as it was: {}", screen.text());
}

#[test]
fn attach_reports_how_the_agent_ended() {
    let (flower, daemon) = (Flower::new(), FakeDaemon::start());
    let mut screen = Screen::attach(&flower, daemon.port);
    let mut stream = daemon.stream();
    stream.show(b"bye\r\n");
    stream.end(3);
    screen.sees(b"rose has ended with exit code 3");
    assert_eq!(screen.ends(), Some(0));
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let (flower, daemon) = (Flower::new(), FakeDaemon::start());
        let mut screen = Screen::attach(&flower, daemon.port);
        let mut stream = daemon.stream();
        stream.show(b"here");
        screen.sees(b"here");
        assert!(screen.is_raw());
        let pid = i32::try_from(screen.child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("sent");
        assert_eq!(screen.ends(), Some(code));
    }
}

#[test]
fn attach_waits_for_a_restarted_daemon() {
    let (flower, daemon) = (Flower::new(), FakeDaemon::start());
    let mut screen = Screen::attach(&flower, daemon.port);
    let mut stream = daemon.stream();
    stream.show(b"12345");
    screen.sees(b"12345");
    daemon.go_away(true);
    drop(stream);
    screen.sees(b"the daemon does not answer; waiting for it, Ctrl-] detaches");
    assert!(screen.is_raw());
    daemon.go_away(false);
    let mut stream = daemon.stream();
    assert_eq!(stream.path, "/api/agents/rose/terminal?after=1005", "it goes on where it was");
    screen.sees(b"the daemon answers again");
    stream.show(b"6789");
    screen.sees(b"6789");
    screen.types(b"\x1d");
    assert_eq!(screen.ends(), Some(0));
}

#[test]
fn attach_can_be_left_while_the_daemon_is_away() {
    let (flower, daemon) = (Flower::new(), FakeDaemon::start());
    let mut screen = Screen::attach(&flower, daemon.port);
    let stream = daemon.stream();
    daemon.go_away(true);
    drop(stream);
    screen.sees(b"the daemon does not answer");
    screen.types(b"x\x1d");
    assert_eq!(screen.ends(), Some(0));
}
