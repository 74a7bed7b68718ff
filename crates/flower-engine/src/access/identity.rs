//! Identifies the caller by the token of its request. A request without a token is rejected.

use crate::Access;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::chain::sha256;
use flower_core::{Actor, ActorType, Caller, Command, Door, Role};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

impl Access {
    /// The caller that a token belongs to.
    pub async fn identify(&self, token: &str, door: Door) -> Result<Caller, Problem> {
        if bool::from(token.as_bytes().ct_eq(self.operator_token.as_bytes())) {
            return Ok(self.operator(door));
        }
        // The other tokens are looked up by hash, so the time of a comparison reveals nothing about them.
        let hash = sha256(token.as_bytes());
        if self.sessions.is_valid(&hash) {
            return Ok(self.operator(Door::Web));
        }
        match self.store.read(move |conn| flower_store::tokens::by_hash(conn, &hash)).await? {
            Some(token) => Ok(Caller {
                actor: Actor { sort: ActorType::Agent, name: token.agent },
                role: token.role,
                door,
                brief: token.brief,
                worktree: token.worktree,
                token: Some(token.id),
                run: token.run,
            }),
            None => Err(unauthorized()),
        }
    }

    /// Records a call that the rights of the caller do not allow; the same call of one agent at most once a minute.
    pub async fn record_refused(&self, caller: &Caller, what: &str, why: &str) {
        if caller.role == Role::Operator || !self.refused.is_new(caller, what) {
            return;
        }
        let command = Command::NoteRefused { what: what.to_owned(), why: why.to_owned() };
        if let Err(problem) = self.store.execute(caller, command).await {
            tracing::warn!("refused call not recorded: {}", problem.message);
        }
    }

    fn operator(&self, door: Door) -> Caller {
        let actor = Actor { sort: ActorType::Operator, name: self.operator.clone() };
        Caller::unbound(actor, Role::Operator, door)
    }
}

pub fn unauthorized() -> Problem {
    Problem::new(
        ProblemKind::Unauthorized,
        "no valid token came with the request",
        "send `Authorization: Bearer TOKEN`; the operator's is in FLOWER_HOME/token, an agent's comes from `flower token new`",
    )
}

/// Counts invalid tokens, so that guessing is slow. Requests with a valid token are never delayed.
#[derive(Debug, Default)]
pub struct InvalidTokens {
    recent: Mutex<Option<(Instant, u32)>>,
}

/// Refused calls that were recorded in the last minute.
#[derive(Debug, Default)]
pub struct RecentRefusals {
    recent: Mutex<HashMap<(String, String), Instant>>,
}

/// Refused calls recorded in a minute, of all agents.
const MAX_REFUSALS: usize = 200;

impl RecentRefusals {
    fn is_new(&self, caller: &Caller, what: &str) -> bool {
        let mut recent = self.recent.lock().expect("no panic while held");
        recent.retain(|_, at| at.elapsed() < Duration::from_secs(60));
        let key = (caller.actor.name.clone(), what.chars().take(200).collect());
        if recent.len() >= MAX_REFUSALS || recent.contains_key(&key) {
            return false;
        }
        recent.insert(key, Instant::now());
        true
    }
}

/// Invalid tokens in a second before answers to further ones are delayed.
const MAX_UNDELAYED: u32 = 20;
const DELAY: Duration = Duration::from_millis(200);

impl InvalidTokens {
    /// Counts one more, and returns how long to delay the answer.
    pub(super) fn record(&self, now: Instant) -> Option<Duration> {
        let mut recent = self.recent.lock().expect("no panic while held");
        let (since, count) = match *recent {
            Some((since, count)) if now.duration_since(since) < Duration::from_secs(1) => (since, count + 1),
            _ => (now, 1),
        };
        *recent = Some((since, count));
        (count > MAX_UNDELAYED).then_some(DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_is_slow_and_forgotten_after_a_second() {
        let invalid = InvalidTokens::default();
        let start = Instant::now();
        for _ in 0..MAX_UNDELAYED {
            assert_eq!(invalid.record(start), None);
        }
        assert_eq!(invalid.record(start), Some(DELAY));
        assert_eq!(invalid.record(start + Duration::from_secs(2)), None);
    }
}
