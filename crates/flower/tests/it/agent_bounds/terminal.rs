//! Agents with a terminal, from the brief to the landing, and a person who looks at one of them.

use crate::agent_bounds::stage::{Stage, play, shell};
use crate::common::work::says;
use crate::common::{PATIENCE, eventually};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A person at a terminal of their own.
struct Person {
    keyboard: File,
    shown: Arc<Mutex<Vec<u8>>>,
    child: Child,
}

impl Person {
    fn attaches(stage: &Stage, name: &str) -> Person {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).expect("a terminal");
        unlockpt(&master).expect("a terminal");
        let slave = File::from(ioctl_tiocgptpeer(&master, flags).expect("the other side"));
        tcsetwinsize(&slave, Winsize { ws_row: 25, ws_col: 91, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
        let mut command = stage.command(&["agent", "attach", name]);
        let stream = || Stdio::from(slave.try_clone().expect("a copy"));
        command.stdin(stream()).stdout(stream()).stderr(stream());
        flower_jail::lead_session(&mut command);
        let child = command.spawn().expect("flower runs");
        let keyboard = File::from(master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut from, to) = (keyboard.try_clone().expect("a copy"), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                to.lock().expect("whole").extend_from_slice(&bytes[..length]);
            }
            drop(slave);
        });
        let person = Person { keyboard, shown, child };
        person.sees(&format!("attached to {name}; Ctrl-] detaches"));
        person
    }

    /// Waits until the shell has the size of this terminal: for a moment it has one line less, so that programs redraw.
    fn has_its_size(&mut self) {
        eventually("the shell has the size of the terminal", || {
            self.types("stty size\r");
            std::thread::sleep(Duration::from_millis(200));
            String::from_utf8_lossy(&self.shown.lock().expect("whole")).contains("25 91").then_some(())
        });
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    fn sees(&self, text: &str) {
        let start = Instant::now();
        loop {
            let shown = String::from_utf8_lossy(&self.shown.lock().expect("whole")).into_owned();
            if shown.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE / 2, "no `{text}`: {shown:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn ends(&mut self) -> Option<i32> {
        eventually("it ends", || self.child.try_wait().expect("asked")).code()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What its terminal has shown.
fn screen(stage: &Stage, name: &str) -> String {
    let number = stage.agent(name)["id"].as_u64().expect("a number");
    let file = stage.home.join(format!("agents/{number}/terminal"));
    String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned()
}

fn shows(stage: &Stage, name: &str, words: &str) {
    let mut last = String::new();
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually("it shows it", || {
            last = screen(stage, name);
            last.contains(words).then_some(())
        });
    }));
    assert!(found.is_ok(), "{name} never shows `{words}`:\n{last}");
}

#[test]
fn a_person_sees_and_types_and_it_goes_on_without_them() {
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", "PS1='ready> ' exec sh -i", "")));
    let name = stage.standing("term", "one");
    shows(&stage, &name, "ready> ");
    assert_eq!(stage.agent(&name)["terminal"], true);
    let mut person = Person::attaches(&stage, &name);
    person.sees("ready> ");
    person.has_its_size();
    person.types("echo typed $((40 + 2)) > note; cat note; pwd\r");
    person.sees("typed 42");
    person.sees("worktrees/repo/one");
    person.types("sleep 0.5; echo later-$((6 * 7)) | tee later\r\x1d");
    person.sees(&format!("detached from {name}"));
    assert_eq!(person.ends(), Some(0));
    shows(&stage, &name, "later-42");
    // What others tell it is typed for it, as one line.
    assert_eq!(stage.run(&["agent", "tell", &name, "echo \u{3}"]).code, 2, "keys are no message");
    stage.ok(&["agent", "tell", &name, "echo told-$((7 * 8))\n and-more"]);
    shows(&stage, &name, "told-56 and-more");
    stage.becomes(&name, "working");
    let worker = stage.token_for("ada", "worker");
    for (method, path) in [("GET", ""), ("POST", "/keys")] {
        let request = stage.request(method, &format!("/api/agents/{name}/terminal{path}")).token(&worker);
        assert_eq!(request.body("application/octet-stream", "x").send().status, 403);
    }
    let asked = Instant::now();
    stage.ok(&["agent", "stop", &name]);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_eq!(stage.agent(&name)["ended"]["how"], "stopped");
}

#[test]
fn an_operator_works_in_a_shell_leaves_it_and_comes_back() {
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", "PS1='ready> ' exec bash --norc -i", "")));
    let name = stage.standing("term", "one");
    shows(&stage, &name, "ready> ");
    let mut person = Person::attaches(&stage, &name);
    person.has_its_size();
    person.types("echo $((6*7)); printf '\\033[6n\\033]52;c;eA==\\007'; echo done\r");
    person.sees("42\r\ndone\r\n");
    person.types("\x1d");
    assert_eq!(person.ends(), Some(0));
    let mut person = Person::attaches(&stage, &name);
    person.sees("42\r\ndone\r\n");
    person.types("exit 7\r");
    person.sees(&format!("{name} has ended with exit code 7"));
    assert_eq!(person.ends(), Some(0));
}

#[test]
fn an_agent_that_ignores_every_signal_is_stopped() {
    let stubborn = "trap '' TERM HUP INT QUIT; echo here; while :; do sleep 1; done";
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", stubborn, "")));
    let name = stage.standing("term", "one");
    shows(&stage, &name, "here");
    let mut person = Person::attaches(&stage, &name);
    let asked = Instant::now();
    stage.ok(&["agent", "stop", &name]);
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    person.sees(&format!("{name} has ended"));
    assert_eq!(person.ends(), Some(0));
}

/// Both ways to be told what to do.
const BUILDS: &str = r#"
grep -q "flower: agent=term-" "$1" || exit 9
case "$2" in "flower: agent=term-"*) ;; *) exit 8;; esac
grep -q "Make the thing" "$1" || exit 7
echo "the thing" > thing.txt
git add -A && git commit -qm "the thing" && echo "it is made"
"#;

#[test]
fn a_command_that_ends_well_has_handed_back() {
    let profile = |name: &str, script: &str| {
        format!(
            "[agents.{name}]\nprotocol = \"pty\"\ncommand = [\"sh\", \"-c\", '''\n{script}''', \"term\", \"{{prompt_file}}\", \"{{prompt}}\"]\n"
        )
    };
    let config = play("play", &[], "")
        + &profile("term", BUILDS)
        + &profile(
            "byhand",
            "echo x > x && git add -A && git commit -qm x; flower handback 2 --fence 1 --summary 'by hand'; exec sleep 60",
        );
    let stage = Stage::new(&config);
    let work = stage.plays("term", "Make the thing", "say nothing");
    let name = stage.agent_of(work);
    let ended = stage.until(&name, "at its end", |agent| !agent["ended"].is_null());
    assert_eq!(ended["ended"]["how"], "retired", "{ended:#}\n{}", screen(&stage, &name));
    stage.lands(work);
    assert_eq!(fs::read_to_string(stage.repo.join("thing.txt")).expect("landed"), "the thing\n");
    let dispatch = stage.shown_dispatch(work);
    says(&dispatch, "it is made");
    // Or it hands back by itself, and is ended.
    let second = stage.plays("byhand", "By hand", "say nothing");
    let name = stage.agent_of(second);
    stage.lands(second);
    stage.becomes(&name, "stopped");
}

#[test]
fn a_command_that_fails_is_started_again_and_then_given_up() {
    let script = "echo attempt >> attempts; echo \"this is attempt $(wc -l < attempts)\"; exit 1";
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", script, "")));
    let work = stage.plays("term", "Fails", "say nothing");
    let name = stage.agent_of(work);
    let ended = stage.becomes(&name, "failed");
    assert_eq!((&ended["restarts"], &ended["terminal"]), (&json!(3), &json!(false)));
    says(&ended["ended"]["why"], "the process ended 4 times; the last reason: the process ended with exit code 1");
    says(&ended["ended"]["why"], "this is attempt 4");
    assert_eq!(screen(&stage, &name).matches("this is attempt").count(), 4, "all of it is kept");
    says(&stage.get("/api/inbox"), "was given up");
}
