//! What each token holds: its sessions and its open streams, bounded in number.

use crate::error::{Problem, ProblemKind};
use futures_util::Stream;
use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Of one token. Whoever opens more loses the oldest.
const MOST_SESSIONS: usize = 64;
/// Of one token, calls that are under way included.
const MOST_STREAMS: usize = 128;

#[derive(Clone, Default)]
pub(super) struct Held {
    /// By the SHA-256 of the token.
    by_token: Arc<Mutex<HashMap<String, Owner>>>,
}

#[derive(Default)]
struct Owner {
    /// Oldest first.
    sessions: Vec<SessionId>,
    streams: usize,
}

impl Held {
    pub(super) fn owns(&self, token: &str, session: &str) -> bool {
        let held = self.by_token.lock().expect("no panic while held");
        held.get(token).is_some_and(|owner| owner.sessions.iter().any(|own| own.as_ref() == session))
    }

    /// Notes a session that was opened, forgets those that have ended, and names those that must end for it.
    pub(super) async fn open(&self, token: String, session: &str, open: &LocalSessionManager) -> Vec<SessionId> {
        let open = open.sessions.read().await;
        let mut held = self.by_token.lock().expect("no panic while held");
        held.retain(|_, owner| {
            owner.sessions.retain(|session| open.contains_key(session));
            !owner.sessions.is_empty() || owner.streams > 0
        });
        let owner = held.entry(token).or_default();
        owner.sessions.push(session.into());
        let too_many = owner.sessions.len().saturating_sub(MOST_SESSIONS);
        owner.sessions.drain(..too_many).collect()
    }

    /// A place for one more answer.
    pub(super) fn stream(&self, token: &str) -> Result<Place, Problem> {
        let mut held = self.by_token.lock().expect("no panic while held");
        let owner = held.entry(token.to_owned()).or_default();
        if owner.streams >= MOST_STREAMS {
            return Err(Problem::new(
                ProblemKind::Unreachable,
                format!("{MOST_STREAMS} streams of this token are open already"),
                "close some of them, then try again",
            ));
        }
        owner.streams += 1;
        Ok(Place { held: self.clone(), token: token.to_owned() })
    }
}

/// Is given back when the answer is sent, or its reader gone.
pub(super) struct Place {
    held: Held,
    token: String,
}

impl Place {
    pub(super) fn hold<S>(self, stream: S) -> Holding<S> {
        Holding { stream: Box::pin(stream), _place: self }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.held.by_token.lock().expect("no panic while held");
        if let Some(owner) = held.get_mut(&self.token) {
            owner.streams = owner.streams.saturating_sub(1);
        }
    }
}

pub(super) struct Holding<S> {
    stream: Pin<Box<S>>,
    _place: Place,
}

impl<S: Stream> Stream for Holding<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(context)
    }
}
