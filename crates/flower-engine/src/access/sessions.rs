//! Browser sessions: the page exchanges a one-time code from the command line for a token, and keeps it in its storage.

use crate::Access;
use crate::home::{Home, random_hex, write_private};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{OpenLink, Session};
use flower_core::Caller;
use flower_core::chain::sha256;
use flower_core::policy::{self, Action};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const CODE_LIFETIME: Duration = Duration::from_secs(600);
const MAX_CODES: usize = 100;
/// One more session removes the oldest.
const MAX_SESSIONS: usize = 50;

/// Hashes of the valid codes and session tokens. Sessions survive a restart of the daemon, codes do not.
#[derive(Debug)]
pub struct Sessions {
    home: Home,
    codes: Mutex<Vec<(String, Instant)>>,
    sessions: Mutex<Vec<StoredSession>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredSession {
    sha256: String,
    at: String,
}

impl Sessions {
    pub fn load(home: &Home) -> Sessions {
        let text = std::fs::read_to_string(home.sessions()).unwrap_or_default();
        // With a damaged file browsers only have to be given a new link.
        let sessions = serde_json::from_str(&text).unwrap_or_default();
        Sessions { home: home.clone(), codes: Mutex::default(), sessions: Mutex::new(sessions) }
    }

    pub fn is_valid(&self, hash: &str) -> bool {
        self.sessions.lock().expect("no panic while held").iter().any(|session| session.sha256 == hash)
    }

    fn new_code(&self) -> String {
        let code = random_hex();
        let mut codes = self.codes.lock().expect("no panic while held");
        codes.retain(|(_, made)| made.elapsed() < CODE_LIFETIME);
        if codes.len() >= MAX_CODES {
            codes.remove(0);
        }
        codes.push((sha256(code.as_bytes()), Instant::now()));
        code
    }

    /// Whether the code is valid. It is invalid afterwards.
    fn use_code(&self, code: &str) -> bool {
        let hash = sha256(code.as_bytes());
        let mut codes = self.codes.lock().expect("no panic while held");
        codes.retain(|(_, made)| made.elapsed() < CODE_LIFETIME);
        let before = codes.len();
        codes.retain(|(known, _)| *known != hash);
        codes.len() < before
    }

    fn add(&self, token: &str) -> Result<(), Problem> {
        let mut sessions = self.sessions.lock().expect("no panic while held");
        sessions.push(StoredSession { sha256: sha256(token.as_bytes()), at: crate::now() });
        if sessions.len() > MAX_SESSIONS {
            sessions.remove(0);
        }
        let text = serde_json::to_string(&*sessions).expect("plain data");
        let path = self.home.sessions();
        write_private(&path, &text).map_err(|error| self.home.problem(&path, &error))
    }
}

impl Access {
    /// An address that opens bloom with a session, once. The code follows `#`, so browsers do not send it to the server.
    pub fn open_link(&self, caller: &Caller) -> Result<OpenLink, Problem> {
        policy::require_action(caller, Action::OpenPage)?;
        Ok(OpenLink { open_url: format!("{}/#open={}", self.url, self.sessions.new_code()) })
    }

    /// Exchanges a one-time code for a session token.
    pub fn begin_session(&self, code: &str) -> Result<Session, Problem> {
        if !self.sessions.use_code(code) {
            return Err(Problem::new(
                ProblemKind::Unauthorized,
                "that link was used already, or is too old",
                "run `flower up` for a new one",
            ));
        }
        let token = random_hex();
        self.sessions.add(&token)?;
        Ok(Session { token })
    }
}
