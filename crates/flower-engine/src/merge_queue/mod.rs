//! The merge queue: how work reaches MAIN. Each project has one queue. A landing is merged without touching MAIN, passes the
//! gate and the checks, and exactly the commit that was checked becomes MAIN.

mod candidate;
mod check_log;
mod check_runner;
mod check_runs;
mod check_slots;
mod checks;
mod gate;
mod green_checks;
mod links;
pub(crate) mod main_branch;
mod merge;
mod objects;
mod post_land;
mod prepared;
mod proposal;
mod propose_config;
mod runner;
mod series;
mod views;

pub use check_runner::PREPARE;
pub use check_runs::{CheckOptions, Subject};
pub(crate) use checks::VerifiedCommit;
pub(crate) use merge::conflicts_with;
pub use proposal::advice::{Advice, advice, install_hint};
pub(crate) use views::log_tail;

use super::projects::ProjectChoice;
use super::worktrees::facts;
use super::worktrees::landed::LandedBefore;
use crate::Setup;
use crate::clock::BootClock;
use crate::home::Home;
use crate::keyed_locks::KeyedLocks;
use crate::merge_queue::main_branch::{MainWatch, Rules};
use crate::notify::ChangeHints;
use crate::own_refs::{candidate_pin, pin, pins};
use crate::{Access, Networks, Profiles, Projects, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::LandingView;
use flower_core::landing::{self, Priority, Revert, Source, State, Step};
use flower_core::policy::{self, Action};
use flower_core::text::{TITLE_CHARS, cut};
use flower_core::worktree::Seal;
use flower_core::{BriefId, Caller, Command, Event, Landing, LandingId, Refusal, WorktreeId};
use flower_git::repository::Repository;
use flower_git::{CommitId, Log, RefName, Repo};
use flower_store::Store;
use flower_store::{briefs, landings};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};

/// How long `land` looks for files that are not committed; it does not depend on them.
const UNCOMMITTED_WAIT: Duration = Duration::from_secs(2);
/// How long a request that queues a landing waits for an examination of MAIN.
const EXAMINE_TIMEOUT: Duration = Duration::from_secs(3);
/// Uncommitted files in one answer.
const MAX_UNCOMMITTED: usize = 100;

pub struct MergeQueue {
    store: Store,
    home: Home,
    hints: ChangeHints,
    clock: BootClock,
    access: Arc<Access>,
    projects: Arc<Projects>,
    networks: Arc<Networks>,
    worktrees: Arc<Worktrees>,
    profiles: Arc<Profiles>,
    /// By project: held while MAIN is examined or moved.
    main_locks: KeyedLocks<String>,
    /// By project: held during a push, so that pushes happen in order.
    push_locks: KeyedLocks<String>,
    wake: Notify,
    /// Projects whose queue is being processed.
    busy: Mutex<HashSet<String>>,
    /// By landing: tells its checks to stop.
    stops: Mutex<HashMap<LandingId, watch::Sender<bool>>>,
    /// By landing: the progress of its checks.
    progress: Mutex<HashMap<LandingId, check_runner::Progress>>,
    check_slots: check_slots::CheckSlots,
    check_runs: check_runs::CheckRuns,
    green_checks: green_checks::GreenChecks,
    pending_preparations: prepared::PendingPreparations,
    /// Projects in which a landing failed for a reason that an immediate retry would meet again.
    backoffs: Mutex<HashMap<String, Backoff>>,
    /// By project.
    rules: Mutex<HashMap<String, Arc<Rules>>>,
    /// By project: a tip of MAIN, and a commit of its remote that this tip has.
    settled_remotes: Mutex<HashMap<String, (String, String)>>,
    /// By worktree: the note that was recorded last. Locked while worktrees are synced after a landing.
    sync_notes: AsyncMutex<HashMap<WorktreeId, post_land::SyncNote>>,
    watch: MainWatch,
}

impl MergeQueue {
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        networks: &Arc<Networks>,
        worktrees: &Arc<Worktrees>,
        profiles: &Arc<Profiles>,
    ) -> MergeQueue {
        MergeQueue {
            store: setup.store.clone(),
            home: setup.home.clone(),
            hints: setup.hints.clone(),
            clock: setup.clock.clone(),
            access: access.clone(),
            projects: projects.clone(),
            networks: networks.clone(),
            worktrees: worktrees.clone(),
            profiles: profiles.clone(),
            main_locks: KeyedLocks::default(),
            push_locks: KeyedLocks::default(),
            wake: Notify::default(),
            busy: Mutex::default(),
            stops: Mutex::default(),
            progress: Mutex::default(),
            check_slots: check_slots::CheckSlots::default(),
            check_runs: check_runs::CheckRuns::default(),
            green_checks: green_checks::GreenChecks::new(setup.home.green_checks()),
            pending_preparations: prepared::PendingPreparations::default(),
            backoffs: Mutex::default(),
            rules: Mutex::default(),
            settled_remotes: Mutex::default(),
            sync_notes: AsyncMutex::default(),
            watch: MainWatch::default(),
        }
    }

    /// Plans the queues again, after a change that a landing may have waited for.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Like [`MergeQueue::wake`], without the delay after attempts that failed.
    pub(crate) fn wake_now(&self, project: &str) {
        self.reset_backoff(project);
        self.wake();
    }

    /// Delays the next attempt, each time twice as long as before.
    fn back_off(&self, project: &str) {
        let mut backoffs = self.backoffs.lock().expect("no panic while held");
        let pause = backoffs.get(project).map_or(MIN_BACKOFF, |backoff| (backoff.pause * 2).min(MAX_BACKOFF));
        backoffs.insert(project.to_owned(), Backoff { until: Instant::now() + pause, pause });
    }

    fn is_backing_off(&self, project: &str) -> bool {
        let backoffs = self.backoffs.lock().expect("no panic while held");
        backoffs.get(project).is_some_and(|backoff| backoff.until > Instant::now())
    }

    fn reset_backoff(&self, project: &str) {
        self.backoffs.lock().expect("no panic while held").remove(project);
    }

    fn stop(&self, number: LandingId) {
        if let Some(stop) = self.stops.lock().expect("no panic while held").get(&number) {
            stop.send_replace(true);
        }
    }

    pub(crate) fn stop_all(&self) {
        for stop in self.stops.lock().expect("no panic while held").values() {
            stop.send_replace(true);
        }
        self.stop_check_runs("everything was halted");
    }
}

/// The pause of a project's queue after a failed attempt.
#[derive(Debug)]
struct Backoff {
    until: Instant,
    pause: Duration,
}

const MIN_BACKOFF: Duration = Duration::from_secs(2);
const MAX_BACKOFF: Duration = Duration::from_secs(300);

impl MergeQueue {
    /// Queues the commits of a worktree.
    pub async fn land(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        options: LandOptions,
    ) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::Land)?;
        let worktree = self.worktrees.find(choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let main = self.worktrees.main_of(&worktree.project).await?;
        let landed = self.worktrees.landed_before(&place.repository, &worktree.project, Some(worktree.number)).await?;
        let new = match NewCommits::of(&place.repository, &place.full_branch(), &CommitId::parse(&main.tip)?, &landed)
            .await
        {
            Ok(new) => new,
            // git fails this way if the branch was deleted.
            Err(_) if place.repo().tip(&place.full_branch()).await?.is_none() => {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("worktree `{name}` has no branch `{}` any more", place.branch),
                    format!("make it again: `flower worktree shell {name} -- git branch {}`", place.branch),
                ));
            }
            Err(problem) => return Err(problem),
        };
        let new = match new {
            // What has landed as another commit is new to git only.
            Some(new) if !landed.is_empty() => {
                let (main, repository) = (CommitId::parse(&main.tip)?, &place.repository);
                let is_landed = LandedBefore::adds_nothing(&landed, repository, &main, &new.tip).await?;
                (!is_landed).then_some(new)
            }
            new => new,
        };
        let Some(new) = new else {
            let dirty = super::worktrees::observe::is_dirty(&place).await.unwrap_or(false);
            let (message, hint) = if dirty {
                (
                    format!("nothing new is committed in `{name}`, but files are changed"),
                    format!("commit them: `flower worktree shell {name} -- sh -c \"git add -A && git commit\"`"),
                )
            } else {
                (
                    format!("`{name}` has nothing that is not in MAIN"),
                    format!("commit something there first; `flower worktree show {name}` says how it stands"),
                )
            };
            return Err(Problem::new(ProblemKind::Refused, message, hint));
        };
        let briefs: Vec<BriefId> = worktree.brief.into_iter().chain(options.briefs).collect();
        let title = match (options.title, briefs.iter().min()) {
            (Some(title), _) => title,
            (None, Some(&brief)) => self.title_of(brief).await?,
            (None, None) => {
                let secrets = objects::own_secrets(&self.home, &place.repository).await?;
                new.title(name, &objects::SecretFinder::new(&secrets)?)
            }
        };
        let request = landing::Request {
            project: worktree.project.clone(),
            source: Source::Worktree,
            worktree: Some(worktree.name.clone()),
            worktree_number: Some(worktree.number),
            commit: new.tip.into(),
            title,
            briefs,
            priority: options.priority,
            reverts: None,
        };
        let landing = match options.join {
            true => self.enqueue_or_join(caller, request).await?,
            false => self.enqueue(caller, request).await?,
        };
        let changed = tokio::time::timeout(UNCOMMITTED_WAIT, super::worktrees::observe::uncommitted(&place)).await;
        let mut uncommitted = changed.ok().and_then(Result::ok).unwrap_or_default();
        uncommitted.truncate(MAX_UNCOMMITTED);
        Ok(LandingView { uncommitted, ..landing })
    }

    /// Who did the work of a landing: the last holder of a dispatch in its worktree, or else who queued it.
    pub(super) async fn worker_of(&self, landing: &Landing) -> Result<String, Problem> {
        let (project, worktree, briefs) = (landing.project.clone(), landing.worktree.clone(), landing.briefs.clone());
        let holder = self.store.read(move |conn| {
            let Some(worktree) = worktree else { return Ok(None) };
            let mut all = flower_store::dispatches::in_worktree(conn, &project, &worktree)?;
            for brief in briefs {
                all.extend(flower_store::dispatches::of_brief(conn, brief)?);
            }
            all.retain(|d| d.project.as_ref() == Some(&project) && d.worktree.as_ref() == Some(&worktree));
            let newest = all.into_iter().filter(|dispatch| !dispatch.runs.is_empty()).max_by_key(|d| d.number);
            Ok(newest.and_then(|dispatch| dispatch.runs.last().map(|run| run.holder.clone())))
        });
        Ok(holder.await?.unwrap_or_else(|| landing.by.clone()))
    }

    /// Queues a commit that reverts a landing. Once it has landed, the briefs are parked, or a `fix` is dispatched.
    pub async fn revert(self: &Arc<Self>, caller: &Caller, revert: Revert) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::Revert)?;
        let number = revert.of;
        let landing = self.get(number).await?;
        // The rules refuse this too, but only after the revert was computed, which fails with a less clear error.
        if landing.state != State::Landed {
            let (state, wanted) = (landing.state, "landed");
            return Err(Refusal::LandingState { number, state, wanted }.into());
        }
        let repository = self.worktrees.repository(&landing.project).await?;
        let main = self.worktrees.main_of(&landing.project).await?;
        let commit = merge::revert_commit(&repository, &landing, &CommitId::parse(&main.tip)?).await?.into();
        let request = landing::Request {
            project: landing.project.clone(),
            source: Source::Revert,
            worktree: None,
            worktree_number: None,
            commit,
            title: cut(&format!("Revert \"{}\"", landing.title), TITLE_CHARS),
            briefs: Vec::new(),
            priority: Priority::High,
            reverts: Some(revert),
        };
        self.enqueue(caller, request).await
    }

    /// Records the landing in the queue, then pins its commit under a ref of its own.
    pub(crate) async fn enqueue(
        self: &Arc<Self>,
        caller: &Caller,
        request: landing::Request,
    ) -> Result<LandingView, Problem> {
        self.record_main(&request.project).await?;
        let repository = self.worktrees.repository(&request.project).await?;
        let project = request.project.clone();
        let commit = CommitId::parse(&request.commit)?;
        crate::home::require_writable(&repository)?;
        let queued = self.store.execute(caller, Command::QueueLanding(request)).await?;
        let number = flower_store::created::<Landing>(&queued)?.number;
        // From here on the commit stays, also if its branch is deleted. Until here git kept it: unreachable objects live for weeks.
        Repo::main(&repository).set_ref(&pin(number), &commit).await?;
        // The checks of a landing that this one replaces may be running.
        self.stop_ended().await?;
        for recorded in &queued {
            if let Ok(Event::LandingCancelled(replaced)) = recorded.event() {
                self.unpin(&self.get(replaced.number).await?).await;
            }
        }
        self.wake();
        // The answer says at once why the landing waits. Every other alarm takes longer to find. It is queued in any case.
        if let Ok(main) = self.worktrees.main_of(&project).await
            && main.alarm.is_none()
            && facts::head_branch(&repository).as_ref() != Some(&main.branch)
        {
            self.examine_within(&project, EXAMINE_TIMEOUT).await;
        }
        self.show(number).await
    }

    /// Like [`MergeQueue::enqueue`]; if a landing of the same commit is open, returns that one.
    async fn enqueue_or_join(
        self: &Arc<Self>,
        caller: &Caller,
        request: landing::Request,
    ) -> Result<LandingView, Problem> {
        let (project, commit) = (request.project.clone(), request.commit.clone());
        let problem = match self.enqueue(caller, request).await {
            Err(problem) if problem.kind == ProblemKind::Conflict => problem,
            queued => return queued,
        };
        let open = self.store.read(move |conn| landings::open(conn, Some(&project))).await?;
        match open.iter().find(|landing| landing.commit == commit) {
            Some(same) => self.show(same.number).await,
            None => Err(problem),
        }
    }

    /// Stops the checks of landings that were cancelled or replaced.
    async fn stop_ended(&self) -> Result<(), Problem> {
        let running: Vec<LandingId> = self.stops.lock().expect("no panic while held").keys().copied().collect();
        for number in running {
            if !self.get(number).await?.is_open() {
                self.stop(number);
            }
        }
        Ok(())
    }

    pub async fn cancel(
        &self,
        caller: &Caller,
        number: LandingId,
        why: Option<String>,
    ) -> Result<LandingView, Problem> {
        let landing = self.get(number).await?;
        // With the lock: a landing that is moving MAIN at this moment can no longer be cancelled.
        let lock = self.main_locks.of(landing.project.as_str());
        let held = lock.lock().await;
        self.store.execute(caller, Command::Landing { number, step: Step::Cancel { why } }).await?;
        drop(held);
        self.stop(number);
        self.unpin(&landing).await;
        self.wake();
        self.show(number).await
    }

    /// Approves a landing that the gate holds, and the commands that its `flower.toml` adds. With `waive`, the checks that it
    /// removes or changes in `flower.toml` do not run.
    pub async fn approve(&self, caller: &Caller, number: LandingId, waive: bool) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::ApproveLanding)?;
        self.get(number).await?;
        self.store.execute(caller, Command::Landing { number, step: Step::Approve { waive } }).await?;
        self.wake();
        self.show(number).await
    }

    pub(crate) async fn title_of(&self, brief: BriefId) -> Result<String, Problem> {
        let found = self.store.read(move |conn| Ok((briefs::state(conn, brief)?, briefs::newest(conn)?))).await?;
        match found {
            (Some(brief), _) => Ok(brief.title),
            (None, newest) => Err(Refusal::NoBrief { number: brief, newest }.into()),
        }
    }
}

/// What a caller may choose for a landing.
#[derive(Clone, Debug)]
pub struct LandOptions {
    pub briefs: Vec<BriefId>,
    pub title: Option<String>,
    pub priority: Priority,
    /// If a landing of the same commit is open, returns that one.
    pub join: bool,
}

/// The commits of a branch that MAIN does not have.
struct NewCommits {
    tip: CommitId,
    /// Subjects of them, without merge commits, newest first.
    subjects: Vec<String>,
}

impl NewCommits {
    /// `None` if MAIN has all commits of the branch, or has them as others.
    async fn of(
        repository: &Repository,
        branch: &RefName,
        main: &CommitId,
        landed: &[LandedBefore],
    ) -> Result<Option<NewCommits>, Problem> {
        let log = landed.iter().fold(Log::of(branch, 20).without(main), |log, landed| log.without(landed.commit()));
        // git lists the branch's tip first, also if dates of commits are wrong.
        let commits = Repo::main(repository).log(&log).await?;
        let own = commits.iter().filter(|commit| commit.parents.len() < 2);
        let subjects = own.map(|commit| commit.subject.clone()).collect();
        Ok(commits.first().map(|tip| NewCommits { tip: tip.commit.clone(), subjects }))
    }

    /// The title of their landing: the subject of the newest commit, unless it contains a secret, or else the worktree's name.
    fn title(&self, name: &str, secrets: &objects::SecretFinder) -> String {
        match self.subjects.first() {
            Some(newest) if !newest.trim().is_empty() && secrets.name_in(newest).is_none() => cut(newest, TITLE_CHARS),
            _ => format!("Land {name}"),
        }
    }
}
