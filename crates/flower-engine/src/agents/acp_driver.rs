//! Drives an agent over ACP: opens a session, sends prompts until the hand-back, and hands over to a new session.

use super::agent_handle::{AgentHandle, AgentProcess, State};
use super::launch_spec::LaunchSpec;
use super::opening::{OpenError, OpenedSession, Opening};
use super::process::Process;
use super::prompt::{self, Way};
use super::runner::{ProcessExit, Run};
use super::session::{Session, SessionSpec, TurnEnd};
use super::session_tools::FlowerTools;
use super::transcript::{Transcript, new_entry};
use crate::Agents;
use crate::acp::schema::StopReason;
use crate::acp::{AUTH_REQUIRED, AcpError, Connection, Incoming};
use crate::dispatch::RecallOptions;
use crate::profiles::config::Profile;
use crate::profiles::outages::{self, Outage, Said};
use flower_contract::error::Problem;
use flower_contract::view::{EntryKind, EventView, HeardView};
use flower_core::agent::{Author, Step};
use flower_core::dispatch::DispatchState;
use flower_core::{Agent, BriefId, Command, Dispatch, DispatchId, News};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(180);
/// Turns in a row that may end without a hand-back.
const MAX_NUDGES: u32 = 3;
/// A turn that ends within this time and without a tool call ended at once.
const BRIEF_TURN: Duration = Duration::from_secs(10);
/// The pause before the reminder after such a turn, because the cause may end by itself.
const NUDGE_PAUSES: [Duration; MAX_NUDGES as usize] =
    [Duration::from_secs(2), Duration::from_secs(8), Duration::from_secs(20)];
/// Tokens of the recall in the first prompt; `recall_brief` has the rest.
const PROMPT_RECALL_TOKENS: u64 = 8_000;
/// Lines of noise before the first turn that the transcript gets.
const MAX_EARLY_NOISE: usize = 20;
/// The history of a resumed session is over after a pause of this length, and after this time in any case.
const REPLAY_PAUSE: Duration = Duration::from_millis(400);
const MAX_REPLAY: Duration = Duration::from_secs(10);
const IDLE_INTERVAL: Duration = Duration::from_secs(20);

/// What to do after a turn.
enum NextAction {
    Prompt(String),
    /// A reminder that the work is not handed back, after so many turns.
    Nudge(String, u32),
    Wait(State, String),
    End(ProcessExit),
    Refresh,
}

impl Agents {
    pub(super) async fn run_acp(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        run: Run,
        profile: Profile,
        launch: LaunchSpec,
    ) -> Result<ProcessExit, Problem> {
        let transcript = handle.transcript.clone();
        let LaunchSpec { launcher, command, dir, env, lent, program, .. } = launch;
        let keyless = !profile.env.iter().any(|name| self.profiles.keys().has(name));
        let authenticate = lent.as_ref().filter(|_| keyless).and(profile.authenticate.clone());
        self.keep_lent(handle.number, lent);
        let started = Process::start(&launcher, &command, &dir, &env, transcript);
        let (process, stdin, stdout) = match started {
            Ok(started) => started,
            Err(error) => return Ok(ProcessExit::Died(format!("the process cannot be started: {error}"))),
        };
        let process = AgentProcess::Piped(Arc::new(process));
        handle.set_process(Some(process.clone()));
        let (connection, incoming) = Connection::new(stdout, stdin);
        let signs = profile.outages.clone();
        let connection = Arc::new(connection);
        let conversation = Conversation { run, profile, program, authenticate, dir, connection, incoming };
        match self.converse(handle, conversation).await {
            Ok(exit) => exit,
            Err(AcpError::Refused { code: AUTH_REQUIRED, message, .. }) => {
                Ok(ProcessExit::Wait(format!("the agent requires a login: {message}")))
            }
            Err(AcpError::Refused { code, message, data, .. })
                if let Some(outage) = outages::recognize(
                    &signs,
                    Said::Error { code, message: &message, data: &data },
                    &jiff::Zoned::now(),
                ) =>
            {
                Ok(ProcessExit::Park(outage))
            }
            Err(AcpError::Ended) => {
                let code = tokio::time::timeout(Duration::from_secs(2), process.ended()).await;
                let how = code.map_or_else(|_| "the agent closed its output".to_owned(), describe_exit);
                Ok(ProcessExit::Died(how))
            }
            Err(error) => Ok(ProcessExit::Died(error.to_string())),
        }
    }

    /// Opens a session and runs turns in it until the process has to end.
    async fn converse(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        conversation: Conversation,
    ) -> Result<Result<ProcessExit, Problem>, AcpError> {
        let Conversation { mut run, profile, program, authenticate, dir, connection, mut incoming } = conversation;
        let tools = FlowerTools { url: self.url.clone(), token: run.state.token.clone() };
        let opening = Opening { connection: &connection, profile: &profile, dir: &dir, tools };
        let opened = async {
            let capabilities = opening.initialize(authenticate).await?;
            // A session in which the process died repeatedly may be the reason, so the second restart opens a new one.
            let can_continue =
                run.state.refreshes == run.agent.refreshes && run.agent.restarts < 2 && run.dispatch.is_some();
            let last = run.state.last_session().filter(|_| can_continue);
            let known = run.state.transport.or_else(|| self.profiles.trial(&profile, &program)?.transport);
            let session = self.open_session(handle, &opening, &capabilities, last, known).await?;
            let chosen = opening.choose(&session).await?;
            Ok((session, chosen))
        };
        let opened: Result<_, OpenError> = drain_while(handle, &mut incoming, opened).await;
        let (session, chosen) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                self.record_failed_trial(&profile, &program, &error);
                return match error {
                    OpenError::Acp(error) => Err(error),
                    OpenError::Failed(why) => Ok(Ok(ProcessExit::Failed(why))),
                };
            }
        };
        self.record_trial(&profile, &program, &session, chosen.model.clone());
        let OpenedSession { id, resumed, transport, .. } = session;
        if let Some(note) = chosen.note {
            handle.transcript.add_note(note);
        }
        let model = chosen.model.map(|model| handle.transcript.masked(&model));
        handle.update_connected(|connected| connected.model.clone_from(&model));
        self.record_connected(handle).await;
        if !resumed {
            // A new session is what a refresh asks for.
            handle.clear_refresh();
            run.state.cost = None;
        }
        run.state.session = Some(id.0.to_string());
        run.state.transport = transport;
        run.state.refreshes = run.agent.refreshes;
        if let Err(problem) = self.save_run_state(handle.number, &run.state) {
            return Ok(Err(problem));
        }
        // A resumed session sends its history again, which the transcript has already; some agents do so after their answer.
        if resumed {
            drop_replay(&mut incoming).await;
        }
        handle.record_activity();
        let began = if resumed { "session resumed" } else { "session started" };
        let with = model.map_or_else(|| "its model is unknown".to_owned(), |model| format!("model `{model}`"));
        handle.transcript.add_note(format!("{began}, {with}"));
        let is_fresh = run.agent.refreshes > 0 && !resumed;
        let refresh_at = self.profiles.agent_settings(&run.agent.project).await.refresh_at;
        let state = run.state.clone();
        let spec = SessionSpec { connection, incoming, profile, tree: dir, id, refresh_at, is_fresh, state };
        let mut session = Session::new(self.clone(), handle.clone(), spec);
        let first = match self.first_prompt(handle, &run, resumed).await {
            Ok(first) => first,
            Err(problem) => return Ok(Err(problem)),
        };
        self.run_turns(handle, &run, &mut session, first).await
    }

    /// The first prompt of this process; short in a resumed session.
    async fn first_prompt(&self, handle: &AgentHandle, run: &Run, resumed: bool) -> Result<Option<String>, Problem> {
        let Some(dispatch) = &run.dispatch else {
            // Without work there is no prompt, so that a waiting agent costs nothing.
            return Ok(None);
        };
        if resumed {
            return Ok(Some(prompt::resumed(&run.agent, dispatch, handle.way())));
        }
        self.brief_prompt(run, dispatch, handle.way()).await.map(Some)
    }

    /// The prompt with the current recall of the brief, for a new session.
    pub(super) async fn brief_prompt(&self, run: &Run, dispatch: &Dispatch, way: Way) -> Result<String, Problem> {
        self.messages.mark_all_read(&run.caller).await?;
        let (budget, calls) = (Some(PROMPT_RECALL_TOKENS), way.calls());
        let options = RecallOptions { budget, dispatch: Some(dispatch.number), calls };
        let recalled = self.dispatcher.recall(dispatch.brief, options).await?;
        Ok(prompt::first(&run.agent, dispatch, way, &recalled.text))
    }

    async fn run_turns(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        run: &Run,
        session: &mut Session,
        first: Option<String>,
    ) -> Result<Result<ProcessExit, Problem>, AcpError> {
        let mut next = first;
        let mut nudges = 0;
        let mut was_brief = false;
        loop {
            if let Some(text) = next.take() {
                self.worktrees.bring_in_before_turn(&run.agent.project, &run.agent.worktree).await;
                let deadline = session.profile.turn_timeout;
                let began = Instant::now();
                let turn = match session.run_turn(&text, deadline).await {
                    Err(error) => {
                        session.record_cost(None).await;
                        return Err(error);
                    }
                    Ok(turn) => turn,
                };
                was_brief = began.elapsed() < BRIEF_TURN && !session.did_something();
                self.after_turn(handle, run, &turn).await;
                match turn {
                    TurnEnd::Refresh => return Ok(self.hand_over(handle, session).await),
                    TurnEnd::NoModel(outage) if self.has_open_work(run).await => {
                        if let Some(exit) = self.park_in_session(handle, session, &outage).await {
                            return Ok(Ok(exit));
                        }
                        if !self.is_called_away(handle).await {
                            next = Some(match session.did_something() {
                                true => prompt::AFTER_OUTAGE.to_owned(),
                                false => text,
                            });
                            continue;
                        }
                    }
                    TurnEnd::NoModel(_) => {}
                    TurnEnd::Ended(_) | TurnEnd::LostWork => handle.clear_waits(),
                }
            }
            match self.next_action(handle, run, &mut nudges).await {
                Err(problem) => {
                    // The store fails, for example because the disk is full: tried again.
                    handle.set_state(State::Waiting, &problem.message);
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                Ok(NextAction::Prompt(text)) => next = Some(text),
                Ok(NextAction::Nudge(text, turns)) if !was_brief => {
                    nudges = turns;
                    next = Some(text);
                }
                Ok(NextAction::Nudge(text, turns)) => {
                    let pause = NUDGE_PAUSES.get(turns.saturating_sub(1) as usize).copied().unwrap_or_default();
                    let why = format!("the turn ended at once; it is reminded of its work in {} s", pause.as_secs());
                    handle.set_state(State::Waiting, &why);
                    match self.pause(handle, run, session, pause).await {
                        Pause::Over => {
                            nudges = turns;
                            next = Some(text);
                        }
                        Pause::CalledAway => {}
                        Pause::Ended(exit) => return Ok(Ok(exit)),
                    }
                }
                Ok(NextAction::End(exit)) => return Ok(Ok(exit)),
                Ok(NextAction::Refresh) => return Ok(self.hand_over(handle, session).await),
                Ok(NextAction::Wait(state, why)) => {
                    handle.set_state(state, &why);
                    tokio::select! {
                        () = handle.wake.notified() => {}
                        () = session.handle_next() => {}
                        code = process_end(handle) => return Ok(Ok(ProcessExit::Died(describe_exit(code)))),
                        () = tokio::time::sleep(IDLE_INTERVAL) => self.send_heartbeat(handle).await,
                    }
                }
            }
        }
    }

    /// Waits in the open session until the model may answer again. Returns how the process ended, if it did.
    async fn park_in_session(
        &self,
        handle: &AgentHandle,
        session: &mut Session,
        outage: &Outage,
    ) -> Option<ProcessExit> {
        let until = self.begin_wait(handle, outage);
        loop {
            tokio::select! {
                () = self.wait_parked(handle, until) => return None,
                () = session.handle_next() => {}
                // Such an end follows from the outage, so it is no death.
                _ = process_end(handle) => {
                    self.wait_parked(handle, until).await;
                    return Some(ProcessExit::StartNext);
                }
            }
        }
    }

    /// Waits, unless there is something else to do.
    async fn pause(&self, handle: &AgentHandle, run: &Run, session: &mut Session, time: Duration) -> Pause {
        let end = tokio::time::Instant::now() + time;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return Pause::Over,
                () = session.handle_next() => {}
                () = handle.wake.notified() => {
                    let news = self.messages.unread(&run.caller, false).await;
                    if news.is_ok_and(|unread| has_news(&unread)) || self.is_called_away(handle).await {
                        return Pause::CalledAway;
                    }
                }
                code = process_end(handle) => return Pause::Ended(ProcessExit::Died(describe_exit(code))),
            }
        }
    }

    async fn has_open_work(&self, run: &Run) -> bool {
        match &run.dispatch {
            Some(dispatch) => self.dispatcher.get(dispatch.number).await.is_ok_and(|dispatch| dispatch.is_open()),
            None => true,
        }
    }

    async fn after_turn(&self, handle: &AgentHandle, run: &Run, turn: &TurnEnd) {
        if let TurnEnd::Ended(reason) = turn
            && *reason != StopReason::EndTurn
        {
            let word = serde_json::to_value(reason).ok().and_then(|word| word.as_str().map(str::to_owned));
            handle.transcript.add_note(format!("turn ended: {}", word.unwrap_or_default()));
        }
        handle.set_state(State::Idle, "turn ended");
        // The watch of the worktree notices commits; this mirrors those that it missed.
        let choice = crate::projects::ProjectChoice { name: Some(run.agent.project.clone()), dir: None };
        let _ = self.worktrees.mirror_named(&choice, &run.agent.worktree).await;
    }

    /// Decides by the recorded state, not by what the agent has said.
    async fn next_action(
        self: &Arc<Self>,
        handle: &AgentHandle,
        run: &Run,
        nudges: &mut u32,
    ) -> Result<NextAction, Problem> {
        let agent = self.get(handle.number).await?;
        if !agent.is_live() {
            return Ok(NextAction::End(ProcessExit::AlreadyEnded));
        }
        if self.has_other_work(&agent, run.dispatch.as_ref().map(|dispatch| dispatch.number)).await? {
            return Ok(NextAction::End(ProcessExit::StartNext));
        }
        let dispatch = match &run.dispatch {
            Some(dispatch) => Some(self.dispatcher.get(dispatch.number).await?),
            None => None,
        };
        if let Some(dispatch) = &dispatch {
            let is_ours =
                agent.member > 0 || run.caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token));
            if !dispatch.is_open() || !is_ours || (agent.member == 0 && dispatch.claim.is_none()) {
                if agent.standing
                    && let Some(text) = self.take_news(&run.caller).await?
                {
                    return Ok(NextAction::Prompt(prompt::inbox(&text)));
                }
                return Ok(self.after_work(&agent, dispatch));
            }
        }
        if handle.is_refresh_requested() {
            return Ok(NextAction::Refresh);
        }
        // Read before the news: an answer that comes in between is among the news then.
        let question = match &dispatch {
            Some(dispatch) => self.open_question(dispatch.brief, &agent.name).await?,
            None => None,
        };
        if let Some(text) = self.take_news(&run.caller).await? {
            *nudges = 0;
            return Ok(NextAction::Prompt(prompt::inbox(&text)));
        }
        let Some(dispatch) = dispatch else { return Ok(NextAction::Wait(State::Idle, "nothing to do".to_owned())) };
        if let Some(question) = question {
            let why = format!("question {question} of brief {} waits for an answer", dispatch.brief);
            return Ok(NextAction::Wait(State::Waiting, why));
        }
        if agent.member > 0 {
            return Ok(NextAction::Wait(State::Idle, "its part is done; waiting for the lead".to_owned()));
        }
        let turns = *nudges + 1;
        if turns > MAX_NUDGES {
            let why = format!("the turn ended {turns} times without handing back");
            return Ok(NextAction::End(ProcessExit::Failed(why)));
        }
        Ok(NextAction::Nudge(prompt::nudge(&dispatch, handle.way()), turns))
    }

    /// Whether a standing agent was assigned another dispatch since this process was started.
    pub(super) async fn has_other_work(&self, agent: &Agent, works_on: Option<DispatchId>) -> Result<bool, Problem> {
        match agent.dispatch {
            Some(number) if works_on != Some(number) => Ok(self.dispatcher.get(number).await?.is_open()),
            _ => Ok(false),
        }
    }

    /// What an agent does whose dispatch has ended or belongs to another agent.
    fn after_work(&self, agent: &Agent, dispatch: &Dispatch) -> NextAction {
        if agent.standing {
            // The token of a run ends with its dispatch, so the agent needs a new process with a new token. It also starts one
            // to claim its dispatch again after the claim has expired.
            return match !dispatch.is_open() || dispatch.state == DispatchState::Requested {
                true => NextAction::End(ProcessExit::StartNext),
                false => NextAction::Wait(State::Idle, format!("dispatch {} is {}", dispatch.number, dispatch.state)),
            };
        }
        let why = match dispatch.state {
            DispatchState::HandedBack | DispatchState::Landed => "the work is handed back".to_owned(),
            state => format!("dispatch {} is {state}", dispatch.number),
        };
        NextAction::End(ProcessExit::Retire(why))
    }

    /// New messages and events that the agent has to know before it continues. They count as read afterwards.
    async fn take_news(self: &Arc<Self>, caller: &flower_core::Caller) -> Result<Option<String>, Problem> {
        let unread = self.messages.unread(caller, false).await?;
        if !has_news(&unread) {
            return Ok(None);
        }
        Ok(Some(self.messages.take_inbox(caller).await?))
    }

    async fn open_question(&self, brief: BriefId, agent: &str) -> Result<Option<u64>, Problem> {
        let name = agent.to_owned();
        let open = self.store.read(move |conn| flower_store::questions::open_by(conn, brief, &name)).await?;
        Ok(open.first().copied())
    }

    /// Ends the session with a hand-over note: the agent's own, or a summary of the transcript. A new session continues.
    async fn hand_over(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        session: &mut Session,
    ) -> Result<ProcessExit, Problem> {
        handle.set_state(State::Working, "writing a hand-over note");
        // The turn of the note must not be cancelled for a refresh.
        handle.clear_refresh();
        session.refresh_at = f64::INFINITY;
        let context = handle.context();
        let deadline = HAND_OVER_TIMEOUT.min(session.profile.turn_timeout);
        let asked = session.run_turn(prompt::HAND_OVER, deadline).await;
        let said = handle.transcript.masked(session.said.trim());
        let (note, author) = match asked {
            Ok(TurnEnd::Ended(StopReason::EndTurn)) if !said.is_empty() => (said, Author::Agent),
            _ => {
                let why = "The agent left no note in time, so flower wrote this from its transcript.";
                (format!("{why}\n\n{}", handle.transcript.summary()), Author::Flower)
            }
        };
        let (used, size) = context.unzip();
        let step = Step::Refresh { note, author, used, size };
        self.store.execute(&flower_core::Caller::system(), Command::Agent { number: handle.number, step }).await?;
        handle.transcript.add_note(format!("a new session continues; the hand-over note is by {author}"));
        Ok(ProcessExit::StartNext)
    }
}

/// How a pause between two turns ended.
enum Pause {
    Over,
    /// There is something to do, or to tell the agent.
    CalledAway,
    Ended(ProcessExit),
}

fn has_news(unread: &HeardView) -> bool {
    let is_urgent = |event: &EventView| event.description().news == News::BeforeNextTurn;
    !unread.messages.is_empty() || unread.news.iter().any(is_urgent)
}

/// Waits for the end of the agent's process, and returns its exit code.
async fn process_end(handle: &AgentHandle) -> i32 {
    match handle.process() {
        Some(process) => process.ended().await,
        None => std::future::pending().await,
    }
}

/// A started process of an agent, before its session is open.
struct Conversation {
    run: Run,
    profile: Profile,
    /// Its program, as trials name it.
    program: String,
    /// The ACP authentication method to use first.
    authenticate: Option<String>,
    dir: PathBuf,
    connection: Arc<Connection>,
    incoming: mpsc::Receiver<Incoming>,
}

/// Waits for a call before the first turn, and drops the messages that arrive meanwhile; with a full channel the agent would
/// block. The first lines that are no ACP go to the transcript, because they may explain a failure.
async fn drain_while<T>(
    handle: &AgentHandle,
    incoming: &mut mpsc::Receiver<Incoming>,
    call: impl Future<Output = T>,
) -> T {
    drain_early(&handle.transcript, incoming, call).await
}

/// The same, for an agent that is only tried.
pub(super) async fn drain_early<T>(
    transcript: &Transcript,
    incoming: &mut mpsc::Receiver<Incoming>,
    call: impl Future<Output = T>,
) -> T {
    tokio::pin!(call);
    let mut noise = 0;
    loop {
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            Some(message) = incoming.recv() => {
                if let Incoming::Noise(line) = message
                    && noise < MAX_EARLY_NOISE
                {
                    noise += 1;
                    let line = flower_core::text::head(&line, 2_000);
                    transcript.add(new_entry(EntryKind::Noise, line));
                }
            }
        }
    }
}

/// Drops what a resumed session sends before its first prompt: until the agent is quiet, or for a limited time.
async fn drop_replay(incoming: &mut mpsc::Receiver<Incoming>) {
    let quiet = async { while let Ok(Some(_)) = tokio::time::timeout(REPLAY_PAUSE, incoming.recv()).await {} };
    let _ = tokio::time::timeout(MAX_REPLAY, quiet).await;
}

pub(super) fn describe_exit(code: i32) -> String {
    match code {
        127 => "the command was not found in the jail (exit code 127)".to_owned(),
        125 => "the jail could not be created (exit code 125)".to_owned(),
        123 => "a resource limit was exceeded (exit code 123)".to_owned(),
        code if code > 128 => format!("the process was ended by signal {}", code - 128),
        code => format!("the process ended with exit code {code}"),
    }
}
