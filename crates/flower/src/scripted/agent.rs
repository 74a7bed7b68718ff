//! The methods of the protocol. Standard input is read while turns run.

use super::memory::Memory;
use super::play::{End, Player};
use super::wire::Wire;
use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::rpc::RequestId;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES, AgentCapabilities, CancelNotification, ContentBlock, EmbeddedResourceResource, Error,
    Implementation, InitializeResponse, LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer,
    NewSessionRequest, NewSessionResponse, PromptRequest, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionId, SessionResumeCapabilities, SetSessionModeRequest, SetSessionModeResponse,
    StopReason,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::{Notify, OwnedMutexGuard, oneshot};

/// How the agent behaves, independent of the script.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Sessions can be loaded and resumed by another process.
    pub resume: bool,
    /// Scripts start from the beginning, and ignore the progress of earlier processes.
    pub forget: bool,
    pub no_usage: bool,
    /// Pause between two steps.
    pub delay: Duration,
    pub refuse_initialize: bool,
    pub never_answer: bool,
    pub auth_required: bool,
    /// Refuses MCP servers over standard input and output, and takes them over HTTP.
    pub no_stdio_mcp: bool,
    /// Takes MCP servers, and never connects to them.
    pub ignore_tools: bool,
    /// Calls tools with numbers as text and with an argument that they do not know.
    pub extra_arguments: bool,
    /// The models that sessions offer; the first is the default.
    pub models: Vec<String>,
    /// Offers them beside `session/set_model` instead of as a config option.
    pub set_model: bool,
    /// Takes the choice of a model, and keeps its default.
    pub keep_model: bool,
    /// Listens on this port of 127.0.0.1, and ends if that is not possible.
    pub bind: Option<u16>,
    /// A permission request has only the id of its call, which was announced before.
    pub bare_permissions: bool,
    /// Sessions can be loaded, not resumed, and their history is sent after the answer.
    pub late_replay: bool,
}

/// Serves one client until it closes standard input.
pub fn run(options: Options) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("the scripted agent cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let listening = match options.bind.map(|port| std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, port))) {
        Some(Err(error)) => {
            eprintln!("the scripted agent cannot listen: {error}");
            return ExitCode::FAILURE;
        }
        Some(Ok(listener)) => Some(listener),
        None => None,
    };
    runtime.block_on(serve(options));
    drop(listening);
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

pub(super) struct Agent {
    pub(super) options: Options,
    pub(super) wire: Wire,
    pub(super) memory: Memory,
    /// Ignores `cancel` and the end of standard input.
    pub(super) ignores_client: AtomicBool,
    requests: Mutex<HashMap<i64, oneshot::Sender<Value>>>,
    next: AtomicI64,
}

impl Agent {
    /// Sends a request to the client, and returns its whole response.
    pub(super) async fn ask<T: Serialize>(&self, method: &str, params: T) -> Option<Value> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.requests.lock().ok()?.insert(id, sender);
        self.wire.ask(id, method, params).await;
        answer.await.ok()
    }

    fn take_response(&self, message: Value) {
        let sender = message["id"].as_i64().and_then(|id| self.requests.lock().ok()?.remove(&id));
        if let Some(sender) = sender {
            let _ = sender.send(message);
        }
    }
}

struct Session {
    player: Arc<tokio::sync::Mutex<Player>>,
    /// Cancels the newest turn.
    cancel: Arc<Notify>,
}

async fn serve(options: Options) {
    let agent = Arc::new(Agent {
        options,
        wire: Wire::start(),
        memory: Memory::new(),
        ignores_client: AtomicBool::new(false),
        requests: Mutex::default(),
        next: AtomicI64::new(1),
    });
    let model = agent.options.models.first().cloned().unwrap_or_default();
    let mut server = Server { agent: agent.clone(), model, sessions: HashMap::new() };
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    while let Ok(1..) = input.read_until(b'\n', &mut line).await {
        if !agent.options.never_answer && !line.trim_ascii().is_empty() {
            server.handle(&line).await;
        }
        line.clear();
    }
    if agent.ignores_client.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
    agent.wire.flush().await;
}

struct Server {
    agent: Arc<Agent>,
    /// The model of all sessions.
    model: String,
    sessions: HashMap<SessionId, Session>,
}

impl Server {
    async fn handle(&mut self, line: &[u8]) {
        let Ok(mut message) = serde_json::from_slice::<Value>(line) else {
            return self.agent.wire.answer(RequestId::Null, Err::<Value, _>(Error::parse_error())).await;
        };
        let params = message["params"].take();
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => match serde_json::from_value(id.clone()) {
                Ok(id) => self.handle_request(id, method, params).await,
                Err(_) => {
                    self.agent.wire.answer(RequestId::Null, Err::<Value, _>(Error::invalid_request())).await;
                }
            },
            (Some(method), None) => self.handle_notification(method, params),
            (None, _) => self.agent.take_response(message),
        }
    }

    async fn handle_request(&mut self, id: RequestId, method: &str, params: Value) {
        let names = &AGENT_METHOD_NAMES;
        let resumes = self.agent.options.resume;
        let answer = match method {
            _ if method == names.initialize => self.initialize().and_then(value),
            _ if method == names.session_new => self.new_session(params).await,
            _ if method == names.session_load && resumes => self.load(params).await.and_then(value),
            _ if method == names.session_resume && resumes => self.resume(params).await.and_then(value),
            _ if method == names.session_set_config_option => self.set_model(&params, "value"),
            _ if method == "session/set_model" => self.set_model(&params, "modelId"),
            _ if method == names.session_set_mode => self.set_mode(params).and_then(value),
            _ if method == names.session_prompt => match self.prompt(id.clone(), params) {
                // The turn sends the response when it ends.
                Ok(()) => return,
                Err(error) => Err(error),
            },
            _ => Err(Error::method_not_found()),
        };
        self.agent.wire.answer(id, answer).await;
    }

    fn handle_notification(&self, method: &str, params: Value) {
        if method != AGENT_METHOD_NAMES.session_cancel || self.agent.ignores_client.load(Ordering::Relaxed) {
            return;
        }
        let Ok(cancel) = serde_json::from_value::<CancelNotification>(params) else { return };
        if let Some(session) = self.sessions.get(&cancel.session_id) {
            session.cancel.notify_one();
        }
    }

    fn initialize(&self) -> Result<InitializeResponse, Error> {
        let options = &self.agent.options;
        if options.refuse_initialize {
            return Err(Error::internal_error().data("started with --refuse-initialize"));
        }
        let resume = (options.resume && !options.late_replay).then(SessionResumeCapabilities::new);
        let capabilities = AgentCapabilities::new()
            .mcp_capabilities(McpCapabilities::new().http(options.no_stdio_mcp))
            .load_session(options.resume)
            .session_capabilities(SessionCapabilities::new().resume(resume));
        let info = Implementation::new("scripted", flower_contract::VERSION);
        Ok(InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(capabilities).agent_info(info))
    }

    async fn new_session(&mut self, params: Value) -> Result<Value, Error> {
        let request: NewSessionRequest = read(params)?;
        if self.agent.options.auth_required {
            return Err(Error::auth_required());
        }
        self.require_servers(&request.mcp_servers)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Error::internal_error().data(error.to_string()))?;
        let id = SessionId::new(random.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let player = self.open(id.clone(), request.cwd, request.mcp_servers);
        player.lock().await.connect().await;
        let mut answer = value(NewSessionResponse::new(id))?;
        self.offer_models(&mut answer);
        Ok(answer)
    }

    fn require_servers(&self, servers: &[McpServer]) -> Result<(), Error> {
        let has_stdio = servers.iter().any(|server| matches!(server, McpServer::Stdio(_)));
        match self.agent.options.no_stdio_mcp && has_stdio {
            true => Err(Error::invalid_params().data("MCP servers are taken over HTTP only")),
            false => Ok(()),
        }
    }

    /// Adds the models to the answer that opens a session.
    fn offer_models(&self, answer: &mut Value) {
        let Options { models, set_model, .. } = &self.agent.options;
        if models.is_empty() {
            return;
        }
        if *set_model {
            let list: Vec<Value> = models.iter().map(|model| json!({ "modelId": model, "name": model })).collect();
            answer["models"] = json!({ "availableModels": list, "currentModelId": self.model });
        } else {
            answer["configOptions"] = self.model_option();
        }
    }

    fn model_option(&self) -> Value {
        let options = self.agent.options.models.iter().map(|model| json!({ "value": model, "name": model }));
        let options: Vec<Value> = options.collect();
        json!([{ "id": "model", "name": "Model", "category": "model", "type": "select",
            "currentValue": self.model, "options": options }])
    }

    fn set_model(&mut self, params: &Value, field: &str) -> Result<Value, Error> {
        let by_option = field == "value";
        let Options { models, set_model, keep_model, .. } = &self.agent.options;
        let wanted = params[field].as_str().unwrap_or_default();
        if models.is_empty() || by_option == *set_model {
            return Err(Error::method_not_found());
        }
        // As Gemini does, `session/set_model` takes any.
        if by_option && !models.iter().any(|model| model == wanted) {
            return Err(Error::invalid_params().data("there is no such model"));
        }
        if !keep_model {
            self.model = wanted.to_owned();
        }
        Ok(if by_option { json!({ "configOptions": self.model_option() }) } else { json!({}) })
    }

    async fn load(&mut self, params: Value) -> Result<LoadSessionResponse, Error> {
        let request: LoadSessionRequest = read(params)?;
        let player = self.reopen(request.session_id, request.cwd, request.mcp_servers).await?;
        // Loading a session replays its messages.
        match self.agent.options.late_replay {
            true => drop(tokio::spawn(async move { player.lock().await.replay_slowly().await })),
            false => player.lock().await.report_progress().await,
        }
        Ok(LoadSessionResponse::new())
    }

    async fn resume(&mut self, params: Value) -> Result<ResumeSessionResponse, Error> {
        let request: ResumeSessionRequest = read(params)?;
        self.reopen(request.session_id, request.cwd, request.mcp_servers).await?;
        Ok(ResumeSessionResponse::new())
    }

    fn set_mode(&self, params: Value) -> Result<SetSessionModeResponse, Error> {
        let request: SetSessionModeRequest = read(params)?;
        self.session(&request.session_id).map(|_| SetSessionModeResponse::new())
    }

    fn prompt(&mut self, id: RequestId, params: Value) -> Result<(), Error> {
        let request: PromptRequest = read(params)?;
        let text = request.prompt.into_iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
        let session = self.session(&request.session_id)?;
        let Ok(player) = session.player.clone().try_lock_owned() else {
            return Err(Error::invalid_request().data("a turn is in progress"));
        };
        let cancel = Arc::new(Notify::new());
        tokio::spawn(run_turn(self.agent.clone(), player, id, text, cancel.clone()));
        if let Some(session) = self.sessions.get_mut(&request.session_id) {
            session.cancel = cancel;
        }
        Ok(())
    }

    fn session(&self, id: &SessionId) -> Result<&Session, Error> {
        self.sessions.get(id).ok_or_else(|| Error::session_not_found(id.clone()))
    }

    async fn reopen(
        &mut self,
        id: SessionId,
        cwd: PathBuf,
        servers: Vec<McpServer>,
    ) -> Result<Arc<tokio::sync::Mutex<Player>>, Error> {
        let known = self.agent.memory.session(&id.0).ok_or_else(|| Error::session_not_found(id.clone()))?;
        self.require_servers(&servers)?;
        let player = self.open(id, cwd, servers);
        let Ok(mut fresh) = player.try_lock() else { return Err(Error::internal_error()) };
        fresh.remember(known);
        fresh.connect().await;
        drop(fresh);
        Ok(player)
    }

    fn open(&mut self, id: SessionId, cwd: PathBuf, servers: Vec<McpServer>) -> Arc<tokio::sync::Mutex<Player>> {
        let server = servers.into_iter().find(is_flower);
        let player = Player::new(self.agent.clone(), id.clone(), cwd, server);
        let player = Arc::new(tokio::sync::Mutex::new(player));
        self.sessions.insert(id, Session { player: player.clone(), cancel: Arc::default() });
        player
    }
}

/// Runs one turn, from the prompt to its response.
async fn run_turn(
    agent: Arc<Agent>,
    mut player: OwnedMutexGuard<Player>,
    id: RequestId,
    text: String,
    cancel: Arc<Notify>,
) {
    let end = tokio::select! {
        biased;
        () = cancel.notified() => End::Turn(StopReason::Cancelled),
        end = player.run_prompt(&id, &text) => end,
    };
    player.fail_open_call().await;
    if let End::Turn(reason) = end {
        let response = player.response(reason);
        drop(player);
        agent.wire.answer(id, Ok(response)).await;
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| Error::invalid_params().data(error.to_string()))
}

fn value<T: Serialize>(answer: T) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

fn text_of(block: ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Text(text) => Some(text.text),
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => Some(text.text),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is the MCP server that scripts call.
fn is_flower(server: &McpServer) -> bool {
    match server {
        McpServer::Stdio(server) => server.name == "flower",
        McpServer::Http(server) => server.name == "flower",
        _ => false,
    }
}
