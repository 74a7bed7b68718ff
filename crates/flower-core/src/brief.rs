//! A brief: its state, and how events change it. The files below `brief/` decide what may happen to it.

pub mod accept;
pub mod create;
pub mod edit;
pub mod link;
pub mod needs;
pub mod note;
pub mod plan;
pub mod question;
pub mod status;

pub use create::Request;

use crate::actor::{ActorType, Role};
use crate::event::{BriefEvent, DispatchEvent, DispatchExpired, DispatchFailed, DispatchHandedBack, Event, Subject};
use crate::ids::BriefId;
use crate::link::LinkKind;
use crate::readiness::DispatchKind;
use crate::word::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

words! {
    BriefKind ("kind of brief") {
        Note = "note",
        Feature = "feature",
        Fix = "fix",
        Research = "research",
        Epic = "epic",
        Incident = "incident",
    }
}

words! {
    Status ("status") {
        Draft = "draft",
        Planned = "planned",
        InProgress = "in_progress",
        InReview = "in_review",
        Landed = "landed",
        /// The end of work that lands no code.
        Done = "done",
        Parked = "parked",
        Cancelled = "cancelled",
    }
}

words! {
    /// How a version of a spec came about.
    SpecOrigin ("origin of a spec") { Plan = "plan", Refinement = "refinement" }
}

impl Status {
    /// Whether no work is left.
    pub fn is_closed(self) -> bool {
        matches!(self, Status::Landed | Status::Done | Status::Cancelled)
    }

    /// Whether a dependency in this status is met.
    pub fn is_met(self) -> bool {
        matches!(self, Status::Landed | Status::Done)
    }
}

/// A person or an agent that acted on a brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    pub name: String,
    #[serde(rename = "type")]
    pub sort: ActorType,
    pub role: Role,
    pub worktree: Option<String>,
    pub wave: Option<u64>,
    pub active: bool,
}

/// The part of a brief that the rules need. Long texts are in the log and its tables only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    pub number: BriefId,
    pub title: String,
    pub kind: BriefKind,
    pub status: Status,
    /// The status that a parked brief returns to.
    pub parked_from: Option<Status>,
    /// The newest version of the spec; 0 if there is none.
    pub spec_version: u64,
    pub accepted_version: Option<u64>,
    pub projects: Vec<String>,
    pub epic: Option<BriefId>,
    pub depends_on: BTreeSet<BriefId>,
    pub auto_dispatch: bool,
    pub design_loop: bool,
    pub participants: Vec<Participant>,
    /// Questions are numbered from 1 inside their brief.
    pub questions: u64,
    pub open_questions: BTreeSet<u64>,
    /// The open questions that ask for help: the work cannot go on without their answers.
    #[serde(default)]
    pub help: BTreeSet<u64>,
    /// The number of links to other briefs.
    #[serde(default)]
    pub linked_briefs: u64,
    /// The number of commits that are linked to the brief.
    pub commits: u64,
    /// Whether a design, or the work itself, was dispatched before. flower dispatches each automatically only once.
    #[serde(default)]
    pub designed: bool,
    #[serde(default)]
    pub dispatched: bool,
    pub created_at: String,
    pub updated_at: String,
}

impl Brief {
    /// Replaces the name of a project.
    pub fn rename_project(&mut self, from: &str, to: &str) {
        if self.projects.iter().any(|project| project == from) {
            self.projects.retain(|project| project != to);
            self.projects.iter_mut().for_each(|project| crate::project::rename_in(project, from, to));
        }
    }

    /// The brief that a `brief_created` event creates; `None` for other events.
    pub fn created(event: &Event, at: &str) -> Option<Brief> {
        let Event::BriefCreated(new) = event else { return None };
        Some(Brief {
            number: new.number,
            title: new.title.clone(),
            kind: new.kind,
            status: Status::Draft,
            parked_from: None,
            spec_version: 0,
            accepted_version: None,
            projects: new.projects.clone(),
            epic: new.epic,
            depends_on: new.depends_on.iter().copied().collect(),
            auto_dispatch: new.auto_dispatch,
            design_loop: new.design_loop,
            participants: Vec::new(),
            questions: 0,
            open_questions: BTreeSet::new(),
            help: BTreeSet::new(),
            linked_briefs: 0,
            commits: 0,
            designed: false,
            dispatched: false,
            created_at: at.to_owned(),
            updated_at: at.to_owned(),
        })
    }

    /// The kind of dispatch that `flower dispatch` requests by default.
    pub fn natural_dispatch(&self) -> DispatchKind {
        let natural = self.kind.natural_dispatch();
        match self.status {
            Status::Draft if self.design_loop => DispatchKind::Design,
            Status::InProgress | Status::InReview if natural == DispatchKind::Build => DispatchKind::Fix,
            _ => natural,
        }
    }

    /// The kind of dispatch that flower should request automatically, judged by the brief alone.
    pub fn wants(&self) -> Option<DispatchKind> {
        let designs = self.design_loop && self.designed;
        match self.status {
            _ if self.kind == BriefKind::Epic => None,
            Status::Draft if self.auto_dispatch && self.design_loop && !self.designed => Some(DispatchKind::Design),
            Status::Planned if (self.auto_dispatch || designs) && !self.dispatched => Some(self.natural_dispatch()),
            _ => None,
        }
    }

    /// Applies an event of the brief's trace. An event that does not concern the state changes only the time of the last
    /// event.
    pub fn evolve(&mut self, event: &Event, at: &str) {
        at.clone_into(&mut self.updated_at);
        match event.subject() {
            Subject::Brief(change) => self.apply(change),
            Subject::Dispatch(change) => self.follow_dispatch(change),
            Subject::Scratchpad(_)
            | Subject::Project(_)
            | Subject::Token(_)
            | Subject::Worktree(_)
            | Subject::Landing(_)
            | Subject::Main(_)
            | Subject::Lease(_)
            | Subject::Message(_)
            | Subject::Agent(_)
            | Subject::Permission(_)
            | Subject::Log(_)
            | Subject::Unknown => {}
        }
    }

    fn apply(&mut self, change: BriefEvent<'_>) {
        match change {
            BriefEvent::PlanProposed(plan) => self.spec_version = plan.version,
            BriefEvent::Refinement(refinement) => self.spec_version = refinement.version,
            BriefEvent::SpecSnapshot(snapshot) => self.accepted_version = Some(snapshot.version),
            BriefEvent::StatusChanged(change) => {
                self.parked_from = (change.to == Status::Parked).then_some(change.from);
                self.status = change.to;
            }
            BriefEvent::BriefRenamed(rename) => self.title.clone_from(&rename.to),
            BriefEvent::KindChanged(change) => self.kind = change.to,
            BriefEvent::EpicChanged(change) => self.epic = change.to,
            BriefEvent::ProjectsChanged(change) => self.projects.clone_from(&change.projects),
            BriefEvent::DispatchOptionsChanged(options) => {
                self.auto_dispatch = options.auto_dispatch;
                self.design_loop = options.design_loop;
            }
            BriefEvent::DependencyAdded(dependency) => {
                self.depends_on.insert(dependency.needs);
            }
            BriefEvent::DependencyDropped(dependency) => {
                self.depends_on.remove(&dependency.needs);
            }
            BriefEvent::QuestionAsked(asked) => {
                self.questions = asked.question;
                self.open_questions.insert(asked.question);
                if asked.help {
                    self.help.insert(asked.question);
                }
            }
            BriefEvent::DecisionMade(decision) => {
                self.open_questions.remove(&decision.question);
                self.help.remove(&decision.question);
            }
            BriefEvent::LinkAdded(link) => {
                self.commits += u64::from(link.kind == LinkKind::Commit);
                self.linked_briefs += u64::from(link.kind == LinkKind::Brief);
            }
            BriefEvent::ParticipantJoined(joined) => self.participants.push(Participant {
                name: joined.name.clone(),
                sort: joined.sort,
                role: joined.role,
                worktree: joined.worktree.clone(),
                wave: joined.wave,
                active: true,
            }),
            BriefEvent::BriefCreated(_)
            | BriefEvent::CommentAdded(_)
            | BriefEvent::NoteAdded(_)
            | BriefEvent::DependencyMet(_) => {}
        }
    }

    /// Notes which work was requested, and who works on it.
    fn follow_dispatch(&mut self, change: DispatchEvent<'_>) {
        match change {
            DispatchEvent::DispatchRequested(request) if request.kind == DispatchKind::Design => self.designed = true,
            DispatchEvent::DispatchRequested(_) => self.dispatched = true,
            DispatchEvent::DispatchClaimed(claimed) => {
                for participant in self.participants.iter_mut().filter(|p| p.name == claimed.holder) {
                    participant.active = true;
                    participant.worktree.clone_from(&claimed.worktree);
                }
            }
            DispatchEvent::DispatchExpired(DispatchExpired { holder, .. })
            | DispatchEvent::DispatchHandedBack(DispatchHandedBack { holder, .. })
            | DispatchEvent::DispatchFailed(DispatchFailed { holder, .. }) => {
                for participant in self.participants.iter_mut().filter(|p| p.name == *holder) {
                    participant.active = false;
                }
            }
            DispatchEvent::DispatchExecuting(_)
            | DispatchEvent::DispatchLate(_)
            | DispatchEvent::DispatchCancelled(_)
            | DispatchEvent::DispatchLanded(_) => {}
        }
    }
}
