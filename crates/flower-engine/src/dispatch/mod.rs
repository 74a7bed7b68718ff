//! Dispatches: requests for work on briefs. The rules are in `flower-core`; this service makes worktrees, inspects commits and writes
//! packets.

mod claim;
mod dispatcher;
mod hand_back;
mod hold;
mod packet;
mod recall;

pub use claim::ClaimOptions;
pub use hand_back::HandBackRequest;
pub use recall::RecallOptions;

use super::projects::ProjectChoice;
use crate::Setup;
use crate::clock::BootClock;
use crate::home::Home;
use crate::notify::ChangeHints;
use crate::worktrees::observe::is_claimed;
use crate::{Access, MergeQueue, Messages, Profiles, Projects, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ClaimView, DispatchView, ReasonView};
use flower_core::ActorType;
use flower_core::dispatch::{self, Step};
use flower_core::policy::Read;
use flower_core::readiness::waits;
use flower_core::{BriefId, Caller, Command, Dispatch, DispatchId, Fence, Heartbeat, Main, Refusal};
use flower_store::Store;
use flower_store::{dispatches, ephemeral, landings};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub struct Dispatcher {
    store: Store,
    hints: ChangeHints,
    home: Home,
    clock: BootClock,
    url: String,
    access: Arc<Access>,
    projects: Arc<Projects>,
    worktrees: Arc<Worktrees>,
    profiles: Arc<Profiles>,
    merge_queue: Arc<MergeQueue>,
    messages: Arc<Messages>,
    /// By dispatch: when flower tries again to make its worktree, after that failed.
    retry_at: Mutex<HashMap<DispatchId, Instant>>,
    /// Dispatches that `claim_next` is about to claim for a caller.
    offered: Mutex<HashSet<DispatchId>>,
    /// Dispatches whose worktrees are being made.
    preparing: Mutex<HashSet<DispatchId>>,
    /// Dispatches whose results are about to be in the merge queue.
    handing_back: Mutex<HashSet<DispatchId>>,
    /// By claim: why its hand-back was held before.
    held: Mutex<HashMap<(DispatchId, Fence), Vec<hold::Hold>>>,
    /// How branches compared with MAIN, the newest last.
    compared: Mutex<VecDeque<Arc<recall::Compared>>>,
    /// By token: when its next heartbeat is stored.
    heartbeat_due: Mutex<HashMap<String, Instant>>,
}

/// Keeps a dispatch in a set until it is dropped.
struct Reservation<'a> {
    number: DispatchId,
    all: &'a Mutex<HashSet<DispatchId>>,
}

impl<'a> Reservation<'a> {
    /// Reserves the first of these that is not in the set yet.
    fn first(all: &'a Mutex<HashSet<DispatchId>>, numbers: &[DispatchId]) -> Option<Reservation<'a>> {
        let mut marked = all.lock().expect("no panic while held");
        let number = numbers.iter().copied().find(|number| marked.insert(*number))?;
        Some(Reservation { number, all })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.all.lock().expect("no panic while held").remove(&self.number);
    }
}

/// What the view of a dispatch needs in addition.
struct ViewContext {
    heartbeat: Option<(Fence, Heartbeat)>,
    title: String,
    main: Option<Main>,
}

impl Dispatcher {
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        worktrees: &Arc<Worktrees>,
        profiles: &Arc<Profiles>,
        merge_queue: &Arc<MergeQueue>,
        messages: &Arc<Messages>,
    ) -> Dispatcher {
        Dispatcher {
            store: setup.store.clone(),
            hints: setup.hints.clone(),
            home: setup.home.clone(),
            clock: setup.clock.clone(),
            url: setup.url.clone(),
            access: access.clone(),
            projects: projects.clone(),
            worktrees: worktrees.clone(),
            profiles: profiles.clone(),
            merge_queue: merge_queue.clone(),
            messages: messages.clone(),
            retry_at: Mutex::default(),
            offered: Mutex::default(),
            preparing: Mutex::default(),
            handing_back: Mutex::default(),
            held: Mutex::default(),
            compared: Mutex::default(),
            heartbeat_due: Mutex::default(),
        }
    }

    /// Whether a result is handed back, but its landing is not queued yet. Then it does not wait for the operator.
    pub(crate) fn is_handing_back(&self, number: DispatchId) -> bool {
        self.handing_back.lock().expect("no panic while held").contains(&number)
    }

    pub async fn request(&self, caller: &Caller, request: dispatch::Request) -> Result<DispatchView, Problem> {
        // What flower itself requests waits for its agent, and the inbox shows why.
        if let Some(profile) = request.profile.as_deref().filter(|_| caller.actor.sort != ActorType::System) {
            self.profiles.require_runnable(profile).await?;
        }
        let brief = request.brief;
        let known = self.store.read(move |conn| flower_store::briefs::state(conn, brief)).await?;
        // In a partial clone whose remote cannot be reached, no worktree could be made for it.
        for project in known.into_iter().flat_map(|brief| brief.projects) {
            if self.worktrees.repository(&project).await.is_ok() {
                self.worktrees.fetch_missing_of_main(&project).await?;
            }
        }
        let dispatch: Dispatch = self.store.create(caller, Command::RequestDispatch(request)).await?;
        self.show(dispatch.number).await
    }

    pub(crate) async fn get(&self, number: DispatchId) -> Result<Dispatch, Problem> {
        let found = self.store.read(move |conn| match dispatches::dispatch(conn, number)? {
            Some(dispatch) => Ok(Ok(dispatch)),
            None => Ok(Err(Refusal::NoDispatch { number, newest: dispatches::last(conn)? })),
        });
        Ok(found.await??)
    }

    pub async fn show(&self, number: DispatchId) -> Result<DispatchView, Problem> {
        let dispatch = self.get(number).await?;
        self.view_dispatch(dispatch).await
    }

    /// Open dispatches, oldest first; with `all`, ended ones too, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        brief: Option<BriefId>,
        all: bool,
        limit: u64,
    ) -> Result<Vec<DispatchView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let project = self.projects.find(choice).await?;
        let found = self.store.read(move |conn| {
            let mut found = if all { dispatches::all(conn, brief, limit)? } else { dispatches::open(conn)? };
            found.retain(|dispatch| brief.is_none_or(|brief| dispatch.brief == brief));
            found.retain(|d| reader.may(Read::Dispatch { number: d.number, brief: d.brief }));
            found.retain(|d| project.is_none() || d.project.is_none() || d.project == project);
            found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(found)
        });
        let mut views = Vec::new();
        for dispatch in found.await? {
            views.push(self.view_dispatch(dispatch).await?);
        }
        Ok(views)
    }

    pub async fn cancel(
        &self,
        caller: &Caller,
        number: DispatchId,
        why: Option<String>,
    ) -> Result<DispatchView, Problem> {
        self.store.execute(caller, Command::Dispatch { number, step: Step::Cancel { why } }).await?;
        self.show(number).await
    }

    async fn cautions(&self, dispatch: &Dispatch) -> Vec<String> {
        let profile = match (&dispatch.profile, &dispatch.project) {
            (Some(profile), _) => Some(profile.clone()),
            (None, Some(project)) => self.profiles.agent_settings(project).await.default,
            (None, None) => None,
        };
        profile.and_then(|profile| self.profiles.unmeasured(&profile)).into_iter().collect()
    }

    async fn view_dispatch(&self, dispatch: Dispatch) -> Result<DispatchView, Problem> {
        let (number, brief, project) = (dispatch.number, dispatch.brief, dispatch.project.clone());
        let context = self.store.read(move |conn| {
            let main = project.map(|project| landings::main(conn, &project)).transpose()?.flatten();
            let title = flower_store::briefs::state(conn, brief)?.map(|brief| brief.title).unwrap_or_default();
            Ok(ViewContext { heartbeat: ephemeral::heartbeat(conn, number)?, title, main })
        });
        let context = context.await?;
        let waits = match dispatch.is_open() {
            true => waits(&dispatch, context.main.as_ref(), self.profiles.why_waiting(&dispatch).await?),
            false => Vec::new(),
        };
        let cautions = if dispatch.is_open() { self.cautions(&dispatch).await } else { Vec::new() };
        let claim = dispatch.claim.as_ref().map(|claim| {
            let beat = match &context.heartbeat {
                Some((fence, beat)) if *fence == claim.fence => beat,
                _ => &claim.beat,
            };
            ClaimView {
                holder: claim.holder.clone(),
                fence: claim.fence.0,
                expires_at: self.clock.expires_at(beat, claim.seconds),
                since: claim.at.clone(),
            }
        });
        Ok(DispatchView {
            id: number.0,
            brief: brief.0,
            title: context.title,
            kind: dispatch.kind,
            state: dispatch.state,
            spec_version: dispatch.spec_version,
            project: dispatch.project,
            worktree: dispatch.worktree,
            agent: dispatch.profile,
            agents: dispatch.agents,
            claim,
            held_by: dispatch.runs.last().map(|run| run.holder.clone()),
            result: dispatch.result,
            cancelled: dispatch.cancelled,
            waits: waits.into_iter().map(|r| ReasonView { code: r.code, message: r.message }).collect(),
            cautions,
            of: dispatch.of.map(u64::from),
            evidence: dispatch.evidence,
            base: dispatch.base,
            by: dispatch.by,
            requested_at: dispatch.requested_at,
            ended_at: dispatch.ended_at,
        })
    }
}

/// The error for an answer whose claim has ended.
fn late_answer(dispatch: &Dispatch, fence: Fence) -> Problem {
    let holder = dispatch.claim.as_ref().map(|claim| claim.holder.clone());
    let mut problem: Problem =
        Refusal::StaleFence { number: dispatch.number, given: fence, newest: dispatch.fence, holder }.into();
    problem.message.push_str("; your answer is kept in the trace, and changes nothing");
    problem
}

fn no_worktree(dispatch: &Dispatch) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        format!("dispatch {} has no worktree: its brief belongs to no project", dispatch.number),
        format!("give it one: `flower brief edit {} --add-project NAME`", dispatch.brief),
    )
}
