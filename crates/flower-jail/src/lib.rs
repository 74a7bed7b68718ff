//! The jail: a command that sees and reaches only what a [`Spec`] lists.
//!
//! `flower jail` is two processes around the command. The outer one (`run.rs`) stays where the caller is: it holds the lock,
//! listens to signals and to the lifeline, and hands on the exit code. The inner one (`init.rs`) is the first process of
//! fresh namespaces; it builds a root in which only the listed paths exist (`root.rs`), gives up every privilege, and
//! becomes the parent of the command. Whatever runs inside ends with it, and it ends with the outer one.
//!
//! No step is optional: what cannot be had refuses the start, with exit code 125 and one line that says why.
//!
//! This is the only module with `unsafe` code, all of it in `sys.rs`.

mod cgroup;
mod dev;
mod failure;
mod forward;
mod init;
mod lifeline;
mod limits;
mod logged;
mod places;
mod privileges;
mod probe;
mod root;
mod rules;
mod run;
mod spec;
mod support;
mod sys;
mod syscalls;
mod terminal;
mod toolchains;
mod watch;

pub use lifeline::{Lifeline, passed_on};
pub use logged::run_logged;
pub use probe::{probe, probe_with};
pub use run::run;
pub use spec::{Bind, Limits, Network, Overlay, Spec, command};
pub use sys::{lead_session, watched};
pub use toolchains::may_be_listed;

/// The jail itself failed; nothing of the command has run.
pub const FAILED: u8 = 125;
/// What ran inside took too much of the machine, and was ended.
pub const TOOK_TOO_MUCH: u8 = 123;
