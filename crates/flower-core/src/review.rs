//! Review: what somebody says about a line of a worktree's changes. It is a message with a place, so that it reaches an agent
//! the way every message does, and stays with the brief for whoever goes on.

use crate::actor::Caller;
use crate::event::{Draft, MessageSent, Stream};
use crate::message::{self, Recipient};
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use serde::{Deserialize, Serialize};

words! {
    /// Of a difference: what MAIN has, or what the worktree has.
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
    /// The commit in which the line was read.
    pub commit: String,
    /// The line as it was.
    pub quote: String,
    pub text: String,
}

/// What is to be said, and to whom: an agent, or everybody who is or comes into the worktree.
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
    let number = world.last_message + 1;
    let brief = worktree.brief.filter(|number| world.briefs.contains_key(number));
    let text = in_words(&about);
    let sent = MessageSent { number, kind, to, from_worktree: caller.worktree.clone(), text, about: Some(about) };
    Ok(vec![Draft { stream: Stream::Message(number), brief, event: sent.into() }])
}

/// As an agent reads it.
fn in_words(about: &Remark) -> String {
    let Remark { file, line, side, commit, quote, text, .. } = about;
    let commit = commit.get(..12).unwrap_or(commit);
    let at = match side {
        Side::New => format!("as it is in {commit}"),
        Side::Old => format!("as MAIN has it in {commit}; your worktree changes or removes it"),
    };
    format!("Review of `{file}`, line {line}, {at}:\n\n    {quote}\n\n{text}")
}
