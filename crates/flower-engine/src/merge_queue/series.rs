//! Runs the checks on one or more commits, one after the other, with the further runs that `[land] retries` allows: for a landing, for
//! `flower check`, and to try a proposed `flower.toml`.

use super::check_runner::{CheckJob, Origin, Progress};
use crate::MergeQueue;
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::facts::Facts;
use flower_contract::error::Problem;
use flower_core::landing::{Check, Step};
use flower_core::{Caller, Command};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Repo};
use std::path::Path;

/// Commits to check, oldest first, and how.
pub(super) struct Series<'a> {
    pub(super) project: &'a str,
    pub(super) repository: &'a Repository,
    pub(super) facts: &'a Facts,
    /// The settings that the checks come from. Their commands are approved.
    pub(super) settings: &'a Settings,
    pub(super) checks: &'a [(String, CheckSettings)],
    pub(super) commits: &'a [CommitId],
    /// What the commits change in MAIN, which decides which checks with `paths` run. `None`: all run.
    pub(super) changes: Option<&'a [Change]>,
    pub(super) origin: &'a Origin,
    /// Tells series of the same origin apart: numbers candidates of checks that no landing has.
    pub(super) id: u64,
    /// Where the logs are written, with the number of the run in their names.
    pub(super) folder: &'a Path,
    pub(super) progress: &'a Progress,
}

pub(super) struct SeriesEnd {
    /// The results of the last run.
    pub(super) checks: Vec<Check>,
    /// The check that failed in every run.
    pub(super) failed: Option<Check>,
    /// Checks that failed and then passed on the same commit.
    pub(super) flaky: Vec<String>,
}

impl MergeQueue {
    /// Runs the checks until a commit fails in every run that it may have. The results of a landing are recorded.
    pub(super) async fn run_series(&self, series: &Series<'_>) -> Result<SeriesEnd, Problem> {
        let mut end = SeriesEnd { checks: Vec::new(), failed: None, flaky: Vec::new() };
        // Numbers the runs of all commits, so that each has its own log.
        let mut run = 0;
        for (at, commit) in series.commits.iter().enumerate() {
            let tree = Repo::main(series.repository).tree_of(commit).await?;
            let mut failed_before: Option<Check> = None;
            let mut tries: u32 = 0;
            loop {
                run += 1;
                tries += 1;
                series.progress.begin(tries.into(), at + 1, series.commits.len());
                let job = CheckJob { series, commit, tree: &tree, run, is_first_try: tries == 1 };
                end.checks = self.run_checks(&job).await?;
                let failed = end.checks.iter().find(|check| !check.ok).cloned();
                self.record(series.origin, Step::ChecksRan { attempt: run, checks: end.checks.clone() }).await?;
                match (failed, failed_before.take()) {
                    (Some(failed), _) if tries > series.settings.land.retries => {
                        end.failed = Some(failed);
                        return Ok(end);
                    }
                    (Some(failed), _) => failed_before = Some(failed),
                    // The same commit failed and passed: the check is flaky.
                    (None, Some(before)) => {
                        self.record(series.origin, Step::Flaked { check: before.name.clone() }).await?;
                        end.flaky.push(before.name);
                        break;
                    }
                    (None, None) => break,
                }
            }
        }
        Ok(end)
    }

    async fn record(&self, origin: &Origin, step: Step) -> Result<(), Problem> {
        let Origin::Landing(number) = *origin else { return Ok(()) };
        self.store.execute(&Caller::system(), Command::Landing { number, step }).await.map(|_| ())
    }
}
