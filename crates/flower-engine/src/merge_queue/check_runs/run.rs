//! One run of `flower check`: what it checks, and what it has found so far.

use super::Subject;
use crate::home::Home;
use crate::merge_queue::MergeQueue;
use crate::merge_queue::check_runner::{Origin, Progress};
use crate::worktrees::reclaim;
use flower_contract::view::{CheckMergeView, CheckRunState, CheckRunView, HoldView, NotApproved, OtherWork};
use flower_core::landing::Check;
use flower_git::CommitId;
use std::path::PathBuf;
use std::sync::Mutex;
use tokio::sync::watch;

/// One run. Dropping it deletes its logs.
pub(super) struct CheckRun {
    pub(super) id: u64,
    pub(super) project: String,
    pub(super) subject: Subject,
    pub(super) commit: CommitId,
    pub(super) only: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) progress: Progress,
    pub(super) began_at: String,
    /// Why it is cancelled.
    pub(super) stop: watch::Sender<Option<String>>,
    pub(super) report: Mutex<Report>,
    pub(super) surroundings: Surroundings,
    pub(super) home: Home,
}

/// What is beside the commit when a run begins. Unlike its [`Report`], it does not depend on MAIN.
#[derive(Default)]
pub(super) struct Surroundings {
    pub(super) others: Vec<OtherWork>,
    /// Files of the worktree that are changed and not committed.
    pub(super) uncommitted: usize,
}

impl Surroundings {
    fn note(&self) -> Option<String> {
        match self.uncommitted {
            0 => None,
            1 => Some("1 file is changed and not committed, so it is not checked".to_owned()),
            count => Some(format!("{count} files are changed and not committed, so they are not checked")),
        }
    }
}

impl Drop for CheckRun {
    fn drop(&mut self) {
        reclaim(&self.home, &self.folder);
    }
}

/// What a run has found so far.
#[derive(Clone)]
pub(super) struct Report {
    pub(super) state: CheckRunState,
    pub(super) reason: Option<String>,
    pub(super) merge: CheckMergeView,
    pub(super) held: Vec<HoldView>,
    pub(super) notes: Vec<String>,
    pub(super) not_approved: Option<NotApproved>,
    /// Once it has ended.
    pub(super) checks: Vec<Check>,
    pub(super) ended_at: Option<String>,
}

impl Report {
    pub(super) fn new(onto: &CommitId) -> Report {
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

    pub(super) fn end(&mut self, state: CheckRunState, reason: Option<String>) {
        self.state = state;
        self.reason = reason;
        self.ended_at = Some(crate::now());
    }
}

impl CheckRun {
    pub(super) fn is_open(&self) -> bool {
        self.report.lock().expect("no panic while held").ended_at.is_none()
    }

    pub(super) fn set(&self, state: CheckRunState, reason: Option<&str>) {
        let mut report = self.report.lock().expect("no panic while held");
        report.state = state;
        report.reason = reason.map(str::to_owned);
    }

    pub(super) fn end(&self, state: CheckRunState, reason: Option<String>, checks: Vec<Check>) {
        let mut report = self.report.lock().expect("no panic while held");
        report.checks = checks;
        report.end(state, reason);
    }

    pub(super) fn origin(&self) -> Origin {
        match &self.subject {
            Subject::Worktree(name) => Origin::Worktree(name.clone()),
            Subject::Proposal => Origin::Proposal,
        }
    }
}

impl MergeQueue {
    pub(super) fn view_run(&self, run: &CheckRun) -> CheckRunView {
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
            others: run.surroundings.others.clone(),
            notes: report.notes.into_iter().chain(run.surroundings.note()).collect(),
            not_approved: report.not_approved,
            began_at: run.began_at.clone(),
            ended_at: report.ended_at,
        }
    }
}
