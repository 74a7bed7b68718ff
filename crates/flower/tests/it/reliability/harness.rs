//! A home of its own for each test, the daemon in it, and the command line on it. Nothing outlives its test.

use crate::reliability::http::Http;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub const FLOWER: &str = env!("CARGO_BIN_EXE_flower");
/// Nothing here takes this long, however busy the machine is.
const DEADLINE: Duration = Duration::from_secs(180);

/// `short` in every test run, `full` with `FLOWER_SOAK=1`.
pub fn count(short: usize, full: usize) -> usize {
    if std::env::var_os("FLOWER_SOAK").is_some_and(|value| value == "1") { full } else { short }
}

/// A folder for everything a test writes, with a `FLOWER_HOME` in it.
pub struct Home {
    /// Ends with the home; absent where another owner removes the folder.
    _folder: Option<TempDir>,
    root: PathBuf,
    /// Set for every program that is started here.
    environment: Vec<(String, String)>,
    /// The hard limit of open files, if not the usual one.
    most_files: Option<u32>,
}

impl Home {
    pub fn new() -> Home {
        let folder = TempDir::with_prefix("flower-reliability-").expect("a temporary folder");
        let root = folder.path().to_owned();
        Home { _folder: Some(folder), root, environment: Vec::new(), most_files: None }
    }

    /// With another program, `FLOWER_HOME` and repository below `root`, which the caller removes.
    pub fn below(root: &Path) -> Home {
        Home { _folder: None, root: root.to_owned(), environment: Vec::new(), most_files: None }
    }

    pub fn with_environment(mut self, name: &str, value: impl AsRef<Path>) -> Home {
        self.environment.push((name.to_owned(), value.as_ref().to_str().expect("UTF-8").to_owned()));
        self
    }

    pub fn with_most_files(mut self, files: u32) -> Home {
        self.most_files = Some(files);
        self
    }

    /// The test's own folder, around `FLOWER_HOME`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn dir(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub fn token(&self) -> String {
        fs::read_to_string(self.file("token")).expect("a token").trim().to_owned()
    }

    /// The program, in an environment that holds nothing of the machine's.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.most_files {
            None => Command::new(FLOWER),
            Some(files) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\""), FLOWER]);
                shell
            }
        };
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("FLOWER_HOME", self.dir())
            .env("FLOWER_OPERATOR", "mike")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// Runs the command line to its end.
    pub fn cli(&self, arguments: &[&str]) -> Said {
        self.cli_in(&self.root, arguments)
    }

    pub fn cli_in(&self, dir: &Path, arguments: &[&str]) -> Said {
        Running::start(self.command(arguments).current_dir(dir)).end(arguments)
    }

    pub fn start(&self) -> Daemon {
        match self.try_start() {
            Ok(daemon) => daemon,
            Err(failure) => panic!("the daemon does not start: {failure:?}"),
        }
    }

    /// A daemon in the foreground, once it serves, or why it does not.
    pub fn try_start(&self) -> Result<Daemon, Failure> {
        self.begin_start().until_ready()
    }

    /// A daemon that kills itself as soon as it comes to a named place.
    pub fn start_dying_at(&self, place: &str) -> Daemon {
        match self.begin(&[("FLOWER_FAIL_AT", place)]).until_ready() {
            Ok(daemon) => daemon,
            Err(failure) => panic!("the daemon does not start: {failure:?}"),
        }
    }

    /// A daemon that has just been started.
    pub fn begin_start(&self) -> Starting {
        self.begin(&[])
    }

    fn begin(&self, more: &[(&str, &str)]) -> Starting {
        fs::create_dir_all(&self.root).expect("the test's folder");
        let narration = scratch_file();
        let mut child = self
            .command(&["up", "--foreground", "--report"])
            .envs(more.iter().copied())
            .stdout(Stdio::piped())
            .stderr(narration.try_clone().expect("one more handle"))
            .spawn()
            .expect("flower can be run");
        let output = BufReader::new(child.stdout.take().expect("its output is piped"));
        Starting { process: Process(child), output, narration, home: self.dir() }
    }

    /// A repository that is a project of the running daemon.
    pub fn make_project(&self, daemon: &Daemon) {
        let repository = make_repository(&self.root.join("repository"));
        let answer = daemon.http().post("/api/projects", &serde_json::json!({ "dir": repository }));
        assert_eq!(answer.expect("an answer").status, 200);
    }

    /// The process that holds this home, if any.
    pub fn holder(&self) -> Option<u32> {
        flower_engine::lock::holder(&self.file("lock")).map(|holder| holder.pid)
    }

    /// `flower log verify --tables`, which must find nothing wrong.
    pub fn assert_log_holds(&self) -> Value {
        let said = self.cli(&["log", "verify", "--tables", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let verdict = said.json();
        assert_eq!(verdict["ok"], true, "{verdict}");
        verdict
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The process that holds the lock of this home was started by this test, directly or through the command line.
        if let Some(pid) = self.holder() {
            signal(pid, Signal::KILL);
            let start = Instant::now();
            while self.holder().is_some() && start.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// A daemon before its first report.
pub struct Starting {
    process: Process,
    output: BufReader<ChildStdout>,
    narration: File,
    home: PathBuf,
}

impl Starting {
    pub fn until_ready(mut self) -> Result<Daemon, Failure> {
        let mut problem = Value::Null;
        let mut line = String::new();
        while self.output.read_line(&mut line).is_ok_and(|read| read > 0) {
            let report: Value = serde_json::from_str(&line).expect("a report is JSON");
            line.clear();
            if let Some(url) = report["ready"]["url"].as_str() {
                let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
                let Starting { process, narration, home, .. } = self;
                return Ok(Daemon { process, port, home, narration });
            }
            if report.get("failed").is_some() {
                problem = report["failed"].clone();
            }
        }
        let status = self.process.wait();
        Err(Failure { code: status.code(), status, problem, narration: content(&self.narration) })
    }

    pub fn kill(mut self) {
        self.process.kill();
    }
}

/// Why a daemon did not start.
#[derive(Debug)]
#[expect(dead_code, reason = "shown when a test fails")]
pub struct Failure {
    pub code: Option<i32>,
    status: ExitStatus,
    pub problem: Value,
    narration: String,
}

/// A daemon that serves. It is killed when this is dropped.
pub struct Daemon {
    process: Process,
    pub port: u16,
    home: PathBuf,
    narration: File,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub fn token(&self) -> String {
        fs::read_to_string(self.home.join("token")).expect("a token").trim().to_owned()
    }

    /// A connection over TCP that stays open.
    pub fn http(&self) -> Http {
        Http::over_tcp(self.port, &self.token()).expect("the daemon takes connections")
    }

    /// A connection over the unix socket that stays open.
    pub fn http_over_socket(&self) -> Http {
        Http::over_socket(&self.home.join("flower.sock"), &self.token()).expect("the daemon takes connections")
    }

    pub fn signal(&self, which: Signal) {
        signal(self.pid(), which);
    }

    /// `kill -9`, and it is gone.
    pub fn kill(mut self) {
        self.process.kill();
    }

    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        self.process.0.try_wait().expect("our own child")
    }

    /// Waits for its own end, which must come within `most`.
    pub fn wait(&mut self, most: Duration) -> (ExitStatus, Duration) {
        let start = Instant::now();
        while start.elapsed() < most {
            if let Some(status) = self.has_ended() {
                return (status, start.elapsed());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the daemon has not ended after {most:?}; it says:\n{}", self.narration());
    }

    /// What it wrote to its standard error.
    pub fn narration(&self) -> String {
        content(&self.narration)
    }
}

/// A child that does not outlive its owner.
struct Process(Child);

impl Process {
    fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("our own child")
    }

    fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        self.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A run of the command line.
struct Running {
    process: Process,
    output: File,
    narration: File,
    start: Instant,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        // Files, because an unread pipe would block it.
        let (output, narration) = (scratch_file(), scratch_file());
        let child = command
            .stdout(output.try_clone().expect("one more handle"))
            .stderr(narration.try_clone().expect("one more handle"))
            .spawn()
            .expect("flower can be run");
        Running { process: Process(child), output, narration, start: Instant::now() }
    }

    fn end(mut self, arguments: &[&str]) -> Said {
        loop {
            if let Some(status) = self.process.0.try_wait().expect("our own child") {
                return Said {
                    arguments: arguments.join(" "),
                    code: status.code(),
                    stdout: content(&self.output),
                    stderr: content(&self.narration),
                    took: self.start.elapsed(),
                };
            }
            assert!(self.start.elapsed() < DEADLINE, "`flower {}` does not end", arguments.join(" "));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// What a run of the command line said.
#[derive(Debug)]
#[expect(dead_code, reason = "shown when a test fails")]
pub struct Said {
    arguments: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The problem that a failed `--json` run says.
    pub fn problem(&self) -> Value {
        let last = self.stderr.lines().last().unwrap_or_default();
        let envelope: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        envelope["error"].clone()
    }
}

/// The text of a problem and of its first hint, which it must have.
pub fn message_and_hint(problem: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {problem}")).to_owned();
    (text(&problem["message"]), text(&problem["hints"][0]))
}

pub fn signal(pid: u32, which: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a process id")).expect("a process id");
    // If it is gone by now, so much the better.
    let _ = kill_process(pid, which);
}

pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "it never came to be that {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn make_repository(path: &Path) -> PathBuf {
    let made = Command::new("git").args(["init", "--quiet"]).arg(path).status();
    assert!(made.expect("git can be run").success());
    path.canonicalize().expect("it was just made")
}

/// Random numbers for moments and sizes; what matters must hold for all of them.
pub fn random(below: u64) -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(0);
    if STATE.load(Ordering::Relaxed) == 0 {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the kernel gives random bytes");
        STATE.store(u64::from_ne_bytes(seed), Ordering::Relaxed);
    }
    // SplitMix64.
    let mut z = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % below.max(1)
}

fn scratch_file() -> File {
    tempfile::tempfile().expect("a temporary file")
}

fn content(file: &File) -> String {
    use std::os::unix::fs::FileExt;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0).expect("a file of our own");
    String::from_utf8_lossy(&bytes).into_owned()
}
