//! Who a caller is, and what it may read: tokens, browser sessions, read rights.

pub mod identity;
pub mod rights;
pub mod sessions;
mod tokens;

use crate::Setup;
use flower_store::Store;
use identity::{InvalidTokens, RecentRefusals};
use sessions::Sessions;
use std::time::{Duration, Instant};

pub struct Access {
    store: Store,
    /// The name of the operator in the trace.
    operator: String,
    operator_token: String,
    url: String,
    sessions: Sessions,
    refused: RecentRefusals,
    invalid_tokens: InvalidTokens,
}

impl Access {
    pub(crate) fn new(setup: &Setup) -> Access {
        Access {
            store: setup.store.clone(),
            operator: setup.operator.clone(),
            operator_token: setup.operator_token.clone(),
            url: setup.url.clone(),
            sessions: Sessions::load(&setup.home),
            refused: RecentRefusals::default(),
            invalid_tokens: InvalidTokens::default(),
        }
    }

    /// Counts a request with an invalid token, and returns how long to delay the answer.
    pub fn record_invalid_token(&self, now: Instant) -> Option<Duration> {
        self.invalid_tokens.record(now)
    }
}
