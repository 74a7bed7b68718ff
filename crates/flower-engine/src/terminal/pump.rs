//! From the command to the disk, until the command has ended and nothing is left of what it wrote.

use super::held::Held;
use super::scrollback::Scrollback;
use super::{Mask, Shown, Terminal};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::process::Child;
use tokio::time::sleep_until;

const AT_ONCE: usize = 64 * 1024;
/// Without a jail something may live on and keep the terminal open. What was written before the end is here long before.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(super) async fn run(
    terminal: Arc<Terminal>,
    mut child: Child,
    lifeline: OwnedFd,
    scrollback: Scrollback,
    mask: Mask,
) {
    let mut record = Record { terminal: &terminal, scrollback: Some(scrollback), mask, failing: false };
    let mut held = Held::default();
    let mut buffer = vec![0; AT_ONCE];
    let mut code = None;
    let mut last_words = Instant::now();
    loop {
        let due = held.due();
        tokio::select! {
            read = read(&terminal, &mut buffer) => match read {
                Ok(length @ 1..) => {
                    let now = Instant::now();
                    terminal.state().last_output = now;
                    held.push(&buffer[..length], now);
                    record.write(held.ready()).await;
                }
                // Nobody has the other end any more.
                Ok(0) | Err(_) => break,
            },
            status = child.wait(), if code.is_none() => {
                code = Some(reaped(&terminal, status));
                last_words = Instant::now() + LAST_WORDS;
            }
            () = sleep_until(due.unwrap_or(last_words).into()), if due.is_some() => record.write(held.rest()).await,
            () = sleep_until(last_words.into()), if code.is_some() => break,
        }
    }
    record.write(held.rest()).await;
    let code = match code {
        Some(code) => code,
        None => {
            let status = child.wait().await;
            reaped(&terminal, status)
        }
    };
    // Until here: what runs inside ends when it goes.
    drop(lifeline);
    terminal.shown.send_modify(|shown| shown.finished = true);
    terminal.ended.send_replace(Some(code));
}

fn reaped(terminal: &Terminal, status: io::Result<std::process::ExitStatus>) -> i32 {
    terminal.state().reaped = true;
    let code = |status: std::process::ExitStatus| status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    status.ok().and_then(code).unwrap_or_else(|| flower_jail::EXIT_JAIL_FAILED.into())
}

/// As much as there is, up to the size of the buffer.
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

struct Record<'a> {
    terminal: &'a Terminal,
    /// Away while another thread writes.
    scrollback: Option<Scrollback>,
    mask: Mask,
    /// Said once, not with every line.
    failing: bool,
}

impl Record<'_> {
    /// What cannot be written is not shown either: positions would be wrong from there on.
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
                let place = scrollback.place();
                self.terminal.shown.send_replace(Shown { place, finished: false });
            }
            Err(error) if !self.failing => {
                self.failing = true;
                tracing::warn!("output of a terminal is lost: {error}");
            }
            Err(_) => {}
        }
        self.scrollback = Some(scrollback);
    }
}
