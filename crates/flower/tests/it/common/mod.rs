//! A flower of its own for each test: a temporary home, a git repository, a cleared environment. Its daemon ends with it.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod guide;
pub mod http;
pub mod skip;
pub mod tokens;
pub mod work;

use http::Request;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine; only a failing test waits so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon that has not answered after this time hangs. How fast it answers is a figure of the bench.
pub const HANG: Duration = Duration::from_secs(10);

pub struct Flower {
    dir: tempfile::TempDir,
    pub home: PathBuf,
    pub repo: PathBuf,
    pub program: PathBuf,
    /// The user who owns and runs everything here, if that is not the user of the tests.
    user: Option<u32>,
    /// What its commands have in their environment beside the usual.
    environment: Vec<(String, String)>,
}

/// The user `nobody` on nearly every system.
const ORDINARY_USER: u32 = 65534;

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Output {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Flower {
    /// Nothing runs yet; the first command starts the daemon.
    pub fn new() -> Flower {
        Flower::of(None)
    }

    /// As an ordinary user, where the tests run as root; nothing where they do so anyway.
    pub fn of_ordinary_user() -> Option<Flower> {
        rustix::process::getuid().is_root().then(|| Flower::of(Some(ORDINARY_USER)))
    }

    fn of(user: Option<u32>) -> Flower {
        let dir = tempfile::Builder::new().prefix("flower-").tempdir().expect("a temporary folder");
        let (home, repo) = (dir.path().join("home"), dir.path().join("repo"));
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_flower"));
        if user.is_some() && !is_executable_for_all(&program) {
            let copy = dir.path().join("flower");
            fs::copy(&program, &copy).expect("a copy of the program");
            program = copy;
        }
        fs::create_dir(dir.path().join("user")).expect("a home of its own");
        let flower = Flower { dir, home, repo, program, user, environment: vec![] };
        flower.give(flower.dir());
        flower.make_repository("repo");
        flower
    }

    /// Whether its commands run as root, whom no mode of a file stops.
    pub fn is_root(&self) -> bool {
        self.user.is_none() && rustix::process::getuid().is_root()
    }

    /// Makes everything at `path` belong to the user this flower runs as.
    pub fn give(&self, path: &Path) {
        if let Some(user) = self.user {
            let owner = format!("{user}:{user}");
            let status = Command::new("chown").args(["-hR", &owner]).arg(path).status().expect("chown runs");
            assert!(status.success(), "chown {}", path.display());
        }
    }

    /// With a daemon that serves the repository.
    pub fn started() -> Flower {
        let flower = Flower::new();
        flower.start();
        flower
    }

    /// The folder around all of it.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A repository with one commit, beside the home.
    pub fn make_repository(&self, name: &str) -> PathBuf {
        let root = self.dir().join(name);
        fs::create_dir_all(&root).expect("a folder");
        self.give(&root);
        self.git(&root, &["init", "--quiet", "--initial-branch", "main"]);
        fs::write(root.join("README.md"), "hello\n").expect("a file");
        self.give(&root);
        self.git(&root, &["add", "."]);
        self.git(&root, &["commit", "--quiet", "--message", "begin"]);
        root
    }

    pub fn git(&self, dir: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
        self.in_own_environment(git.args(identity).args(args).current_dir(dir));
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A file beside the repository.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.dir().join(name);
        fs::write(&path, content).expect("a file");
        path.to_str().expect("UTF-8").to_owned()
    }

    pub fn in_own_environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir().join("user"))
            .env("USER", "tester")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("FLOWER_HOME", &self.home)
            .env("FLOWER_TEST_PASSES", self.dir().join("passes"))
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
    }

    /// From here on every command has this in its environment, and so has the daemon that it starts.
    pub fn env(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The program, in the repository.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.in_own_environment(command.args(args).current_dir(&self.repo)).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        finish(self.command(args))
    }

    pub fn run_in(&self, dir: &Path, args: &[&str]) -> Output {
        let mut command = self.command(args);
        command.current_dir(dir);
        finish(command)
    }

    /// Run with text on standard input.
    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("flower runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that refuses before it has read all of it closes the pipe.
        let _ = stdin.write_all(input);
        drop(stdin);
        Output::from(child.wait_with_output().expect("flower ends"))
    }

    /// The answer of a command that succeeds.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert_eq!(output.code, 0, "flower {args:?}: {output:?}");
        output.stdout
    }

    /// The JSON answer of a command that succeeds.
    pub fn json(&self, args: &[&str]) -> Value {
        self.json_in(&self.repo, args)
    }

    pub fn json_in(&self, dir: &Path, args: &[&str]) -> Value {
        let output = self.run_in(dir, &[args, &["--json"]].concat());
        assert_eq!(output.code, 0, "flower {args:?}: {output:?}");
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {}", output.stdout))
    }

    /// The error of a command that fails with this code; every error names a next step.
    pub fn fails(&self, args: &[&str], code: i32) -> Value {
        self.run(&[args, &["--json"]].concat()).error(code)
    }

    /// Starts the daemon; what `flower up` says.
    pub fn start(&self) -> Value {
        self.json(&["up"])
    }

    pub fn restart(&self) {
        self.ok(&["down"]);
        self.start();
    }

    pub fn token(&self) -> String {
        fs::read_to_string(self.home.join("token")).expect("the operator's token").trim().to_owned()
    }

    pub fn port(&self) -> u16 {
        let port = fs::read_to_string(self.home.join("port")).expect("the port file");
        port.trim().parse().expect("a port")
    }

    /// The process of the running daemon.
    pub fn pid(&self) -> u32 {
        let lock = fs::read_to_string(self.home.join("lock")).expect("the lock file");
        let holder: Value = serde_json::from_str(&lock).expect("the holder of the lock");
        holder["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).expect("a process")
    }

    /// A request over TCP without any token.
    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.port(), method, path)
    }

    /// A request over TCP as the operator.
    pub fn api(&self, method: &str, path: &str) -> Request {
        self.request(method, path).token(&self.token())
    }

    /// How many events there are.
    pub fn events(&self) -> u64 {
        let answer = self.api("GET", "/api/status").send();
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["last_event"].as_u64().expect("a number")
    }

    /// Waits until a background loop of the daemon, one of `flower_engine::passes::LOOPS`, has completed a pass that began
    /// after the newest event. What the loop does about anything that was done before this call has happened then.
    pub fn wait_for_pass(&self, name: &str) {
        let newest = self.events();
        self.wait_for_passes(name, newest);
    }

    /// Waits until a background loop has completed every pass that it began, and at least one.
    pub fn wait_until_idle(&self, name: &str) {
        self.wait_for_passes(name, 0);
    }

    fn wait_for_passes(&self, name: &str, newest: u64) {
        assert!(flower_engine::passes::LOOPS.contains(&name), "there is no loop `{name}`");
        // Another daemon may have been killed during a pass.
        let pid = self.pid().to_string();
        eventually(&format!("{name} has seen event {newest} and is idle"), || {
            let passes = fs::read_to_string(self.dir().join("passes")).unwrap_or_default();
            let (mut under_way, mut seen) = (0_i32, None);
            for line in passes.lines() {
                match line.split(' ').collect::<Vec<_>>()[..] {
                    [by, "began", of, newest] if by == pid && of == name => {
                        under_way += 1;
                        seen = newest.parse::<u64>().ok().max(seen);
                    }
                    [by, "ended", of, _] if by == pid && of == name => under_way -= 1,
                    _ => {}
                }
            }
            (under_way == 0 && seen >= Some(newest)).then_some(())
        });
    }

    /// A number out of `/proc/PID/status` of the daemon, in kB.
    pub fn memory(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the daemon runs");
        let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field");
        line.trim_matches([':', ' ', '\t', 'k', 'B']).parse().expect("a number")
    }
}

impl Drop for Flower {
    fn drop(&mut self) {
        let lock = fs::read_to_string(self.home.join("lock")).unwrap_or_default();
        if lock.is_empty() || self.run(&["down"]).code == 0 {
            return;
        }
        // The daemon does not outlive its test, even if the test has damaged the home.
        let holder: Value = serde_json::from_str(&lock).unwrap_or_default();
        let Some(pid) = holder["pid"].as_u64() else { return };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let ours = format!("FLOWER_HOME={}", self.home.display());
        if String::from_utf8_lossy(&environment).contains(&ours)
            && let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

impl Output {
    /// The error as JSON, from a command that was run with `--json` and failed with this code.
    pub fn error(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "an error goes to standard error");
        let envelope: Value = serde_json::from_str(&self.stderr).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        let error = envelope["error"].clone();
        assert!(error["kind"].is_string() && !error["message"].as_str().unwrap_or_default().is_empty(), "{self:?}");
        let hints = error["hints"].as_array().unwrap_or_else(|| panic!("no hints: {self:?}"));
        assert!(hints.iter().any(|hint| hint.as_str().is_some_and(|hint| !hint.is_empty())), "no hint: {self:?}");
        error
    }
}

impl From<std::process::Output> for Output {
    fn from(output: std::process::Output) -> Output {
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Whether every user can run it.
fn is_executable_for_all(program: &Path) -> bool {
    program.ancestors().all(|part| fs::metadata(part).is_ok_and(|found| found.permissions().mode() & 0o001 != 0))
}

pub fn finish(mut command: Command) -> Output {
    command.output().expect("flower runs").into()
}

/// Asks until there is an answer.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
