//! Runs a list of checks on one commit, each in a candidate of its own: for a landing, for `flower check`, and to try a proposed
//! `flower.toml`. A check is left out if the merge changes none of its paths, or if it has passed on the same tree before.

use super::candidate::Phase;
use super::check_log::{self, LoggedCommand, log_name};
use super::prepared::Prepared;
use super::series::Series;
use crate::MergeQueue;
use crate::failpoint;
use crate::notify::ChangeHints;
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::{disk, setup};
use flower_contract::error::Problem;
use flower_contract::view::{CheckView, RunningCheck};
use flower_core::LandingId;
use flower_core::chain::sha256;
use flower_core::landing::Check;
use flower_git::{Change, CommitId, TreeId};
use flower_jail::Spec;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Bytes of a check's log that are shown with its result: its end.
pub(super) const SHOWN_LOG_BYTES: u64 = 4 * 1024;
/// The name of the result of `[checks] prepare`, which no check can have.
pub const PREPARE: &str = "prepare";
/// Raised when the key of a green result is made in another way.
const KEY_VERSION: u32 = 1;

/// For whom checks run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    Landing(LandingId),
    /// `flower check` of a worktree.
    Worktree(String),
    /// A proposed `flower.toml` is tried.
    Proposal,
}

impl Origin {
    /// Says where a check has passed.
    pub(super) fn in_words(&self) -> String {
        match self {
            Origin::Landing(number) => format!("in landing {number}"),
            Origin::Worktree(name) => format!("when `{name}` was checked"),
            Origin::Proposal => "when the proposed flower.toml was tried".to_owned(),
        }
    }
}

/// One run of the checks of a series, on one commit.
pub(super) struct CheckJob<'a> {
    pub(super) series: &'a Series<'a>,
    pub(super) commit: &'a CommitId,
    pub(super) tree: &'a TreeId,
    /// Numbers the runs of a series, and is part of the names of their logs.
    pub(super) run: u64,
    /// Whether no check of this commit has failed in an earlier run. Results of flaky checks are not kept.
    pub(super) is_first_try: bool,
}

impl CheckJob<'_> {
    /// The name of its candidates.
    pub(super) fn name(&self) -> String {
        match self.series.origin {
            Origin::Landing(number) => format!("landing-{number}"),
            Origin::Worktree(_) => format!("check-{}", self.series.id),
            Origin::Proposal => format!("try-{}", self.series.id),
        }
    }

    /// The value of `FLOWER_LANDING`: 0 if nothing lands.
    pub(super) fn landing_number(&self) -> u64 {
        match self.series.origin {
            Origin::Landing(number) => number.0,
            Origin::Worktree(_) | Origin::Proposal => 0,
        }
    }

    /// Whether the merge changes none of the paths that a check names. A merge that changes `flower.toml` runs all checks: it may
    /// have changed this one.
    fn is_skipped(&self, check: &CheckSettings) -> bool {
        let Some(changes) = self.series.changes.filter(|_| !check.paths.is_empty()) else { return false };
        let concerns = |change: &Change| {
            let path = change.path.to_string_lossy();
            path == "flower.toml" || check.paths.iter().any(|pattern| pattern.matches(&path))
        };
        !changes.iter().any(concerns)
    }

    /// The result of a check that did not run, with a log that says why.
    fn not_run(&self, name: &str, reused: Option<String>) -> Check {
        let log = log_name(self.run, name);
        let text = match &reused {
            Some(origin) => {
                format!("passed before, {origin}; reused: tree, command, network and preparation are the same\n")
            }
            None => "skipped: none of its paths changed\n".to_owned(),
        };
        // Without the log only the explanation is missing.
        let _ = std::fs::write(self.series.folder.join(&log), text);
        let skipped = reused.is_none();
        Check { name: name.to_owned(), ok: true, code: 0, milliseconds: 0, log, skipped, reused }
    }
}

/// The progress of a run, for its viewers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Mutex<RunState>>);

#[derive(Debug, Default)]
struct RunState {
    attempt: u64,
    /// Which of several commits is checked, from 1.
    commit: u64,
    commits: u64,
    running: Vec<String>,
    ended: Vec<Check>,
}

impl Progress {
    pub(super) fn begin(&self, attempt: u64, commit: usize, commits: usize) {
        let (commit, commits) = (commit as u64, commits as u64);
        *self.0.lock().expect("no panic while held") = RunState { attempt, commit, commits, ..RunState::default() };
    }

    fn started(&self, name: &str) {
        self.0.lock().expect("no panic while held").running.push(name.to_owned());
    }

    fn ended(&self, check: &Check) {
        let mut state = self.0.lock().expect("no panic while held");
        state.running.retain(|running| *running != check.name);
        state.ended.push(check.clone());
    }

    /// The checks that have ended in this run, and the one that has been running for the longest time.
    pub(super) fn now(&self) -> (Vec<Check>, Option<RunningCheck>) {
        let state = self.0.lock().expect("no panic while held");
        let RunState { attempt, commit, commits, .. } = *state;
        let running = state.running.first().map(|name| RunningCheck { name: name.clone(), attempt, commit, commits });
        (state.ended.clone(), running)
    }
}

/// The digest of all inputs of a job's checks but tree, command, time limit and network.
struct Inputs {
    /// `None` if flower cannot know all inputs, so that results are not reused.
    digest: Option<String>,
}

impl Inputs {
    /// The key of a green result. `None` if it is neither kept nor reused.
    fn key(&self, job: &CheckJob<'_>, check: &CheckSettings) -> Option<String> {
        let inputs = self.digest.as_ref().filter(|_| check.reuse)?;
        let network = job.series.settings.check_network(check);
        let key = json!([KEY_VERSION, job.tree.as_str(), check.run, check.timeout.as_secs(), network, inputs]);
        Some(sha256(key.to_string().as_bytes()))
    }
}

impl MergeQueue {
    /// Runs the checks of a job, up to `[land] parallel` at a time, until one fails. The results are in the order of the checks;
    /// those that had not ended when one failed are missing.
    pub(super) async fn run_checks(&self, job: &CheckJob<'_>) -> Result<Vec<Check>, Problem> {
        disk::make_private(job.series.folder).map_err(|error| self.home.problem(job.series.folder, &error))?;
        let inputs = self.inputs(job).await;
        let mut ended: Vec<(usize, Check)> = Vec::new();
        let mut to_run = Vec::new();
        for (index, (name, check)) in job.series.checks.iter().enumerate() {
            let green = inputs.key(job, check).and_then(|key| self.green_checks.find(&key));
            let result = match green {
                _ if job.is_skipped(check) => job.not_run(name, None),
                Some(green) => job.not_run(name, Some(green.origin.in_words())),
                None => {
                    to_run.push(index);
                    continue;
                }
            };
            job.series.progress.ended(&result);
            ended.push((index, result));
        }
        self.hints.publish(ChangeHints::LANDINGS);
        let prepared = match to_run.is_empty() || job.series.settings.checks.prepare.is_empty() {
            true => None,
            false => {
                let (result, prepared) = self.prepare_checks(job).await?;
                job.series.progress.ended(&result);
                let failed = !result.ok;
                let mut all: Vec<Check> = vec![result];
                if failed {
                    all.extend(in_order(ended));
                    return Ok(all);
                }
                Some((all, prepared))
            }
        };
        let (before, prepared) = prepared.map_or_else(Default::default, |(before, prepared)| (before, prepared));
        let mut waiting = to_run.into_iter();
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < job.series.settings.land.parallel.max(1)
                && let Some(index) = waiting.next()
            {
                running.push(self.run_check(job, index, prepared.as_ref()));
            }
            let Some(ran) = running.next().await else { break };
            let (index, result) = ran?;
            job.series.progress.ended(&result);
            self.hints.publish(ChangeHints::LANDINGS);
            if let Some(key) = inputs.key(job, &job.series.checks[index].1) {
                match result.ok {
                    true if job.is_first_try => self.green_checks.add(key, job.series.origin.clone()),
                    true => {}
                    false => self.green_checks.remove(&key),
                }
            }
            let failed = !result.ok;
            ended.push((index, result));
            // Dropping the others ends them.
            if failed {
                break;
            }
        }
        Ok(before.into_iter().chain(in_order(ended)).collect())
    }

    /// Runs one check in a fresh candidate: files that one check changes or leaves must not affect another.
    async fn run_check(
        &self,
        job: &CheckJob<'_>,
        index: usize,
        prepared: Option<&Arc<Prepared>>,
    ) -> Result<(usize, Check), Problem> {
        let (name, check) = &job.series.checks[index];
        let phase = Phase::Check(check);
        let candidate = self.make_candidate(job, phase, index + 1, prepared).await?;
        failpoint::here("landing.candidate");
        let result = self.run_in(job, &candidate, name, &[check.into()], phase).await?;
        Ok((index, result))
    }

    /// Runs commands in a candidate, with one log.
    pub(super) async fn run_in(
        &self,
        job: &CheckJob<'_>,
        candidate: &super::candidate::Candidate,
        name: &str,
        commands: &[LoggedCommand<'_>],
        phase: Phase<'_>,
    ) -> Result<Check, Problem> {
        let log = log_name(job.run, name);
        let path = job.series.folder.join(&log);
        let began = Instant::now();
        job.series.progress.started(name);
        self.hints.publish(ChangeHints::LANDINGS);
        let code = check_log::run_logged(&candidate.launcher, commands, &candidate.paths.tree, &path).await;
        let code = code.map_err(|error| self.home.problem(job.series.folder, &error))?;
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let ok = code == 0;
        check_log::add_hosts(&path, &candidate.paths.network_record());
        if !ok {
            check_log::add_network_hint(&path, phase.network(job.series.settings), matches!(phase, Phase::Prepare));
        }
        Ok(Check { name: name.to_owned(), ok, code: code.into(), milliseconds, log, skipped: false, reused: None })
    }

    /// What a check can see besides the tree: the jail, carried folders and what prepares it.
    async fn inputs(&self, job: &CheckJob<'_>) -> Inputs {
        let worktree = &job.series.settings.worktree;
        // Paths outside of the repository can change at any time.
        if !worktree.read.is_empty() {
            return Inputs { digest: None };
        }
        let Some(carried) = setup::carried_digest(&job.series.repository.root, worktree).await else {
            return Inputs { digest: None };
        };
        Inputs { digest: Some(sha256(jail_inputs(job.series.settings, &carried).to_string().as_bytes())) }
    }

    pub(super) fn check_view(&self, folder: &Path, check: &Check) -> CheckView {
        let file = folder.join(&check.log);
        CheckView {
            name: check.name.clone(),
            ok: check.ok,
            seconds: check.milliseconds as f64 / 1_000.0,
            code: check.code,
            log: String::from_utf8_lossy(&check_log::tail(&file, SHOWN_LOG_BYTES)).into_owned(),
            log_file: file.to_string_lossy().into_owned(),
            skipped: check.skipped,
            reused: check.reused.clone(),
        }
    }
}

fn in_order(mut ended: Vec<(usize, Check)>) -> impl Iterator<Item = Check> {
    ended.sort_by_key(|(index, _)| *index);
    ended.into_iter().map(|(_, check)| check)
}

/// All that the jail of a candidate, carried folders and preparations add to the tree.
pub(super) fn jail_inputs(settings: &Settings, carried: &str) -> serde_json::Value {
    let worktree = &settings.worktree;
    let network = Phase::Prepare.network(settings);
    let objects = worktree.objects == crate::settings::Objects::All;
    json!([
        flower_contract::VERSION,
        Spec::new("/"),
        // Hosts and ports, whichever mode the check has.
        format!("{:?}", worktree.network_policy()),
        objects,
        settings.checks.prepare,
        network,
        carried,
    ])
}

/// Why a check failed, for people.
pub(super) fn failure(check: &Check) -> String {
    let Check { name, code, .. } = check;
    match (name.as_str(), code) {
        (PREPARE, 124) => "`[checks] prepare` took too long".to_owned(),
        (PREPARE, 127) => "a command of `[checks] prepare` was not found (127)".to_owned(),
        (PREPARE, code) => format!("`[checks] prepare` failed ({code})"),
        (_, 124) => format!("the check `{name}` took too long"),
        (_, 127) => format!("the command of the check `{name}` was not found (127)"),
        (_, code) => format!("the check `{name}` failed ({code})"),
    }
}
