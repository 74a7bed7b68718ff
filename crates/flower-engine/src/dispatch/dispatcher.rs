//! Does what follows automatically for dispatches: expires claims, requests fixes, ends dispatches that have landed. It decides by
//! the current state and keeps no memory of its own, so a crash loses nothing.

use super::is_claimed;
use crate::Dispatcher;
use crate::passes;
use flower_contract::error::Problem;
use flower_core::dispatch::{self, Step};
use flower_core::landing::{State, Verdict};
use flower_core::readiness::DispatchKind;
use flower_core::{BriefId, Caller, Command, DispatchId, Landing, LandingId, Status, Topic};
use flower_git::{CommitId, Repo};
use flower_store::{dispatches, ephemeral, landings};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Leases expire without an event.
const POLL_INTERVAL: Duration = Duration::from_secs(3);
/// Events that arrive together are handled together.
const SETTLE_TIME: Duration = Duration::from_millis(30);
/// Rows of one kind that are handled in one pass.
const MAX_BATCH: u64 = 100;
/// After this many fixes of a brief in a row, the operator is asked.
const MAX_FIXES: usize = 5;
/// Bytes of each failed check's log in the evidence of a `fix`: its end.
const LOG_TAIL_BYTES: usize = 3 * 1024;

/// Changes that may make a brief dispatchable or end a dispatch.
const TOPICS: &[Topic] = &[Topic::Briefs, Topic::Dispatches, Topic::Landings, Topic::Specs];

impl Dispatcher {
    pub async fn run(self: Arc<Self>) {
        let mut changes = self.store.follow(TOPICS, SETTLE_TIME);
        if let Err(problem) = self.queue_handed_back().await {
            tracing::warn!("dispatcher, handed back: {}", problem.message);
        }
        loop {
            let pass = passes::begin("dispatcher", &self.store);
            self.run_once().await;
            drop(pass);
            // `changed` also reports changes that happened during `run_once`.
            let _ = tokio::time::timeout(POLL_INTERVAL, changes.changed()).await;
        }
    }

    /// Queues work that was handed back before an earlier daemon ended, but was not queued yet.
    async fn queue_handed_back(&self) -> Result<(), Problem> {
        for dispatch in self.store.read(|conn| dispatches::unqueued(conn, MAX_BATCH)).await? {
            if let Err(problem) = self.queue_work(&dispatch).await {
                tracing::warn!("dispatch {} is not in the queue: {}", dispatch.number, problem.message);
            }
        }
        Ok(())
    }

    /// Executes a command. A refusal only means that the state has changed meanwhile, and must not stop the others.
    async fn try_execute(&self, command: Command) {
        if let Err(problem) = self.store.execute(&Caller::system(), command).await {
            tracing::debug!("dispatcher: {}", problem.message);
        }
    }

    async fn run_once(self: &Arc<Self>) {
        for (what, done) in [
            ("leases", self.end_leases().await),
            ("auto-dispatch", self.auto_dispatch().await),
            ("landed", self.end_landed().await),
            ("fixes", self.request_fixes().await),
            ("worktrees", self.prepare_claimed().await),
        ] {
            if let Err(problem) = done {
                tracing::warn!("dispatcher, {what}: {}", problem.message);
            }
        }
    }

    /// Dispatches planned briefs that wait for nothing any more.
    async fn auto_dispatch(&self) -> Result<(), Problem> {
        for brief in self.store.read(|conn| dispatches::wanting(conn, MAX_BATCH)).await? {
            self.try_execute(Command::AutoDispatch { brief }).await;
        }
        Ok(())
    }

    /// Ends claims and path leases that have expired. The rules check again, so a heartbeat that arrives meanwhile counts.
    async fn end_leases(&self) -> Result<(), Problem> {
        let moment = self.clock.moment();
        let at = moment.clone();
        let read = self.store.read(move |conn| {
            let mut over = Vec::new();
            for dispatch in dispatches::open(conn)? {
                // A recent claim need not have a heartbeat yet.
                let Some(claim) = dispatch.claim.as_ref().filter(|claim| at.is_over(&claim.beat, claim.seconds)) else {
                    continue;
                };
                let heard = ephemeral::heartbeat(conn, dispatch.number)?.filter(|(fence, _)| *fence == claim.fence);
                if heard.is_none_or(|(_, beat)| at.is_over(&beat, claim.seconds)) {
                    over.push(dispatch.number);
                }
            }
            Ok((over, dispatches::leases(conn, None)?))
        });
        let (over, leases) = read.await?;
        for number in over {
            let step = Step::Expire { moment: self.clock.moment() };
            self.try_execute(Command::Dispatch { number, step }).await;
        }
        for lease in leases.iter().filter(|lease| lease.is_over(&moment)) {
            let (number, why) = (lease.number, "its time was over".to_owned());
            let over = Some(self.clock.moment());
            self.try_execute(Command::ReleaseLease { number, why, over }).await;
        }
        Ok(())
    }

    /// Ends dispatches whose briefs have landed or were cancelled, and revokes the tokens of ended dispatches.
    async fn end_landed(&self) -> Result<(), Problem> {
        let read = self.store.read(|conn| {
            let tokens = flower_store::tokens::of_ended(conn, MAX_BATCH)?;
            Ok((dispatches::landed(conn, MAX_BATCH)?, dispatches::pointless(conn, MAX_BATCH)?, tokens))
        });
        let (landed, pointless, tokens) = read.await?;
        for number in landed {
            self.try_execute(Command::Dispatch { number, step: Step::Land }).await;
        }
        let pointless: BTreeMap<DispatchId, String> = pointless.into_iter().collect();
        for (number, why) in pointless {
            let step = Step::Cancel { why: Some(why) };
            self.try_execute(Command::Dispatch { number, step }).await;
        }
        for id in tokens {
            self.try_execute(Command::RevokeToken { id }).await;
        }
        Ok(())
    }

    /// Requests a `fix` for each landing that was rejected or reverted, in the same worktree and with the evidence.
    async fn request_fixes(&self) -> Result<(), Problem> {
        for landing in self.store.read(|conn| landings::unmended(conn, MAX_BATCH)).await? {
            for &brief in &landing.briefs {
                self.request_fix(&landing, brief).await?;
            }
        }
        Ok(())
    }

    async fn request_fix(&self, landing: &Landing, brief: BriefId) -> Result<(), Problem> {
        let of = landing.number;
        let read = self.store.read(move |conn| {
            Ok((
                flower_store::briefs::state(conn, brief)?,
                dispatches::of_brief(conn, brief)?,
                landings::of_brief(conn, brief)?,
            ))
        });
        let (Some(state), known, tried) = read.await? else { return Ok(()) };
        // A newer landing of the brief supersedes this one.
        let newer =
            tried.iter().any(|other| other.number > of && other.state != State::Cancelled && other.of.is_none());
        let asked = known.iter().any(|dispatch| dispatch.of == Some(of) || dispatch.is_open());
        if newer || asked || state.status != Status::InProgress || landing.worktree.is_none() {
            return Ok(());
        }
        let fixes = known.iter().rev().take_while(|dispatch| dispatch.kind == DispatchKind::Fix).count();
        if fixes >= MAX_FIXES {
            return self.ask_operator(brief, of, fixes).await;
        }
        let undone = match landing.state {
            State::RolledBack => match self.revert_of(landing).await? {
                // A fix follows an operator's revert only where the operator asked for one.
                Some(undone) if !undone.revert.fix => return Ok(()),
                undone => undone,
            },
            _ => None,
        };
        let worked = known.iter().filter(|dispatch| dispatch.state != dispatch::State::Cancelled);
        let request = dispatch::Request {
            brief,
            kind: Some(DispatchKind::Fix),
            // The profile that did the work also fixes it. A cancelled dispatch did no work.
            profile: worked.rev().find_map(|dispatch| dispatch.profile.clone()),
            of: Some(of),
            evidence: Some(self.evidence(landing, undone.as_ref())),
            ..dispatch::Request::default()
        };
        self.try_execute(Command::RequestDispatch(request)).await;
        Ok(())
    }

    /// The landing that reverted this one, and MAIN's branch.
    async fn revert_of(&self, landing: &Landing) -> Result<Option<RevertOfLanding>, Problem> {
        let (of, project) = (landing.number, landing.project.clone());
        let read = self.store.read(move |conn| Ok((landings::undoing(conn, of)?, landings::main(conn, &project)?)));
        let (undoing, main) = read.await?;
        let Some((revert, main)) = undoing.zip(main) else { return Ok(None) };
        let repository = self.worktrees.repository(&landing.project).await?;
        // A revert usually lands as another commit than the one that was queued.
        let queued = CommitId::parse(&revert.commit)?;
        let has_queued = Repo::main(&repository).is_ancestor(&queued, &CommitId::parse(&main.tip)?).await;
        let landed_as = revert.merge_commit.clone().filter(|_| !has_queued.unwrap_or(false));
        let commit = landed_as.unwrap_or_else(|| revert.commit.clone());
        Ok(Some(RevertOfLanding { revert, commit, branch: main.branch }))
    }

    /// Asks the operator what to do, once for each landing.
    async fn ask_operator(&self, brief: BriefId, landing: LandingId, fixes: usize) -> Result<(), Problem> {
        let key = format!("gave-up/{landing}");
        let of = key.clone();
        if self.store.read(move |conn| flower_store::ephemeral::get(conn, &of)).await?.is_some() {
            return Ok(());
        }
        let text = format!(
            "Landing {landing} went wrong after {fixes} attempts to mend this brief. Should it be tried again \
             (`flower dispatch {brief} --kind fix`), planned anew, or cancelled?"
        );
        self.store.execute(&Caller::system(), Command::Ask { brief, text, help: false }).await?;
        Ok(self.store.remember(key, Some(String::new())).await?)
    }

    /// Why a landing was rejected or reverted, for the agent that fixes it.
    fn evidence(&self, landing: &Landing, undone: Option<&RevertOfLanding>) -> String {
        let number = landing.number;
        let reason = landing.reason.as_deref().unwrap_or("it went wrong");
        let mut text = match (landing.state, landing.verdict) {
            (State::RolledBack, _) => format!("Landing {number} was taken back out of MAIN: {reason}\n"),
            (_, Some(Verdict::Conflict)) => format!("Landing {number} does not merge with MAIN: {reason}\n"),
            (_, Some(Verdict::Checks)) => {
                format!("Landing {number} did not pass the checks on the merged tree: {reason}\n")
            }
            _ => format!("Landing {number} was rejected: {reason}\n"),
        };
        if let Some(RevertOfLanding { revert, commit, branch }) = undone {
            if let Some(why) = &revert.why {
                text.push_str(&format!("The operator's reason: {why}\n"));
            }
            text.push_str(&format!(
                "MAIN has the changes and their revert. If your branch does not have the changes, this brings them back: \
                 `git merge origin/{branch}`, then `git revert {commit}`.\n"
            ));
        }
        if !landing.paths.is_empty() {
            text.push_str(&format!("Paths: {}\n", landing.paths.join(", ")));
        }
        for check in landing.checks.iter().filter(|check| !check.ok) {
            let log = self.merge_queue.landing_folder(number).join(&check.log);
            let tail = crate::merge_queue::log_tail(&log, LOG_TAIL_BYTES as u64);
            text.push_str(&format!("\nCheck `{}` ended with {}:\n{}\n", check.name, check.code, tail.trim_end()));
        }
        text
    }

    /// Makes the worktrees of claimed dispatches that have none, because the daemon ended or the first try failed.
    async fn prepare_claimed(self: &Arc<Self>) -> Result<(), Problem> {
        let open = self.store.read(dispatches::open).await?;
        for dispatch in
            open.iter().filter(|dispatch| is_claimed(dispatch) && dispatch.state == dispatch::State::Claimed)
        {
            if self.may_prepare(dispatch.number) {
                let (dispatcher, number) = (self.clone(), dispatch.number);
                tokio::spawn(async move { dispatcher.prepare(number).await });
            }
        }
        Ok(())
    }
}

/// The revert of a landing, and the name of MAIN's branch.
struct RevertOfLanding {
    revert: Landing,
    /// The commit in MAIN that reverts.
    commit: String,
    branch: String,
}
