//! Path leases: which agent may change which paths of a shared worktree, and which one may commit now.

use super::projects::ProjectChoice;
use crate::Setup;
use crate::clock::BootClock;
use crate::{Access, Projects, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::LeaseView;
use flower_core::boot_time::in_words;
use flower_core::policy::Read;
use flower_core::{Caller, Command, Lease, LeaseId, Pattern, Refusal, lease};
use flower_store::Store;
use flower_store::dispatches;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const DEFAULT_DURATION: Duration = Duration::from_secs(60 * 60);
/// After this time the right to commit passes on, in case its holder has died. A commit takes less.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(8);
/// How long an agent waits until another one has committed.
const COMMIT_WAIT_TIMEOUT: Duration = Duration::from_secs(10);

pub struct Leases {
    store: Store,
    clock: BootClock,
    access: Arc<Access>,
    projects: Arc<Projects>,
    worktrees: Arc<Worktrees>,
    /// By project and worktree: the agent that commits there now, and until when it may.
    committing: Mutex<HashMap<(String, String), (String, Instant)>>,
}

impl Leases {
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        worktrees: &Arc<Worktrees>,
    ) -> Leases {
        Leases {
            store: setup.store.clone(),
            clock: setup.clock.clone(),
            access: access.clone(),
            projects: projects.clone(),
            worktrees: worktrees.clone(),
            committing: Mutex::default(),
        }
    }

    /// The current leases of one worktree or of the whole project.
    pub async fn list(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        worktree: Option<&str>,
    ) -> Result<Vec<LeaseView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let project = self.projects.find(choice).await?;
        let moment = self.clock.moment();
        let all = self.store.read(|conn| dispatches::leases(conn, None)).await?;
        let wanted = |lease: &Lease| {
            !lease.is_over(&moment)
                && project.as_ref().is_none_or(|project| *project == lease.project)
                && worktree.is_none_or(|name| name == lease.worktree)
                && reader.may(Read::Worktree { project: &lease.project, name: &lease.worktree })
        };
        Ok(all.into_iter().filter(wanted).map(|lease| self.view_lease(lease)).collect())
    }

    pub async fn take(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        worktree: Option<&str>,
        patterns: Vec<String>,
        time: Option<Duration>,
        holder: Option<String>,
    ) -> Result<LeaseView, Problem> {
        let name = self.own_worktree(caller, choice, worktree).await?;
        let worktree = self.worktrees.find(choice, &name).await?;
        let request = lease::Request {
            project: worktree.project,
            worktree: worktree.name,
            holder,
            patterns,
            seconds: time.unwrap_or(DEFAULT_DURATION).as_secs(),
            moment: self.clock.moment(),
        };
        let lease: Lease = self.store.create(caller, Command::TakeLease(request)).await?;
        Ok(self.view_lease(lease))
    }

    /// Releases one lease, or all leases of the caller in the worktree.
    pub async fn release(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        number: Option<LeaseId>,
        worktree: Option<&str>,
    ) -> Result<Vec<LeaseView>, Problem> {
        let leases = match number {
            Some(number) => {
                let found = self.store.read(move |conn| dispatches::lease(conn, number)).await?;
                vec![found.filter(|lease| lease.live).ok_or(Refusal::NoLease { number })?]
            }
            None => {
                let name = self.own_worktree(caller, choice, worktree).await?;
                let worktree = self.worktrees.find(choice, &name).await?;
                let of = (worktree.project, worktree.name);
                let mut all = self.store.read(move |conn| dispatches::leases(conn, Some((&of.0, &of.1)))).await?;
                all.retain(|lease| lease.holder == caller.actor.name);
                all
            }
        };
        let mut released = Vec::new();
        for lease in leases {
            let why = format!("given back by {}", caller.actor.name);
            self.store.execute(caller, Command::ReleaseLease { number: lease.number, why, over: None }).await?;
            released.push(self.view_lease(lease));
        }
        Ok(released)
    }

    /// The named worktree, else the worker's own.
    async fn own_worktree(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        named: Option<&str>,
    ) -> Result<String, Problem> {
        match named.or(caller.worktree.as_deref()) {
            Some(name) => self.access.require_inside(caller, choice, name).await.map(|()| name.to_owned()),
            None => Err(Problem::usage(
                "no worktree is named",
                "name it: `--worktree NAME`; an agent's token knows its own once it has claimed something",
            )),
        }
    }

    /// Called by the worktree's hook before a commit: fails if another agent has reserved one of the paths, and waits while
    /// another agent commits. A commit without the hook is checked when commits are collected.
    pub async fn begin_commit(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        paths: &[String],
    ) -> Result<(), Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        let of = (worktree.project.clone(), worktree.name.clone());
        let leases = self.store.read(move |conn| dispatches::leases(conn, Some((&of.0, &of.1)))).await?;
        let moment = self.clock.moment();
        for lease in leases.iter().filter(|l| !l.is_over(&moment) && l.holder != caller.actor.name) {
            let patterns: Vec<Pattern> = lease.patterns.iter().filter_map(|raw| Pattern::parse(raw).ok()).collect();
            if let Some(path) = paths.iter().find(|path| patterns.iter().any(|pattern| pattern.matches(path))) {
                let left = in_words(moment.left(&lease.beat, lease.seconds));
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("`{path}` is reserved by `{}`, for another {left}", lease.holder),
                    "commit only what is yours: `git commit -- PATHS`, or `git restore --staged PATH` first",
                ));
            }
        }
        let key = (worktree.project, worktree.name);
        // One agent commits at a time, because agents of a worktree share its index.
        let asked = Instant::now();
        loop {
            let holder = {
                let mut all = self.committing.lock().expect("no panic while held");
                all.retain(|_, (_, until)| *until > Instant::now());
                match all.get(&key).filter(|(holder, _)| *holder != caller.actor.name) {
                    Some((holder, _)) => holder.clone(),
                    None => {
                        all.insert(key, (caller.actor.name.clone(), Instant::now() + COMMIT_TIMEOUT));
                        return Ok(());
                    }
                }
            };
            if asked.elapsed() > COMMIT_WAIT_TIMEOUT {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("`{holder}` is committing in `{name}` at this moment"),
                    "try again in a moment",
                ));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Called after a commit: records which agent made it, and lets the next one commit.
    pub async fn end_commit(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        commit: &str,
    ) -> Result<(), Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        let commit = flower_core::link::target(flower_core::LinkKind::Commit, commit)?;
        let made = format!("{} {}", super::now(), caller.actor.name);
        self.store.remember(format!("made/{commit}"), Some(made)).await?;
        let mut all = self.committing.lock().expect("no panic while held");
        let key = (worktree.project, worktree.name);
        if all.get(&key).is_some_and(|(holder, _)| *holder == caller.actor.name) {
            all.remove(&key);
        }
        Ok(())
    }

    /// Deletes state outside of the log, such as the authors of commits, after 30 days.
    pub async fn delete_old_state(&self) {
        let kept = jiff::SignedDuration::from_hours(30 * 24);
        let before = jiff::Timestamp::now().checked_sub(kept).map_or_else(|_| String::new(), super::stamp);
        if let Err(error) = self.store.tidy(before).await {
            tracing::warn!("old state outside of the log not deleted: {error}");
        }
    }

    fn view_lease(&self, lease: Lease) -> LeaseView {
        LeaseView {
            id: lease.number.0,
            expires_at: self.clock.expires_at(&lease.beat, lease.seconds),
            project: lease.project,
            worktree: lease.worktree,
            holder: lease.holder,
            brief: lease.brief.map(u64::from),
            patterns: lease.patterns,
            taken_at: lease.at,
        }
    }
}
