//! The status of a project and the daemon.

use crate::projects::ProjectChoice;
use crate::{Overview, PAGE};
use flower_contract::error::Problem;
use flower_contract::view::{MainState, MainSummary, NextLanding, StatusView};
use flower_core::policy;
use flower_core::queue::QueueStatus;
use flower_core::{Caller, Landing};
use flower_store::{briefs, dispatches, landings, worktrees};
use std::collections::BTreeMap;
use std::time::Duration;

/// A status is shown without a fresh look at MAIN if that takes longer.
const EXAMINE_TIMEOUT: Duration = Duration::from_secs(5);

impl Overview {
    /// The status as the log has it; with `live`, MAIN is examined first.
    pub async fn status(&self, caller: &Caller, choice: ProjectChoice, live: bool) -> Result<StatusView, Problem> {
        // An agent without work asks for the status as its heartbeat, and gets the daemon's only.
        if choice.name.is_none() && policy::reads_own_only(caller) && self.access.project_of(caller).await?.is_none() {
            return Ok(self.daemon_status());
        }
        let choice = &self.access.choice(caller, choice).await?;
        let project = self.projects.find(choice).await?;
        if let Some(project) = project.as_ref().filter(|_| live) {
            self.merge_queue.examine_within(project, EXAMINE_TIMEOUT).await;
        }
        let of = project.clone();
        let briefs = self.store.read(move |conn| briefs::count_by_status(conn, of.as_deref())).await?;
        let of = project.clone();
        let worktrees = self.store.read(move |conn| worktrees::live(conn, of.as_deref())).await?.len() as u64;
        let of = project.clone();
        let (main, open) = self
            .store
            .read(move |conn| {
                let main = of.as_deref().map(|of| landings::main(conn, of)).transpose()?.flatten();
                Ok((main, landings::open(conn, of.as_deref())?))
            })
            .await?;
        let of = project.clone();
        let mut dispatches = self.store.read(dispatches::open).await?;
        dispatches.retain(|dispatch| of.is_none() || dispatch.project.is_none() || dispatch.project == of);
        let at_work = dispatches.iter().filter(|dispatch| dispatch.claim.is_some()).count();
        let mut agents = BTreeMap::new();
        for agent in
            self.agents.list(&Caller::system(), choice, false, PAGE).await?.iter().filter(|agent| !agent.joined)
        {
            *agents.entry(agent.state.as_str().to_owned()).or_insert(0) += 1;
        }
        let next_landing = match &project {
            Some(project) if !open.is_empty() => self.next_landing(project, &open).await?,
            _ => None,
        };
        let main = match project.as_ref().zip(main) {
            Some((project, main)) => {
                let settings =
                    self.merge_queue.settings_problem(project, &main.tip).await.map(|problem| problem.in_words());
                let unchecked = settings.is_none() && self.merge_queue.lacks_checks(project, &main.tip).await;
                let mut summary = MainSummary { settings, unchecked, ..self.merge_queue.summary_of(project, main) };
                // Moved or deleted: what the log has about it says nothing.
                if let Err(problem) = self.worktrees.repository(project).await {
                    summary.state = MainState::Unknown;
                    (summary.reason, summary.next) = (Some(problem.message), problem.hints.into_iter().next());
                }
                Some(summary)
            }
            None => None,
        };
        Ok(StatusView {
            project,
            main,
            queue: open.len() as u64,
            next_landing,
            briefs,
            worktrees,
            at_work: at_work as u64,
            unclaimed: (dispatches.len() - at_work) as u64,
            agents,
            inbox: self.inbox(caller).await?.len() as u64,
            ..self.daemon_status()
        })
    }

    /// The status of the daemon, without a project.
    fn daemon_status(&self) -> StatusView {
        StatusView {
            version: flower_contract::VERSION.to_owned(),
            pid: std::process::id(),
            url: self.url.clone(),
            started_at: self.started_at.clone(),
            database: self.database.clone(),
            read_only: self.store.cut(),
            project: None,
            main: None,
            queue: 0,
            next_landing: None,
            briefs: BTreeMap::new(),
            worktrees: 0,
            at_work: 0,
            unclaimed: 0,
            agents: BTreeMap::new(),
            inbox: 0,
            last_event: self.store.live().head(),
        }
    }

    /// The running or next landing; otherwise the first one that waits.
    async fn next_landing(&self, project: &str, open: &[Landing]) -> Result<Option<NextLanding>, Problem> {
        let order = self.merge_queue.plan(project).await?.order;
        let is_current = |status: &QueueStatus| matches!(status, QueueStatus::Running | QueueStatus::Next);
        let next = order.iter().find(|(_, status)| is_current(status)).or_else(|| order.first());
        Ok(next.and_then(|(number, status)| {
            let landing = open.iter().find(|landing| landing.number == *number)?;
            let (title, reason) = (landing.title.clone(), status.in_words());
            Some(NextLanding { id: number.0, title, state: landing.state, reason })
        }))
    }
}
