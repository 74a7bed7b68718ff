//! Opens an ACP session: initialize, authenticate, open or resume with flower's tools, choose mode and model.

use super::agent_handle::{AgentHandle, Connected, State};
use super::model_choice::{ChosenModel, choose_model};
use super::runner::RunState;
use super::session_tools::{FlowerTools, Transport, may_be_the_server};
use crate::Agents;
use crate::acp::schema::{
    AgentCapabilities, AuthenticateRequest, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    McpServer, NewSessionRequest, NewSessionResponse, ResumeSessionRequest, SessionId,
};
use crate::acp::{AcpError, Connection};
use crate::profiles::config::Profile;
use agent_client_protocol_schema::ProtocolVersion;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for large programs on small machines.
const INITIALIZE_TIMEOUT: Duration = Duration::from_secs(90);
const SESSION_TIMEOUT: Duration = Duration::from_secs(120);
const SETTING_TIMEOUT: Duration = Duration::from_secs(30);

/// Why no session can be opened.
pub(super) enum OpenError {
    Acp(AcpError),
    /// A restart would not help.
    Failed(String),
}

impl From<AcpError> for OpenError {
    fn from(error: AcpError) -> OpenError {
        OpenError::Acp(error)
    }
}

pub(super) struct OpenedSession {
    pub(super) id: SessionId,
    pub(super) resumed: bool,
    pub(super) settings: Value,
    /// How it reaches flower's tools.
    pub(super) transport: Option<Transport>,
}

/// The session that a process may continue.
pub(super) struct LastSession {
    pub(super) id: String,
    /// How it reached flower's tools.
    pub(super) transport: Option<Transport>,
}

/// A connection to an agent whose session is not open yet.
pub(super) struct Opening<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) profile: &'a Profile,
    pub(super) dir: &'a Path,
    pub(super) tools: FlowerTools,
}

impl Opening<'_> {
    /// Agrees on the protocol, and logs in if the profile names a method.
    pub(super) async fn initialize(&self, authenticate: Option<String>) -> Result<AgentCapabilities, OpenError> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_info(Implementation::new("flower", flower_contract::VERSION));
        let timeout = self.at_most(INITIALIZE_TIMEOUT);
        let initialized: InitializeResponse = self.connection.call("initialize", &request, timeout).await?;
        if initialized.protocol_version != ProtocolVersion::V1 {
            let why = format!("the agent speaks version {} of ACP, and flower version 1", initialized.protocol_version);
            return Err(OpenError::Failed(why));
        }
        if let Some(method) = authenticate {
            let request = AuthenticateRequest::new(method);
            self.connection.call::<_, Value>("authenticate", &request, self.at_most(SETTING_TIMEOUT)).await?;
        }
        Ok(initialized.agent_capabilities)
    }

    /// A turn of an agent in tests may be shorter than these.
    fn at_most(&self, timeout: Duration) -> Duration {
        timeout.min(self.profile.turn_timeout)
    }

    /// Opens a new session with flower's tools over this transport.
    pub(super) async fn open_new(&self, transport: Option<Transport>) -> Result<OpenedSession, AcpError> {
        let request = NewSessionRequest::new(self.dir).mcp_servers(self.tools.servers(transport));
        let settings = self.connection.call::<_, Value>("session/new", &request, self.at_most(SESSION_TIMEOUT)).await?;
        let id = serde_json::from_value::<NewSessionResponse>(settings.clone())
            .map_err(|error| AcpError::Unreadable { method: "session/new".into(), why: error.to_string() })?
            .session_id;
        Ok(OpenedSession { id, resumed: false, settings, transport })
    }

    /// Continues a session of an earlier process, if the agent can. None if it cannot.
    async fn continue_last(
        &self,
        last: LastSession,
        capabilities: &AgentCapabilities,
    ) -> Option<Result<OpenedSession, AcpError>> {
        let tools: Vec<McpServer> = self.tools.servers(last.transport);
        let timeout = self.at_most(SESSION_TIMEOUT);
        let id = SessionId::new(last.id);
        let continued = if capabilities.session_capabilities.resume.is_some() {
            let request = ResumeSessionRequest::new(id.clone(), self.dir).mcp_servers(tools);
            self.connection.call::<_, Value>("session/resume", &request, timeout).await
        } else if capabilities.load_session {
            let request = LoadSessionRequest::new(id.clone(), self.dir).mcp_servers(tools);
            self.connection.call::<_, Value>("session/load", &request, timeout).await
        } else {
            return None;
        };
        let transport = last.transport;
        Some(continued.map(|settings| OpenedSession { id, resumed: true, settings, transport }))
    }

    /// Chooses the mode and the model of the profile. A mode that cannot be chosen is only logged.
    pub(super) async fn choose(&self, session: &OpenedSession) -> Result<ChosenModel, OpenError> {
        self.choose_mode(session).await;
        let timeout = self.at_most(SETTING_TIMEOUT);
        choose_model(self.connection, &session.id, self.profile, &session.settings, timeout).await
    }

    async fn choose_mode(&self, OpenedSession { id, settings, .. }: &OpenedSession) {
        let Some(wanted) = &self.profile.mode else { return };
        let offered = |list: &Value, id: &str| list.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id));
        let timeout = self.at_most(SETTING_TIMEOUT);
        let chosen = if offered(&settings["modes"]["availableModes"], wanted) {
            if settings["modes"]["currentModeId"] == wanted.as_str() {
                return;
            }
            let request = json!({ "sessionId": id, "modeId": wanted });
            self.connection.call::<_, Value>("session/set_mode", &request, timeout).await
        } else if offered(&settings["configOptions"], "mode") {
            let request = json!({ "sessionId": id, "configId": "mode", "value": wanted });
            self.connection.call::<_, Value>("session/set_config_option", &request, timeout).await
        } else {
            return;
        };
        if let Err(error) = chosen {
            tracing::warn!("the mode `{wanted}` of {} cannot be chosen: {error}", self.profile.name);
        }
    }
}

impl Agents {
    /// Continues the last session of the agent if that is possible, else opens a new one. With flower's tools, if the agent
    /// takes them over any transport; `known` is the one that has worked before.
    pub(super) async fn open_session(
        &self,
        handle: &AgentHandle,
        opening: &Opening<'_>,
        capabilities: &AgentCapabilities,
        last: Option<LastSession>,
        known: Option<Transport>,
    ) -> Result<OpenedSession, AcpError> {
        let timeout = opening.profile.tools_timeout;
        handle.set_connected(Connected::default());
        if let Some(last) = last {
            handle.set_state(State::Starting, "resuming the session");
            match opening.continue_last(last, capabilities).await {
                Some(Ok(session)) => {
                    self.note_whether_it_has_tools(handle, timeout).await;
                    return Ok(session);
                }
                Some(Err(error @ AcpError::Ended)) => return Err(error),
                Some(Err(error)) => handle.transcript.add_note(format!("the session cannot be resumed: {error}")),
                None => {}
            }
        }
        handle.set_state(State::Starting, "starting a session");
        // The first session that the agent has opened. It is used if no other one turns out to have the tools.
        let mut first: Option<OpenedSession> = None;
        for transport in Transport::to_try(known, capabilities.mcp_capabilities.http) {
            handle.set_connected(Connected::default());
            match opening.open_new(Some(transport)).await {
                Ok(session) => {
                    if self.wait_for_tools(handle, timeout).await {
                        return Ok(session);
                    }
                    let seconds = timeout.as_secs();
                    let note =
                        format!("the agent has not asked for flower's tools over {transport} within {seconds} s");
                    handle.transcript.add_note(note);
                    first.get_or_insert(session);
                }
                Err(error) if may_be_the_server(&error, opening.profile) => {
                    handle
                        .transcript
                        .add_note(format!("the agent does not take flower's tools over {transport}: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let session = match first {
            Some(session) => session,
            None => opening.open_new(None).await?,
        };
        self.note_missing_tools(handle);
        Ok(session)
    }

    async fn note_whether_it_has_tools(&self, handle: &AgentHandle, timeout: Duration) {
        if !self.wait_for_tools(handle, timeout).await {
            self.note_missing_tools(handle);
        }
    }

    fn note_missing_tools(&self, handle: &AgentHandle) {
        // It may have asked in the meantime.
        handle.update_connected(|connected| {
            connected.tools.get_or_insert(false);
        });
        if handle.connected().tools == Some(false) {
            handle.transcript.add_note("the session has no tools of flower; the prompt tells the command line instead");
        }
    }
}

impl RunState {
    /// The session that the next process may continue.
    pub(super) fn last_session(&self) -> Option<LastSession> {
        self.session.clone().map(|id| LastSession { id, transport: self.transport })
    }
}
