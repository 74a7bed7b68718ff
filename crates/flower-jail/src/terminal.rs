//! The terminal that the jail shares with its caller, if there is one.

use rustix::fd::BorrowedFd;
use rustix::process::Pid;
use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::{tcgetpgrp, tcsetpgrp};
use std::path::PathBuf;

fn streams() -> [BorrowedFd<'static>; 3] {
    [stdin(), stdout(), stderr()]
}

/// The first of the three streams that is the controlling terminal of this session. Only that one answers.
fn controlling() -> Option<BorrowedFd<'static>> {
    streams().into_iter().find(|stream| tcgetpgrp(stream).is_ok())
}

/// One of the standard streams. With it the command stays in the session of the caller, for job control.
pub(super) struct Terminal {
    /// Where it is on the host, as far as it has a name there.
    pub(super) path: Option<PathBuf>,
}

/// To be asked outside: in another process namespace none is recognised.
pub(super) fn shared() -> Option<Terminal> {
    let name = rustix::termios::ttyname(controlling()?, Vec::new()).ok();
    Some(Terminal { path: name.and_then(|name| name.into_string().ok()).map(PathBuf::from) })
}

/// Who had the keyboard when the jail began. A shell inside takes it, and when it ends it cannot give it back to a process
/// that it does not see.
pub(super) struct Foreground {
    group: Option<Pid>,
}

impl Foreground {
    pub(super) fn note() -> Foreground {
        let group = rustix::process::getpgrp();
        let ours = controlling().is_some_and(|terminal| tcgetpgrp(terminal) == Ok(group));
        Foreground { group: ours.then_some(group) }
    }

    /// The caller of this must not be stopped for it (`SIGTTOU`).
    pub(super) fn restore(&self) {
        if let (Some(terminal), Some(group)) = (controlling(), self.group) {
            // The terminal may be gone by now.
            let _ = tcsetpgrp(terminal, group);
        }
    }
}
