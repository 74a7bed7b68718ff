//! A real terminal around a command: whoever looks at it comes and goes, what it has shown stays on the disk.
//!
//! One task (`pump.rs`) reads what the command writes, has it masked and writes it down (`scrollback.rs`); readers
//! (`output.rs`) read it there. The command is the leader of a session of its own, and ends with the daemon.

mod held;
mod output;
mod pump;
mod scrollback;

pub use output::Output;
pub use scrollback::{Place, Scrollback};

use flower_jail::{Lifeline, async_fd, launcher_env, lead_session};
use output::Shown;
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

/// More than anybody types or pastes at once.
pub const MOST_KEYS: usize = 64 * 1024;
/// A command that has not read its keys by then is busy with something else.
const KEYS_DEADLINE: Duration = Duration::from_secs(5);
/// Between asking it to end and making it end.
const GRACE: Duration = Duration::from_secs(3);
/// From then on; the kernel needs no time worth mentioning.
const END_DEADLINE: Duration = Duration::from_millis(1_500);
/// Beyond that, the beginning of what is on the screen is not looked for.
const MOST_SCREEN: u64 = 64 * 1024;

/// Changes output before anybody sees it. It is given whole lines wherever that is possible.
pub type Mask = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

pub struct Start<'a> {
    /// What puts the command into a jail; may be empty.
    pub launcher: &'a [OsString],
    pub command: &'a [OsString],
    pub dir: &'a Path,
    /// Beside the few that every command has.
    pub env: &'a [(OsString, OsString)],
    pub size: Size,
    /// A file of its own. One that is there goes on.
    pub scrollback: &'a Path,
    pub mask: Mask,
}

pub struct Terminal {
    /// Of the command's session and group, too.
    pid: Pid,
    master: AsyncFd<OwnedFd>,
    /// Keys of two at once do not mingle.
    turn: tokio::sync::Mutex<()>,
    shown: watch::Sender<Shown>,
    ended: watch::Sender<Option<i32>>,
    state: Mutex<State>,
    /// Where the output of this command begins.
    began: u64,
}

struct State {
    /// Its number may be somebody else's by now.
    reaped: bool,
    last_output: Instant,
}

impl Terminal {
    /// Starts the command, inside of a runtime. It runs until it ends, [`Terminal::stop`] ends it, or this process is gone;
    /// also when nobody has the terminal any more.
    pub fn start(start: Start) -> io::Result<Arc<Terminal>> {
        let scrollback = Scrollback::open(start.scrollback)?;
        let (master, slave) = open(start.size)?;
        let master = async_fd(master)?;
        let lifeline = Lifeline::new()?;
        let mut words = lifeline.add_to(start.launcher);
        words.extend_from_slice(start.command);
        let (program, rest) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        #[expect(clippy::disallowed_methods, reason = "the launcher puts it into a jail")]
        let mut command = Command::new(program);
        command.args(rest).current_dir(start.dir).env_clear().env("TERM", "xterm-256color");
        command.envs(launcher_env());
        command.envs(start.env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(slave.try_clone()?)).stdout(Stdio::from(slave.try_clone()?)).stderr(slave);
        lead_session(command.as_std_mut());
        let child = command.kill_on_drop(true).spawn()?;
        // Our side of the other end goes, or its closing would never be seen.
        drop(command);
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).ok_or(io::ErrorKind::NotFound)?;
        let place = scrollback.place();
        let terminal = Arc::new(Terminal {
            pid,
            master,
            turn: tokio::sync::Mutex::default(),
            began: place.end,
            shown: watch::Sender::new(Shown { place, finished: false }),
            ended: watch::Sender::new(None),
            state: Mutex::new(State { reaped: false, last_output: Instant::now() }),
        });
        tokio::spawn(pump::run(terminal.clone(), child, lifeline.started(), scrollback, start.mask));
        Ok(terminal)
    }

    /// Of the outermost process: the jail, if there is one.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Types. Fails if nobody inside takes the keys in time; some of them may have been taken then.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > MOST_KEYS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let typing = async {
            let _turn = self.turn.lock().await;
            let mut rest = bytes;
            while !rest.is_empty() {
                if self.ended.borrow().is_some() {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                match rustix::io::write(&self.master, rest) {
                    Ok(written) => rest = &rest[written..],
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => self.room().await?,
                    Err(errno) => return Err(errno.into()),
                }
            }
            Ok(())
        };
        tokio::time::timeout(KEYS_DEADLINE, typing).await?
    }

    /// Waits until more may be typed, or for a moment: the kernel does not announce every bit of room.
    async fn room(&self) -> io::Result<()> {
        const MOMENT: Duration = Duration::from_millis(50);
        if let Ok(ready) = tokio::time::timeout(MOMENT, self.master.writable()).await {
            ready?.clear_ready();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    pub fn resize(&self, size: Size) -> io::Result<()> {
        Ok(tcsetwinsize(&self.master, winsize(size)?)?)
    }

    pub fn size(&self) -> Size {
        // It has been set, and the descriptor is open.
        tcgetwinsize(&self.master)
            .map_or(Size { columns: 80, rows: 24 }, |size| Size { columns: size.ws_col, rows: size.ws_row })
    }

    /// Its exit code, or 128 and the signal, once it has ended and all of its output is written down.
    pub async fn ended(&self) -> i32 {
        let mut ended = self.ended.subscribe();
        let code = ended.wait_for(Option::is_some).await.map(|code| *code);
        // The sender lives as long as `self`, so waiting cannot fail.
        code.ok().flatten().unwrap_or_default()
    }

    /// The same, if it has ended.
    pub fn exit_code(&self) -> Option<i32> {
        *self.ended.borrow()
    }

    /// Asks it to end, and soon makes it end.
    pub async fn stop(&self) {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT);
        if tokio::time::timeout(GRACE, self.ended()).await.is_err() {
            self.signal(Signal::KILL);
            let _ = tokio::time::timeout(END_DEADLINE, self.ended()).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if !self.state().reaped {
            // It may have ended by now.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// What it has shown from a position on, and then what it shows. What is gone begins with the oldest that is there.
    pub fn output(&self, after: u64) -> Output {
        Output::new(self.shown.subscribe(), after)
    }

    /// The position where what is probably on the screen begins: as many lines as it has rows, of this command only.
    pub async fn screen(&self) -> u64 {
        let (place, rows) = (self.shown.borrow().place.clone(), usize::from(self.size().rows));
        let from = place.end.saturating_sub(MOST_SCREEN).max(self.began);
        let read = tokio::task::spawn_blocking(move || place.read(from, MOST_SCREEN)).await;
        let Ok(Ok((at, bytes))) = read else { return from };
        let cut = at > self.began;
        let mut line_ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end + 1);
        let begin = match line_ends.nth(rows) {
            Some(begin) => begin,
            // Not in the middle of something.
            None if cut => bytes.iter().position(|byte| matches!(byte, b'\n' | 0x1b)).unwrap_or(0),
            None => 0,
        };
        at + begin as u64
    }

    /// Since it last showed something, or was started.
    pub fn quiet_for(&self) -> Duration {
        self.state().last_output.elapsed()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both ends: ours, which never blocks, and the command's.
fn open(size: Size) -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, flags)?;
    tcsetwinsize(&slave, winsize(size)?)?;
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok((master, slave))
}

/// Programs divide by these.
fn winsize(size: Size) -> io::Result<Winsize> {
    if size.columns == 0 || size.rows == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })
}
