//! Permissions that agents request from a person. A request without a decision in time is denied.

use crate::aggregate::{Aggregate, Context, subject};
use crate::event::{Draft, PermissionAsked, PermissionDecided, PermissionEvent, Stream};
use crate::ids::{AgentId, BriefId, PermissionId};
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permission {
    pub number: PermissionId,
    pub agent: AgentId,
    pub name: String,
    pub worktree: String,
    pub brief: Option<BriefId>,
    /// The action that the agent wants to take, in its own words, and the kind of action.
    pub title: String,
    pub sort: String,
    pub paths: Vec<String>,
    /// The time for a decision.
    pub seconds: u64,
    pub at: String,
    pub allowed: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub agent: AgentId,
    pub title: String,
    pub sort: String,
    pub paths: Vec<String>,
    pub seconds: u64,
}

const TITLE_CHARS: usize = 1_000;
const MAX_PATHS: usize = 20;

impl Aggregate for Permission {
    subject!(Permission "permission", PermissionEvent, PermissionId);

    fn create(change: PermissionEvent<'_>, context: &Context<'_>) -> Option<Permission> {
        let PermissionEvent::PermissionAsked(asked) = change else { return None };
        Some(Permission {
            number: asked.number,
            agent: asked.agent,
            name: asked.name.clone(),
            worktree: asked.worktree.clone(),
            brief: context.brief,
            title: asked.title.clone(),
            sort: asked.sort.clone(),
            paths: asked.paths.clone(),
            seconds: asked.seconds,
            at: context.at.to_owned(),
            allowed: None,
        })
    }

    fn evolve(&mut self, change: PermissionEvent<'_>, _: &Context<'_>) {
        match change {
            PermissionEvent::PermissionAsked(_) => {}
            PermissionEvent::PermissionDecided(decided) => self.allowed = Some(decided.allow),
        }
    }
}

pub(crate) fn ask(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let agent = world.agent(request.agent)?;
    if !agent.is_live() {
        return Err(Refusal::AgentEnded { name: agent.name.clone() });
    }
    let number = world.last_permission.next();
    let asked = PermissionAsked {
        number,
        agent: agent.number,
        name: agent.name.clone(),
        worktree: agent.worktree.clone(),
        // A person decides by this text, so hidden characters are made visible.
        title: text::visible(request.title.trim(), TITLE_CHARS),
        sort: text::visible(&request.sort, 40),
        paths: request.paths.iter().take(MAX_PATHS).map(|path| text::visible(path, 500)).collect(),
        seconds: request.seconds,
    };
    Ok(vec![Draft { stream: Stream::Permission(number), brief: agent.brief, event: asked.into() }])
}

pub(crate) fn decide(
    world: &World,
    number: PermissionId,
    allow: bool,
    why: Option<&str>,
) -> Result<Vec<Draft>, Refusal> {
    let permission = world.permissions.get(&number).ok_or(Refusal::NoPermission { number })?;
    match permission.allowed {
        Some(before) if before == allow => return Ok(Vec::new()),
        Some(before) => return Err(Refusal::PermissionDecided { number, allowed: before }),
        None => {}
    }
    let why = why.map(|why| text::line("reason", why, 500)).transpose()?;
    let decided = PermissionDecided { number, allow, why };
    Ok(vec![Draft { stream: Stream::Permission(number), brief: permission.brief, event: decided.into() }])
}
