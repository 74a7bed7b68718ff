//! The process of an agent that speaks on its standard streams, inside its jail.

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

/// The jail gives what runs inside less time than this.
const GRACE: Duration = Duration::from_secs(2);
const END_DEADLINE: Duration = Duration::from_secs(1);
/// Lines of complaint that are written down; the rest is only read.
const MOST_COMPLAINTS: usize = 200;
const LONGEST_COMPLAINT: u64 = 4 << 10;

pub(super) struct Process {
    pub(super) pid: u32,
    /// When it goes, everything inside goes.
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
        let complaining = tokio::spawn(complaints(stderr, transcript));
        let (exited, exit) = watch::channel(None);
        tokio::spawn(async move {
            let status = child.wait().await;
            // What it said last is worth a moment.
            let _ = tokio::time::timeout(Duration::from_millis(300), complaining).await;
            let code = status.map_or(-1, |status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
            let _ = exited.send(Some(code));
        });
        Ok((Process { pid, lifeline: Mutex::new(Some(lifeline.started())), exit }, stdin, stdout))
    }

    /// Its exit code, once it has one.
    pub(super) async fn ended(&self) -> i32 {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some).await.ok().and_then(|code| *code).unwrap_or(-1)
    }

    /// Ends it, with everything that it started. Done within three seconds.
    pub(super) async fn end(&self) {
        drop(self.lifeline.lock().expect("no panic while held").take());
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            if let Some(group) = Pid::from_raw(self.pid.cast_signed()) {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = tokio::time::timeout(END_DEADLINE, self.ended()).await;
        }
    }
}

async fn complaints(from: impl AsyncRead + Unpin, transcript: Arc<Transcript>) {
    let mut from = BufReader::new(from);
    let mut lines = 0;
    loop {
        let mut line = Vec::new();
        match (&mut from).take(LONGEST_COMPLAINT).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) if lines < MOST_COMPLAINTS => {
                let text = String::from_utf8_lossy(&line);
                if !text.trim().is_empty() {
                    transcript.add(new_entry(EntryKind::Noise, text.trim_end()));
                }
            }
            Ok(_) => {}
        }
        lines += 1;
    }
    if lines > MOST_COMPLAINTS {
        transcript.flower(format!("{} further lines on its standard error", lines - MOST_COMPLAINTS));
    }
}
