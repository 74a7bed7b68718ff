//! Runs a command with its output in a file.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Between SIGTERM and SIGKILL.
const TERMINATE_TIMEOUT: Duration = Duration::from_secs(5);
/// The exit code that `timeout` uses.
const TIMED_OUT: i32 = 124;

/// Runs a shell command behind `launcher`, which may be empty, and returns its exit code. The command ends with this process.
pub async fn run_logged(
    launcher: &[OsString],
    command: &str,
    dir: &Path,
    log: &File,
    deadline: Duration,
) -> io::Result<i32> {
    // The lifeline is the pipe on standard input. The shell moves it to descriptor 3, because the command gets an empty input.
    let mut words = ["sh", "-c", "exec \"$@\" 3<&0 </dev/null", "sh"].map(OsString::from).to_vec();
    words.extend_from_slice(launcher);
    if let Some(end) = launcher.iter().position(|word| word == "--") {
        let end = words.len() - launcher.len() + end;
        words.splice(end..end, ["--lifeline".into(), "3".into()]);
    }
    words.extend(["sh", "-c", command].map(OsString::from));
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    // Kept open: the jail ends when this process is gone.
    let _lifeline = child.stdin.take();
    if let Ok(status) = tokio::time::timeout(deadline, child.wait()).await {
        let status = status?;
        return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)));
    }
    let end = |signal| group.map(|group| kill_process_group(group, signal));
    let _ = end(Signal::TERM);
    if tokio::time::timeout(TERMINATE_TIMEOUT, child.wait()).await.is_err() {
        let _ = end(Signal::KILL);
        child.wait().await?;
    }
    Ok(TIMED_OUT)
}
