//! `brief edit`: one event per changed property, so that the trace reads as sentences.

use super::{Brief, BriefKind};
use crate::brief::needs::require_epic;
use crate::command::BriefChanges;
use crate::event::{BriefRenamed, DispatchOptionsChanged, Draft, EpicChanged, Event, KindChanged, ProjectsChanged};
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

pub(crate) fn decide(world: &World, brief: &Brief, changes: &BriefChanges) -> Result<Vec<Draft>, Refusal> {
    let mut events: Vec<Event> = Vec::new();
    if let Some(title) = &changes.title {
        let to = text::title(title)?;
        if to != brief.title {
            events.push(BriefRenamed { from: brief.title.clone(), to }.into());
        }
    }
    if let Some(to) = changes.kind.filter(|&kind| kind != brief.kind) {
        if brief.kind == BriefKind::Epic && world.briefs.values().any(|other| other.epic == Some(brief.number)) {
            return Err(Refusal::EpicHasChildren { brief: brief.number });
        }
        events.push(KindChanged { from: brief.kind, to }.into());
    }
    if let Some(to) = changes.epic.filter(|&epic| epic != brief.epic) {
        if let Some(epic) = to {
            require_epic(world.brief(epic)?)?;
            if let Some(mut path) = world.path(brief.number, epic) {
                path.push(brief.number);
                return Err(Refusal::Cycle { path });
            }
        }
        events.push(EpicChanged { from: brief.epic, to }.into());
    }
    let auto_dispatch = changes.auto_dispatch.unwrap_or(brief.auto_dispatch);
    let design_loop = changes.design_loop.unwrap_or(brief.design_loop);
    if (auto_dispatch, design_loop) != (brief.auto_dispatch, brief.design_loop) {
        events.push(DispatchOptionsChanged { auto_dispatch, design_loop }.into());
    }
    let projects = projects(world, brief, changes)?;
    if projects != brief.projects {
        events.push(ProjectsChanged { projects }.into());
    }
    Ok(events.into_iter().map(|event| Draft::brief(brief.number, event)).collect())
}

fn projects(world: &World, brief: &Brief, changes: &BriefChanges) -> Result<Vec<String>, Refusal> {
    let mut projects = brief.projects.clone();
    for name in &changes.add_projects {
        world.require_project(name)?;
        if !projects.contains(name) {
            projects.push(name.clone());
        }
    }
    for name in &changes.drop_projects {
        if !projects.contains(name) {
            return Err(Refusal::NoProject { name: name.clone(), known: projects });
        }
        projects.retain(|other| other != name);
        if projects.is_empty() {
            return Err(Refusal::LastProject { brief: brief.number });
        }
    }
    Ok(projects)
}
