//! Updates MAIN's checkout from one commit to the next.
//!
//! Only files that equal the old commit change. Edited, untracked and ignored files stay as they are.

use super::lfs;
use crate::home::Home;
use crate::own_refs::SAVED;
use crate::worktrees::disk;
use flower_contract::error::{Problem, ProblemKind};
use flower_git::lfs::Lfs;
use flower_git::repository::Repository;
use flower_git::{Change, ChangeKind, CommitId, OwnRef, Repo, TreeId, Treeish};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Enough for a very large tree on a slow disk.
const CHECKOUT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Another git, such as an editor's `git status`, holds the lock of the index only for a moment.
const MAX_LOCK_TRIES: u32 = 20;
/// The same for what is tried again soon.
const MAX_SHORT_TRIES: u32 = 4;
/// Untracked files that are compared with what a landing brings; more are not there by chance.
const MAX_COMPARED: usize = 20;
const MAX_COMPARED_BYTES: u64 = 1 << 20;
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The paths in which two trees differ, without detection of renames.
pub(crate) async fn changes(
    repository: &Repository,
    from: &impl Treeish,
    to: &impl Treeish,
) -> Result<Vec<Change>, Problem> {
    Ok(Repo::main(repository).with_deadline(CHECKOUT_TIMEOUT).diff_trees(from, to).await?)
}

/// Untracked files that the changes to `tree` would overwrite with other content, ignored ones such as `.env` among them.
pub(crate) async fn blocking_files(
    repository: &Repository,
    changes: &[Change],
    tree: &TreeId,
) -> Result<Vec<String>, Problem> {
    let mut blocking = Vec::new();
    let mut compared = 0;
    for (change, path) in obstacles(repository, changes) {
        compared += 1;
        if path != Path::new(&change.path) || compared > MAX_COMPARED || !is_there(repository, change, tree).await? {
            blocking.push(change.name());
        }
    }
    Ok(blocking)
}

/// Whether the file that a change adds is in the checkout already, with the same content and mode.
async fn is_there(repository: &Repository, change: &Change, tree: &TreeId) -> Result<bool, Problem> {
    let Some(file) = disk::existing_beneath(&repository.root, Path::new(&change.path)) else { return Ok(false) };
    let Ok(found) = fs::symlink_metadata(&file) else { return Ok(false) };
    let mode = if found.mode() & 0o100 == 0 { "100644" } else { "100755" };
    let is_comparable = found.is_file() && found.len() <= MAX_COMPARED_BYTES && change.mode == mode;
    let Some(path) = change.path.to_str().filter(|_| is_comparable) else { return Ok(false) };
    let content = Repo::main(repository).read_file(tree, path).await?;
    Ok(content.is_some_and(|content| fs::read(&file).is_ok_and(|own| own == content)))
}

/// The changes that add a file where an untracked file or folder is, each with the path that is in its way.
pub(super) fn obstacles<'a>(repository: &Repository, changes: &'a [Change]) -> Vec<(&'a Change, PathBuf)> {
    let deleted: HashSet<&Path> =
        changes.iter().filter(|c| c.kind == ChangeKind::Deleted).map(|c| Path::new(&c.path)).collect();
    let obstacle = |path: &Path| {
        if fs::symlink_metadata(repository.root.join(path)).is_ok() && !becomes_file(repository, path, &deleted) {
            return Some(path.to_owned());
        }
        // A tracked file where a folder is needed does not block: the same change deletes it.
        let mut above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let is_file = |above: &Path| {
            !deleted.contains(above)
                && fs::symlink_metadata(repository.root.join(above)).is_ok_and(|found| !found.is_dir())
        };
        above.find(|above| is_file(above)).map(Path::to_owned)
    };
    let added = changes.iter().filter(|change| change.kind == ChangeKind::Added);
    added.filter_map(|change| Some((change, obstacle(Path::new(&change.path))?))).collect()
}

/// Whether the path is a folder that is empty once the landing has deleted its files.
fn becomes_file(repository: &Repository, path: &Path, deleted: &HashSet<&Path>) -> bool {
    let dir = repository.root.join(path);
    fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir()) && contains_only(&dir, path, deleted)
}

fn contains_only(dir: &Path, path: &Path, files: &HashSet<&Path>) -> bool {
    fs::read_dir(dir).into_iter().flatten().flatten().all(|entry| {
        let below = path.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => contains_only(&entry.path(), &below, files),
            _ => files.contains(below.as_path()),
        }
    })
}

/// Updates the checkout from one commit to another. Can be repeated after a crash at any point. Returns the paths that were skipped
/// because they match neither commit.
pub(crate) async fn update_checkout(
    home: &Home,
    repository: &Repository,
    staged: Result<Option<StagedFiles<'_>>, Problem>,
    (from, to): (&CommitId, &CommitId),
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    if obstacles(repository, changes).is_empty() {
        // The fast ways. Both fail if any file that changes was edited.
        let updated = match staged {
            Ok(Some(staged)) => staged.swap_in(from, to, changes).await,
            Ok(None) => update_by_git(repository, from, to).await,
            Err(problem) => Err(problem),
        };
        match updated {
            Ok(()) => return Ok(Vec::new()),
            Err(problem) => tracing::info!("MAIN's files are updated individually: {}", problem.message),
        }
    }
    wait_for_index_lock(repository).await;
    update_files_individually(home, repository, from, to, changes).await
}

async fn update_by_git(repository: &Repository, from: &CommitId, to: &CommitId) -> Result<(), Problem> {
    wait_for_index_lock(repository).await;
    let lfs = lfs::in_checkout(repository).await?;
    Ok(Repo::main(repository).with_lfs(lfs).with_deadline(CHECKOUT_TIMEOUT).move_checkout(from, to).await?)
}

/// Whether a regular file is added, replaced or deleted: no link, no folder that becomes a file.
fn is_plain(repository: &Repository, change: &Change) -> bool {
    let Some(place) = disk::path_beneath(&repository.root, Path::new(&change.path)) else { return false };
    let found = fs::symlink_metadata(&place);
    match change.kind {
        ChangeKind::Added => found.is_err() && change.mode.starts_with("100"),
        ChangeKind::Modified => found.is_ok_and(|found| found.is_file()) && change.mode.starts_with("100"),
        ChangeKind::Deleted => found.is_ok_and(|found| found.is_file()),
        ChangeKind::Retyped | ChangeKind::Other => false,
    }
}

/// The new files and the new index of an update, prepared beside MAIN's own.
pub(crate) struct StagedFiles<'a> {
    index: NextIndex<'a>,
    folder: PathBuf,
    /// Stamps of the files that are replaced or deleted, taken before git compared them with the old commit; in the order of the
    /// changes.
    before: Vec<Option<FileStamp>>,
}

impl<'a> StagedFiles<'a> {
    /// Prepares an update without changing MAIN's checkout. `None` if a change is not that of a plain file.
    pub(crate) async fn prepare(
        repository: &'a Repository,
        from: &CommitId,
        to: &CommitId,
        changes: &[Change],
    ) -> Result<Option<StagedFiles<'a>>, Problem> {
        // In a sparse checkout only git knows which files belong into it.
        let is_sparse = Repo::main(repository).operators_settings().await?.is_sparse;
        if is_sparse || !changes.iter().all(|change| is_plain(repository, change)) {
            return Ok(None);
        }
        wait_for_index_lock(repository).await;
        let folder = repository.git_dir.join("flower-staged");
        let io = |error: io::Error| crate::home::problem(&folder, &error);
        disk::delete(&folder).map_err(io)?;
        let before = changes.iter().map(|change| stamp(&repository.root.join(&change.path)).ok()).collect();
        let index = NextIndex::create(repository).map_err(io)?;
        let staged = StagedFiles { index, folder, before };
        let (index, folder) = (&staged.index, &staged.folder);
        // Fails if a file that changes differs from the old commit.
        index.repo().move_index(from, to).await?;
        let new = changes.iter().filter(|change| change.kind != ChangeKind::Deleted);
        let new: Vec<&OsStr> = new.map(|change| change.path.as_os_str()).collect();
        if !new.is_empty() {
            let lfs = lfs::in_checkout(repository).await?;
            index.repo().with_lfs(lfs).export_files(&new, folder).await?;
        }
        Ok(Some(staged))
    }

    /// Replaces each file with one rename. git itself would delete the old file first, so that a program which reads MAIN at that
    /// moment finds none. After a crash in between, each file equals one of the two commits. Fails at the first file that was
    /// written since git compared it.
    async fn swap_in(&self, from: &CommitId, to: &CommitId, changes: &[Change]) -> Result<(), Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        let repository = self.index.repository;
        let changes = changes.iter().zip(&self.before);
        let (deleted, new): (Vec<_>, Vec<_>) = changes.partition(|(change, _)| change.kind == ChangeKind::Deleted);
        for (change, before) in new {
            let file = repository.root.join(&change.path);
            if let Some(above) = file.parent() {
                fs::create_dir_all(above).map_err(io)?;
            }
            require_unwritten(&file, *before)?;
            fs::rename(self.folder.join(&change.path), &file).map_err(io)?;
        }
        for (change, before) in deleted {
            require_unwritten(&repository.root.join(&change.path), *before)?;
            remove_file(repository, Path::new(&change.path)).map_err(io)?;
        }
        self.index.repo().refresh_index().await?;
        if !self.index.install().map_err(io)? {
            // The index was changed meanwhile: git merges the update into it.
            let repo = Repo::main(repository).with_lfs(Lfs::Pointers);
            repo.move_index_only(from, to).await?;
            repo.with_deadline(CHECKOUT_TIMEOUT).refresh_index().await?;
        }
        Ok(())
    }
}

impl Drop for StagedFiles<'_> {
    fn drop(&mut self) {
        let _ = disk::delete(&self.folder);
    }
}

/// MAIN's next index, prepared in a file beside the current one.
struct NextIndex<'a> {
    repository: &'a Repository,
    file: PathBuf,
    /// The stamp of the current index when it was copied.
    copied: FileStamp,
}

impl<'a> NextIndex<'a> {
    fn create(repository: &'a Repository) -> io::Result<NextIndex<'a>> {
        let (index, file) = (repository.git_dir.join("index"), repository.git_dir.join("flower-index"));
        // A file that a crash left is deleted, not overwritten: it may be a hard link to the index itself.
        disk::delete(&file)?;
        // This lock cannot be in use: only the holder of MAIN's lock works with this index.
        disk::delete(&repository.git_dir.join("flower-index.lock"))?;
        let copied = stamp(&index)?;
        disk::copy_index(&index, &file)?;
        Ok(NextIndex { repository, file, copied })
    }

    fn repo(&self) -> Repo {
        let repo = Repo::main(self.repository).with_lfs(Lfs::Pointers);
        repo.with_index(&self.file).with_deadline(CHECKOUT_TIMEOUT)
    }

    /// Replaces the index under git's lock, as git does. Returns false if the index has changed since it was copied, or another
    /// git holds the lock.
    fn install(&self) -> io::Result<bool> {
        let (index, lock) = (self.repository.git_dir.join("index"), self.repository.git_dir.join("index.lock"));
        match fs::hard_link(&self.file, &lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            linked => linked?,
        }
        if stamp(&index)? != self.copied {
            fs::remove_file(&lock)?;
            return Ok(false);
        }
        fs::rename(&lock, &index)?;
        Ok(true)
    }
}

impl Drop for NextIndex<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Inode, size and time of the last write: every write to a file changes one of them.
type FileStamp = (u64, u64, i64, i64);

fn stamp(file: &Path) -> io::Result<FileStamp> {
    fs::symlink_metadata(file).map(|found| (found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

fn require_unwritten(file: &Path, before: Option<FileStamp>) -> Result<(), Problem> {
    if stamp(file).ok() == before {
        return Ok(());
    }
    let message = format!("{} was written during the update of MAIN", file.display());
    Err(Problem::new(ProblemKind::Conflict, message, "`flower main` shows what is in MAIN"))
}

/// Fails while another git holds the lock of MAIN's index: the checkout could not be updated.
pub(crate) async fn require_index_unlocked(repository: &Repository) -> Result<(), Problem> {
    wait_for_index_lock(repository).await;
    let lock = repository.git_dir.join("index.lock");
    if fs::symlink_metadata(&lock).is_err() {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Conflict,
        format!("another git holds {}", lock.display()),
        "let it end; if none runs, `flower doctor --fix` removes an abandoned lock",
    ))
}

/// Waits a moment until no git holds the lock of MAIN's index. Returns false if one still does.
pub(super) async fn is_index_free(repository: &Repository) -> bool {
    let lock = repository.git_dir.join("index.lock");
    for _ in 0..MAX_SHORT_TRIES {
        if fs::symlink_metadata(&lock).is_err() {
            return true;
        }
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
    false
}

async fn wait_for_index_lock(repository: &Repository) {
    let (own, lock) = (repository.git_dir.join("flower-index"), repository.git_dir.join("index.lock"));
    // The lock is a link to flower's own index: flower was killed in `NextIndex::install`.
    if stamp(&lock).is_ok_and(|lock| stamp(&own).is_ok_and(|own| own == lock)) {
        let _ = fs::remove_file(&lock);
    }
    for _ in 0..MAX_LOCK_TRIES {
        if fs::symlink_metadata(repository.git_dir.join("index.lock")).is_err() {
            return;
        }
        tokio::time::sleep(LOCK_POLL_INTERVAL).await;
    }
}

/// Like [`update_checkout`], but always file by file: the index may already have the content of `to`.
pub(crate) async fn restore_files(
    home: &Home,
    repository: &Repository,
    from: &CommitId,
    to: &CommitId,
) -> Result<Vec<String>, Problem> {
    let changes = changes(repository, from, to).await?;
    wait_for_index_lock(repository).await;
    update_files_individually(home, repository, from, to, &changes).await
}

/// Compares each file by content with both commits, and updates those that equal the old one.
async fn update_files_individually(
    home: &Home,
    repository: &Repository,
    from: &CommitId,
    to: &CommitId,
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    let index = scratch_index(home);
    let _remove = RemoveOnDrop(index.clone());
    let differs_from_old = differing(repository, &index, from).await?;
    let differs_from_new = differing(repository, &index, to).await?;
    let blocked: HashSet<&OsStr> =
        obstacles(repository, changes).into_iter().map(|(change, _)| change.path.as_os_str()).collect();
    let (mut write, mut delete, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        let path = change.path.as_os_str();
        let exists = fs::symlink_metadata(repository.root.join(path)).is_ok();
        let is_new = match change.kind {
            ChangeKind::Deleted => !exists,
            _ => exists && !differs_from_new.contains(path),
        };
        let is_old = match change.kind {
            // git would delete an untracked file in the place of a folder that it needs.
            ChangeKind::Added => !blocked.contains(path),
            _ => !differs_from_old.contains(path),
        };
        match (is_new, is_old, change.kind) {
            (true, ..) => {}
            (false, true, ChangeKind::Deleted) => delete.push(path),
            (false, true, _) => write.push(path),
            (false, false, _) => skipped.push(change.name()),
        }
    }
    for path in delete {
        remove_file(repository, Path::new(path)).map_err(|error| crate::home::problem(&repository.root, &error))?;
    }
    let lfs = lfs::in_checkout(repository).await?;
    let repo = Repo::main(repository).with_lfs(lfs).with_index(&index).with_deadline(CHECKOUT_TIMEOUT);
    repo.write_files(&write).await?;
    save_staged(repository, from, to).await?;
    let repo = Repo::main(repository).with_lfs(Lfs::Pointers);
    repo.read_index(to).await?;
    repo.with_deadline(CHECKOUT_TIMEOUT).refresh_index().await?;
    Ok(skipped)
}

/// Saves staged changes that are not committed under a ref, before the index is replaced.
async fn save_staged(repository: &Repository, from: &CommitId, to: &CommitId) -> Result<(), Problem> {
    let repo = Repo::main(repository);
    let Some(tree) = repo.staged_tree().await? else { return Ok(()) };
    for commit in [from, to] {
        if repo.tree_of(commit).await? == tree {
            return Ok(());
        }
    }
    Ok(repo.set_ref(&OwnRef::parse(&format!("{SAVED}/index-{tree}"))?, &tree).await?)
}

/// Paths of `commit` whose content differs in the checkout. Leaves `index` at `commit`.
async fn differing(repository: &Repository, index: &Path, commit: &CommitId) -> Result<HashSet<OsString>, Problem> {
    let repo = Repo::main(repository).with_lfs(Lfs::Pointers).with_index(index).with_deadline(CHECKOUT_TIMEOUT);
    repo.read_index(commit).await?;
    repo.refresh_index().await?;
    Ok(repo.differing_files().await?.into_iter().collect())
}

/// Deletes a file of the checkout, and its folders if they are empty then.
fn remove_file(repository: &Repository, path: &Path) -> std::io::Result<()> {
    let Some(file) = disk::existing_beneath(&repository.root, path) else { return Ok(()) };
    match fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for above in file.ancestors().skip(1).take_while(|above| *above != repository.root) {
        if fs::remove_dir(above).is_err() {
            break;
        }
    }
    Ok(())
}

pub(crate) fn scratch_index(home: &Home) -> PathBuf {
    let _ = disk::make_private(&home.trash());
    home.trash().join(format!("index-{}", &crate::home::random_hex()[..16]))
}

pub(crate) struct RemoveOnDrop(pub(crate) PathBuf);

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flower_git::{Identity, NewCommit};

    /// A checkout at the first of two commits, which differ in three files.
    async fn two_commits(root: &Path) -> (Repository, CommitId, CommitId) {
        let repository = Repository { root: root.to_owned(), git_dir: root.join(".git") };
        let repo = Repo::main(&repository);
        for folder in ["objects", "refs"] {
            fs::create_dir_all(repository.git_dir.join(folder)).unwrap();
        }
        fs::write(repository.git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(repository.git_dir.join("config"), "[core]\n\trepositoryformatversion = 0\n").unwrap();
        let commit = async |text: &str| {
            for name in ["edited", "replaced"] {
                fs::write(root.join(name), text).unwrap();
            }
            repo.add_all().await.unwrap();
            let (tree, committer) = (repo.write_tree().await.unwrap(), Identity::default());
            let new = NewCommit { tree: &tree, parents: &[], message: text, committer: &committer, author: None };
            repo.commit_tree(new).await.unwrap()
        };
        fs::write(root.join("deleted"), "old").unwrap();
        let old = commit("old").await;
        fs::remove_file(root.join("deleted")).unwrap();
        let new = commit("new").await;
        repo.check_out(&old).await.unwrap();
        (repository, old, new)
    }

    #[tokio::test]
    async fn what_is_written_between_the_comparison_and_the_swap_stays() {
        for edited in ["edited", "deleted"] {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap().join("main");
            let home = Home::at(dir.path().join("home"));
            let (repository, old, new) = two_commits(&root).await;
            let changes = changes(&repository, &old, &new).await.unwrap();
            let staged = StagedFiles::prepare(&repository, &old, &new, &changes).await.unwrap();
            assert!(staged.is_some(), "three plain files");
            fs::write(root.join(edited), "mine, just now").unwrap();
            let skipped = update_checkout(&home, &repository, Ok(staged), (&old, &new), &changes).await.unwrap();
            assert_eq!(skipped, [edited]);
            assert_eq!(fs::read_to_string(root.join(edited)).unwrap(), "mine, just now");
            assert_eq!(fs::read_to_string(root.join("replaced")).unwrap(), "new");
            assert!(!repository.git_dir.join("flower-staged").exists());
        }
    }

    #[tokio::test]
    async fn nothing_is_left_of_what_could_not_be_staged() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("main");
        let (repository, old, new) = two_commits(&root).await;
        let mut changes = changes(&repository, &old, &new).await.unwrap();
        changes.retain(|change| change.kind == ChangeKind::Modified);
        // Fails after the first of two files, as on a disk that is full.
        changes[1].kind = ChangeKind::Added;
        changes[1].path = "not-in-the-commit".into();
        let staged = StagedFiles::prepare(&repository, &old, &new, &changes).await;
        assert!(staged.is_err(), "git has no such file");
        assert!(!repository.git_dir.join("flower-staged").exists());
        assert!(!repository.git_dir.join("flower-index").exists());
    }
}
