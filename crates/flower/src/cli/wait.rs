//! `--wait`: waits until a landing has ended or needs the operator, and shows its progress on standard error.

use super::Context;
use super::context::{RECONNECT_INTERVAL, RECONNECT_TIMEOUT};
use super::landing::check;
use super::output::{Style, plain};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, RunningCheck};
use flower_core::landing::State;
use http_body_util::BodyExt;
use hyper::body::Incoming;
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
    let mut progress = Progress::new(context);
    let mut events = EventSignal::new(client);
    let mut lost_at: Option<Instant> = None;
    let mut interval = POLL_INTERVAL;
    loop {
        events.connect().await;
        match client.get::<LandingView>(&format!("/api/landings/{number}")).await {
            Ok(landing) => {
                lost_at = None;
                progress.show(client, &landing).await;
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
        message: format!("landing {id} is still {state} after {seconds} s{because}"),
        hints: vec![format!(
            "it stays in the queue: `flower queue show {id}`; take it out: `flower queue cancel {id}`"
        )],
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
    /// With `--json`, only an error is written to standard error.
    quiet: bool,
    style: Style,
    last: String,
    checks: usize,
    /// The output of the checks, on a terminal.
    log: Option<CheckLog>,
}

impl Progress {
    fn new(context: &Context) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress {
            quiet: context.json,
            style: if terminal { context.style } else { Style::new(false) },
            last: String::new(),
            checks: 0,
            log: (terminal && !context.json).then(CheckLog::default),
        }
    }

    async fn show(&mut self, client: &Client, landing: &LandingView) {
        if self.quiet {
            return;
        }
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.switch(client, landing).await)));
        }
        if landing.running.is_some() {
            self.show_state(landing);
        }
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.new_lines(client, landing).await)));
        }
        for ended in landing.checks.iter().skip(self.checks) {
            write(&format!("{}\n", check(ended, self.style)));
        }
        self.checks = landing.checks.len();
        if landing.running.is_none() {
            self.show_state(landing);
        }
    }

    /// Prints the state if it has changed.
    fn show_state(&mut self, landing: &LandingView) {
        let now = match (&landing.running, &landing.reason) {
            (Some(RunningCheck { name, attempt: 1 }), _) => format!("check `{name}` is running"),
            (Some(RunningCheck { name, attempt }), _) => format!("check `{name}` is running, attempt {attempt}"),
            (None, Some(reason)) => format!("{}, {reason}", landing.state),
            (None, None) => landing.state.to_string(),
        };
        if now != self.last {
            write(&format!("landing {}: {}\n", landing.id, plain(&now)));
            self.last = now;
        }
    }
}

/// Writes to standard error. A closed one does not end the command.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Reads the output of the running check as it grows.
#[derive(Default)]
pub struct CheckLog {
    current: Option<RunningCheck>,
    seen: usize,
    /// The beginning of a line that is not complete yet.
    rest: Vec<u8>,
}

impl CheckLog {
    /// If another check has started, returns the rest of the last one's output. A new attempt of the same check has replaced
    /// that output, so there is no rest to read.
    pub async fn switch(&mut self, client: &Client, landing: &LandingView) -> String {
        if landing.running == self.current {
            return String::new();
        }
        let is_new_attempt =
            landing.running.as_ref().map(|running| &running.name) == self.current.as_ref().map(|last| &last.name);
        if !is_new_attempt {
            self.read(client, landing.id).await;
        }
        self.current.clone_from(&landing.running);
        self.seen = 0;
        if self.rest.last().is_some_and(|&byte| byte != b'\n') {
            self.rest.push(b'\n');
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }

    /// The new output, in whole lines.
    pub async fn new_lines(&mut self, client: &Client, landing: &LandingView) -> String {
        let mut text = self.switch(client, landing).await;
        self.read(client, landing.id).await;
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        text.push_str(&String::from_utf8_lossy(&self.rest.drain(..whole).collect::<Vec<u8>>()));
        text
    }

    async fn read(&mut self, client: &Client, landing: u64) {
        let Some(RunningCheck { name, .. }) = &self.current else { return };
        if let Ok(bytes) = read_log(client, landing, name, self.seen).await {
            self.seen += bytes.len();
            self.rest.extend_from_slice(&bytes);
        }
    }
}

/// The output of a check from a position on.
pub async fn read_log(client: &Client, landing: u64, check: &str, after: usize) -> Result<Vec<u8>, Problem> {
    let mut log = Vec::new();
    loop {
        let after = after + log.len();
        let path = format!("/api/landings/{landing}/checks/{}/log?after={after}", escape(check));
        let bytes = client.bytes(&path).await?;
        if bytes.is_empty() {
            return Ok(log);
        }
        log.extend_from_slice(&bytes);
    }
}
