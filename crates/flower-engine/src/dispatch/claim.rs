//! Claims dispatches, makes their worktrees and renews the claims.

use super::{Reservation, is_claimed};
use crate::Dispatcher;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{BeatView, DispatchView};
use flower_core::chain::sha256;
use flower_core::dispatch::Step;
use flower_core::policy::{self, Right};
use flower_core::{Binding, Caller, Command, DispatchId, Fence};
use flower_store::dispatches;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Instrument as _;

/// How long a claim lasts without a heartbeat. An agent over MCP sends one with every call; a person sends them by hand, now and then.
pub const LEASE: Duration = Duration::from_secs(15 * 60);
/// Heartbeats of one token are stored no more often than this.
const MIN_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(20);
/// Enough for a large checkout and its setup.
const WORKTREE_TIMEOUT: Duration = Duration::from_secs(20 * 60);
/// Dispatches that are read at once; more than callers claim at the same time.
const MAX_OFFERED: u64 = 256;
const OFFER_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Pause after a worktree could not be made.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// What a caller may choose for a claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimOptions {
    /// Names the holder.
    pub holder: Option<String>,
    /// The packet's token, if it is not the caller's own.
    pub packet: Option<String>,
    pub lease: Option<Duration>,
    /// Wait until the worktree is ready.
    pub wait: bool,
}

impl Dispatcher {
    pub async fn claim(
        self: &Arc<Self>,
        caller: &Caller,
        number: DispatchId,
        options: ClaimOptions,
    ) -> Result<DispatchView, Problem> {
        let wait = options.wait;
        self.take_claim(caller, number, options).await?;
        self.prepare_worktree(number, wait).await
    }

    /// Records the claim. It holds even if the worktree cannot be made.
    async fn take_claim(&self, caller: &Caller, number: DispatchId, options: ClaimOptions) -> Result<(), Problem> {
        let packet = match &options.packet {
            Some(token) => Some(self.packet_of(token, number).await?),
            None => None,
        };
        let seconds = options.lease.unwrap_or(LEASE).as_secs();
        let step = Step::Claim { holder: options.holder, packet, seconds, moment: self.clock.moment() };
        self.store.execute(caller, Command::Dispatch { number, step }).await.map(drop)
    }

    /// Makes the worktree of a claimed dispatch.
    async fn prepare_worktree(self: &Arc<Self>, number: DispatchId, wait: bool) -> Result<DispatchView, Problem> {
        let dispatcher = self.clone();
        let making = tokio::spawn(async move { dispatcher.prepare(number).await }.in_current_span());
        if wait {
            match tokio::time::timeout(WORKTREE_TIMEOUT, making).await {
                Ok(Ok(made)) => made?,
                Ok(Err(error)) => return Err(Problem::bug(error.to_string())),
                Err(_) => {
                    return Err(Problem::new(
                        ProblemKind::Timeout,
                        "its worktree is not ready yet",
                        format!("look again later: `flower dispatch show {number}`"),
                    ));
                }
            }
        }
        self.show(number).await
    }

    /// Claims the oldest waiting dispatch that no concurrent call is about to claim.
    pub async fn claim_next(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        options: ClaimOptions,
    ) -> Result<DispatchView, Problem> {
        // The token of a worker is the packet of one dispatch, and can claim no other.
        if policy::reads_own_only(caller) {
            let number = caller.run.map(|run| run.dispatch).unwrap_or_default();
            policy::require_claim(caller, number, false)?;
            return self.claim(caller, number, options).await;
        }
        policy::require_role(caller, Right::Run(DispatchId(0)))?;
        let project = self.projects.find(choice).await?;
        let mut passed = Vec::new();
        loop {
            let of = project.clone();
            let mut waiting =
                self.store.read(move |conn| dispatches::waiting(conn, of.as_deref(), MAX_OFFERED)).await?;
            waiting.retain(|number| !passed.contains(number));
            if waiting.is_empty() {
                return Err(Problem::new(
                    ProblemKind::NotFound,
                    "nothing waits to be claimed",
                    "`flower dispatch list` shows what is under way; `flower dispatch BRIEF` asks for work",
                ));
            }
            let Some(offer) = Reservation::first(&self.offered, &waiting) else {
                // Concurrent calls are about to claim all of them; one of these calls may fail.
                tokio::time::sleep(OFFER_POLL_INTERVAL).await;
                continue;
            };
            match self.take_claim(caller, offer.number, options.clone()).await {
                // Another caller was faster: try the next one.
                Err(problem) if problem.kind == ProblemKind::Conflict => {}
                // It may just have been cancelled.
                Err(problem) if problem.kind == ProblemKind::Refused => passed.push(offer.number),
                Err(problem) => return Err(problem),
                // The claim counts even if its worktree cannot be made.
                Ok(()) => return self.prepare_worktree(offer.number, options.wait).await,
            }
        }
    }

    /// The id of a packet's token. Fails unless the packet is one of this dispatch.
    async fn packet_of(&self, token: &str, number: DispatchId) -> Result<String, Problem> {
        let hash = sha256(token.as_bytes());
        let found = self.store.read(move |conn| flower_store::tokens::by_hash(conn, &hash)).await?;
        match found {
            Some(found) if found.run == Some(Binding { dispatch: number, member: false }) => Ok(found.id),
            _ => Err(Problem::new(
                ProblemKind::Forbidden,
                format!("that token is no packet of dispatch {number}"),
                format!("copy the whole token from the packet: `flower dispatch packet {number}`"),
            )),
        }
    }

    /// Renews a claim. Heartbeats are not part of the log.
    pub async fn beat(&self, caller: &Caller, number: DispatchId, fence: Fence) -> Result<BeatView, Problem> {
        self.store.execute(caller, Command::Heartbeat { dispatch: number, fence, moment: self.clock.moment() }).await?;
        let unread = self.messages.unread(caller, false).await?;
        let unread = (unread.messages.len() + unread.news.len()) as u64;
        Ok(BeatView { dispatch: self.show(number).await?, unread })
    }

    /// Renews the claim of a caller that holds one. Every request of the holder is a heartbeat.
    pub async fn record_heartbeat(&self, caller: &Caller) {
        let (Some(run), Some(token)) = (caller.run, caller.token.as_deref()) else { return };
        {
            let mut heartbeat_due = self.heartbeat_due.lock().expect("no panic while held");
            heartbeat_due.retain(|_, due| *due > Instant::now());
            if heartbeat_due.contains_key(token) {
                return;
            }
        }
        let Ok(dispatch) = self.get(run.dispatch).await else { return };
        let Some(claim) = dispatch.claim.as_ref().filter(|_| dispatch.is_run_by(token)) else { return };
        let due = Instant::now() + MIN_HEARTBEAT_INTERVAL.min(Duration::from_secs(claim.seconds) / 4);
        self.heartbeat_due.lock().expect("no panic while held").insert(token.to_owned(), due);
        let beat = Command::Heartbeat { dispatch: run.dispatch, fence: claim.fence, moment: self.clock.moment() };
        if let Err(problem) = self.store.execute(&Caller::system(), beat).await {
            tracing::debug!("dispatch {}: {}", run.dispatch, problem.message);
        }
    }

    /// Makes the worktree of a claimed dispatch, if it does not exist, and records that the work has begun.
    #[tracing::instrument(name = "dispatch", skip_all, fields(%number))]
    pub(crate) async fn prepare(&self, number: DispatchId) -> Result<(), Problem> {
        let under_way = Reservation::first(&self.preparing, &[number]);
        let made = self.try_prepare(number).await;
        drop(under_way);
        let mut retry_at = self.retry_at.lock().expect("no panic while held");
        match &made {
            Ok(()) => retry_at.remove(&number),
            Err(problem) => {
                tracing::warn!("dispatch {number}: its worktree cannot be made: {}", problem.message);
                retry_at.insert(number, Instant::now() + RETRY_INTERVAL)
            }
        };
        made
    }

    /// False while another task makes the worktree, and for some time after that failed.
    pub(super) fn may_prepare(&self, number: DispatchId) -> bool {
        if self.preparing.lock().expect("no panic while held").contains(&number) {
            return false;
        }
        let retry_at = self.retry_at.lock().expect("no panic while held");
        retry_at.get(&number).is_none_or(|at| *at <= Instant::now())
    }

    async fn try_prepare(&self, number: DispatchId) -> Result<(), Problem> {
        let dispatch = self.get(number).await?;
        if !is_claimed(&dispatch) {
            return Ok(());
        }
        let base = match (&dispatch.project, &dispatch.worktree) {
            (Some(project), Some(name)) => {
                let worktree = self.worktrees.ensure(project, name, Some(dispatch.brief)).await?;
                // Waits until the sync after a landing has finished in this worktree.
                let lock = self.worktrees.work_lock(project, name);
                let _one_at_a_time = lock.lock().await;
                let place = self.worktrees.require_ready(&worktree).await?;
                place.repo().tip(&place.full_branch()).await?.map(String::from)
            }
            _ => None,
        };
        let step = Step::Execute { fence: dispatch.fence, base };
        match self.store.execute(&Caller::system(), Command::Dispatch { number, step }).await {
            // The claim has ended meanwhile. A new holder prepares the worktree again.
            Err(problem) if problem.kind == ProblemKind::Refused => Ok(()),
            done => done.map(drop),
        }
    }
}
