//! Commands of a script. Dropping the future of a command kills its process group.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// The end of the output that is kept.
const MAX_OUTPUT: usize = 4096;
/// How long output is read after the command has ended: a background process may keep the pipe open.
const OUTPUT_TIMEOUT: Duration = Duration::from_millis(200);

/// Returns whether the script succeeded, and its output. `argument` is its `$1`.
pub(super) async fn shell(script: &str, argument: &str, dir: &Path) -> io::Result<(bool, String)> {
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}"), "scripted", argument])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let output = Arc::new(Mutex::new(Vec::new()));
    let reading = child.stdout.take().map(|out| tokio::spawn(read(out, output.clone())));
    let status = child.wait().await?;
    group.0 = None;
    if let Some(reading) = reading {
        let _ = tokio::time::timeout(OUTPUT_TIMEOUT, reading).await;
    }
    let output = output.lock().map(|output| String::from_utf8_lossy(&output).into_owned()).unwrap_or_default();
    Ok((status.success(), output))
}

async fn read(mut out: impl AsyncRead + Unpin, output: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; MAX_OUTPUT];
    while let Ok(length @ 1..) = out.read(&mut buffer).await {
        let Ok(mut output) = output.lock() else { return };
        output.extend_from_slice(&buffer[..length]);
        let surplus = output.len().saturating_sub(MAX_OUTPUT);
        output.drain(..surplus);
    }
}

/// Kills the process group when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
