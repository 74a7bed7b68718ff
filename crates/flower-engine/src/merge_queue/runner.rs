//! Processes the merge queue: merges, checks and lands the next entry, or rejects it.

use super::check_runner;
use super::checks::{self, ChecksResult};
use super::gate::{self, GateDecision};
use super::merge::{self, Merged, NewHistory, NotMerged};
use super::objects::NewContent;
use super::{candidate_pin, pins};
use crate::MergeQueue;
use crate::failpoint;
use crate::merge_queue::VerifiedCommit;
use crate::merge_queue::main_branch::{MainLock, MainUpdate, RecoveryCause, UpdateTarget, checkout};
use crate::passes;
use crate::settings::Settings;
use crate::worktrees::facts::{self, Facts};
use crate::worktrees::landed::LandedBefore;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::landing::{Check, Source, State, Step, Verdict};
use flower_core::{Caller, Command, Landing, LandingId, Main};
use flower_git::repository::Repository;
use flower_git::{CommitId, Identity, RefUpdates, Repo};
use flower_store::landings;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The queues are also examined without a wake: what failed for a reason outside flower may succeed now.
const POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Attempts of one landing while MAIN keeps moving under it; then the next landing gets a chance.
const MAX_ATTEMPTS: u32 = 5;
/// Paths recorded with a rejected or held landing.
const MAX_PATHS: usize = 50;

/// What one attempt to land works with: the landing, MAIN as it was found, and their merge.
pub(super) struct Attempt {
    pub(super) landing: Landing,
    pub(super) repository: Repository,
    /// MAIN as the log has it.
    pub(super) main: Main,
    /// `main.tip`, onto which the landing is merged.
    pub(super) onto: CommitId,
    /// Where MAIN's branch is. Differs from `onto` only if the landing adopts commits that were made in MAIN by hand.
    pub(super) tip: CommitId,
    pub(super) merged: Merged,
    pub(super) new: NewContent,
    /// What has landed from the same worktree as other commits than its own.
    pub(super) landed_before: Vec<LandedBefore>,
    pub(super) facts: Facts,
    /// `flower.toml` as MAIN would have it after the landing.
    pub(super) settings: Settings,
    pub(super) committer: Identity,
}

/// How an attempt ended.
enum AttemptEnd {
    /// This landing has landed. After a recovery it can be another one than was attempted.
    Landed(LandingId),
    /// The landing ended or waits for the operator, and that is recorded.
    Settled,
    /// MAIN has moved since the merge was made: merge and check again.
    Retry,
    /// The landing waits until the queue is woken; the reason is empty if the queue's status says it.
    Requeued(String),
}

impl MergeQueue {
    /// Finishes what an earlier daemon left, then processes the queues of all projects until the daemon ends.
    pub async fn run(self: Arc<Self>) {
        self.recover_landings().await;
        loop {
            let pass = passes::begin("merge_queue", &self.store);
            match self.projects.list().await {
                Ok(projects) => {
                    for project in projects {
                        self.clone().start_worker(&project.name).await;
                    }
                }
                Err(problem) => tracing::warn!("the queue cannot be read: {}", problem.message),
            }
            drop(pass);
            let _ = tokio::time::timeout(POLL_INTERVAL, self.wake.notified()).await;
        }
    }

    /// Starts a task that processes a project's queue, unless one runs already or nothing can start.
    async fn start_worker(self: Arc<Self>, project: &str) {
        let Some(first) = self.next_landing(project).await else { return };
        if self.is_backing_off(project) {
            return;
        }
        if !self.busy.lock().expect("no panic while held").insert(project.to_owned()) {
            return;
        }
        let project = project.to_owned();
        let pass = passes::begin("merge_queue", &self.store);
        tokio::spawn(async move {
            let _pass = pass;
            // Dropped also after a panic, so that another worker can start.
            let _busy = BusyMark { queue: self.clone(), project: project.clone() };
            self.process_queue(&project, first).await;
        });
    }

    async fn next_landing(&self, project: &str) -> Option<LandingId> {
        match self.plan(project).await {
            Ok(plan) => plan.start.first().copied(),
            Err(problem) => {
                tracing::warn!("the queue of {project}: {}", problem.message);
                None
            }
        }
    }

    async fn process_queue(self: &Arc<Self>, project: &str, first: LandingId) {
        let mut next = Some(first);
        while let Some(number) = next {
            let (stop, stopped) = watch::channel(false);
            self.stops.lock().expect("no panic while held").insert(number, stop);
            let ended = self.process(number, &stopped).await;
            self.stops.lock().expect("no panic while held").remove(&number);
            match ended {
                Ok(true) => {
                    self.reset_backoff(project);
                    self.check_slots.landing_processed(project);
                }
                // The landing waits for something that ends with a wake.
                Ok(false) => return,
                Err(problem) => {
                    tracing::warn!("landing {number}: {}", problem.message);
                    self.requeue(number, &problem.message).await;
                    self.back_off(project);
                    return;
                }
            }
            next = self.next_landing(project).await;
        }
    }

    async fn requeue(&self, number: LandingId, why: &str) {
        let step = Step::Requeue { why: why.to_owned() };
        if let Err(problem) = self.store.execute(&Caller::system(), Command::Landing { number, step }).await {
            tracing::debug!("landing {number}: {}", problem.message);
        }
    }

    /// Processes one landing until it ends or waits. Returns whether the queue may continue with the next one.
    #[tracing::instrument(name = "landing", skip_all, fields(%number))]
    async fn process(self: &Arc<Self>, number: LandingId, stop: &watch::Receiver<bool>) -> Result<bool, Problem> {
        failpoint::here("landing.taken");
        for _ in 0..MAX_ATTEMPTS {
            match self.try_landing(number, stop).await? {
                AttemptEnd::Landed(landed) => {
                    self.after_landing(landed).await;
                    failpoint::here("landing.after");
                    return Ok(true);
                }
                AttemptEnd::Settled => return Ok(true),
                AttemptEnd::Retry => self.requeue(number, "MAIN has moved meanwhile; merged and checked again").await,
                AttemptEnd::Requeued(why) => {
                    self.requeue(number, &why).await;
                    return Ok(false);
                }
            }
        }
        self.requeue(number, "MAIN moves faster than its checks run").await;
        Ok(true)
    }

    /// One attempt: merge, gate, checks, and the update of MAIN. MAIN's lock is held while MAIN is examined and while it is
    /// updated, but not during the checks, which may take long.
    async fn try_landing(&self, number: LandingId, stop: &watch::Receiver<bool>) -> Result<AttemptEnd, Problem> {
        let landing = self.get(number).await?;
        // Cancelled, or landed by a recovery, since the queue was planned.
        if landing.state != State::Queued {
            return Ok(AttemptEnd::Settled);
        }
        // An earlier update of MAIN failed halfway in this daemon; nothing can land before it is finished.
        if self.has_journal(&landing.project) {
            let recovered = self.recover_main(&landing.project, RecoveryCause::Failure).await?;
            return Ok(recovered.map_or(AttemptEnd::Settled, AttemptEnd::Landed));
        }
        let attempt = match self.prepare(landing).await? {
            Ok(attempt) => attempt,
            Err(end) => return Ok(end),
        };
        let decision = self.gate(&attempt).await?;
        failpoint::here("landing.gated");
        if let Some(end) = self.apply_gate_decision(&attempt.landing, &decision).await? {
            return Ok(end);
        }
        let NewHistory { commits, upstream } =
            match merge::make_commits(&attempt, &self.worker_of(&attempt.landing).await?).await? {
                Ok(history) => history,
                Err(not_merged) => {
                    let Attempt { repository, landing, onto, .. } = &attempt;
                    return self.reject_unmerged(repository, landing, onto, not_merged).await;
                }
            };
        let candidate = commits.last().cloned().ok_or_else(|| Problem::bug("a landing without a commit"))?;
        let dropped = match attempt.landing.waived {
            true => Vec::new(),
            false => attempt.settings.dropped_checks(&attempt.facts.settings),
        };
        let checks = checks::planned_checks(&attempt.settings, dropped);
        // No ref leads to the candidate yet, and a `git gc` during the checks would delete it.
        if !checks.is_empty() {
            Repo::main(&attempt.repository).set_ref(&candidate_pin(number), &candidate).await?;
        }
        let step = Step::Begin { onto: attempt.onto.to_string(), merge_commit: candidate.into(), upstream };
        self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
        failpoint::here("landing.begun");
        let verified = match self.check(&attempt, &commits, &checks, stop.clone()).await? {
            ChecksResult::Passed(verified) => verified,
            ChecksResult::Stopped => return Ok(AttemptEnd::Requeued("it was stopped".to_owned())),
            ChecksResult::Failed(check) => {
                let why = failed_check(number, &check, checks::is_dropped(&check.name, &attempt.settings));
                return self.reject(&attempt.landing, Verdict::Checks, why, Vec::new(), Vec::new()).await;
            }
        };
        let lock = self.lock_main(&attempt.landing.project).await?;
        let end = self.finish(&lock, &attempt, &verified, checks.is_empty()).await?;
        if matches!(end, AttemptEnd::Landed(_)) {
            self.keep_prepared(&attempt.landing.project, &attempt.merged.tree);
        }
        Ok(end)
    }

    /// Examines MAIN, merges the landing with it and reads everything that the gate and the checks need. `Err` if the attempt
    /// ends here.
    async fn prepare(&self, landing: Landing) -> Result<Result<Attempt, AttemptEnd>, Problem> {
        let lock = self.lock_main(&landing.project).await?;
        let repository = lock.repository.clone();
        let repo = Repo::main(&repository);
        let main = self.worktrees.main_of(&landing.project).await?;
        let (onto, main_branch) = (CommitId::parse(&main.tip)?, main.branch);
        let commit = CommitId::parse(&landing.commit)?;
        let landed_before =
            self.worktrees.landed_before(&repository, &landing.project, landing.worktree_number).await?;
        // The lock is released as soon as MAIN was examined: the rest can take long, and `finish` compares again.
        let examine = async {
            let examined = self.check_main(&lock).await;
            drop(lock);
            examined
        };
        // These five do not depend on each other.
        let (merged, new, facts, committer, examined) = tokio::join!(
            merge::merge_onto(&repository, &onto, &landing, &landed_before, &main_branch),
            self.scan_new_objects(&repository, &onto, &commit),
            self.worktrees.facts_of(&landing.project),
            repo.identity(),
            examine,
        );
        let (main, status) = examined?;
        let tip = match (&main.alarm, status.tip) {
            // Adopting is how the operator settles an alarm: MAIN is where the alarm found it.
            (Some(_), Some(tip)) if landing.source == Source::Adopted => tip,
            (None, Some(tip)) => tip,
            // An alarm, or no branch at all. The queue's status names it.
            _ => return Ok(Err(AttemptEnd::Requeued(String::new()))),
        };
        // The merge also fails if the commit was lost; that is final, other errors of git may pass.
        if merged.is_err() && !repo.has_commit(&commit).await? {
            let why = format!("the commit {} is gone from the repository", landing.commit);
            return self.reject(&landing, Verdict::Nothing, why, Vec::new(), Vec::new()).await.map(Err);
        }
        let merged = match merged? {
            Ok(merged) => merged,
            Err(not_merged) => {
                return self.reject_unmerged(&repository, &landing, &onto, not_merged).await.map(Err);
            }
        };
        failpoint::here("landing.merged");
        let (new, facts, committer) = (new?, facts?, committer?);
        let settings = match merged_settings(&repository, &merged, &facts).await {
            Ok(settings) => settings,
            // A `flower.toml` that cannot be read must not land: no later landing could be checked by it.
            Err(problem) => {
                let paths = vec!["flower.toml".to_owned()];
                return self.reject(&landing, Verdict::Gate, problem.message, paths, Vec::new()).await.map(Err);
            }
        };
        let attempt =
            Attempt { landing, repository, main, onto, tip, merged, new, landed_before, facts, settings, committer };
        Ok(Ok(attempt))
    }

    /// Under MAIN's lock: compares MAIN with what the attempt began with, moves it and records the landing.
    async fn finish(
        &self,
        lock: &MainLock,
        attempt: &Attempt,
        verified: &VerifiedCommit,
        unchecked: bool,
    ) -> Result<AttemptEnd, Problem> {
        let Attempt { landing, main, tip, merged, .. } = attempt;
        let number = landing.number;
        let adopting = landing.source == Source::Adopted;
        // The landing may have been cancelled during the checks.
        if self.get(number).await?.state != State::Checking {
            return Ok(AttemptEnd::Settled);
        }
        let (now, tip_now) = if unchecked {
            // No time has passed since MAIN was examined, so the slow `git status` is not repeated. What could have changed is
            // covered: git moves the branch only from `tip`, and only files that equal the old commit are replaced.
            let is_checked_out = facts::head_branch(&lock.repository).as_deref() == Some(main.branch.as_str());
            let tip_now = (is_checked_out || adopting).then(|| tip.clone());
            (self.worktrees.main_of(&lock.project).await?, tip_now)
        } else {
            let (now, status) = self.check_main(lock).await?;
            (now, status.tip)
        };
        if now.frozen.is_some() {
            return Ok(AttemptEnd::Requeued("the queue was frozen during its checks".to_owned()));
        }
        // The checks ran on a merge with another MAIN.
        if now.tip != main.tip || tip_now.as_ref() != Some(tip) {
            return Ok(AttemptEnd::Retry);
        }
        if now.alarm.is_some() && !adopting {
            return Ok(AttemptEnd::Requeued(String::new()));
        }
        // The gate has looked before the checks; a file may have appeared meanwhile.
        if let Some((why, blocking)) = gate::blocked_by_untracked_files(attempt).await? {
            return self.reject(landing, Verdict::Gate, why, blocking, Vec::new()).await;
        }
        // The checkout starts from the branch, which is ahead of the recorded tip when commits are adopted.
        let from_tip;
        let changes = if *tip == attempt.onto {
            &merged.changes
        } else {
            from_tip = checkout::changes(&lock.repository, tip, verified.commit()).await?;
            &from_tip
        };
        if self.move_main(lock, &now, tip, &UpdateTarget::Verified(verified), changes).await? == MainUpdate::Conflict {
            return Ok(AttemptEnd::Retry);
        }
        let (onto, merge_commit) = (main.tip.clone(), verified.commit().to_string());
        let step = Step::Land { onto, merge_commit, note: verified.note(), commands: verified.commands() };
        self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
        failpoint::here("landing.recorded");
        self.close_journal(&lock.project);
        Ok(AttemptEnd::Landed(number))
    }

    /// Rejects the landing, or holds it for the operator's approval, as the gate has decided. `None` if it passes.
    async fn apply_gate_decision(
        &self,
        landing: &Landing,
        decision: &GateDecision,
    ) -> Result<Option<AttemptEnd>, Problem> {
        let paths: Vec<String> = decision.paths.iter().take(MAX_PATHS).cloned().collect();
        if !decision.refused.is_empty() {
            let why = decision.refused.join("; ");
            return self.reject(landing, Verdict::Gate, why, paths, Vec::new()).await.map(Some);
        }
        if !decision.held.is_empty() && !landing.approved {
            let step = Step::Hold { reasons: decision.held.clone(), paths };
            self.store.execute(&Caller::system(), Command::Landing { number: landing.number, step }).await?;
            return Ok(Some(AttemptEnd::Settled));
        }
        Ok(None)
    }

    async fn reject_unmerged(
        &self,
        repository: &Repository,
        landing: &Landing,
        onto: &CommitId,
        not_merged: NotMerged,
    ) -> Result<AttemptEnd, Problem> {
        let names = |paths: &[OsString]| -> Vec<String> {
            paths.iter().take(MAX_PATHS).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        match not_merged {
            NotMerged::NothingNew => {
                let why = "MAIN has all of it already".to_owned();
                self.reject(landing, Verdict::Nothing, why, Vec::new(), Vec::new()).await
            }
            NotMerged::UntouchedPaths { paths } => {
                let why =
                    format!("merging it would change files that the branch has not touched: {}", paths.join(", "));
                self.reject(landing, Verdict::Gate, why, paths, Vec::new()).await
            }
            NotMerged::Conflict { paths, base } => {
                // Landings that changed the same paths since the branch began help to settle the conflict.
                let commits =
                    merge::commits_touching(repository, base.as_ref(), onto, &paths).await.unwrap_or_default();
                let mut landed_there = Vec::new();
                for commit in commits {
                    let of = landing.project.clone();
                    let read = self.store.read(move |conn| landings::by_merge_commit(conn, &of, commit.as_str()));
                    let found = read.await?;
                    landed_there.extend(found.map(|landing| (landing.number, landing.title)));
                }
                let there: Vec<String> =
                    landed_there.iter().take(3).map(|(number, title)| format!("landing {number} ({title})")).collect();
                let since = if there.is_empty() {
                    String::new()
                } else {
                    format!("; since then {} changed it", there.join(" and "))
                };
                let names = names(&paths);
                let next = match (&landing.worktree, landing.source) {
                    (Some(worktree), _) => {
                        format!(
                            "; merge MAIN there: `flower worktree sync {worktree}`, settle it, commit, and land again"
                        )
                    }
                    (None, Source::Upstream) => "; settle it in a worktree: `flower main settle`".to_owned(),
                    (None, _) => String::new(),
                };
                let why = format!("it does not merge with MAIN in {}{since}{next}", names.join(", "));
                let landed_there = landed_there.into_iter().map(|(number, _)| number).collect();
                self.reject(landing, Verdict::Conflict, why, names, landed_there).await
            }
        }
    }

    async fn reject(
        &self,
        landing: &Landing,
        verdict: Verdict,
        why: String,
        paths: Vec<String>,
        landed_there: Vec<LandingId>,
    ) -> Result<AttemptEnd, Problem> {
        let step = Step::Reject { verdict, why, paths, landed_there };
        let rejected = self.store.execute(&Caller::system(), Command::Landing { number: landing.number, step }).await;
        match rejected {
            Ok(_) => {}
            // The landing was cancelled meanwhile.
            Err(problem) if problem.kind == ProblemKind::Refused => return Ok(AttemptEnd::Settled),
            Err(problem) => return Err(problem),
        }
        self.unpin(landing).await;
        Ok(AttemptEnd::Settled)
    }

    /// Deletes the refs that kept the commits of a landing, which has ended, from `git gc`.
    pub(super) async fn unpin(&self, landing: &Landing) {
        let Ok(repository) = self.worktrees.repository(&landing.project).await else { return };
        let mut updates = RefUpdates::new();
        pins(landing.number).iter().for_each(|pin| updates.delete(pin));
        if let Err(error) = Repo::main(&repository).update_refs(updates).await {
            tracing::debug!("landing {}: {error}", landing.number);
        }
    }

    /// Finishes what was under way when flower ended: a landing whose commit is on MAIN is recorded, all others are queued again.
    async fn recover_landings(self: &Arc<Self>) {
        let projects = self.projects.list().await.unwrap_or_default();
        for project in projects {
            self.recover_landings_of(&project.name, RecoveryCause::Restart).await;
        }
        crate::worktrees::reclaim(&self.home, &self.home.candidates());
        crate::worktrees::reclaim(&self.home, &self.home.check_runs());
    }
}

impl MergeQueue {
    /// Finishes or queues again what was under way in a project when its daemon ended.
    pub(crate) async fn recover_landings_of(self: &Arc<Self>, project: &str, cause: RecoveryCause) {
        match self.recover_main(project, cause).await {
            Ok(Some(landed)) => {
                if let Ok(landing) = self.get(landed).await {
                    self.unpin(&landing).await;
                }
            }
            Ok(None) => {}
            Err(problem) => return tracing::warn!("MAIN of {project}: {}", problem.message),
        }
        let of = project.to_owned();
        let open = self.store.read(move |conn| landings::open(conn, Some(&of))).await.unwrap_or_default();
        for landing in open.into_iter().filter(|landing| landing.state == State::Checking) {
            self.requeue(landing.number, "flower ended during its checks").await;
        }
        self.follow_up(project);
    }

    /// Keeps the queue of a project from starting, and MAIN from being examined or moved, until the pause is dropped. Fails if a
    /// landing, or an examination or a change of MAIN, is under way and does not end soon.
    pub(crate) async fn pause(self: &Arc<Self>, project: &str) -> Result<QueuePause, Problem> {
        /// An attempt that only finds out that nothing can land takes less.
        const TIMEOUT: Duration = Duration::from_secs(5);
        const POLL_INTERVAL: Duration = Duration::from_millis(20);
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while !self.busy.lock().expect("no panic while held").insert(project.to_owned()) {
            if tokio::time::Instant::now() > deadline {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("a landing of `{project}` is under way"),
                    format!("wait until it has ended, or cancel it: `flower queue --project {project}`"),
                ));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let busy = BusyMark { queue: self.clone(), project: project.to_owned() };
        match tokio::time::timeout_at(deadline, self.main_locks.of(project).lock_owned()).await {
            Ok(main) => Ok(QueuePause { _main: main, _busy: busy }),
            Err(_) => Err(Problem::new(
                ProblemKind::Conflict,
                format!("MAIN of `{project}` is being examined or changed"),
                "try again when that has ended",
            )),
        }
    }
}

/// While it lives, no landing of its project starts, and MAIN is neither examined nor moved.
pub(crate) struct QueuePause {
    _main: tokio::sync::OwnedMutexGuard<()>,
    _busy: BusyMark,
}

/// Marks a project's queue as being processed, until it is dropped.
struct BusyMark {
    queue: Arc<MergeQueue>,
    project: String,
}

impl Drop for BusyMark {
    fn drop(&mut self) {
        self.queue.busy.lock().expect("no panic while held").remove(&self.project);
        // A landing that was queued since the last plan found the project busy.
        self.queue.wake();
    }
}

/// Why a landing is rejected for a failed check. `is_dropped`: MAIN has the check, and the landing removes or changes it.
fn failed_check(number: LandingId, check: &Check, is_dropped: bool) -> String {
    let mut why =
        format!("{}, on the merge with MAIN; `flower queue log {number} {}`", check_runner::failure(check), check.name);
    if is_dropped {
        why.push_str(
            "; MAIN has it now, and the landing removes or changes it: if it must go although it fails, land again and \
             `flower queue approve L --waive-checks`",
        );
    }
    why
}

/// `flower.toml` as MAIN would have it after the landing.
pub(super) async fn merged_settings(
    repository: &Repository,
    merged: &Merged,
    facts: &Facts,
) -> Result<Settings, Problem> {
    if !merged.changes.iter().any(|change| change.path == "flower.toml") {
        return Ok(facts.settings.clone());
    }
    match Repo::main(repository).read_file(&merged.tree, "flower.toml").await? {
        Some(text) => Settings::parse(&String::from_utf8_lossy(&text)),
        None => Ok(Settings::default()),
    }
}
