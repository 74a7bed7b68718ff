//! Throw-away homes and daemons for measurements.

use flower_core::BriefId;
use flower_core::{BriefKind, Caller, Command};
use flower_store::{Location, Store};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program that is measured.
pub const FLOWER: &str = env!("CARGO_BIN_EXE_flower");

/// On the disk that holds the build, not on a memory file system that forgets fsync.
pub fn home() -> tempfile::TempDir {
    let target = Path::new(FLOWER).parent().expect("the program lies in a folder");
    tempfile::Builder::new().prefix("bench-").tempdir_in(target).expect("a scratch folder")
}

pub fn open(home: &Path) -> Store {
    open_at(&Location::Sqlite(home.join("flower.db")), home)
}

pub fn open_at(location: &Location, home: &Path) -> Store {
    Store::open(location, home, Arc::new(flower_engine::now), &mut |_| {}).expect("the store opens")
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime")
}

pub fn new_brief(title: String, spec: String) -> Command {
    Command::CreateBrief(flower_core::brief::Request {
        title,
        kind: BriefKind::Feature,
        spec: Some(spec),
        projects: Vec::new(),
        epic: None,
        needs: Vec::new(),
        auto_dispatch: false,
        design_loop: false,
    })
}

pub fn note(brief: u64, text: String) -> Command {
    Command::AddNote { brief: BriefId(brief), text, comment: false, images: Vec::new() }
}

/// Submits many commands with as many in flight as fill the groups.
pub async fn fill(store: &Store, commands: impl Iterator<Item = Command>) {
    let mut running = tokio::task::JoinSet::new();
    for command in commands {
        if running.len() >= 512 {
            running.join_next().await.expect("some are running").expect("no panic");
        }
        let store = store.clone();
        running.spawn(async move { store.submit(Caller::system(), command).await.map(drop).expect("it is stored") });
    }
    while let Some(done) = running.join_next().await {
        done.expect("no panic");
    }
}

/// Pseudo-random words with the frequencies of real text: few common ones, many rare ones.
pub struct Words {
    state: u64,
}

impl Words {
    pub fn new(seed: u64) -> Words {
        Words { state: seed.wrapping_mul(2_685_821_657_736_338_717).max(1) }
    }

    pub fn number(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below
    }

    pub fn word(&mut self) -> String {
        // The rank grows exponentially, so that word frequencies fall as in Zipf's law.
        let bits = self.number(16);
        let rank = (1 << bits) + self.number(1 << bits);
        spell(rank)
    }

    pub fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// A pronounceable word for a number.
fn spell(mut number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "re", "ti", "lo", "mu", "san", "der", "fin", "gol", "hup", "kra", "nes", "pil", "vor", "wex", "zam"];
    let mut word = String::new();
    while number > 0 {
        word.push_str(SYLLABLES[(number % 16) as usize]);
        number /= 16;
    }
    word
}

/// A daemon in the foreground, ended when dropped.
pub struct Daemon {
    child: Child,
    pub home: PathBuf,
}

impl Daemon {
    /// Starts it and waits until it answers; gives how long that took.
    pub fn start(home: &Path) -> (Daemon, Duration) {
        Daemon::start_on(home, None)
    }

    /// The same on a database of its own.
    pub fn start_on(home: &Path, database: Option<&str>) -> (Daemon, Duration) {
        let begun = Instant::now();
        let mut command = std::process::Command::new(FLOWER);
        command
            .args(["up", "--foreground"])
            .env("FLOWER_HOME", home)
            .env_remove("FLOWER_URL")
            .env_remove("FLOWER_DATABASE_URL")
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(database) = database {
            command.env("FLOWER_DATABASE_URL", database);
        }
        let child = command.spawn().expect("flower starts");
        let daemon = Daemon { child, home: home.to_owned() };
        while daemon.healthy().is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the daemon does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        (daemon, begun.elapsed())
    }

    pub fn port(&self) -> std::io::Result<u16> {
        std::fs::read_to_string(self.home.join("port"))?.trim().parse().map_err(std::io::Error::other)
    }

    pub fn token(&self) -> String {
        std::fs::read_to_string(self.home.join("token")).expect("a token").trim().to_owned()
    }

    fn healthy(&self) -> std::io::Result<()> {
        use std::io::{Read, Write};
        let port = self.port()?;
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(std::io::Error::other(answer)) }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
