//! Whose token it is. Every request has one; there is no way in without.

use crate::Access;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::chain::sha256;
use flower_core::{Actor, ActorType, Caller, Command, Door, Role};
use flower_store::tables;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

impl Access {
    /// The owner of a token, who came through this door.
    pub async fn identify(&self, token: &str, door: Door) -> Result<Caller, Problem> {
        if bool::from(token.as_bytes().ct_eq(self.operator_token.as_bytes())) {
            return Ok(self.operator(door));
        }
        // From here on only hashes are compared, which tell nothing about the token.
        let hash = sha256(token.as_bytes());
        if self.sessions.knows(&hash) {
            return Ok(self.operator(Door::Web));
        }
        match self.store.read(move |conn| tables::token_by_hash(conn, &hash)).await? {
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

    /// For the record: somebody tried what their token does not reach. Whoever tries again and again is noted once a minute.
    pub async fn note_refused(&self, caller: &Caller, what: &str, why: &str) {
        if caller.role == Role::Operator || !self.refused.is_new(caller, what) {
            return;
        }
        let command = Command::NoteRefused { what: what.to_owned(), why: why.to_owned() };
        if let Err(problem) = self.store.execute(caller, command).await {
            tracing::warn!("a refused call is not recorded: {}", problem.message);
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

/// Counts wrong tokens, so that guessing is slow. Right ones are never slowed down.
#[derive(Debug, Default)]
pub struct Failures {
    recent: Mutex<Option<(Instant, u32)>>,
}

/// Refused calls that were recorded lately.
#[derive(Debug, Default)]
pub struct Refused {
    recent: Mutex<HashMap<(String, String), Instant>>,
}

/// Different ones that are recorded in a minute.
const MOST_RECORDED: usize = 200;

impl Refused {
    fn is_new(&self, caller: &Caller, what: &str) -> bool {
        let mut recent = self.recent.lock().expect("no panic while held");
        recent.retain(|_, at| at.elapsed() < Duration::from_secs(60));
        let key = (caller.actor.name.clone(), what.chars().take(200).collect());
        if recent.len() >= MOST_RECORDED || recent.contains_key(&key) {
            return false;
        }
        recent.insert(key, Instant::now());
        true
    }
}

/// Wrong tokens in a second before answers to further ones are held back.
const FREE: u32 = 20;
const HELD_BACK: Duration = Duration::from_millis(200);

impl Failures {
    /// Notes one more and says how long to wait with the answer.
    pub fn note(&self, now: Instant) -> Option<Duration> {
        let mut recent = self.recent.lock().expect("no panic while held");
        let (since, count) = match *recent {
            Some((since, count)) if now.duration_since(since) < Duration::from_secs(1) => (since, count + 1),
            _ => (now, 1),
        };
        *recent = Some((since, count));
        (count > FREE).then_some(HELD_BACK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_is_slow_and_forgotten_after_a_second() {
        let failures = Failures::default();
        let start = Instant::now();
        for _ in 0..FREE {
            assert_eq!(failures.note(start), None);
        }
        assert_eq!(failures.note(start), Some(HELD_BACK));
        assert_eq!(failures.note(start + Duration::from_secs(2)), None);
    }
}
