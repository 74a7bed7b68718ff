//! Holds a hand-back once if its agent may have overlooked something: unread messages, an open question, missing commits.

use super::hand_back::HandBackRequest;
use crate::Dispatcher;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::EventView;
use flower_core::{Caller, Dispatch, Fence, News, Role};

/// The dispatches whose reasons are remembered. Without a memory, the reason is told once more.
const MAX_HELD: usize = 1_000;

/// Why a hand-back is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Unread,
    OpenQuestion,
    NoCommits,
}

impl Dispatcher {
    /// Refuses the hand-back of a worker that may have overlooked something. Each reason holds a claim only once: the worker
    /// decides, and hands back again.
    pub(super) async fn hold(
        &self,
        caller: &Caller,
        dispatch: &Dispatch,
        request: &HandBackRequest,
        lacks_commits: bool,
    ) -> Result<(), Problem> {
        if caller.role != Role::Worker || request.by_exit || request.failed {
            return Ok(());
        }
        let mut found = Vec::new();
        let unread = self.unread_since_claim(caller, dispatch).await?;
        if unread > 0 {
            let text = format!("your inbox has {unread} that you have not read");
            found.push((Hold::Unread, text, "read them: `check_inbox`, or `flower inbox`".to_owned()));
        }
        let (brief, name) = (dispatch.brief, caller.actor.name.clone());
        let open = self.store.read(move |conn| flower_store::questions::open_by(conn, brief, &name)).await?;
        if let Some(question) = open.first() {
            let text = format!("your question {question} of brief {brief} has no answer");
            let hint = "if the work depends on it, do not hand back: end your turn, the answer is in your inbox";
            found.push((Hold::OpenQuestion, text, hint.to_owned()));
        }
        if lacks_commits {
            let text = "there is no commit of yours, so nothing would land".to_owned();
            let hint = "commit the work; or, if it cannot be done, say so with `failed: true` or `--failed`";
            found.push((Hold::NoCommits, text, hint.to_owned()));
        }
        let new = self.remember_holds(dispatch, request.fence, found.iter().map(|(hold, ..)| *hold));
        found.retain(|(hold, ..)| new.contains(hold));
        if found.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = found.iter().map(|(_, text, _)| text.as_str()).collect();
        let message = format!("not handed back yet: {}", texts.join("; "));
        let mut hints: Vec<String> = found.iter().map(|(.., hint)| hint.clone()).collect();
        hints.push("if it is meant so, hand back again: then it is taken".to_owned());
        Err(Problem { kind: ProblemKind::Refused, message, hints })
    }

    /// Unread messages, and unread events since the claim that an agent is told of unasked. The text of the brief has the earlier
    /// ones.
    async fn unread_since_claim(&self, caller: &Caller, dispatch: &Dispatch) -> Result<u64, Problem> {
        let unread = self.messages.unread(caller, false).await?;
        let begun = dispatch.claim.as_ref().map_or("", |claim| claim.at.as_str());
        let is_new = |event: &&EventView| event.at.as_str() > begun && event.description().news == News::BeforeNextTurn;
        let news = unread.news.iter().filter(is_new).count();
        Ok((unread.messages.len() + news) as u64)
    }

    /// Adds reasons to those that were told for a claim, and returns the new ones.
    fn remember_holds(&self, dispatch: &Dispatch, fence: Fence, holds: impl Iterator<Item = Hold>) -> Vec<Hold> {
        let mut held = self.held.lock().expect("no panic while held");
        if held.len() >= MAX_HELD {
            held.clear();
        }
        let told = held.entry((dispatch.number, fence)).or_default();
        let new: Vec<Hold> = holds.filter(|hold| !told.contains(hold)).collect();
        told.extend(&new);
        new
    }
}
