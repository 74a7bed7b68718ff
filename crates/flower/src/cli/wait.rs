//! `--wait`: waits until a landing has ended or needs the operator, and shows its progress on standard error.

use super::Context;
use super::context::{RECONNECT_INTERVAL, RECONNECT_TIMEOUT};
use super::landing::check;
use super::output::{Style, plain};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CheckRunState, CheckRunView, CheckView, LandingView, RunningCheck};
use flower_core::landing::State;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::collections::HashSet;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a landing is read even without an event.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same while checks run, whose output causes no events.
pub const OUTPUT_POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Without a terminal, a command waits no longer than this.
const UNATTENDED_TIMEOUT: Duration = Duration::from_secs(60 * 60);

#[derive(clap::Args, Clone, Copy)]
pub struct WaitArgs {
    /// Wait until the landing has ended or needs approval
    #[arg(long)]
    wait: bool,
    /// End the wait after this time with exit code 6, for example 90s, 15m or 2h; without a terminal 1h by default
    #[arg(long, value_name = "DURATION", requires = "wait", value_parser = super::input::duration)]
    timeout: Option<Duration>,
}

impl WaitArgs {
    pub fn is_wanted(self) -> bool {
        self.wait
    }

    /// Waits until the landing makes no further progress by itself, and returns it.
    pub async fn until_settled(self, context: &Context, client: &Client, number: u64) -> Result<LandingView, Problem> {
        until_settled(context, client, number, self.timeout).await
    }
}

/// Waits until the landing makes no further progress by itself, and returns it.
pub async fn until_settled(
    context: &Context,
    client: &Client,
    number: u64,
    timeout: Option<Duration>,
) -> Result<LandingView, Problem> {
    let timeout = timeout.or_else(|| (!std::io::stderr().is_terminal()).then_some(UNATTENDED_TIMEOUT));
    let began = Instant::now();
    let mut progress = Progress::new(context, format!("landing {number}"), LogSource::of_landing(number));
    let mut events = EventSignal::new(client);
    let mut lost_at: Option<Instant> = None;
    let mut interval = POLL_INTERVAL;
    loop {
        events.connect().await;
        match client.get::<LandingView>(&format!("/api/landings/{number}")).await {
            Ok(landing) => {
                lost_at = None;
                progress.show(client, &landing.checks, landing.running.as_ref(), state_of(&landing)).await;
                match landing.state {
                    State::Queued => interval = POLL_INTERVAL,
                    State::Checking => interval = OUTPUT_POLL_INTERVAL,
                    _ => return Ok(landing),
                }
                if timeout.is_some_and(|timeout| began.elapsed() >= timeout) {
                    return Err(still_waiting(&landing, began.elapsed()));
                }
            }
            Err(problem) if problem.kind == ProblemKind::Unreachable => {
                if lost_at.get_or_insert_with(Instant::now).elapsed() > RECONNECT_TIMEOUT {
                    return Err(problem);
                }
            }
            Err(problem) => return Err(problem),
        }
        let left = timeout.map_or(interval, |timeout| timeout.saturating_sub(began.elapsed()));
        events.wait(interval.min(left)).await;
    }
}

/// The landing goes on without the command that waited for it.
fn still_waiting(landing: &LandingView, waited: Duration) -> Problem {
    let (id, state, seconds) = (landing.id, landing.state, waited.as_secs());
    let because = landing.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    Problem {
        kind: ProblemKind::StillWaiting,
        message: format!("landing {id} is still {} after {seconds} s{because}", state.in_words()),
        hints: vec![format!(
            "it stays in the queue: `flower queue show {id}`; take it out: `flower queue cancel {id}`"
        )],
    }
}

/// Waits until a run of `flower check` or a trial has ended, and returns it. `address` is that of the run.
pub async fn until_checked(
    context: &Context,
    client: &Client,
    subject: &str,
    source: LogSource,
    address: &str,
) -> Result<CheckRunView, Problem> {
    let mut progress = Progress::new(context, subject.to_owned(), source);
    let mut events = EventSignal::new(client);
    loop {
        events.connect().await;
        let run: CheckRunView = client.get(address).await.map_err(|problem| match problem.kind {
            ProblemKind::NotFound => {
                Problem::new(ProblemKind::Refused, "the daemon has ended during the checks", "run them again")
            }
            _ => problem,
        })?;
        let state = match (run.state, &run.reason) {
            (CheckRunState::Waiting, Some(reason)) => format!("waiting: {reason}"),
            _ => String::new(),
        };
        progress.show(client, &run.checks, run.running.as_ref(), state).await;
        if run.ended_at.is_some() {
            return Ok(run);
        }
        events.wait(OUTPUT_POLL_INTERVAL).await;
    }
}

/// Wakes up at any event of the live stream, whose content does not matter.
pub struct EventSignal<'a> {
    client: &'a Client,
    stream: Option<Incoming>,
}

impl<'a> EventSignal<'a> {
    pub fn new(client: &'a Client) -> EventSignal<'a> {
        EventSignal { client, stream: None }
    }

    /// Connects if it is not connected. State that is read afterwards misses no change.
    pub async fn connect(&mut self) {
        if self.stream.is_none() {
            self.stream = self.client.stream("/api/events").await.ok();
        }
    }

    /// Waits for an event, at most for `timeout`.
    pub async fn wait(&mut self, timeout: Duration) {
        let Some(stream) = &mut self.stream else { return tokio::time::sleep(RECONNECT_INTERVAL).await };
        if let Ok(None | Some(Err(_))) = tokio::time::timeout(timeout, stream.frame()).await {
            self.stream = None;
            tokio::time::sleep(RECONNECT_INTERVAL).await;
        }
    }
}

/// The progress that was printed so far.
struct Progress {
    /// Whose progress it is, such as `landing 3`.
    subject: String,
    /// With `--json`, only an error is written to standard error.
    quiet: bool,
    style: Style,
    last: String,
    /// The logs of checks whose end was printed. Each run of a check has its own.
    printed: HashSet<String>,
    /// The output of the checks, on a terminal.
    log: Option<CheckLog>,
}

impl Progress {
    fn new(context: &Context, subject: String, source: LogSource) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress {
            subject,
            quiet: context.json,
            style: if terminal { context.style } else { Style::new(false) },
            last: String::new(),
            printed: HashSet::new(),
            log: (terminal && !context.json).then(|| CheckLog::new(source)),
        }
    }

    /// Prints what is new. `state` is in words.
    async fn show(&mut self, client: &Client, checks: &[CheckView], running: Option<&RunningCheck>, state: String) {
        if self.quiet {
            return;
        }
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.switch(client, running).await)));
        }
        let state = match running {
            Some(RunningCheck { name, attempt, commit, commits }) => {
                let of = if *commits > 1 { format!(" on commit {commit} of {commits}") } else { String::new() };
                let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                self.show_state(&format!("check `{name}` is running{of}{again}"));
                None
            }
            None => Some(state),
        };
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.new_lines(client, running).await)));
        }
        for ended in checks {
            if self.printed.insert(ended.log_file.clone()) {
                write(&format!("{}\n", check(ended, self.style)));
            }
        }
        if let Some(state) = state.filter(|state| !state.is_empty()) {
            self.show_state(&state);
        }
    }

    /// Prints the state if it has changed.
    fn show_state(&mut self, now: &str) {
        if now != self.last {
            let subject = &self.subject;
            write(&format!("{subject}: {}\n", plain(now)));
            now.clone_into(&mut self.last);
        }
    }
}

/// The state of a landing in words. An end has no reason here, because the command prints it afterwards. Empty between two checks.
fn state_of(landing: &LandingView) -> String {
    match (landing.state, &landing.reason) {
        (State::Checking, _) => String::new(),
        (State::Queued, Some(reason)) => format!("{}, {reason}", landing.state),
        _ => landing.state.in_words().to_owned(),
    }
}

/// Writes to standard error. A closed one does not end the command.
pub fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Where the logs of checks are read.
pub struct LogSource {
    /// The address before the name of the check.
    path: String,
    query: String,
}

impl LogSource {
    pub fn of_landing(number: u64) -> LogSource {
        LogSource { path: format!("/api/landings/{number}/checks"), query: String::new() }
    }

    /// Of `flower check`.
    pub fn of_worktree(name: &str, project_query: &str) -> LogSource {
        LogSource { path: format!("/api/worktrees/{}/check", escape(name)), query: format!("&{project_query}") }
    }

    /// Of a proposed `flower.toml` that is tried.
    pub fn of_trial(project_query: &str) -> LogSource {
        LogSource { path: "/api/main/settings/try".to_owned(), query: format!("&{project_query}") }
    }

    /// The output of a check from a position on.
    pub async fn read(&self, client: &Client, check: &str, after: usize) -> Result<Vec<u8>, Problem> {
        let LogSource { path, query } = self;
        let mut log = Vec::new();
        loop {
            let after = after + log.len();
            let bytes = client.bytes(&format!("{path}/{}/log?after={after}{query}", escape(check))).await?;
            if bytes.is_empty() {
                return Ok(log);
            }
            log.extend_from_slice(&bytes);
        }
    }
}

/// Reads the output of the running check as it grows.
pub struct CheckLog {
    source: LogSource,
    current: Option<RunningCheck>,
    seen: usize,
    /// The beginning of a line that is not complete yet.
    rest: Vec<u8>,
}

impl CheckLog {
    pub fn new(source: LogSource) -> CheckLog {
        CheckLog { source, current: None, seen: 0, rest: Vec::new() }
    }

    /// If another check has started, returns the rest of the last one's output. A new run of the same check has replaced
    /// that output, so there is no rest to read.
    pub async fn switch(&mut self, client: &Client, running: Option<&RunningCheck>) -> String {
        if running == self.current.as_ref() {
            return String::new();
        }
        let is_new_attempt = running.map(|running| &running.name) == self.current.as_ref().map(|last| &last.name);
        if !is_new_attempt {
            self.read(client).await;
        }
        self.current = running.cloned();
        self.seen = 0;
        if self.rest.last().is_some_and(|&byte| byte != b'\n') {
            self.rest.push(b'\n');
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }

    /// The new output, in whole lines.
    pub async fn new_lines(&mut self, client: &Client, running: Option<&RunningCheck>) -> String {
        let mut text = self.switch(client, running).await;
        self.read(client).await;
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        text.push_str(&String::from_utf8_lossy(&self.rest.drain(..whole).collect::<Vec<u8>>()));
        text
    }

    async fn read(&mut self, client: &Client) {
        let Some(RunningCheck { name, .. }) = &self.current else { return };
        if let Ok(bytes) = self.source.read(client, name, self.seen).await {
            self.seen += bytes.len();
            self.rest.extend_from_slice(&bytes);
        }
    }
}
