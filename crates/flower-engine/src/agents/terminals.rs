//! Access to the terminals of agents.

use crate::Agents;
use crate::terminal::{Output, Size, Terminal};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Caller;
use flower_core::policy::{self, Action, Read};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

/// Terminals by the name of their agent.
#[derive(Default)]
pub struct Terminals {
    terminals: Mutex<HashMap<String, Arc<Terminal>>>,
}

impl Terminals {
    /// Replaces an earlier terminal of the agent.
    pub fn insert(&self, name: String, terminal: Arc<Terminal>) {
        self.terminals.lock().expect("no panic while held").insert(name, terminal);
    }

    pub fn remove(&self, name: &str) -> Option<Arc<Terminal>> {
        self.terminals.lock().expect("no panic while held").remove(name)
    }

    pub fn get(&self, name: &str) -> Option<Arc<Terminal>> {
        self.terminals.lock().expect("no panic while held").get(name).cloned()
    }
}

/// A reader of a terminal's output, and the terminal itself, which has the exit code.
pub struct TerminalReader {
    pub terminal: Arc<Terminal>,
    pub output: Output,
}

impl Agents {
    pub fn terminal(&self, name: &str) -> Result<Arc<Terminal>, Problem> {
        self.terminals.get(name).ok_or_else(|| {
            Problem::new(
                ProblemKind::NotFound,
                format!("no agent `{name}` has a terminal"),
                format!("see what it does: `flower agent log {name}`"),
            )
        })
    }

    /// Reads a terminal from a position on, or from the beginning of its screen.
    pub async fn watch_terminal(
        &self,
        caller: &Caller,
        name: &str,
        after: Option<u64>,
    ) -> Result<TerminalReader, Problem> {
        self.access.reader(caller).await?.require(Read::Terminal)?;
        let terminal = self.terminal(name)?;
        let after = match after {
            Some(after) => after,
            None => terminal.screen().await,
        };
        let output = terminal.output(after);
        Ok(TerminalReader { terminal, output })
    }

    pub async fn type_keys(&self, caller: &Caller, name: &str, keys: &[u8]) -> Result<(), Problem> {
        policy::require_action(caller, Action::TypeForAgent)?;
        self.terminal(name)?.write(keys).await.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => Problem::new(
                ProblemKind::Timeout,
                format!("`{name}` does not read the keys; some of them are lost"),
                "try again when it is less busy",
            ),
            _ => Problem::new(
                ProblemKind::Refused,
                format!("keys cannot be sent to `{name}`: {error}"),
                format!("has it ended? `flower agent log {name}` says so"),
            ),
        })
    }

    pub fn resize_terminal(&self, caller: &Caller, name: &str, columns: u16, rows: u16) -> Result<(), Problem> {
        policy::require_action(caller, Action::ResizeTerminal)?;
        self.terminal(name)?.resize(Size { columns, rows }).map_err(|error| {
            Problem::new(
                ProblemKind::Invalid,
                format!("a terminal cannot have {columns} columns and {rows} rows: {error}"),
                "both are at least 1",
            )
        })
    }
}
