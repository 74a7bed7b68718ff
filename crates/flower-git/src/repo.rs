//! A repository, and the options of git commands on it.

use crate::GitError;
use crate::command::{DEFAULT_TIMEOUT, Git, in_jail, in_linked, in_main, with_remotes};
use crate::lfs::Lfs;
use crate::repository::Repository;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Objects of a landing must be on disk before MAIN's branch refers to them.
const DURABLE: [&str; 2] = ["-c", "core.fsync=committed,loose-object,reference"];

/// A repository, and the options of commands on it. The operations are in the modules of this crate, by topic.
#[derive(Clone, Debug)]
pub struct Repo {
    location: Location,
    index: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    objects: Option<PathBuf>,
    lenders: Option<Vec<PathBuf>>,
    without_grafts: bool,
    allows_missing: bool,
    operators_settings: bool,
    durable: bool,
    memory: Option<u64>,
    lfs: Option<Lfs>,
    deadline: Duration,
}

#[derive(Clone, Debug)]
enum Location {
    Main(Repository),
    Linked { repository: Repository, admin: PathBuf, tree: PathBuf },
    Jail(Vec<OsString>),
}

impl Repo {
    /// MAIN's repository, with MAIN's files as the work tree.
    pub fn main(repository: &Repository) -> Repo {
        Repo::at(Location::Main(repository.clone()))
    }

    /// A linked worktree of MAIN's repository: `admin` is its folder inside `.git`, `tree` the directory with its files.
    pub fn linked(repository: &Repository, admin: &Path, tree: &Path) -> Repo {
        Repo::at(Location::Linked { repository: repository.clone(), admin: admin.to_owned(), tree: tree.to_owned() })
    }

    /// An agent's private repository; `launcher` is the command that enters its jail.
    pub fn jailed(launcher: Vec<OsString>) -> Repo {
        Repo::at(Location::Jail(launcher))
    }

    fn at(location: Location) -> Repo {
        Repo {
            location,
            index: None,
            work_tree: None,
            objects: None,
            lenders: None,
            without_grafts: false,
            allows_missing: false,
            operators_settings: false,
            durable: false,
            memory: None,
            lfs: None,
            deadline: DEFAULT_TIMEOUT,
        }
    }

    /// Uses another index than the repository's own.
    pub fn with_index(mut self, file: &Path) -> Repo {
        self.index = Some(file.to_owned());
        self
    }

    /// Uses another directory for the files.
    pub fn with_work_tree(mut self, tree: &Path) -> Repo {
        self.work_tree = Some(tree.to_owned());
        self
    }

    /// Writes objects to another folder, which may borrow from the repository's.
    pub fn with_objects_in(mut self, dir: &Path) -> Repo {
        self.objects = Some(dir.to_owned());
        self
    }

    /// Reads these object folders in addition to the repository's own.
    pub fn borrowing(mut self, folders: &[PathBuf]) -> Repo {
        self.lenders = Some(folders.to_vec());
        self
    }

    /// Ignores grafts and replacements.
    pub fn without_grafts(mut self) -> Repo {
        self.without_grafts = true;
        self
    }

    /// Packs also if objects are missing, as in a partial clone.
    pub fn allowing_missing(mut self) -> Repo {
        self.allows_missing = true;
        self
    }

    /// Whether objects may be missing in packs.
    pub(crate) fn allows_missing(&self) -> bool {
        self.allows_missing
    }

    /// Reads the operator's settings in addition to the repository's, for the operator's name and address.
    pub fn with_operators_settings(mut self) -> Repo {
        self.operators_settings = true;
        self
    }

    /// Syncs everything to disk before a command ends.
    pub fn durable(mut self) -> Repo {
        self.durable = true;
        self
    }

    /// Limits the memory of each command, for untrusted objects.
    pub fn with_memory(mut self, most: u64) -> Repo {
        self.memory = Some(most);
        self
    }

    /// Converts files of LFS by flower's own filter. Without this they are taken and written as they are.
    pub fn with_lfs(mut self, lfs: Lfs) -> Repo {
        self.lfs = Some(lfs);
        self
    }

    pub(crate) fn converts_lfs(&self) -> bool {
        self.lfs.is_some()
    }

    /// Takes files of LFS as they are.
    pub(crate) fn without_lfs(&self) -> Repo {
        Repo { lfs: None, ..self.clone() }
    }

    /// Sets the deadline of each command, which is a minute by default.
    pub fn with_deadline(mut self, deadline: Duration) -> Repo {
        self.deadline = deadline;
        self
    }

    /// A command on this repository.
    pub(crate) fn git(&self) -> Git {
        let git = match &self.location {
            Location::Main(repository) => in_main(repository),
            Location::Linked { repository, admin, tree } => in_linked(repository, admin, tree),
            Location::Jail(launcher) => in_jail(launcher.clone()),
        };
        self.with_options(git)
    }

    /// A command that uses the remotes of MAIN's repository with the operator's login.
    pub(crate) fn git_with_remotes(&self) -> Result<Git, GitError> {
        match &self.location {
            Location::Main(repository) => Ok(self.with_options(with_remotes(repository))),
            Location::Linked { .. } | Location::Jail(_) => Err(GitError::NoRemotesHere),
        }
    }

    fn with_options(&self, mut git: Git) -> Git {
        git = git.deadline(self.deadline);
        if self.operators_settings {
            git = git.with_operators_settings();
        }
        if self.durable {
            git = git.args(DURABLE);
        }
        if let Some(index) = &self.index {
            git = git.env("GIT_INDEX_FILE", index);
        }
        if let Some(tree) = &self.work_tree {
            git = git.env("GIT_WORK_TREE", tree);
        }
        if let Some(dir) = &self.objects {
            git = git.objects_in(dir);
        }
        if let Some(folders) = &self.lenders {
            git = git.borrowing(folders);
        }
        if self.without_grafts {
            git = git.env("GIT_GRAFT_FILE", "/dev/null");
        }
        if let Some(most) = self.memory {
            git = git.memory(most);
        }
        if let Some(lfs) = &self.lfs {
            git = git.lfs(lfs);
        }
        git
    }
}
