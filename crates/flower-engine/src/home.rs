//! `FLOWER_HOME`: the directory of all state, and the names of the files in it.

use flower_contract::error::{Problem, ProblemKind};
use flower_core::AgentId;
use flower_git::repository::Repository;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

#[derive(Clone, Debug)]
pub struct Home {
    dir: PathBuf,
    /// The folder of each project whose name differs from it: a renamed project keeps the folders of its first name.
    folders: Arc<RwLock<HashMap<String, String>>>,
}

impl Home {
    /// From `FLOWER_HOME`, else `$XDG_DATA_HOME/flower`, else `~/.local/share/flower`.
    pub fn from_environment() -> Result<Home, Problem> {
        let absolute = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let dir = match (absolute("FLOWER_HOME"), absolute("XDG_DATA_HOME"), absolute("HOME")) {
            (Some(dir), _, _) => dir,
            (None, Some(data), _) => data.join("flower"),
            (None, None, Some(home)) => home.join(".local/share/flower"),
            (None, None, None) => {
                return Err(Problem::usage("flower has no directory for its state", "set FLOWER_HOME to a folder"));
            }
        };
        // It would be another directory in each working directory, often inside of a repository.
        if dir.is_relative() {
            return Err(Problem::usage(
                format!("FLOWER_HOME is the relative path {}", dir.display()),
                "set FLOWER_HOME to a full path",
            ));
        }
        let dir = std::path::absolute(&dir).map_err(|error| {
            Problem::usage(format!("FLOWER_HOME is no path: {error}"), "set FLOWER_HOME to a folder")
        })?;
        Ok(Home::at(dir))
    }

    pub fn at(dir: impl Into<PathBuf>) -> Home {
        Home { dir: dir.into(), folders: Arc::default() }
    }

    /// The folder of a project below a folder that all projects share, such as [`Home::worktrees`].
    pub fn in_project(&self, base: impl AsRef<Path>, project: &str) -> PathBuf {
        let folders = self.folders.read().expect("no panic while held");
        base.as_ref().join(folders.get(project).map_or(project, String::as_str))
    }

    /// Sets the folder of a project.
    pub(crate) fn set_folder(&self, project: &str, folder: &str) {
        let mut folders = self.folders.write().expect("no panic while held");
        if project == folder {
            folders.remove(project);
        } else {
            folders.insert(project.to_owned(), folder.to_owned());
        }
    }

    /// The problem of a home inside of a checkout: its files would be part of MAIN's, and a worktree would lie in MAIN.
    pub fn problem_inside(&self, checkout: &Path) -> Option<Problem> {
        // The home need not exist yet.
        let real = self.dir.ancestors().find_map(|above| {
            let rest = self.dir.strip_prefix(above).expect("an ancestor");
            above.canonicalize().ok().map(|above| above.join(rest))
        })?;
        real.starts_with(checkout).then(|| {
            Problem::new(
                ProblemKind::Refused,
                format!("FLOWER_HOME, {}, lies inside of the checkout {}", self.dir.display(), checkout.display()),
                "set FLOWER_HOME to a folder elsewhere",
            )
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates the directory, readable by its owner only.
    pub fn create(&self) -> Result<(), Problem> {
        // A mode that forbids writing was set on purpose.
        if fs::metadata(&self.dir).is_ok_and(|found| found.permissions().mode() & 0o200 == 0) {
            return Err(self.problem(&self.dir, &io::ErrorKind::PermissionDenied.into()));
        }
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.and_then(|()| fs::set_permissions(&self.dir, fs::Permissions::from_mode(0o700)))
            .map_err(|error| self.problem(&self.dir, &error))
    }

    pub fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// The lock that all processes started by the daemon hold.
    pub fn children(&self) -> PathBuf {
        self.dir.join("children.lock")
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join("flower.sock")
    }

    /// Where jails ask the daemon for their network.
    pub fn network_socket(&self) -> PathBuf {
        self.dir.join("network.sock")
    }

    pub fn token(&self) -> PathBuf {
        self.dir.join("token")
    }

    pub fn port(&self) -> PathBuf {
        self.dir.join("port")
    }

    pub fn sessions(&self) -> PathBuf {
        self.dir.join("sessions.json")
    }

    /// The user's own settings, written by hand.
    pub fn config(&self) -> PathBuf {
        self.dir.join("config.toml")
    }

    pub fn daemon_log(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }

    pub fn database(&self) -> PathBuf {
        self.dir.join("flower.db")
    }

    /// The directories that agents and the operator work in.
    pub fn worktrees(&self) -> PathBuf {
        self.dir.join("worktrees")
    }

    /// State of worktrees that is outside of their directories: private repositories, homes, caches.
    pub fn seals(&self) -> PathBuf {
        self.dir.join("seals")
    }

    /// Per project: a copy of the objects of MAIN's repository that sealed worktrees may read.
    pub fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    /// Archives of removed worktrees. Readable by their owner only: ignored files hold secrets.
    pub fn archive(&self) -> PathBuf {
        self.dir.join("archive")
    }

    /// Logs of checks, and the journals of landings.
    pub fn landings(&self) -> PathBuf {
        self.dir.join("landings")
    }

    /// Checkouts of merges with MAIN, in which the checks run.
    pub fn candidates(&self) -> PathBuf {
        self.dir.join("candidates")
    }

    /// Logs of `flower check`. Deleted when the daemon starts.
    pub fn check_runs(&self) -> PathBuf {
        self.dir.join("checks")
    }

    /// What `[checks] prepare` has made in commits that have landed.
    pub fn prepared(&self) -> PathBuf {
        self.dir.join("prepared")
    }

    /// Which checks have passed on which trees.
    pub fn green_checks(&self) -> PathBuf {
        self.dir.join("green-checks.json")
    }

    /// Files of one agent: its transcript, its terminal's scrollback, the token of its run.
    pub fn agent(&self, number: AgentId) -> PathBuf {
        self.dir.join("agents").join(number.to_string())
    }

    /// Which agents could be started, by profile.
    pub fn agent_trials(&self) -> PathBuf {
        self.dir.join("agent-trials.json")
    }

    /// The directory in which an agent is tried. Deleted afterwards.
    pub fn agent_trial(&self, profile: &str) -> PathBuf {
        self.dir.join("agents").join(format!("trial-{profile}"))
    }

    /// Directories that wait to be deleted.
    pub fn trash(&self) -> PathBuf {
        self.dir.join("trash")
    }

    /// Copies of the playbooks that projects give to every worktree, and flower's own.
    pub fn playbooks(&self) -> PathBuf {
        self.dir.join("playbooks")
    }

    /// The operator's token; created the first time.
    pub fn require_token(&self) -> Result<String, Problem> {
        let path = self.token();
        match fs::read_to_string(&path) {
            Ok(token) if token.trim().len() == 64 => Ok(token.trim().to_owned()),
            Ok(_) => Err(Problem::unreachable(
                format!("{} holds no token", path.display()),
                "remove that file and run `flower down`, then `flower up`",
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = random_hex();
                write_private(&path, &token).map_err(|error| self.problem(&path, &error))?;
                Ok(token)
            }
            Err(error) => Err(self.problem(&path, &error)),
        }
    }

    pub fn problem(&self, path: &Path, error: &io::Error) -> Problem {
        problem(path, error)
    }
}

/// An IO error on a file below FLOWER_HOME, with a hint.
pub fn problem(path: &Path, error: &io::Error) -> Problem {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ProblemKind::NoSpace,
        _ => ProblemKind::Unreachable,
    };
    let hint = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space and try again".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "make it writable, or set FLOWER_HOME to a folder that is".to_owned()
        }
        _ => "set FLOWER_HOME to a folder that flower may use".to_owned(),
    };
    Problem::new(kind, format!("{}: {error}", path.display()), hint)
}

/// An error of a file in a project's repository, which FLOWER_HOME has nothing to do with.
pub(crate) fn repository_problem(path: &Path, error: &io::Error) -> Problem {
    let mut problem = problem(path, error);
    if problem.kind == ProblemKind::Unreachable {
        problem.hints = vec!["make the repository writable for you, then try again".to_owned()];
    }
    problem
}

/// Fails if this process cannot make files in the folders of `.git` in which flower and git write. git would notice only halfway.
pub(crate) fn require_writable(repository: &Repository) -> Result<(), Problem> {
    let below = ["refs", "objects", "worktrees"].map(|name| repository.git_dir.join(name));
    for dir in std::iter::once(&repository.git_dir).chain(&below).filter(|dir| dir.is_dir()) {
        rustix::fs::access(dir, rustix::fs::Access::WRITE_OK)
            .map_err(|error| repository_problem(dir, &error.into()))?;
    }
    Ok(())
}

/// Writes a file atomically, readable by its owner only.
pub fn write_private(path: &Path, content: &str) -> io::Result<()> {
    use std::io::Write;
    let draft = path.with_extension(format!("draft-{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

/// 256 random bits.
pub fn random_hex() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the kernel gives random bytes");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
