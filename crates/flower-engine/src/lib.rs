//! The services: each is one struct with private state, its dependencies as fields and its use cases as methods. HTTP, MCP
//! and the command line call them; nothing here depends on those. [`App`] wires the services together.

#![forbid(unsafe_code)]

pub mod access;
pub mod acp;
mod agent_text;
pub mod agents;
pub mod bounded_lines;
pub mod briefs;
pub mod clock;
mod dir_watcher;
pub mod dispatch;
pub mod failpoint;
mod findings;
pub mod home;
mod keyed_locks;
pub mod leases;
pub mod lock;
pub mod log;
pub mod merge_queue;
pub mod messages;
pub mod network;
pub mod notify;
pub mod overview;
mod own_refs;
pub mod passes;
mod path_policy;
pub mod profiles;
pub mod projects;
pub mod registration;
pub mod repository_mark;
pub mod review;
pub mod settings;
pub mod terminal;
mod tool_names;
pub mod tools;
pub mod worktrees;

pub use access::Access;
pub use agents::Agents;
pub use briefs::Briefs;
pub use dispatch::Dispatcher;
pub use leases::Leases;
pub use log::EventLog;
pub use merge_queue::MergeQueue;
pub use messages::Messages;
pub use network::Networks;
pub use overview::Overview;
pub use profiles::Profiles;
pub use projects::Projects;
pub use registration::Registration;
pub use review::Review;
pub use tools::Tools;
pub use worktrees::Worktrees;

use clock::BootClock;
use flower_store::Store;
use home::Home;
use notify::ChangeHints;
use std::sync::Arc;

/// Maximum entries in one page of a list.
pub const PAGE: u64 = 500;

/// What the services are built from when the daemon starts.
#[derive(Clone)]
pub struct Setup {
    pub store: Store,
    pub home: Home,
    /// The name of the operator in the trace.
    pub operator: String,
    pub operator_token: String,
    pub clock: BootClock,
    /// The address of this daemon for browsers.
    pub url: String,
    /// The database, as `flower status` shows it.
    pub database: String,
    pub started_at: String,
    /// Where services announce changes of state that are not in the log.
    pub hints: ChangeHints,
}

/// The services of one daemon. A service depends only on services above it in this list.
pub struct App {
    pub hints: ChangeHints,
    pub projects: Arc<Projects>,
    pub access: Arc<Access>,
    pub briefs: Arc<Briefs>,
    pub log: Arc<EventLog>,
    pub messages: Arc<Messages>,
    pub networks: Arc<Networks>,
    pub worktrees: Arc<Worktrees>,
    pub leases: Arc<Leases>,
    pub profiles: Arc<Profiles>,
    pub merge_queue: Arc<MergeQueue>,
    pub review: Arc<Review>,
    pub dispatcher: Arc<Dispatcher>,
    pub agents: Arc<Agents>,
    pub registration: Arc<Registration>,
    pub overview: Arc<Overview>,
    pub tools: Arc<Tools>,
}

impl App {
    pub fn new(setup: &Setup) -> App {
        let projects = Arc::new(Projects::new(setup));
        let access = Arc::new(Access::new(setup));
        let briefs = Arc::new(Briefs::new(setup, &access));
        let log = Arc::new(EventLog::new(setup, &access, &projects, &briefs));
        let messages = Arc::new(Messages::new(setup));
        let networks = Arc::new(Networks::new(setup));
        let worktrees = Arc::new(Worktrees::new(setup, &access, &projects, &networks));
        let leases = Arc::new(Leases::new(setup, &access, &projects, &worktrees));
        let profiles = Arc::new(Profiles::new(setup, &worktrees));
        let merge_queue = Arc::new(MergeQueue::new(setup, &access, &projects, &networks, &worktrees, &profiles));
        let review = Arc::new(Review::new(setup, &worktrees, &merge_queue));
        let dispatcher =
            Arc::new(Dispatcher::new(setup, &access, &projects, &worktrees, &profiles, &merge_queue, &messages));
        let agents = Arc::new(Agents::new(
            setup,
            &access,
            &projects,
            &messages,
            &worktrees,
            &profiles,
            &merge_queue,
            &dispatcher,
        ));
        let registration = Arc::new(Registration::new(setup, &access, &projects, &worktrees, &merge_queue));
        let overview = Arc::new(Overview::new(
            setup,
            &access,
            &projects,
            &messages,
            &worktrees,
            &merge_queue,
            &agents,
            &profiles,
            &dispatcher,
        ));
        let tools = Arc::new(Tools::new(
            &access,
            &projects,
            &briefs,
            &messages,
            &leases,
            &merge_queue,
            &dispatcher,
            &agents,
            &overview,
        ));
        App {
            hints: setup.hints.clone(),
            access,
            projects,
            briefs,
            log,
            messages,
            networks,
            worktrees,
            leases,
            profiles,
            merge_queue,
            review,
            dispatcher,
            agents,
            registration,
            overview,
            tools,
        }
    }
}

/// The current time as it is stored: UTC, always with six digits of a second.
pub fn now() -> String {
    stamp(jiff::Timestamp::now())
}

pub(crate) fn stamp(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
