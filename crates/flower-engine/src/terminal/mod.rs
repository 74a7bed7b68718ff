//! Runs a command in a pseudo-terminal and keeps its output on disk, independent of who is attached.
//!
//! One task (`pump.rs`) reads the output of the command, masks it and appends it to the scrollback (`scrollback.rs`); readers
//! (`output.rs`) read from there. The command leads a session of its own, and ends with the daemon.

mod line_buffer;
mod output;
mod plain_lines;
mod pump;
mod scrollback;

pub use output::Output;
pub use plain_lines::PlainLines;
pub use scrollback::{Scrollback, Snapshot};

use flower_jail::{Lifeline, async_fd, launcher_env, lead_session};
use output::Written;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::process::Command;
use tokio::sync::watch;

/// More than a person types or pastes at once.
pub const MAX_KEYS: usize = 64 * 1024;
/// How long a command may take to read the keys.
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
/// Between SIGTERM and SIGKILL.
const TERM_TIMEOUT: Duration = Duration::from_secs(3);
/// From SIGKILL until the end is no longer waited for.
const KILL_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How far back the beginning of the screen is searched.
const MAX_SCREEN_BYTES: u64 = 64 * 1024;

/// Masks secrets in output. It is called with whole lines wherever that is possible.
pub type Mask = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

pub struct TerminalSpec<'a> {
    /// The command that starts `command` in a jail; may be empty.
    pub launcher: &'a [OsString],
    pub command: &'a [OsString],
    pub dir: &'a Path,
    /// Variables in addition to those that every command gets.
    pub env: &'a [(OsString, OsString)],
    pub size: Size,
    /// The file of the output; an existing one is continued.
    pub scrollback: &'a Path,
    pub mask: Mask,
}

pub struct Terminal {
    /// Also the id of the command's session and process group.
    pid: Pid,
    master: AsyncFd<OwnedFd>,
    /// Keeps the keys of two callers apart.
    write_lock: tokio::sync::Mutex<()>,
    written: watch::Sender<Written>,
    ended: watch::Sender<Option<i32>>,
    state: Mutex<ProcessState>,
    /// The position at which the output of this command begins.
    began: u64,
}

struct ProcessState {
    /// The pid may belong to another process now, so it gets no signal.
    reaped: bool,
    last_output: Instant,
}

impl Terminal {
    /// Starts the command; requires a tokio runtime. The command runs until it ends, [`Terminal::stop`] ends it, or this process
    /// ends. Dropping the `Terminal` does not end it.
    pub fn start(spec: TerminalSpec) -> io::Result<Arc<Terminal>> {
        let scrollback = Scrollback::open(spec.scrollback)?;
        let (master, slave) = open_pty(spec.size)?;
        let master = async_fd(master)?;
        let lifeline = Lifeline::new()?;
        let mut words = lifeline.add_to(spec.launcher);
        words.extend_from_slice(spec.command);
        let (program, rest) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(clippy::disallowed_methods, reason = "the launcher puts it into a jail")]
        let mut command = Command::new(program);
        command.args(rest).current_dir(spec.dir).env_clear().env("TERM", "xterm-256color");
        command.envs(launcher_env());
        command.envs(spec.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(slave.try_clone()?)).stdout(Stdio::from(slave.try_clone()?)).stderr(slave);
        lead_session(command.as_std_mut());
        let child = command.kill_on_drop(true).spawn()?;
        // Closes this process' copies of the slave; otherwise the master would never see it closed.
        drop(command);
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        let snapshot = scrollback.snapshot();
        let terminal = Arc::new(Terminal {
            pid,
            master,
            write_lock: tokio::sync::Mutex::default(),
            began: snapshot.end,
            written: watch::Sender::new(Written { snapshot, finished: false }),
            ended: watch::Sender::new(None),
            state: Mutex::new(ProcessState { reaped: false, last_output: Instant::now() }),
        });
        tokio::spawn(pump::run(terminal.clone(), child, lifeline.started(), scrollback, spec.mask));
        Ok(terminal)
    }

    /// Where the output of this command begins.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// The pid of the outermost process: the jail, if there is one.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Types keys. Fails if the command does not read all of them in time; it may have read some of them then.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > MAX_KEYS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let typing = async {
            let _lock = self.write_lock.lock().await;
            let mut rest = bytes;
            while !rest.is_empty() {
                if self.ended.borrow().is_some() {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                match rustix::io::write(&self.master, rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => self.wait_writable().await?,
                    Err(errno) => return Err(errno.into()),
                }
            }
            Ok(())
        };
        tokio::time::timeout(KEYS_TIMEOUT, typing).await?
    }

    /// Waits until more can be written, or for a short time: the kernel does not report every bit of free space.
    async fn wait_writable(&self) -> io::Result<()> {
        const POLL_INTERVAL: Duration = Duration::from_millis(50);
        if let Ok(ready) = tokio::time::timeout(POLL_INTERVAL, self.master.writable()).await {
            ready?.clear_ready();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    pub fn resize(&self, size: Size) -> io::Result<()> {
        Ok(tcsetwinsize(&self.master, winsize(size)?)?)
    }

    pub fn size(&self) -> Size {
        // Cannot fail: the size was set, and the descriptor is open.
        tcgetwinsize(&self.master)
            .map_or(Size { columns: 80, rows: 24 }, |size| Size { columns: size.ws_col, rows: size.ws_row })
    }

    /// Waits until the command has ended and all of its output is in the scrollback. Returns the exit code, or 128 + signal.
    pub async fn ended(&self) -> i32 {
        let mut ended = self.ended.subscribe();
        let code = ended.wait_for(Option::is_some).await.map(|code| *code);
        // The sender lives as long as `self`, so waiting cannot fail.
        code.ok().flatten().unwrap_or_default()
    }

    /// The exit code, if the command has ended.
    pub fn exit_code(&self) -> Option<i32> {
        *self.ended.borrow()
    }

    /// Ends the command: SIGTERM, then SIGKILL.
    pub async fn stop(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        if tokio::time::timeout(TERM_TIMEOUT, self.ended()).await.is_err() {
            self.signal(Signal::KILL);
            let _ = tokio::time::timeout(KILL_TIMEOUT, self.ended()).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if !self.state().reaped {
            // Fails if the process has ended since.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// The output from a position on, then new output. If the position was dropped, it starts with the oldest byte.
    pub fn output(&self, after: u64) -> Output {
        Output::new(self.written.subscribe(), after)
    }

    /// An estimate of where the screen begins in the output: as many lines back as the terminal has rows, but not before this
    /// command.
    pub async fn screen(&self) -> u64 {
        let (snapshot, rows) = (self.written.borrow().snapshot.clone(), usize::from(self.size().rows));
        let from = snapshot.end.saturating_sub(MAX_SCREEN_BYTES).max(self.began);
        let read = tokio::task::spawn_blocking(move || snapshot.read(from, MAX_SCREEN_BYTES)).await;
        let Ok(Ok((at, bytes))) = read else { return from };
        let cut = at > self.began;
        let mut line_ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end + 1);
        let begin = match line_ends.nth(rows) {
            Some(begin) => begin,
            // Starts at a line or an escape sequence rather than inside of one.
            None if cut => bytes.iter().position(|byte| matches!(byte, b'\n' | 0x1b)).unwrap_or(0),
            None => 0,
        };
        at + begin as u64
    }

    /// Time since the last output, or since the start.
    pub fn quiet_for(&self) -> Duration {
        self.state().last_output.elapsed()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ProcessState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a pseudo-terminal: the master, which is non-blocking, and the slave.
fn open_pty(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    tcsetwinsize(&slave, winsize(size)?)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok((master, slave))
}

/// Fails for 0 columns or rows: programs divide by these.
fn winsize(size: Size) -> io::Result<Winsize> {
    if size.columns == 0 || size.rows == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })
}
