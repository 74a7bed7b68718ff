//! What every command gets: how to answer, which project, and a way to the daemon.

use super::output::Style;
use crate::client::{Address, Client, escape};
use crate::daemon::{Config, LOOPBACK, ensure_running};
use flower_contract::error::{Problem, ProblemKind};
use flower_engine::home::Home;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// For another daemon to come where one ended; this command starts none where `FLOWER_URL` is set.
const NEXT_DEADLINE: Duration = Duration::from_secs(5);
const NEXT_PAUSE: Duration = Duration::from_millis(100);

pub struct Context {
    pub json: bool,
    pub project: Option<String>,
    /// Ask no questions.
    pub yes: bool,
    pub style: Style,
    pub home: Home,
    pub dir: PathBuf,
}

impl Context {
    pub fn new(json: bool, project: Option<String>, yes: bool, colour: bool) -> Result<Context, Problem> {
        let dir = std::env::current_dir().map_err(|error| {
            Problem::usage(format!("the working directory is gone: {error}"), "go to one that exists")
        })?;
        Ok(Context { json, project, yes, style: Style::new(colour), home: Home::from_environment()?, dir })
    }

    /// A way to the daemon, which is started if need be; never when `FLOWER_URL` says where it is.
    pub async fn client(&self) -> Result<Client, Problem> {
        match self.remote()? {
            Some(client) => Ok(client),
            None => {
                let config = Config { home: self.home.clone(), port: None, host: LOOPBACK };
                start(&config).await?;
                let config = Arc::new(config);
                Ok(self.local_client()?.with_next(move || {
                    let config = config.clone();
                    async move { start(&config).await }
                }))
            }
        }
    }

    /// The daemon of this home, which runs.
    pub fn local_client(&self) -> Result<Client, Problem> {
        Ok(Client::new(Address::Socket(self.home.clone()), self.token()?))
    }

    /// The daemon that `FLOWER_URL` names, if it is set.
    pub fn remote(&self) -> Result<Option<Client>, Problem> {
        let Some(host) = remote_host()? else { return Ok(None) };
        // Making a token here would be of no use: that daemon does not know it.
        if own_token().is_none() && !self.home.token().exists() {
            return Err(Problem::usage(
                format!("there is no token for the daemon at {host}"),
                "set FLOWER_TOKEN to one that it knows: `flower token new --agent NAME` makes one there",
            ));
        }
        let client = Client::new(Address::Tcp(host.clone()), self.token()?);
        Ok(Some(client.with_next(move || {
            let host = host.clone();
            async move { wait_for(&host).await }
        })))
    }

    fn token(&self) -> Result<String, Problem> {
        own_token().map_or_else(|| self.home.require_token(), Ok)
    }

    /// Whether there is a person to ask.
    pub fn asks(&self) -> bool {
        !self.json && !self.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// Asks a yes-or-no question on the terminal. Any answer but yes refuses with `refusal` and `hint`.
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

    /// Which project is meant, as a query.
    pub fn project_query(&self) -> String {
        match &self.project {
            Some(name) => format!("project={}", escape(name)),
            None => format!("dir={}", escape(&self.dir.to_string_lossy())),
        }
    }

    /// Prints the answer: as JSON, or as `human` writes it.
    pub fn answer<T: Serialize>(&self, value: &T, human: impl FnOnce(&T) -> String) -> Result<(), Problem> {
        if self.json {
            let mut text = serde_json::to_string_pretty(value).expect("answers are plain data");
            text.push('\n');
            return self.print(&text);
        }
        self.print(&human(value))
    }

    /// Writes to standard output. A reader that has seen enough is no error.
    pub fn print(&self, text: &str) -> Result<(), Problem> {
        self.print_bytes(text.as_bytes())
    }

    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Problem> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
            Err(error) => {
                Err(Problem::unreachable(format!("the answer cannot be written: {error}"), "is the disk full?"))
            }
        }
    }
}

async fn start(config: &Config) -> Result<(), Problem> {
    ensure_running(config, &mut |line| eprintln!("{line}")).await.map(drop)
}

/// Waits until the daemon that another host or person starts is there again.
async fn wait_for(host: &str) -> Result<(), Problem> {
    let start = Instant::now();
    loop {
        match tokio::net::TcpStream::connect(host).await {
            Ok(_) => return Ok(()),
            Err(error) if start.elapsed() > NEXT_DEADLINE => {
                return Err(Problem::unreachable(
                    format!("the daemon at {host} ended before it answered, and no other has come: {error}"),
                    "check FLOWER_URL; while it is set, flower starts no daemon",
                ));
            }
            Err(_) => tokio::time::sleep(NEXT_PAUSE).await,
        }
    }
}

/// Host and port out of `FLOWER_URL`, if it is set.
pub fn remote_host() -> Result<Option<String>, Problem> {
    let Ok(url) = std::env::var("FLOWER_URL") else { return Ok(None) };
    if url.is_empty() {
        return Ok(None);
    }
    let wrong = || Problem::usage(format!("FLOWER_URL is `{url}`"), "write it as http://127.0.0.1:PORT");
    let host = url.strip_prefix("http://").ok_or_else(wrong)?.trim_end_matches('/');
    if host.is_empty() || host.contains(['/', '@', ' ']) || !host.contains(':') {
        return Err(wrong());
    }
    Ok(Some(host.to_owned()))
}

/// An agent's own identity.
pub fn own_token() -> Option<String> {
    std::env::var("FLOWER_TOKEN").ok().filter(|token| !token.is_empty())
}
