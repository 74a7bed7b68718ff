//! The served tree: MAIN's own checkout, brought from one commit to the next.
//!
//! Only files that are as the old commit has them change. What is anybody else's stays, be it edited, new or ignored.

use crate::home::Home;
use crate::own_refs::SAVED;
use crate::worktrees::disk;
use flower_contract::error::{Problem, ProblemKind};
use flower_git::repository::Repository;
use flower_git::{Change, ChangeKind, CommitId, OwnRef, Repo, Treeish};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A very large tree on a slow disk.
const CHECKOUT: Duration = Duration::from_secs(30 * 60);
/// Somebody else's git has the index for a moment.
const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(250);

/// What differs, without any guess about renames.
pub(crate) async fn changes(
    repository: &Repository,
    from: &impl Treeish,
    to: &impl Treeish,
) -> Result<Vec<Change>, Problem> {
    Ok(Repo::main(repository).with_deadline(CHECKOUT).diff_trees(from, to).await?)
}

/// Files that would be overwritten although they are not git's, ignored ones such as `.env` among them.
pub(crate) fn in_the_way(repository: &Repository, changes: &[Change]) -> Vec<String> {
    let gone: HashSet<&Path> =
        changes.iter().filter(|c| c.kind == ChangeKind::Deleted).map(|c| Path::new(&c.path)).collect();
    let blocks = |path: &Path| {
        let there = fs::symlink_metadata(repository.root.join(path)).is_ok();
        // A file that becomes a folder goes with the same landing.
        let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        let file_above = above.into_iter().find(|above| {
            !gone.contains(above)
                && fs::symlink_metadata(repository.root.join(above)).is_ok_and(|found| !found.is_dir())
        });
        (there && !becomes_file(repository, path, &gone)) || file_above.is_some()
    };
    let added = changes.iter().filter(|change| change.kind == ChangeKind::Added);
    added.filter(|change| blocks(Path::new(&change.path))).map(Change::name).collect()
}

/// A folder of which nothing is left once the landing has deleted its files.
fn becomes_file(repository: &Repository, path: &Path, gone: &HashSet<&Path>) -> bool {
    let dir = repository.root.join(path);
    fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir()) && only_holds(&dir, path, gone)
}

fn only_holds(dir: &Path, path: &Path, gone: &HashSet<&Path>) -> bool {
    fs::read_dir(dir).into_iter().flatten().flatten().all(|entry| {
        let below = path.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => only_holds(&entry.path(), &below, gone),
            _ => gone.contains(below.as_path()),
        }
    })
}

/// Brings the checkout from one commit to another. Can be repeated after a crash at any point. Gives the paths that were left alone
/// because they are neither as the one nor as the other has them.
pub(crate) async fn bring(
    home: &Home,
    repository: &Repository,
    staged: Result<Option<Staged<'_>>, Problem>,
    (from, to): (&CommitId, &CommitId),
    changes: &[Change],
) -> Result<Vec<String>, Problem> {
    if in_the_way(repository, changes).is_empty() {
        // At once, and only if everything is as it should be.
        let at_once = match staged {
            Ok(Some(staged)) => staged.put_in_place(from, to, changes).await,
            Ok(None) => by_git(repository, from, to).await,
            Err(problem) => Err(problem),
        };
        match at_once {
            Ok(()) => return Ok(Vec::new()),
            Err(problem) => tracing::info!("MAIN's files are brought forward one by one: {}", problem.message),
        }
    }
    wait_for_index(repository).await;
    one_by_one(home, repository, from, to, changes).await
}

async fn by_git(repository: &Repository, from: &CommitId, to: &CommitId) -> Result<(), Problem> {
    wait_for_index(repository).await;
    Ok(Repo::main(repository).with_deadline(CHECKOUT).move_checkout(from, to).await?)
}

/// A file that is written, replaced or deleted, and nothing more difficult.
fn is_plain(repository: &Repository, change: &Change) -> bool {
    let Some(place) = disk::place(&repository.root, Path::new(&change.path)) else { return false };
    let found = fs::symlink_metadata(&place);
    match change.kind {
        ChangeKind::Added => found.is_err() && change.mode.starts_with("100"),
        ChangeKind::Modified => found.is_ok_and(|found| found.is_file()) && change.mode.starts_with("100"),
        ChangeKind::Deleted => found.is_ok_and(|found| found.is_file()),
        ChangeKind::Retyped | ChangeKind::Other => false,
    }
}

/// The files that a commit brings, and the index that goes with them, ready beside MAIN's own.
pub(crate) struct Staged<'a> {
    index: NextIndex<'a>,
    folder: PathBuf,
    /// The files that are replaced or deleted, as they were before git compared them with the old commit; in the order of the changes.
    before: Vec<Option<State>>,
}

impl<'a> Staged<'a> {
    /// Nothing, if it is more difficult than files that are written, replaced or deleted. Touches nothing that anybody sees.
    pub(crate) async fn prepare(
        repository: &'a Repository,
        from: &CommitId,
        to: &CommitId,
        changes: &[Change],
    ) -> Result<Option<Staged<'a>>, Problem> {
        if !changes.iter().all(|change| is_plain(repository, change)) {
            return Ok(None);
        }
        wait_for_index(repository).await;
        let folder = repository.git_dir.join("flower-staged");
        let io = |error: io::Error| crate::home::problem(&folder, &error);
        disk::delete(&folder).map_err(io)?;
        let before = changes.iter().map(|change| state(&repository.root.join(&change.path)).ok()).collect();
        let index = NextIndex::begin(repository).map_err(io)?;
        let staged = Staged { index, folder, before };
        let (index, folder) = (&staged.index, &staged.folder);
        // Says if anything that changes is not as the old commit has it.
        index.repo().move_index(from, to).await?;
        let new = changes.iter().filter(|change| change.kind != ChangeKind::Deleted);
        let new: Vec<&OsStr> = new.map(|change| change.path.as_os_str()).collect();
        if !new.is_empty() {
            index.repo().export_files(&new, folder).await?;
        }
        Ok(Some(staged))
    }

    /// Every file takes the place of the one before it in one step: git itself deletes it first, and whoever reads MAIN at that
    /// moment would find nothing. After a crash in between, each file is as the one or the other commit has it. Ends at the first
    /// one that somebody has written since it was compared.
    async fn put_in_place(&self, from: &CommitId, to: &CommitId, changes: &[Change]) -> Result<(), Problem> {
        let io = |error: io::Error| crate::home::problem(&self.folder, &error);
        let repository = self.index.repository;
        let changes = changes.iter().zip(&self.before);
        let (gone, new): (Vec<_>, Vec<_>) = changes.partition(|(change, _)| change.kind == ChangeKind::Deleted);
        for (change, before) in new {
            let place = repository.root.join(&change.path);
            if let Some(above) = place.parent() {
                fs::create_dir_all(above).map_err(io)?;
            }
            require_state(&place, *before)?;
            fs::rename(self.folder.join(&change.path), &place).map_err(io)?;
        }
        for (change, before) in gone {
            require_state(&repository.root.join(&change.path), *before)?;
            remove_file(repository, Path::new(&change.path)).map_err(io)?;
        }
        self.index.repo().refresh_index().await?;
        if !self.index.install().map_err(io)? {
            let repo = Repo::main(repository);
            repo.move_index_only(from, to).await?;
            repo.with_deadline(CHECKOUT).refresh_index().await?;
        }
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        let _ = disk::delete(&self.folder);
    }
}

/// What MAIN's index is to be, made beside it while everybody else still has the old one.
struct NextIndex<'a> {
    repository: &'a Repository,
    file: PathBuf,
    /// The old one when it was copied.
    of: State,
}

impl<'a> NextIndex<'a> {
    fn begin(repository: &'a Repository) -> io::Result<NextIndex<'a>> {
        let (index, file) = (repository.git_dir.join("index"), repository.git_dir.join("flower-index"));
        // Never over one that is left: after a crash it may be the same file as the index itself.
        disk::delete(&file)?;
        // Only the holder of the lock of MAIN makes it.
        disk::delete(&repository.git_dir.join("flower-index.lock"))?;
        let of = state(&index)?;
        fs::copy(&index, &file)?;
        Ok(NextIndex { repository, file, of })
    }

    fn repo(&self) -> Repo {
        Repo::main(self.repository).with_index(&self.file).with_deadline(CHECKOUT)
    }

    /// As git does it, behind its lock. False if somebody changed the old one meanwhile or has the lock.
    fn install(&self) -> io::Result<bool> {
        let (index, lock) = (self.repository.git_dir.join("index"), self.repository.git_dir.join("index.lock"));
        match fs::hard_link(&self.file, &lock) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
            linked => linked?,
        }
        if state(&index)? != self.of {
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

/// What changes with a file when somebody writes it: which one it is, its size, and when it was written.
type State = (u64, u64, i64, i64);

fn state(file: &Path) -> io::Result<State> {
    fs::symlink_metadata(file).map(|found| (found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
}

fn require_state(file: &Path, before: Option<State>) -> Result<(), Problem> {
    if state(file).ok() == before {
        return Ok(());
    }
    let message = format!("somebody wrote {} at this moment", file.display());
    Err(Problem::new(ProblemKind::Conflict, message, "`flower main` shows what is in MAIN"))
}

/// Whoever holds git's index of MAIN would keep its checkout from being brought forward.
pub(crate) async fn require_index(repository: &Repository) -> Result<(), Problem> {
    wait_for_index(repository).await;
    let lock = repository.git_dir.join("index.lock");
    if fs::symlink_metadata(&lock).is_err() {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Conflict,
        format!("another git holds {}", lock.display()),
        "let it end; if none runs, `flower doctor --fix` removes a lock that nobody holds",
    ))
}

async fn wait_for_index(repository: &Repository) {
    let (ours, lock) = (repository.git_dir.join("flower-index"), repository.git_dir.join("index.lock"));
    // We ended between locking and unlocking.
    if state(&lock).is_ok_and(|lock| state(&ours).is_ok_and(|ours| ours == lock)) {
        let _ = fs::remove_file(&lock);
    }
    for _ in 0..LOCK_TRIES {
        if fs::symlink_metadata(repository.git_dir.join("index.lock")).is_err() {
            return;
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// As [`bring`], file by file: also what the index takes for new already.
pub(crate) async fn put_back(
    home: &Home,
    repository: &Repository,
    from: &CommitId,
    to: &CommitId,
) -> Result<Vec<String>, Problem> {
    let changes = changes(repository, from, to).await?;
    wait_for_index(repository).await;
    one_by_one(home, repository, from, to, &changes).await
}

async fn one_by_one(
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
    let (mut write, mut delete, mut left) = (Vec::new(), Vec::new(), Vec::new());
    for change in changes {
        let path = change.path.as_os_str();
        let there = fs::symlink_metadata(repository.root.join(path)).is_ok();
        let as_new = match change.kind {
            ChangeKind::Deleted => !there,
            _ => there && !differs_from_new.contains(path),
        };
        let as_old = match change.kind {
            ChangeKind::Added => !there,
            _ => !differs_from_old.contains(path),
        };
        match (as_new, as_old, change.kind) {
            (true, ..) => {}
            (false, true, ChangeKind::Deleted) => delete.push(path),
            (false, true, _) => write.push(path),
            (false, false, _) => left.push(change.name()),
        }
    }
    for path in delete {
        remove_file(repository, Path::new(path)).map_err(|error| crate::home::problem(&repository.root, &error))?;
    }
    Repo::main(repository).with_index(&index).with_deadline(CHECKOUT).write_files(&write).await?;
    keep_staged(repository, from, to).await?;
    let repo = Repo::main(repository);
    repo.read_index(to).await?;
    repo.with_deadline(CHECKOUT).refresh_index().await?;
    Ok(left)
}

/// What somebody had staged and not committed stays to be found.
async fn keep_staged(repository: &Repository, from: &CommitId, to: &CommitId) -> Result<(), Problem> {
    let repo = Repo::main(repository);
    let Some(tree) = repo.staged_tree().await? else { return Ok(()) };
    for commit in [from, to] {
        if repo.tree_of(commit).await? == tree {
            return Ok(());
        }
    }
    Ok(repo.set_ref(&OwnRef::parse(&format!("{SAVED}/index-{tree}"))?, &tree).await?)
}

/// Paths of `commit` whose files are otherwise in the checkout, by content. The index that was used stays at `commit`.
async fn differing(repository: &Repository, index: &Path, commit: &CommitId) -> Result<HashSet<OsString>, Problem> {
    let repo = Repo::main(repository).with_index(index).with_deadline(CHECKOUT);
    repo.read_index(commit).await?;
    repo.refresh_index().await?;
    Ok(repo.differing_files().await?.into_iter().collect())
}

/// Deletes a file of the checkout, and the folders above it that are empty then.
fn remove_file(repository: &Repository, path: &Path) -> std::io::Result<()> {
    let Some(file) = disk::beneath(&repository.root, path) else { return Ok(()) };
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
            let staged = Staged::prepare(&repository, &old, &new, &changes).await.unwrap();
            assert!(staged.is_some(), "three plain files");
            fs::write(root.join(edited), "mine, just now").unwrap();
            let left = bring(&home, &repository, Ok(staged), (&old, &new), &changes).await.unwrap();
            assert_eq!(left, [edited]);
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
        let staged = Staged::prepare(&repository, &old, &new, &changes).await;
        assert!(staged.is_err(), "git has no such file");
        assert!(!repository.git_dir.join("flower-staged").exists());
        assert!(!repository.git_dir.join("flower-index").exists());
    }
}
