//! Processes the merge queue: merges, checks and lands the next entry, or rejects it.

use super::checks::{self, Job, Outcome};
use super::gate::GateDecision;
use super::merge::{self, Merged, NotMerged};
use super::{candidate_pin, pins};
use crate::MergeQueue;
use crate::failpoint;
use crate::merge_queue::main_branch::{MainLock, Moved, Since, Target, checkout};
use crate::passes;
use crate::settings::Settings;
use crate::worktrees::facts::{self, Facts};
use flower_contract::error::{Problem, ProblemKind};
use flower_core::landing::{Source, State, Step, Verdict};
use flower_core::{Caller, Command, Landing, Main};
use flower_git::repository::Repository;
use flower_git::{CommitId, RefUpdates, Repo};
use flower_store::landings;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Even without a call: a machine that could not do it may be able to now.
const EVERY: Duration = Duration::from_secs(5);
/// As often as MAIN may move under a landing before it lets others pass.
const TRIES: u32 = 5;

/// How a landing got on.
enum End {
    Landed,
    /// What was left unfinished is finished; it may have been this one.
    Recovered,
    /// Recorded; nothing more to do now.
    Settled,
    /// MAIN is elsewhere by now: merge and check again.
    Retry,
    /// Stopped by hand, or frozen meanwhile.
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
                        self.clone().begin(&project.name).await;
                    }
                }
                Err(problem) => tracing::warn!("the queue cannot be read: {}", problem.message),
            }
            drop(pass);
            let _ = tokio::time::timeout(EVERY, self.wake.notified()).await;
        }
    }

    /// Starts working a project's queue, unless somebody is at it.
    async fn begin(self: Arc<Self>, project: &str) {
        let starts = match self.plan(project).await {
            Ok(plan) => plan.start,
            Err(problem) => return tracing::warn!("the queue of {project}: {}", problem.message),
        };
        if starts.is_empty() || self.rests(project) {
            return;
        }
        if !self.busy.lock().expect("no panic while held").insert(project.to_owned()) {
            return;
        }
        let project = project.to_owned();
        let pass = passes::begin("merge_queue", &self.store);
        tokio::spawn(async move {
            let _pass = pass;
            // Ends also when something panics, and others take over.
            let _busy = Busy { app: self.clone(), project: project.clone() };
            self.work_queue(&project).await;
        });
    }

    async fn work_queue(self: &Arc<Self>, project: &str) {
        loop {
            let next = match self.plan(project).await {
                Ok(plan) => plan.start.first().copied(),
                Err(problem) => return tracing::warn!("the queue of {project}: {}", problem.message),
            };
            let Some(number) = next else { return };
            let (stop, stopped) = watch::channel(false);
            self.stops.lock().expect("no panic while held").insert(number, stop);
            let ended = self.process(number, &stopped).await;
            self.stops.lock().expect("no panic while held").remove(&number);
            match ended {
                Ok(true) => self.go_on(project),
                // It waits for something that only the next wake can bring.
                Ok(false) => return,
                Err(problem) => {
                    tracing::warn!("landing {number}: {}", problem.message);
                    self.requeue(number, &problem.message).await;
                    self.rest(project);
                    return;
                }
            }
        }
    }

    async fn requeue(&self, number: u64, why: &str) {
        let step = Step::Requeue { why: why.to_owned() };
        if let Err(problem) = self.store.execute(&Caller::system(), Command::Landing { number, step }).await {
            tracing::debug!("landing {number}: {}", problem.message);
        }
    }

    /// One landing, from the queue to its end. Whether the queue may go on with the next one.
    #[tracing::instrument(name = "landing", skip(self, stop))]
    async fn process(self: &Arc<Self>, number: u64, stop: &watch::Receiver<bool>) -> Result<bool, Problem> {
        failpoint::here("landing.taken");
        for _ in 0..TRIES {
            match self.try_landing(number, stop).await? {
                End::Landed => {
                    self.after_landing(number).await;
                    failpoint::here("landing.after");
                    return Ok(true);
                }
                End::Settled => return Ok(true),
                End::Recovered => {
                    self.after_landing(number).await;
                    return Ok(true);
                }
                End::Retry => self.requeue(number, "MAIN has moved meanwhile; merged and checked again").await,
                End::Requeued(why) => {
                    self.requeue(number, &why).await;
                    return Ok(false);
                }
            }
        }
        self.requeue(number, "MAIN moves faster than its checks run").await;
        Ok(true)
    }

    async fn try_landing(&self, number: u64, stop: &watch::Receiver<bool>) -> Result<End, Problem> {
        let landing = self.get(number).await?;
        if landing.state != State::Queued {
            return Ok(End::Settled);
        }
        if self.is_moving(&landing.project) {
            self.recover_main(&landing.project, Since::Trouble).await?;
            return Ok(End::Recovered);
        }
        let lock = self.lock_main(&landing.project).await?;
        let repository = lock.repository.clone();
        let repo = Repo::main(&repository);
        let onto = CommitId::parse(&self.worktrees.main_of(&landing.project).await?.tip)?;
        let commit = CommitId::parse(&landing.commit)?;
        // MAIN is for others again as soon as it was looked at: the rest can take long.
        let look = async {
            let looked = self.check_main(&lock).await;
            drop(lock);
            looked
        };
        // Nothing of this depends on the others.
        let (merged, found, facts, identity, looked) = tokio::join!(
            merge::merge_onto(&repository, &onto, &landing),
            self.inspect(&repository, &onto, &commit),
            self.worktrees.facts_of(&landing.project),
            repo.identity(),
            look,
        );
        let (main, seen) = looked?;
        let adopting = landing.source == Source::Adopted;
        let old = match (&main.alarm, seen.tip) {
            (Some(_), Some(tip)) if adopting => tip,
            (None, Some(tip)) => tip,
            // The policy says in words what it waits for.
            _ => return Ok(End::Requeued(String::new())),
        };
        if merged.is_err() && !repo.has_commit(&commit).await? {
            let why = format!("the commit {} is gone from the repository", landing.commit);
            return self.reject(&landing, Verdict::Nothing, why, Vec::new(), Vec::new()).await;
        }
        let merged = match merged? {
            Ok(merged) => merged,
            Err(not) => return self.not_merged(&repository, &landing, &onto, not).await,
        };
        failpoint::here("landing.merged");
        let (found, facts, identity) = (found?, facts?, identity?);
        let settings = match settings_of(&repository, &merged, &facts).await {
            Ok(settings) => settings,
            Err(problem) => {
                return self.reject(&landing, Verdict::Gate, problem.message, vec!["flower.toml".into()], vec![]).await;
            }
        };
        let decision = self.gate(&repository, &landing, &merged, &settings, &facts, &found).await?;
        failpoint::here("landing.gated");
        if let Some(end) = self.apply_gate_decision(&landing, &decision).await? {
            return Ok(end);
        }
        let history = (settings.land.history, found.subjects.as_slice());
        let made = merge::commits(&repository, &landing, &onto, &merged, history, &identity).await?;
        let commits = match made {
            Ok(commits) => commits,
            Err(not) => return self.not_merged(&repository, &landing, &onto, not).await,
        };
        let candidate = commits.last().cloned().ok_or_else(|| Problem::bug("a landing without a commit"))?;
        // Nothing else leads to it yet, and somebody may tidy up while it is checked.
        let dropped = if landing.waived { Vec::new() } else { settings.dropped_checks(&facts.settings) };
        if !settings.checks.0.is_empty() || !dropped.is_empty() {
            repo.set_ref(&candidate_pin(number), &candidate).await?;
        }
        let step = Step::Begin { onto: onto.to_string(), merge_commit: candidate.into() };
        self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
        failpoint::here("landing.begun");
        let checks = checks::planned(&settings, dropped);
        let job = Job {
            repository: &repository,
            landing: &landing,
            commits: &commits,
            facts: &facts,
            settings: &settings,
            checks: &checks,
        };
        let verified = match self.check(&job, stop.clone()).await? {
            Outcome::Green(verified) => verified,
            Outcome::Stopped => return Ok(End::Requeued("it was stopped".to_owned())),
            Outcome::Red(check) => {
                let how = match check.code {
                    124 => "took too long".to_owned(),
                    127 => "was not found (127)".to_owned(),
                    code => format!("failed ({code})"),
                };
                let mut why = format!(
                    "the check `{}` {how}, on the merge with MAIN; `flower queue log {number} {0}`",
                    check.name
                );
                if checks::is_dropped(&check.name, &settings) {
                    why.push_str(
                        "; MAIN has it now, and the landing removes or changes it: if it must go although it fails, land \
                         again and `flower queue approve L --waive-checks`",
                    );
                }
                return self.reject(&landing, Verdict::Checks, why, Vec::new(), Vec::new()).await;
            }
        };
        let lock = self.lock_main(&landing.project).await?;
        self.finish(&lock, &landing, &main, &old, &Target::Verified(&verified), &merged, checks.is_empty()).await
    }

    /// With the lock of MAIN: the last look, the move, and its record.
    #[expect(clippy::too_many_arguments, reason = "everything that was found out on the way")]
    async fn finish(
        &self,
        lock: &MainLock,
        landing: &Landing,
        main: &Main,
        old: &CommitId,
        target: &Target<'_>,
        merged: &Merged,
        unchecked: bool,
    ) -> Result<End, Problem> {
        let number = landing.number;
        // Cancelled, frozen, alarmed, edited: all of it may have happened during the checks.
        if self.get(number).await?.state != State::Checking {
            return Ok(End::Settled);
        }
        let (now, tip) = match unchecked {
            // Then the first look is as good as another, as long as MAIN is the branch that is checked out: git moves only what is
            // where it was, and of files only those that nobody has edited.
            true => {
                let is_out = facts::head_branch(&lock.repository).as_deref() == Some(main.branch.as_str());
                let tip = (is_out || landing.source == Source::Adopted).then(|| old.clone());
                (self.worktrees.main_of(&lock.project).await?, tip)
            }
            false => {
                let (now, seen) = self.check_main(lock).await?;
                (now, seen.tip)
            }
        };
        if now.frozen.is_some() {
            return Ok(End::Requeued("the queue was frozen during its checks".to_owned()));
        }
        if now.tip != main.tip || tip.as_ref() != Some(old) {
            return Ok(End::Retry);
        }
        if now.alarm.is_some() && landing.source != Source::Adopted {
            return Ok(End::Requeued(String::new()));
        }
        let in_the_way = if landing.source == Source::Adopted {
            Vec::new()
        } else {
            checkout::in_the_way(&lock.repository, &merged.changes)
        };
        if !in_the_way.is_empty() {
            let why = format!(
                "MAIN has files of these names that are not git's, and they are not overwritten: {}",
                in_the_way.iter().take(5).cloned().collect::<Vec<_>>().join(", ")
            );
            return self.reject(landing, Verdict::Gate, why, in_the_way, Vec::new()).await;
        }
        let Target::Verified(verified) = target else { return Err(Problem::bug("a landing goes forward")) };
        let is_recorded = old.as_str() == main.tip;
        let adopted = match is_recorded {
            true => Vec::new(),
            false => checkout::changes(&lock.repository, old, verified.commit()).await?,
        };
        let changes = if is_recorded { &merged.changes } else { &adopted };
        if self.move_main(lock, &now, old, target, changes).await? == Moved::Conflict {
            return Ok(End::Retry);
        }
        let (onto, merge_commit) = (main.tip.clone(), verified.commit().to_string());
        let step = Step::Land { onto, merge_commit, note: verified.note(), commands: verified.commands() };
        self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
        failpoint::here("landing.recorded");
        self.close_journal(&lock.project);
        Ok(End::Landed)
    }

    /// Turns the gate's decision into an end, if it is one.
    async fn apply_gate_decision(&self, landing: &Landing, decision: &GateDecision) -> Result<Option<End>, Problem> {
        let paths: Vec<String> = decision.paths.iter().take(50).cloned().collect();
        if !decision.refused.is_empty() {
            let why = decision.refused.join("; ");
            return self.reject(landing, Verdict::Gate, why, paths, Vec::new()).await.map(Some);
        }
        if !decision.held.is_empty() && !landing.approved {
            let step = Step::Hold { reasons: decision.held.clone(), paths };
            self.store.execute(&Caller::system(), Command::Landing { number: landing.number, step }).await?;
            return Ok(Some(End::Settled));
        }
        Ok(None)
    }

    async fn not_merged(
        &self,
        repository: &Repository,
        landing: &Landing,
        onto: &CommitId,
        not: NotMerged,
    ) -> Result<End, Problem> {
        let names = |paths: &[OsString]| -> Vec<String> {
            paths.iter().take(50).map(|path| path.to_string_lossy().into_owned()).collect()
        };
        match not {
            NotMerged::Nothing => {
                let why = "MAIN has all of it already".to_owned();
                self.reject(landing, Verdict::Nothing, why, Vec::new(), Vec::new()).await
            }
            NotMerged::Strays { paths } => {
                let why =
                    format!("merging it would change files that the branch has not touched: {}", paths.join(", "));
                self.reject(landing, Verdict::Gate, why, paths, Vec::new()).await
            }
            NotMerged::Conflict { paths, base } => {
                let commits = merge::touched_by(repository, base.as_ref(), onto, &paths).await.unwrap_or_default();
                let mut landed_there = Vec::new();
                for commit in commits {
                    let found = self.store.read(move |conn| landings::by_merge_commit(conn, commit.as_str())).await?;
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
                let next = landing.worktree.as_ref().map_or_else(String::new, |worktree| {
                    format!("; merge MAIN there: `flower worktree sync {worktree}`, settle it, commit, and land again")
                });
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
        landed_there: Vec<u64>,
    ) -> Result<End, Problem> {
        let step = Step::Reject { verdict, why, paths, landed_there };
        let rejected = self.store.execute(&Caller::system(), Command::Landing { number: landing.number, step }).await;
        match rejected {
            Ok(_) => {}
            // Cancelled meanwhile.
            Err(problem) if problem.kind == ProblemKind::Refused => return Ok(End::Settled),
            Err(problem) => return Err(problem),
        }
        self.unpin(landing).await;
        Ok(End::Settled)
    }

    /// Lets go of what was kept for a landing that has ended.
    pub(super) async fn unpin(&self, landing: &Landing) {
        let Ok(repository) = self.worktrees.repository(&landing.project).await else { return };
        let mut updates = RefUpdates::new();
        pins(landing.number).iter().for_each(|pin| updates.delete(pin));
        if let Err(error) = Repo::main(&repository).update_refs(updates).await {
            tracing::debug!("landing {}: {error}", landing.number);
        }
    }

    /// What was under way when flower ended: recorded if git has done it, queued again if not.
    async fn recover_landings(self: &Arc<Self>) {
        let projects = self.projects.list().await.unwrap_or_default();
        for project in projects {
            if let Err(problem) = self.recover_main(&project.name, Since::Crash).await {
                tracing::warn!("MAIN of {}: {}", project.name, problem.message);
                continue;
            }
            let of = project.name.clone();
            let open = self.store.read(move |conn| landings::open(conn, Some(&of))).await.unwrap_or_default();
            for landing in open.into_iter().filter(|landing| landing.state == State::Checking) {
                self.requeue(landing.number, "flower ended during its checks").await;
            }
            self.follow_up(&project.name);
        }
        crate::worktrees::reclaim(&self.home, &self.home.candidates());
    }
}

struct Busy {
    app: Arc<MergeQueue>,
    project: String,
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.app.busy.lock().expect("no panic while held").remove(&self.project);
        self.app.wake();
    }
}

/// `flower.toml` as MAIN would have it.
async fn settings_of(repository: &Repository, merged: &Merged, facts: &Facts) -> Result<Settings, Problem> {
    if !merged.changes.iter().any(|change| change.path == "flower.toml") {
        return Ok(facts.settings.clone());
    }
    match Repo::main(repository).read_file(&merged.tree, "flower.toml").await? {
        Some(text) => Settings::parse(&String::from_utf8_lossy(&text)),
        None => Ok(Settings::default()),
    }
}
