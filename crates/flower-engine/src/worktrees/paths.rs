//! The paths of one worktree, and whether its directory is still in place.

use crate::home::Home;
use flower_contract::error::Problem;
use flower_core::worktree::Seal;
use flower_core::{Worktree, WorktreeId};
use flower_git::repository::Repository;
use flower_git::{CommitId, OwnRef, Repo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(crate) struct WorktreePaths {
    /// `None` for the candidate of a landing, which the log does not record as a worktree.
    pub(crate) number: Option<WorktreeId>,
    pub(crate) repository: Repository,
    pub(crate) project: String,
    pub(crate) name: String,
    pub(crate) branch: String,
    pub(crate) seal: Seal,
    /// The working directory.
    pub(crate) tree: PathBuf,
    /// flower's own files for this worktree, which are not in the working directory.
    pub(crate) folder: PathBuf,
    /// The project's object store.
    pub(crate) objects: PathBuf,
    /// Folders that no jail shows, also if they lie below a system folder: FLOWER_HOME and every project.
    pub(crate) covered: Vec<PathBuf>,
}

/// The state of a worktree's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeState {
    Present,
    Missing,
    /// Something else is at its path, with a description.
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
            let project = home.in_project(base, &worktree.project);
            fs::create_dir_all(&project).map_err(|error| home.problem(&project, &error))?;
            // git records real paths, so the paths given to it must not contain links.
            let real = project.canonicalize().map_err(|error| home.problem(&project, &error))?;
            Ok(real.join(&worktree.name))
        };
        Ok(WorktreePaths {
            number: Some(worktree.number),
            tree: place(home.worktrees())?,
            folder: place(home.seals())?,
            objects: home.in_project(home.objects(), &worktree.project),
            repository,
            project: worktree.project.clone(),
            name: worktree.name.clone(),
            branch: worktree.branch.clone(),
            seal: worktree.seal,
            covered,
        })
    }

    /// The private repository, which programs inside see instead of MAIN's.
    pub(crate) fn private(&self) -> PathBuf {
        self.folder.join("private.git")
    }

    /// The `.git` file that programs inside see instead of the worktree's own.
    pub(super) fn gitfile(&self) -> PathBuf {
        self.folder.join("gitfile")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Every program inside holds this lock, shared.
    pub(crate) fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// The hosts that programs inside have asked for.
    pub(crate) fn network_record(&self) -> PathBuf {
        self.folder.join("network.jsonl")
    }

    pub(super) fn setup_log(&self) -> PathBuf {
        self.folder.join("setup.log")
    }

    pub(super) fn setup_state(&self) -> PathBuf {
        self.folder.join("setup.json")
    }

    /// Names the object store that programs inside read instead of all of MAIN's objects.
    pub(super) fn lent(&self) -> PathBuf {
        self.folder.join("lent")
    }

    /// The generation of that object store. `None` if programs inside read all of MAIN's objects.
    pub(super) fn store(&self) -> Option<String> {
        fs::read_to_string(self.lent()).ok().map(|text| text.trim_end().to_owned())
    }

    /// The stamp and the tip of the private repository when it was last mirrored.
    pub(super) fn mirrored(&self) -> PathBuf {
        self.folder.join("mirrored")
    }

    /// The number of bytes that were imported from this worktree into MAIN's repository.
    pub(super) fn imported(&self) -> PathBuf {
        self.folder.join("brought")
    }

    /// Why the last import was refused.
    pub(super) fn refused(&self) -> PathBuf {
        self.folder.join("refused.json")
    }

    /// A `.git` that was found in place of the worktree's own: kept, and never followed.
    pub(super) fn displaced(&self) -> PathBuf {
        self.folder.join("displaced.git")
    }

    /// Whether `.git` below `tree` exists, but is not the file that leads to MAIN's repository.
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

    /// The linked worktree as the operator's git sees it, if git lists it.
    pub(super) fn linked(&self) -> Option<Repo> {
        Some(Repo::linked(&self.repository, &self.admin()?, &self.tree))
    }

    pub(crate) fn full_branch(&self) -> OwnRef {
        OwnRef::branch(&self.branch).expect("branches of worktrees lie below `flower/`")
    }

    /// The branch that has a commit of the operator which was displaced by commits from inside. No worktree's name has a full stop.
    pub(super) fn operators_branch(&self, commit: &CommitId) -> OwnRef {
        OwnRef::branch(&format!("{}.operator-{}", self.branch, commit.short())).expect("a worktree's name is plain")
    }

    /// The ref that protects one commit from `git gc`.
    pub(super) fn keeper(&self, commit: &CommitId) -> OwnRef {
        OwnRef::parse(&format!("{}{commit}", self.keep())).expect("a worktree's name is plain")
    }

    /// The prefix of refs that protect commits which the private repository borrows from MAIN's.
    pub(super) fn keep(&self) -> String {
        keep(&self.name)
    }

    /// The folder of this worktree inside MAIN's `.git`, which git may have given another name.
    pub(super) fn admin(&self) -> Option<PathBuf> {
        let all = self.repository.git_dir.join("worktrees");
        let expected = self.tree.join(".git");
        let is_ours = |admin: &Path| {
            fs::read_to_string(admin.join("gitdir")).is_ok_and(|line| Path::new(line.trim_end()) == expected)
        };
        // git uses the directory's own name unless it is taken.
        let first = all.join(&self.name);
        if is_ours(&first) {
            return Some(first);
        }
        let entries = fs::read_dir(&all).ok()?;
        entries.filter_map(|entry| Some(entry.ok()?.path())).find(|admin| is_ours(admin))
    }

    pub(super) fn tree_state(&self) -> TreeState {
        match fs::symlink_metadata(&self.tree) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return TreeState::Missing,
            Err(error) => return TreeState::Unknown(format!("{}: {error}", self.tree.display())),
            Ok(found) if !found.is_dir() => {
                return TreeState::Unknown(format!("{} is no directory any more", self.tree.display()));
            }
            Ok(_) => {}
        }
        let Some(admin) = self.admin() else {
            return TreeState::Unknown(format!("git lists no worktree at {} any more", self.tree.display()));
        };
        let expected = gitfile_text(&admin);
        match fs::read_to_string(self.tree.join(".git")) {
            Ok(text) if text.trim_end() == expected.trim_end() => TreeState::Present,
            Ok(_) => TreeState::Unknown(format!("{} leads elsewhere", self.tree.join(".git").display())),
            Err(error) => TreeState::Unknown(format!("{}: {error}", self.tree.join(".git").display())),
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
