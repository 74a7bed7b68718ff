//! The limit of open MCP sessions per token.

use rmcp::transport::streamable_http_server::session::SessionId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Sessions of one token. Opening one more ends the oldest.
const MAX_SESSIONS: usize = 64;

#[derive(Clone, Default)]
pub(super) struct SessionLimits {
    /// By the SHA-256 of the token, oldest first.
    by_token: Arc<Mutex<HashMap<String, Vec<SessionId>>>>,
}

impl SessionLimits {
    pub(super) fn owns(&self, token: &str, session: &str) -> bool {
        let held = self.by_token.lock().expect("no panic while held");
        held.get(token).is_some_and(|sessions| sessions.iter().any(|own| own.as_ref() == session))
    }

    /// Adds an opened session, forgets ended ones, and returns the sessions that must be closed to stay within the limit.
    pub(super) async fn open(&self, token: String, session: &str, open: &LocalSessionManager) -> Vec<SessionId> {
        let open = open.sessions.read().await;
        let mut held = self.by_token.lock().expect("no panic while held");
        held.retain(|_, sessions| {
            sessions.retain(|session| open.contains_key(session));
            !sessions.is_empty()
        });
        let sessions = held.entry(token).or_default();
        sessions.push(session.into());
        let too_many = sessions.len().saturating_sub(MAX_SESSIONS);
        sessions.drain(..too_many).collect()
    }
}
