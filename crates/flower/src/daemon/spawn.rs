//! Starting the daemon from the command line, and stopping it.

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

/// Beyond this a new log is begun when the daemon starts.
const MAX_LOG_BYTES: u64 = 16 * 1024 * 1024;
const START_DEADLINE: Duration = Duration::from_secs(30);
const STOP_DEADLINE: Duration = Duration::from_secs(6);

/// Whether this call started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    Now,
    Before,
}

/// Makes sure that a daemon answers in this home. `progress` hears what a slow start is doing.
pub async fn ensure_running(config: &Config, progress: &mut (dyn FnMut(&str) + Send)) -> Result<Started, Problem> {
    let start = Instant::now();
    loop {
        if connect(&config.home.socket()).await.is_ok() {
            return Ok(Started::Before);
        }
        config.home.create()?;
        match spawn(config, progress) {
            Ok(()) => return Ok(Started::Now),
            // Somebody else was a moment faster, or the daemon from before has not ended yet.
            Err(problem) if problem.kind == ProblemKind::Conflict => {
                wait_for_change(&config.home, start).await?;
            }
            Err(problem) => return Err(problem),
        }
    }
}

/// Starts `flower up --foreground` apart from this terminal and waits until it serves.
fn spawn(config: &Config, progress: &mut (dyn FnMut(&str) + Send)) -> Result<(), Problem> {
    let program = std::env::current_exe().map_err(|error| {
        Problem::unreachable(format!("flower cannot find itself: {error}"), "run it by its full path")
    })?;
    let log_path = config.home.daemon_log();
    // One older log is kept; a daemon that writes more than this has other problems.
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
        // Not in our process group: Ctrl-C in this terminal is not for the daemon.
        .process_group(0);
    let mut child = command.spawn().map_err(|error| {
        Problem::unreachable(format!("the daemon cannot be started: {error}"), "run `flower up --foreground`")
    })?;
    let output = child.stdout.take().expect("its output is piped");
    let (lines, heard) = std::sync::mpsc::sync_channel(16);
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if lines.send(line).is_err() {
                break;
            }
        }
    });
    loop {
        // A long refill reports on its way; silence is what must not last.
        let line = heard.recv_timeout(START_DEADLINE);
        match line.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Report::Ready { .. }) => return Ok(()),
            Some(Report::Rebuilding(events)) => progress(&format!("filling the tables anew: {events} events")),
            Some(Report::Failed(problem)) => return Err(problem),
            None => {
                return Err(Problem::unreachable(
                    "the daemon did not start",
                    format!("{} says why; or run `flower up --foreground`", log_path.display()),
                ));
            }
        }
    }
}

/// Until the daemon that has this home answers, or lets go of it.
async fn wait_for_change(home: &Home, start: Instant) -> Result<(), Problem> {
    while start.elapsed() < START_DEADLINE {
        if connect(&home.socket()).await.is_ok() || lock::lock_state(&home.lock()) == lock::LockState::Free {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Err(Problem::unreachable(
        format!("another daemon has {}, but does not answer", home.dir().display()),
        format!("`flower down` ends it; {} says what it is doing", home.daemon_log().display()),
    ))
}

/// Stops the daemon of this home and waits until it is gone. Says who it was, if there was one.
pub async fn stop(home: &Home) -> Result<Option<Holder>, Problem> {
    let holder = match lock::lock_state(&home.lock()) {
        lock::LockState::Free => return Ok(None),
        lock::LockState::Held(Some(holder)) => holder,
        lock::LockState::Held(None) => ask_who(home).await?,
    };
    let client = Client::new(Address::Socket(home.clone()), home.require_token()?).lenient();
    let asked = tokio::time::timeout(Duration::from_secs(2), client.call(Method::POST, "/api/shutdown")).await;
    if !matches!(asked, Ok(Ok(()))) {
        signal(home, &holder, Signal::TERM);
    }
    if gone(home, &holder, STOP_DEADLINE).await {
        return Ok(Some(holder));
    }
    // It does not hear: what it had acknowledged is on disk, so this loses nothing.
    signal(home, &holder, Signal::KILL);
    if gone(home, &holder, Duration::from_secs(2)).await {
        return Ok(Some(holder));
    }
    Err(Problem::unreachable(
        format!("the daemon (process {}) does not end", holder.pid),
        format!("look at it: `ps -o stat,wchan -p {}`", holder.pid),
    ))
}

/// Somebody has written over the note of who holds the lock; the daemon itself still knows.
async fn ask_who(home: &Home) -> Result<Holder, Problem> {
    #[derive(Deserialize)]
    struct Who {
        pid: u32,
    }
    let client = Client::new(Address::Socket(home.clone()), home.require_token()?).lenient();
    let asked = tokio::time::timeout(Duration::from_secs(2), client.get::<Who>("/api/status")).await;
    match asked {
        Ok(Ok(who)) => Ok(Holder { pid: who.pid, ..Holder::this_process(home.dir(), None) }),
        _ => Err(Problem::unreachable(
            format!("a process holds {}, but it does not say who it is", home.lock().display()),
            format!("find it with `fuser {}` and end it", home.lock().display()),
        )),
    }
}

/// Whether `holder` lets go in time. Another daemon may have this home by then.
async fn gone(home: &Home, holder: &Holder, within: Duration) -> bool {
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

/// Only while the lock says that this process is the daemon: its number may belong to somebody else a moment later.
fn signal(home: &Home, holder: &Holder, signal: Signal) {
    let is_still = lock::holder(&home.lock()).is_some_and(|now| now.pid == holder.pid);
    if let Some(pid) = i32::try_from(holder.pid).ok().and_then(Pid::from_raw).filter(|_| is_still) {
        // If it is gone by now, so much the better.
        let _ = kill_process(pid, signal);
    }
}
