//! The state on which decisions are made, and the way from a command to events.
//!
//! In tests a [`World`] is the whole state. In the daemon it is the part that was loaded for one command. The store
//! must load everything that the decision can read; a test proves this by running the same commands on both.

use crate::actor::Caller;
use crate::agent::{self, Agent};
use crate::aggregate::{Aggregate, Context};
use crate::boot_time::Heartbeat;
use crate::brief::{self, Brief};
use crate::command::Command;
use crate::dispatch::{self, Dispatch};
use crate::event::{
    BriefEvent, CallRefused, Draft, Event, LandingEvent, MessageEvent, ParticipantJoined, ProjectEvent, Recorded,
    Stream, Subject, TokenEvent,
};
use crate::ids::{
    AgentId, BriefId, DispatchId, Fence, LandingId, LeaseId, MessageId, PermissionId, ScratchpadId, WorktreeId,
};
use crate::landing::{self, Landing};
use crate::lease::{self, Lease};
use crate::link::LinkKind;
use crate::main_branch::{self, Main};
use crate::permission::{self, Permission};
use crate::project;
use crate::refusal::Refusal;
use crate::review;
use crate::scratchpad::{self, Scratchpad};
use crate::worktree::{self, Worktree};
use crate::{message, policy, text, token};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    pub briefs: BTreeMap<BriefId, Brief>,
    pub last_brief: BriefId,
    pub scratchpads: BTreeMap<ScratchpadId, Scratchpad>,
    pub last_scratchpad: ScratchpadId,
    /// Name to root directory.
    pub projects: BTreeMap<String, String>,
    /// Former names of projects, with the name of today.
    pub former_names: BTreeMap<String, String>,
    /// The valid tokens: id to owner.
    pub tokens: BTreeMap<String, String>,
    pub links: BTreeSet<(BriefId, LinkKind, String)>,
    pub worktrees: BTreeMap<WorktreeId, Worktree>,
    pub last_worktree: WorktreeId,
    pub landings: BTreeMap<LandingId, Landing>,
    pub last_landing: LandingId,
    pub dispatches: BTreeMap<DispatchId, Dispatch>,
    pub last_dispatch: DispatchId,
    pub leases: BTreeMap<LeaseId, Lease>,
    pub last_lease: LeaseId,
    pub last_message: MessageId,
    pub agents: BTreeMap<AgentId, Agent>,
    pub last_agent: AgentId,
    pub permissions: BTreeMap<PermissionId, Permission>,
    pub last_permission: PermissionId,
    /// By dispatch: the fence and time of the last heartbeat. It is stored outside the log; no event changes it.
    pub beats: BTreeMap<DispatchId, (Fence, Heartbeat)>,
    /// By project.
    pub mains: BTreeMap<String, Main>,
    /// By project: the SHA-256 of every list of commands that the operator has approved.
    pub approved: BTreeMap<String, BTreeSet<String>>,
}

/// The events that follow from `command`, or the refusal. An empty list means that the command changes nothing.
pub fn decide(world: &World, caller: &Caller, command: &Command) -> Result<Vec<Draft>, Refusal> {
    policy::require(world, caller, command)?;
    let mut drafts = match command {
        Command::CreateBrief(request) => brief::create::decide(world, caller, request)?,
        Command::ProposePlan { brief, markdown } => brief::plan::propose(world.brief(*brief)?, markdown)?,
        Command::Refine { brief, markdown, base, why } => {
            brief::plan::refine(world.brief(*brief)?, markdown, *base, why.as_deref())?
        }
        Command::Accept { brief, version } => brief::accept::decide(world.brief(*brief)?, *version)?,
        Command::SetStatus { brief, status, why } => {
            brief::status::decide(world.brief(*brief)?, *status, why.as_deref())?
        }
        Command::EditBrief { brief, changes } => brief::edit::decide(world, world.brief(*brief)?, changes)?,
        Command::AddNeed { brief, needs } => brief::needs::add(world, world.brief(*brief)?, *needs)?,
        Command::DropNeed { brief, needs } => brief::needs::drop(world.brief(*brief)?, *needs),
        Command::AddNote { brief, text, comment, images } => {
            brief::note::decide(world.brief(*brief)?, text, *comment, images)?
        }
        Command::Ask { brief, text, help } => brief::question::ask(world.brief(*brief)?, text, *help)?,
        Command::Answer { brief, question, text } => brief::question::answer(world.brief(*brief)?, *question, text)?,
        Command::AddLink { brief, kind, target, label } => {
            brief::link::decide(world, world.brief(*brief)?, *kind, target, label.as_deref())?
        }
        Command::CreateScratchpad { title, brief, text } => scratchpad::create(world, title, *brief, text.as_deref())?,
        Command::WriteScratchpad { number, text, append, base } => {
            scratchpad::write(world.scratchpad(*number)?, text, *append, *base)?
        }
        Command::RegisterProject { name, root } => project::register(world, name, root)?,
        Command::RemoveProject { name } => project::remove(world, name)?,
        Command::MoveProject { name, root } => project::move_to(world, name, root)?,
        Command::RenameProject { name, to } => project::rename(world, name, to)?,
        Command::IssueToken(request) => token::issue(world, request)?,
        Command::RevokeToken { id } => token::revoke(world, id)?,
        Command::RequestWorktree(request) => worktree::request(world, request)?,
        Command::FinishWorktree { number, path } => worktree::finish(world, *number, path)?,
        Command::FailWorktree { number, why } => worktree::fail(world, *number, why)?,
        Command::DivergeWorktree(diverged) => worktree::diverge(world, diverged)?,
        Command::RemoveWorktree { number } => worktree::remove(world, *number)?,
        Command::WorktreeGone(kept) => worktree::removed(world, kept.number, kept)?,
        Command::RestoreWorktree { number } => worktree::restore(world, *number)?,
        Command::DropArchive { number } => worktree::drop_archive(world, *number)?,
        Command::ApproveCommands { project, sha256 } => worktree::approve(world, project, sha256)?,
        Command::NoteSync { number, onto, why_not } => worktree::synced(world, *number, onto, why_not.as_deref())?,
        Command::QueueLanding(request) => landing::queue(world, request)?,
        Command::Landing { number, step } => landing::step(world, *number, step)?,
        Command::Main { project, step } => main_branch::step(world, project, step)?,
        Command::RequestDispatch(request) => dispatch::request(world, request)?,
        Command::AutoDispatch { brief } => dispatch::auto(world, *brief)?,
        Command::Dispatch { number, step } => dispatch::step(world, caller, *number, step)?,
        Command::Heartbeat { dispatch, fence, .. } => {
            dispatch::require_current_claim(world, *dispatch, *fence).map(|()| Vec::new())?
        }
        Command::TakeLease(request) => lease::take(world, caller, request)?,
        Command::ReleaseLease { number, why, over } => lease::release(world, *number, why, over.as_ref())?,
        Command::BreachLease(breached) => {
            let lease = world.leases.values().find(|l| l.live && l.worktree == breached.worktree);
            let brief = lease.and_then(|lease| lease.brief);
            let stream = Stream::Project(breached.project.clone());
            vec![Draft { stream, brief, event: breached.clone().into() }]
        }
        Command::SendMessage { to, text } => message::send(world, caller, to, text)?,
        Command::Remark(request) => review::remark(world, caller, request)?,
        Command::StartAgent(request) => agent::start(world, request)?,
        Command::Agent { number, step } => agent::step(world, *number, step)?,
        Command::AskPermission(request) => permission::ask(world, request)?,
        Command::DecidePermission { number, allow, why } => permission::decide(world, *number, *allow, why.as_deref())?,
        Command::NoteRefused { what, why } => {
            let event = CallRefused { what: text::cut(what, 200), why: text::cut(why, 500) };
            let stream = caller.token.clone().map_or(Stream::Log, Stream::Token);
            // A refused attempt does not make the caller a participant.
            vec![Draft { stream, brief: None, event: event.into() }]
        }
        Command::AcceptLoss { proved_seq, proved_hash, found_seq, found_hash } => {
            project::accept_loss(*proved_seq, proved_hash, *found_seq, found_hash)
        }
    };
    join(world, caller, &mut drafts);
    Ok(drafts)
}

/// Makes the caller a participant of each brief that it acts on.
fn join(world: &World, caller: &Caller, drafts: &mut Vec<Draft>) {
    let mut at = 0;
    let mut seen = BTreeSet::new();
    while at < drafts.len() {
        if let Some(number) = drafts[at].brief
            && seen.insert(number)
        {
            let known = world.briefs.get(&number).is_some_and(|brief| {
                brief.participants.iter().any(|p| p.name == caller.actor.name && p.sort == caller.actor.sort)
            });
            if !known {
                let joined = ParticipantJoined {
                    name: caller.actor.name.clone(),
                    sort: caller.actor.sort,
                    role: caller.role,
                    worktree: caller.worktree.clone(),
                    wave: None,
                };
                // A brief must be created before participants can join it.
                let place = at + usize::from(matches!(drafts[at].event, Event::BriefCreated(_)));
                drafts.insert(place, Draft::brief(number, joined));
                at += 1;
            }
        }
        at += 1;
    }
}

impl World {
    pub fn brief(&self, number: BriefId) -> Result<&Brief, Refusal> {
        self.briefs.get(&number).ok_or(Refusal::NoBrief { number, newest: self.last_brief })
    }

    pub fn scratchpad(&self, number: ScratchpadId) -> Result<&Scratchpad, Refusal> {
        self.scratchpads.get(&number).ok_or(Refusal::NoScratchpad { number })
    }

    pub fn worktree(&self, number: WorktreeId) -> Result<&Worktree, Refusal> {
        self.worktrees.get(&number).ok_or_else(|| Refusal::NoWorktree { name: number.to_string(), known: Vec::new() })
    }

    pub fn landing(&self, number: LandingId) -> Result<&Landing, Refusal> {
        self.landings.get(&number).ok_or(Refusal::NoLanding { number, newest: self.last_landing })
    }

    pub fn dispatch(&self, number: DispatchId) -> Result<&Dispatch, Refusal> {
        self.dispatches.get(&number).ok_or(Refusal::NoDispatch { number, newest: self.last_dispatch })
    }

    /// Stores a heartbeat, which is not an event. A heartbeat that arrives after a newer one is ignored.
    pub fn record_heartbeat(&mut self, dispatch: DispatchId, fence: Fence, beat: Heartbeat) {
        let known = self.beats.get(&dispatch);
        let newer = known.is_some_and(|(of, known)| *of == fence && known.boot == beat.boot && known.at > beat.at);
        if !newer {
            self.beats.insert(dispatch, (fence, beat));
        }
    }

    pub fn require_project(&self, name: &str) -> Result<(), Refusal> {
        if self.projects.contains_key(name) {
            return Ok(());
        }
        Err(self.no_project(name))
    }

    /// The refusal of a name that no project has today.
    pub(crate) fn no_project(&self, name: &str) -> Refusal {
        match self.former_names.get(name) {
            Some(now) => Refusal::RenamedProject { name: name.to_owned(), now: now.clone() },
            None => Refusal::NoProject { name: name.to_owned(), known: self.projects.keys().cloned().collect() },
        }
    }

    /// The path from one brief to another along the briefs that each waits for: its dependencies, and the children of
    /// an epic.
    pub fn path(&self, from: BriefId, to: BriefId) -> Option<Vec<BriefId>> {
        let mut came_from = BTreeMap::from([(from, from)]);
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if at == to {
                let mut path = vec![to];
                let mut step = to;
                while step != from {
                    step = came_from[&step];
                    path.push(step);
                }
                path.reverse();
                return Some(path);
            }
            let children = self.briefs.values().filter(|b| b.epic == Some(at)).map(|b| b.number);
            let needs = self.briefs.get(&at).into_iter().flat_map(|b| b.depends_on.iter().copied());
            for next in needs.chain(children) {
                if let std::collections::btree_map::Entry::Vacant(entry) = came_from.entry(next) {
                    entry.insert(at);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Applies one recorded event to the world.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), serde_json::Error> {
        let event = recorded.event()?;
        self.apply_event(&event, &recorded.context());
        Ok(())
    }

    pub fn apply_event(&mut self, event: &Event, context: &Context<'_>) {
        if let Some(new) = Brief::created(event, context.at) {
            self.last_brief = new.number;
            self.briefs.insert(new.number, new);
        } else if let Some(brief) = context.brief.and_then(|number| self.briefs.get_mut(&number)) {
            brief.evolve(event, context.at);
        }
        match event.subject() {
            Subject::Brief(BriefEvent::LinkAdded(link)) => {
                self.links.extend(context.brief.map(|number| (number, link.kind, link.target.clone())));
            }
            Subject::Brief(_) | Subject::Log(_) | Subject::Unknown => {}
            Subject::Scratchpad(change) => {
                self.last_scratchpad = self.last_scratchpad.max(apply(&mut self.scratchpads, change, context));
            }
            Subject::Project(change) => self.apply_project(change),
            Subject::Token(TokenEvent::TokenIssued(token)) => {
                self.tokens.insert(token.id.clone(), token.agent.clone());
                if let Some(dispatch) = token.dispatch.and_then(|number| self.dispatches.get_mut(&number)) {
                    dispatch.add_packet(token);
                }
            }
            Subject::Token(TokenEvent::TokenRevoked(token)) => {
                self.tokens.remove(&token.id);
            }
            Subject::Worktree(change) => {
                self.last_worktree = self.last_worktree.max(apply(&mut self.worktrees, change, context));
            }
            Subject::Landing(change) => {
                self.last_landing = self.last_landing.max(apply(&mut self.landings, change, context));
                if let LandingEvent::Landed(landed) = change
                    && let Some(main) = self.mains.get_mut(&landed.project)
                {
                    main.land(landed, context.at);
                }
            }
            Subject::Main(change) => {
                apply(&mut self.mains, change, context);
            }
            Subject::Dispatch(change) => {
                self.last_dispatch = self.last_dispatch.max(apply(&mut self.dispatches, change, context));
            }
            Subject::Lease(change) => {
                self.last_lease = self.last_lease.max(apply(&mut self.leases, change, context));
            }
            Subject::Message(MessageEvent::MessageSent(sent)) => self.last_message = sent.number,
            Subject::Agent(change) => {
                self.last_agent = self.last_agent.max(apply(&mut self.agents, change, context));
            }
            Subject::Permission(change) => {
                self.last_permission = self.last_permission.max(apply(&mut self.permissions, change, context));
            }
        }
    }

    fn apply_project(&mut self, change: ProjectEvent<'_>) {
        match change {
            ProjectEvent::ProjectRegistered(project) => {
                self.projects.insert(project.name.clone(), project.root.clone());
            }
            ProjectEvent::ProjectRemoved(project) => {
                self.projects.remove(&project.name);
                self.former_names.retain(|_, now| *now != project.name);
                self.approved.remove(&project.name);
                self.mains.remove(&project.name);
            }
            ProjectEvent::ProjectMoved(moved) => {
                self.projects.insert(moved.name.clone(), moved.root.clone());
            }
            ProjectEvent::ProjectRenamed(renamed) => self.rename_project(&renamed.from, &renamed.to),
            ProjectEvent::CommandsApproved(approved) => {
                self.approved.entry(approved.project.clone()).or_default().insert(approved.sha256.clone());
            }
            ProjectEvent::LeaseBreached(_) => {}
        }
    }
}

impl World {
    fn rename_project(&mut self, from: &str, to: &str) {
        if let Some(root) = self.projects.remove(from) {
            self.projects.insert(to.to_owned(), root);
        }
        self.former_names.remove(to);
        self.former_names.values_mut().for_each(|now| project::rename_in(now, from, to));
        self.former_names.insert(from.to_owned(), to.to_owned());
        if let Some(approved) = self.approved.remove(from) {
            self.approved.insert(to.to_owned(), approved);
        }
        if let Some(main) = self.mains.remove(from) {
            self.mains.insert(to.to_owned(), main);
        }
        self.briefs.values_mut().for_each(|brief| brief.rename_project(from, to));
        let worktrees = self.worktrees.values_mut().map(|worktree| &mut worktree.project);
        let landings = self.landings.values_mut().map(|landing| &mut landing.project);
        let dispatches = self.dispatches.values_mut().filter_map(|dispatch| dispatch.project.as_mut());
        let leases = self.leases.values_mut().map(|lease| &mut lease.project);
        let agents = self.agents.values_mut().map(|agent| &mut agent.project);
        let all = worktrees.chain(landings).chain(dispatches).chain(leases).chain(agents);
        all.for_each(|project| project::rename_in(project, from, to));
    }
}

/// Applies a change to the thing that it is about, and returns the id of that thing.
fn apply<A: Aggregate>(all: &mut BTreeMap<A::Id, A>, change: A::Change<'_>, context: &Context<'_>) -> A::Id {
    let id = A::id(change);
    match all.get_mut(&id) {
        Some(known) => known.evolve(change, context),
        None => all.extend(A::create(change, context).map(|new| (id.clone(), new))),
    }
    id
}
