//! The lifeline: a pipe that ends a jail when the process that started it is gone.

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The jail inherits one end of the pipe; this process keeps the other as long as the jail may run.
pub struct Lifeline {
    inherited: OwnedFd,
    held: OwnedFd,
}

/// The environment of the launcher of a jail; the command in the jail gets less.
pub fn launcher_env() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "HOME", "USER", "LANG"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

impl Lifeline {
    pub fn new() -> io::Result<Lifeline> {
        let (inherited, held) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfd(&inherited, FdFlags::empty())?;
        Ok(Lifeline { inherited, held })
    }

    /// Adds the lifeline to the launcher of a jail. A launcher without a jail is returned unchanged.
    pub fn add_to(&self, launcher: &[OsString]) -> Vec<OsString> {
        let mut words = launcher.to_vec();
        if let Some(end) = words.iter().position(|word| word == "--") {
            words.splice(end..end, ["--lifeline".into(), self.inherited.as_raw_fd().to_string().into()]);
        }
        words
    }

    /// Once the jail has started: the end of the pipe to keep open until the jail may end.
    pub fn started(self) -> OwnedFd {
        self.held
    }
}
