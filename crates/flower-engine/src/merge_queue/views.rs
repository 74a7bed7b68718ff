//! What is read of landings: one of them, the queue in its order, and the logs of checks.

use super::check_log;
use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{HoldView, LandingView};
use flower_core::landing::State;
use flower_core::policy::Read;
use flower_core::queue::{self, QueueStatus};
use flower_core::{BriefId, Caller, Landing, LandingId, Main, Refusal};
use flower_store::landings;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Bytes of a check's log in one answer.
pub(super) const MAX_LOG_BYTES: u64 = 1024 * 1024;

impl MergeQueue {
    pub(crate) async fn get(&self, number: LandingId) -> Result<Landing, Problem> {
        let found = self.store.read(move |conn| Ok((landings::landing(conn, number)?, landings::last(conn)?)));
        let (landing, newest) = found.await?;
        landing.ok_or_else(|| Refusal::NoLanding { number, newest }.into())
    }

    pub async fn show(&self, number: LandingId) -> Result<LandingView, Problem> {
        let landing = self.get(number).await?;
        let statuses = if landing.is_open() { self.queue_statuses(&landing.project).await? } else { BTreeMap::new() };
        Ok(self.view_landing(landing, &statuses))
    }

    /// Open landings in the order in which they will land; with `all`, ended ones too, newest first.
    pub async fn queue(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        all: bool,
        limit: u64,
    ) -> Result<Vec<LandingView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let mut queue = self.whole_queue(choice, all, limit).await?;
        queue.retain(|landing| {
            let LandingView { project, worktree, .. } = landing;
            let briefs: Vec<BriefId> = landing.briefs.iter().copied().map(BriefId).collect();
            reader.may(Read::Landing { project, worktree: worktree.as_deref(), briefs: &briefs })
        });
        Ok(queue)
    }

    async fn whole_queue(&self, choice: &ProjectChoice, all: bool, limit: u64) -> Result<Vec<LandingView>, Problem> {
        let project = self.projects.find(choice).await?;
        if all {
            let of = project.clone();
            let found = self.store.read(move |conn| landings::all(conn, of.as_deref(), limit)).await?;
            let mut statuses = BTreeMap::new();
            let projects: HashSet<String> = found.iter().map(|landing| landing.project.clone()).collect();
            for project in projects {
                statuses.extend(self.queue_statuses(&project).await?);
            }
            return Ok(found.into_iter().map(|landing| self.view_landing(landing, &statuses)).collect());
        }
        let open = self.store.read(move |conn| landings::open(conn, project.as_deref())).await?;
        let mut projects: Vec<String> = open.iter().map(|landing| landing.project.clone()).collect();
        projects.sort();
        projects.dedup();
        let mut views = Vec::new();
        for project in projects {
            let plan = self.plan(&project).await?;
            let statuses: BTreeMap<LandingId, QueueStatus> = plan.order.iter().cloned().collect();
            for (number, _) in &plan.order {
                if let Some(landing) = open.iter().find(|landing| landing.number == *number) {
                    views.push(self.view_landing(landing.clone(), &statuses));
                }
            }
        }
        views.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(views)
    }

    /// The order of the queue now, as its policy decides it.
    pub(crate) async fn plan(&self, project: &str) -> Result<queue::Plan, Problem> {
        let of = project.to_owned();
        let read = self.store.read(move |conn| {
            let open = landings::open(conn, Some(&of))?;
            let briefs = landings::briefs(conn, &open)?;
            Ok((landings::main(conn, &of)?, open, briefs))
        });
        let (main, open, briefs): (Option<Main>, _, _) = read.await?;
        Ok(queue::plan(main.as_ref(), &open, &briefs, 1))
    }

    async fn queue_statuses(&self, project: &str) -> Result<BTreeMap<LandingId, QueueStatus>, Problem> {
        Ok(self.plan(project).await?.order.into_iter().collect())
    }

    fn view_landing(&self, landing: Landing, statuses: &BTreeMap<LandingId, QueueStatus>) -> LandingView {
        let folder = self.landing_folder(landing.number);
        // While checks run, the log has those of an earlier run.
        let progress = self.progress.lock().expect("no panic while held").get(&landing.number).cloned();
        let (checks, running) = match progress.filter(|_| landing.state == State::Checking) {
            Some(progress) => progress.now(),
            None => (landing.checks.clone(), None),
        };
        let checks = checks.iter().map(|check| self.check_view(&folder, check));
        let status = statuses.get(&landing.number).filter(|_| landing.is_open());
        // The reason of a requeue is shown until the next attempt begins.
        let reason = match (status, &landing.reason) {
            (Some(status), Some(reason)) if landing.state == State::Queued && !reason.is_empty() => {
                Some(format!("{}; {reason}", status.in_words()))
            }
            (Some(status), _) => Some(status.in_words()),
            (None, reason) => reason.clone(),
        };
        LandingView {
            id: landing.number.0,
            project: landing.project,
            title: landing.title,
            source: landing.source,
            worktree: landing.worktree,
            briefs: landing.briefs.into_iter().map(u64::from).collect(),
            commit: landing.commit,
            upstream: landing.upstream,
            merge_commit: landing.merge_commit.filter(|_| landing.state != State::Queued),
            onto: landing.onto,
            state: landing.state,
            reason,
            verdict: landing.verdict,
            priority: landing.priority,
            held: landing.held.into_iter().map(HoldView::from).collect(),
            approved: landing.approved,
            checks: checks.collect(),
            running,
            flaky: landing.flaky,
            paths: landing.paths,
            reverts: landing.of.map(u64::from),
            why: landing.why,
            batch: None,
            uncommitted: Vec::new(),
            by: landing.by,
            queued_at: landing.queued_at,
            ended_at: landing.ended_at,
        }
    }

    /// The output of a check's newest run from byte `after` on. The run need not have ended.
    pub async fn check_log(&self, number: LandingId, check: &str, after: u64) -> Result<Vec<u8>, Problem> {
        self.get(number).await?;
        let name = flower_core::text::name("check", check)?;
        let folder = self.landing_folder(number);
        let Some(path) = check_log::newest_log(&folder, &name) else {
            return Err(Problem::new(
                ProblemKind::NotFound,
                format!("landing {number} has no output of a check `{name}`"),
                format!("`flower queue show {number}` lists its checks"),
            ));
        };
        Ok(check_log::read_from(&path, after, MAX_LOG_BYTES))
    }

    /// The folder with the logs of a landing's checks.
    pub(crate) fn landing_folder(&self, number: LandingId) -> PathBuf {
        self.home.landings().join(number.to_string())
    }
}

/// The last `max_bytes` of a check's log.
pub(crate) fn log_tail(file: &Path, max_bytes: u64) -> String {
    String::from_utf8_lossy(&check_log::tail(file, max_bytes)).into_owned()
}
