//! The dispatcher: what follows from what has happened, with nobody asking. It looks at how things stand, not at what it
//! remembers, so a crash costs it nothing.

use super::is_claimed;
use crate::Dispatcher;
use crate::passes;
use flower_contract::error::Problem;
use flower_core::dispatch::{self, Step};
use flower_core::landing::{State, Verdict};
use flower_core::readiness::DispatchKind;
use flower_core::{Caller, Command, Landing, Status, Topic};
use flower_store::{dispatches, ephemeral, landings, tables};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Leases end by themselves, so it looks now and then also when nothing happens.
const EVERY: Duration = Duration::from_secs(3);
/// What comes together is looked at together.
const SETTLE: Duration = Duration::from_millis(30);
/// Of one sort, in one look.
const MOST: u64 = 100;
/// After so many attempts to mend a brief in a row a person should look.
const MOST_FIXES: usize = 5;
/// Of each check's log that goes with a `fix`.
const TAIL: usize = 3 * 1024;

/// What may make a brief dispatchable, or end a dispatch.
const TOPICS: &[Topic] = &[Topic::Briefs, Topic::Dispatches, Topic::Landings, Topic::Specs];

impl Dispatcher {
    pub async fn run(self: Arc<Self>) {
        let mut changes = self.store.follow(TOPICS, SETTLE);
        if let Err(problem) = self.queue_handed_back().await {
            tracing::warn!("dispatcher, handed back: {}", problem.message);
        }
        loop {
            let pass = passes::begin("dispatcher", &self.store);
            self.look_around().await;
            drop(pass);
            // Whatever happens while it looks is reported by the next call.
            let _ = tokio::time::timeout(EVERY, changes.changed()).await;
        }
    }

    /// What was handed back when the daemon ended, before it was on its way to MAIN.
    async fn queue_handed_back(&self) -> Result<(), Problem> {
        for dispatch in self.store.read(|conn| dispatches::unqueued(conn, MOST)).await? {
            if let Err(problem) = self.queue_work(&dispatch).await {
                tracing::warn!("dispatch {} is not in the queue: {}", dispatch.number, problem.message);
            }
        }
        Ok(())
    }

    /// One that is refused, because somebody else was faster, keeps no other from its turn.
    async fn follow_up_with(&self, command: Command) {
        if let Err(problem) = self.store.execute(&Caller::system(), command).await {
            tracing::debug!("dispatcher: {}", problem.message);
        }
    }

    async fn look_around(self: &Arc<Self>) {
        for (what, done) in [
            ("leases", self.end_leases().await),
            ("auto-dispatch", self.dispatch_wanting().await),
            ("landed", self.end_landed().await),
            ("fixes", self.ask_for_fixes().await),
            ("worktrees", self.prepare_claimed().await),
        ] {
            if let Err(problem) = done {
                tracing::warn!("dispatcher, {what}: {}", problem.message);
            }
        }
    }

    /// Briefs that are planned and wait for nothing any more.
    async fn dispatch_wanting(&self) -> Result<(), Problem> {
        for brief in self.store.read(|conn| dispatches::wanting(conn, MOST)).await? {
            self.follow_up_with(Command::AutoDispatch { brief }).await;
        }
        Ok(())
    }

    /// Claims and path leases whose time is over. The rules look again, so nobody who was heard of meanwhile loses anything.
    async fn end_leases(&self) -> Result<(), Problem> {
        let moment = self.clock.moment();
        let at = moment.clone();
        let read = self.store.read(move |conn| {
            let mut over = Vec::new();
            for dispatch in dispatches::open(conn)? {
                // Whoever has claimed it lately need not have been heard of since.
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
            self.follow_up_with(Command::Dispatch { number, step }).await;
        }
        for lease in leases.iter().filter(|lease| lease.is_over(&moment)) {
            let (number, why) = (lease.number, "its time was over".to_owned());
            let over = Some(self.clock.moment());
            self.follow_up_with(Command::ReleaseLease { number, why, over }).await;
        }
        Ok(())
    }

    /// Dispatches whose briefs are in MAIN, or will never be worked on again; their tokens end with them.
    async fn end_landed(&self) -> Result<(), Problem> {
        let read = self.store.read(|conn| {
            let tokens = tables::tokens_of_ended(conn, MOST)?;
            Ok((dispatches::landed(conn, MOST)?, dispatches::pointless(conn, MOST)?, tokens))
        });
        let (landed, pointless, tokens) = read.await?;
        for number in landed {
            self.follow_up_with(Command::Dispatch { number, step: Step::Land }).await;
        }
        let pointless: BTreeMap<u64, String> = pointless.into_iter().collect();
        for (number, why) in pointless {
            let step = Step::Cancel { why: Some(why) };
            self.follow_up_with(Command::Dispatch { number, step }).await;
        }
        for id in tokens {
            self.follow_up_with(Command::RevokeToken { id }).await;
        }
        Ok(())
    }

    /// Landings that went wrong: somebody is asked to mend them, in the same worktree, with the evidence.
    async fn ask_for_fixes(&self) -> Result<(), Problem> {
        for landing in self.store.read(|conn| landings::unmended(conn, MOST)).await? {
            for &brief in &landing.briefs {
                self.ask_for_fix(&landing, brief).await?;
            }
        }
        Ok(())
    }

    async fn ask_for_fix(&self, landing: &Landing, brief: u64) -> Result<(), Problem> {
        let of = landing.number;
        let read = self.store.read(move |conn| {
            Ok((
                flower_store::briefs::state(conn, brief)?,
                dispatches::of_brief(conn, brief)?,
                landings::of_brief(conn, brief)?,
            ))
        });
        let (Some(state), known, tried) = read.await? else { return Ok(()) };
        let newer =
            tried.iter().any(|other| other.number > of && other.state != State::Cancelled && other.of.is_none());
        let asked = known.iter().any(|dispatch| dispatch.of == Some(of) || dispatch.is_open());
        if newer || asked || state.status != Status::InProgress || landing.worktree.is_none() {
            return Ok(());
        }
        let fixes = known.iter().rev().take_while(|dispatch| dispatch.kind == DispatchKind::Fix).count();
        if fixes >= MOST_FIXES {
            return self.give_up(brief, of, fixes).await;
        }
        let undone = match landing.state {
            State::RolledBack => match self.undone(landing).await? {
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
            // The profile that did the work mends it; one whose dispatch was cancelled did none.
            profile: worked.rev().find_map(|dispatch| dispatch.profile.clone()),
            of: Some(of),
            evidence: Some(self.evidence(landing, undone.as_ref())),
            ..dispatch::Request::default()
        };
        self.follow_up_with(Command::RequestDispatch(request)).await;
        Ok(())
    }

    /// The landing that took another back out of MAIN, and MAIN's branch.
    async fn undone(&self, landing: &Landing) -> Result<Option<Undone>, Problem> {
        let (of, project) = (landing.number, landing.project.clone());
        let read = self.store.read(move |conn| Ok((landings::undoing(conn, of)?, landings::main(conn, &project)?)));
        let (undoing, main) = read.await?;
        Ok(undoing.zip(main).map(|(revert, main)| Undone { revert, branch: main.branch }))
    }

    /// Asked once: while the question is open nothing more happens.
    async fn give_up(&self, brief: u64, landing: u64, fixes: usize) -> Result<(), Problem> {
        let key = format!("gave-up/{landing}");
        let of = key.clone();
        if self.store.read(move |conn| flower_store::ephemeral::get(conn, &of)).await?.is_some() {
            return Ok(());
        }
        let text = format!(
            "Landing {landing} went wrong after {fixes} attempts to mend this brief. Should it be tried again \
             (`flower dispatch {brief} --kind fix`), planned anew, or cancelled?"
        );
        self.store.execute(&Caller::system(), Command::Ask { brief, text }).await?;
        Ok(self.store.remember(key, Some(String::new())).await?)
    }

    /// What went wrong, as far as flower can tell.
    fn evidence(&self, landing: &Landing, undone: Option<&Undone>) -> String {
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
        if let Some(Undone { revert, branch }) = undone {
            if let Some(why) = &revert.why {
                text.push_str(&format!("The operator's reason: {why}\n"));
            }
            let commit = &revert.commit;
            text.push_str(&format!(
                "Its commits are in MAIN's history still, so merging them again brings nothing back; this does: \
                 `git merge origin/{branch}`, then `git revert {commit}`.\n"
            ));
        }
        if !landing.paths.is_empty() {
            text.push_str(&format!("Paths: {}\n", landing.paths.join(", ")));
        }
        for check in landing.checks.iter().filter(|check| !check.ok) {
            let log = self.merge_queue.landing_folder(number).join(&check.log);
            let tail = crate::merge_queue::log_tail(&log, TAIL as u64);
            text.push_str(&format!("\nCheck `{}` ended with {}:\n{}\n", check.name, check.code, tail.trim_end()));
        }
        text
    }

    /// Claimed, and the daemon ended before the worktree was made.
    async fn prepare_claimed(self: &Arc<Self>) -> Result<(), Problem> {
        let open = self.store.read(dispatches::open).await?;
        for dispatch in
            open.iter().filter(|dispatch| is_claimed(dispatch) && dispatch.state == dispatch::State::Claimed)
        {
            if self.may_prepare(dispatch.number) {
                let (app, number) = (self.clone(), dispatch.number);
                tokio::spawn(async move { app.prepare(number).await });
            }
        }
        Ok(())
    }
}

/// What took a landing back out.
struct Undone {
    revert: Landing,
    branch: String,
}
