//! `flower agent attach`

mod filter;
mod keyboard;
mod raw_mode;

use crate::cli::Context;
use crate::cli::context::{RECONNECT_INTERVAL, RECONNECT_TIMEOUT};
use crate::cli::output::plain;
use crate::client::{Client, escape};
use filter::Filter;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::TerminalSize;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use keyboard::Keyboard;
use raw_mode::RawMode;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc, oneshot};

/// How long to wait for the agent after its daemon has been restarted.
const AGENT_TIMEOUT: Duration = Duration::from_secs(15);
/// For the last keys to reach the agent, and the last output to reach the terminal.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Pieces of output that wait for a slow terminal; the daemon keeps the rest in a file.
const MAX_QUEUED: usize = 8;

/// Show the terminal of an agent, and type into it
///
/// Ctrl-] detaches; the agent continues. Its output cannot reach your clipboard, or make your terminal send anything.
#[derive(clap::Args)]
pub(crate) struct AttachArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

/// Why the command ends.
enum End {
    Detached,
    /// The agent has ended with this exit code.
    Exited(String),
    /// The agent has ended while the daemon was away.
    Gone,
    /// The operator's terminal was closed.
    HungUp,
    Signalled(i32),
}

pub(super) async fn run(context: &Context, args: &AttachArgs) -> Result<(), Problem> {
    let name = plain(&args.name);
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Problem::new(
            ProblemKind::Refused,
            "standard input and output are not a terminal",
            format!("read its transcript: `flower agent log {name}`"),
        ));
    }
    let client = context.client().await?;
    let agent =
        Agent { client, address: format!("/api/agents/{}/terminal", escape(&args.name)), reconnected: Notify::new() };
    // An unknown agent is reported before the terminal is changed.
    let first = agent.open("").await?;
    say(&format!("attached to {name}; Ctrl-] detaches\n"));
    let mut signals = Signals::new()?;
    let raw = RawMode::enter()?;
    let (screen, drawn) = start_screen();
    let mut filter = Filter::default();
    let keyboard = Keyboard::new();
    let end = tokio::select! {
        end = agent.show(first, &mut filter, &screen) => end,
        end = agent.send_keys(&keyboard) => end,
        end = agent.follow_size() => end,
        () = keyboard.detached_for(DRAIN_TIMEOUT) => Ok(End::Detached),
        number = signals.next() => Ok(End::Signalled(number)),
    };
    let restored = async {
        let _ = screen.send(filter.undo()).await;
        drop(screen);
        let _ = drawn.await;
    };
    // A terminal that accepts no more output is left as it is.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, restored).await;
    drop(raw);
    match end? {
        End::Detached => say(&format!("\ndetached from {name}, which continues\n")),
        End::Exited(code) => say(&format!("\n{name} has ended with exit code {code}\n")),
        End::Gone => say(&format!("\n{name} has ended; `flower agent log {name}` shows its transcript\n")),
        End::HungUp => {}
        End::Signalled(number) => std::process::exit(128 + number),
    }
    Ok(())
}

/// The agent's terminal, reached through the daemon.
struct Agent {
    client: Client,
    address: String,
    /// The daemon was restarted and has forgotten the size of the terminal.
    reconnected: Notify,
}

impl Agent {
    async fn open(&self, query: &str) -> Result<Response<Incoming>, Problem> {
        self.client.open(&format!("{}{query}", self.address)).await
    }

    /// Prints output, and resumes from the last position when the connection breaks.
    async fn show(
        &self,
        mut response: Response<Incoming>,
        filter: &mut Filter,
        screen: &mpsc::Sender<Vec<u8>>,
    ) -> Result<End, Problem> {
        loop {
            let offset =
                response.headers().get("x-flower-offset").and_then(|offset| offset.to_str().ok()?.parse().ok());
            let mut at: u64 = offset.ok_or_else(|| Problem::bug("terminal output without a position"))?;
            let mut body = response.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                if let Some(exit) = frame.trailers_ref().and_then(|trailers| trailers.get("x-flower-exit")) {
                    return Ok(End::Exited(plain(&String::from_utf8_lossy(exit.as_bytes()))));
                }
                let data = frame.data_ref().map_or(&[][..], |data| data);
                at += data.len() as u64;
                if screen.send(filter.pass(data)).await.is_err() {
                    return Ok(End::HungUp);
                }
            }
            match self.reopen(at).await? {
                Some(reopened) => response = reopened,
                None => return Ok(End::Gone),
            }
        }
    }

    /// None if the agent has ended.
    async fn reopen(&self, at: u64) -> Result<Option<Response<Incoming>>, Problem> {
        let lost_at = Instant::now();
        let mut daemon_away = false;
        let mut back_at: Option<Instant> = None;
        loop {
            tokio::time::sleep(RECONNECT_INTERVAL).await;
            match self.open(&format!("?after={at}")).await {
                Ok(response) => {
                    if daemon_away {
                        notice("the daemon answers again");
                        self.reconnected.notify_one();
                    }
                    return Ok(Some(response));
                }
                Err(problem) if problem.kind == ProblemKind::NotFound => {
                    if !daemon_away || back_at.get_or_insert_with(Instant::now).elapsed() > AGENT_TIMEOUT {
                        return Ok(None);
                    }
                }
                Err(problem) if problem.kind != ProblemKind::Unreachable => return Err(problem),
                Err(problem) if lost_at.elapsed() > RECONNECT_TIMEOUT => return Err(problem),
                Err(_) if !daemon_away => {
                    daemon_away = true;
                    notice("the daemon does not answer; waiting for it, Ctrl-] detaches");
                }
                Err(_) => {}
            }
        }
    }

    /// Sends keys in the order in which they were typed, until the keyboard is closed.
    async fn send_keys(&self, keyboard: &Keyboard) -> Result<End, Problem> {
        let address = format!("{}/keys", self.address);
        while let Some(keys) = keyboard.keys().await {
            match self.client.send_bytes(&address, keys).await {
                Ok(()) => {}
                // `show` reports this error.
                Err(problem) if matches!(problem.kind, ProblemKind::Unreachable | ProblemKind::NotFound) => {}
                Err(problem) => notice(&plain(&problem.message)),
            }
        }
        Ok(if keyboard.is_detached() { End::Detached } else { End::HungUp })
    }

    async fn follow_size(&self) -> Result<End, Problem> {
        let mut changes = signal(SignalKind::window_change()).map_err(|error| no_signals(&error))?;
        let mut redraw = true;
        loop {
            if let Some((columns, rows)) = raw_mode::size() {
                // Programs redraw everything only when their size changes.
                let sizes = [(redraw && rows > 1).then(|| rows - 1), Some(rows)];
                for rows in sizes.into_iter().flatten() {
                    let size = TerminalSize { columns, rows };
                    // `show` reports the reason of a failure.
                    let _ = self.client.tell(&format!("{}/size", self.address), &size).await;
                }
            }
            redraw = tokio::select! {
                _ = changes.recv() => false,
                () = self.reconnected.notified() => true,
            };
        }
    }
}

/// Signals that end this program, after the terminal is restored.
struct Signals([(Signal, i32); 4]);

impl Signals {
    fn new() -> Result<Signals, Problem> {
        let listen = |kind: SignalKind| match signal(kind) {
            Ok(signal) => Ok((signal, kind.as_raw_value())),
            Err(error) => Err(no_signals(&error)),
        };
        Ok(Signals([
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
            listen(SignalKind::interrupt())?,
            listen(SignalKind::quit())?,
        ]))
    }

    async fn next(&mut self) -> i32 {
        let [(term, a), (hangup, b), (interrupt, c), (quit, d)] = &mut self.0;
        tokio::select! {
            _ = term.recv() => *a,
            _ = hangup.recv() => *b,
            _ = interrupt.recv() => *c,
            _ = quit.recv() => *d,
        }
    }
}

/// Starts a thread that writes to the terminal, which may be slow. The receiver resolves when everything is written, or when
/// writing fails.
fn start_screen() -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>) {
    let (screen, mut pieces) = mpsc::channel::<Vec<u8>>(MAX_QUEUED);
    let (done, drawn) = oneshot::channel();
    std::thread::spawn(move || {
        let mut out = std::io::stdout().lock();
        while let Some(piece) = pieces.blocking_recv() {
            if out.write_all(&piece).and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        let _ = done.send(());
    });
    (screen, drawn)
}

/// Prints a notice between the agent's output.
fn notice(text: &str) {
    say(&format!("\r\nflower: {text}\r\n"));
}

/// Writes to standard error; a closed terminal is not an error.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn no_signals(error: &std::io::Error) -> Problem {
    Problem::unreachable(format!("signals cannot be received: {error}"), "see `ulimit -a`")
}
