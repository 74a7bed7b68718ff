//! An agent with a terminal: any command at all. It is told its work by a file or an argument, and hands back by the command
//! line, or by ending well.

use super::acp_driver::ended_with;
use super::agent_handle::{AgentHandle, AgentProcess, State};
use super::folder::Folder;
use super::launch_spec::LaunchSpec;
use super::prompt;
use super::runner::{ProcessExit, Run};
use crate::Agents;
use crate::dispatch::HandBackRequest;
use crate::profiles::config::Profile;
use crate::profiles::user_home;
use crate::terminal::{Size, TerminalSpec, Terminal};
use flower_contract::error::Problem;
use flower_core::agent::{Author, Step};
use flower_core::{ActorType, Caller, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const TICK: Duration = Duration::from_secs(1);
/// Without any output for so long, it probably waits for somebody.
const IDLE: Duration = Duration::from_secs(20);
/// Typed into only when it has been quiet for a moment.
const QUIET: Duration = Duration::from_secs(2);
const SIZE: Size = Size { columns: 120, rows: 40 };
/// Of what it showed last, as a summary.
const LAST: u64 = 2 << 10;

impl Agents {
    pub(super) async fn run_in_pty(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        run: Run,
        profile: Profile,
        equipment: LaunchSpec,
    ) -> Result<ProcessExit, Problem> {
        let folder = self.home.agent(running.number);
        let text = match &run.dispatch {
            Some(dispatch) => self.words_for(&run, dispatch).await?,
            None => prompt::greeting(&run.agent),
        };
        // Inside there is nothing of flower's home.
        let below = PathBuf::from(format!(".flower/prompt-{}.md", running.number));
        let file = user_home().join(&below);
        let written = Folder::make(&equipment.home, &below).and_then(|folder| folder.write(text.as_bytes()));
        written.map_err(|error| self.home.problem(&equipment.home.join(&below), &error))?;
        let command: Vec<OsString> = equipment
            .command
            .iter()
            .map(|word| match word.to_str() {
                Some("{prompt}") => text.clone().into(),
                Some("{prompt_file}") => file.clone().into_os_string(),
                _ => word.clone(),
            })
            .collect();
        self.hold(running.number, equipment.lent);
        let mask = equipment.mask.clone();
        let spec = TerminalSpec {
            launcher: &equipment.launcher,
            command: &command,
            dir: &equipment.dir,
            env: &equipment.env,
            size: SIZE,
            scrollback: &folder.join("terminal"),
            mask: Arc::new(move |bytes: &[u8]| mask.bytes(bytes).into_owned()),
        };
        let terminal = match Terminal::start(spec) {
            Ok(terminal) => terminal,
            Err(error) => return Ok(ProcessExit::Died(format!("its terminal cannot be made: {error}"))),
        };
        running.set_body(Some(AgentProcess::Shown(terminal.clone())));
        self.terminals.insert(running.name.clone(), terminal.clone());
        running.transcript.flower(format!("its terminal is open: `flower agent attach {}`", running.name));
        running.see(State::Working, "its process runs");
        self.supervise_pty(running, &run, &profile, &terminal).await
    }

    async fn supervise_pty(
        self: &Arc<Self>,
        running: &Arc<AgentHandle>,
        run: &Run,
        profile: &Profile,
        terminal: &Arc<Terminal>,
    ) -> Result<ProcessExit, Problem> {
        let begun = std::time::Instant::now();
        loop {
            tokio::select! {
                code = terminal.ended() => return self.after_exit(running, run, terminal, code).await,
                () = running.wake.notified() => {}
                () = tokio::time::sleep(TICK) => {}
            }
            self.beat_for(running).await;
            let quiet = terminal.quiet_for();
            match quiet {
                quiet if quiet < TICK * 2 => {
                    running.heard();
                    running.see(State::Working, "it shows something");
                }
                quiet if quiet > IDLE => running.see(State::Idle, "it has shown nothing for a while"),
                _ => {}
            }
            let agent = self.get(running.number).await?;
            if !agent.is_live() {
                return Ok(ProcessExit::Gone);
            }
            if self.has_other_work(&agent, run).await? {
                return Ok(ProcessExit::Fresh);
            }
            if self.is_over(running).await {
                return Ok(match agent.standing {
                    true => ProcessExit::Fresh,
                    false => ProcessExit::Retire("its work has ended".to_owned()),
                });
            }
            if running.refresh_wanted() {
                return self.start_afresh(running, terminal).await;
            }
            if running.work().is_some() && begun.elapsed() > profile.turn_timeout {
                return Ok(ProcessExit::Died(format!("it takes longer than {} s", profile.turn_timeout.as_secs())));
            }
            if quiet > QUIET {
                self.type_messages(run, terminal).await?;
            }
        }
    }

    /// Handed back, or taken from it.
    async fn is_over(&self, running: &AgentHandle) -> bool {
        let Some(work) = running.work() else { return false };
        match self.dispatcher.get(work.dispatch).await {
            Ok(dispatch) => !dispatch.is_open() || self.is_work_gone(running).await,
            Err(_) => false,
        }
    }

    /// What others tell it is typed for it.
    async fn type_messages(&self, run: &Run, terminal: &Terminal) -> Result<(), Problem> {
        let heard = self.messages.hear(&run.caller, false).await?;
        if heard.messages.is_empty() {
            return Ok(());
        }
        for message in self.messages.hear(&run.caller, true).await?.messages {
            // Whatever is typed may be taken for an order, and only the operator gives any.
            let ours = message.by_type == ActorType::Operator.as_str();
            let from = if ours { String::new() } else { format!("# message from {}: ", message.by) };
            let line = format!("{from}{}", flower_core::text::cut(&message.text, 4_000));
            if let Err(error) = terminal.write(format!("{line}\r").as_bytes()).await {
                tracing::debug!("agent {}: {error}", run.agent.name);
            }
        }
        Ok(())
    }

    async fn start_afresh(&self, running: &AgentHandle, terminal: &Terminal) -> Result<ProcessExit, Problem> {
        running.clear_refresh();
        let note =
            format!("It has no way to leave a note. Its terminal showed last:\n\n{}", last_shown(terminal).await);
        let step = Step::Refresh { note, author: Author::Flower, used: None, size: None };
        self.store.execute(&Caller::system(), Command::Agent { number: running.number, step }).await?;
        Ok(ProcessExit::Fresh)
    }

    /// A command that ends well has done its work, as far as it can be seen.
    async fn after_exit(
        &self,
        running: &AgentHandle,
        run: &Run,
        terminal: &Terminal,
        code: i32,
    ) -> Result<ProcessExit, Problem> {
        let open = match &run.dispatch {
            Some(dispatch) => self.dispatcher.get(dispatch.number).await?.is_open(),
            None => false,
        };
        running.transcript.flower(ended_with(code));
        match (code, &run.dispatch) {
            (0, _) if !open => Ok(ProcessExit::Retire("its command has ended".to_owned())),
            (0, Some(_)) if run.agent.member > 0 => Ok(ProcessExit::Retire("its part is done".to_owned())),
            (0, Some(dispatch)) => {
                let summary =
                    format!("{} ended well. It showed last:\n\n{}", run.agent.name, last_shown(terminal).await);
                let back = HandBackRequest { fence: dispatch.fence, summary, not_done: None, failed: false };
                match self.dispatcher.hand_back(&run.caller, dispatch.number, back).await {
                    Ok(_) => Ok(ProcessExit::Retire("its command has ended, and its work is handed back".to_owned())),
                    Err(problem) => Ok(ProcessExit::Died(format!("it ended, but {}", problem.message))),
                }
            }
            (code, _) => {
                Ok(ProcessExit::Died(format!("{}; it showed last: {}", ended_with(code), last_shown(terminal).await)))
            }
        }
    }
}

/// The last of it as plain text.
async fn last_shown(terminal: &Terminal) -> String {
    let mut output = terminal.output(terminal.screen().await);
    let mut bytes = Vec::new();
    while let Ok(Some((_, more))) = tokio::time::timeout(Duration::from_millis(100), output.next()).await {
        bytes.extend(more);
        if bytes.len() as u64 > 64 << 10 {
            break;
        }
    }
    let text = plain(&String::from_utf8_lossy(&bytes));
    flower_core::text::tail(&text, usize::try_from(LAST).unwrap_or(usize::MAX))
}

/// Without what moves cursors and paints.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => {
                while let Some(c) = chars.next() {
                    if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    out
}
