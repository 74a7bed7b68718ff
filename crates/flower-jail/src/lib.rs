//! The jail: runs a command that can access only what a [`Spec`] lists.
//!
//! `flower jail` is two processes around the command. The outer process (`run.rs`) stays in the caller's namespaces: it holds
//! the lock, reacts to signals and the lifeline, and returns the exit code. The inner process (`init.rs`) is the first of
//! new namespaces; it builds a root file system with only the listed paths (`root.rs`), drops all privileges and starts the
//! command. All processes in the jail end with the inner process, which ends with the outer one.
//!
//! No step is optional: if one fails, the jail does not start, and exits with code 125 and one line with the reason.
//!
//! This is the only crate with `unsafe` code, all of it in `sys.rs`.

mod cgroup;
mod dev;
mod error;
mod init;
mod joined;
mod landlock_rules;
mod lifeline;
mod limits;
mod logged;
mod mount_plan;
mod network;
mod privileges;
mod probe;
mod resource_monitor;
mod root;
mod run;
mod seccomp;
mod spec;
mod support;
mod sys;
mod terminal;
mod toolchains;

pub use joined::{JOINED, short_path};
pub use lifeline::{Lifeline, launcher_env};
pub use logged::run_logged;
pub use network::{MAX_LISTENERS, NetworkNamespace, receive, run_network_helper};
pub use probe::{probe, probe_with};
pub use run::run;
pub use spec::{Bind, Limits, Network, Overlay, Spec, command};
pub use sys::{async_fd, lead_session};
pub use toolchains::{may_be_cache, may_be_listed};

/// Exit code: the jail could not be built, and the command has not run.
pub const EXIT_JAIL_FAILED: u8 = 125;
/// Exit code: the jail exceeded a limit on memory or disk, and was killed.
pub const EXIT_LIMIT_EXCEEDED: u8 = 123;
