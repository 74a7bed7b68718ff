//! The MCP backend of `flower mcp`: forwards calls to the daemon over HTTP, as one agent.

use super::{Backend, Changes};
use crate::client::{Address, Client, Events, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::IssueToken;
use flower_contract::view::{EventView, NewToken, ResourceView, StatusView, ToolAnswer};
use flower_core::BriefId;
use flower_core::Role;
use flower_engine::home::{Home, random_hex};
use flower_engine::tools::{changed_resources, tools_of};
use futures_util::stream;
use rmcp::model::{Extensions, JsonObject};
use std::time::Duration;
use tokio::sync::OnceCell;

/// Between two attempts to reach a daemon that is away; doubled after each attempt.
const MIN_RETRY_INTERVAL: Duration = Duration::from_millis(300);
const MAX_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// How long a client waits for its list of tools while the daemon does not answer. Clients give up after some seconds more.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Remote {
    address: Address,
    identity: Identity,
    client: OnceCell<Client>,
}

/// The identity of the agent.
pub enum Identity {
    /// The owner of this token.
    Token(String),
    /// A new worker, whose token is issued at the first call. The operator's token is used for nothing else.
    New(Home),
}

impl Remote {
    pub fn new(address: Address, identity: Identity) -> Remote {
        Remote { address, identity, client: OnceCell::new() }
    }

    async fn client(&self) -> Result<&Client, Problem> {
        self.client.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<Client, Problem> {
        let token = match &self.identity {
            Identity::Token(token) => token.clone(),
            Identity::New(home) => self.issue_token(home).await?,
        };
        Ok(Client::new(self.address.clone(), token).for_agent())
    }

    async fn issue_token(&self, home: &Home) -> Result<String, Problem> {
        if !home.token().exists() {
            let message = format!("no daemon has ever run in {}", home.dir().display());
            return Err(Problem::unreachable(message, "ask the operator to run `flower up`"));
        }
        let operator = Client::new(self.address.clone(), home.require_token()?);
        let agent = format!("agent-{}", &random_hex()[..6]);
        let body = IssueToken { agent, role: Some(Role::Worker), brief: None, worktree: None };
        let issued: NewToken = operator.post("/api/tokens", &body).await?;
        Ok(issued.token)
    }

    /// Tells the daemon that the agent is alive. Does nothing before the first call, when the agent has no identity yet.
    pub async fn send_heartbeat(&self) {
        if let Some(client) = self.client.get()
            && let Err(problem) = client.get::<StatusView>("/api/status").await
        {
            tracing::debug!("heartbeat failed: {}", problem.message);
        }
    }
}

impl Backend for Remote {
    /// Those of a worker if the daemon does not answer, or before the agent has an identity.
    async fn tools(&self, _: &Extensions) -> Result<Vec<String>, Problem> {
        let of_worker = || tools_of(Role::Worker).into_iter().map(str::to_owned).collect();
        if matches!(self.identity, Identity::New(_)) && self.client.get().is_none() {
            return Ok(of_worker());
        }
        let asked = async { self.client().await?.get::<Vec<String>>("/api/tools").await };
        match tokio::time::timeout(LIST_TIMEOUT, asked).await {
            Ok(Ok(tools)) => Ok(tools),
            Ok(Err(problem)) => {
                tracing::debug!("the list of tools is that of a worker: {}", problem.message);
                Ok(of_worker())
            }
            Err(_) => Ok(of_worker()),
        }
    }

    async fn call(&self, _: &Extensions, tool: &str, arguments: JsonObject) -> Result<ToolAnswer, Problem> {
        self.client().await?.post(&format!("/api/tools/{}", escape(tool)), &arguments).await
    }

    async fn read(&self, _: &Extensions, uri: &str) -> Result<String, Problem> {
        let resource: ResourceView = self.client().await?.get(&format!("/api/resources?uri={}", escape(uri))).await?;
        Ok(resource.text)
    }

    async fn changes(&self, _: &Extensions) -> Result<Changes, Problem> {
        let client = self.client().await?.clone();
        let status: StatusView = client.get("/api/status").await?;
        let reader = Reader { client, events: None, after: status.last_event };
        Ok(Box::pin(stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await?;
            Some((changed_resources(&event.stream, event.brief.map(BriefId)).collect(), reader))
        })))
    }
}

/// Follows the live stream across restarts of the daemon.
struct Reader {
    client: Client,
    events: Option<Events>,
    after: u64,
}

impl Reader {
    /// The next event, or none once the token is no longer valid.
    async fn next(&mut self) -> Option<EventView> {
        let mut interval = MIN_RETRY_INTERVAL;
        loop {
            if let Some(events) = &mut self.events {
                if let Some(event) = events.next::<EventView>().await {
                    self.after = event.seq;
                    return Some(event);
                }
                self.events = None;
                tokio::time::sleep(interval).await;
            }
            match self.client.events(&format!("/api/events?after={}", self.after)).await {
                Ok(events) => self.events = Some(events),
                Err(problem) if problem.kind == ProblemKind::Unauthorized => return None,
                Err(_) => tokio::time::sleep(interval).await,
            }
            interval = (interval * 2).min(MAX_RETRY_INTERVAL);
        }
    }
}
