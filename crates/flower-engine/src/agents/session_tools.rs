//! flower's tools in a session: an MCP server over standard input and output, or over HTTP, whichever the agent takes.

use super::agent_handle::AgentHandle;
use crate::Agents;
use crate::acp::schema::{EnvVariable, HttpHeader, McpServer, McpServerHttp, McpServerStdio};
use crate::acp::{AUTH_REQUIRED, AcpError};
use crate::profiles::config::Profile;
use crate::profiles::outages::{self, Said};
use flower_core::agent::Step;
use flower_core::{Caller, Command};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How an agent reaches flower's tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    /// The transports to offer, in this order: the one that has worked before, then those that are left. All agents must
    /// take standard input and output, and some refuse it.
    pub(super) fn to_try(known: Option<Transport>, takes_http: bool) -> Vec<Transport> {
        let mut all = vec![Transport::Stdio];
        if takes_http {
            all.push(Transport::Http);
        }
        all.sort_by_key(|transport| known != Some(*transport));
        all
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Stdio => "standard input and output",
            Transport::Http => "HTTP",
        })
    }
}

/// Where flower is, and the token with which the agent calls it.
pub(super) struct FlowerTools {
    pub(super) url: String,
    pub(super) token: String,
}

impl FlowerTools {
    pub(super) fn servers(&self, transport: Option<Transport>) -> Vec<McpServer> {
        let server = match transport {
            None => return Vec::new(),
            Some(Transport::Stdio) => {
                let flower = std::env::current_exe().unwrap_or_else(|_| "flower".into());
                let env = vec![
                    EnvVariable::new("FLOWER_URL", self.url.clone()),
                    EnvVariable::new("FLOWER_TOKEN", self.token.clone()),
                ];
                McpServer::Stdio(McpServerStdio::new("flower", flower).args(vec!["mcp".to_owned()]).env(env))
            }
            Some(Transport::Http) => {
                let token = HttpHeader::new("Authorization", format!("Bearer {}", self.token));
                McpServer::Http(McpServerHttp::new("flower", format!("{}/mcp", self.url)).headers(vec![token]))
            }
        };
        vec![server]
    }
}

/// Whether a refused session may be opened with another server, or with none. A missing login has nothing to do with it, and
/// neither has a model that does not answer for now.
pub(super) fn may_be_the_server(error: &AcpError, profile: &Profile) -> bool {
    let AcpError::Refused { code, message, data, .. } = error else { return false };
    let said = Said::Error { code: *code, message, data };
    *code != AUTH_REQUIRED && outages::recognize(&profile.outages, said, &jiff::Zoned::now()).is_none()
}

impl Agents {
    /// An agent of flower has asked for its tools or has called one, so its session has them.
    pub(crate) fn note_tools_seen(self: &Arc<Self>, caller: &Caller) {
        let handles = self.handles();
        let Some(handle) = handles.into_iter().find(|handle| handle.name == caller.actor.name) else { return };
        // After a prompt that told it the command line.
        if handle.see_tools() == Some(false) {
            handle.transcript.add_note("the agent has asked for flower's tools now");
            let agents = self.clone();
            tokio::spawn(async move { agents.record_connected(&handle).await });
        }
    }

    /// Whether flower has started this agent for work, which is claimed for it.
    pub(crate) fn has_work(&self, caller: &Caller) -> bool {
        self.handles().iter().any(|handle| handle.name == caller.actor.name && handle.work().is_some())
    }

    /// Waits until the agent has asked for flower's tools. Whether it has in time.
    pub(super) async fn wait_for_tools(&self, handle: &AgentHandle, timeout: Duration) -> bool {
        let mut connected = handle.watch_connected();
        let waiting = connected.wait_for(|connected| connected.tools == Some(true));
        matches!(tokio::time::timeout(timeout, waiting).await, Ok(Ok(_)))
    }

    /// Records the model and the tools of the session, if they have changed.
    pub(super) async fn record_connected(&self, handle: &AgentHandle) {
        let connected = handle.connected();
        let step = Step::Connect { model: connected.model, tools: connected.tools };
        if let Err(problem) =
            self.store.execute(&Caller::system(), Command::Agent { number: handle.number, step }).await
        {
            tracing::warn!("agent {}: {}", handle.name, problem.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_worked_is_tried_first() {
        use Transport::{Http, Stdio};
        for (known, takes_http, expected) in [
            (None, false, vec![Stdio]),
            (None, true, vec![Stdio, Http]),
            (Some(Stdio), true, vec![Stdio, Http]),
            (Some(Http), true, vec![Http, Stdio]),
            (Some(Http), false, vec![Stdio]),
        ] {
            assert_eq!(Transport::to_try(known, takes_http), expected, "{known:?}, {takes_http}");
        }
    }

    #[test]
    fn the_token_is_in_the_environment_or_in_a_header() {
        let tools = FlowerTools { url: "http://127.0.0.1:7117".to_owned(), token: "canary".to_owned() };
        let shown = |transport| serde_json::to_value(tools.servers(transport)).unwrap();
        let stdio = shown(Some(Transport::Stdio));
        assert_eq!((&stdio[0]["args"][0], &stdio[0]["env"][1]["value"]), (&"mcp".into(), &"canary".into()), "{stdio}");
        let http = shown(Some(Transport::Http));
        assert_eq!((&http[0]["type"], &http[0]["url"]), (&"http".into(), &"http://127.0.0.1:7117/mcp".into()));
        assert_eq!(http[0]["headers"][0]["value"], "Bearer canary");
        assert_eq!(shown(None), serde_json::json!([]));
    }
}
