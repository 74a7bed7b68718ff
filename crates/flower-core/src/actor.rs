//! The caller of a command: its actor, the door it came through, and its rights.

use crate::ids::{BriefId, DispatchId};
use crate::word::words;
use serde::{Deserialize, Serialize};

words! {
    /// The kind of actor that caused an event.
    ActorType ("actor type") { Operator = "operator", Agent = "agent", System = "system" }
}

words! {
    /// The interface through which a command came in.
    Door ("door") { Cli = "cli", Web = "web", Mcp = "mcp", Api = "api", Daemon = "daemon" }
}

words! {
    /// What a token lets its owner do; [`crate::policy`] has the table.
    Role ("role") { Operator = "operator", Orchestrator = "orchestrator", Worker = "worker", Ops = "ops" }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    #[serde(rename = "type")]
    pub sort: ActorType,
    pub name: String,
}

impl Actor {
    pub fn system() -> Actor {
        Actor { sort: ActorType::System, name: "flower".to_owned() }
    }
}

/// The owner of the token that a command came with. The actor of every event is the caller; a command cannot name
/// another actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub actor: Actor,
    pub role: Role,
    pub door: Door,
    /// The brief that a worker's token is bound to.
    pub brief: Option<BriefId>,
    pub worktree: Option<String>,
    /// The id of the token. The operator's own token has no id.
    pub token: Option<String>,
    pub run: Option<Binding>,
}

/// Binds a token to the one dispatch that it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub dispatch: DispatchId,
    /// True for an agent that assists the agent that holds the claim.
    pub member: bool,
}

impl Caller {
    /// A caller whose rights follow from its role alone, without a token that is bound to a brief or a dispatch.
    pub fn unbound(actor: Actor, role: Role, door: Door) -> Caller {
        Caller { actor, role, door, brief: None, worktree: None, token: None, run: None }
    }

    /// flower itself, acting through the daemon.
    pub fn system() -> Caller {
        Caller::unbound(Actor::system(), Role::Operator, Door::Daemon)
    }
}
