//! `flower check`: what the queue would run for a worktree, on its merge with MAIN, without landing. A run is not recorded in the
//! log; the newest one of each worktree is kept in memory, and its logs on disk until the daemon ends.

use super::check_log;
use super::check_runner::{CheckJob, Origin, Progress, failure};
use super::checks::{self, NO_CHECKS_NOTE};
use super::merge::{self, Merged, NotMerged};
use super::runner::{Attempt, merged_settings};
use super::{MAX_LOG_BYTES, MergeQueue};
use crate::home::Home;
use crate::notify::ChangeHints;
use crate::projects::ProjectChoice;
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::facts::Facts;
use crate::worktrees::{observe, reclaim};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CheckMergeView, CheckRunState, CheckRunView, HoldView, NotApproved};
use flower_core::landing::{self, Check, Priority, Source};
use flower_core::policy::{self, Action, Right};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Landing, LandingId, Worktree};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Repo};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// Runs that have not ended, of all projects. More would wait for hours.
const MAX_OPEN: usize = 100;
/// Runs that are kept; the newest of each worktree.
const MAX_KEPT: usize = 500;
/// A run that landings keep from ending is cancelled after this time.
const MAX_RUN_TIME: Duration = Duration::from_secs(4 * 60 * 60);
/// How often the branch of a worktree is compared with the commit that is checked.
const MOVED_INTERVAL: Duration = Duration::from_secs(2);
/// How often a run looks whether a landing is ready.
const READY_INTERVAL: Duration = Duration::from_millis(200);
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

/// One run. Dropping it deletes its logs.
struct CheckRun {
    id: u64,
    project: String,
    subject: Subject,
    commit: CommitId,
    only: Option<String>,
    folder: PathBuf,
    progress: Progress,
    began_at: String,
    /// Why it is cancelled.
    stop: watch::Sender<Option<String>>,
    report: Mutex<Report>,
    home: Home,
}

impl Drop for CheckRun {
    fn drop(&mut self) {
        reclaim(&self.home, &self.folder);
    }
}

/// What a run has found so far.
#[derive(Clone)]
struct Report {
    state: CheckRunState,
    reason: Option<String>,
    merge: CheckMergeView,
    held: Vec<HoldView>,
    notes: Vec<String>,
    not_approved: Option<NotApproved>,
    /// Once it has ended.
    checks: Vec<Check>,
    ended_at: Option<String>,
}

impl Report {
    fn new(onto: &CommitId) -> Report {
        let merge =
            CheckMergeView { ok: true, paths: Vec::new(), onto: onto.to_string(), changed: Vec::new(), changes: 0 };
        Report {
            state: CheckRunState::Waiting,
            reason: None,
            merge,
            held: Vec::new(),
            notes: Vec::new(),
            not_approved: None,
            checks: Vec::new(),
            ended_at: None,
        }
    }

    fn end(&mut self, state: CheckRunState, reason: Option<String>) {
        self.state = state;
        self.reason = reason;
        self.ended_at = Some(crate::now());
    }
}

/// The checks of a run, and the commits that they run on.
struct CheckPlan {
    repository: Repository,
    facts: Facts,
    settings: Settings,
    checks: Vec<(String, CheckSettings)>,
    commits: Vec<CommitId>,
    /// `None`: all checks run, whatever paths they name.
    changes: Option<Vec<Change>>,
    onto: CommitId,
}

/// How a run ended.
enum Ended {
    Ran(Vec<Check>),
    /// It does not merge any more, or the gate would refuse it.
    Refused(Report),
}

impl CheckRun {
    fn is_open(&self) -> bool {
        self.report.lock().expect("no panic while held").ended_at.is_none()
    }

    fn set(&self, state: CheckRunState, reason: Option<&str>) {
        let mut report = self.report.lock().expect("no panic while held");
        report.state = state;
        report.reason = reason.map(str::to_owned);
    }

    fn end(&self, state: CheckRunState, reason: Option<String>, checks: Vec<Check>) {
        let mut report = self.report.lock().expect("no panic while held");
        report.checks = checks;
        report.end(state, reason);
    }

    fn origin(&self) -> Origin {
        match &self.subject {
            Subject::Worktree(name) => Origin::Worktree(name.clone()),
            Subject::Proposal => Origin::Proposal,
        }
    }
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
        match observe::uncommitted(&place).await.map_or(0, |files| files.len()) {
            0 => {}
            1 => report.notes.push("1 file is changed and not committed, so it is not checked".to_owned()),
            count => {
                report.notes.push(format!("{count} files are changed and not committed, so they are not checked"));
            }
        }
        self.start_run(worktree.project.clone(), subject, commit, options.only, report, plan, Some(worktree))
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
        self.start_run(project, Subject::Proposal, commit, only, report, plan, None)
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

    /// Runs the checks to their end, or until the run is cancelled or the worktree moves.
    async fn execute(&self, run: &CheckRun, plan: CheckPlan, worktree: Option<Worktree>) {
        let mut stop = run.stop.subscribe();
        let ended = tokio::select! {
            ended = self.execute_behind_landings(run, plan, worktree.as_ref()) => ended,
            why = stop.wait_for(Option::is_some) => {
                let why = why.ok().and_then(|why| why.clone());
                return self.finish_run(run, CheckRunState::Cancelled, why, Vec::new());
            }
            () = self.moved(run, worktree.as_ref()) => {
                let why = "the worktree has a newer commit; check it again".to_owned();
                return self.finish_run(run, CheckRunState::Cancelled, Some(why), Vec::new());
            }
            () = tokio::time::sleep(MAX_RUN_TIME) => {
                let why = format!("it has not ended within {} hours", MAX_RUN_TIME.as_secs() / 3600);
                return self.finish_run(run, CheckRunState::Cancelled, Some(why), Vec::new());
            }
        };
        match ended {
            Ok(Ended::Ran(ran)) => {
                let failed = ran.iter().find(|check| !check.ok);
                let state = if failed.is_some() { CheckRunState::Failed } else { CheckRunState::Passed };
                let reason = failed.map(|check| format!("{}, on the merge with MAIN", failure(check)));
                self.finish_run(run, state, reason, ran);
            }
            Ok(Ended::Refused(report)) => {
                *run.report.lock().expect("no panic while held") = report;
                self.hints.publish(ChangeHints::LANDINGS);
            }
            Err(problem) => self.finish_run(run, CheckRunState::Failed, Some(problem.message), Vec::new()),
        }
    }

    fn finish_run(&self, run: &CheckRun, state: CheckRunState, reason: Option<String>, checks: Vec<Check>) {
        run.end(state, reason, checks);
        self.hints.publish(ChangeHints::LANDINGS);
    }

    /// Runs the checks while no landing needs the project's slot, and starts over after each landing that did.
    async fn execute_behind_landings(
        &self,
        run: &CheckRun,
        mut plan: CheckPlan,
        worktree: Option<&Worktree>,
    ) -> Result<Ended, Problem> {
        self.worktrees.require_jail().await?;
        loop {
            run.set(CheckRunState::Waiting, Some("landings go first"));
            while self.has_ready_landing(&run.project).await {
                tokio::time::sleep(READY_INTERVAL).await;
            }
            run.set(CheckRunState::Waiting, Some("another check of this project runs"));
            let mut slot = self.check_slots.take_for_check(&run.project).await;
            // MAIN may have moved meanwhile.
            let main = self.worktrees.main_of(&run.project).await?;
            if let Some(worktree) = worktree.filter(|_| main.tip != plan.onto.as_str()) {
                let (mut report, new) = self.plan_check(worktree, &run.commit, run.only.as_deref()).await?;
                let Some(new) = new else { return Ok(Ended::Refused(report)) };
                plan = new;
                let mut known = run.report.lock().expect("no panic while held");
                report.notes.extend(known.notes.iter().filter(|note| note.contains("not committed")).cloned());
                *known = report;
            }
            run.set(CheckRunState::Running, None);
            tokio::select! {
                ran = self.run_plan(run, &plan) => {
                    if self.worktrees.main_of(&run.project).await?.tip != plan.onto.as_str() {
                        let note = "MAIN has moved since; its landing is merged and checked again";
                        run.report.lock().expect("no panic while held").notes.push(note.to_owned());
                    }
                    return ran.map(Ended::Ran);
                }
                () = slot.claimed() => {}
            }
        }
    }

    async fn has_ready_landing(&self, project: &str) -> bool {
        let is_busy = self.busy.lock().expect("no panic while held").contains(project);
        let starts = self.plan(project).await.is_ok_and(|plan| !plan.start.is_empty());
        is_busy || (starts && !self.is_backing_off(project))
    }

    /// Checks each commit as the queue would, without the retries of `[land] retries`.
    async fn run_plan(&self, run: &CheckRun, plan: &CheckPlan) -> Result<Vec<Check>, Problem> {
        let origin = run.origin();
        let mut ran = Vec::new();
        for (at, commit) in plan.commits.iter().enumerate() {
            run.progress.begin(1, at + 1, plan.commits.len());
            let tree = Repo::main(&plan.repository).tree_of(commit).await?;
            let job = CheckJob {
                project: &run.project,
                repository: &plan.repository,
                facts: &plan.facts,
                settings: &plan.settings,
                checks: &plan.checks,
                commit,
                tree: &tree,
                changes: plan.changes.as_deref(),
                origin: &origin,
                id: run.id,
                folder: &run.folder,
                run: at as u64 + 1,
                is_first_try: true,
                progress: &run.progress,
            };
            ran = self.run_checks(&job).await?;
            if ran.iter().any(|check| !check.ok) {
                break;
            }
        }
        Ok(ran)
    }

    /// Returns when the worktree's branch is no longer at the commit that is checked.
    async fn moved(&self, run: &CheckRun, worktree: Option<&Worktree>) {
        let Some(worktree) = worktree else { return std::future::pending().await };
        loop {
            tokio::time::sleep(MOVED_INTERVAL).await;
            let Ok(place) = self.worktrees.paths(worktree).await else { continue };
            let tip = place.repo().tip(&place.full_branch()).await;
            if tip.is_ok_and(|tip| tip.as_ref() != Some(&run.commit)) {
                return;
            }
        }
    }

    /// Merges a worktree with MAIN and lets the gate examine it, as a landing would. No plan if that ends it.
    async fn plan_check(
        &self,
        worktree: &Worktree,
        commit: &CommitId,
        only: Option<&str>,
    ) -> Result<(Report, Option<CheckPlan>), Problem> {
        let project = worktree.project.as_str();
        self.record_main(project).await?;
        let repository = self.worktrees.repository(project).await?;
        let main = self.worktrees.main_of(project).await?;
        let onto = CommitId::parse(&main.tip)?;
        let repo = Repo::main(&repository);
        let landing = as_landing(worktree, commit);
        let landed_before = self.worktrees.landed_before(&repository, project, landing.worktree_number).await?;
        let (merged, new, facts, committer) = tokio::join!(
            merge::merge_onto(&repository, &onto, &landing, &landed_before, &main.branch),
            self.scan_new_objects(&repository, &onto, commit),
            self.worktrees.facts_of(project),
            repo.identity(),
        );
        let (new, facts, committer) = (new?, facts?, committer?);
        let mut report = Report::new(&onto);
        let (merged, is_new) = match merged? {
            Ok(merged) => (merged, true),
            Err(NotMerged::NothingNew) => {
                report.notes.push("it has nothing that MAIN does not have, so MAIN itself is checked".to_owned());
                (Merged { tree: repo.tree_of(&onto).await?, changes: Vec::new(), brings_upstream: false }, false)
            }
            Err(not_merged) => return Ok((not_merged_report(report, not_merged), None)),
        };
        report.merge.changes = merged.changes.len() as u64;
        report.merge.changed = merged.changes.iter().take(MAX_PATHS).map(Change::name).collect();
        let settings = match merged_settings(&repository, &merged, &facts).await {
            Ok(settings) => settings,
            Err(problem) => {
                report.end(CheckRunState::Failed, Some(problem.message));
                return Ok((report, None));
            }
        };
        let tip = onto.clone();
        let attempt =
            Attempt { landing, repository, main, onto, tip, merged, new, landed_before, facts, settings, committer };
        if is_new {
            let decision = self.gate(&attempt).await?;
            report.held = decision.held.into_iter().map(HoldView::from).collect();
            if !decision.refused.is_empty() {
                let why = format!("its landing would be refused: {}", decision.refused.join("; "));
                report.end(CheckRunState::Failed, Some(why));
                return Ok((report, None));
            }
        }
        let commits = match is_new {
            false => vec![attempt.onto.clone()],
            true => match merge::make_commits(&attempt, &self.worker_of(&attempt.landing).await?).await? {
                Ok(history) => history.commits,
                Err(not_merged) => return Ok((not_merged_report(report, not_merged), None)),
            },
        };
        let (settings, checks) = self.settings_to_run(&attempt, &mut report).await?;
        let checks = only_named(checks, only)?;
        if checks.is_empty() {
            let (state, reason) = match report.not_approved {
                Some(_) => {
                    let why = "no check has run: MAIN has none, and the commands of its flower.toml are not approved";
                    (CheckRunState::Failed, why)
                }
                None => (CheckRunState::Passed, NO_CHECKS_NOTE),
            };
            report.end(state, Some(reason.to_owned()));
            return Ok((report, None));
        }
        let Attempt { repository, facts, onto, merged, .. } = attempt;
        // Nothing is changed, but MAIN itself is meant.
        let changes = is_new.then_some(merged.changes);
        Ok((report, Some(CheckPlan { repository, facts, settings, checks, commits, changes, onto })))
    }

    /// The settings of the merge if their commands are approved, or else those of MAIN, with their checks.
    async fn settings_to_run(
        &self,
        attempt: &Attempt,
        report: &mut Report,
    ) -> Result<(Settings, Vec<(String, CheckSettings)>), Problem> {
        let (project, merged, main) = (&attempt.landing.project, &attempt.settings, &attempt.facts.settings);
        if self.may_run(project, merged).await? {
            let checks = checks::planned_checks(merged, merged.dropped_checks(main));
            return Ok((merged.clone(), checks));
        }
        let (commands, sha256) = (merged.commands(), merged.commands_sha256());
        if sha256 == main.commands_sha256() || !self.may_run(project, main).await? {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("what `{project}`'s flower.toml runs and opens is not approved, or has changed since"),
                format!("read and approve it: `flower project approve {project}`"),
            ));
        }
        report.notes.push("the commands of its flower.toml are not approved, so MAIN's checks run".to_owned());
        report.not_approved = Some(NotApproved { commands, sha256 });
        Ok((main.clone(), checks::planned_checks(main, Vec::new())))
    }

    async fn may_run(&self, project: &str, settings: &Settings) -> Result<bool, Problem> {
        Ok(settings.commands().is_empty() || self.worktrees.is_approved(project, &settings.commands_sha256()).await?)
    }

    fn view_run(&self, run: &CheckRun) -> CheckRunView {
        let report = run.report.lock().expect("no panic while held").clone();
        let (checks, running) = match report.state {
            CheckRunState::Running => run.progress.now(),
            _ => (report.checks, None),
        };
        let worktree = match &run.subject {
            Subject::Worktree(name) => Some(name.clone()),
            Subject::Proposal => None,
        };
        CheckRunView {
            ok: report.state == CheckRunState::Passed,
            state: report.state,
            reason: report.reason,
            project: run.project.clone(),
            worktree,
            commit: run.commit.to_string(),
            merge: report.merge,
            checks: checks.iter().map(|check| self.check_view(&run.folder, check)).collect(),
            running,
            held: report.held,
            notes: report.notes,
            not_approved: report.not_approved,
            began_at: run.began_at.clone(),
            ended_at: report.ended_at,
        }
    }
}

/// The checks to run: all of them, or the one that was asked for.
fn only_named(
    checks: Vec<(String, CheckSettings)>,
    only: Option<&str>,
) -> Result<Vec<(String, CheckSettings)>, Problem> {
    let Some(only) = only else { return Ok(checks) };
    let known: Vec<String> = checks.iter().map(|(name, _)| format!("`{name}`")).collect();
    let found: Vec<_> = checks.into_iter().filter(|(name, _)| name == only).collect();
    if found.is_empty() {
        let hint = match known.is_empty() {
            true => NO_CHECKS_NOTE.to_owned(),
            false => format!("flower.toml has: {}", known.join(", ")),
        };
        return Err(Problem::new(ProblemKind::NotFound, format!("there is no check `{only}`"), hint));
    }
    Ok(found)
}

fn not_merged_report(mut report: Report, not_merged: NotMerged) -> Report {
    match not_merged {
        NotMerged::Conflict { paths, .. } => {
            let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            let named: Vec<&str> = paths.iter().take(5).map(String::as_str).collect();
            let more = paths.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let why = format!("it does not merge with MAIN in {}{more}", named.join(", "));
            report.merge.ok = false;
            report.merge.paths = paths.into_iter().take(MAX_PATHS).collect();
            report.end(CheckRunState::Failed, Some(why));
        }
        NotMerged::UntouchedPaths { paths } => {
            let why = format!("merging it would change files that the branch has not touched: {}", paths.join(", "));
            report.end(CheckRunState::Failed, Some(why));
        }
        NotMerged::NothingNew => report.end(CheckRunState::Passed, Some("MAIN has all of it already".to_owned())),
    }
    report
}

/// The landing that would be queued for a worktree.
fn as_landing(worktree: &Worktree, commit: &CommitId) -> Landing {
    Landing {
        number: LandingId(0),
        project: worktree.project.clone(),
        source: Source::Worktree,
        worktree: Some(worktree.name.clone()),
        worktree_number: Some(worktree.number),
        commit: commit.to_string(),
        title: format!("Check {}", worktree.name),
        briefs: worktree.brief.into_iter().collect(),
        priority: Priority::Normal,
        of: None,
        why: None,
        fix: false,
        state: landing::State::Queued,
        reason: None,
        verdict: None,
        held: Vec::new(),
        approved: false,
        waived: false,
        onto: None,
        merge_commit: None,
        upstream: None,
        checks: Vec::new(),
        flaky: Vec::new(),
        paths: Vec::new(),
        by: "flower".to_owned(),
        queued_at: String::new(),
        ended_at: None,
    }
}
