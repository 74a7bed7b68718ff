//! Repairs the paths by which the worktrees of a repository and the repository name each other, after the repository was moved.
//! Does what `git worktree repair` does, without starting git, and mends the private repositories of sealed worktrees too.

use super::disk::{self, read_small_text, replace_file};
use super::paths::{WorktreePaths, gitfile_text};
use crate::Worktrees;
use crate::lock;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::worktree::Seal;
use flower_git::repository::Repository;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// More than a file with one path has.
const MAX_BYTES: u64 = 64 * 1024;

impl Worktrees {
    /// Fails if a program runs in a worktree of the project: it sees the repository at its old path.
    pub(crate) async fn require_no_jail(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        for worktree in self.live(project).await? {
            let place = WorktreePaths::new(&self.home, repository.clone(), &worktree, Vec::new())?;
            if lock::is_held(&place.lock()) {
                let name = &worktree.name;
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("a program runs in worktree `{name}`, and knows the repository by its old path"),
                    format!("end what runs there, such as `flower worktree shell {name}`, then try again"),
                ));
            }
        }
        Ok(())
    }

    /// Repairs the paths of all worktrees of a project. `from` is where the repository was.
    pub(crate) async fn relink(&self, project: &str, repository: &Repository, from: &Path) -> Result<(), Problem> {
        let lock = self.lock_of(&repository.git_dir);
        let _held = lock.lock().await;
        for worktree in self.live(project).await? {
            let place = WorktreePaths::new(&self.home, repository.clone(), &worktree, Vec::new())?;
            relink_own(&place).map_err(|error| self.home.problem(&place.tree, &error))?;
            self.watch.add(&place, worktree.number);
        }
        let others = repository.git_dir.join("worktrees");
        for admin in fs::read_dir(&others).into_iter().flatten().flatten() {
            let admin = admin.path();
            relink_other(&admin, repository, from).map_err(|error| crate::home::problem(&admin, &error))?;
        }
        Ok(())
    }

    /// Takes what a copied repository has of the worktrees and landings of the original: only the original has them.
    pub(crate) async fn tidy_copy(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let ours = self.home.worktrees().canonicalize().unwrap_or_else(|_| self.home.worktrees());
        for admin in fs::read_dir(repository.git_dir.join("worktrees")).into_iter().flatten().flatten() {
            let admin = admin.path();
            let Some(dot_git) = line(&admin.join("gitdir")).map(PathBuf::from) else { continue };
            let leads_here = line(&dot_git).is_some_and(|text| text == gitfile_text(&admin).trim_end());
            if dot_git.starts_with(&ours) && !leads_here {
                super::reclaim(&self.home, &admin);
            }
        }
        self.forget_leftover_refs(project, repository).await
    }
}

/// Repairs a worktree of flower.
fn relink_own(place: &WorktreePaths) -> io::Result<()> {
    let dot_git = place.tree.join(".git");
    if let Some(admin) = line(&dot_git).and_then(|text| admin_named(&text, &place.repository))
        && let Some(named) = line(&admin.join("gitdir"))
        // FLOWER_HOME may have been moved, too.
        && last_parts(Path::new(&named)) == last_parts(&dot_git)
    {
        connect(&admin, &dot_git)?;
    }
    if place.seal == Seal::Sealed {
        relink_private(place)?;
    }
    Ok(())
}

/// Lets the private repository borrow objects from where MAIN's are now. Its first alternate is the one that flower wrote.
fn relink_private(place: &WorktreePaths) -> io::Result<()> {
    let wanted = place.repository.git_dir.join("objects").display().to_string();
    let Some(file) = disk::existing_beneath(&place.private(), Path::new("objects/info/alternates")) else {
        return Ok(());
    };
    let Some(text) = read_small_text(&file, MAX_BYTES) else { return Ok(()) };
    if text.lines().any(|line| line == wanted) {
        return Ok(());
    }
    let lines = std::iter::once(wanted.as_str()).chain(text.lines().skip(1));
    replace_file(&file, lines.map(|line| format!("{line}\n")).collect::<String>().as_bytes())
}

/// Repairs a worktree that was made without flower, as `git worktree repair` does.
fn relink_other(admin: &Path, repository: &Repository, from: &Path) -> io::Result<()> {
    let Some(named) = line(&admin.join("gitdir")).map(PathBuf::from).filter(|named| named.is_absolute()) else {
        return Ok(());
    };
    // A worktree below the checkout was moved with it.
    let moved = named.strip_prefix(from).ok().map(|inside| repository.root.join(inside));
    let dot_git = match moved {
        Some(moved) if fs::symlink_metadata(&named).is_err() => moved,
        _ => named,
    };
    let Some(text) = line(&dot_git) else { return Ok(()) };
    let is_named = admin_named(&text, repository).as_deref() == Some(admin);
    // A worktree that leads elsewhere belongs to another repository, such as the one of which this is a copy, also while that one
    // is away. So does one that leads to a repository which was made in the old place.
    let led_here = text
        .strip_prefix("gitdir: ")
        .map(Path::new)
        .is_some_and(|to| to.starts_with(from) && (to == admin || fs::symlink_metadata(to).is_err()));
    if is_named && led_here { connect(admin, &dot_git) } else { Ok(()) }
}

/// The folder in the repository that has the name of the one to which a `.git` file leads.
fn admin_named(gitfile: &str, repository: &Repository) -> Option<PathBuf> {
    let to = Path::new(gitfile.strip_prefix("gitdir: ")?);
    let is_worktree = to.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees");
    let admin = repository.git_dir.join("worktrees").join(to.file_name()?);
    (is_worktree && disk::is_dir(&admin)).then_some(admin)
}

/// Writes the two paths by which a repository and a worktree name each other.
fn connect(admin: &Path, dot_git: &Path) -> io::Result<()> {
    let wanted =
        [(dot_git.to_owned(), gitfile_text(admin)), (admin.join("gitdir"), format!("{}\n", dot_git.display()))];
    for (file, text) in wanted {
        if read_small_text(&file, MAX_BYTES).as_deref() != Some(&text) {
            replace_file(&file, text.as_bytes())?;
        }
    }
    Ok(())
}

/// The project's folder, the worktree's, and `.git`.
fn last_parts(dot_git: &Path) -> Vec<&std::ffi::OsStr> {
    let mut parts: Vec<&std::ffi::OsStr> = dot_git.iter().rev().take(3).collect();
    parts.reverse();
    parts
}

fn line(file: &Path) -> Option<String> {
    read_small_text(file, MAX_BYTES).map(|text| text.trim_end().to_owned())
}
