//! The use cases, one file each. Doors call these; nothing here knows HTTP or the command line.

#![forbid(unsafe_code)]

pub mod acp;
pub mod agents;
pub mod briefs;
pub mod clock;
pub mod dispatch;
pub mod doctor;
mod ear;
pub mod failpoint;
pub mod home;
pub mod identity;
pub mod images;
pub mod inbox;
pub mod landing;
pub mod leases;
pub mod lock;
pub mod log;
pub mod main_branch;
pub mod messages;
pub mod projects;
pub mod review;
pub mod rights;
pub mod scratchpads;
pub mod search;
pub mod sessions;
pub mod settings;
pub mod status;
pub mod stirs;
pub mod terminal;
pub mod tokens;
pub mod tools;
pub mod trace;
pub mod worktrees;

use crate::home::Home;
use agents::Agents;
use agents::terminals::Terminals;
use clock::BootClock;
use dispatch::Dispatching;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::{Caller, Command, Recorded, Role};
use flower_store::Store;
use identity::{Failures, Refused};
use landing::Landings;
use projects::RepositoryLocks;
use sessions::Sessions;
use stirs::Stirs;
use worktrees::Worktrees;

/// The longest page that any list gives at once.
pub const PAGE: u64 = 500;

/// What every use case needs. One per daemon.
pub struct App {
    pub store: Store,
    pub home: Home,
    /// What the operator is called in the trace.
    pub operator: String,
    pub operator_token: String,
    pub sessions: Sessions,
    pub failures: Failures,
    pub refused: Refused,
    pub repositories: RepositoryLocks,
    pub worktrees: Worktrees,
    pub landings: Landings,
    pub dispatching: Dispatching,
    pub agents: Agents,
    pub terminals: Terminals,
    pub stirs: Stirs,
    pub clock: BootClock,
    /// Where browsers find this daemon.
    pub url: String,
    pub started_at: String,
    pub database: String,
}

impl App {
    /// Decides and records one command.
    pub async fn submit(&self, caller: &Caller, command: Command) -> Result<Vec<Recorded>, Problem> {
        Ok(self.store.submit(caller.clone(), command).await?)
    }
}

/// For what only the operator may do and the rules do not know of.
pub fn require_operator(caller: &Caller, what: &str) -> Result<(), Problem> {
    if caller.role == Role::Operator {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        format!("{} `{}` may not {what}", caller.role, caller.actor.name),
        "ask the operator",
    ))
}

/// Before anything is looked at for them: workers and ops neither land nor take back.
pub fn require_steering(caller: &Caller, what: &str) -> Result<(), Problem> {
    match caller.role {
        Role::Operator | Role::Orchestrator => Ok(()),
        Role::Worker | Role::Ops => Err(Problem::new(
            ProblemKind::Forbidden,
            format!("{} `{}` may not {what}", caller.role, caller.actor.name),
            "ask the operator or an orchestrator",
        )),
    }
}

/// The time as it is stored: UTC, always six digits of a second.
pub fn now() -> String {
    stamp(jiff::Timestamp::now())
}

pub(crate) fn stamp(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
