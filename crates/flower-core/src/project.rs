//! Projects: the repositories that one flower daemon serves.

use crate::event::{Draft, LossAccepted, ProjectMoved, ProjectRegistered, ProjectRemoved, ProjectRenamed, Stream};
use crate::ids::LandingId;
use crate::landing::State;
use crate::refusal::Refusal;
use crate::text;
use crate::worktree::Stage;
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
    require_not_former(world, &name, None)?;
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

/// A running agent, and the jail around it, know the repository by its old path.
pub(crate) fn move_to(world: &World, name: &str, root: &str) -> Result<Vec<Draft>, Refusal> {
    world.require_project(name)?;
    let from = &world.projects[name];
    if from == root {
        return Ok(Vec::new());
    }
    if let Some((known, _)) = world.projects.iter().find(|(_, known)| known.as_str() == root) {
        return Err(Refusal::RootTaken { name: known.clone(), root: root.to_owned() });
    }
    require_no_agents(world, name)?;
    let event = ProjectMoved { name: name.to_owned(), from: from.clone(), root: root.to_owned() };
    Ok(vec![Draft { stream: Stream::Project(name.to_owned()), brief: None, event: event.into() }])
}

/// What is under way holds the name: agents, landings that are checked, and worktrees that are made or removed.
pub(crate) fn rename(world: &World, name: &str, to: &str) -> Result<Vec<Draft>, Refusal> {
    world.require_project(name)?;
    let to = text::name("project", to)?;
    if to == name {
        return Ok(Vec::new());
    }
    if let Some(root) = world.projects.get(&to) {
        return Err(Refusal::ProjectTaken { name: to, root: root.clone() });
    }
    require_not_former(world, &to, Some(name))?;
    require_no_agents(world, name)?;
    let of_project = |project: &str| project == name;
    if let Some(landing) = world.landings.values().find(|l| of_project(&l.project) && l.state == State::Checking) {
        return Err(Refusal::LandingState { number: landing.number, state: landing.state, wanted: "waiting" });
    }
    let unfinished = |stage: Stage| !matches!(stage, Stage::Ready | Stage::Removed | Stage::Failed);
    if let Some(worktree) = world.worktrees.values().find(|w| of_project(&w.project) && unfinished(w.stage)) {
        return Err(Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage });
    }
    let event = ProjectRenamed { from: name.to_owned(), to };
    Ok(vec![Draft { stream: Stream::Project(name.to_owned()), brief: None, event: event.into() }])
}

/// The new name, if it is the project's.
pub fn rename_in(project: &mut String, from: &str, to: &str) {
    if project == from {
        to.clone_into(project);
    }
}

/// Fails if another project has had this name: links that still say it would lead to the wrong one.
fn require_not_former(world: &World, name: &str, except: Option<&str>) -> Result<(), Refusal> {
    match world.former_names.get(name) {
        Some(now) if Some(now.as_str()) != except => {
            Err(Refusal::FormerName { name: name.to_owned(), now: now.clone() })
        }
        _ => Ok(()),
    }
}

fn require_no_agents(world: &World, name: &str) -> Result<(), Refusal> {
    let live = world.agents.values().filter(|agent| agent.is_live() && agent.project == name);
    let names: Vec<String> = live.map(|agent| agent.name.clone()).collect();
    match names.is_empty() {
        true => Ok(()),
        false => Err(Refusal::LiveAgents { project: name.to_owned(), names }),
    }
}

pub(crate) fn accept_loss(proved_seq: u64, proved_hash: &str, found_seq: u64, found_hash: &str) -> Vec<Draft> {
    let event =
        LossAccepted { proved_seq, proved_hash: proved_hash.to_owned(), found_seq, found_hash: found_hash.to_owned() };
    vec![Draft { stream: Stream::Log, brief: None, event: event.into() }]
}
