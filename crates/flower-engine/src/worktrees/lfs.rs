//! Files of LFS in worktrees. In a sealed one git-lfs converts them inside of the jail, and keeps their contents in the private
//! repository. What new commits name is copied to MAIN's repository with them, once its hash is proved.

use super::import_error::ImportError;
use super::limits::MAX_FILE_BYTES;
use super::paths::WorktreePaths;
use crate::worktrees::disk;
use flower_contract::error::Problem;
use flower_git::lfs::{self, MAX_POINTER_BYTES, Pointer};
use flower_git::{Change, ChangeKind, CommitId, ObjectId, Repo, TreeEntry, TreeId};
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Enough for a very large tree.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The filter of git-lfs in a private repository. It fetches nothing: what is not there stays a pointer.
pub(super) const FILTER: &str = "[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge --skip -- %f\n\
    \tprocess = git-lfs filter-process --skip\n\trequired = true\n";

/// Contents that new commits name and the private repository has.
pub(super) struct NewContents {
    private: std::path::PathBuf,
    store: std::path::PathBuf,
    pointers: BTreeSet<Pointer>,
}

impl NewContents {
    /// `repo` sees the new commits.
    pub(super) async fn find(place: &WorktreePaths, repo: &Repo, new: &CommitId) -> Result<NewContents, ImportError> {
        let (private, store) = (place.private(), lfs::contents(&place.repository));
        let mut pointers = BTreeSet::new();
        if disk::existing_beneath(&private, Path::new("lfs/objects")).is_some() {
            let small = repo.small_unreached(new, MAX_POINTER_BYTES).await?;
            for object in small.iter() {
                let object = object?;
                let pointer = (object.kind == "blob").then(|| Pointer::parse(object.content)).flatten();
                pointers.extend(pointer.filter(|pointer| !pointer.is_in(&store) && open(&private, pointer).is_some()));
            }
        }
        Ok(NewContents { private, store, pointers })
    }

    /// The bytes of all of them. Fails if one is too large.
    pub(super) fn size(&self) -> Result<u64, ImportError> {
        match self.pointers.iter().find(|pointer| pointer.size > MAX_FILE_BYTES) {
            Some(large) => Err(ImportError::LargeContent(large.oid.clone())),
            None => Ok(self.pointers.iter().map(|pointer| pointer.size).sum()),
        }
    }

    /// Copies them to MAIN's repository. A program inside can change a file meanwhile, so each is hashed as it is copied.
    pub(super) async fn accept(self) -> Result<(), ImportError> {
        if self.pointers.is_empty() {
            return Ok(());
        }
        let copied = tokio::task::spawn_blocking(move || {
            for pointer in &self.pointers {
                let stored = open(&self.private, pointer)
                    .ok_or_else(|| std::io::Error::other("it is not there any more"))
                    .and_then(|file| lfs::store(&self.store, file, Some(pointer), pointer.size));
                stored.map_err(|error| (pointer.oid.clone(), error))?;
            }
            Ok(())
        });
        let copied = copied.await.map_err(|error| ImportError::from(std::io::Error::other(error)))?;
        copied.map_err(|(oid, error): (String, std::io::Error)| match error.kind() {
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::FileTooLarge => ImportError::Content(oid),
            _ => ImportError::from(error),
        })
    }
}

/// The content in the private repository. Links are not followed: they could lead to any file of this machine.
fn open(private: &Path, pointer: &Pointer) -> Option<File> {
    let root = File::open(private).ok()?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let path = pointer.path_in(Path::new("lfs/objects"));
    let file = File::from(openat2(&root, &path, flags, Mode::empty(), resolve).ok()?);
    file.metadata().is_ok_and(|found| found.is_file()).then_some(file)
}

/// Files among the changes to `tree` that belong into LFS and are no pointers: they were committed as they are.
pub(crate) async fn raw_files(repo: &Repo, tree: &TreeId, changes: &[Change]) -> Result<Vec<OsString>, Problem> {
    let repo = repo.clone().with_deadline(TIMEOUT);
    if !repo.attributes_mention(tree, lfs::ATTRIBUTE).await? {
        return Ok(Vec::new());
    }
    let files = changes.iter().filter(|c| c.kind != ChangeKind::Deleted && c.mode.starts_with("100"));
    let files: Vec<&OsStr> = files.map(|change| change.path.as_os_str()).collect();
    let in_lfs: HashSet<OsString> = repo.filtered_paths(tree, &files, "lfs").await?.into_iter().collect();
    if in_lfs.is_empty() {
        return Ok(Vec::new());
    }
    let listed = repo.list_files_with_sizes(tree).await?;
    // git-lfs leaves empty files as they are.
    let files = listed.entries().filter(|entry| in_lfs.contains(entry.path) && entry.size != Some(0));
    let (small, large): (Vec<_>, Vec<_>) =
        files.partition(|entry| entry.size.is_some_and(|size| size <= MAX_POINTER_BYTES));
    let ids: Vec<ObjectId> = small.iter().map(TreeEntry::object).collect::<Result<_, _>>()?;
    // One git for all of them: there may be thousands.
    let contents = repo.read_objects(&ids).await?;
    let mut raw: Vec<OsString> = large.iter().map(|entry| entry.path.to_owned()).collect();
    for (entry, object) in small.iter().zip(contents.iter()) {
        if !lfs::is_pointer(object?.content) {
            raw.push(entry.path.to_owned());
        }
    }
    raw.sort();
    Ok(raw)
}

/// What to do about a file that was committed as it is.
pub(crate) fn way_out() -> String {
    let install = match flower_git::has_lfs() {
        true => "in the worktree",
        false => {
            "git-lfs is not installed on this machine: install it (`apt-get install git-lfs`), then in the worktree"
        }
    };
    format!("{install}: `git lfs install --local --skip-smudge`, `git add --renormalize .` and commit")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn pointer() -> Pointer {
        let oid = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        Pointer { oid: oid.to_owned(), size: 3 }
    }

    #[tokio::test]
    async fn only_a_file_with_the_hash_that_a_commit_names_comes_out() {
        let dir = tempfile::tempdir().unwrap();
        let (private, store) = (dir.path().join("private"), dir.path().join("store"));
        let file = pointer().path_in(&private.join("lfs/objects"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let accept = || {
            let (private, store) = (private.clone(), store.clone());
            NewContents { private, store, pointers: BTreeSet::from([pointer()]) }.accept()
        };
        let secret = dir.path().join("secret");
        fs::write(&secret, "abc").unwrap();
        symlink(&secret, &file).unwrap();
        assert!(accept().await.is_err(), "a link");
        for content in ["abd", "abcd", "ab"] {
            fs::remove_file(&file).unwrap();
            fs::write(&file, content).unwrap();
            assert!(matches!(accept().await, Err(ImportError::Content(_))), "{content}");
        }
        fs::remove_file(&file).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &file, Mode::RUSR).unwrap();
        assert!(accept().await.is_err(), "a pipe");
        assert_eq!(fs::read_dir(lfs::drafts(&store)).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&store).unwrap().count(), 1, "the folder of drafts");
        fs::remove_file(&file).unwrap();
        fs::write(&file, "abc").unwrap();
        accept().await.unwrap();
        assert_eq!(fs::read_to_string(pointer().path_in(&store)).unwrap(), "abc");
        let large = Pointer { size: MAX_FILE_BYTES + 1, ..pointer() };
        let new = NewContents { private, store, pointers: BTreeSet::from([large]) };
        assert!(matches!(new.size(), Err(ImportError::LargeContent(_))));
    }
}
