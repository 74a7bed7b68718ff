//! Runs an agent in a terminal. It can be any command: it gets its prompt in a file or an argument, and hands back with the
//! `flower` command or by exiting with code 0.

use super::acp_driver::describe_exit;
use super::agent_handle::{AgentHandle, AgentProcess, Connected, State};
use super::guarded_file::GuardedFile;
use super::launch_spec::LaunchSpec;
use super::prompt::{self, Way};
use super::runner::{ProcessExit, Run, RunState};
use super::session::QUIET_AFTER;
use super::transcript::{Transcript, new_entry};
use crate::Agents;
use crate::dispatch::HandBackRequest;
use crate::profiles::config::Profile;
use crate::profiles::outages::{self, Said};
use crate::profiles::user_home;
use crate::terminal::{Output, PlainLines, Size, Terminal, TerminalSpec};
use flower_contract::error::Problem;
use flower_contract::view::EntryKind;
use flower_core::agent::{Author, Step};
use flower_core::{ActorType, Caller, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

const TICK: Duration = Duration::from_secs(1);
/// Without output for this time, an agent without work is shown as idle.
const IDLE_AFTER: Duration = Duration::from_secs(20);
/// A program that still prints after this time is answered by its model.
const WORKED_AFTER: Duration = Duration::from_secs(60);
/// Messages are typed after a pause of this length in the output.
const TYPE_AFTER: Duration = Duration::from_secs(2);
const SIZE: Size = Size { columns: 120, rows: 40 };
/// Lines of output are written to the transcript together when so much time has passed or so many bytes have come. An unfinished
/// line waits twice as long for its end.
const LINES_INTERVAL: Duration = Duration::from_millis(400);
const LINES_BYTES: usize = 8 << 10;
/// How long the last lines of an ended program are waited for.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(2);
/// Length of the last output in notes and summaries.
const LAST_OUTPUT_BYTES: u64 = 2 << 10;

impl Agents {
    pub(super) async fn run_in_pty(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        mut run: Run,
        profile: Profile,
        launch: LaunchSpec,
    ) -> Result<ProcessExit, Problem> {
        let folder = self.home.agent(handle.number);
        let text = match &run.dispatch {
            Some(dispatch) => self.brief_prompt(&run, dispatch, Way::Terminal).await?,
            None => prompt::greeting(&run.agent),
        };
        let text = match run.state.refused.take() {
            Some(why) => {
                self.save_run_state(handle.number, &run.state)?;
                prompt::after_refusal(&why, &text)
            }
            None => text,
        };
        // FLOWER_HOME is not visible in the jail, so the prompt is written to the home there.
        let below = PathBuf::from(format!(".flower/prompt-{}.md", handle.number));
        let file = user_home().join(&below);
        let written = GuardedFile::create(&launch.home, &below).and_then(|folder| folder.write(text.as_bytes()));
        written.map_err(|error| self.home.problem(&launch.home.join(&below), &error))?;
        let command: Vec<OsString> = launch
            .command
            .iter()
            .map(|word| match word.to_str() {
                Some("{prompt}") => text.clone().into(),
                Some("{prompt_file}") => file.clone().into_os_string(),
                _ => word.clone(),
            })
            .collect();
        self.keep_lent(handle.number, launch.lent);
        let mask = launch.mask.clone();
        let spec = TerminalSpec {
            launcher: &launch.launcher,
            command: &command,
            dir: &launch.dir,
            env: &launch.env,
            size: SIZE,
            scrollback: &folder.join("terminal"),
            mask: Arc::new(move |bytes: &[u8]| mask.bytes(bytes).into_owned()),
        };
        let terminal = match Terminal::start(spec) {
            Ok(terminal) => terminal,
            Err(error) => return Ok(ProcessExit::Died(format!("the terminal cannot be created: {error}"))),
        };
        handle.set_process(Some(AgentProcess::InTerminal(terminal.clone())));
        self.terminals.insert(handle.name.clone(), terminal.clone());
        handle.transcript.add_note(format!("terminal open: `flower agent attach {}`", handle.name));
        handle.set_state(State::Working, "process running");
        // Nothing reports its model from a terminal.
        handle.set_connected(Connected { model: profile.model.clone(), tools: None });
        self.record_connected(handle).await;
        // What it prints is in the transcript too, so that it can be read without a terminal, and after it has ended.
        let printed = terminal.output(terminal.began());
        let mut recording = tokio::spawn(record_output(printed, handle.transcript.clone()));
        self.supervise_pty(handle, &run, &profile, &terminal, &mut recording).await
    }

    async fn supervise_pty(
        self: &Arc<Self>,
        handle: &Arc<AgentHandle>,
        run: &Run,
        profile: &Profile,
        terminal: &Arc<Terminal>,
        recording: &mut JoinHandle<()>,
    ) -> Result<ProcessExit, Problem> {
        let started = Instant::now();
        loop {
            tokio::select! {
                code = terminal.ended() => {
                    let _ = tokio::time::timeout(LAST_LINES_TIMEOUT, recording).await;
                    return self.after_exit(handle, run, profile, terminal, code).await;
                }
                () = handle.wake.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
            self.send_heartbeat(handle).await;
            let quiet = terminal.quiet_for();
            match quiet {
                quiet if quiet < TICK * 2 => {
                    if started.elapsed() > WORKED_AFTER {
                        handle.clear_waits();
                    }
                    handle.record_activity();
                    handle.set_state(State::Working, "producing output");
                }
                quiet if quiet > QUIET_AFTER && handle.work().is_some() => {
                    handle.set_state(State::Quiet, "its process runs, and it prints nothing");
                }
                quiet if quiet > IDLE_AFTER && handle.work().is_none() => {
                    handle.set_state(State::Idle, "no output for a while");
                }
                _ => {}
            }
            let agent = self.get(handle.number).await?;
            if !agent.is_live() {
                return Ok(ProcessExit::AlreadyEnded);
            }
            if self.has_other_work(&agent, run.dispatch.as_ref().map(|dispatch| dispatch.number)).await? {
                return Ok(ProcessExit::StartNext);
            }
            if self.has_work_ended(handle).await {
                return Ok(match agent.standing {
                    true => ProcessExit::StartNext,
                    false => ProcessExit::Retire("the work has ended".to_owned()),
                });
            }
            if handle.is_refresh_requested() {
                return self.refresh_pty(handle, terminal).await;
            }
            if handle.work().is_some() && started.elapsed() > profile.turn_timeout {
                return Ok(ProcessExit::Died(format!(
                    "the work takes longer than {} s",
                    profile.turn_timeout.as_secs()
                )));
            }
            if quiet > TYPE_AFTER {
                self.type_messages(run, terminal).await?;
            }
        }
    }

    /// Whether the work was handed back, or another agent has it.
    async fn has_work_ended(&self, handle: &AgentHandle) -> bool {
        let Some(work) = handle.work() else { return false };
        match self.dispatcher.get(work.dispatch).await {
            Ok(dispatch) => !dispatch.is_open() || self.has_lost_work(handle).await,
            Err(_) => false,
        }
    }

    /// Types new messages into the terminal.
    async fn type_messages(&self, run: &Run, terminal: &Terminal) -> Result<(), Problem> {
        let unread = self.messages.unread(&run.caller, false).await?;
        if unread.messages.is_empty() {
            return Ok(());
        }
        for message in self.messages.unread(&run.caller, true).await?.messages {
            // The agent may take typed text for an instruction of the operator, so other senders are named.
            let is_operator = message.by_type == ActorType::Operator;
            let from = if is_operator { String::new() } else { format!("# message from {}: ", message.by) };
            let line = format!("{from}{}", flower_core::text::cut(&message.text, 4_000));
            if let Err(error) = terminal.write(format!("{line}\r").as_bytes()).await {
                tracing::debug!("agent {}: {error}", run.agent.name);
            }
        }
        Ok(())
    }

    async fn refresh_pty(&self, handle: &AgentHandle, terminal: &Terminal) -> Result<ProcessExit, Problem> {
        handle.clear_refresh();
        let note =
            format!("An agent in a terminal cannot leave a note. Its last output:\n\n{}", last_output(terminal).await);
        let step = Step::Refresh { note, author: Author::Flower, used: None, size: None };
        self.store.execute(&Caller::system(), Command::Agent { number: handle.number, step }).await?;
        Ok(ProcessExit::StartNext)
    }

    /// A command that exits with code 0 has done its work, so the work is handed back for it.
    async fn after_exit(
        &self,
        handle: &AgentHandle,
        run: &Run,
        profile: &Profile,
        terminal: &Terminal,
        code: i32,
    ) -> Result<ProcessExit, Problem> {
        let open = match &run.dispatch {
            Some(dispatch) => self.dispatcher.get(dispatch.number).await?.is_open(),
            None => false,
        };
        handle.transcript.add_note(describe_exit(code));
        match (code, &run.dispatch) {
            (0, _) if !open => Ok(ProcessExit::Retire("the command has ended".to_owned())),
            (0, Some(_)) if run.agent.member > 0 => Ok(ProcessExit::Retire("its part is done".to_owned())),
            (0, Some(dispatch)) => {
                let summary = format!(
                    "{} exited with code 0. Its last output:\n\n{}",
                    run.agent.name,
                    last_output(terminal).await
                );
                let fence = dispatch.fence;
                let back = HandBackRequest { fence, summary, not_done: None, failed: false, by_exit: true };
                match self.dispatcher.hand_back(&run.caller, dispatch.number, back).await {
                    Ok(back) if back.dispatch.result.as_ref().is_some_and(|result| result.commits.is_empty()) => {
                        let end = "the command has ended without commits, and the dispatch is handed back";
                        Ok(ProcessExit::Retire(end.to_owned()))
                    }
                    Ok(back) => {
                        back.notes.iter().for_each(|note| handle.transcript.add_note(note));
                        Ok(ProcessExit::Retire("the command has ended, and the work is handed back".to_owned()))
                    }
                    Err(problem) => {
                        let why = [vec![problem.message.clone()], problem.hints].concat().join("\n");
                        let state = RunState { refused: Some(why), ..run.state.clone() };
                        self.save_run_state(handle.number, &state)?;
                        Ok(ProcessExit::Died(format!("the command exited with code 0, but {}", problem.message)))
                    }
                }
            }
            (code, _) => {
                let output = last_output(terminal).await;
                let said = Said::Output(&output);
                if let Some(outage) = outages::recognize(&profile.outages, said, &jiff::Zoned::now()) {
                    return Ok(ProcessExit::Park(outage));
                }
                Ok(ProcessExit::Died(format!("{}; last output: {output}", describe_exit(code))))
            }
        }
    }
}

/// Writes the output of a program to the transcript as plain lines.
async fn record_output(mut output: Output, transcript: Arc<Transcript>) {
    let mut plain = PlainLines::default();
    let mut lines: Vec<String> = Vec::new();
    let mut written_at = Instant::now();
    loop {
        let next = tokio::time::timeout(LINES_INTERVAL, output.next()).await;
        let is_quiet = next.is_err();
        let is_over = matches!(next, Ok(None));
        if let Ok(Some((_, bytes))) = next {
            lines.extend(plain.push(&bytes));
        }
        // An unfinished line, such as a question, is read by people too.
        if is_over || (is_quiet && written_at.elapsed() >= LINES_INTERVAL * 2) {
            lines.extend(plain.rest());
        }
        let is_due =
            written_at.elapsed() >= LINES_INTERVAL || lines.iter().map(String::len).sum::<usize>() > LINES_BYTES;
        if !lines.is_empty() && (is_due || is_over || is_quiet) {
            for part in parts(&std::mem::take(&mut lines)) {
                transcript.add(new_entry(EntryKind::Output, part));
            }
            written_at = Instant::now();
        }
        if is_over {
            return;
        }
    }
}

/// Lines in parts that fit into one entry.
fn parts(lines: &[String]) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in lines {
        if parts.last().is_some_and(|part| !part.is_empty() && part.len() + line.len() > LINES_BYTES) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            let gap = if part.is_empty() { "" } else { "\n" };
            part.push_str(&format!("{gap}{line}"));
        }
    }
    parts
}

/// The last output as plain text.
async fn last_output(terminal: &Terminal) -> String {
    let mut output = terminal.output(terminal.screen().await);
    let mut bytes = Vec::new();
    while let Ok(Some((_, more))) = tokio::time::timeout(Duration::from_millis(100), output.next()).await {
        bytes.extend(more);
        if bytes.len() as u64 > 64 << 10 {
            break;
        }
    }
    let text = anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string();
    flower_core::text::tail(&text, usize::try_from(LAST_OUTPUT_BYTES).unwrap_or(usize::MAX))
}
