//! The current state of a running agent: observed, not recorded, with its evidence and age.

use super::process::Process;
use super::prompt::Way;
use super::transcript::Transcript;
use crate::notify::ChangeHints;
use crate::terminal::Terminal;
use flower_contract::error::Problem;
pub use flower_contract::view::AgentState as State;
use flower_core::{AgentId, DispatchId, Fence};
use jiff::Timestamp;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// The process of an agent.
#[derive(Clone)]
pub(super) enum AgentProcess {
    Piped(Arc<Process>),
    InTerminal(Arc<Terminal>),
}

impl AgentProcess {
    pub(super) fn pid(&self) -> u32 {
        match self {
            AgentProcess::Piped(process) => process.pid,
            AgentProcess::InTerminal(terminal) => terminal.pid(),
        }
    }

    pub(super) async fn ended(&self) -> i32 {
        match self {
            AgentProcess::Piped(process) => process.ended().await,
            AgentProcess::InTerminal(terminal) => terminal.ended().await,
        }
    }

    pub(super) async fn end(&self) {
        match self {
            AgentProcess::Piped(process) => process.end().await,
            AgentProcess::InTerminal(terminal) => terminal.stop().await,
        }
    }
}

/// What flower has observed of an agent.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) state: State,
    pub(super) evidence: String,
    /// When the agent entered its current state.
    pub(super) since: String,
    pub(super) last_activity: Instant,
    /// Used and available tokens.
    pub(super) context: Option<(u64, u64)>,
    /// While it is parked: when its model is tried again.
    pub(super) parked_until: Option<Timestamp>,
}

/// What is known of the agent's session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Connected {
    pub(super) model: Option<String>,
    /// Whether it has flower's tools.
    pub(super) tools: Option<bool>,
}

/// The dispatch that an agent works on, and the token that it works with.
#[derive(Clone, Debug)]
pub(super) struct ClaimedWork {
    pub(super) dispatch: DispatchId,
    pub(super) fence: Fence,
    pub(super) lead: bool,
    pub(super) token: String,
}

pub struct AgentHandle {
    pub(super) number: AgentId,
    pub(super) name: String,
    pub(super) transcript: Arc<Transcript>,
    /// Wakes the agent's task: something that it waits for may have happened.
    pub(super) wake: Notify,
    /// True once the agent has to stop: it has ended in the log, or the daemon ends.
    stop: watch::Sender<bool>,
    /// True once no process of the agent runs.
    pub(super) ended: watch::Sender<bool>,
    observed: Mutex<Observed>,
    connected: watch::Sender<Connected>,
    process: Mutex<Option<AgentProcess>>,
    work: Mutex<Option<ClaimedWork>>,
    refresh: AtomicBool,
    /// Times in a row that the agent was parked because its model did not answer.
    waits: AtomicU32,
    last_heartbeat: Mutex<Option<Instant>>,
    hints: ChangeHints,
}

impl AgentHandle {
    pub(super) fn new(number: AgentId, name: String, transcript: Arc<Transcript>, hints: ChangeHints) -> AgentHandle {
        let observed = Observed {
            state: State::Starting,
            evidence: "starting".to_owned(),
            since: crate::now(),
            last_activity: Instant::now(),
            context: None,
            parked_until: None,
        };
        AgentHandle {
            number,
            name,
            transcript,
            wake: Notify::new(),
            stop: watch::Sender::new(false),
            ended: watch::Sender::new(false),
            observed: Mutex::new(observed),
            connected: watch::Sender::default(),
            process: Mutex::new(None),
            work: Mutex::new(None),
            refresh: AtomicBool::new(false),
            waits: AtomicU32::new(0),
            last_heartbeat: Mutex::new(None),
            hints,
        }
    }

    pub(super) fn set_state(&self, state: State, evidence: &str) {
        let evidence = self.transcript.masked(evidence);
        let mut observed = self.observed.lock().expect("no panic while held");
        if (observed.state, &observed.evidence, observed.parked_until) == (state, &evidence, None) {
            return;
        }
        if observed.state != state {
            observed.since = crate::now();
        }
        (observed.state, observed.evidence, observed.parked_until) = (state, evidence, None);
        self.hints.publish(ChangeHints::AGENTS);
    }

    /// The model does not answer, and is tried again at this time.
    pub(super) fn set_parked(&self, until: Timestamp, evidence: &str) {
        self.set_state(State::Parked, evidence);
        self.observed.lock().expect("no panic while held").parked_until = Some(until);
    }

    /// Counts one more wait for the model, and returns how many came before in a row.
    pub(super) fn count_wait(&self) -> u32 {
        self.waits.fetch_add(1, Ordering::Relaxed)
    }

    /// The model has answered.
    pub(super) fn clear_waits(&self) {
        self.waits.store(0, Ordering::Relaxed);
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.lock().expect("no panic while held").clone()
    }

    /// The agent has sent a message or shown output. Ends the state `quiet`.
    pub(super) fn record_activity(&self) {
        let mut observed = self.observed.lock().expect("no panic while held");
        observed.last_activity = Instant::now();
        if observed.state == State::Quiet {
            observed.state = State::Working;
            observed.since = crate::now();
            "active again".clone_into(&mut observed.evidence);
            self.hints.publish(ChangeHints::AGENTS);
        }
    }

    pub(super) fn quiet_for(&self) -> Duration {
        self.observed.lock().expect("no panic while held").last_activity.elapsed()
    }

    pub(super) fn set_context(&self, used: u64, size: u64) {
        self.observed.lock().expect("no panic while held").context = Some((used, size));
        self.hints.publish(ChangeHints::AGENTS);
    }

    pub(super) fn context(&self) -> Option<(u64, u64)> {
        self.observed.lock().expect("no panic while held").context
    }

    pub(super) fn clear_context(&self) {
        self.observed.lock().expect("no panic while held").context = None;
    }

    pub(super) fn connected(&self) -> Connected {
        self.connected.borrow().clone()
    }

    pub(super) fn watch_connected(&self) -> watch::Receiver<Connected> {
        self.connected.subscribe()
    }

    pub(super) fn update_connected(&self, change: impl FnOnce(&mut Connected)) {
        self.connected.send_modify(change);
    }

    /// The session has flower's tools. Returns what was known before.
    pub(super) fn see_tools(&self) -> Option<bool> {
        let mut before = None;
        self.connected.send_if_modified(|connected| {
            before = connected.tools.replace(true);
            before != Some(true)
        });
        before
    }

    /// How the agent calls flower, as its prompts tell it.
    pub(super) fn way(&self) -> Way {
        match self.connected().tools {
            Some(false) => Way::Commands,
            Some(true) | None => Way::Tools,
        }
    }

    pub(super) fn set_connected(&self, connected: Connected) {
        self.connected.send_replace(connected);
    }

    pub(super) fn process(&self) -> Option<AgentProcess> {
        self.process.lock().expect("no panic while held").clone()
    }

    pub(super) fn set_process(&self, process: Option<AgentProcess>) {
        *self.process.lock().expect("no panic while held") = process;
    }

    /// Ends the process, within five seconds.
    pub(super) async fn end_process(&self) {
        let process = self.process.lock().expect("no panic while held").take();
        if let Some(process) = process {
            process.end().await;
        }
    }

    pub(super) fn work(&self) -> Option<ClaimedWork> {
        self.work.lock().expect("no panic while held").clone()
    }

    pub(super) fn set_work(&self, work: Option<ClaimedWork>) {
        *self.work.lock().expect("no panic while held") = work;
    }

    pub(super) fn request_refresh(&self) {
        self.refresh.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub(super) fn is_refresh_requested(&self) -> bool {
        self.refresh.load(Ordering::Relaxed)
    }

    pub(super) fn clear_refresh(&self) {
        self.refresh.store(false, Ordering::Relaxed);
    }

    /// Whether a heartbeat is due; counts it as sent.
    pub(super) fn is_heartbeat_due(&self, interval: Duration) -> bool {
        let mut last = self.last_heartbeat.lock().expect("no panic while held");
        let due = last.is_none_or(|at| at.elapsed() >= interval);
        if due {
            *last = Some(Instant::now());
        }
        due
    }

    pub(super) fn request_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits until a stop is requested.
    pub(super) async fn stop_requested(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.stop.subscribe().wait_for(|stop| *stop).await;
    }

    /// Waits until no process of the agent runs.
    pub(super) async fn wait_until_ended(&self, deadline: Duration) -> Result<(), Problem> {
        let mut ended = self.ended.subscribe();
        let waiting = ended.wait_for(|ended| *ended);
        match tokio::time::timeout(deadline, waiting).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Problem::bug(format!("agent `{}` did not end in time", self.name))),
        }
    }
}
