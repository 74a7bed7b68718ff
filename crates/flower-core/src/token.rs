//! Tokens: an identity of lower rights than the operator's. The log keeps a token's SHA-256, never the token.

use crate::actor::{Binding, Role};
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
    run: Option<Binding>,
) -> Result<Vec<Draft>, Refusal> {
    let agent = text::name("agent", agent)?;
    if role == Role::Operator {
        return Err(Refusal::OperatorToken { name: agent });
    }
    if let Some(brief) = brief {
        world.brief(brief)?;
    }
    let worktree = worktree.map(|name| text::name("worktree", name)).transpose()?;
    if let Some(run) = run {
        let dispatch = world.dispatch(run.dispatch)?;
        if !dispatch.is_open() {
            let (number, state) = (run.dispatch, dispatch.state);
            return Err(Refusal::DispatchState { number, state, wanted: "open" });
        }
    }
    let (dispatch, member) = (run.map(|run| run.dispatch), run.is_some_and(|run| run.member));
    let (id, sha256) = (id.to_owned(), sha256.to_owned());
    let event = TokenIssued { id: id.clone(), agent, role, brief, worktree, sha256, dispatch, member };
    Ok(vec![Draft { stream: Stream::Token(id), brief: None, event: event.into() }])
}

pub(crate) fn revoke(world: &World, id: &str) -> Result<Vec<Draft>, Refusal> {
    if !world.tokens.contains_key(id) {
        return Err(Refusal::NoToken { id: id.to_owned() });
    }
    let event = TokenRevoked { id: id.to_owned() };
    Ok(vec![Draft { stream: Stream::Token(id.to_owned()), brief: None, event: event.into() }])
}
