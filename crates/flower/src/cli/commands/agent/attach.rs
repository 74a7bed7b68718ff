//! `flower agent attach`

mod filter;
mod keyboard;
mod raw;

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::{Client, escape};
use filter::Filter;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::TerminalSize;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use keyboard::Keyboard;
use raw::Raw;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc, oneshot};

/// How long a daemon may be away.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an agent may be away after its daemon has come back.
const AGENT_PATIENCE: Duration = Duration::from_secs(15);
const BREATH: Duration = Duration::from_millis(300);
/// For what is already on its way when the end has come: keys to the agent, output to the terminal.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Pieces of output between the daemon and a slow terminal; the rest waits in the daemon's file.
const QUEUE: usize = 8;

/// Look at the terminal of an agent, and type into it
///
/// Ctrl-] leaves it, and the agent goes on. What it shows cannot reach your clipboard, or make your terminal answer.
#[derive(clap::Args)]
pub(crate) struct AttachArgs {
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

/// Why it is over.
enum Left {
    Detached,
    /// With this exit code.
    Ended(String),
    /// It ended while nobody could hear how.
    Gone,
    /// The operator's terminal.
    HungUp,
    Signalled(i32),
}

pub(super) async fn run(context: &Context, args: &AttachArgs) -> Result<(), Problem> {
    let name = plain(&args.name);
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Problem::new(
            ProblemKind::Refused,
            "only a terminal can be attached to one, and this is none",
            format!("see what it does: `flower agent log {name}`"),
        ));
    }
    let client = context.client().await?;
    let agent = Agent { client, address: format!("/api/agents/{}/terminal", escape(&args.name)), again: Notify::new() };
    // Whoever is not there is told so before anything changes here.
    let first = agent.open("").await?;
    say(&format!("attached to {name}; Ctrl-] leaves it running\n"));
    let mut signals = Signals::new()?;
    let raw = Raw::enter()?;
    let (screen, drawn) = draw();
    let mut filter = Filter::default();
    let keyboard = Keyboard::new();
    let left = tokio::select! {
        left = agent.show(first, &mut filter, &screen) => left,
        left = agent.types(&keyboard) => left,
        left = agent.follow_size() => left,
        () = keyboard.left_for(LAST_WORDS) => Ok(Left::Detached),
        number = signals.next() => Ok(Left::Signalled(number)),
    };
    let undone = async {
        let _ = screen.send(filter.undo()).await;
        drop(screen);
        let _ = drawn.await;
    };
    // A terminal that takes nothing more is left as it is.
    let _ = tokio::time::timeout(LAST_WORDS, undone).await;
    drop(raw);
    match left? {
        Left::Detached => say(&format!("\nleft {name} running\n")),
        Left::Ended(code) => say(&format!("\n{name} has ended with exit code {code}\n")),
        Left::Gone => say(&format!("\n{name} has ended; `flower agent log {name}` says what it did\n")),
        Left::HungUp => {}
        Left::Signalled(number) => std::process::exit(128 + number),
    }
    Ok(())
}

/// The agent's side, behind the daemon.
struct Agent {
    client: Client,
    address: String,
    /// The daemon was away, and does not know our size any more.
    again: Notify,
}

impl Agent {
    async fn open(&self, query: &str) -> Result<Response<Incoming>, Problem> {
        self.client.open(&format!("{}{query}", self.address)).await
    }

    /// Shows what comes, and goes on where it was when the connection breaks.
    async fn show(
        &self,
        mut response: Response<Incoming>,
        filter: &mut Filter,
        screen: &mpsc::Sender<Vec<u8>>,
    ) -> Result<Left, Problem> {
        loop {
            let offset =
                response.headers().get("x-flower-offset").and_then(|offset| offset.to_str().ok()?.parse().ok());
            let mut at: u64 = offset.ok_or_else(|| Problem::bug("output without a position"))?;
            let mut body = response.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                if let Some(exit) = frame.trailers_ref().and_then(|trailers| trailers.get("x-flower-exit")) {
                    return Ok(Left::Ended(plain(&String::from_utf8_lossy(exit.as_bytes()))));
                }
                let data = frame.data_ref().map_or(&[][..], |data| data);
                at += data.len() as u64;
                if screen.send(filter.pass(data)).await.is_err() {
                    return Ok(Left::HungUp);
                }
            }
            match self.open_again(at).await? {
                Some(again) => response = again,
                None => return Ok(Left::Gone),
            }
        }
    }

    /// None if the agent is gone.
    async fn open_again(&self, at: u64) -> Result<Option<Response<Incoming>>, Problem> {
        let lost_at = Instant::now();
        let mut away = false;
        let mut back_at: Option<Instant> = None;
        loop {
            tokio::time::sleep(BREATH).await;
            match self.open(&format!("?after={at}")).await {
                Ok(response) => {
                    if away {
                        notice("the daemon is back");
                        self.again.notify_one();
                    }
                    return Ok(Some(response));
                }
                Err(problem) if problem.kind == ProblemKind::NotFound => {
                    if !away || back_at.get_or_insert_with(Instant::now).elapsed() > AGENT_PATIENCE {
                        return Ok(None);
                    }
                }
                Err(problem) if problem.kind != ProblemKind::Unreachable => return Err(problem),
                Err(problem) if lost_at.elapsed() > PATIENCE => return Err(problem),
                Err(_) if !away => {
                    away = true;
                    notice("the daemon is away; waiting for it, Ctrl-] leaves");
                }
                Err(_) => {}
            }
        }
    }

    /// Sends keys in the order in which they came, until there are no more.
    async fn types(&self, keyboard: &Keyboard) -> Result<Left, Problem> {
        let address = format!("{}/keys", self.address);
        while let Some(keys) = keyboard.keys().await {
            match self.client.send_bytes(&address, keys).await {
                Ok(()) => {}
                // Whoever shows the output says so.
                Err(problem) if matches!(problem.kind, ProblemKind::Unreachable | ProblemKind::NotFound) => {}
                Err(problem) => notice(&plain(&problem.message)),
            }
        }
        Ok(if keyboard.is_left() { Left::Detached } else { Left::HungUp })
    }

    async fn follow_size(&self) -> Result<Left, Problem> {
        let mut changes = signal(SignalKind::window_change()).map_err(|error| no_signals(&error))?;
        let mut redraw = true;
        loop {
            if let Some((columns, rows)) = raw::size() {
                // Programs draw everything again when their size changes, and not if it stays the same.
                let sizes = [(redraw && rows > 1).then(|| rows - 1), Some(rows)];
                for rows in sizes.into_iter().flatten() {
                    let size = TerminalSize { columns, rows };
                    // If it fails, whoever shows the output says why.
                    let _ = self.client.tell(&format!("{}/size", self.address), &size).await;
                }
            }
            redraw = tokio::select! {
                _ = changes.recv() => false,
                () = self.again.notified() => true,
            };
        }
    }
}

/// What ends this program, once the terminal is as it was.
struct Signals([(Signal, i32); 4]);

impl Signals {
    fn new() -> Result<Signals, Problem> {
        let hear = |kind: SignalKind| match signal(kind) {
            Ok(signal) => Ok((signal, kind.as_raw_value())),
            Err(error) => Err(no_signals(&error)),
        };
        Ok(Signals([
            hear(SignalKind::terminate())?,
            hear(SignalKind::hangup())?,
            hear(SignalKind::interrupt())?,
            hear(SignalKind::quit())?,
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

/// A thread that writes to the terminal, which may take its time. The second half ends when it has written everything, or
/// cannot any more.
fn draw() -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<()>) {
    let (screen, mut pieces) = mpsc::channel::<Vec<u8>>(QUEUE);
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

/// In between what the agent shows.
fn notice(text: &str) {
    say(&format!("\r\nflower: {text}\r\n"));
}

/// The terminal may be gone, which is no reason to fail.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn no_signals(error: &std::io::Error) -> Problem {
    Problem::unreachable(format!("signals cannot be heard: {error}"), "see `ulimit -a`")
}
