//! The sessions of each token, bounded in number.

use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Of one token. Whoever opens more loses the oldest.
const MOST_SESSIONS: usize = 64;

#[derive(Clone, Default)]
pub(super) struct Held {
    /// By the SHA-256 of the token, oldest first.
    by_token: Arc<Mutex<HashMap<String, Vec<SessionId>>>>,
}

impl Held {
    pub(super) fn owns(&self, token: &str, session: &str) -> bool {
        let held = self.by_token.lock().expect("no panic while held");
        held.get(token).is_some_and(|sessions| sessions.iter().any(|own| own.as_ref() == session))
    }

    /// Notes a session that was opened, forgets those that have ended, and names those that must end for it.
    pub(super) async fn open(&self, token: String, session: &str, open: &LocalSessionManager) -> Vec<SessionId> {
        let open = open.sessions.read().await;
        let mut held = self.by_token.lock().expect("no panic while held");
        held.retain(|_, sessions| {
            sessions.retain(|session| open.contains_key(session));
            !sessions.is_empty()
        });
        let sessions = held.entry(token).or_default();
        sessions.push(session.into());
        let too_many = sessions.len().saturating_sub(MOST_SESSIONS);
        sessions.drain(..too_many).collect()
    }
}
