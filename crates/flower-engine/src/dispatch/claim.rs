//! Claiming, and what follows: the worktree is made, and the claim is kept alive.

use super::{Marked, is_claimed};
use crate::Dispatcher;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::DispatchView;
use flower_core::chain::sha256;
use flower_core::dispatch::Step;
use flower_core::policy::{self, Right};
use flower_core::{Binding, Caller, Command};
use flower_store::{dispatches, tables};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Instrument as _;

/// By hand somebody is heard of now and then; whoever speaks MCP is heard of with every call.
pub const LEASE: Duration = Duration::from_secs(15 * 60);
/// Signs of life are written down no more often than this.
const WORTH_WRITING: Duration = Duration::from_secs(20);
/// A large checkout and its setup.
const PATIENCE: Duration = Duration::from_secs(20 * 60);
/// More than claim at the same time.
const OFFERED: u64 = 256;
const A_MOMENT: Duration = Duration::from_millis(5);
/// After its worktree could not be made.
const LATER: Duration = Duration::from_secs(60);

/// How somebody wants to claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimOptions {
    /// Names the holder.
    pub holder: Option<String>,
    /// The packet's token, where it is not the caller's own.
    pub packet: Option<String>,
    pub lease: Option<Duration>,
    /// Answer only once the worktree is ready.
    pub wait: bool,
}

impl Dispatcher {
    pub async fn claim(
        self: &Arc<Self>,
        caller: &Caller,
        number: u64,
        wish: ClaimOptions,
    ) -> Result<DispatchView, Problem> {
        let wait = wish.wait;
        self.take(caller, number, wish).await?;
        self.begin_work(number, wait).await
    }

    /// The claim itself: from here on it is theirs, whatever becomes of the worktree.
    async fn take(&self, caller: &Caller, number: u64, wish: ClaimOptions) -> Result<(), Problem> {
        let packet = match &wish.packet {
            Some(token) => Some(self.packet_of(token, number).await?),
            None => None,
        };
        let seconds = wish.lease.unwrap_or(LEASE).as_secs();
        let step = Step::Claim { holder: wish.holder, packet, seconds, moment: self.clock.moment() };
        self.store.execute(caller, Command::Dispatch { number, step }).await.map(drop)
    }

    /// What follows a claim: its worktree.
    async fn begin_work(self: &Arc<Self>, number: u64, wait: bool) -> Result<DispatchView, Problem> {
        let app = self.clone();
        let making = tokio::spawn(async move { app.prepare(number).await }.in_current_span());
        if wait {
            match tokio::time::timeout(PATIENCE, making).await {
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

    /// The oldest one that waits for anybody, and that nobody else is about to get.
    pub async fn claim_next(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        wish: ClaimOptions,
    ) -> Result<DispatchView, Problem> {
        // A worker's token is the packet of one dispatch; others are not offered to it.
        if policy::reads_own_only(caller) {
            let number = caller.run.map_or(0, |run| run.dispatch);
            policy::require_claim(caller, number, false)?;
            return self.claim(caller, number, wish).await;
        }
        policy::require_role(caller, Right::Run(0))?;
        let project = self.projects.find(choice).await?;
        let mut passed = Vec::new();
        loop {
            let of = project.clone();
            let mut waiting = self.store.read(move |conn| dispatches::waiting(conn, of.as_deref(), OFFERED)).await?;
            waiting.retain(|number| !passed.contains(number));
            if waiting.is_empty() {
                return Err(Problem::new(
                    ProblemKind::NotFound,
                    "nothing waits to be claimed",
                    "`flower dispatch list` shows what is under way; `flower dispatch BRIEF` asks for work",
                ));
            }
            let Some(offer) = Marked::first(&self.offered, &waiting) else {
                // Others are about to get all of them, or to leave one.
                tokio::time::sleep(A_MOMENT).await;
                continue;
            };
            match self.take(caller, offer.number, wish.clone()).await {
                // Somebody was faster; the next one then.
                Err(problem) if problem.kind == ProblemKind::Conflict => {}
                // Taken back a moment ago, perhaps.
                Err(problem) if problem.kind == ProblemKind::Refused => passed.push(offer.number),
                Err(problem) => return Err(problem),
                // One is enough, also if its worktree cannot be made.
                Ok(()) => return self.begin_work(offer.number, wish.wait).await,
            }
        }
    }

    /// The id of a packet's token, which must be one of this dispatch.
    async fn packet_of(&self, token: &str, number: u64) -> Result<String, Problem> {
        let hash = sha256(token.as_bytes());
        let found = self.store.read(move |conn| tables::token_by_hash(conn, &hash)).await?;
        match found {
            Some(found) if found.run == Some(Binding { dispatch: number, member: false }) => Ok(found.id),
            _ => Err(Problem::new(
                ProblemKind::Forbidden,
                format!("that token is no packet of dispatch {number}"),
                format!("copy the whole token from the packet: `flower dispatch packet {number}`"),
            )),
        }
    }

    /// Renews a claim. Written down now and then only: it is no history.
    pub async fn beat(&self, caller: &Caller, number: u64, fence: u64) -> Result<DispatchView, Problem> {
        self.store.execute(caller, Command::Heartbeat { dispatch: number, fence, moment: self.clock.moment() }).await?;
        self.show(number).await
    }

    /// Whatever the holder of a run does is a sign of life.
    pub async fn record_heartbeat(&self, caller: &Caller) {
        let (Some(run), Some(token)) = (caller.run, caller.token.as_deref()) else { return };
        {
            let mut beats = self.beats.lock().expect("no panic while held");
            beats.retain(|_, due| *due > Instant::now());
            if beats.contains_key(token) {
                return;
            }
        }
        let Ok(dispatch) = self.get(run.dispatch).await else { return };
        let Some(claim) = dispatch.claim.as_ref().filter(|_| dispatch.is_run_by(token)) else { return };
        let due = Instant::now() + WORTH_WRITING.min(Duration::from_secs(claim.seconds) / 4);
        self.beats.lock().expect("no panic while held").insert(token.to_owned(), due);
        let beat = Command::Heartbeat { dispatch: run.dispatch, fence: claim.fence, moment: self.clock.moment() };
        if let Err(problem) = self.store.execute(&Caller::system(), beat).await {
            tracing::debug!("dispatch {}: {}", run.dispatch, problem.message);
        }
    }

    /// Makes the worktree of something that was claimed, if it is not there, and records that the work has begun.
    #[tracing::instrument(name = "dispatch", skip(self))]
    pub(crate) async fn prepare(&self, number: u64) -> Result<(), Problem> {
        let under_way = Marked::first(&self.preparing, &[number]);
        let made = self.try_prepare(number).await;
        drop(under_way);
        let mut again = self.again.lock().expect("no panic while held");
        match &made {
            Ok(()) => again.remove(&number),
            Err(problem) => {
                tracing::warn!("dispatch {number}: its worktree cannot be made: {}", problem.message);
                again.insert(number, Instant::now() + LATER)
            }
        };
        made
    }

    /// Not while somebody is at it, nor soon after it went wrong.
    pub(super) fn may_prepare(&self, number: u64) -> bool {
        if self.preparing.lock().expect("no panic while held").contains(&number) {
            return false;
        }
        let again = self.again.lock().expect("no panic while held");
        again.get(&number).is_none_or(|at| *at <= Instant::now())
    }

    async fn try_prepare(&self, number: u64) -> Result<(), Problem> {
        let dispatch = self.get(number).await?;
        if !is_claimed(&dispatch) {
            return Ok(());
        }
        let base = match (&dispatch.project, &dispatch.worktree) {
            (Some(project), Some(name)) => {
                let worktree = self.worktrees.ensure(project, name, Some(dispatch.brief)).await?;
                // What follows a landing may be at it still; the work begins after that.
                let turn = self.worktrees.work_lock(project, name);
                let _one_at_a_time = turn.lock().await;
                let place = self.worktrees.require_ready(&worktree).await?;
                place.repo().tip(&place.full_branch()).await?.map(String::from)
            }
            _ => None,
        };
        let step = Step::Execute { fence: dispatch.fence, base };
        match self.store.execute(&Caller::system(), Command::Dispatch { number, step }).await {
            // Claimed by somebody else meanwhile, or handed back: theirs to prepare.
            Err(problem) if problem.kind == ProblemKind::Refused => Ok(()),
            done => done.map(drop),
        }
    }
}
