//! Messages between agents, and to and from the operator.

use crate::actor::Caller;
use crate::event::{Draft, MessageSent, Stream};
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use std::collections::BTreeSet;

words! {
    /// The kind of recipient of a message.
    Recipient ("recipient") { Operator = "operator", Agent = "agent", Worktree = "worktree" }
}

pub(crate) const MESSAGE_BYTES: usize = 8 * 1024;

/// Sends a message. `to` is `operator`, the name of an agent, or the name of a worktree, which means every agent in it.
pub(crate) fn send(world: &World, caller: &Caller, to: &str, raw: &str) -> Result<Vec<Draft>, Refusal> {
    let text = text::markdown("message", raw, MESSAGE_BYTES)?;
    let to = text::name("recipient", to)?;
    let agents: BTreeSet<&str> = world.tokens.values().map(String::as_str).chain(world.holders()).collect();
    let worktree = world.worktrees.values().find(|worktree| worktree.is_live() && worktree.name == to);
    let kind = if to == "operator" {
        Recipient::Operator
    } else if agents.contains(to.as_str()) {
        Recipient::Agent
    } else if worktree.is_some() {
        Recipient::Worktree
    } else {
        let known = agents.into_iter().filter(|name| *name != caller.actor.name);
        let worktrees = world.worktrees.values().filter(|w| w.is_live()).map(|w| w.name.as_str());
        let known = ["operator"].into_iter().chain(known).chain(worktrees).take(20).map(str::to_owned).collect();
        return Err(Refusal::NoRecipient { name: to, known });
    };
    let number = world.last_message.next();
    let brief = caller.brief.filter(|number| world.briefs.contains_key(number));
    let sent = MessageSent { number, kind, to, from_worktree: caller.worktree.clone(), text, about: None };
    Ok(vec![Draft { stream: Stream::Message(number), brief, event: sent.into() }])
}

impl World {
    /// The holders of all current claims, also those without a token of their own.
    fn holders(&self) -> impl Iterator<Item = &str> {
        self.dispatches.values().filter_map(|dispatch| dispatch.claim.as_ref()).map(|claim| claim.holder.as_str())
    }
}
