//! The process of an agent that uses its standard streams, in its jail.

use super::transcript::{Transcript, new_entry};
use flower_contract::view::EntryKind;
use flower_jail::{Lifeline, launcher_env};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::watch;

/// From closing the lifeline until SIGKILL. The jail ends the processes in it sooner.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// Lines of standard error that the transcript gets; further lines are only counted.
const MAX_STDERR_LINES: usize = 200;
const MAX_STDERR_LINE_BYTES: u64 = 4 << 10;

pub(super) struct Process {
    pub(super) pid: u32,
    /// Closing it ends all processes in the jail.
    lifeline: Mutex<Option<OwnedFd>>,
    exit: watch::Receiver<Option<i32>>,
}

impl Process {
    pub(super) fn start(
        launcher: &[OsString],
        command: &[OsString],
        dir: &Path,
        env: &[(OsString, OsString)],
        transcript: Arc<Transcript>,
    ) -> io::Result<(Process, ChildStdin, ChildStdout)> {
        let lifeline = Lifeline::new()?;
        let mut words = lifeline.add_to(launcher);
        words.extend_from_slice(command);
        #[expect(clippy::disallowed_methods, reason = "the launcher puts it into a jail")]
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .current_dir(dir)
            .env_clear()
            .envs(launcher_env())
            .envs(env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let missing = || io::Error::other("a pipe is missing");
        let (stdin, stdout) = (child.stdin.take().ok_or_else(missing)?, child.stdout.take().ok_or_else(missing)?);
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let pid = child.id().ok_or_else(missing)?;
        let recording = tokio::spawn(record_stderr(stderr, transcript));
        let (exited, exit) = watch::channel(None);
        tokio::spawn(async move {
            let status = child.wait().await;
            // Waits shortly for the last lines of standard error, which often say why the process ended.
            let _ = tokio::time::timeout(Duration::from_millis(300), recording).await;
            let code = status.map_or(-1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            let _ = exited.send(Some(code));
        });
        Ok((Process { pid, lifeline: Mutex::new(Some(lifeline.started())), exit }, stdin, stdout))
    }

    /// Waits for the end of the process and returns its exit code.
    pub(super) async fn ended(&self) -> i32 {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some).await.ok().and_then(|code| *code).unwrap_or(-1)
    }

    /// Ends the process with all processes that it started, within three seconds.
    pub(super) async fn end(&self) {
        drop(self.lifeline.lock().expect("no panic while held").take());
        if tokio::time::timeout(EXIT_TIMEOUT, self.ended()).await.is_err() {
            if let Some(group) = Pid::from_raw(self.pid.cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = tokio::time::timeout(KILL_TIMEOUT, self.ended()).await;
        }
    }
}

async fn record_stderr(from: impl AsyncRead + Unpin, transcript: Arc<Transcript>) {
    let mut from = BufReader::new(from);
    let mut lines = 0;
    loop {
        let mut line = Vec::new();
        match (&mut from).take(MAX_STDERR_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) if lines < MAX_STDERR_LINES => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    transcript.add(new_entry(EntryKind::Noise, text.trim_end()));
                }
            }
            Ok(_) => {}
        }
        lines += 1;
    }
    if lines > MAX_STDERR_LINES {
        transcript.add_note(format!("{} further lines on standard error", lines - MAX_STDERR_LINES));
    }
}
