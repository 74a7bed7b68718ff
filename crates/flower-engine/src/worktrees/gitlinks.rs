//! Gitlinks, git's entries for submodules. If the operator's index has one, `git status` or `git add -A` runs git in the repository at
//! its path, and with it the programs that this repository's configuration names. So no program inside a worktree may put a
//! repository there: the folder of a gitlink is an overlay in the jail, whose changes never reach the worktree's directory, and the
//! folders above it cannot be renamed. The operator's index also marks each gitlink `skip-worktree`, so that git does not look there.

use super::disk;
use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::lock;
use flower_contract::error::{Problem, ProblemKind};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, Repo};
use flower_jail::{Overlay, Spec};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{LazyLock, Mutex};

/// Paths of gitlinks, relative to the top of the worktree.
pub(crate) type Gitlinks = BTreeSet<PathBuf>;

/// Each takes a few mounts in every jail. Larger than in any real project.
const MAX_GITLINKS: usize = 500;
/// The tree of a commit never changes, so its gitlinks are cached.
const MAX_CACHED: usize = 64;

static CACHE: LazyLock<Mutex<HashMap<CommitId, Gitlinks>>> = LazyLock::new(Mutex::default);

/// The hook in MAIN's repository recognises flower's worktrees by this line.
pub(crate) const WORKTREE_CONFIG_MARKER: &str = "# Written by flower:";

/// Configuration that the operator's git reads in the worktree, in addition to MAIN's. It covers gitlinks that the operator adds, as
/// `git add -A` does for a repository that was made inside.
const OPERATORS_CONFIG: &str = "\
# Written by flower: keeps git from running what a repository inside of this worktree names.
[diff]
\tignoreSubmodules = all
[status]
\tsubmoduleSummary = false
[submodule]
\trecurse = false
[fetch]
\trecurseSubmodules = false
[push]
\trecurseSubmodules = no
";

impl Worktrees {
    /// Seals the folders of all submodules in a jail that is about to start. The paths are stored, because the operator's index may only
    /// move to commits whose gitlinks are sealed in every running jail.
    pub(crate) async fn seal_gitlinks(&self, place: &WorktreePaths, spec: &mut Spec) -> Result<(), Problem> {
        let io = |error: io::Error| self.home.problem(&place.folder, &error);
        // A lock of its own: the worktree's lock is held during a mirror, which can take long.
        let lock = self.lock_of(&place.folder.join("gitlinks"));
        let _lock = lock.lock().await;
        let in_index = match place.linked() {
            Some(linked) => linked.gitlinks().await?.into_iter().map(|(path, _)| path).collect(),
            None => Gitlinks::new(),
        };
        let main = place.repo().head().await?.ok_or_else(|| GitError::Missing("commit in MAIN's checkout".into()))?;
        let in_main = in_commit(&place.repository, &main).await?;
        let mut sealed = Gitlinks::new();
        for path in in_index.union(&in_main) {
            match make_folder(&place.tree, path) {
                Ok(true) => {}
                // The operator's git ignores the path unless the operator's index has it.
                Ok(false) if !in_index.contains(path) => continue,
                Ok(false) => return Err(blocked(place, path)),
                Err(error) => return Err(io(error)),
            }
            sealed.insert(path.clone());
        }
        if sealed.len() > MAX_GITLINKS {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("`{}` has more than {MAX_GITLINKS} submodules, which is more than a jail can seal", place.name),
                "work in a worktree of a repository with fewer: each submodule takes several mounts",
            ));
        }
        for path in &sealed {
            set_aside_repository(place, path).map_err(io)?;
        }
        save_sealed(place, &sealed).map_err(io)?;
        for path in &sealed {
            seal(place, path, spec).map_err(io)?;
        }
        Ok(())
    }

    /// Fails unless every gitlink is sealed in all running jails: otherwise a program inside could put a repository there once the
    /// operator's index has the gitlink.
    pub(super) fn require_sealed(&self, place: &WorktreePaths, gitlinks: &Gitlinks) -> Result<(), Problem> {
        let sealed = load_sealed(place);
        let Some(open) = gitlinks.iter().find(|path| !sealed.contains(*path)) else { return Ok(()) };
        if lock::try_exclusive(&place.lock()).is_some() {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::Refused,
            format!(
                "the submodule `{}` came into `{}` while something runs inside that was started before",
                super::import_error::plain(&open.to_string_lossy()),
                place.name
            ),
            format!("end what runs inside; then the commits come out with `flower worktree sync {}`", place.name),
        ))
    }
}

/// The gitlinks of a commit of MAIN's repository.
pub(super) async fn in_commit(repository: &Repository, commit: &CommitId) -> Result<Gitlinks, Problem> {
    let known = |all: &HashMap<CommitId, Gitlinks>| all.get(commit).cloned();
    if let Some(found) = known(&CACHE.lock().expect("no panic while held")) {
        return Ok(found);
    }
    let files = Repo::main(repository).list_files(commit).await?;
    let found: Gitlinks = files.entries().filter(|entry| entry.is_gitlink()).map(|entry| entry.path.into()).collect();
    cache(commit, &found);
    Ok(found)
}

/// Caches the gitlinks of a commit.
pub(super) fn cache(commit: &CommitId, gitlinks: &Gitlinks) {
    let mut all = CACHE.lock().expect("no panic while held");
    if all.len() >= MAX_CACHED {
        all.clear();
    }
    all.insert(commit.clone(), gitlinks.clone());
}

/// Protects the operator's git in a worktree by configuration and index. Must be repeated whenever the index has moved.
pub(super) async fn protect_operator(place: &WorktreePaths) -> Result<(), Problem> {
    let Some(admin) = place.admin() else { return Ok(()) };
    write_config(place, &admin).await?;
    let linked = Repo::linked(&place.repository, &admin, &place.tree);
    let unmarked = linked.gitlinks().await?.into_iter().filter(|(_, skipped)| !skipped).map(|(path, _)| path);
    Ok(linked.skip_worktree(&unmarked.collect::<Vec<_>>()).await?)
}

/// Writes `config.worktree`, and enables the extension that makes git read it, as `git sparse-checkout` does. A repository with its own
/// `core.worktree` or `core.bare` is not changed: with the extension these would apply to all worktrees.
async fn write_config(place: &WorktreePaths, admin: &Path) -> Result<(), Problem> {
    let file = admin.join("config.worktree");
    let io = |error: io::Error| crate::home::problem(&file, &error);
    let repo = place.repo();
    if fs::symlink_metadata(&file).is_err() {
        fs::write(&file, OPERATORS_CONFIG).map_err(io)?;
    }
    if repo.local_setting("extensions.worktreeConfig").await?.as_deref() == Some("true") {
        return Ok(());
    }
    let moves = repo.local_setting("core.worktree").await?.is_some()
        || repo.local_setting("core.bare").await?.as_deref() == Some("true");
    if !moves {
        repo.set_local("extensions.worktreeConfig", "true").await?;
    }
    Ok(())
}

/// Disables the extension again once no worktree has a configuration of its own.
pub(super) async fn disable_worktree_config(repository: &Repository) -> Result<(), Problem> {
    let admins = fs::read_dir(repository.git_dir.join("worktrees")).into_iter().flatten().flatten();
    let mut configs =
        admins.map(|admin| admin.path().join("config.worktree")).chain([repository.git_dir.join("config.worktree")]);
    if configs.any(|config| config.exists()) {
        return Ok(());
    }
    Ok(Repo::main(repository).unset_local("extensions", "worktreeConfig").await?)
}

/// Moves a repository at the path of a gitlink away, before the operator's git can run in it. A `.git` file that leads into MAIN's
/// `.git` is the operator's and stays.
pub(super) fn set_aside_repository(place: &WorktreePaths, gitlink: &Path) -> io::Result<()> {
    let Some(folder) = disk::existing_beneath(&place.tree, gitlink) else { return Ok(()) };
    let found = folder.join(".git");
    match fs::symlink_metadata(&found) {
        Err(_) => return Ok(()),
        Ok(file) if file.is_file() && file.len() < 4096 && leads_into(&found, &place.repository.git_dir) => {
            return Ok(());
        }
        Ok(_) => {}
    }
    let free = (1..).map(|n| place.folder.join(format!("nested-{n}.git"))).find(|to| fs::symlink_metadata(to).is_err());
    let to = free.ok_or_else(|| io::Error::other("no free name"))?;
    tracing::warn!(
        "worktree {}: {} is no repository of MAIN's and is kept as {}",
        place.name,
        found.display(),
        to.display()
    );
    disk::rename(&found, &to)
}

fn leads_into(gitfile: &Path, git_dir: &Path) -> bool {
    let Ok(text) = fs::read_to_string(gitfile) else { return false };
    let Some(to) = text.strip_prefix("gitdir: ").map(|to| Path::new(to.trim_end())) else { return false };
    let real = gitfile.parent().unwrap_or(Path::new("/")).join(to).canonicalize();
    real.is_ok_and(|real| real.starts_with(git_dir))
}

/// Makes the folder of a submodule, as git does. Returns false if a file or link is in its way.
fn make_folder(tree: &Path, gitlink: &Path) -> io::Result<bool> {
    let mut at = tree.to_owned();
    for part in gitlink.components() {
        let Component::Normal(name) = part else { return Ok(false) };
        at.push(name);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&at)?,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn blocked(place: &WorktreePaths, gitlink: &Path) -> Problem {
    let folder = super::import_error::plain(&place.tree.join(gitlink).to_string_lossy());
    Problem::new(
        ProblemKind::Refused,
        format!("a file or link stands where `{}` has a submodule: {folder}", place.name),
        "move it away, or commit that the submodule is gone; then start again",
    )
}

/// Adds an overlay over the submodule's folder to the jail, and pins each folder above it as a mount, which cannot be renamed.
fn seal(place: &WorktreePaths, gitlink: &Path, spec: &mut Spec) -> io::Result<()> {
    let lower = place.tree.join(gitlink);
    let own = place.folder.join("submodules").join(escaped(gitlink.as_os_str()));
    let (upper, work) = (own.join("upper"), own.join("work"));
    for dir in [&upper, &work] {
        disk::make_private(dir)?;
    }
    let above = lower.ancestors().skip(1).take_while(|folder| *folder != place.tree);
    spec.pinned.extend(above.map(Path::to_owned));
    spec.overlays.push(Overlay { at: lower.clone(), lower, upper, work, or_read_only: true });
    Ok(())
}

/// A path as a single file name.
fn escaped(path: &OsStr) -> String {
    let byte = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    let name: String = path.as_bytes().iter().map(byte).collect();
    // File names have a maximum length; longer paths are replaced by their hash.
    if name.len() <= 200 { name } else { flower_core::chain::sha256(path.as_bytes()) }
}

fn load_sealed(place: &WorktreePaths) -> Gitlinks {
    let text = fs::read(place.folder.join("gitlinks")).unwrap_or_default();
    text.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(|path| OsStr::from_bytes(path).into()).collect()
}

/// Stores the sealed gitlinks. While a program runs inside, only those that are sealed in its jail too count.
fn save_sealed(place: &WorktreePaths, sealed: &Gitlinks) -> io::Result<()> {
    let alone = lock::try_exclusive(&place.lock());
    let before = load_sealed(place);
    let all = sealed.iter().filter(|path| alone.is_some() || before.contains(*path));
    let text: Vec<u8> = all.flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat()).collect();
    fs::write(place.folder.join("gitlinks"), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_names_that_differ() {
        let names: BTreeSet<String> = ["a/b", "a_b", "a%2fb", "a.b"].map(|path| escaped(path.as_ref())).into();
        assert_eq!(names.len(), 4);
        assert!(names.iter().all(|name| !name.contains(['/', '.'])));
    }

    #[test]
    fn a_folder_is_made_and_neither_link_nor_file_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        assert!(make_folder(dir.path(), Path::new("vendor/lib")).unwrap());
        assert!(dir.path().join("vendor/lib").is_dir());
        std::os::unix::fs::symlink("vendor", dir.path().join("link")).unwrap();
        assert!(!make_folder(dir.path(), Path::new("link/lib")).unwrap());
        assert!(!make_folder(dir.path(), Path::new("../out")).unwrap());
    }
}
