//! One ACP session: runs turns with deadlines, and handles the agent's messages, permission requests and context usage.

use super::agent_handle::{AgentHandle, State};
use super::files;
use super::model_choice::Offer;
use super::permissions::{self, Asked, Verdict};
use super::runner::RunState;
use super::spend;
use super::tool_calls::{ToolCalls, content_text};
use super::transcript::new_entry;
use crate::Agents;
use crate::acp::schema::{
    CancelNotification, ContentBlock, ContentChunk, PlanEntryStatus, PromptRequest, PromptResponse,
    RequestPermissionRequest, SessionConfigOption, SessionId, SessionUpdate, StopReason, TextContent,
};
use crate::acp::{AcpError, Connection, Incoming};
use crate::profiles::config::{Profile, Reported};
use crate::profiles::outages::{self, Outage, Said};
use flower_contract::view::{Entry, EntryKind, PlanStep, StepStatus, ToolStatus};
use flower_core::PermissionId;
use serde_json::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const TICK: Duration = Duration::from_millis(500);
/// How often the cost of a running turn is recorded. Each time is an event, so not with every update.
const SPEND_INTERVAL: Duration = Duration::from_secs(20);
/// How long the agent may take to end a cancelled turn, before its process is ended.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);
/// Without a message for this time and without an open tool call, the state of the agent is `quiet`.
pub(super) const QUIET_AFTER: Duration = Duration::from_secs(120);
/// Permission requests that wait while another one is open.
const MAX_QUEUED: usize = 16;
/// Permission requests of one turn that reach a person; further ones are denied.
const MAX_QUESTIONS: u32 = 20;
/// Reports of another model that are recorded in one session. Each is an event.
const MAX_MODEL_CHANGES: u32 = 50;
/// Denials of a turn that the agent is told with its next prompt.
const MAX_DENIALS: usize = 10;
/// Length of the messages of a turn that are kept as a hand-over note.
const MAX_SAID_BYTES: usize = 32 << 10;

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    Ended(StopReason),
    /// The context is full, or the operator has requested a new session.
    Refresh,
    /// The dispatch has ended, or another agent holds its claim.
    LostWork,
    /// The model does not answer for now.
    NoModel(Outage),
}

/// Why a turn is being cancelled.
#[derive(Clone, Debug)]
enum CancelReason {
    FullContext,
    /// The operator has requested a new session.
    Refresh,
    LostWork,
    Timeout(String),
}

/// A permission request that waits for the operator.
struct PendingPermission {
    id: Value,
    number: PermissionId,
    until: Instant,
    asked: Asked,
}

/// An open session, as [`Session::new`] takes it over.
pub(super) struct SessionSpec {
    pub(super) connection: Arc<Connection>,
    pub(super) incoming: mpsc::Receiver<Incoming>,
    pub(super) profile: Profile,
    pub(super) tree: PathBuf,
    pub(super) id: SessionId,
    /// The part of the context after which a new session is started.
    pub(super) refresh_at: f64,
    /// The session continues from a hand-over note.
    pub(super) is_fresh: bool,
    /// What is stored of the run; its cost is that of a resumed session.
    pub(super) state: RunState,
}

pub(super) struct Session {
    agents: Arc<Agents>,
    handle: Arc<AgentHandle>,
    connection: Arc<Connection>,
    incoming: mpsc::Receiver<Incoming>,
    pub(super) profile: Profile,
    tree: PathBuf,
    id: SessionId,
    pub(super) refresh_at: f64,
    /// The messages of the last turn.
    pub(super) said: String,
    /// The last message of the turn: what was said after the last tool call.
    last_said: String,
    /// Its last piece. An error of the model arrives in one piece, also where the agent adds it to a message.
    last_piece: String,
    /// The last turn had a tool call, or said something that is no error of the model.
    did_something: bool,
    /// What was denied by flower itself, with the reason. The agent is told with the next prompt, because ACP has no place for it.
    denials: Vec<String>,
    /// Tool calls of the session. A session without any is not refreshed, because the next one would be as full.
    tool_count: u64,
    /// The session continues from a hand-over note, and has not reported its context usage yet. If it is full at once, another
    /// new session would be too.
    is_fresh: bool,
    cost: SessionCost,
    state: RunState,
    calls: ToolCalls,
    pending: Option<PendingPermission>,
    queued: VecDeque<(Value, Asked)>,
    /// Permission requests of this turn that reached a person.
    asked_count: u32,
    /// How often the session has reported another model.
    model_changes: u32,
}

/// What the session has cost, and how much of it is recorded.
#[derive(Clone, Debug, Default)]
struct SessionCost {
    /// What was recorded of it before it was resumed, until the agent has reported a cost.
    before: Option<f64>,
    total: Option<f64>,
    currency: Option<String>,
    recorded: f64,
    recorded_at: Option<Instant>,
}

impl Session {
    pub(super) fn new(agents: Arc<Agents>, handle: Arc<AgentHandle>, spec: SessionSpec) -> Session {
        let SessionSpec { connection, incoming, profile, tree, id, refresh_at, is_fresh, state } = spec;
        Session {
            agents,
            handle,
            connection,
            incoming,
            profile,
            tree,
            id,
            refresh_at,
            said: String::new(),
            last_said: String::new(),
            last_piece: String::new(),
            did_something: false,
            denials: Vec::new(),
            tool_count: 0,
            is_fresh,
            cost: SessionCost { before: state.cost, ..SessionCost::default() },
            state,
            calls: ToolCalls::default(),
            pending: None,
            queued: VecDeque::new(),
            asked_count: 0,
            model_changes: 0,
        }
    }

    /// Sends a prompt and handles messages until the turn ends.
    pub(super) async fn run_turn(&mut self, text: &str, deadline: Duration) -> Result<TurnEnd, AcpError> {
        self.said.clear();
        self.last_said.clear();
        self.last_piece.clear();
        self.did_something = false;
        self.asked_count = 0;
        self.calls.end_turn();
        let told = self.denials.len();
        let text = &with_denials(text, &self.denials);
        self.handle.transcript.add(new_entry(EntryKind::Prompt, text));
        self.handle.set_state(State::Working, "turn started");
        let (connection, id) = (self.connection.clone(), self.id.clone());
        let request = PromptRequest::new(id, vec![ContentBlock::Text(TextContent::new(text))]);
        // The loop below enforces the deadline; this timeout only guards against mistakes in it.
        let call_timeout = deadline + CANCEL_TIMEOUT * 3;
        let prompting =
            async move { connection.call::<_, PromptResponse>("session/prompt", &request, call_timeout).await };
        tokio::pin!(prompting);
        let started = Instant::now();
        let mut last_tick = Instant::now();
        let mut cancelled: Option<(Instant, CancelReason)> = None;
        loop {
            // Checked by the clock in every iteration: a flood of messages must not keep deadlines from being checked.
            if last_tick.elapsed() >= TICK {
                last_tick = Instant::now();
                let why = match &cancelled {
                    Some((at, _)) if at.elapsed() > CANCEL_TIMEOUT => {
                        return Err(AcpError::Slow("the agent did not stop when it was asked to".to_owned()));
                    }
                    cancelled => self.on_tick(started, deadline, cancelled.is_some()).await,
                };
                if let Some(why) = why {
                    cancelled = Some(self.cancel(why).await?);
                }
            }
            tokio::select! {
                biased;
                answer = &mut prompting => {
                    let end = self.end_turn(answer, cancelled.map(|(_, reason)| reason)).await;
                    // A model that did not answer is told again.
                    if matches!(end, Ok(TurnEnd::Ended(_))) {
                        self.denials.drain(..told);
                    }
                    return end;
                }
                Some(said) = self.incoming.recv() => {
                    self.handle_incoming(said).await;
                    // Only between tool calls, so that none is interrupted.
                    if cancelled.is_none() && self.is_full() && self.calls.open_count() == 0 && self.tool_count > 0 {
                        cancelled = Some(self.cancel(CancelReason::FullContext).await?);
                    }
                }
                () = self.handle.wake.notified() => {
                    self.check_pending().await;
                    if cancelled.is_none() && self.has_lost_work().await {
                        cancelled = Some(self.cancel(CancelReason::LostWork).await?);
                    }
                }
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// Ends a turn after the response to its prompt.
    async fn end_turn(
        &mut self,
        answer: Result<PromptResponse, AcpError>,
        cancelled: Option<CancelReason>,
    ) -> Result<TurnEnd, AcpError> {
        self.drain().await;
        self.handle.transcript.flush_all();
        self.deny_pending("the turn ended").await;
        let tokens = answer.as_ref().ok().and_then(spend::tokens_of_turn);
        self.record_cost(tokens.filter(|_| self.counts(Reported::Tokens))).await;
        if cancelled.is_none()
            && let Some(outage) = self.outage(&answer)
        {
            return Ok(TurnEnd::NoModel(outage));
        }
        let answer = answer?;
        match cancelled {
            Some(CancelReason::FullContext | CancelReason::Refresh) => Ok(TurnEnd::Refresh),
            Some(CancelReason::LostWork) => Ok(TurnEnd::LostWork),
            Some(CancelReason::Timeout(why)) => Err(AcpError::Slow(why)),
            None => Ok(TurnEnd::Ended(answer.stop_reason)),
        }
    }

    /// Whether the end of a turn says that the model does not answer for now.
    fn outage(&mut self, answer: &Result<PromptResponse, AcpError>) -> Option<Outage> {
        let (signs, now) = (&self.profile.outages, jiff::Zoned::now());
        let outage = match answer {
            Err(AcpError::Refused { code, message, data, .. }) => {
                outages::recognize(signs, Said::Error { code: *code, message, data }, &now)
            }
            Err(_) => None,
            Ok(_) => [&self.last_said, &self.last_piece]
                .into_iter()
                .find_map(|text| outages::recognize(signs, Said::Message(text), &now)),
        }?;
        self.did_something |= answer.is_ok() && self.said.trim() != self.last_piece.trim();
        Some(outage)
    }

    /// Whether the last turn had an effect, so that its prompt is not sent again as it was.
    pub(super) fn did_something(&self) -> bool {
        self.did_something
    }

    /// Work that is due by time. Returns why the turn has to be cancelled, if it has to.
    async fn on_tick(&mut self, started: Instant, deadline: Duration, cancelled: bool) -> Option<CancelReason> {
        self.handle.transcript.flush_words();
        self.check_pending().await;
        self.agents.send_heartbeat(&self.handle).await;
        // A turn may take hours and may be interrupted, so its cost so far is recorded.
        let is_due = self.cost.recorded_at.is_none_or(|at| at.elapsed() > SPEND_INTERVAL);
        if is_due && self.cost.total.is_some_and(|cost| cost > self.cost.recorded) {
            self.record_cost(None).await;
        }
        match cancelled {
            true => None,
            false if self.handle.is_refresh_requested() => Some(CancelReason::Refresh),
            false => self.timeout_reason(started, deadline).map(CancelReason::Timeout),
        }
    }

    /// Handles the next message between turns; waits forever if the connection has ended.
    pub(super) async fn handle_next(&mut self) {
        loop {
            tokio::select! {
                said = self.incoming.recv() => match said {
                    Some(said) => return self.handle_incoming(said).await,
                    None => std::future::pending().await,
                },
                () = tokio::time::sleep(TICK), if self.handle.transcript.has_unwritten() => {
                    self.handle.transcript.flush_words();
                }
            }
        }
    }

    async fn drain(&mut self) {
        while let Ok(said) = self.incoming.try_recv() {
            self.handle_incoming(said).await;
        }
    }

    async fn cancel(&mut self, why: CancelReason) -> Result<(Instant, CancelReason), AcpError> {
        let words = match &why {
            CancelReason::FullContext => "the context is full; cancelling the turn".to_owned(),
            CancelReason::Refresh => "a new session was requested; cancelling the turn".to_owned(),
            CancelReason::LostWork => "the agent no longer holds its work; cancelling the turn".to_owned(),
            CancelReason::Timeout(why) => format!("{why}; cancelling the turn"),
        };
        self.handle.transcript.add_note(words);
        self.deny_pending("the turn was cancelled").await;
        self.connection.notify("session/cancel", &CancelNotification::new(self.id.clone())).await?;
        Ok((Instant::now(), why))
    }

    fn is_full(&self) -> bool {
        self.handle.context().is_some_and(|(used, size)| {
            // Context sizes are far below the precision of a float.
            size > 0 && used as f64 >= self.refresh_at * size as f64
        })
    }

    async fn has_lost_work(&self) -> bool {
        self.agents.has_lost_work(&self.handle).await
    }

    /// Why the turn takes too long, in total or without a message.
    fn timeout_reason(&self, started: Instant, deadline: Duration) -> Option<String> {
        if started.elapsed() > deadline {
            return Some(format!("the turn takes longer than {} s", deadline.as_secs()));
        }
        // While a permission is open, the agent waits for the operator.
        if self.pending.is_some() {
            return None;
        }
        let quiet = self.handle.quiet_for();
        if quiet > self.profile.quiet_timeout {
            return Some(format!("no message from the agent for {} s", quiet.as_secs()));
        }
        if quiet > QUIET_AFTER && self.calls.open_count() == 0 {
            self.handle.set_state(State::Quiet, "its process runs, and it sends no message");
        }
        None
    }

    async fn handle_incoming(&mut self, said: Incoming) {
        self.handle.record_activity();
        match said {
            Incoming::Update(update) => self.handle_update(*update),
            Incoming::Unknown(kind) => {
                self.handle.transcript.add(new_entry(EntryKind::Noise, format!("unknown update `{kind}`")));
            }
            Incoming::Noise(line) => {
                let line = flower_core::text::head(&line, 2_000);
                self.handle.transcript.add(new_entry(EntryKind::Noise, line));
            }
            Incoming::Permission(id, request) => self.handle_permission(id, request).await,
            Incoming::Request(id, method, params) => {
                let tree = self.tree.clone();
                let answer = tokio::task::spawn_blocking(move || files::answer(&tree, &method, &params)).await;
                let _ = match answer.unwrap_or_else(|error| Err(error.to_string())) {
                    Ok(answer) => self.connection.respond(&id, &answer).await,
                    Err(why) => self.connection.respond_error(&id, &why).await,
                };
            }
        }
    }

    fn handle_update(&mut self, update: SessionUpdate) {
        let transcript = self.handle.transcript.clone();
        match update {
            SessionUpdate::AgentMessageChunk(ContentChunk { content, .. }) => {
                let text = content_text(&content);
                if self.said.len() < MAX_SAID_BYTES {
                    self.said.push_str(&text);
                }
                if self.last_said.len() < MAX_SAID_BYTES {
                    self.last_said.push_str(&text);
                }
                self.last_piece = flower_core::text::head(&text, MAX_SAID_BYTES);
                transcript.add_piece(EntryKind::Said, &text);
            }
            SessionUpdate::AgentThoughtChunk(ContentChunk { content, .. }) => {
                transcript.add_piece(EntryKind::Thought, &content_text(&content));
            }
            SessionUpdate::ToolCall(call) => {
                self.tool_count += 1;
                self.did_something = true;
                self.last_said.clear();
                self.last_piece.clear();
                self.handle.set_state(State::Working, &format!("tool: {}", flower_core::text::cut(&call.title, 200)));
                let entry = self.calls.start(call);
                self.add_tool_entry(entry);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let entry = self.calls.update(&update);
                self.add_tool_entry(entry);
            }
            SessionUpdate::Plan(plan) => {
                let steps = plan.entries.into_iter().map(|entry| {
                    let status = match entry.status {
                        PlanEntryStatus::Completed => StepStatus::Completed,
                        PlanEntryStatus::InProgress => StepStatus::InProgress,
                        // Including those of a newer protocol.
                        _ => StepStatus::Pending,
                    };
                    PlanStep { text: entry.content, status }
                });
                transcript.add(Entry { steps: steps.collect(), ..new_entry(EntryKind::Plan, "") });
            }
            SessionUpdate::UsageUpdate(usage) => {
                self.handle.set_context(usage.used, usage.size);
                if std::mem::take(&mut self.is_fresh) && self.is_full() {
                    self.refresh_at = f64::INFINITY;
                    transcript.add_note("the context is full from the start, so no new session would help");
                }
                let cost = usage.cost.filter(|_| self.counts(Reported::Cost));
                if let Some(cost) = cost.filter(|cost| cost.amount.is_finite() && cost.amount >= 0.0) {
                    // After a resume some agents go on from what the session had cost, and others begin at zero.
                    if let Some(before) = self.cost.before.take().filter(|before| cost.amount >= *before) {
                        self.cost.recorded = before;
                    }
                    self.cost.total = Some(cost.amount);
                    self.cost.currency = Some(transcript.masked(&cost.currency));
                }
            }
            SessionUpdate::ConfigOptionUpdate(update) => self.note_model(&update.config_options),
            _ => {}
        }
    }

    /// Notes that the session has another model now.
    fn note_model(&mut self, options: &[SessionConfigOption]) {
        let options = serde_json::to_value(options).unwrap_or_default();
        let Some(model) = Offer::of_options(&options).and_then(|offer| offer.current) else { return };
        let model = self.handle.transcript.masked(&model);
        if self.handle.connected().model.as_ref() == Some(&model) || self.model_changes >= MAX_MODEL_CHANGES {
            return;
        }
        self.model_changes += 1;
        self.handle.transcript.add_note(format!("the session reports another model: `{model}`"));
        self.handle.update_connected(|connected| connected.model = Some(model));
        let (agents, handle) = (self.agents.clone(), self.handle.clone());
        tokio::spawn(async move { agents.record_connected(&handle).await });
    }

    /// Whether this figure of the agent is what it seems. What a profile does not name is not counted.
    fn counts(&self, figure: Reported) -> bool {
        self.profile.reports.as_ref().is_none_or(|reports| reports.contains(&figure))
    }

    fn add_tool_entry(&self, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        let is_open = matches!(entry.status, Some(ToolStatus::Pending | ToolStatus::InProgress));
        if is_open && self.pending.is_none() {
            let title = entry.title.as_deref().and_then(|title| title.lines().next()).unwrap_or_default();
            self.handle.set_state(State::Working, &format!("tool: {}", flower_core::text::cut(title, 200)));
        }
        self.handle.transcript.add(entry);
    }

    async fn handle_permission(&mut self, id: Value, request: Box<RequestPermissionRequest>) {
        let asked = Asked { facts: self.calls.facts(&request.tool_call), request };
        let verdict = permissions::judge(self.profile.permissions, &asked, &self.tree);
        match verdict {
            Verdict::Ask if self.asked_count < MAX_QUESTIONS && self.queued.len() < MAX_QUEUED => {
                self.asked_count += 1;
                self.queued.push_back((id, asked));
                self.ask_next_permission().await;
            }
            Verdict::Ask => self.deny_permission(&id, &asked, "because of too many requests").await,
            Verdict::Allow => self.answer_permission(&id, &asked, true, "by the policy").await,
            Verdict::Deny => self.deny_permission(&id, &asked, "by the policy").await,
        }
    }

    async fn answer_permission(&self, id: &Value, asked: &Asked, allow: bool, why: &str) {
        let word = if allow { "allowed" } else { "denied" };
        let text = format!("{word} {why}: {}", asked.title());
        self.handle.transcript.add(new_entry(EntryKind::Permission, text));
        let _ = self.connection.respond(id, &permissions::select_option(&asked.request, allow)).await;
    }

    /// Denies a request without a person. The agent gets the reason with its next prompt.
    async fn deny_permission(&mut self, id: &Value, asked: &Asked, why: &str) {
        self.answer_permission(id, asked, false, why).await;
        if self.denials.len() < MAX_DENIALS {
            let title = flower_core::text::cut(&flower_core::text::visible(&asked.title(), 300), 300);
            self.denials.push(format!("{title}: denied {why}"));
        }
    }

    /// Passes the next queued request to the operator; one is open at a time.
    async fn ask_next_permission(&mut self) {
        while self.pending.is_none()
            && let Some((id, asked)) = self.queued.pop_front()
        {
            let title = asked.title();
            let timeout = self.profile.ask_timeout;
            match self.agents.ask_permission(&self.handle, &asked, timeout.as_secs()).await {
                Ok(number) => {
                    let text = format!("permission {number} requested: {title}");
                    self.handle.transcript.add(new_entry(EntryKind::Permission, text));
                    self.handle
                        .set_state(State::Waiting, &format!("permission {number} waits for a decision: {title}"));
                    self.pending = Some(PendingPermission { id, number, until: Instant::now() + timeout, asked });
                }
                Err(problem) => {
                    let why = format!("because of an error ({})", problem.message);
                    self.deny_permission(&id, &asked, &why).await;
                }
            }
        }
    }

    /// Answers the open request, if it was decided or has timed out.
    async fn check_pending(&mut self) {
        let Some(pending) = &self.pending else { return };
        let decided = self.agents.permission_decision(pending.number).await;
        let is_late = pending.until <= Instant::now();
        if decided.is_none() && is_late {
            let why = "no decision in time".to_owned();
            let _ =
                self.agents.decide_permission(&flower_core::Caller::system(), pending.number, false, Some(why)).await;
        }
        if let Some(allow) = decided.or(is_late.then_some(false))
            && let Some(pending) = self.pending.take()
        {
            if is_late && decided.is_none() {
                self.deny_permission(&pending.id, &pending.asked, "because of no decision in time").await;
            } else {
                self.answer_permission(&pending.id, &pending.asked, allow, "by a person").await;
            }
            self.handle.record_activity();
            self.handle.set_state(State::Working, "permission decided");
            self.ask_next_permission().await;
        }
    }

    /// Denies the open request and all queued ones.
    async fn deny_pending(&mut self, why: &str) {
        let because = format!("because {why}");
        for (id, asked) in self.queued.drain(..).collect::<Vec<_>>() {
            self.answer_permission(&id, &asked, false, &because).await;
        }
        if let Some(pending) = self.pending.take() {
            self.agents.deny_open_permissions(Some(self.handle.number), why).await;
            self.answer_permission(&pending.id, &pending.asked, false, &because).await;
        }
    }

    /// Records tokens and cost since the last time.
    pub(super) async fn record_cost(&mut self, tokens: Option<u64>) {
        let more = self.cost.total.map(|cost| (cost - self.cost.recorded).max(0.0));
        // Millionths of a currency are exact enough for a price.
        let cost = more.filter(|more| *more > 0.0).map(|more| (more * 1e6).round() as u64);
        if let Some(total) = self.cost.total {
            self.cost.recorded = total;
            self.cost.recorded_at = Some(Instant::now());
            self.state.cost = Some(total);
            if let Err(problem) = self.agents.save_run_state(self.handle.number, &self.state) {
                tracing::warn!("agent {}: {}", self.handle.name, problem.message);
            }
        }
        self.agents.record_spending(&self.handle, tokens, cost, self.cost.currency.clone()).await;
    }
}

/// The prompt, and what was denied since the last one.
fn with_denials(text: &str, denials: &[String]) -> String {
    if denials.is_empty() {
        return text.to_owned();
    }
    format!("{text}\n\nWhat you were not allowed to do in the last turn, and why:\n- {}", denials.join("\n- "))
}
