//! git in one place, with what it may see there.

use crate::GitError;
use crate::command::{DEADLINE, Git, in_jail, in_linked, in_main, with_remotes};
use crate::repository::Repository;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that one landing brings is on disk before MAIN's branch names it.
const DURABLE: [&str; 2] = ["-c", "core.fsync=committed,loose-object,reference"];

/// A repository that git works on, and how. The operations are in the modules of this crate, by topic.
#[derive(Clone, Debug)]
pub struct Repo {
    place: Place,
    index: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    objects: Option<PathBuf>,
    lenders: Option<Vec<PathBuf>>,
    without_grafts: bool,
    operators_settings: bool,
    durable: bool,
    memory: Option<u64>,
    deadline: Duration,
}

#[derive(Clone, Debug)]
enum Place {
    Main(Repository),
    Linked { repository: Repository, admin: PathBuf, tree: PathBuf },
    Jail(Vec<OsString>),
}

impl Repo {
    /// MAIN's repository, with MAIN's files as the work tree.
    pub fn main(repository: &Repository) -> Repo {
        Repo::at(Place::Main(repository.clone()))
    }

    /// The operator's side of a worktree: `admin` is its folder inside MAIN's repository, `tree` the directory with its files.
    pub fn linked(repository: &Repository, admin: &Path, tree: &Path) -> Repo {
        Repo::at(Place::Linked { repository: repository.clone(), admin: admin.to_owned(), tree: tree.to_owned() })
    }

    /// An agent's private repository; `launcher` is the command that enters its jail.
    pub fn jailed(launcher: Vec<OsString>) -> Repo {
        Repo::at(Place::Jail(launcher))
    }

    fn at(place: Place) -> Repo {
        Repo {
            place,
            index: None,
            work_tree: None,
            objects: None,
            lenders: None,
            without_grafts: false,
            operators_settings: false,
            durable: false,
            memory: None,
            deadline: DEADLINE,
        }
    }

    /// With another index than the repository's own.
    pub fn with_index(mut self, file: &Path) -> Repo {
        self.index = Some(file.to_owned());
        self
    }

    /// With another directory for the files.
    pub fn with_work_tree(mut self, tree: &Path) -> Repo {
        self.work_tree = Some(tree.to_owned());
        self
    }

    /// With a folder of its own for objects, which may borrow from the repository's.
    pub fn with_objects_in(mut self, dir: &Path) -> Repo {
        self.objects = Some(dir.to_owned());
        self
    }

    /// With these folders of objects beside the repository's own.
    pub fn borrowing(mut self, folders: &[PathBuf]) -> Repo {
        self.lenders = Some(folders.to_vec());
        self
    }

    /// Without parents that are only claimed locally.
    pub fn without_grafts(mut self) -> Repo {
        self.without_grafts = true;
        self
    }

    /// With the operator's own settings beside the repository's: for reading and using who they are.
    pub fn with_operators_settings(mut self) -> Repo {
        self.operators_settings = true;
        self
    }

    /// What is written is on disk when a command ends.
    pub fn durable(mut self) -> Repo {
        self.durable = true;
        self
    }

    /// With at most so many bytes of memory for each command: for objects that cannot be trusted.
    pub fn with_memory(mut self, most: u64) -> Repo {
        self.memory = Some(most);
        self
    }

    /// With so much time for each command, instead of a minute.
    pub fn with_deadline(mut self, deadline: Duration) -> Repo {
        self.deadline = deadline;
        self
    }

    /// A command in this place.
    pub(crate) fn git(&self) -> Git {
        let git = match &self.place {
            Place::Main(repository) => in_main(repository),
            Place::Linked { repository, admin, tree } => in_linked(repository, admin, tree),
            Place::Jail(launcher) => in_jail(launcher.clone()),
        };
        self.dressed(git)
    }

    /// A command that speaks with the remotes of MAIN's repository as the operator would.
    pub(crate) fn git_with_remotes(&self) -> Result<Git, GitError> {
        match &self.place {
            Place::Main(repository) => Ok(self.dressed(with_remotes(repository))),
            Place::Linked { .. } | Place::Jail(_) => Err(GitError::NoRemotesHere),
        }
    }

    fn dressed(&self, mut git: Git) -> Git {
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
        git
    }
}
