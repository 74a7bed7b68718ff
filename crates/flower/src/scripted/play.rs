//! Executes scripts: which script a session runs, and what each step does.

use super::agent::Agent;
use super::command::shell;
use super::memory::{Progress, Remembered};
use super::script::{Header, Script};
use super::step::{Line, Step};
use super::tools::Tools;
use agent_client_protocol_schema::rpc::RequestId;
use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ContentChunk, Cost, Diff, McpServer, PermissionOption, PermissionOptionKind, Plan, PlanEntry,
    PlanEntryPriority, PlanEntryStatus, PromptResponse, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, SessionNotification, SessionUpdate, StopReason, ToolCall, ToolCallContent,
    ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, Usage, UsageUpdate,
};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// An agent that ignores everything still ends, so that a failed test leaves no process behind.
const MAX_HANG: Duration = Duration::from_secs(600);
/// Between two requests of `permission-forever`.
const PERMISSION_INTERVAL: Duration = Duration::from_millis(10);
/// Between two pieces of a history.
const REPLAY_INTERVAL: Duration = Duration::from_millis(100);
/// Characters of the first line of a prompt that are repeated.
const MAX_HEARD: usize = 200;

const COMMIT: &str = "git add -A && git commit --quiet --message \"$1\"";
/// Starts a process outside the process group and the session, which tests find by its name and its argument.
const FORK: &str = "(setsid sh -c 'n=0; while [ $n -lt 600 ]; do sleep 1; n=$((n + 1)); done' scripted-fork \"$1\" \
    </dev/null >/dev/null 2>&1 &)";

/// How a turn ends.
pub(super) enum End {
    Turn(StopReason),
    /// The response to the prompt was sent already.
    Answered,
}

/// Executes the scripts of one session.
pub(super) struct Player {
    agent: Arc<Agent>,
    session: SessionId,
    cwd: PathBuf,
    server: Option<McpServer>,
    tools: Option<Tools>,
    header: Header,
    script: Option<Script>,
    next: usize,
    progress: Progress,
    /// The number of tool calls so far, and the one that has not ended.
    calls: u64,
    open: Option<ToolCallId>,
    /// Tokens to report in the response of this turn.
    tokens: Option<u64>,
}

impl Player {
    pub(super) fn new(agent: Arc<Agent>, session: SessionId, cwd: PathBuf, server: Option<McpServer>) -> Player {
        Player {
            agent,
            session,
            cwd,
            server,
            tools: None,
            header: Header::default(),
            script: None,
            next: 0,
            progress: Progress::default(),
            calls: 0,
            open: None,
            tokens: None,
        }
    }

    /// Connects to the tools before the session is open, as most agents do.
    pub(super) async fn connect(&mut self) {
        let Some(server) = self.server.as_ref().filter(|_| !self.agent.options.ignore_tools) else { return };
        match Tools::start(server, &self.cwd).await {
            Ok(tools) => self.tools = Some(tools),
            Err(error) => eprintln!("scripted: {error}"),
        }
    }

    pub(super) fn remember(&mut self, known: Remembered) {
        self.header = known.header;
        self.script = known.script;
        self.next = known.next;
        self.progress = self.header.part().map(|part| self.agent.memory.progress(&part)).unwrap_or_default();
    }

    /// Executes the script of the prompt, until the turn ends.
    pub(super) async fn run_prompt(&mut self, id: &RequestId, prompt: &str) -> End {
        let header = Header::find(prompt);
        let scripts = Script::all(prompt);
        let is_start = header.is_some() || !scripts.is_empty();
        self.header = header.unwrap_or_else(|| self.header.clone());
        if !scripts.is_empty() {
            self.begin(Script::choose(scripts, &self.header));
        } else if prompt.to_lowercase().contains("hand-over note") {
            return self.hand_over().await;
        } else if !is_start {
            let first = prompt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            self.say(format!("heard: {}", first.chars().take(MAX_HEARD).collect::<String>())).await;
        }
        if self.script.is_none() && is_start {
            self.say("there is nothing to play for me".to_owned()).await;
        }
        self.run_steps(id).await
    }

    /// Marks the open tool call of a cancelled turn as failed.
    pub(super) async fn fail_open_call(&mut self) {
        if let Some(call) = self.open.take() {
            self.finish(call, ToolCallStatus::Failed, "cancelled".to_owned()).await;
        }
    }

    pub(super) fn response(&mut self, reason: StopReason) -> PromptResponse {
        let tokens = self.tokens.take();
        let usage = tokens.map(|tokens| Usage::new(tokens, tokens - tokens / 5, tokens / 5));
        PromptResponse::new(reason).usage(usage)
    }

    pub(super) async fn report_progress(&self) {
        self.say(self.progress_text()).await;
    }

    /// The history of a loaded session, in pieces, as some agents send it after their answer.
    pub(super) async fn replay_slowly(&mut self) {
        for step in 0..self.next {
            tokio::time::sleep(REPLAY_INTERVAL).await;
            self.say(format!("replayed step {step} ")).await;
            let call = self.begin_call(ToolCall::new("", "a replayed tool").kind(ToolKind::Read)).await;
            self.finish(call, ToolCallStatus::Completed, String::new()).await;
        }
    }

    fn begin(&mut self, script: Option<Script>) {
        self.next = 0;
        self.progress = Progress::default();
        if let (Some(script), Some(part)) = (&script, self.header.part()) {
            self.progress = self.agent.memory.progress(&part);
            let known = self.progress.next.get(&script.key()).copied();
            self.next = known.filter(|_| !self.agent.options.forget).unwrap_or_default();
        }
        self.script = script;
    }

    async fn hand_over(&self) -> End {
        if self.script.as_ref().is_some_and(|script| script.has("mute-handover")) {
            std::future::pending::<()>().await;
        }
        self.say(format!("Hand-over: {}.", self.progress_text())).await;
        End::Turn(StopReason::EndTurn)
    }

    fn progress_text(&self) -> String {
        format!("{} of {} steps are done", self.next, self.steps())
    }

    fn steps(&self) -> usize {
        self.script.as_ref().map_or(0, |script| script.steps.len())
    }

    async fn run_steps(&mut self, id: &RequestId) -> End {
        loop {
            let Some(line) = self.script.as_ref().and_then(|script| script.steps.get(self.next)).cloned() else {
                return End::Turn(StopReason::EndTurn);
            };
            let at = self.next;
            self.next += 1;
            let Some(parsed) = Line::parse(&line, &self.header) else {
                self.say(format!("unknown step: {line}")).await;
                self.skip_rest();
                return End::Turn(StopReason::EndTurn);
            };
            let again = parsed.once && !self.is_first(at);
            // A started step counts as done, so that a step that kills the process is not repeated.
            self.store_progress();
            for _ in 0..if again { 0 } else { parsed.times } {
                if let Some(end) = self.run_step(id, parsed.step.clone()).await {
                    return end;
                }
            }
            if !self.agent.options.delay.is_zero() {
                tokio::time::sleep(self.agent.options.delay).await;
            }
        }
    }

    fn is_first(&mut self, at: usize) -> bool {
        let key = self.script.as_ref().map(Script::key).unwrap_or_default();
        self.progress.once.insert(format!("{key} {at}"))
    }

    fn skip_rest(&mut self) {
        self.next = self.steps();
        self.store_progress();
    }

    fn store_progress(&mut self) {
        let Some(script) = &self.script else { return };
        self.progress.next.insert(script.key(), self.next);
        if let Some(part) = self.header.part() {
            self.agent.memory.store_progress(&part, &self.progress);
        }
        if self.agent.options.resume {
            let known = Remembered { header: self.header.clone(), script: self.script.clone(), next: self.next };
            self.agent.memory.store_session(&self.session.0, &known);
        }
    }

    /// Executes a step. None if the turn continues.
    async fn run_step(&mut self, id: &RequestId, step: Step) -> Option<End> {
        let wire = &self.agent.wire;
        match step {
            Step::Say(text) => self.say(text).await,
            Step::Think(text) => self.update(SessionUpdate::AgentThoughtChunk(ContentChunk::new(text.into()))).await,
            Step::Plan(entries) => {
                let entry = |text| PlanEntry::new(text, PlanEntryPriority::Medium, PlanEntryStatus::Pending);
                self.update(SessionUpdate::Plan(Plan::new(entries.into_iter().map(entry).collect()))).await;
            }
            Step::Write { path, text, append } => self.write(&path, text, append).await,
            Step::Run { command, must } => {
                if !self.run(&command, &command, "").await && must {
                    self.say(format!("it must succeed: {command}")).await;
                    self.skip_rest();
                    return Some(End::Turn(StopReason::Refusal));
                }
            }
            Step::Commit(message) => {
                self.run(&format!("git commit: {message}"), COMMIT, &message).await;
            }
            Step::Tool { name, arguments } => self.tool(&name, &arguments).await,
            Step::Permission { kind, title, path, forever } => {
                while self.permission(kind, &title, path.as_deref(), forever).await {
                    tokio::time::sleep(PERMISSION_INTERVAL).await;
                }
            }
            Step::PermissionOf(call) => self.permission_of(call).await,
            Step::Refuse(error) => {
                wire.line(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()).await;
                return Some(End::Answered);
            }
            Step::Usage { .. } if self.agent.options.no_usage => {}
            Step::Usage { used, size, cost, tokens } => {
                let cost = cost.map(|amount| Cost::new(amount, "USD"));
                self.tokens = tokens.or(self.tokens);
                self.update(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost))).await;
            }
            Step::Wait => return Some(End::Turn(StopReason::EndTurn)),
            Step::End => {
                self.skip_rest();
                return Some(End::Turn(StopReason::EndTurn));
            }
            Step::Sleep(time) => tokio::time::sleep(time).await,
            Step::Hang => std::future::pending().await,
            Step::HangHard => {
                self.agent.ignores_client.store(true, Ordering::Relaxed);
                // A handler keeps SIGTERM from ending the process.
                let _handler = signal(SignalKind::terminate());
                tokio::time::sleep(MAX_HANG).await;
                std::process::exit(0);
            }
            Step::Exit(code) => {
                wire.flush().await;
                std::process::exit(code);
            }
            Step::Crash => {
                wire.flush().await;
                std::process::abort();
            }
            Step::Flood(count) => {
                for n in 0..count {
                    self.say(format!("{n:.<100}")).await;
                }
            }
            Step::FloodTools(count) => {
                for n in 0..count {
                    let call = self.begin_call(ToolCall::new("", format!("tool {n}")).kind(ToolKind::Read)).await;
                    self.finish(call, ToolCallStatus::Completed, String::new()).await;
                }
            }
            Step::Garbage(count) => {
                for n in 0..count {
                    wire.line(format!("{{ this is not JSON, line {n}")).await;
                }
            }
            Step::LongLine(bytes) => wire.filler(bytes).await,
            Step::Stderr(count) => {
                for n in 0..count {
                    let _ = writeln!(std::io::stderr(), "scripted: line {n}");
                }
            }
            Step::UnknownUpdate => {
                let update = json!({ "sessionUpdate": "from_the_future", "colour": "ultraviolet" });
                let params = json!({ "sessionId": self.session, "update": update });
                wire.notify(CLIENT_METHOD_NAMES.session_update, params).await;
            }
            Step::BadResponse => {
                let result = PromptResponse::new(StopReason::EndTurn);
                let error = json!({ "code": -32603, "message": "both at once" });
                let both = json!({ "jsonrpc": "2.0", "id": id, "result": result, "error": error });
                wire.line(both.to_string()).await;
                return Some(End::Answered);
            }
            Step::EarlyResponse => {
                let unknown = RequestId::Str("unknown-request".to_owned());
                wire.answer(unknown, Ok(PromptResponse::new(StopReason::EndTurn))).await;
            }
            Step::Fork => {
                let place = self.cwd.display().to_string();
                self.run("fork", FORK, &place).await;
            }
            Step::ListTools => {
                let names = self.tools.as_ref().map(|tools| tools.names.join(" ")).unwrap_or_default();
                self.say(format!("tools: {names}")).await;
            }
            Step::Attack(path) => {
                let mut options = std::fs::OpenOptions::new();
                let tried = options.append(true).create(true).open(&path).and_then(|mut file| file.write_all(b"!\n"));
                let became = tried.map_or_else(|error| format!("refused {error}"), |()| "SUCCEEDED".to_owned());
                self.say(format!("attack: {became}: {}", path.display())).await;
            }
            Step::MuteHandover => {}
        }
        None
    }

    async fn write(&mut self, path: &Path, text: String, append: bool) {
        let full = self.cwd.join(path);
        let old = std::fs::read_to_string(&full).ok();
        let new = if append { format!("{}{text}", old.as_deref().unwrap_or_default()) } else { text };
        let diff = ToolCallContent::Diff(Diff::new(&full, new.clone()).old_text(old));
        let verb = if append { "Append to" } else { "Write" };
        let call = ToolCall::new("", format!("{verb} {}", path.display()))
            .kind(ToolKind::Edit)
            .content(vec![diff.clone()])
            .locations(vec![ToolCallLocation::new(&full)]);
        let call = self.begin_call(call).await;
        match write_below(path, &full, &new) {
            Ok(()) => self.finish_with(call, ToolCallStatus::Completed, vec![diff]).await,
            Err(error) => self.finish(call, ToolCallStatus::Failed, error).await,
        }
    }

    /// Whether the command succeeded.
    async fn run(&mut self, title: &str, script: &str, argument: &str) -> bool {
        let call = ToolCall::new("", title).kind(ToolKind::Execute).raw_input(json!({ "command": script }));
        let call = self.begin_call(call).await;
        let (succeeded, output) =
            shell(script, argument, &self.cwd).await.unwrap_or_else(|error| (false, error.to_string()));
        let status = if succeeded { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        self.finish(call, status, output).await;
        succeeded
    }

    async fn tool(&mut self, name: &str, arguments: &Value) {
        let call = ToolCall::new("", format!("flower: {name}"))
            .name(format!("mcp__flower__{name}"))
            .raw_input(arguments.clone());
        let call = self.begin_call(call).await;
        let mut answer = self.call_tool(name, arguments).await;
        // Held back once, as an agent that may have overlooked something: it looks, and means it.
        if name == "hand_back" && answer.as_ref().is_err_and(|text| text.contains("hand back again")) {
            let _ = self.call_tool("check_inbox", &json!({})).await;
            answer = self.call_tool(name, arguments).await;
        }
        match answer {
            Ok(text) => self.finish(call, ToolCallStatus::Completed, text).await,
            Err(text) => {
                self.finish(call, ToolCallStatus::Failed, text.clone()).await;
                self.say(format!("{name}: {text}")).await;
            }
        }
    }

    async fn call_tool(&mut self, name: &str, arguments: &Value) -> Result<String, String> {
        let server = self.server.as_ref().filter(|_| !self.agent.options.ignore_tools);
        let server = server.ok_or("no MCP server `flower` was handed over")?;
        let more = self.agent.options.extra_arguments.then(|| as_other_clients(arguments));
        let arguments = more.as_ref().unwrap_or(arguments);
        if self.tools.is_none() {
            self.tools = Some(Tools::start(server, &self.cwd).await?);
        }
        let Some(tools) = &mut self.tools else { return Err("no tools".to_owned()) };
        let answer = tools.call(name, arguments).await;
        if answer.is_err() {
            self.tools = None;
        }
        answer?
    }

    /// Requests permission, and reports the outcome. Returns whether to ask again.
    async fn permission(&mut self, kind: ToolKind, title: &str, path: Option<&Path>, forever: bool) -> bool {
        let location = path.map(|path| ToolCallLocation::new(self.cwd.join(path)));
        let locations: Vec<ToolCallLocation> = location.into_iter().collect();
        let call = ToolCall::new("", title).kind(kind).locations(locations.clone());
        let call = self.begin_call(call).await;
        let fields = match self.agent.options.bare_permissions {
            true => ToolCallUpdateFields::new(),
            false => ToolCallUpdateFields::new().title(title.to_owned()).kind(kind).locations(locations),
        };
        let outcome = self.ask(ToolCallUpdate::new(call.clone(), fields)).await;
        let status = if outcome == "allowed" { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        self.finish(call, status, String::new()).await;
        if !forever {
            self.say(format!("permission: {outcome}")).await;
        }
        forever
    }

    /// Announces a call of this form, and requests permission for it: with all that it has, or only with its id.
    async fn permission_of(&mut self, mut call: Value) {
        let id = call["toolCallId"].as_str().map_or_else(|| format!("odd-{}", self.calls), str::to_owned);
        self.calls += 1;
        call["toolCallId"] = id.clone().into();
        let bare = self.agent.options.bare_permissions;
        if bare {
            call["sessionUpdate"] = "tool_call".into();
            call["status"] = "pending".into();
            let params = json!({ "sessionId": self.session, "update": call });
            self.agent.wire.notify(CLIENT_METHOD_NAMES.session_update, params).await;
            call = json!({ "toolCallId": id });
        }
        let outcome = match serde_json::from_value(call) {
            Ok(update) => self.ask(update).await,
            Err(_) => "invalid",
        };
        self.finish(ToolCallId::new(id), ToolCallStatus::Completed, String::new()).await;
        self.say(format!("permission: {outcome}")).await;
    }

    /// Sends a permission request. Its first option is to reject.
    async fn ask(&self, update: ToolCallUpdate) -> &'static str {
        let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
        let options = vec![
            option("reject_once", "Reject", PermissionOptionKind::RejectOnce),
            option("allow_once", "Allow", PermissionOptionKind::AllowOnce),
            option("allow_always", "Always allow", PermissionOptionKind::AllowAlways),
        ];
        let request = RequestPermissionRequest::new(self.session.clone(), update, options);
        let answer = self.agent.ask(CLIENT_METHOD_NAMES.session_request_permission, request).await;
        let mut answer = answer.unwrap_or_default();
        match serde_json::from_value::<RequestPermissionResponse>(answer["result"].take()) {
            Ok(response) => match response.outcome {
                RequestPermissionOutcome::Selected(chosen) if chosen.option_id.0.starts_with("allow") => "allowed",
                RequestPermissionOutcome::Cancelled => "cancelled",
                _ => "denied",
            },
            Err(_) => "denied",
        }
    }

    /// Reports a started tool call with a new id.
    async fn begin_call(&mut self, mut call: ToolCall) -> ToolCallId {
        self.calls += 1;
        call.tool_call_id = ToolCallId::new(format!("call-{}", self.calls));
        call.status = ToolCallStatus::InProgress;
        let id = call.tool_call_id.clone();
        self.open = Some(id.clone());
        self.update(SessionUpdate::ToolCall(call)).await;
        id
    }

    async fn finish(&mut self, call: ToolCallId, status: ToolCallStatus, text: String) {
        let content = if text.is_empty() { vec![] } else { vec![text.into()] };
        self.finish_with(call, status, content).await;
    }

    async fn finish_with(&mut self, call: ToolCallId, status: ToolCallStatus, content: Vec<ToolCallContent>) {
        let fields = ToolCallUpdateFields::new().status(status).content(content);
        self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call, fields))).await;
        self.open = None;
    }

    async fn say(&self, text: String) {
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))).await;
    }

    async fn update(&self, update: SessionUpdate) {
        let notification = SessionNotification::new(self.session.clone(), update);
        self.agent.wire.notify(CLIENT_METHOD_NAMES.session_update, notification).await;
    }
}

/// The arguments as some clients send them: numbers and booleans as text, one item instead of a list, and one more.
fn as_other_clients(arguments: &Value) -> Value {
    let mut sent = json!({ "wait_for_previous": false });
    for (name, value) in arguments.as_object().into_iter().flatten() {
        sent[name] = match value {
            Value::Number(_) | Value::Bool(_) => value.to_string().into(),
            Value::Array(items) if items.len() == 1 => items[0].clone(),
            other => other.clone(),
        };
    }
    sent
}

/// Writes a file below the working directory only; the step `attack` writes elsewhere.
fn write_below(path: &Path, full: &Path, text: &str) -> Result<(), String> {
    if !path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("{} is not below the working directory", path.display()));
    }
    let above = full.parent().map_or(Ok(()), std::fs::create_dir_all);
    above.and_then(|()| std::fs::write(full, text)).map_err(|error| error.to_string())
}
