//! Who acts, through which door, and with which rights.

use crate::word::words;
use serde::{Deserialize, Serialize};

words! {
    /// What sort of actor stands behind an event.
    ActorType ("actor type") { Operator = "operator", Agent = "agent", System = "system" }
}

words! {
    /// The way by which a command came in.
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

/// The owner of the token a command came with. The actor of every event is the caller, whatever the command claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    pub actor: Actor,
    pub role: Role,
    pub door: Door,
    /// A worker's token is bound to one brief.
    pub brief: Option<u64>,
    pub worktree: Option<String>,
    /// The id of the token; the operator's own has none.
    pub token: Option<String>,
    pub run: Option<Binding>,
}

/// A token that was made for one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub dispatch: u64,
    /// It works beside the one that holds the claim.
    pub member: bool,
}

impl Caller {
    /// Somebody whose rights come of nothing but the role.
    pub fn unbound(actor: Actor, role: Role, door: Door) -> Caller {
        Caller { actor, role, door, brief: None, worktree: None, token: None, run: None }
    }

    /// flower itself, acting through the daemon.
    pub fn system() -> Caller {
        Caller::unbound(Actor::system(), Role::Operator, Door::Daemon)
    }
}
