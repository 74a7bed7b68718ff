//! Runs the project's checks, in a jail, on what MAIN would be after a landing. Only this file makes a [`VerifiedCommit`].

use super::check_runner::{Origin, Progress};
use super::runner::Attempt;
use super::series::Series;
use crate::MergeQueue;
use crate::failpoint;
use crate::settings::{CheckSettings, Settings};
use flower_contract::error::Problem;
use flower_core::LandingId;
use flower_core::landing::Check;
use flower_git::CommitId;
use tokio::sync::watch;

pub(super) const NO_CHECKS_NOTE: &str = "no checks are configured; `flower init` proposes some";

/// Proof that a commit has passed the checks of its landing.
#[derive(Debug)]
pub(crate) struct VerifiedCommit {
    commit: CommitId,
    landing: LandingId,
    note: Option<String>,
    commands: Option<String>,
}

impl VerifiedCommit {
    pub(crate) fn commit(&self) -> &CommitId {
        &self.commit
    }

    pub(crate) fn landing(&self) -> LandingId {
        self.landing
    }

    pub(crate) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// The digest of the commands in its `flower.toml`, if it has any.
    pub(crate) fn commands(&self) -> Option<String> {
        self.commands.clone()
    }
}

pub(super) enum ChecksResult {
    Passed(VerifiedCommit),
    /// This check failed in every retry that the settings allow.
    Failed(Check),
    /// The landing was cancelled or replaced, or everything was halted.
    Stopped,
}

/// Prefix of the name of a check that MAIN has and the landing removes or changes.
const DROPPED_PREFIX: &str = "before-";

/// The checks of the merged `flower.toml`, then those of MAIN that it removes or changes: a landing must not weaken the
/// checks that it has to pass.
pub(super) fn planned_checks(
    settings: &Settings,
    dropped: Vec<(String, CheckSettings)>,
) -> Vec<(String, CheckSettings)> {
    let dropped = dropped.into_iter().map(|(name, check)| (format!("{DROPPED_PREFIX}{name}"), check));
    settings.checks.list.iter().cloned().chain(dropped).collect()
}

/// Whether MAIN has the check of this name and the landing removes or changes it.
pub(super) fn is_dropped(name: &str, settings: &Settings) -> bool {
    name.starts_with(DROPPED_PREFIX) && settings.checks.list.iter().all(|(known, _)| known != name)
}

impl MergeQueue {
    /// Runs the checks on each of `commits`, the new commits of MAIN's first-parent history, oldest first.
    pub(super) async fn check(
        &self,
        attempt: &Attempt,
        commits: &[CommitId],
        checks: &[(String, CheckSettings)],
        mut stop: watch::Receiver<bool>,
    ) -> Result<ChecksResult, Problem> {
        let (number, settings) = (attempt.landing.number, &attempt.settings);
        let commit = commits.last().cloned().ok_or_else(|| Problem::bug("a landing without a commit"))?;
        let commands = (!settings.commands().is_empty()).then(|| settings.commands_sha256());
        if checks.is_empty() {
            let note = Some(NO_CHECKS_NOTE.to_owned());
            return Ok(ChecksResult::Passed(VerifiedCommit { commit, landing: number, note, commands }));
        }
        self.worktrees.require_jail().await?;
        let progress = Progress::default();
        let _shown = ShownProgress::new(self, number, &progress);
        let _slot = tokio::select! {
            slot = self.check_slots.take_for_landing(&attempt.landing.project) => slot,
            _ = stop.wait_for(|stop| *stop) => return Ok(ChecksResult::Stopped),
        };
        let (origin, folder) = (Origin::Landing(number), self.landing_folder(number));
        let series = Series {
            project: &attempt.landing.project,
            repository: &attempt.repository,
            facts: &attempt.facts,
            settings,
            checks,
            commits,
            changes: Some(&attempt.merged.changes),
            origin: &origin,
            id: number.0,
            folder: &folder,
            progress: &progress,
        };
        let end = tokio::select! {
            end = self.run_series(&series) => end?,
            _ = stop.wait_for(|stop| *stop) => return Ok(ChecksResult::Stopped),
        };
        if let Some(failed) = end.failed {
            return Ok(ChecksResult::Failed(failed));
        }
        failpoint::here("landing.checked");
        Ok(ChecksResult::Passed(VerifiedCommit { commit, landing: number, note: None, commands }))
    }
}

/// Shows the progress of a landing's checks, until it is dropped.
struct ShownProgress<'a> {
    queue: &'a MergeQueue,
    number: LandingId,
}

impl ShownProgress<'_> {
    fn new<'a>(queue: &'a MergeQueue, number: LandingId, progress: &Progress) -> ShownProgress<'a> {
        queue.progress.lock().expect("no panic while held").insert(number, progress.clone());
        ShownProgress { queue, number }
    }
}

impl Drop for ShownProgress<'_> {
    fn drop(&mut self) {
        self.queue.progress.lock().expect("no panic while held").remove(&self.number);
    }
}
