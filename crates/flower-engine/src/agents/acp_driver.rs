//! Driving an agent over ACP: from the first word to the hand-back, and what is said when it stops in between.

use super::agent_handle::{AgentHandle, AgentProcess, State};
use super::launch_spec::LaunchSpec;
use super::process::Process;
use super::prompt;
use super::runner::{ProcessExit, Run};
use super::session::{Session, Turn};
use super::transcript::new_entry;
use crate::Agents;
use crate::acp::schema::{
    AuthenticateRequest, EnvVariable, Implementation, InitializeRequest, InitializeResponse, LoadSessionRequest,
    McpServer, McpServerStdio, NewSessionRequest, NewSessionResponse, ResumeSessionRequest, SessionId, StopReason,
};
use crate::acp::{AcpError, Connection, Incoming};
use crate::profiles::config::Profile;
use agent_client_protocol_schema::ProtocolVersion;
use flower_contract::error::Problem;
use flower_contract::view::EntryKind;
use flower_core::agent::{Author, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, Command, Dispatch, News};
use flower_store::tables;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Agents are large programs on small machines.
const HELLO: Duration = Duration::from_secs(90);
const SESSION: Duration = Duration::from_secs(120);
const SETTING: Duration = Duration::from_secs(30);
const HAND_OVER: Duration = Duration::from_secs(180);
/// Turns that end without a hand-back, in a row.
const MOST_NUDGES: u32 = 3;
/// What of the brief goes with the first word; more comes with `recall_brief`.
const BUDGET: u64 = 8_000;
/// How an agent says that it wants to be logged in.
const LOG_IN: i64 = -32000;
/// Lines of noise before its first turn that are written down.
const MOST_TOLD: usize = 20;
const IDLE_TICK: Duration = Duration::from_secs(20);

/// What comes after a turn.
enum Now {
    Say(String),
    Wait(State, String),
    ProcessExit(ProcessExit),
    Refresh,
}

impl Agents {
    pub(super) async fn run_acp(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        run: Run,
        profile: Profile,
        equipment: LaunchSpec,
    ) -> Result<ProcessExit, Problem> {
        let transcript = running.transcript.clone();
        let LaunchSpec { launcher, command, dir, env, lent, .. } = equipment;
        let keyless = !profile.env.iter().any(|name| self.profiles.keys.has(name));
        let authenticate = lent.as_ref().filter(|_| keyless).and(profile.authenticate.clone());
        self.hold(running.number, lent);
        let started = Process::start(&launcher, &command, &dir, &env, transcript);
        let (process, stdin, stdout) = match started {
            Ok(started) => started,
            Err(error) => return Ok(ProcessExit::Died(format!("its process cannot be started: {error}"))),
        };
        let body = AgentProcess::Piped(Arc::new(process));
        running.set_body(Some(body.clone()));
        let (connection, incoming) = Connection::new(stdout, stdin);
        let connection = Arc::new(connection);
        let talking = self.open_session(running, run, profile, authenticate, dir, connection, incoming);
        match talking.await {
            Ok(over) => over,
            Err(AcpError::Refused { code: LOG_IN, message, .. }) => {
                Ok(ProcessExit::Wait(format!("it wants to be logged in: {message}")))
            }
            Err(AcpError::Ended) => {
                let code = tokio::time::timeout(Duration::from_secs(2), body.ended()).await;
                let how = code.map_or_else(|_| "it closed its output".to_owned(), ended_with);
                Ok(ProcessExit::Died(how))
            }
            Err(error) => Ok(ProcessExit::Died(error.to_string())),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "it is what a conversation takes")]
    async fn open_session(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        mut run: Run,
        profile: Profile,
        authenticate: Option<String>,
        dir: std::path::PathBuf,
        connection: Arc<Connection>,
        mut incoming: mpsc::Receiver<Incoming>,
    ) -> Result<Result<ProcessExit, Problem>, AcpError> {
        let hello = InitializeRequest::new(ProtocolVersion::V1)
            .client_info(Implementation::new("flower", flower_contract::VERSION));
        let slow = profile.turn_timeout;
        let saying = connection.call("initialize", &hello, HELLO.min(slow));
        let met: InitializeResponse = meanwhile(running, &mut incoming, saying).await?;
        if met.protocol_version != ProtocolVersion::V1 {
            let why = format!("it speaks version {} of ACP, and flower version 1", met.protocol_version);
            return Ok(Ok(ProcessExit::Failed(why)));
        }
        if let Some(method) = authenticate {
            let request = AuthenticateRequest::new(method);
            let asking = connection.call::<_, Value>("authenticate", &request, SETTING.min(slow));
            meanwhile(running, &mut incoming, asking).await?;
        }
        let refresh_at = self.profiles.agent_settings(&run.agent.project).await.refresh_at;
        let opening = open(running, &run, &met, &dir, &connection, SESSION.min(slow), self);
        let Opened { id, resumed, settings } = meanwhile(running, &mut incoming, opening).await?;
        if let Err(why) = meanwhile(running, &mut incoming, choose(&connection, &id, &profile, &settings)).await {
            return Ok(Ok(ProcessExit::Failed(why)));
        }
        run.kept.session = Some(id.0.to_string());
        run.kept.refreshes = run.agent.refreshes;
        if let Err(problem) = self.keep(running.number, &run.kept) {
            return Ok(Err(problem));
        }
        while incoming.try_recv().is_ok() {}
        running.heard();
        running.transcript.flower(if resumed { "it is back in its session" } else { "its session begins" });
        let mut session =
            Session::new(self.clone(), running.clone(), connection, incoming, profile, dir, id, refresh_at);
        session.is_fresh = run.agent.refreshes > 0 && !resumed;
        let first = match self.first_words(&run, resumed).await {
            Ok(first) => first,
            Err(problem) => return Ok(Err(problem)),
        };
        self.run_turns(running, &run, &mut session, first).await
    }

    /// From the brief as it stands now, or just a word where it remembers.
    async fn first_words(&self, run: &Run, resumed: bool) -> Result<Option<String>, Problem> {
        let Some(dispatch) = &run.dispatch else {
            // Nothing to say yet, and nothing to pay for.
            return Ok(None);
        };
        if resumed {
            return Ok(Some(prompt::resumed(&run.agent, dispatch)));
        }
        self.words_for(run, dispatch).await.map(Some)
    }

    /// The brief as it stands now, for whoever knows nothing of it yet.
    pub(super) async fn words_for(&self, run: &Run, dispatch: &Dispatch) -> Result<String, Problem> {
        self.messages.heard_all(&run.caller).await?;
        let recalled = self.dispatcher.recall(dispatch.brief, Some(BUDGET), Some(dispatch.number)).await?;
        Ok(prompt::first(&run.agent, dispatch, &recalled.text))
    }

    async fn run_turns(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        run: &Run,
        session: &mut Session,
        first: Option<String>,
    ) -> Result<Result<ProcessExit, Problem>, AcpError> {
        let mut next = first;
        let mut nudges = 0;
        loop {
            if let Some(text) = next.take() {
                let deadline = session.profile.turn_timeout;
                let turn = match session.turn(&text, deadline).await {
                    Err(error) => {
                        session.account(None).await;
                        return Err(error);
                    }
                    Ok(turn) => turn,
                };
                self.after_turn(running, run, &turn).await;
                if matches!(turn, Turn::Full) {
                    return Ok(self.hand_over(running, session).await);
                }
            }
            match self.next_action(running, run, &mut nudges).await {
                Err(problem) => {
                    running.see(State::Waiting, &problem.message);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                Ok(Now::Say(text)) => next = Some(text),
                Ok(Now::ProcessExit(over)) => return Ok(Ok(over)),
                Ok(Now::Refresh) => return Ok(self.hand_over(running, session).await),
                Ok(Now::Wait(state, why)) => {
                    running.see(state, &why);
                    let body = running.body();
                    let ended = async {
                        match &body {
                            Some(body) => body.ended().await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = running.wake.notified() => {}
                        () = session.idle() => {}
                        code = ended => return Ok(Ok(ProcessExit::Died(ended_with(code)))),
                        () = tokio::time::sleep(IDLE_TICK) => self.beat_for(running).await,
                    }
                }
            }
        }
    }

    async fn after_turn(&self, running: &AgentHandle, run: &Run, turn: &Turn) {
        if let Turn::Ended(reason) = turn
            && *reason != StopReason::EndTurn
        {
            let word = serde_json::to_value(reason).ok().and_then(|word| word.as_str().map(str::to_owned));
            running.transcript.flower(format!("its turn ended: {}", word.unwrap_or_default()));
        }
        running.see(State::Idle, "its turn has ended");
        // What was committed is seen by the watch; this is for what it missed.
        let choice = crate::projects::ProjectChoice { name: Some(run.agent.project.clone()), dir: None };
        let _ = self.worktrees.mirror_named(&choice, &run.agent.worktree).await;
    }

    /// Looks at how things stand, not at what was said.
    async fn next_action(self: &Arc<Self>, running: &AgentHandle, run: &Run, nudges: &mut u32) -> Result<Now, Problem> {
        let agent = self.get(running.number).await?;
        if !agent.is_live() {
            return Ok(Now::ProcessExit(ProcessExit::Gone));
        }
        if self.has_other_work(&agent, run).await? {
            return Ok(Now::ProcessExit(ProcessExit::Fresh));
        }
        let dispatch = match &run.dispatch {
            Some(dispatch) => Some(self.dispatcher.get(dispatch.number).await?),
            None => None,
        };
        if let Some(dispatch) = &dispatch {
            let ours = agent.member > 0 || run.caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token));
            if !dispatch.is_open() || !ours || (agent.member == 0 && dispatch.claim.is_none()) {
                if agent.standing
                    && let Some(text) = self.news_for(&run.caller).await?
                {
                    return Ok(Now::Say(prompt::heard(&text)));
                }
                return Ok(self.without_work(&agent, dispatch));
            }
        }
        if running.refresh_wanted() {
            return Ok(Now::Refresh);
        }
        if let Some(text) = self.news_for(&run.caller).await? {
            *nudges = 0;
            return Ok(Now::Say(prompt::heard(&text)));
        }
        let Some(dispatch) = dispatch else { return Ok(Now::Wait(State::Idle, "it has nothing to do".to_owned())) };
        if let Some(question) = self.open_question(dispatch.brief, &agent.name).await? {
            let why = format!("question {question} of brief {} waits for an answer", dispatch.brief);
            return Ok(Now::Wait(State::Waiting, why));
        }
        if agent.member > 0 {
            return Ok(Now::Wait(State::Idle, "its part is done; the lead goes on".to_owned()));
        }
        *nudges += 1;
        if *nudges > MOST_NUDGES {
            let why = format!("it ended its turn {nudges} times without handing back");
            return Ok(Now::ProcessExit(ProcessExit::Failed(why)));
        }
        Ok(Now::Say(prompt::nudge(&dispatch)))
    }

    /// Whether a standing agent got work that this process does not know of.
    pub(super) async fn has_other_work(&self, agent: &Agent, run: &Run) -> Result<bool, Problem> {
        match agent.dispatch {
            Some(number) if run.dispatch.as_ref().is_none_or(|dispatch| dispatch.number != number) => {
                Ok(self.dispatcher.get(number).await?.is_open())
            }
            _ => Ok(false),
        }
    }

    fn without_work(&self, agent: &Agent, dispatch: &Dispatch) -> Now {
        if agent.standing {
            // Its token ends with its work, so it waits for the next with another; what nobody holds it takes up again.
            return match !dispatch.is_open() || dispatch.state == DispatchState::Requested {
                true => Now::ProcessExit(ProcessExit::Fresh),
                false => Now::Wait(State::Idle, format!("dispatch {} is {}", dispatch.number, dispatch.state)),
            };
        }
        let why = match dispatch.state {
            DispatchState::HandedBack | DispatchState::Landed => "its work is handed back".to_owned(),
            state => format!("dispatch {} is {state}", dispatch.number),
        };
        Now::ProcessExit(ProcessExit::Retire(why))
    }

    /// What it should hear of before it goes on, if there is anything.
    async fn news_for(self: &Arc<Self>, caller: &flower_core::Caller) -> Result<Option<String>, Problem> {
        let heard = self.messages.hear(caller, false).await?;
        if heard.messages.is_empty() && !heard.news.iter().any(|event| event.description().news == News::BeforeNextTurn)
        {
            return Ok(None);
        }
        Ok(Some(self.messages.take_inbox(caller).await?))
    }

    async fn open_question(&self, brief: u64, agent: &str) -> Result<Option<u64>, Problem> {
        let name = agent.to_owned();
        let open = self.store.read(move |conn| tables::open_questions_by(conn, brief, &name)).await?;
        Ok(open.first().copied())
    }

    /// Asks for a note, writes one if there is none, and lets a fresh one go on.
    async fn hand_over(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        session: &mut Session,
    ) -> Result<ProcessExit, Problem> {
        running.see(State::Working, "it writes a hand-over note");
        // From here on nothing but the note counts.
        running.clear_refresh();
        session.refresh_at = f64::INFINITY;
        let context = running.context();
        let deadline = HAND_OVER.min(session.profile.turn_timeout);
        let asked = session.turn(prompt::HAND_OVER, deadline).await;
        let said = running.transcript.masked(session.said.trim());
        let (note, author) = match asked {
            Ok(Turn::Ended(StopReason::EndTurn)) if !said.is_empty() => (said, Author::Agent),
            _ => {
                let why = "It left no note in time, so flower wrote this from what it did.";
                (format!("{why}\n\n{}", running.transcript.summary()), Author::Flower)
            }
        };
        let (used, size) = context.unzip();
        let step = Step::Refresh { note, author, used, size };
        self.store.execute(&flower_core::Caller::system(), Command::Agent { number: running.number, step }).await?;
        running.transcript.flower(format!("a fresh one goes on; the note is by {author}"));
        Ok(ProcessExit::Fresh)
    }
}

struct Opened {
    id: SessionId,
    resumed: bool,
    settings: Value,
}

/// Back into its session where it can, else a new one, with flower's tools in it.
async fn open(
    running: &AgentHandle,
    run: &Run,
    met: &InitializeResponse,
    dir: &std::path::Path,
    connection: &Connection,
    deadline: Duration,
    app: &Agents,
) -> Result<Opened, AcpError> {
    let flower = std::env::current_exe().unwrap_or_else(|_| "flower".into());
    let env =
        vec![EnvVariable::new("FLOWER_URL", app.url.clone()), EnvVariable::new("FLOWER_TOKEN", run.kept.token.clone())];
    let tools = vec![McpServer::Stdio(McpServerStdio::new("flower", flower).args(vec!["mcp".to_owned()]).env(env))];
    let before = run.kept.session.clone().filter(|_| {
        // One that died in it again and again may do so because of it.
        run.kept.refreshes == run.agent.refreshes && run.agent.restarts < 2 && run.dispatch.is_some()
    });
    if let Some(before) = before {
        let can_resume = met.agent_capabilities.session_capabilities.resume.is_some();
        let session = before.clone();
        let asked = async {
            if can_resume {
                let request = ResumeSessionRequest::new(session, dir).mcp_servers(tools.clone());
                connection.call::<_, Value>("session/resume", &request, deadline).await
            } else {
                let request = LoadSessionRequest::new(session, dir).mcp_servers(tools.clone());
                connection.call::<_, Value>("session/load", &request, deadline).await
            }
        };
        if can_resume || met.agent_capabilities.load_session {
            running.see(State::Starting, "it goes back into its session");
            match asked.await {
                Ok(settings) => return Ok(Opened { id: before.into(), resumed: true, settings }),
                Err(error @ AcpError::Ended) => return Err(error),
                Err(error) => running.transcript.flower(format!("its session cannot be resumed: {error}")),
            }
        }
    }
    running.see(State::Starting, "its session begins");
    let request = NewSessionRequest::new(dir).mcp_servers(tools);
    let new = connection.call::<_, Value>("session/new", &request, deadline).await?;
    let id = serde_json::from_value::<NewSessionResponse>(new.clone())
        .map_err(|error| AcpError::Unreadable { method: "session/new".into(), why: error.to_string() })?
        .session_id;
    Ok(Opened { id, resumed: false, settings: new })
}

/// Before its first turn: whatever it says is taken from it, or it would wait for us and we for it. A loaded session tells
/// everything again, which is known; the first lines that are no protocol may say what is wrong with it.
async fn meanwhile<T>(
    running: &AgentHandle,
    incoming: &mut mpsc::Receiver<Incoming>,
    asking: impl Future<Output = T>,
) -> T {
    tokio::pin!(asking);
    let mut told = 0;
    loop {
        tokio::select! {
            biased;
            answer = &mut asking => return answer,
            Some(said) = incoming.recv() => {
                if let Incoming::Noise(line) = said
                    && told < MOST_TOLD
                {
                    told += 1;
                    let line = flower_core::text::head(&line, 2_000);
                    running.transcript.add(new_entry(EntryKind::Noise, line));
                }
            }
        }
    }
}

/// The mode and the model of the profile. One that cannot be chosen is said, and no reason not to work, unless the profile must not
/// run on any other model.
async fn choose(connection: &Connection, id: &SessionId, profile: &Profile, settings: &Value) -> Result<(), String> {
    let offered = |list: &Value, id: &str| list.as_array().is_some_and(|all| all.iter().any(|one| one["id"] == id));
    let has_option = |id: &str| offered(&settings["configOptions"], id);
    for (name, wanted) in [("mode", &profile.mode), ("model", &profile.model)] {
        let Some(wanted) = wanted else { continue };
        let chosen = if name == "mode" && offered(&settings["modes"]["availableModes"], wanted) {
            if settings["modes"]["currentModeId"] == wanted.as_str() {
                continue;
            }
            let request = json!({ "sessionId": id, "modeId": wanted });
            connection.call::<_, Value>("session/set_mode", &request, SETTING).await
        } else if has_option(name) {
            let request = json!({ "sessionId": id, "configId": name, "value": wanted });
            connection.call::<_, Value>("session/set_config_option", &request, SETTING).await
        } else {
            continue;
        };
        if let Err(error) = chosen {
            let why = format!("the {name} `{wanted}` of {} cannot be chosen: {error}", profile.name);
            if name == "model" && profile.model_required {
                return Err(why);
            }
            tracing::warn!("{why}");
        }
    }
    Ok(())
}

pub(super) fn ended_with(code: i32) -> String {
    match code {
        127 => "its command was not found inside (exit code 127)".to_owned(),
        125 => "its jail could not be made (exit code 125)".to_owned(),
        123 => "it took too much of the machine (exit code 123)".to_owned(),
        code if code > 128 => format!("its process was ended by signal {}", code - 128),
        code => format!("its process ended with exit code {code}"),
    }
}
