//! `--wait`: stays until a landing has ended or needs the operator, and says on standard error how it gets on.

use super::Context;
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

/// How long a daemon may be away.
const PATIENCE: Duration = Duration::from_secs(60);
/// Even if no bell rings.
const EVERY: Duration = Duration::from_secs(1);
pub const BREATH: Duration = Duration::from_millis(300);

/// The landing as it is once it goes on no further by itself.
pub async fn until_settled(context: &Context, client: &Client, number: u64) -> Result<LandingView, Problem> {
    let mut progress = Progress::new(context);
    let mut bell = Bell::new(client);
    let mut lost_at: Option<Instant> = None;
    let mut pause = EVERY;
    loop {
        bell.hang().await;
        match client.get::<LandingView>(&format!("/api/landings/{number}")).await {
            Ok(landing) => {
                lost_at = None;
                progress.show(client, &landing).await;
                match landing.state {
                    State::Queued => pause = EVERY,
                    // Its checks write without ringing.
                    State::Checking => pause = BREATH,
                    _ => return Ok(landing),
                }
            }
            Err(problem) if problem.kind == ProblemKind::Unreachable => {
                if lost_at.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
                    return Err(problem);
                }
            }
            Err(problem) => return Err(problem),
        }
        bell.wait(pause).await;
    }
}

/// The live stream. Any event is a reason to look again; what it says does not matter here.
pub struct Bell<'a> {
    client: &'a Client,
    stream: Option<Incoming>,
}

impl<'a> Bell<'a> {
    pub fn new(client: &'a Client) -> Bell<'a> {
        Bell { client, stream: None }
    }

    /// Listens, if it does not yet. Whoever looks after that misses nothing.
    pub async fn hang(&mut self) {
        if self.stream.is_none() {
            self.stream = self.client.stream("/api/events").await.ok();
        }
    }

    /// Until something happens, or a moment has passed.
    pub async fn wait(&mut self, moment: Duration) {
        let Some(stream) = &mut self.stream else { return tokio::time::sleep(BREATH).await };
        if let Ok(None | Some(Err(_))) = tokio::time::timeout(moment, stream.frame()).await {
            self.stream = None;
            tokio::time::sleep(BREATH).await;
        }
    }
}

/// What was said already.
struct Progress {
    /// With `--json` an error is all that standard error holds.
    quiet: bool,
    style: Style,
    said: String,
    checks: usize,
    /// A person sees the output of the checks as it comes.
    log: Option<CheckLog>,
}

impl Progress {
    fn new(context: &Context) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        Progress {
            quiet: context.json,
            style: if terminal { context.style } else { Style::new(false) },
            said: String::new(),
            checks: 0,
            log: (terminal && !context.json).then(CheckLog::default),
        }
    }

    async fn show(&mut self, client: &Client, landing: &LandingView) {
        if self.quiet {
            return;
        }
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.turn(client, landing).await)));
        }
        if landing.running.is_some() {
            self.say(landing);
        }
        if let Some(log) = &mut self.log {
            write(&self.style.dim(&plain(&log.more(client, landing).await)));
        }
        for ended in landing.checks.iter().skip(self.checks) {
            write(&format!("{}\n", check(ended, self.style)));
        }
        self.checks = landing.checks.len();
        if landing.running.is_none() {
            self.say(landing);
        }
    }

    /// Where it stands, if that is new.
    fn say(&mut self, landing: &LandingView) {
        let now = match (&landing.running, &landing.reason) {
            (Some(RunningCheck { name, attempt: 1 }), _) => format!("check `{name}` is running"),
            (Some(RunningCheck { name, attempt }), _) => format!("check `{name}` is running, attempt {attempt}"),
            (None, Some(reason)) => format!("{}, {reason}", landing.state),
            (None, None) => landing.state.to_string(),
        };
        if now != self.said {
            write(&format!("landing {}: {}\n", landing.id, plain(&now)));
            self.said = now;
        }
    }
}

/// Nobody may be there to read it; the landing goes on.
fn write(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The output of whichever check is running, read as it grows.
#[derive(Default)]
pub struct CheckLog {
    current: Option<RunningCheck>,
    seen: usize,
    /// The beginning of a line whose end is still to come.
    rest: Vec<u8>,
}

impl CheckLog {
    /// The rest of the last one, if it is another's turn. A new attempt of the same check has taken the place of its output.
    pub async fn turn(&mut self, client: &Client, landing: &LandingView) -> String {
        if landing.running == self.current {
            return String::new();
        }
        let again =
            landing.running.as_ref().map(|running| &running.name) == self.current.as_ref().map(|last| &last.name);
        if !again {
            self.read(client, landing.id).await;
        }
        self.current.clone_from(&landing.running);
        self.seen = 0;
        if self.rest.last().is_some_and(|&byte| byte != b'\n') {
            self.rest.push(b'\n');
        }
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }

    /// What is new, in whole lines.
    pub async fn more(&mut self, client: &Client, landing: &LandingView) -> String {
        let mut text = self.turn(client, landing).await;
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

/// The output of a check from a byte on, to its end.
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
