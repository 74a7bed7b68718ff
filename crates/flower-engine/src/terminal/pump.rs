//! Copies the output of a command to the scrollback, until the command has ended and all of its output is read.

use super::line_buffer::LineBuffer;
use super::scrollback::Scrollback;
use super::{Mask, Terminal, Written};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::Child;
use tokio::time::sleep_until;

const READ_BYTES: usize = 64 * 1024;
/// How long output is read after the command has ended. Without a jail a process of it may live on and keep the terminal
/// open.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

pub(super) async fn run(
    terminal: Arc<Terminal>,
    mut child: Child,
    lifeline: OwnedFd,
    scrollback: Scrollback,
    mask: Mask,
) {
    let mut recorder = Recorder { terminal: &terminal, scrollback: Some(scrollback), mask, failing: false };
    let mut lines = LineBuffer::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut code = None;
    let mut drained_at = Instant::now();
    loop {
        let due = lines.due();
        tokio::select! {
            read = read(&terminal, &mut buffer) => match read {
                Ok(length @ 1..) => {
                    let now = Instant::now();
                    terminal.state().last_output = now;
                    lines.push(&buffer[..length], now);
                    recorder.write(lines.take_ready()).await;
                }
                // No process has the other end open.
                Ok(0) | Err(_) => break,
            },
            status = child.wait(), if code.is_none() => {
                code = Some(reaped(&terminal, status));
                drained_at = Instant::now() + DRAIN_TIMEOUT;
            }
            () = sleep_until(due.unwrap_or(drained_at).into()), if due.is_some() => recorder.write(lines.take_all()).await,
            () = sleep_until(drained_at.into()), if code.is_some() => break,
        }
    }
    recorder.write(lines.take_all()).await;
    let code = match code {
        Some(code) => code,
        None => {
            let status = child.wait().await;
            reaped(&terminal, status)
        }
    };
    // Dropping the lifeline ends the processes in the jail, so it is kept until here.
    drop(lifeline);
    terminal.written.send_modify(|written| written.finished = true);
    terminal.ended.send_replace(Some(code));
}

fn reaped(terminal: &Terminal, status: io::Result<std::process::ExitStatus>) -> i32 {
    terminal.state().reaped = true;
    let code = |status: std::process::ExitStatus| status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    status.ok().and_then(code).unwrap_or_else(|| flower_jail::EXIT_JAIL_FAILED.into())
}

/// Reads all available output, up to the size of the buffer.
async fn read(terminal: &Terminal, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        let mut ready = terminal.master.readable().await?;
        let mut length = 0;
        while length < buffer.len() {
            match rustix::io::read(&terminal.master, &mut buffer[length..]) {
                Ok(0) => return Ok(length),
                Ok(more) => length += more,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    ready.clear_ready();
                    break;
                }
                Err(_) if length > 0 => return Ok(length),
                Err(errno) => return Err(errno.into()),
            }
        }
        if length > 0 {
            return Ok(length);
        }
    }
}

/// Masks output and appends it to the scrollback.
struct Recorder<'a> {
    terminal: &'a Terminal,
    /// None while a thread writes to it.
    scrollback: Option<Scrollback>,
    mask: Mask,
    /// The last write failed; only the first failure is logged.
    failing: bool,
}

impl Recorder<'_> {
    /// Output that cannot be written is not shown either, because later positions would be wrong.
    async fn write(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let Some(mut scrollback) = self.scrollback.take() else { return };
        let mask = self.mask.clone();
        let writing = tokio::task::spawn_blocking(move || {
            let written = scrollback.append(&mask(&bytes));
            (scrollback, written)
        });
        let Ok((scrollback, written)) = writing.await else { return };
        match written {
            Ok(()) => {
                self.failing = false;
                let snapshot = scrollback.snapshot();
                self.terminal.written.send_replace(Written { snapshot, finished: false });
            }
            Err(error) if !self.failing => {
                self.failing = true;
                tracing::warn!("terminal output lost: {error}");
            }
            Err(_) => {}
        }
        self.scrollback = Some(scrollback);
    }
}
