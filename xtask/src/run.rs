//! Runs programs of developers' tasks, with what the programs of the demo do not need.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) use crate::story::program::{Program, Running, minutes, seconds};
use crate::story::program::{read_in_thread, require_success};
use crate::user::User;

pub(crate) fn repository_root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask is in the repository")
}

/// The folder of cargo's build results.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from)
}

/// Whether incremental builds are in use here. Elsewhere, as in CI, preparing for the next build would take a fifth of the time.
fn has_incremental_builds() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let entries = std::fs::read_dir(target_folder().join("debug/incremental"));
        entries.into_iter().flatten().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("flower-"))
    })
}

impl Program {
    /// The cargo that runs this program, so that all steps use one toolchain.
    pub(crate) fn cargo(deadline: Duration) -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let program = Self::new(cargo, deadline);
        if has_incremental_builds() { program } else { program.env("CARGO_INCREMENTAL", "0") }
    }

    pub(crate) fn without_any_env(mut self) -> Self {
        self.command.env_clear();
        self
    }

    pub(crate) fn user(mut self, user: Option<User>) -> Self {
        if let Some(User { uid, gid }) = user {
            // The standard library also drops root's supplementary groups when it changes the user.
            self.command.uid(uid).gid(gid);
        }
        self
    }

    /// Runs to the end with its output shown. Fails if the program fails.
    pub(crate) fn run(self) -> Result<(), String> {
        let line = self.line();
        eprintln!("$ {line}");
        let deadline = self.deadline;
        let status = self.start("TERM")?.wait(deadline)?;
        require_success(&line, status, "")
    }

    /// Runs to the end with its standard error shown, and returns its standard output.
    pub(crate) fn capture_stdout(mut self) -> Result<String, String> {
        self.command.stdout(Stdio::piped());
        let (line, deadline) = (self.line(), self.deadline);
        eprintln!("$ {line}");
        let mut running = self.start("TERM")?;
        let stdout = read_in_thread(running.child.stdout.take());
        require_success(&line, running.wait(deadline)?, "")?;
        Ok(stdout.join().unwrap_or_default())
    }
}
