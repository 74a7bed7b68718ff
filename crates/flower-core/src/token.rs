//! Tokens: an identity of lower rights than the operator's. The log keeps a token's SHA-256, never the token.

use crate::actor::Role;
use crate::event::{Draft, Stream, TokenIssued, TokenRevoked};
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

pub(crate) fn issue(
    world: &World,
    id: &str,
    agent: &str,
    role: Role,
    brief: Option<u64>,
    worktree: Option<&str>,
    sha256: &str,
) -> Result<Vec<Draft>, Refusal> {
    let agent = text::name("agent", agent)?;
    if role == Role::Operator {
        return Err(Refusal::OperatorToken { name: agent });
    }
    if let Some(brief) = brief {
        world.brief(brief)?;
    }
    let worktree = worktree.map(|name| text::name("worktree", name)).transpose()?;
    let event = TokenIssued { id: id.to_owned(), agent, role, brief, worktree, sha256: sha256.to_owned() };
    Ok(vec![Draft { stream: Stream::Token(id.to_owned()), brief: None, event: event.into() }])
}

pub(crate) fn revoke(world: &World, id: &str) -> Result<Vec<Draft>, Refusal> {
    if !world.tokens.contains(id) {
        return Err(Refusal::NoToken { id: id.to_owned() });
    }
    let event = TokenRevoked { id: id.to_owned() };
    Ok(vec![Draft { stream: Stream::Token(id.to_owned()), brief: None, event: event.into() }])
}
