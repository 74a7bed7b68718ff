//! Review: comments on lines of a worktree's changes. A comment is a message with a position, so that it reaches an
//! agent like every message, and stays with the brief for agents that work on it later.

use crate::actor::Caller;
use crate::event::{Draft, MessageSent, Stream};
use crate::message::{self, Recipient};
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use serde::{Deserialize, Serialize};

words! {
    /// The side of a difference: MAIN's, or the worktree's.
    Side ("side") { Old = "old", New = "new" }
}

/// A comment on one line of the changes in a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    pub project: String,
    pub worktree: String,
    pub file: String,
    pub line: u64,
    pub side: Side,
    /// The commit in which the commented line was read.
    pub commit: String,
    /// The line as it was in that commit.
    pub quote: String,
    pub text: String,
}

/// A comment and its recipients: one agent, or every agent that is or will be in the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub remark: Remark,
    pub to: Option<String>,
}

const QUOTE_CHARS: usize = 300;
const FILE_CHARS: usize = 1_000;

pub(crate) fn remark(world: &World, caller: &Caller, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let said = &request.remark;
    let about = Remark {
        file: text::visible(&said.file, FILE_CHARS),
        quote: text::visible(&said.quote, QUOTE_CHARS),
        text: text::markdown("comment", &said.text, message::MESSAGE_BYTES)?,
        ..said.clone()
    };
    let mut live = world.worktrees.values().filter(|worktree| worktree.is_live());
    let worktree = live
        .find(|worktree| worktree.project == about.project && worktree.name == about.worktree)
        .ok_or_else(|| Refusal::NoWorktree { name: about.worktree.clone(), known: Vec::new() })?;
    let (kind, to) = match &request.to {
        Some(agent) => (Recipient::Agent, text::name("recipient", agent)?),
        None => (Recipient::Worktree, about.worktree.clone()),
    };
    let number = world.last_message.next();
    let brief = worktree.brief.filter(|number| world.briefs.contains_key(number));
    let text = in_words(&about);
    let sent = MessageSent { number, kind, to, from_worktree: caller.worktree.clone(), text, about: Some(about) };
    Ok(vec![Draft { stream: Stream::Message(number), brief, event: sent.into() }])
}

/// The comment as an agent reads it.
fn in_words(about: &Remark) -> String {
    let Remark { file, line, side, commit, quote, text, .. } = about;
    let commit = commit.get(..12).unwrap_or(commit);
    let at = match side {
        Side::New => format!("as it is in {commit}"),
        Side::Old => format!("as MAIN has it in {commit}; your worktree changes or removes it"),
    };
    format!("Review of `{file}`, line {line}, {at}:\n\n    {quote}\n\n{text}")
}
