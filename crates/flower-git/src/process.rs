//! Runs one git process with a fixed environment, bounded output and a deadline.

use crate::GitError;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, PipeWriter};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Enough for the status of a million files; longer output is a bug or an attack.
const MAX_OUTPUT_BYTES: usize = 256 * 1024 * 1024;
const MAX_STDERR_BYTES: usize = 64 * 1024;
/// Time between SIGTERM and SIGKILL.
const KILL_DELAY: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Run {
    program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) dir: Option<PathBuf>,
    pub(super) input: Option<Vec<u8>>,
    /// Pipes from and to another process.
    pub(super) reads: Option<PipeReader>,
    pub(super) writes: Option<PipeWriter>,
    /// The longest output.
    pub(super) most: usize,
    /// The maximum of memory, for untrusted input.
    pub(super) memory: Option<u64>,
    pub(super) deadline: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    /// The command, for errors.
    command: String,
}

impl Run {
    pub(super) fn new(program: OsString, deadline: Duration) -> Run {
        Run {
            program,
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            input: None,
            reads: None,
            writes: None,
            most: MAX_OUTPUT_BYTES,
            memory: None,
            deadline,
        }
    }

    /// The subcommand and its arguments, without global options, for errors.
    fn name(&self) -> String {
        let own = self.args.iter().rposition(|arg| arg == "git").map_or(0, |at| at + 1);
        // Skips settings of this one call.
        let set = self.args[own..].chunks(2).take_while(|pair| pair[0] == "-c").count() * 2;
        let words = self.args[own..].iter().skip(set).take(3).map(|arg| arg.to_string_lossy().into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    pub(super) async fn output(self) -> Result<Output, GitError> {
        let command = self.name();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let mut process = Command::new(program_path(&self.program, &path));
        process.args(&self.args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process.env("PATH", path);
        process.envs(self.env.iter().map(|(name, value)| (name, value)));
        // A process group of its own, so that git's children end with it.
        process.process_group(0);
        if let Some(dir) = &self.dir {
            process.current_dir(dir);
        }
        if self.input.is_some() {
            process.stdin(Stdio::piped());
        }
        if let Some(reads) = self.reads {
            process.stdin(reads);
        }
        if let Some(writes) = self.writes {
            process.stdout(writes);
        }
        let child = process.spawn().map_err(|error| GitError::NotStarted(error.to_string()))?;
        // Closes flower's ends of the pipes; otherwise the other process would wait for their end for ever.
        drop(process);
        let mut group = ProcessGroup { id: child.id().and_then(|id| Pid::from_raw(id.cast_signed())) };
        if let Some(most) = self.memory {
            group
                .bound_memory(most)
                .map_err(|error| GitError::Io { command: command.clone(), error: error.to_string() })?;
        }
        let talk = exchange(child, self.input.unwrap_or_default(), self.most);
        let answer = tokio::time::timeout(self.deadline, talk).await;
        match answer {
            Ok(Ok(Some((code, stdout, stderr)))) => {
                group.id = None;
                let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
                Ok(Output { code, stdout, stderr, command })
            }
            Ok(Ok(None)) => Err(GitError::TooMuch { command, most: self.most }),
            Ok(Err(error)) => Err(GitError::Io { command, error: error.to_string() }),
            Err(_) => Err(GitError::Deadline { command, seconds: self.deadline.as_secs() }),
        }
    }
}

/// The full path of a program. To find a plain name in a PATH that is set for the child, the standard library would fork, which copies
/// all memory maps of the daemon.
fn program_path(program: &OsStr, path: &OsStr) -> PathBuf {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return program.to_owned();
    }
    // Starting it will report that it was not found.
    in_path(program, path).unwrap_or_else(|| program.to_owned())
}

fn in_path(program: &Path, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|place| {
        place.is_absolute()
            && place.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// The path of an installed program.
pub(super) fn find_program(name: &str) -> Option<PathBuf> {
    in_path(Path::new(name), &std::env::var_os("PATH")?)
}

impl Output {
    pub(super) fn require_success(self) -> Result<Output, GitError> {
        if self.code == 0 {
            return Ok(self);
        }
        Err(GitError::Failed { command: self.command, code: self.code, stderr: self.stderr })
    }

    /// The output without its last line break.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// The items of an output in which each ends with NUL.
    pub(crate) fn items(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|&byte| byte == 0).filter(|item| !item.is_empty())
    }
}

/// Ends a process group when it is dropped: first with SIGTERM, so that git removes its locks.
struct ProcessGroup {
    id: Option<Pid>,
}

impl ProcessGroup {
    /// Limits the private memory of the process. Files that are mapped for reading do not count.
    fn bound_memory(&self, most: u64) -> rustix::io::Result<()> {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        match prlimit(self.id, Resource::Data, limit) {
            // The process has ended already.
            Err(rustix::io::Errno::SRCH) => Ok(()),
            done => done.map(|_| ()),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(id) = self.id {
            // The group has no process any more.
            let _ = kill_process_group(id, signal);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        self.signal(Signal::TERM);
        std::thread::spawn(move || {
            std::thread::sleep(KILL_DELAY);
            let _ = kill_process_group(id, Signal::KILL);
        });
    }
}

type ExitAndOutput = (i32, Vec<u8>, Vec<u8>);

/// Writes the input, reads the output and waits, all at the same time. `None` if the output is too long.
async fn exchange(mut child: Child, input: Vec<u8>, most: usize) -> std::io::Result<Option<ExitAndOutput>> {
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // git may close its input before the end.
            let _ = stdin.write_all(&input).await;
        }
    };
    let errors = async {
        let Some(mut stderr) = stderr else { return Ok(Vec::new()) };
        let kept = read(&mut stderr, MAX_STDERR_BYTES).await?;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
        Ok::<_, std::io::Error>(kept)
    };
    let answer = async {
        let Some(mut stdout) = stdout else { return Ok(Some(Vec::new())) };
        let answer = read(&mut stdout, most + 1).await?;
        // The pipe is dropped when the output is too long, so that the process fails instead of waiting.
        Ok::<_, std::io::Error>((answer.len() <= most).then_some(answer))
    };
    let ((), stdout, stderr) = tokio::join!(write, answer, errors);
    let Some(stdout) = stdout? else { return Ok(None) };
    let status = child.wait().await?;
    let code = std::os::unix::process::ExitStatusExt::signal(&status).map_or(status.code().unwrap_or(-1), |s| 128 + s);
    Ok(Some((code, stdout, stderr?)))
}

async fn read(from: &mut (impl AsyncRead + Unpin), most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
