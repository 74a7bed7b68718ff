//! Builds git commands: the repository, the environment, and the settings that are disabled.

use crate::GitError;
use crate::guard;
use crate::lfs::Lfs;
use crate::process::{Output, Run};
use crate::repository::Repository;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Enough for every command whose time does not grow with the repository.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A git command that has not been started.
#[derive(Debug)]
pub(crate) struct Git {
    run: Run,
    /// The repository whose configuration must be disarmed, and the folder in which git reads it.
    guarded: Option<(Repository, PathBuf)>,
    reach: Reach,
    /// Settings that name flower's own filter.
    filter: Vec<(OsString, OsString)>,
}

/// Whether a command may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Nowhere,
    /// The operator's remotes, with the operator's login.
    Remotes,
}

/// git on MAIN's repository, with MAIN's files as its work tree.
pub(crate) fn in_main(repository: &Repository) -> Git {
    let mut git = pinned(repository, &repository.git_dir, &repository.root);
    // From inside of `.git`, git would interpret paths relative to it.
    git.run.dir = Some(repository.root.clone());
    git
}

/// git on a linked worktree of MAIN's repository: `admin` is its folder inside `.git`.
pub(crate) fn in_linked(repository: &Repository, admin: &Path, tree: &Path) -> Git {
    pinned(repository, admin, tree)
}

/// git inside of a jail; `launcher` is the command that enters it.
pub(crate) fn in_jail(launcher: Vec<OsString>) -> Git {
    let mut launcher = launcher.into_iter();
    let mut run = Run::new(launcher.next().unwrap_or_default(), DEFAULT_TIMEOUT);
    run.args.extend(launcher);
    run.args.push("git".into());
    Git { run, guarded: None, reach: Reach::Nowhere, filter: Vec::new() }
}

/// git on MAIN's repository that uses its remotes with the operator's login. Programs that the repository's own configuration names do
/// not run here either.
pub(crate) fn with_remotes(repository: &Repository) -> Git {
    let mut git = in_main(repository).with_operators_settings().env("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
    for name in ["SSH_AUTH_SOCK", "SSH_AGENT_PID", "http_proxy", "https_proxy", "HTTPS_PROXY", "NO_PROXY", "no_proxy"] {
        if let Some(value) = std::env::var_os(name) {
            git = git.env(name, value);
        }
    }
    git.reach = Reach::Remotes;
    git
}

fn pinned(repository: &Repository, git_dir: &Path, tree: &Path) -> Git {
    let mut run = Run::new("git".into(), DEFAULT_TIMEOUT);
    run.dir = Some(repository.git_dir.clone());
    run.env.extend([
        ("GIT_DIR".into(), git_dir.into()),
        ("GIT_COMMON_DIR".into(), repository.git_dir.clone().into()),
        ("GIT_WORK_TREE".into(), tree.into()),
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("GIT_ATTR_NOSYSTEM".into(), "1".into()),
        ("GIT_TERMINAL_PROMPT".into(), "0".into()),
        ("GIT_NO_LAZY_FETCH".into(), "1".into()),
        ("GIT_NO_REPLACE_OBJECTS".into(), "1".into()),
        ("GIT_ALLOW_PROTOCOL".into(), "none".into()),
        ("HOME".into(), "/nonexistent".into()),
        ("LC_ALL".into(), "C".into()),
    ]);
    Git { run, guarded: Some((repository.clone(), git_dir.to_owned())), reach: Reach::Nowhere, filter: Vec::new() }
}

impl Git {
    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Git {
        self.run.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl Into<OsString>) -> Git {
        self.run.env.retain(|(known, _)| known != name);
        self.run.env.push((name.into(), value.into()));
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Git {
        self.run.input = Some(input.into());
        self
    }

    /// Writes objects to another folder, which may borrow from the repository's.
    pub(crate) fn objects_in(self, dir: &Path) -> Git {
        self.env("GIT_OBJECT_DIRECTORY", dir)
    }

    /// Reads these object folders in addition to the repository's own.
    pub(crate) fn borrowing(self, folders: &[PathBuf]) -> Git {
        self.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(folders))
    }

    /// Limits the memory, for untrusted input that could make git allocate without bound.
    pub(crate) fn memory(mut self, most: u64) -> Git {
        self.run.memory = Some(most);
        self
    }

    /// Ends the command as soon as its output is longer.
    pub(crate) fn answer_at_most(mut self, most: usize) -> Git {
        self.run.most = most;
        self
    }

    /// Converts files of LFS by flower's own filter.
    pub(crate) fn lfs(mut self, lfs: &Lfs) -> Git {
        self.filter = lfs.settings();
        self
    }

    pub(crate) fn deadline(mut self, deadline: Duration) -> Git {
        self.run.deadline = deadline;
        self
    }

    /// Reads the operator's settings in addition to the repository's, only for the operator's name and address.
    pub(crate) fn with_operators_settings(mut self) -> Git {
        self.run.env.retain(|(name, _)| name != "GIT_CONFIG_GLOBAL" && name != "GIT_CONFIG_NOSYSTEM" && name != "HOME");
        self.run.env.extend(std::env::var_os("HOME").map(|home| ("HOME".into(), home)));
        self.run.env.extend(std::env::var_os("XDG_CONFIG_HOME").map(|dir| ("XDG_CONFIG_HOME".into(), dir)));
        self
    }

    /// Runs the command. Any exit code is a success.
    pub(crate) async fn output(self) -> Result<Output, GitError> {
        self.disarmed().await?.output().await
    }

    async fn disarmed(mut self) -> Result<Run, GitError> {
        if let Some((repository, git_dir)) = self.guarded.take() {
            guard::disarm(&repository, &git_dir, self.reach, &self.filter, &mut self.run).await?;
        }
        Ok(self.run)
    }

    /// Runs the command. Fails unless its exit code is 0.
    pub(crate) async fn run(self) -> Result<Output, GitError> {
        self.output().await?.require_success()
    }

    /// The output as one line.
    pub(crate) async fn line(self) -> Result<String, GitError> {
        Ok(self.run().await?.line())
    }

    /// Whether the exit code is 0, for queries that git answers by it.
    pub(crate) async fn succeeds(self) -> Result<bool, GitError> {
        let output = self.output().await?;
        match output.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(output.require_success().expect_err("neither yes nor no")),
        }
    }
}

/// A list of folders for git's environment, with any characters in their names.
fn quoted(folders: &[PathBuf]) -> OsString {
    let mut list = Vec::new();
    for folder in folders {
        let separator: &[u8] = if list.is_empty() { b"\"" } else { b":\"" };
        list.extend_from_slice(separator);
        for &byte in folder.as_os_str().as_bytes() {
            if matches!(byte, b'"' | b'\\') {
                list.push(b'\\');
            }
            list.push(byte);
        }
        list.push(b'"');
    }
    OsString::from_vec(list)
}

/// Runs two commands connected by a pipe. Returns the result of each.
pub(crate) async fn piped(from: Git, to: Git) -> (Result<Output, GitError>, Result<Output, GitError>) {
    let (mut from, mut to) = match (from.disarmed().await, to.disarmed().await) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(error), _) | (_, Err(error)) => return (Err(error.clone()), Err(error)),
    };
    match std::io::pipe() {
        Ok((reads, writes)) => (to.reads, from.writes) = (Some(reads), Some(writes)),
        Err(error) => {
            let error = GitError::NotStarted(error.to_string());
            return (Err(error.clone()), Err(error));
        }
    }
    let (to, from) = tokio::join!(to.output(), from.output());
    let success = |output: Output| output.require_success();
    (from.and_then(success), to.and_then(success))
}
