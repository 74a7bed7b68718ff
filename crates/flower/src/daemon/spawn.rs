//! Starts the daemon from the command line, and stops it.

use super::{Config, Report};
use crate::client::{Address, Client, connect};
use flower_contract::error::{Problem, ProblemKind};
use flower_engine::home::Home;
use flower_engine::lock::{self, Holder};
use hyper::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A larger log file is rotated when the daemon starts.
const MAX_LOG_BYTES: u64 = 16 * 1024 * 1024;
const START_TIMEOUT: Duration = Duration::from_secs(30);
const STOP_TIMEOUT: Duration = Duration::from_secs(6);

/// Whether this call started the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    Now,
    Before,
}

/// Makes sure that a daemon answers in this home. `progress` is called with the progress of a slow start.
pub async fn ensure_running(config: &Config, progress: &mut (dyn FnMut(&str) + Send)) -> Result<Started, Problem> {
    let start = Instant::now();
    loop {
        if connect(&config.home.socket()).await.is_ok() {
            return Ok(Started::Before);
        }
        config.home.create()?;
        match spawn(config, progress) {
            Ok(()) => return Ok(Started::Now),
            // Another process has started a daemon at the same time, or the last daemon has not ended yet.
            Err(problem) if problem.kind == ProblemKind::Conflict => {
                wait_for_change(&config.home, start).await?;
            }
            Err(problem) => return Err(problem),
        }
    }
}

/// Starts `flower up --foreground` detached from this terminal, and waits until it serves.
fn spawn(config: &Config, progress: &mut (dyn FnMut(&str) + Send)) -> Result<(), Problem> {
    let program = std::env::current_exe().map_err(|error| {
        Problem::unreachable(format!("flower cannot find its own program: {error}"), "run it by its full path")
    })?;
    let log_path = config.home.daemon_log();
    // One older log file is kept.
    if std::fs::metadata(&log_path).is_ok_and(|log| log.len() > MAX_LOG_BYTES) {
        let _ = std::fs::rename(&log_path, log_path.with_extension("log.1"));
    }
    let mut options = std::fs::OpenOptions::new();
    let log = options.create(true).append(true).open(&log_path).map_err(|e| config.home.problem(&log_path, &e))?;
    let mut command = Command::new(program);
    command.args(["up", "--foreground", "--report", "--host", &config.host.to_string()]);
    if let Some(port) = config.port {
        command.args(["--port", &port.to_string()]);
    }
    command
        .env("FLOWER_HOME", config.home.dir())
        .env_remove("FLOWER_TOKEN")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        // Its own process group: Ctrl-C in this terminal must not end the daemon.
        .process_group(0);
    let mut child = command.spawn().map_err(|error| {
        Problem::unreachable(format!("the daemon cannot be started: {error}"), "run `flower up --foreground`")
    })?;
    let output = child.stdout.take().expect("standard output is piped");
    let (lines, received) = std::sync::mpsc::sync_channel(16);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        // A long rebuild reports its progress, so the timeout is for each line.
        let line = received.recv_timeout(START_TIMEOUT);
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Report::Ready { .. }) => return Ok(()),
            Some(Report::Rebuilding(events)) => progress(&format!("rebuilding the tables: {events} events")),
            Some(Report::Failed(problem)) => return Err(problem),
            None => {
                return Err(Problem::unreachable(
                    "the daemon did not start",
                    format!("see {}, or run `flower up --foreground`", log_path.display()),
                ));
            }
        }
    }
}

/// Waits until the daemon that holds the lock answers or ends.
async fn wait_for_change(home: &Home, start: Instant) -> Result<(), Problem> {
    while start.elapsed() < START_TIMEOUT {
        if connect(&home.socket()).await.is_ok() || lock::lock_state(&home.lock()) == lock::LockState::Free {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Problem::unreachable(
        format!("another daemon holds {}, but does not answer", home.dir().display()),
        format!("`flower down` stops it; {} shows what it is doing", home.daemon_log().display()),
    ))
}

/// Stops the daemon of this home, and waits until it has ended. Returns its process, if one ran.
pub async fn stop(home: &Home) -> Result<Option<Holder>, Problem> {
    let holder = match lock::lock_state(&home.lock()) {
        lock::LockState::Free => return Ok(None),
        lock::LockState::Held(Some(holder)) => holder,
        lock::LockState::Held(None) => ask_holder(home).await?,
    };
    let client = Client::new(Address::Socket(home.clone()), home.require_token()?).lenient();
    let asked = tokio::time::timeout(Duration::from_secs(2), client.call(Method::POST, "/api/shutdown")).await;
    if !matches!(asked, Ok(Ok(()))) {
        signal(home, &holder, Signal::TERM);
    }
    if has_released(home, &holder, STOP_TIMEOUT).await {
        return Ok(Some(holder));
    }
    // The daemon hangs. Everything that it has acknowledged is on disk, so killing it loses nothing.
    signal(home, &holder, Signal::KILL);
    if has_released(home, &holder, Duration::from_secs(2)).await {
        return Ok(Some(holder));
    }
    Err(Problem::unreachable(
        format!("the daemon (process {}) does not end", holder.pid),
        format!("inspect it: `ps -o stat,wchan -p {}`", holder.pid),
    ))
}

/// Asks the daemon for its process id, if the content of the lock file was overwritten.
async fn ask_holder(home: &Home) -> Result<Holder, Problem> {
    #[derive(Deserialize)]
    struct Process {
        pid: u32,
    }
    let client = Client::new(Address::Socket(home.clone()), home.require_token()?).lenient();
    let asked = tokio::time::timeout(Duration::from_secs(2), client.get::<Process>("/api/status")).await;
    match asked {
        Ok(Ok(process)) => Ok(Holder { pid: process.pid, ..Holder::this_process(home.dir(), None) }),
        _ => Err(Problem::unreachable(
            format!("an unknown process holds {}", home.lock().display()),
            format!("find it with `fuser {}` and end it", home.lock().display()),
        )),
    }
}

/// Whether `holder` releases the lock in time. Another daemon may hold it by then.
async fn has_released(home: &Home, holder: &Holder, within: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < within {
        match lock::lock_state(&home.lock()) {
            lock::LockState::Free => return true,
            lock::LockState::Held(Some(now)) if now.pid != holder.pid => return true,
            lock::LockState::Held(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    false
}

/// Sends a signal only while the process holds the lock: its id may be reused by another process afterwards.
fn signal(home: &Home, holder: &Holder, signal: Signal) {
    let is_holder = lock::holder(&home.lock()).is_some_and(|now| now.pid == holder.pid);
    if let Some(pid) = i32::try_from(holder.pid).ok().and_then(Pid::from_raw).filter(|_| is_holder) {
        // An error means that the process has ended.
        let _ = kill_process(pid, signal);
    }
}
