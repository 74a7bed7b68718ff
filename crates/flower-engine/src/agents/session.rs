//! One session with an agent: turns with deadlines, what it says meanwhile, what it asks for, and how full its context is.

use super::agent_handle::{AgentHandle, State};
use super::calls::{Calls, words};
use super::files;
use super::permissions::{self, Verdict};
use super::transcript::new_entry;
use crate::Agents;
use crate::acp::schema::{
    CancelNotification, ContentBlock, ContentChunk, PromptRequest, PromptResponse, RequestPermissionRequest, SessionId,
    SessionUpdate, StopReason, TextContent,
};
use crate::acp::{AcpError, Connection, Incoming};
use crate::profiles::config::Profile;
use flower_contract::view::{Entry, EntryKind};
use serde_json::Value;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const TICK: Duration = Duration::from_millis(500);
/// What a turn costs is recorded as often; an event each, so not at every word.
const ACCOUNT_EVERY: Duration = Duration::from_secs(20);
/// From asking it to end its turn until it is ended.
const CANCEL: Duration = Duration::from_secs(10);
/// Silent for so long without a tool at work, nobody knows what it does.
const UNKNOWN: Duration = Duration::from_secs(120);
/// Questions that wait for their turn.
const MOST_ASKED: usize = 16;
/// In one turn a person is asked no more often than this.
const MOST_QUESTIONS: u32 = 20;
/// Of what is said in a turn that is kept, for a hand-over note.
const MOST_SAID: usize = 32 << 10;

/// How a turn ended.
#[derive(Debug)]
pub(super) enum Turn {
    Ended(StopReason),
    /// Its context is full, or somebody wants a fresh one.
    Full,
    /// Its work was taken from it.
    Unwanted,
}

/// Why a turn is being cancelled.
#[derive(Clone, Debug)]
enum Cancel {
    Full,
    /// Somebody wants a fresh one.
    Refresh,
    Unwanted,
    Slow(String),
}

struct Asked {
    id: Value,
    number: u64,
    until: Instant,
    request: Box<RequestPermissionRequest>,
}

pub(super) struct Session {
    pub(super) app: Arc<Agents>,
    pub(super) running: Arc<AgentHandle>,
    pub(super) connection: Arc<Connection>,
    pub(super) incoming: mpsc::Receiver<Incoming>,
    pub(super) profile: Profile,
    pub(super) tree: PathBuf,
    pub(super) id: SessionId,
    /// Past this part of its context it is refreshed.
    pub(super) refresh_at: f64,
    /// What was said in the last turn.
    pub(super) said: String,
    /// Tools in the whole session: one that has done nothing is not refreshed.
    pub(super) tools: u64,
    /// It goes on for another and has not told yet how full it is. If it is full at once, no fresh one would be less so.
    pub(super) is_fresh: bool,
    pub(super) spent: Spent,
    pub(super) calls: Calls,
    asked: Option<Asked>,
    queue: VecDeque<(Value, Box<RequestPermissionRequest>)>,
    questions: u32,
}

/// What the session has cost, and how much of it is recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Spent {
    pub(super) cost: Option<f64>,
    pub(super) currency: Option<String>,
    pub(super) recorded: f64,
    recorded_at: Option<Instant>,
}

impl Session {
    #[expect(clippy::too_many_arguments, reason = "it is all that a session has")]
    pub(super) fn new(
        app: Arc<Agents>,
        running: Arc<AgentHandle>,
        connection: Arc<Connection>,
        incoming: mpsc::Receiver<Incoming>,
        profile: Profile,
        tree: PathBuf,
        id: SessionId,
        refresh_at: f64,
    ) -> Session {
        Session {
            app,
            running,
            connection,
            incoming,
            profile,
            tree,
            id,
            refresh_at,
            said: String::new(),
            tools: 0,
            is_fresh: false,
            spent: Spent::default(),
            calls: Calls::default(),
            asked: None,
            queue: VecDeque::new(),
            questions: 0,
        }
    }

    /// Says something and stays with it until its turn ends.
    pub(super) async fn turn(&mut self, text: &str, deadline: Duration) -> Result<Turn, AcpError> {
        self.said.clear();
        self.questions = 0;
        self.calls.end_turn();
        self.running.transcript.add(new_entry(EntryKind::Prompt, text));
        self.running.see(State::Working, "its turn has begun");
        let (connection, id) = (self.connection.clone(), self.id.clone());
        let request = PromptRequest::new(id, vec![ContentBlock::Text(TextContent::new(text))]);
        // Deadlines are kept below; this one is for what nobody thought of.
        let most = deadline + CANCEL * 3;
        let prompting = async move { connection.call::<_, PromptResponse>("session/prompt", &request, most).await };
        tokio::pin!(prompting);
        let begun = Instant::now();
        let mut looked = Instant::now();
        let mut cancelled: Option<(Instant, Cancel)> = None;
        loop {
            // By the clock, not in turn: whoever floods keeps nobody from looking at deadlines.
            if looked.elapsed() >= TICK {
                looked = Instant::now();
                let why = match &cancelled {
                    Some((at, _)) if at.elapsed() > CANCEL => {
                        return Err(AcpError::Slow("it did not stop when it was asked to".to_owned()));
                    }
                    cancelled => self.look(begun, deadline, cancelled.is_some()).await,
                };
                if let Some(why) = why {
                    cancelled = Some(self.cancel(why).await?);
                }
            }
            tokio::select! {
                biased;
                answer = &mut prompting => {
                    self.drain().await;
                    self.running.transcript.settle();
                    self.forget_asked("its turn ended").await;
                    let usage = answer.as_ref().ok().and_then(|answer| answer.usage.as_ref());
                    self.account(usage.map(|usage| usage.total_tokens)).await;
                    let answer = answer?;
                    return match cancelled {
                        Some((_, Cancel::Full | Cancel::Refresh)) => Ok(Turn::Full),
                        Some((_, Cancel::Unwanted)) => Ok(Turn::Unwanted),
                        Some((_, Cancel::Slow(why))) => Err(AcpError::Slow(why)),
                        None => Ok(Turn::Ended(answer.stop_reason)),
                    };
                }
                Some(said) = self.incoming.recv() => {
                    self.take(said).await;
                    if cancelled.is_none() && self.is_full() && self.calls.open() == 0 && self.tools > 0 {
                        cancelled = Some(self.cancel(Cancel::Full).await?);
                    }
                }
                () = self.running.wake.notified() => {
                    self.look_at_asked().await;
                    if cancelled.is_none() && self.is_unwanted().await {
                        cancelled = Some(self.cancel(Cancel::Unwanted).await?);
                    }
                }
                () = tokio::time::sleep(TICK) => {}
            }
        }
    }

    /// What the clock brings: whether the turn is to be cancelled, and why.
    async fn look(&mut self, begun: Instant, deadline: Duration, cancelled: bool) -> Option<Cancel> {
        self.running.transcript.tick();
        self.look_at_asked().await;
        self.app.beat_for(&self.running).await;
        // A turn may take hours, and may be cut off; what it has cost by then is known.
        let is_due = self.spent.recorded_at.is_none_or(|at| at.elapsed() > ACCOUNT_EVERY);
        if is_due && self.spent.cost.is_some_and(|cost| cost > self.spent.recorded) {
            self.account(None).await;
        }
        match cancelled {
            true => None,
            false if self.running.refresh_wanted() => Some(Cancel::Refresh),
            false => self.is_slow(begun, deadline).map(Cancel::Slow),
        }
    }

    /// Between turns an agent may still say something.
    pub(super) async fn idle(&mut self) {
        if let Some(said) = self.incoming.recv().await {
            self.take(said).await;
        } else {
            std::future::pending::<()>().await;
        }
    }

    async fn drain(&mut self) {
        while let Ok(said) = self.incoming.try_recv() {
            self.take(said).await;
        }
    }

    async fn cancel(&mut self, why: Cancel) -> Result<(Instant, Cancel), AcpError> {
        let words = match &why {
            Cancel::Full => "its context is full; it is asked to stop".to_owned(),
            Cancel::Refresh => "a fresh one is to go on; it is asked to stop".to_owned(),
            Cancel::Unwanted => "its work was taken from it; it is asked to stop".to_owned(),
            Cancel::Slow(why) => format!("{why}; it is asked to stop"),
        };
        self.running.transcript.flower(words);
        self.forget_asked("its turn is being cancelled").await;
        self.connection.notify("session/cancel", &CancelNotification::new(self.id.clone())).await?;
        Ok((Instant::now(), why))
    }

    fn is_full(&self) -> bool {
        self.running.context().is_some_and(|(used, size)| {
            // Windows of agents are far below what a float can tell apart.
            size > 0 && used as f64 >= self.refresh_at * size as f64
        })
    }

    async fn is_unwanted(&self) -> bool {
        self.app.is_work_gone(&self.running).await
    }

    /// Too long in all, or too long without a word.
    fn is_slow(&self, begun: Instant, deadline: Duration) -> Option<String> {
        if begun.elapsed() > deadline {
            return Some(format!("its turn takes longer than {} s", deadline.as_secs()));
        }
        if self.asked.is_some() {
            return None;
        }
        let quiet = self.running.quiet_for();
        if quiet > self.profile.quiet_timeout {
            return Some(format!("nothing was heard of it for {} s", quiet.as_secs()));
        }
        if quiet > UNKNOWN && self.calls.open() == 0 {
            self.running.see(State::Unknown, "its process runs, and nothing was heard of it");
        }
        None
    }

    async fn take(&mut self, said: Incoming) {
        self.running.heard();
        match said {
            Incoming::Update(update) => self.update(*update),
            Incoming::Unknown(kind) => {
                self.running.transcript.add(new_entry(EntryKind::Noise, format!("an update of the kind `{kind}`")));
            }
            Incoming::Noise(line) => {
                let line = flower_core::text::head(&line, 2_000);
                self.running.transcript.add(new_entry(EntryKind::Noise, line));
            }
            Incoming::Permission(id, request) => self.permission(id, request).await,
            Incoming::Request(id, method, params) => {
                let tree = self.tree.clone();
                let asked = method.clone();
                let answer = tokio::task::spawn_blocking(move || files::answer(&tree, &asked, &params)).await;
                let _ = match answer.unwrap_or_else(|error| Err(error.to_string())) {
                    Ok(answer) => self.connection.respond(&id, &answer).await,
                    Err(why) => self.connection.respond_error(&id, &why).await,
                };
            }
        }
    }

    fn update(&mut self, update: SessionUpdate) {
        let transcript = self.running.transcript.clone();
        match update {
            SessionUpdate::AgentMessageChunk(ContentChunk { content, .. }) => {
                let text = words(&content);
                if self.said.len() < MOST_SAID {
                    self.said.push_str(&text);
                }
                transcript.piece(EntryKind::Said, &text);
            }
            SessionUpdate::AgentThoughtChunk(ContentChunk { content, .. }) => {
                transcript.piece(EntryKind::Thought, &words(&content));
            }
            SessionUpdate::ToolCall(call) => {
                self.tools += 1;
                self.running.see(State::Working, &format!("tool: {}", flower_core::text::cut(&call.title, 200)));
                let entry = self.calls.begin(call);
                self.tool(entry);
            }
            SessionUpdate::ToolCallUpdate(update) => {
                let entry = self.calls.change(&update);
                self.tool(entry);
            }
            SessionUpdate::Plan(plan) => {
                let mark = |status: &Value| match status.as_str() {
                    Some("completed") => "x",
                    Some("in_progress") => "~",
                    _ => " ",
                };
                let lines = plan.entries.iter().map(|entry| {
                    let status = serde_json::to_value(&entry.status).unwrap_or_default();
                    format!("[{}] {}", mark(&status), entry.content)
                });
                transcript.add(new_entry(EntryKind::Plan, lines.collect::<Vec<_>>().join("\n")));
            }
            SessionUpdate::UsageUpdate(usage) => {
                self.running.fills(usage.used, usage.size);
                if std::mem::take(&mut self.is_fresh) && self.is_full() {
                    self.refresh_at = f64::INFINITY;
                    transcript.flower("it is full from the beginning, so no fresh one goes on");
                }
                if let Some(cost) = usage.cost.filter(|cost| cost.amount.is_finite() && cost.amount >= 0.0) {
                    self.spent.cost = Some(cost.amount);
                    self.spent.currency = Some(transcript.masked(&cost.currency));
                }
            }
            _ => {}
        }
    }

    fn tool(&self, entry: Option<Entry>) {
        let Some(entry) = entry else { return };
        if matches!(entry.status.as_deref(), Some("pending" | "in_progress")) && self.asked.is_none() {
            let title = entry.text.lines().next().unwrap_or_default();
            self.running.see(State::Working, &format!("tool: {}", flower_core::text::cut(title, 200)));
        }
        self.running.transcript.add(entry);
    }

    async fn permission(&mut self, id: Value, request: Box<RequestPermissionRequest>) {
        let title = request.tool_call.fields.title.clone().unwrap_or_else(|| "something".to_owned());
        let verdict = permissions::judge(self.profile.permissions, &request, &self.tree);
        match verdict {
            Verdict::Ask if self.questions < MOST_QUESTIONS && self.queue.len() < MOST_ASKED => {
                self.questions += 1;
                self.queue.push_back((id, request));
                self.ask_next().await;
            }
            Verdict::Ask => self.answer(&id, &request, false, &title, "it has asked too often").await,
            Verdict::Allow => self.answer(&id, &request, true, &title, "by the policy").await,
            Verdict::Deny => self.answer(&id, &request, false, &title, "by the policy").await,
        }
    }

    async fn answer(&self, id: &Value, request: &RequestPermissionRequest, allow: bool, title: &str, why: &str) {
        let word = if allow { "allowed" } else { "denied" };
        self.running.transcript.add(new_entry(EntryKind::Permission, format!("{word} {why}: {title}")));
        let _ = self.connection.respond(id, &permissions::choose(request, allow)).await;
    }

    /// One question at a time reaches a person.
    async fn ask_next(&mut self) {
        while self.asked.is_none()
            && let Some((id, request)) = self.queue.pop_front()
        {
            let title = request.tool_call.fields.title.clone().unwrap_or_else(|| "something".to_owned());
            let patience = self.profile.ask_timeout;
            match self.app.ask_permission(&self.running, &request, patience.as_secs()).await {
                Ok(number) => {
                    let text = format!("permission {number}: it asks for {title}");
                    self.running.transcript.add(new_entry(EntryKind::Permission, text));
                    self.running.see(State::Waiting, &format!("permission {number} waits for somebody: {title}"));
                    self.asked = Some(Asked { id, number, until: Instant::now() + patience, request });
                }
                Err(problem) => self.answer(&id, &request, false, &title, &problem.message).await,
            }
        }
    }

    async fn look_at_asked(&mut self) {
        let Some(asked) = &self.asked else { return };
        let decided = self.app.permission_decided(asked.number).await;
        let late = asked.until <= Instant::now();
        if decided.is_none() && late {
            let why = "nobody decided in time".to_owned();
            let _ = self.app.decide_permission(&flower_core::Caller::system(), asked.number, false, Some(why)).await;
        }
        if let Some(allow) = decided.or(late.then_some(false))
            && let Some(asked) = self.asked.take()
        {
            let title = asked.request.tool_call.fields.title.clone().unwrap_or_default();
            let why = if late && decided.is_none() { "because nobody decided in time" } else { "by a person" };
            self.answer(&asked.id, &asked.request, allow, &title, why).await;
            self.running.heard();
            self.running.see(State::Working, "it has its answer");
            self.ask_next().await;
        }
    }

    async fn forget_asked(&mut self, why: &str) {
        for (id, request) in self.queue.drain(..).collect::<Vec<_>>() {
            self.answer(&id, &request, false, "a question", why).await;
        }
        if let Some(asked) = self.asked.take() {
            self.app.drop_permissions(Some(self.running.number), why).await;
            self.answer(&asked.id, &asked.request, false, "a question", why).await;
        }
    }

    /// Records what was used since the last time.
    pub(super) async fn account(&mut self, tokens: Option<u64>) {
        let more = self.spent.cost.map(|cost| (cost - self.spent.recorded).max(0.0));
        // Millionths of a currency are exact enough for a price.
        let cost = more.filter(|more| *more > 0.0).map(|more| (more * 1e6).round() as u64);
        if let Some(cost) = self.spent.cost {
            self.spent.recorded = cost;
            self.spent.recorded_at = Some(Instant::now());
        }
        self.app.record_spending(&self.running, tokens, cost, self.spent.currency.clone()).await;
    }
}
