//! Commands of a script. Whoever gives up on one ends everything in its process group.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

/// The end of what a command says; more is not shown.
const MOST_SAID: usize = 4096;
/// What has been said is read for so long after the end: something in the background may hold the pipe.
const GRACE: Duration = Duration::from_millis(200);

/// Whether the script succeeded, and what it said. `argument` is its `$1`.
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
    let said = Arc::new(Mutex::new(Vec::new()));
    let reading = child.stdout.take().map(|out| tokio::spawn(read(out, said.clone())));
    let status = child.wait().await?;
    group.0 = None;
    if let Some(reading) = reading {
        let _ = tokio::time::timeout(GRACE, reading).await;
    }
    let said = said.lock().map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
    Ok((status.success(), said))
}

async fn read(mut out: impl AsyncRead + Unpin, said: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; MOST_SAID];
    while let Ok(length @ 1..) = out.read(&mut buffer).await {
        let Ok(mut said) = said.lock() else { return };
        said.extend_from_slice(&buffer[..length]);
        let surplus = said.len().saturating_sub(MOST_SAID);
        said.drain(..surplus);
    }
}

struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
