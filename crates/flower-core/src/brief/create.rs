//! `brief new`.

use super::{Brief, BriefKind};
use crate::brief::needs::require_epic;
use crate::event::{BriefCreated, Draft, PlanProposed};
use crate::ids::BriefId;
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

const MAX_NEEDS: usize = 100;

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

pub(crate) fn decide(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
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
    Ok(drafts)
}
