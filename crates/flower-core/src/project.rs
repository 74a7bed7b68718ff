//! Projects: the repositories that one flower daemon serves.

use crate::event::{Draft, LossAccepted, ProjectRegistered, ProjectRemoved, Stream};
use crate::ids::LandingId;
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

pub(crate) fn register(world: &World, name: &str, root: &str) -> Result<Vec<Draft>, Refusal> {
    let name = text::name("project", name)?;
    match world.projects.get(&name) {
        Some(known) if known == root => return Ok(Vec::new()),
        Some(known) => return Err(Refusal::ProjectTaken { name, root: known.clone() }),
        None => {}
    }
    if let Some((known, _)) = world.projects.iter().find(|(_, known)| known.as_str() == root) {
        return Err(Refusal::ProjectTaken { name: known.clone(), root: root.to_owned() });
    }
    let event = ProjectRegistered { name: name.clone(), root: root.to_owned() };
    Ok(vec![Draft { stream: Stream::Project(name), brief: None, event: event.into() }])
}

pub(crate) fn remove(world: &World, name: &str) -> Result<Vec<Draft>, Refusal> {
    world.require_project(name)?;
    let live: Vec<String> =
        world.worktrees.values().filter(|w| w.is_live() && w.project == name).map(|w| w.name.clone()).collect();
    if !live.is_empty() {
        return Err(Refusal::LiveWorktrees { project: name.to_owned(), names: live });
    }
    let open: Vec<LandingId> =
        world.landings.values().filter(|l| l.is_open() && l.project == name).map(|l| l.number).collect();
    if !open.is_empty() {
        return Err(Refusal::OpenLandings { project: name.to_owned(), numbers: open });
    }
    let event = ProjectRemoved { name: name.to_owned() };
    Ok(vec![Draft { stream: Stream::Project(name.to_owned()), brief: None, event: event.into() }])
}

pub(crate) fn accept_loss(proved_seq: u64, proved_hash: &str, found_seq: u64, found_hash: &str) -> Vec<Draft> {
    let event =
        LossAccepted { proved_seq, proved_hash: proved_hash.to_owned(), found_seq, found_hash: found_hash.to_owned() };
    vec![Draft { stream: Stream::Log, brief: None, event: event.into() }]
}
