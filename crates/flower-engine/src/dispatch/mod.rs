//! Dispatch: from a brief to somebody at work. What may happen is decided in `flower-core`; here worktrees are made, commits
//! are looked at, and packets are written.

mod claim;
mod collect;
mod dispatcher;
mod hand_back;
mod packet;
mod recall;

pub use claim::ClaimWish;
pub use hand_back::Back;

use super::App;
use super::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ClaimView, DispatchView, ReasonView};
use flower_core::dispatch::{self, State, Step};
use flower_core::policy::Read;
use flower_core::readiness::waits;
use flower_core::{Caller, Command, Dispatch, Heartbeat, Main, Refusal};
use flower_store::{dispatches, ephemeral, landings};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::Mutex as AsyncMutex;

/// A project, and a worktree of it.
type Where = (String, String);

/// What the daemon remembers about dispatches beside the log.
#[derive(Debug, Default)]
pub struct Dispatching {
    /// Whoever makes a worktree, or changes one behind everybody's back, has the turn.
    places: Mutex<HashMap<Where, Arc<AsyncMutex<()>>>>,
    /// By dispatch: when its worktree is tried again, after it could not be made.
    again: Mutex<HashMap<u64, Instant>>,
    /// Who commits there at this moment, and until when that counts.
    pub(crate) committing: Mutex<HashMap<Where, (String, Instant)>>,
    /// Offered to somebody who wants the next one, and not claimed yet.
    offered: Mutex<HashSet<u64>>,
    /// Whose worktrees are being made.
    preparing: Mutex<HashSet<u64>>,
    /// By token: when its next sign of life is worth writing down.
    beats: Mutex<HashMap<String, Instant>>,
}

impl Dispatching {
    pub(crate) fn place(&self, project: &str, worktree: &str) -> Arc<AsyncMutex<()>> {
        let key = (project.to_owned(), worktree.to_owned());
        self.places.lock().expect("no panic while held").entry(key).or_default().clone()
    }
}

/// A dispatch that stands in a set as long as this lives.
struct Marked<'a> {
    number: u64,
    all: &'a Mutex<HashSet<u64>>,
}

impl<'a> Marked<'a> {
    /// The first of these that does not stand in it yet.
    fn first(all: &'a Mutex<HashSet<u64>>, numbers: &[u64]) -> Option<Marked<'a>> {
        let mut marked = all.lock().expect("no panic while held");
        let number = numbers.iter().copied().find(|number| marked.insert(*number))?;
        Some(Marked { number, all })
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        self.all.lock().expect("no panic while held").remove(&self.number);
    }
}

/// What a dispatch is shown with.
struct Around {
    heard: Option<(u64, Heartbeat)>,
    title: String,
    main: Option<Main>,
}

impl App {
    pub async fn request_dispatch(&self, caller: &Caller, request: dispatch::Request) -> Result<DispatchView, Problem> {
        self.require_model(request.profile.as_deref())?;
        let events = self.submit(caller, Command::RequestDispatch(request)).await?;
        let number = events.iter().find_map(|event| Some(Dispatch::requested(&event.event().ok()?, "", "")?.number));
        self.dispatch_view(number.ok_or_else(|| Problem::bug("a dispatch was requested and no event says so"))?).await
    }

    pub(crate) async fn dispatch(&self, number: u64) -> Result<Dispatch, Problem> {
        let found = self.store.read(move |conn| match dispatches::dispatch(conn, number)? {
            Some(dispatch) => Ok(Ok(dispatch)),
            None => Ok(Err(Refusal::NoDispatch { number, newest: dispatches::last(conn)? })),
        });
        Ok(found.await??)
    }

    pub async fn dispatch_view(&self, number: u64) -> Result<DispatchView, Problem> {
        let dispatch = self.dispatch(number).await?;
        self.view_dispatch(dispatch).await
    }

    /// The open ones, oldest first; with `all`, every one, newest first.
    pub async fn dispatches(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        brief: Option<u64>,
        all: bool,
        limit: u64,
    ) -> Result<Vec<DispatchView>, Problem> {
        let reader = self.reader(caller).await?;
        let project = self.find_project(choice).await?;
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

    pub async fn cancel_dispatch(
        &self,
        caller: &Caller,
        number: u64,
        why: Option<String>,
    ) -> Result<DispatchView, Problem> {
        self.submit(caller, Command::Dispatch { number, step: Step::Cancel { why } }).await?;
        self.dispatch_view(number).await
    }

    /// Whether somebody has claimed something that happens there.
    pub(crate) async fn is_worked_in(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let (project, worktree) = (project.to_owned(), worktree.to_owned());
        let open = self.store.read(move |conn| dispatches::in_worktree(conn, &project, &worktree)).await?;
        Ok(open.iter().any(is_claimed))
    }

    /// Whether an agent waits there for further work.
    pub(crate) async fn is_stayed_in(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let of = project.to_owned();
        let live = self.store.read(move |conn| flower_store::agents::live(conn, Some(&of))).await?;
        Ok(live.iter().any(|agent| agent.standing && agent.worktree == worktree))
    }

    async fn view_dispatch(&self, dispatch: Dispatch) -> Result<DispatchView, Problem> {
        let (number, brief, project) = (dispatch.number, dispatch.brief, dispatch.project.clone());
        let around = self.store.read(move |conn| {
            let main = project.map(|project| landings::main(conn, &project)).transpose()?.flatten();
            let title = flower_store::briefs::state(conn, brief)?.map(|brief| brief.title).unwrap_or_default();
            Ok(Around { heard: ephemeral::heartbeat(conn, number)?, title, main })
        });
        let around = around.await?;
        let waits = match dispatch.is_open() {
            true => waits(&dispatch, around.main.as_ref(), self.why_unserved(&dispatch).await?),
            false => Vec::new(),
        };
        let claim = dispatch.claim.as_ref().map(|claim| {
            let beat = match &around.heard {
                Some((fence, beat)) if *fence == claim.fence => beat,
                _ => &claim.beat,
            };
            ClaimView {
                holder: claim.holder.clone(),
                fence: claim.fence,
                expires_at: self.expires_at(beat, claim.seconds),
                since: claim.at.clone(),
            }
        });
        Ok(DispatchView {
            id: number,
            brief,
            title: around.title,
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
            waits: waits.into_iter().map(|r| ReasonView { code: r.code, message: r.message }).collect(),
            of: dispatch.of,
            evidence: dispatch.evidence,
            base: dispatch.base,
            by: dispatch.by,
            requested_at: dispatch.requested_at,
            ended_at: dispatch.ended_at,
        })
    }
}

/// What is told to whoever is too late.
fn late(dispatch: &Dispatch, fence: u64) -> Problem {
    let holder = dispatch.claim.as_ref().map(|claim| claim.holder.clone());
    let mut problem: Problem =
        Refusal::StaleFence { number: dispatch.number, given: fence, newest: dispatch.fence, holder }.into();
    problem.message.push_str("; your answer is kept in the trace, and changes nothing");
    problem
}

fn has_no_place(dispatch: &Dispatch) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        format!("dispatch {} has no worktree: its brief belongs to no project", dispatch.number),
        format!("give it one: `flower brief edit {} --add-project NAME`", dispatch.brief),
    )
}

/// Whether somebody works on it now.
fn is_claimed(dispatch: &Dispatch) -> bool {
    matches!(dispatch.state, State::Claimed | State::Executing)
}
