//! `flower check`: what the queue would run for a worktree, on its merge with MAIN, without landing. A run is not recorded in the
//! log; the newest one of each worktree is kept in memory, and its logs on disk until the daemon ends.

mod execute;
mod others;
mod plan;
mod run;

use self::plan::{CheckPlan, only_named};
use self::run::{CheckRun, Report, Surroundings};
use super::check_runner::Progress;
use super::views::MAX_LOG_BYTES;
use super::{MergeQueue, check_log, checks};
use crate::projects::ProjectChoice;
use crate::settings::Settings;
use crate::worktrees::observe;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CheckRunState, CheckRunView};
use flower_core::policy::{self, Action, Right};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Worktree};
use flower_git::CommitId;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Runs that have not ended, of all projects. More would wait for hours.
const MAX_OPEN: usize = 100;
/// Runs that are kept; the newest of each worktree.
const MAX_KEPT: usize = 500;
/// Paths in a view.
const MAX_PATHS: usize = 200;

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The commits of this worktree.
    Worktree(String),
    /// MAIN with a proposed `flower.toml`.
    Proposal,
}

/// What a caller may choose for a run.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// Runs this check alone.
    pub only: Option<String>,
    /// Approves the commands with this digest, which the worktree's `flower.toml` brings.
    pub approve: Option<String>,
}

#[derive(Default)]
pub(super) struct CheckRuns {
    runs: Mutex<HashMap<(String, Subject), Arc<CheckRun>>>,
    last: AtomicU64,
}

impl MergeQueue {
    /// Starts the checks of a worktree, or joins a run of the same commit. A run of an older commit is cancelled.
    pub async fn check_worktree(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        options: CheckOptions,
    ) -> Result<CheckRunView, Problem> {
        let choice = self.access.choice(caller, choice.clone()).await?;
        self.access.require_inside(caller, &choice, name).await?;
        let worktree = self.worktrees.find(&choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let Some(commit) = place.repo().tip(&place.full_branch()).await? else {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("worktree `{name}` has no branch `{}` any more", place.branch),
                format!("make it again: `flower worktree shell {name} -- git branch {}`", place.branch),
            ));
        };
        let subject = Subject::Worktree(worktree.name.clone());
        let only = options.only.as_deref();
        if let Some(run) = self.open_run(&worktree.project, &subject, &commit, only) {
            return Ok(self.view_run(&run));
        }
        let (mut report, mut plan) = self.plan_check(&worktree, &commit, only).await?;
        if let (Some(sha256), Some(not_approved)) = (options.approve, &report.not_approved) {
            policy::require_role(caller, Right::Own)?;
            if not_approved.sha256 != sha256 {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    "the commands have changed since you read them",
                    format!("read them again: `flower check {name}`"),
                ));
            }
            let command = Command::ApproveCommands { project: worktree.project.clone(), sha256 };
            self.store.execute(caller, command).await?;
            (report, plan) = self.plan_check(&worktree, &commit, only).await?;
        }
        let paths = if report.merge.ok { &report.merge.changed } else { &report.merge.paths };
        let surroundings = Surroundings {
            others: self.others_on(&worktree, paths).await?,
            uncommitted: observe::uncommitted(&place).await.map_or(0, |files| files.len()),
        };
        let project = worktree.project.clone();
        self.start_run(project, subject, commit, options.only, report, surroundings, plan, Some(worktree))
    }

    /// Tries a `flower.toml` that MAIN does not have: runs its checks on MAIN with this file. Its commands are approved for
    /// this run by the operator, who calls it.
    pub async fn try_settings(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        text: &str,
        only: Option<String>,
    ) -> Result<CheckRunView, Problem> {
        policy::require_action(caller, Action::ProposeSettings)?;
        let settings = Settings::parse(text)?;
        let project = self.projects.require(choice).await?;
        self.record_main(&project).await?;
        let (onto, commit) = self.settings_commit(&project, text).await?;
        let repository = self.worktrees.repository(&project).await?;
        let facts = self.worktrees.facts_of(&project).await?;
        let checks = only_named(checks::planned_checks(&settings, Vec::new()), only.as_deref())?;
        let mut report = Report::new(&onto);
        report.merge.changes = 1;
        report.merge.changed = vec!["flower.toml".to_owned()];
        let commits = vec![commit.clone()];
        let plan = match checks.is_empty() {
            true => {
                report.end(CheckRunState::Passed, Some("it has no checks".to_owned()));
                None
            }
            false => Some(CheckPlan { repository, facts, settings, checks, commits, changes: None, onto }),
        };
        self.start_run(project, Subject::Proposal, commit, only, report, Surroundings::default(), plan, None)
    }

    /// The newest run of a subject.
    pub async fn show_check(&self, choice: &ProjectChoice, subject: &Subject) -> Result<CheckRunView, Problem> {
        Ok(self.view_run(&*self.find_run(choice, subject).await?))
    }

    /// Cancels the run of a subject, unless it has ended.
    pub async fn cancel_check(&self, choice: &ProjectChoice, subject: &Subject) -> Result<CheckRunView, Problem> {
        let run = self.find_run(choice, subject).await?;
        run.stop.send_replace(Some("it was cancelled".to_owned()));
        while run.is_open() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(self.view_run(&run))
    }

    /// The output of a check of the newest run, from byte `after` on.
    pub async fn check_run_log(
        &self,
        choice: &ProjectChoice,
        subject: &Subject,
        check: &str,
        after: u64,
    ) -> Result<Vec<u8>, Problem> {
        let run = self.find_run(choice, subject).await?;
        let name = flower_core::text::name("check", check)?;
        match check_log::newest_log(&run.folder, &name) {
            Some(path) => Ok(check_log::read_from(&path, after, MAX_LOG_BYTES)),
            None => Err(Problem::new(
                ProblemKind::NotFound,
                format!("this run has no output of a check `{name}`"),
                "wait until it runs",
            )),
        }
    }

    pub(super) fn stop_check_runs(&self, why: &str) {
        for run in self.check_runs.runs.lock().expect("no panic while held").values() {
            run.stop.send_replace(Some(why.to_owned()));
        }
    }

    async fn find_run(&self, choice: &ProjectChoice, subject: &Subject) -> Result<Arc<CheckRun>, Problem> {
        let (project, hint) = match subject {
            Subject::Worktree(name) => {
                (self.worktrees.find(choice, name).await?.project, format!("check it: `flower check {name}`"))
            }
            Subject::Proposal => (self.projects.require(choice).await?, "try it: `flower init --try`".to_owned()),
        };
        let runs = self.check_runs.runs.lock().expect("no panic while held");
        let found = runs.get(&(project, subject.clone())).cloned();
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, "no check has run since the daemon started", hint))
    }

    fn open_run(
        &self,
        project: &str,
        subject: &Subject,
        commit: &CommitId,
        only: Option<&str>,
    ) -> Option<Arc<CheckRun>> {
        let runs = self.check_runs.runs.lock().expect("no panic while held");
        let known = runs.get(&(project.to_owned(), subject.clone()))?;
        let same = known.is_open() && known.commit == *commit && known.only.as_deref() == only;
        same.then(|| known.clone())
    }

    /// Registers a run and starts it. `worktree` is absent for a proposal.
    #[expect(clippy::too_many_arguments, reason = "a run is made here only")]
    fn start_run(
        self: &Arc<Self>,
        project: String,
        subject: Subject,
        commit: CommitId,
        only: Option<String>,
        report: Report,
        surroundings: Surroundings,
        plan: Option<CheckPlan>,
        worktree: Option<Worktree>,
    ) -> Result<CheckRunView, Problem> {
        let id = 1 + self.check_runs.last.fetch_add(1, Ordering::Relaxed);
        let run = Arc::new(CheckRun {
            id,
            folder: self.home.check_runs().join(id.to_string()),
            began_at: crate::now(),
            progress: Progress::default(),
            stop: watch::Sender::default(),
            report: Mutex::new(report),
            surroundings,
            home: self.home.clone(),
            project: project.clone(),
            subject: subject.clone(),
            commit,
            only,
        });
        let replaced = {
            let mut runs = self.check_runs.runs.lock().expect("no panic while held");
            if runs.values().filter(|run| run.is_open()).count() >= MAX_OPEN {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("{MAX_OPEN} checks wait or run already"),
                    "try again later",
                ));
            }
            let replaced = runs.insert((project, subject), run.clone());
            if runs.len() > MAX_KEPT {
                let ended = runs.values().filter(|run| !run.is_open());
                let oldest = ended.min_by_key(|run| run.id).map(|run| (run.project.clone(), run.subject.clone()));
                oldest.and_then(|oldest| runs.remove(&oldest));
            }
            replaced
        };
        if let Some(replaced) = replaced {
            replaced.stop.send_replace(Some("a newer check has replaced it".to_owned()));
        }
        if let Some(plan) = plan {
            let (queue, run) = (self.clone(), run.clone());
            tokio::spawn(async move { queue.execute(&run, plan, worktree).await });
        }
        Ok(self.view_run(&run))
    }
}
