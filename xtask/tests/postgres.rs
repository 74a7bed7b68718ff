//! `cargo xtask postgres` against a real server: it works, and it leaves nothing behind.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// More than a guard needs, and less than the command that it has to end would take.
const LONG_ENOUGH: Duration = Duration::from_secs(60);

/// A temporary directory of our own, in which every leftover would show.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        // When the test runs as root, the server runs as somebody else and must get in.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self(path)
    }

    fn xtask_postgres(&self, script: &str) -> (Child, BufReader<ChildStdout>) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(["postgres", "--", "sh", "-c", script])
            .env("TMPDIR", &self.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        (child, stdout)
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn is_skipped() -> bool {
    let skipped = std::env::var_os("FLOWER_TEST_SKIP_POSTGRES").is_some();
    if skipped {
        eprintln!("skipped: FLOWER_TEST_SKIP_POSTGRES is set");
    }
    skipped
}

fn address_in(url: &str) -> String {
    let (_, after_user) = url.trim().split_once('@').unwrap();
    let (address, database) = after_user.split_once('/').unwrap();
    assert_eq!(database, "flower_test");
    address.to_owned()
}

#[test]
fn a_command_finds_a_server_and_nothing_is_left_afterwards() {
    if is_skipped() {
        return;
    }
    let room = Room::new("runs");
    let (mut child, mut stdout) = room.xtask_postgres("echo $FLOWER_TEST_POSTGRES; sleep 1");
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    assert!(TcpStream::connect(address_in(&url)).is_ok());
    assert!(child.wait().unwrap().success());
    assert!(TcpStream::connect(address_in(&url)).is_err());
    assert!(room.is_empty());
}

#[test]
fn a_failed_command_fails_xtask_and_nothing_is_left() {
    if is_skipped() {
        return;
    }
    let room = Room::new("fails");
    let (mut child, _stdout) = room.xtask_postgres("exit 7");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(room.is_empty());
}

#[test]
fn a_killed_xtask_takes_the_command_and_the_server_with_it() {
    if is_skipped() {
        return;
    }
    let room = Room::new("killed");
    let (mut child, mut stdout) = room.xtask_postgres("echo $FLOWER_TEST_POSTGRES; sleep 120");
    let mut url = String::new();
    stdout.read_line(&mut url).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    // The command holds the other end of the pipe, so this returns when it is gone.
    stdout.read_to_end(&mut Vec::new()).unwrap();
    while !room.is_empty() && killed.elapsed() < LONG_ENOUGH {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(room.is_empty());
    assert!(killed.elapsed() < LONG_ENOUGH, "the command was left to end by itself");
    assert!(TcpStream::connect(address_in(&url)).is_err());
}
