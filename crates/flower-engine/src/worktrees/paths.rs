//! Where everything of one worktree lies, and whether it is still there.

use crate::home::Home;
use flower_contract::error::Problem;
use flower_core::Worktree;
use flower_core::worktree::Seal;
use flower_git::repository::Repository;
use flower_git::{CommitId, OwnRef, Repo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(crate) struct WorktreePaths {
    pub(crate) number: u64,
    pub(crate) repository: Repository,
    pub(crate) project: String,
    pub(crate) name: String,
    pub(crate) branch: String,
    pub(crate) seal: Seal,
    /// The directory that one works in.
    pub(crate) tree: PathBuf,
    /// What belongs to it but is not in it.
    pub(crate) folder: PathBuf,
    /// The project's store of objects.
    pub(crate) objects: PathBuf,
    /// What no jail shows although a folder of the system may contain it: FLOWER_HOME and every project.
    pub(crate) covered: Vec<PathBuf>,
}

/// What was found where a worktree should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    There,
    Missing,
    /// Something else is there; what.
    Unknown(String),
}

impl WorktreePaths {
    pub(crate) fn new(
        home: &Home,
        repository: Repository,
        worktree: &Worktree,
        covered: Vec<PathBuf>,
    ) -> Result<WorktreePaths, Problem> {
        let place = |base: PathBuf| -> Result<PathBuf, Problem> {
            let project = base.join(&worktree.project);
            fs::create_dir_all(&project).map_err(|error| home.problem(&project, &error))?;
            // git writes down real paths, so ours must be such too.
            let real = project.canonicalize().map_err(|error| home.problem(&project, &error))?;
            Ok(real.join(&worktree.name))
        };
        Ok(WorktreePaths {
            number: worktree.number,
            tree: place(home.worktrees())?,
            folder: place(home.seals())?,
            objects: home.objects().join(&worktree.project),
            repository,
            project: worktree.project.clone(),
            name: worktree.name.clone(),
            branch: worktree.branch.clone(),
            seal: worktree.seal,
            covered,
        })
    }

    /// What runs inside sees this repository instead of MAIN's.
    pub(crate) fn private(&self) -> PathBuf {
        self.folder.join("private.git")
    }

    /// What runs inside sees this instead of the worktree's `.git` file.
    pub(super) fn gitfile(&self) -> PathBuf {
        self.folder.join("gitfile")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Held, shared, by whatever runs inside.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub(super) fn setup_log(&self) -> PathBuf {
        self.folder.join("setup.log")
    }

    pub(super) fn setup_state(&self) -> PathBuf {
        self.folder.join("setup.json")
    }

    /// Names the store that what runs inside reads instead of all of MAIN's objects.
    pub(super) fn lent(&self) -> PathBuf {
        self.folder.join("lent")
    }

    /// The generation of that store, if there is one for it: otherwise all of MAIN's objects are read.
    pub(super) fn store(&self) -> Option<String> {
        fs::read_to_string(self.lent()).ok().map(|text| text.trim_end().to_owned())
    }

    /// What was in the private repository when it was last mirrored.
    pub(super) fn mirrored(&self) -> PathBuf {
        self.folder.join("mirrored")
    }

    /// How many bytes of commits it has brought into MAIN's repository.
    pub(super) fn brought(&self) -> PathBuf {
        self.folder.join("brought")
    }

    /// Why it was not mirrored, if it was not.
    pub(super) fn refused(&self) -> PathBuf {
        self.folder.join("refused.json")
    }

    /// What was found instead of the worktree's `.git` file: kept, and never followed.
    pub(super) fn displaced(&self) -> PathBuf {
        self.folder.join("displaced.git")
    }

    /// Whether `.git` below `tree` is there, but is not the file that leads to MAIN's repository.
    pub(super) fn leads_elsewhere(&self, tree: &Path) -> bool {
        let own = self.repository.git_dir.join("worktrees");
        let leads_home = |text: String| {
            text.strip_prefix("gitdir: ").is_some_and(|to| Path::new(to.trim_end()).parent() == Some(&own))
        };
        let dot_git = tree.join(".git");
        match fs::symlink_metadata(&dot_git) {
            Ok(found) => !found.is_file() || !fs::read_to_string(&dot_git).is_ok_and(leads_home),
            Err(_) => false,
        }
    }

    /// MAIN's repository.
    pub(crate) fn repo(&self) -> Repo {
        Repo::main(&self.repository)
    }

    /// The operator's side of it, if git knows it.
    pub(super) fn linked(&self) -> Option<Repo> {
        Some(Repo::linked(&self.repository, &self.admin()?, &self.tree))
    }

    pub(crate) fn full_branch(&self) -> OwnRef {
        OwnRef::branch(&self.branch).expect("branches of worktrees lie below `flower/`")
    }

    /// The ref that keeps one commit there.
    pub(super) fn keeper(&self, commit: &CommitId) -> OwnRef {
        OwnRef::parse(&format!("{}{commit}", self.keep())).expect("a worktree's name is plain")
    }

    /// Commits below this stay in MAIN's repository as long as the private one may borrow them.
    pub(super) fn keep(&self) -> String {
        keep(&self.name)
    }

    /// Its folder inside MAIN's repository, as git chose it.
    pub(super) fn admin(&self) -> Option<PathBuf> {
        let all = self.repository.git_dir.join("worktrees");
        let expected = self.tree.join(".git");
        let is_ours = |admin: &Path| {
            fs::read_to_string(admin.join("gitdir")).is_ok_and(|line| Path::new(line.trim_end()) == expected)
        };
        // Nearly always git takes the directory's own name.
        let first = all.join(&self.name);
        if is_ours(&first) {
            return Some(first);
        }
        let entries = fs::read_dir(&all).ok()?;
        entries.filter_map(|entry| Some(entry.ok()?.path())).find(|admin| is_ours(admin))
    }

    pub(super) fn look(&self) -> Found {
        match fs::symlink_metadata(&self.tree) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Missing,
            Err(error) => return Found::Unknown(format!("{}: {error}", self.tree.display())),
            Ok(found) if !found.is_dir() => {
                return Found::Unknown(format!("{} is no directory any more", self.tree.display()));
            }
            Ok(_) => {}
        }
        let Some(admin) = self.admin() else {
            return Found::Unknown(format!("git lists no worktree at {} any more", self.tree.display()));
        };
        let expected = gitfile_text(&admin);
        match fs::read_to_string(self.tree.join(".git")) {
            Ok(text) if text.trim_end() == expected.trim_end() => Found::There,
            Ok(_) => Found::Unknown(format!("{} leads elsewhere", self.tree.join(".git").display())),
            Err(error) => Found::Unknown(format!("{}: {error}", self.tree.join(".git").display())),
        }
    }
}

pub(super) fn keep(name: &str) -> String {
    format!("refs/flower/keep/{name}/")
}

/// The content of a `.git` file that leads to `git_dir`.
pub(crate) fn gitfile_text(git_dir: &Path) -> String {
    format!("gitdir: {}\n", git_dir.display())
}
