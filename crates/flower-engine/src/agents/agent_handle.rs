//! An agent as it is at this moment: observed, not recorded, with the evidence and its age.

use super::process::Process;
use super::transcript::Transcript;
use crate::notify::ChangeHints;
use crate::terminal::Terminal;
use flower_contract::error::Problem;
pub use flower_contract::view::AgentState as State;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// What an agent is told beside its work. Why is in the log, or the daemon ends.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Leave,
}

/// What it runs as.
#[derive(Clone)]
pub(super) enum AgentProcess {
    Piped(Arc<Process>),
    Shown(Arc<Terminal>),
}

impl AgentProcess {
    pub(super) fn pid(&self) -> u32 {
        match self {
            AgentProcess::Piped(process) => process.pid,
            AgentProcess::Shown(terminal) => terminal.pid(),
        }
    }

    pub(super) async fn ended(&self) -> i32 {
        match self {
            AgentProcess::Piped(process) => process.ended().await,
            AgentProcess::Shown(terminal) => terminal.ended().await,
        }
    }

    pub(super) async fn end(&self) {
        match self {
            AgentProcess::Piped(process) => process.end().await,
            AgentProcess::Shown(terminal) => terminal.stop().await,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) state: State,
    pub(super) evidence: String,
    /// When the state was last another one.
    pub(super) since: String,
    pub(super) heard: Instant,
    pub(super) context: Option<(u64, u64)>,
}

/// What it works on, and as whom.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) dispatch: u64,
    pub(super) fence: u64,
    pub(super) lead: bool,
    pub(super) token: String,
}

pub struct AgentHandle {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) transcript: Arc<Transcript>,
    /// Something may have happened that it waits for.
    pub(super) wake: Notify,
    pub(super) order: watch::Sender<Option<Order>>,
    pub(super) over: watch::Sender<bool>,
    observed: Mutex<Observed>,
    body: Mutex<Option<AgentProcess>>,
    work: Mutex<Option<Work>>,
    refresh: AtomicBool,
    beaten: Mutex<Option<Instant>>,
    hints: ChangeHints,
}

impl AgentHandle {
    pub(super) fn new(number: u64, name: String, transcript: Arc<Transcript>, hints: ChangeHints) -> AgentHandle {
        let observed = Observed {
            state: State::Starting,
            evidence: "it is being started".to_owned(),
            since: crate::now(),
            heard: Instant::now(),
            context: None,
        };
        AgentHandle {
            number,
            name,
            transcript,
            wake: Notify::new(),
            order: watch::Sender::new(None),
            over: watch::Sender::new(false),
            observed: Mutex::new(observed),
            body: Mutex::new(None),
            work: Mutex::new(None),
            refresh: AtomicBool::new(false),
            beaten: Mutex::new(None),
            hints,
        }
    }

    pub(super) fn see(&self, state: State, evidence: &str) {
        let evidence = self.transcript.masked(evidence);
        let mut observed = self.observed.lock().expect("no panic while held");
        if observed.state != state {
            observed.since = crate::now();
        }
        (observed.state, observed.evidence) = (state, evidence);
        self.hints.publish(ChangeHints::AGENTS);
    }

    pub(super) fn observed(&self) -> Observed {
        self.observed.lock().expect("no panic while held").clone()
    }

    /// It has said something.
    pub(super) fn heard(&self) {
        let mut observed = self.observed.lock().expect("no panic while held");
        observed.heard = Instant::now();
        if observed.state == State::Unknown {
            observed.state = State::Working;
            observed.since = crate::now();
            "it was heard of again".clone_into(&mut observed.evidence);
            self.hints.publish(ChangeHints::AGENTS);
        }
    }

    pub(super) fn quiet_for(&self) -> Duration {
        self.observed.lock().expect("no panic while held").heard.elapsed()
    }

    pub(super) fn fills(&self, used: u64, size: u64) {
        self.observed.lock().expect("no panic while held").context = Some((used, size));
        self.hints.publish(ChangeHints::AGENTS);
    }

    pub(super) fn context(&self) -> Option<(u64, u64)> {
        self.observed.lock().expect("no panic while held").context
    }

    pub(super) fn empty_context(&self) {
        self.observed.lock().expect("no panic while held").context = None;
    }

    pub(super) fn body(&self) -> Option<AgentProcess> {
        self.body.lock().expect("no panic while held").clone()
    }

    pub(super) fn set_body(&self, body: Option<AgentProcess>) {
        *self.body.lock().expect("no panic while held") = body;
    }

    /// Ends what runs, within five seconds.
    pub(super) async fn end_body(&self) {
        let body = self.body.lock().expect("no panic while held").take();
        if let Some(body) = body {
            body.end().await;
        }
    }

    pub(super) fn work(&self) -> Option<Work> {
        self.work.lock().expect("no panic while held").clone()
    }

    pub(super) fn set_work(&self, work: Option<Work>) {
        *self.work.lock().expect("no panic while held") = work;
    }

    pub(super) fn want_refresh(&self) {
        self.refresh.store(true, Ordering::Relaxed);
        self.wake.notify_one();
    }

    pub(super) fn refresh_wanted(&self) -> bool {
        self.refresh.load(Ordering::Relaxed)
    }

    pub(super) fn clear_refresh(&self) {
        self.refresh.store(false, Ordering::Relaxed);
    }

    /// Whether its claim is to be renewed now.
    pub(super) fn is_beat_due(&self, every: Duration) -> bool {
        let mut beaten = self.beaten.lock().expect("no panic while held");
        let due = beaten.is_none_or(|at| at.elapsed() >= every);
        if due {
            *beaten = Some(Instant::now());
        }
        due
    }

    pub(super) async fn ordered(&self) -> Order {
        let mut orders = self.order.subscribe();
        match orders.wait_for(Option::is_some).await.ok().and_then(|order| order.clone()) {
            Some(order) => order,
            None => std::future::pending().await,
        }
    }

    /// Waits until nothing of it runs any more.
    pub(super) async fn until_over(&self, deadline: Duration) -> Result<(), Problem> {
        let mut over = self.over.subscribe();
        let waiting = over.wait_for(|over| *over);
        match tokio::time::timeout(deadline, waiting).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Problem::bug(format!("agent `{}` did not end in time", self.name))),
        }
    }
}
