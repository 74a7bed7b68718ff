//! Tokens: identities with fewer rights than the operator. The log keeps a token's SHA-256, never the token.

use crate::actor::{Binding, Role};
use crate::event::{Draft, Stream, TokenIssued, TokenRevoked};
use crate::ids::BriefId;
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub id: String,
    pub agent: String,
    pub role: Role,
    pub brief: Option<BriefId>,
    pub worktree: Option<String>,
    pub sha256: String,
    /// The dispatch that the token is bound to, which makes it a packet.
    pub run: Option<Binding>,
}

pub(crate) fn issue(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let agent = text::name("agent", &request.agent)?;
    if request.role == Role::Operator {
        return Err(Refusal::OperatorToken { name: agent });
    }
    if let Some(brief) = request.brief {
        world.brief(brief)?;
    }
    if let Some(run) = request.run {
        let dispatch = world.dispatch(run.dispatch)?;
        if !dispatch.is_open() {
            let (number, state) = (run.dispatch, dispatch.state);
            return Err(Refusal::DispatchState { number, state, wanted: "open" });
        }
    }
    let event = TokenIssued {
        id: request.id.clone(),
        agent,
        role: request.role,
        brief: request.brief,
        worktree: request.worktree.as_deref().map(|name| text::name("worktree", name)).transpose()?,
        sha256: request.sha256.clone(),
        dispatch: request.run.map(|run| run.dispatch),
        member: request.run.is_some_and(|run| run.member),
    };
    Ok(vec![Draft { stream: Stream::Token(request.id.clone()), brief: None, event: event.into() }])
}

pub(crate) fn revoke(world: &World, id: &str) -> Result<Vec<Draft>, Refusal> {
    if !world.tokens.contains_key(id) {
        return Err(Refusal::NoToken { id: id.to_owned() });
    }
    let event = TokenRevoked { id: id.to_owned() };
    Ok(vec![Draft { stream: Stream::Token(id.to_owned()), brief: None, event: event.into() }])
}
