//! Runs programs: each has a deadline, no standard input, and does not outlive this program.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::guard::{Ending, Guard};

/// A program starts only once its guard runs: if this program were killed in between, the other would outlive it.
const WAIT_FOR_GUARD: &str = r#"read -r _ && exec "$@" </dev/null"#;

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

pub(crate) struct Program {
    pub(crate) command: Command,
    name: String,
    pub(crate) deadline: Duration,
    leftover: Option<PathBuf>,
}

impl Program {
    pub(crate) fn new(program: impl AsRef<OsStr>, deadline: Duration) -> Self {
        let program = program.as_ref();
        let mut command = Command::new("sh");
        command.args(["-c", WAIT_FOR_GUARD, "start"]).arg(program);
        command.stdin(Stdio::piped()).process_group(0);
        // `cargo run` sets these; a nested cargo would see changed variables and rebuild.
        for (key, _) in std::env::vars_os() {
            let key = key.to_string_lossy();
            if key.starts_with("CARGO_PKG_") || key.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&*key);
            }
        }
        let file_name = Path::new(program).file_name().unwrap_or(program);
        Self { name: file_name.to_string_lossy().into_owned(), command, deadline, leftover: None }
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.command.args(args);
        self
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    pub(crate) fn without_env(mut self, key: &str) -> Self {
        self.command.env_remove(key);
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Removes `directory` if the program is ended early or this program dies.
    pub(crate) fn leftover(mut self, directory: &Path) -> Self {
        self.leftover = Some(directory.to_owned());
        self
    }

    /// Runs to the end without showing output, and returns its standard output.
    pub(crate) fn output(mut self) -> Result<String, String> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let (line, deadline) = (self.line(), self.deadline);
        let mut running = self.start("TERM")?;
        let stdout = read_in_thread(running.child.stdout.take());
        let stderr = read_in_thread(running.child.stderr.take());
        let status = running.wait(deadline)?;
        let stderr = stderr.join().unwrap_or_default();
        require_success(&line, status, stderr.trim_end())?;
        Ok(stdout.join().unwrap_or_default())
    }

    /// Starts a server that writes to `log` and is ended with `signal` when its value is dropped.
    pub(crate) fn serve(mut self, log: &Path, signal: &'static str) -> Result<Running, String> {
        let log_error = |error| format!("could not write `{}`: {error}", log.display());
        let file = File::create(log).map_err(log_error)?;
        let copy = file.try_clone().map_err(log_error)?;
        self.command.stdout(file).stderr(copy);
        self.start(signal)
    }

    pub(crate) fn start(mut self, signal: &'static str) -> Result<Running, String> {
        let name = self.name;
        let mut child = self.command.spawn().map_err(|error| format!("could not start `{name}`: {error}"))?;
        let ending = Ending { signal, leftover: self.leftover.as_deref() };
        match Guard::start(child.id(), ending) {
            Ok(guard) => {
                if let Some(mut pipe) = child.stdin.take() {
                    let _ = pipe.write_all(b"go\n");
                }
                Ok(Running { name, child, guard })
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(format!("could not start `sh` to guard `{name}`: {error}"))
            }
        }
    }

    pub(crate) fn line(&self) -> String {
        let own_words = ["-c", WAIT_FOR_GUARD, "start", "PROGRAM"].len();
        let args = self.command.get_args().skip(own_words).map(OsStr::to_string_lossy);
        let words: Vec<_> = std::iter::once(self.name.as_str().into()).chain(args).collect();
        words.join(" ")
    }
}

/// A started program; ended together with its process group when dropped.
pub(crate) struct Running {
    name: String,
    pub(crate) child: Child,
    guard: Guard,
}

impl Running {
    pub(crate) fn ended(&mut self) -> Result<Option<ExitStatus>, String> {
        let waited = self.child.try_wait();
        waited.map_err(|error| format!("could not wait for `{}`: {error}", self.name))
    }

    pub(crate) fn wait(mut self, deadline: Duration) -> Result<ExitStatus, String> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if start.elapsed() > deadline {
                return Err(format!(
                    "`{}` was stopped: it was still running after {} s",
                    self.name,
                    deadline.as_secs_f32()
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(Some(_)) = self.child.try_wait() {
            self.guard.dismiss();
        } else {
            self.guard.end_group();
            let _ = self.child.wait();
            self.guard.join();
        }
    }
}

pub(crate) fn require_success(line: &str, status: ExitStatus, stderr: &str) -> Result<(), String> {
    match (status.success(), stderr) {
        (true, _) => Ok(()),
        (false, "") => Err(format!("`{line}` failed ({status})")),
        (false, stderr) => Err(format!("`{line}` failed ({status}):\n{stderr}")),
    }
}

/// Reads in a thread: a program that waits for space in one pipe does not close the other.
pub(crate) fn read_in_thread(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
