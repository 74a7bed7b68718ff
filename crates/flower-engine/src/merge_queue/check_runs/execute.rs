//! Runs the checks of `flower check`: landings go first, up to a limit.

use super::plan::CheckPlan;
use super::run::{CheckRun, Report};
use crate::merge_queue::MergeQueue;
use crate::merge_queue::check_runner::failure;
use crate::merge_queue::check_slots::MAX_LANDINGS_AHEAD;
use crate::merge_queue::series::{Series, SeriesEnd};
use crate::notify::ChangeHints;
use flower_contract::error::Problem;
use flower_contract::view::CheckRunState;
use flower_core::Worktree;
use flower_core::landing::Check;
use std::time::Duration;

/// A run that landings keep from ending is cancelled after this time.
const MAX_RUN_TIME: Duration = Duration::from_secs(4 * 60 * 60);
/// How often the branch of a worktree is compared with the commit that is checked.
const MOVED_INTERVAL: Duration = Duration::from_secs(2);
/// How often a run looks whether a landing is ready.
const READY_INTERVAL: Duration = Duration::from_millis(200);

/// How a run ended.
enum Ended {
    Ran(SeriesEnd),
    /// It does not merge any more, or the gate would refuse it.
    Refused(Box<Report>),
}

impl MergeQueue {
    /// Runs the checks to their end, or until the run is cancelled or the worktree moves.
    pub(super) async fn execute(&self, run: &CheckRun, plan: CheckPlan, worktree: Option<Worktree>) {
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
            Ok(Ended::Ran(end)) => {
                let state = if end.failed.is_some() { CheckRunState::Failed } else { CheckRunState::Passed };
                let reason = end.failed.map(|check| format!("{}, on the merge with MAIN", failure(&check)));
                let flaky =
                    end.flaky.iter().map(|name| format!("the check `{name}` failed, and passed when it ran again"));
                run.report.lock().expect("no panic while held").notes.extend(flaky);
                self.finish_run(run, state, reason, end.checks);
            }
            Ok(Ended::Refused(report)) => {
                *run.report.lock().expect("no panic while held") = *report;
                self.hints.publish(ChangeHints::LANDINGS);
            }
            Err(problem) => self.finish_run(run, CheckRunState::Failed, Some(problem.message), Vec::new()),
        }
    }

    fn finish_run(&self, run: &CheckRun, state: CheckRunState, reason: Option<String>, checks: Vec<Check>) {
        run.end(state, reason, checks);
        self.hints.publish(ChangeHints::LANDINGS);
    }

    /// Runs the checks while no landing needs the project's slot, and starts over after each landing that did. After
    /// [`MAX_LANDINGS_AHEAD`] of them, landings wait for it.
    async fn execute_behind_landings(
        &self,
        run: &CheckRun,
        mut plan: CheckPlan,
        worktree: Option<&Worktree>,
    ) -> Result<Ended, Problem> {
        self.worktrees.require_jail().await?;
        let turn = self.check_slots.begin_check(&run.project);
        loop {
            let why = format!("landings go first; it is next after {MAX_LANDINGS_AHEAD} of them");
            run.set(CheckRunState::Waiting, Some(&why));
            while !turn.is_due() && self.has_ready_landing(&run.project).await {
                tokio::time::sleep(READY_INTERVAL).await;
            }
            run.set(CheckRunState::Waiting, Some("other checks of this project run"));
            let slot = turn.take().await;
            // MAIN may have moved meanwhile.
            let main = self.worktrees.main_of(&run.project).await?;
            if let Some(worktree) = worktree.filter(|_| main.tip != plan.onto.as_str()) {
                let (report, new) = self.plan_check(worktree, &run.commit, run.only.as_deref()).await?;
                let Some(new) = new else { return Ok(Ended::Refused(Box::new(report))) };
                plan = new;
                *run.report.lock().expect("no panic while held") = report;
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

    /// Checks each commit as the queue would.
    async fn run_plan(&self, run: &CheckRun, plan: &CheckPlan) -> Result<SeriesEnd, Problem> {
        let origin = run.origin();
        let series = Series {
            project: &run.project,
            repository: &plan.repository,
            facts: &plan.facts,
            settings: &plan.settings,
            checks: &plan.checks,
            commits: &plan.commits,
            changes: plan.changes.as_deref(),
            origin: &origin,
            id: run.id,
            folder: &run.folder,
            progress: &run.progress,
        };
        self.run_series(&series).await
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
}
