//! The terminal that the jail shares with its caller, if there is one.

use rustix::fd::BorrowedFd;
use rustix::process::Pid;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::path::PathBuf;

fn streams() -> [BorrowedFd<'static>; 3] {
    [stdin(), stdout(), stderr()]
}

/// The first standard stream that is the controlling terminal of this session; `tcgetpgrp` fails for others.
fn controlling() -> Option<BorrowedFd<'static>> {
    streams().into_iter().find(|stream| tcgetpgrp(stream).is_ok())
}

/// If there is one, the command stays in the caller's session, for job control.
pub(super) struct Terminal {
    /// Its path on the host, if it has one.
    pub(super) path: Option<PathBuf>,
}

/// The caller's terminal. Must be called in the outer process: in another process namespace it is not recognised.
pub(super) fn shared() -> Option<Terminal> {
    let name = rustix::termios::ttyname(controlling()?, Vec::new()).ok();
    Some(Terminal { path: name.and_then(|name| name.into_string().ok()).map(PathBuf::from) })
}

/// The foreground process group when the jail started. A shell in the jail changes it, and cannot restore a group outside its
/// namespace.
pub(super) struct Foreground {
    group: Option<Pid>,
}

impl Foreground {
    pub(super) fn current() -> Foreground {
        let group = rustix::process::getpgrp();
        let ours = controlling().is_some_and(|terminal| tcgetpgrp(terminal) == Ok(group));
        Foreground { group: ours.then_some(group) }
    }

    /// Makes the group the foreground again. The calling process must ignore `SIGTTOU`.
    pub(super) fn restore(&self) {
        if let (Some(terminal), Some(group)) = (controlling(), self.group) {
            // The terminal may be gone by now.
            let _ = tcsetpgrp(terminal, group);
        }
    }
}
