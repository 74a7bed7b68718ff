//! The lifeline: a pipe that ends what runs inside when whoever started it is gone.

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Two ends: one for the jail to inherit, one that this process alone holds for as long as anything may run inside.
pub struct Lifeline {
    inherited: OwnedFd,
    held: OwnedFd,
}

/// What of our own environment goes to the launcher of a jail; what runs inside gets less.
pub fn passed_on() -> impl Iterator<Item = (&'static str, OsString)> {
    ["PATH", "HOME", "USER", "LANG"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)))
}

impl Lifeline {
    pub fn new() -> io::Result<Lifeline> {
        let (inherited, held) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfd(&inherited, FdFlags::empty())?;
        Ok(Lifeline { inherited, held })
    }

    /// The launcher of a jail, with the lifeline in it. One without a jail stays as it is.
    pub fn tie(&self, launcher: &[OsString]) -> Vec<OsString> {
        let mut words = launcher.to_vec();
        if let Some(end) = words.iter().position(|word| word == "--") {
            words.splice(end..end, ["--lifeline".into(), self.inherited.as_raw_fd().to_string().into()]);
        }
        words
    }

    /// Once the jail is started: what must be kept until it may end.
    pub fn started(self) -> OwnedFd {
        self.held
    }
}
