//! The inbox of agents: messages, and events that they have to know, such as answers, a changed plan or the end of a landing.

pub(crate) mod text;

use crate::Setup;
use crate::notify::ChangeHints;
use flower_contract::error::Problem;
use flower_contract::view::{EventView, HeardView, MessageView};
use flower_core::event::MessageSent;
use flower_core::policy::{self, Action};
use flower_core::{Caller, Command, Event, News, Recorded};
use flower_store::Store;
use flower_store::log::{self, Edge, Of};
use flower_store::{dispatches, ephemeral};

/// Messages in one answer; the rest comes with the next call.
const MAX_MESSAGES: u64 = 50;
/// Events of a brief that are examined at once.
const MAX_EVENTS: u64 = 500;

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
            Ok(Event::MessageSent(sent)) => Some(view(caller, recorded, sent)),
            _ => None,
        });
        sent.ok_or_else(|| Problem::bug("a message was sent and no event says so"))
    }

    /// Unread messages and events of the caller, oldest first. With `mark_read` they count as read afterwards.
    pub async fn unread(&self, caller: &Caller, mark_read: bool) -> Result<HeardView, Problem> {
        let Some(id) = caller.token.clone() else { return Ok(HeardView::default()) };
        let (name, worktree, brief) = (caller.actor.name.clone(), caller.worktree.clone(), caller.brief);
        let key = format!("read/{id}");
        let of = key.clone();
        let read = self.store.read(move |conn| {
            let read = ephemeral::get(conn, &of)?.and_then(|text| text.parse().ok());
            let after: u64 = match read {
                Some(after) => after,
                None => flower_store::tokens::by_id(conn, &id)?.map_or(0, |token| token.seq),
            };
            let messages = dispatches::messages(conn, &name, worktree.as_deref(), after, MAX_MESSAGES)?;
            let events = match brief {
                Some(brief) => log::trace(conn, &Of::Brief(brief), Edge::After(after), MAX_EVENTS)?,
                None => Vec::new(),
            };
            Ok((after, messages, events))
        });
        let (after, messages, mut events) = read.await?;
        let last_event = events.last().map_or(after, |event| event.seq);
        let is_last_page = (events.len() as u64) < MAX_EVENTS;
        events.retain(|event| event.description().news > News::No && event.actor_name != caller.actor.name);
        let more = !is_last_page || messages.len() as u64 == MAX_MESSAGES;
        if mark_read {
            let last_message = messages.last().map_or(after, |message| message.seq);
            // One position covers both lists. If a list continues, entries after its last one are still unread.
            let read_up_to = match (is_last_page, messages.len() as u64 == MAX_MESSAGES) {
                (true, false) => last_event.max(last_message),
                (true, true) => last_message,
                (false, false) => last_event,
                (false, true) => last_event.min(last_message),
            };
            if read_up_to > after {
                self.store.remember(key, Some(read_up_to.to_string())).await?;
            }
        }
        Ok(HeardView {
            messages: messages
                .into_iter()
                .map(|m| MessageView { id: m.number.0, to: m.to, by: m.by, by_type: m.by_type, at: m.at, text: m.text })
                .collect(),
            news: events.iter().map(EventView::told).collect(),
            more,
        })
    }

    /// The inbox of an agent as text. Its messages and news count as read afterwards.
    pub async fn take_inbox(&self, caller: &Caller) -> Result<String, Problem> {
        Ok(text::inbox(&self.unread(caller, true).await?))
    }

    /// Marks everything as read, because a recall contains it.
    pub(crate) async fn mark_all_read(&self, caller: &Caller) -> Result<(), Problem> {
        let Some(id) = &caller.token else { return Ok(()) };
        let head = self.store.live().head();
        Ok(self.store.remember(format!("read/{id}"), Some(head.to_string())).await?)
    }

    /// Marks the operator's messages as seen, all or up to an event.
    pub async fn mark_seen(&self, caller: &Caller, up_to: Option<u64>) -> Result<(), Problem> {
        policy::require_action(caller, Action::MarkMessagesSeen)?;
        let head = self.store.live().head();
        let seen = up_to.map_or(head, |seq| seq.min(head));
        self.store.remember("read/operator".into(), Some(seen.to_string())).await?;
        self.hints.publish(ChangeHints::INBOX);
        Ok(())
    }
}

fn view(caller: &Caller, recorded: &Recorded, sent: MessageSent) -> MessageView {
    MessageView {
        id: sent.number.0,
        to: sent.to,
        by: caller.actor.name.clone(),
        by_type: caller.actor.sort,
        at: recorded.at.clone(),
        text: sent.text,
    }
}
