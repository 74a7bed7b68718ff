//! Messages, and whatever else an agent should hear of: answers, a plan that moved, what became of its landing.

mod text;

use crate::Setup;
use crate::notify::ChangeHints;
use flower_contract::error::Problem;
use flower_contract::view::{EventView, HeardView, MessageView};
use flower_core::event::MessageSent;
use flower_core::policy::{self, Action};
use flower_core::{Caller, Command, Event, News, Recorded};
use flower_store::Store;
use flower_store::log::{self, Edge, Of};
use flower_store::{dispatches, ephemeral, tables};

/// Given at once; the rest comes with the next call.
const MOST: u64 = 50;
/// Events of a brief that are looked through at once.
const PAGE: u64 = 500;

pub struct Messages {
    store: Store,
    hints: ChangeHints,
    operator: String,
}

impl Messages {
    pub(crate) fn new(setup: &Setup) -> Messages {
        Messages { store: setup.store.clone(), hints: setup.hints.clone(), operator: setup.operator.clone() }
    }

    pub async fn send(&self, caller: &Caller, to: &str, text: String) -> Result<MessageView, Problem> {
        let to = if to == self.operator { "operator" } else { to };
        let events = self.store.execute(caller, Command::SendMessage { to: to.to_owned(), text }).await?;
        let sent = events.iter().find_map(|recorded| match recorded.event() {
            Ok(Event::MessageSent(sent)) => Some(view(recorded, sent)),
            _ => None,
        });
        sent.ok_or_else(|| Problem::bug("a message was sent and no event says so"))
    }

    /// What the caller has not heard yet, oldest first; with `take` it is heard from now on.
    pub async fn hear(&self, caller: &Caller, take: bool) -> Result<HeardView, Problem> {
        let Some(id) = caller.token.clone() else { return Ok(HeardView::default()) };
        let (name, worktree, brief) = (caller.actor.name.clone(), caller.worktree.clone(), caller.brief);
        let key = format!("read/{id}");
        let of = key.clone();
        let read = self.store.read(move |conn| {
            let read = ephemeral::get(conn, &of)?.and_then(|text| text.parse().ok());
            let after: u64 = match read {
                Some(after) => after,
                None => tables::token(conn, &id)?.map_or(0, |token| token.seq),
            };
            let messages = dispatches::messages(conn, &name, worktree.as_deref(), after, MOST)?;
            let events = match brief {
                Some(brief) => log::trace(conn, &Of::Brief(brief), Edge::After(after), PAGE)?,
                None => Vec::new(),
            };
            Ok((after, messages, events))
        });
        let (after, messages, mut events) = read.await?;
        let looked_through = events.last().map_or(after, |event| event.seq);
        let whole = (events.len() as u64) < PAGE;
        events.retain(|event| event.description().news > News::No && event.actor_name != caller.actor.name);
        let more = !whole || messages.len() as u64 == MOST;
        if take {
            let last_message = messages.last().map_or(after, |message| message.seq);
            // Of two lists that may both go on, only what both have reached is behind us.
            let heard = match (whole, messages.len() as u64 == MOST) {
                (true, false) => looked_through.max(last_message),
                (true, true) => last_message,
                (false, false) => looked_through,
                (false, true) => looked_through.min(last_message),
            };
            if heard > after {
                self.store.remember(key, Some(heard.to_string())).await?;
            }
        }
        Ok(HeardView {
            messages: messages
                .into_iter()
                .map(|m| MessageView { id: m.number, to: m.to, by: m.by, by_type: m.by_type, at: m.at, text: m.text })
                .collect(),
            news: events.iter().map(EventView::from).collect(),
            more,
        })
    }

    /// The inbox of an agent as text. Its messages and news count as read afterwards.
    pub async fn take_inbox(&self, caller: &Caller) -> Result<String, Problem> {
        Ok(text::inbox(&self.hear(caller, true).await?))
    }

    /// Everything so far is known to the caller, as after a recall.
    pub(crate) async fn heard_all(&self, caller: &Caller) -> Result<(), Problem> {
        let Some(id) = &caller.token else { return Ok(()) };
        let head = self.store.live().head();
        Ok(self.store.remember(format!("read/{id}"), Some(head.to_string())).await?)
    }

    /// The operator has seen the messages that wait, or those up to an event.
    pub async fn mark_seen(&self, caller: &Caller, up_to: Option<u64>) -> Result<(), Problem> {
        policy::require_action(caller, Action::MarkMessagesSeen)?;
        let head = self.store.live().head();
        let seen = up_to.map_or(head, |seq| seq.min(head));
        self.store.remember("read/operator".into(), Some(seen.to_string())).await?;
        self.hints.publish(ChangeHints::INBOX);
        Ok(())
    }
}

fn view(recorded: &Recorded, sent: MessageSent) -> MessageView {
    MessageView {
        id: sent.number,
        to: sent.to,
        by: recorded.actor_name.clone(),
        by_type: recorded.actor_type.clone(),
        at: recorded.at.clone(),
        text: sent.text,
    }
}
