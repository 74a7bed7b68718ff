//! `brief new`.

use super::{Brief, BriefKind};
use crate::actor::{Caller, Role};
use crate::brief::needs::require_epic;
use crate::event::{BriefCreated, Draft, LinkAdded, PlanProposed};
use crate::ids::BriefId;
use crate::link::LinkKind;
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

const MAX_NEEDS: usize = 100;
/// The number of linked briefs above which workers propose no further one. It stops an agent that proposes in a loop.
const MAX_LINKED: u64 = 20;
const LABEL_BYTES: usize = 200;

/// A request to create a brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub title: String,
    pub kind: BriefKind,
    /// A spec that is given at creation is a proposed plan, which waits for acceptance.
    pub spec: Option<String>,
    /// The first one is the primary project.
    pub projects: Vec<String>,
    pub epic: Option<BriefId>,
    pub needs: Vec<BriefId>,
    pub auto_dispatch: bool,
    pub design_loop: bool,
}

impl Request {
    /// Whether this creates only a draft with a plan, which starts nothing before it is accepted.
    pub(crate) fn is_proposal(&self) -> bool {
        self.kind != BriefKind::Incident && self.spec.is_some() && !self.auto_dispatch && !self.design_loop
    }
}

pub(crate) fn decide(world: &World, caller: &Caller, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let title = text::title(&request.title)?;
    let mut projects = Vec::new();
    for project in &request.projects {
        world.require_project(project)?;
        if !projects.contains(project) {
            projects.push(project.clone());
        }
    }
    if request.needs.len() > MAX_NEEDS {
        return Err(Refusal::TooMany { what: "dependencies", count: request.needs.len(), most: MAX_NEEDS });
    }
    let mut depends_on = Vec::new();
    for &needs in &request.needs {
        let Brief { number, .. } = world.brief(needs)?;
        if !depends_on.contains(number) {
            depends_on.push(*number);
        }
    }
    let number = world.last_brief.next();
    if let Some(epic) = request.epic {
        require_epic(world.brief(epic)?)?;
        // The epic will wait for this brief, so no dependency of this brief may wait for the epic.
        for &needs in &depends_on {
            if let Some(mut path) = world.path(needs, epic) {
                path.insert(0, number);
                path.push(number);
                return Err(Refusal::Cycle { path });
            }
        }
    }
    let created = BriefCreated {
        number,
        title,
        kind: request.kind,
        projects,
        epic: request.epic,
        depends_on,
        auto_dispatch: request.auto_dispatch,
        design_loop: request.design_loop,
    };
    let mut drafts = vec![Draft::brief(number, created)];
    if let Some(spec) = &request.spec {
        let markdown = text::markdown("spec", spec, text::SPEC_BYTES)?;
        drafts.push(Draft::brief(number, PlanProposed { version: 1, base: 0, markdown }));
    }
    if caller.role == Role::Worker
        && let Some(own) = caller.brief
    {
        drafts.extend(links(world.brief(own)?, number, &request.title)?);
    }
    Ok(drafts)
}

/// Links a proposed brief and the brief in whose work it was proposed.
fn links(own: &Brief, number: BriefId, title: &str) -> Result<[Draft; 2], Refusal> {
    if own.linked_briefs >= MAX_LINKED {
        let most = usize::try_from(MAX_LINKED).unwrap_or(usize::MAX);
        return Err(Refusal::TooMany { what: "briefs proposed in this work", count: most + 1, most });
    }
    let link = |to: BriefId, label: String| LinkAdded { kind: LinkKind::Brief, target: to.to_string(), label };
    let label = text::cut(&format!("proposed here: {title}"), LABEL_BYTES);
    Ok([
        Draft::brief(number, link(own.number, "proposed in the work on this brief".to_owned())),
        Draft::brief(own.number, link(number, label)),
    ])
}
