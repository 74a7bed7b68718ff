//! What every command gets: the output format, the project, and a client of the daemon.

use super::Global;
use super::output::{Style, is_dumb_terminal};
use super::pager;
use crate::client::{Address, Client, escape};
use crate::daemon::{Config, LOOPBACK, ensure_running};
use flower_contract::error::{Problem, ProblemKind};
use flower_engine::home::Home;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for a restarted daemon at `FLOWER_URL`, which this process cannot start itself.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);
const RESTART_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long commands that follow something wait for a daemon that is away.
pub const RECONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two attempts to reach it.
pub const RECONNECT_INTERVAL: Duration = Duration::from_millis(300);

pub struct Context {
    pub json: bool,
    pub project: Option<String>,
    /// Answer all questions with yes.
    pub yes: bool,
    pub style: Style,
    /// Whether long output for a person goes through a pager.
    pub use_pager: bool,
    pub home: Home,
    pub dir: PathBuf,
}

impl Context {
    pub(super) fn new(global: Global) -> Result<Context, Problem> {
        let colour = !global.no_color
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && !is_dumb_terminal()
            && std::io::stdout().is_terminal();
        let dir = std::env::current_dir().map_err(|error| {
            Problem::usage(
                format!("the working directory cannot be read: {error}"),
                "change to a directory that exists",
            )
        })?;
        Ok(Context {
            json: global.json,
            project: global.project,
            yes: global.yes,
            style: Style::new(colour),
            use_pager: !global.no_pager && !global.json && std::io::stdout().is_terminal() && !is_dumb_terminal(),
            home: Home::from_environment()?,
            dir,
        })
    }

    /// A client of the daemon at `FLOWER_URL`, or of the daemon of this home, which is started if it does not run.
    pub async fn client(&self) -> Result<Client, Problem> {
        match self.remote()? {
            Some(client) => Ok(client),
            None => {
                let config = Config { home: self.home.clone(), port: None, host: LOOPBACK };
                start(&config).await?;
                let config = Arc::new(config);
                Ok(self.local_client()?.with_restart(move || {
                    let config = config.clone();
                    async move { start(&config).await }
                }))
            }
        }
    }

    /// A client of the daemon of this home that acts as the operator, also where `FLOWER_TOKEN` names an agent.
    pub async fn operator_client(&self) -> Result<Client, Problem> {
        start(&Config { home: self.home.clone(), port: None, host: LOOPBACK }).await?;
        Ok(Client::new(Address::Socket(self.home.clone()), self.home.require_token()?))
    }

    /// A client of the daemon of this home, which must run.
    pub fn local_client(&self) -> Result<Client, Problem> {
        Ok(Client::new(Address::Socket(self.home.clone()), self.token()?))
    }

    /// A client of the daemon at `FLOWER_URL`, if that is set.
    pub fn remote(&self) -> Result<Option<Client>, Problem> {
        let Some(host) = remote_host()? else { return Ok(None) };
        // A token that is made here would be unknown to that daemon.
        if own_token().is_none() && !self.home.token().exists() {
            return Err(Problem::usage(
                format!("there is no token for the daemon at {host}"),
                "make one there with `flower token new --agent NAME`, and set FLOWER_TOKEN to it",
            ));
        }
        let client = Client::new(Address::Tcp(host.clone()), self.token()?);
        Ok(Some(client.with_restart(move || {
            let host = host.clone();
            async move { wait_for(&host).await }
        })))
    }

    fn token(&self) -> Result<String, Problem> {
        own_token().map_or_else(|| self.home.require_token(), Ok)
    }

    /// Whether a person can be asked: on a terminal, without `--yes` and `--json`.
    pub fn can_ask(&self) -> bool {
        !self.json && !self.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Asks a question on the terminal. Every answer but yes is an error with `refusal` and `hint`.
    pub fn require_yes(&self, question: &str, refusal: &str, hint: impl Into<String>) -> Result<(), Problem> {
        eprint!("{question} [y/N] ");
        let _ = std::io::stderr().flush();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        match answer.trim() {
            "y" | "Y" | "yes" if read.is_ok() => Ok(()),
            _ => Err(Problem::new(ProblemKind::Refused, refusal, hint)),
        }
    }

    /// The chosen project as parameters of a query.
    pub fn project_query(&self) -> String {
        match &self.project {
            Some(name) => format!("project={}", escape(name)),
            None => format!("dir={}", escape(&self.dir.to_string_lossy())),
        }
    }

    /// The named worktree; without a name, the worktree whose directory contains the working directory.
    pub fn worktree(&self, named: Option<&str>) -> Result<String, Problem> {
        if let Some(name) = named {
            return Ok(name.to_owned());
        }
        match self.worktree_here() {
            Some((project, name)) if self.project.as_ref().is_none_or(|chosen| *chosen == project) => Ok(name),
            Some((project, name)) => Err(Problem::usage(
                format!("this directory belongs to worktree `{name}` of project `{project}`, not of the chosen one"),
                "name the worktree, or leave out `--project`",
            )),
            // Inside a seal FLOWER_HOME does not exist.
            None => std::env::var("FLOWER_WORKTREE").ok().filter(|name| !name.is_empty()).ok_or_else(|| Problem {
                kind: ProblemKind::Usage,
                message: "no worktree is named, and the working directory is not inside one".to_owned(),
                hints: vec![
                    "name one; all worktrees: `flower worktree`".to_owned(),
                    "or go into one: `cd \"$(flower worktree path NAME)\"`".to_owned(),
                ],
            }),
        }
    }

    /// Project and name of the worktree around the working directory.
    fn worktree_here(&self) -> Option<(String, String)> {
        let worktrees = self.home.worktrees().canonicalize().ok()?;
        let dir = self.dir.canonicalize().ok()?;
        let mut names = dir.strip_prefix(worktrees).ok()?.iter().map(|name| name.to_string_lossy().into_owned());
        Some((names.next()?, names.next()?))
    }

    /// Prints a result: as JSON, or as the text that `human` makes of it.
    pub fn answer<T: Serialize>(&self, value: &T, human: impl FnOnce(&T) -> String) -> Result<(), Problem> {
        if self.json {
            let mut text = serde_json::to_string_pretty(value).expect("answers are plain data");
            text.push('\n');
            return self.print(&text);
        }
        self.print(&human(value))
    }

    /// Like [`Context::answer`], through a pager if the text is longer than the terminal.
    pub fn answer_paged<T: Serialize>(&self, value: &T, human: impl FnOnce(&T) -> String) -> Result<(), Problem> {
        if self.json { self.answer(value, human) } else { self.print_paged(&human(value)) }
    }

    /// Like [`Context::print`], through a pager if the text is longer than the terminal.
    pub fn print_paged(&self, text: &str) -> Result<(), Problem> {
        if self.use_pager && pager::show(text) { Ok(()) } else { self.print(text) }
    }

    /// Writes to standard output. A closed pipe ends the program without an error.
    pub fn print(&self, text: &str) -> Result<(), Problem> {
        self.print_bytes(text.as_bytes())
    }

    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Problem> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(error) => {
                Err(Problem::unreachable(format!("standard output cannot be written: {error}"), "is the disk full?"))
            }
        }
    }
}

async fn start(config: &Config) -> Result<(), Problem> {
    ensure_running(config, &mut |line| eprintln!("{line}")).await.map(drop)
}

/// Waits until a daemon accepts connections at `host` again.
async fn wait_for(host: &str) -> Result<(), Problem> {
    let start = Instant::now();
    loop {
        match tokio::net::TcpStream::connect(host).await {
            Ok(_) => return Ok(()),
            Err(error) if start.elapsed() > RESTART_TIMEOUT => {
                return Err(Problem::unreachable(
                    format!("the daemon at {host} ended before it answered, and was not restarted: {error}"),
                    "check FLOWER_URL; while it is set, flower starts no daemon",
                ));
            }
            Err(_) => tokio::time::sleep(RESTART_POLL_INTERVAL).await,
        }
    }
}

/// Host and port of `FLOWER_URL`, if it is set.
pub fn remote_host() -> Result<Option<String>, Problem> {
    let Ok(url) = std::env::var("FLOWER_URL") else { return Ok(None) };
    if url.is_empty() {
        return Ok(None);
    }
    let invalid = || {
        Problem::usage(
            format!("FLOWER_URL is not an address of a daemon: `{url}`"),
            "write it as http://127.0.0.1:PORT",
        )
    };
    let host = url.strip_prefix("http://").ok_or_else(invalid)?.trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '@', ' ']) || !host.contains(':') {
        return Err(invalid());
    }
    Ok(Some(host.to_owned()))
}

/// The token of an agent, from `FLOWER_TOKEN`.
pub fn own_token() -> Option<String> {
    std::env::var("FLOWER_TOKEN").ok().filter(|token| !token.is_empty())
}
