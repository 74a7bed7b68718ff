//! At a terminal: job control works, and nothing types for the operator.

use crate::common::PATIENCE;
use crate::jail::world::{Running, Who, World};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program with a terminal of its own.
struct Session {
    keyboard: File,
    screen: Arc<Mutex<String>>,
    child: Running,
    read: usize,
}

impl Session {
    fn start(world: &World, args: &[OsString]) -> Session {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
        let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("UTF-8");
        let slave = OpenOptions::new().read(true).write(true).open(&name).expect("the other side");
        if world.who == Who::User && rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(&name, Some(65534), Some(65534)).expect("given away");
        }
        let stream = || Stdio::from(slave.try_clone().expect("a copy"));
        let mut command = world.command("setsid");
        command.args(["--ctty", "--wait"]).args(args).env("TERM", "dumb").env("PS1", "outer> ");
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().expect("setsid runs");
        let child = Running(child);
        drop(slave);
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (keyboard.try_clone().expect("a copy"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                to.lock().expect("whole").push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Session { keyboard, screen, child, read: 0 }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits until the screen shows it, after what was seen before.
    fn sees(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let screen = self.screen.lock().expect("whole").clone();
            if let Some(at) = screen[self.read..].find(text) {
                self.read += at + text.len();
                return;
            }
            assert!(start.elapsed() < PATIENCE / 3, "no `{text}` on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn ends(&mut self) -> Option<i32> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                return status.code();
            }
            assert!(start.elapsed() < PATIENCE / 3, "it does not end:\n{}", self.screen.lock().expect("whole"));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn inside(world: &World, args: &[&str]) -> Vec<OsString> {
    world.prefix().into_iter().chain(args.iter().map(OsString::from)).collect()
}

as_both!(a_shell_has_job_control, |mut world| {
    world.spec.env.insert("PS1".into(), "ready> ".into());
    let mut session = Session::start(&world, &inside(&world, &["bash", "--norc", "-i"]));
    session.sees("ready> ");
    session.types("tty; echo flags $-\n");
    session.sees("/dev/console");
    session.sees("flags ");
    session.sees("ready> ");
    session.types("sleep 600\n");
    session.sees("sleep 600");
    std::thread::sleep(Duration::from_millis(300));
    session.types("\x03");
    session.sees("ready> ");
    session.types("echo code=$?\n");
    session.sees("code=130");
    session.types("sleep 601\n");
    session.sees("sleep 601");
    std::thread::sleep(Duration::from_millis(300));
    session.types("\x1a");
    session.sees("Stopped");
    session.types("bg; jobs\n");
    session.sees("Running");
    session.types("kill %1; wait; echo out > /dev/stdout; echo tty > /dev/tty; echo $((40+2))\n");
    session.sees("42");
    tcsetwinsize(&session.keyboard, Winsize { ws_row: 33, ws_col: 77, ws_xpixel: 0, ws_ypixel: 0 }).expect("resized");
    session.types("stty size\n");
    session.sees("33 77");
    session.types("exit 7\n");
    assert_eq!(session.ends(), Some(7));
});

as_both!(the_keyboard_comes_back, |world| {
    let script = "\"$@\"; echo code=$?; read line; echo got $line".into();
    let args =
        [vec!["sh".into(), "-c".into(), script, "sh".into()], inside(&world, &["bash", "--norc", "-i"])].concat();
    let mut session = Session::start(&world, &args);
    session.types("exit 5\n");
    session.sees("code=5");
    session.types("hello\n");
    session.sees("got hello");
    assert_eq!(session.ends(), Some(0));
});

as_both!(the_whole_jail_can_be_stopped_and_continued, |world| {
    let mut session = Session::start(&world, &["bash".into(), "--norc".into(), "-i".into()]);
    session.sees("outer> ");
    let words: Vec<String> =
        inside(&world, &["cat"]).iter().map(|word| format!("'{}'", word.to_str().expect("UTF-8"))).collect();
    session.types(&format!("{}\n", words.join(" ")));
    std::thread::sleep(Duration::from_millis(500));
    session.types("first\n");
    session.sees("first\r\nfirst");
    session.types("\x1a");
    session.sees("Stopped");
    session.types("fg\n");
    std::thread::sleep(Duration::from_millis(200));
    session.types("second\n");
    session.sees("second\r\nsecond");
    session.types("\x03");
    session.sees("outer> ");
    session.types("echo code=$?\n");
    session.sees("code=130");
    session.types("exit\n");
    session.ends();
});

as_both!(nothing_types_for_the_operator, |world| {
    world.arm();
    let script = "\"$@\"; read -t 1 line || true; echo \"[$line]\"".into();
    let args =
        [vec!["bash".into(), "-c".into(), script, "bash".into()], inside(&world, &["./attacks", "typing"])].concat();
    let mut session = Session::start(&world, &args);
    for way in ["tiocsti 1", "tiocsti_tty 1", "tiocsti_upper 1", "tioclinux 1", "[]"] {
        session.sees(way);
    }
    session.ends();
});

// With a terminal the group of processes is shared with the caller: a shell without job control would be hit.
as_both!(the_callers_group_is_not_signalled, |mut world| {
    for network in [flower_jail::Network::Own, flower_jail::Network::Host] {
        world.spec.network = network;
        let script = "trap 'echo HIT' TERM HUP; \"$@\"; echo survived $?".into();
        let attack = "kill -TERM 0; kill -HUP 0; kill -9 0";
        let args =
            [vec!["sh".into(), "-c".into(), script, "sh".into()], inside(&world, &["sh", "-c", attack])].concat();
        let mut session = Session::start(&world, &args);
        session.sees("survived");
        session.ends();
        assert!(!session.screen.lock().expect("whole").contains("HIT"));
    }
});
