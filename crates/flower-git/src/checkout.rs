//! Reads and updates the index and the files of a checkout.

use crate::trees::path_of;
use crate::{CommitId, GitError, Repo, Treeish};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names of untracked files; more than any checkout that a person works in.
const MAX_UNTRACKED_BYTES: usize = 64 << 20;
/// A patch of uncommitted changes; more than a person reads.
const MAX_PATCH_BYTES: usize = 64 << 20;

/// A path that differs from the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub is_ignored: bool,
    /// A folder ends with `/`.
    pub path: OsString,
}

/// The result of a merge in the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    Done,
    /// git's messages about the conflicts.
    Conflict(String),
}

impl Repo {
    /// Paths that are changed, staged or untracked. A folder of untracked files is one path. Does not write the index.
    pub async fn uncommitted(&self) -> Result<Vec<OsString>, GitError> {
        self.status("--untracked-files=normal").await
    }

    async fn status(&self, untracked: &str) -> Result<Vec<OsString>, GitError> {
        let status = async |repo: &Repo| {
            let args = ["--no-optional-locks", "status", "--porcelain=v1", "-z", untracked];
            let output = repo.git().args(args).args(["--no-renames", "--ignore-submodules=all"]).run().await?;
            Ok(output.items().map(|item| path_of(item.get(3..).unwrap_or_default())).collect::<Vec<_>>())
        };
        let mut paths = status(&self.without_lfs()).await?;
        if self.converts_lfs() && !paths.is_empty() {
            // A file of LFS may have been committed as it is, or as its pointer: it is changed if it equals neither.
            let converted: HashSet<OsString> = status(self).await?.into_iter().collect();
            paths.retain(|path| converted.contains(path));
        }
        Ok(paths)
    }

    /// Untracked files that are not ignored, each by its own path. Nested repositories are left out.
    pub async fn untracked_files(&self) -> Result<Vec<OsString>, GitError> {
        let args = ["ls-files", "--others", "--exclude-standard", "-z"];
        let output = self.git().args(args).answer_at_most(MAX_UNTRACKED_BYTES).run().await?;
        Ok(output.items().filter(|item| item.last() != Some(&b'/')).map(path_of).collect())
    }

    /// What differs between the newest commit and the tracked files of the checkout, as a patch, or with `only_figures` the number of
    /// changed lines of each file. Does not write the index. A file of more than 8 MB counts as binary.
    pub async fn diff_checkout(&self, only_figures: bool) -> Result<Vec<u8>, GitError> {
        let style = if only_figures { "--stat" } else { "--patch" };
        let quiet = ["--no-optional-locks", "-c", "core.bigFileThreshold=8m", "diff", "--no-color", "--no-ext-diff"];
        let args = ["--no-textconv", "--no-renames", "--ignore-submodules=all", style, "HEAD", "--"];
        Ok(self.git().args(quiet).args(args).answer_at_most(MAX_PATCH_BYTES).run().await?.stdout)
    }

    /// Paths of the index or of the commit that are changed or staged; untracked files are left out. Does not write the index.
    pub async fn changed(&self) -> Result<Vec<OsString>, GitError> {
        self.status("--untracked-files=no").await
    }

    /// Files that are neither tracked nor ignored. A folder of them is one path that ends with `/`.
    pub async fn untracked(&self) -> Result<Vec<OsString>, GitError> {
        let args = ["ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z"];
        Ok(self.git().args(args).run().await?.items().map(path_of).collect())
    }

    /// Like [`Repo::uncommitted`], with ignored paths.
    pub async fn uncommitted_and_ignored(&self) -> Result<Vec<Status>, GitError> {
        let args = ["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignored=traditional"];
        let output = self.git().args(args).args(["--no-renames", "--ignore-submodules=all"]).run().await?;
        let status = |item: &[u8]| {
            let (state, path) = item.split_at_checked(3)?;
            Some(Status { is_ignored: &state[..2] == b"!!", path: path_of(path) })
        };
        Ok(output.items().filter_map(status).collect())
    }

    /// Files of the index whose content differs in the checkout. Call [`Repo::refresh_index`] before.
    pub async fn differing_files(&self) -> Result<Vec<OsString>, GitError> {
        let args = ["diff-files", "--name-only", "-z", "--ignore-submodules=all"];
        Ok(self.git().args(args).run().await?.items().map(path_of).collect())
    }

    /// Files of the index that match a pathspec.
    pub async fn tracked(&self, pattern: &str) -> Result<Vec<OsString>, GitError> {
        Ok(self.git().args(["ls-files", "-z", "--", pattern]).run().await?.items().map(path_of).collect())
    }

    /// Submodules of the index, each with whether it is marked `skip-worktree`.
    pub async fn gitlinks(&self) -> Result<Vec<(PathBuf, bool)>, GitError> {
        let output = self.git().args(["ls-files", "--stage", "-t", "-z"]).run().await?;
        Ok(output.items().filter_map(gitlink).collect())
    }

    /// Marks paths of the index `skip-worktree`, so that git does not look at them in the checkout.
    pub async fn skip_worktree(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        if paths.is_empty() {
            return Ok(());
        }
        let args = ["update-index", "--skip-worktree", "-z", "--stdin"];
        self.git().args(args).input(nul_terminated(paths.iter().map(|path| path.as_os_str()))).run().await.map(drop)
    }

    /// Updates the index's information about files, so that later commands need not read them. Succeeds if files differ.
    pub async fn refresh_index(&self) -> Result<(), GitError> {
        let args = ["update-index", "-q", "--refresh"];
        let differs = self.without_lfs().git().args(args).output().await?.code != 0;
        if differs && self.converts_lfs() {
            self.git().args(args).output().await?;
        }
        Ok(())
    }

    /// Replaces the index by a tree, and drops its information about files. Files do not change.
    pub async fn read_index(&self, tree: &impl Treeish) -> Result<(), GitError> {
        self.git().args(["read-tree", tree.name()]).run().await.map(drop)
    }

    /// Replaces the index by a tree, also if it has conflicts, and keeps its information about equal files. Files do not change.
    pub async fn reset_index(&self, tree: &impl Treeish) -> Result<(), GitError> {
        self.git().args(["read-tree", "--reset", tree.name()]).run().await.map(drop)
    }

    /// Replaces index and files by a tree.
    pub async fn check_out(&self, tree: &impl Treeish) -> Result<(), GitError> {
        self.git().args(["read-tree", "--reset", "-u", tree.name()]).run().await.map(drop)
    }

    /// Updates index and files from one commit to another. Fails, and changes nothing, if a file that would change differs from `from`.
    pub async fn move_checkout(&self, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        self.git().args(["read-tree", "-m", "-u", from.as_str(), to.as_str()]).run().await.map(drop)
    }

    /// Updates the index from one commit to another. Fails if a file that would change differs from `from`.
    pub async fn move_index(&self, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        self.git().args(["read-tree", "-m", from.as_str(), to.as_str()]).run().await.map(drop)
    }

    /// Updates the index from one commit to another without reading files.
    pub async fn move_index_only(&self, from: &CommitId, to: &CommitId) -> Result<(), GitError> {
        self.git().args(["read-tree", "-i", "-m", from.as_str(), to.as_str()]).run().await.map(drop)
    }

    /// Like [`Repo::move_index_only`]. The inner error is git's message, if the index has other changes.
    pub async fn try_move_index(&self, from: &CommitId, to: &CommitId) -> Result<Result<(), String>, GitError> {
        let output = self.git().args(["read-tree", "-i", "-m", from.as_str(), to.as_str()]).output().await?;
        Ok(if output.code == 0 { Ok(()) } else { Err(output.stderr) })
    }

    /// Writes files of the index into another folder. Fails if the index does not have a path.
    pub async fn export_files(&self, paths: &[&OsStr], folder: &Path) -> Result<(), GitError> {
        let mut prefix = OsString::from("--prefix=");
        prefix.push(folder);
        prefix.push("/");
        let git = self.git().args(["checkout-index", "--quiet"]).args([prefix]).args(["-z", "--stdin"]);
        git.input(nul_terminated(paths.iter().copied())).run().await.map(drop)
    }

    /// Overwrites files of the checkout with those of the index. Fails if the index does not have a path.
    pub async fn write_files(&self, paths: &[&OsStr]) -> Result<(), GitError> {
        let git = self.git().args(["checkout-index", "--force", "--quiet", "-z", "--stdin"]);
        git.input(nul_terminated(paths.iter().copied())).run().await.map(drop)
    }

    /// Overwrites all files of the checkout with those of the index.
    pub async fn write_all_files(&self) -> Result<(), GitError> {
        self.git().args(["checkout-index", "--all", "--force", "--quiet"]).run().await.map(drop)
    }

    /// Adds everything that is not ignored to the index.
    pub async fn add_all(&self) -> Result<(), GitError> {
        self.git().args(["add", "--all", "--", "."]).run().await.map(drop)
    }

    /// Adds the files of the index as they are in the checkout; deleted ones are removed. Untracked files are not added.
    pub async fn add_tracked(&self) -> Result<(), GitError> {
        self.git().args(["add", "--update", "--", "."]).run().await.map(drop)
    }

    /// Adds files and folders, which are named as they are, without patterns. Fails if a path does not exist or is ignored.
    pub async fn add(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        self.add_named(&[], paths).await
    }

    /// Like [`Repo::add`], for ignored files too.
    pub async fn add_ignored(&self, paths: &[PathBuf]) -> Result<(), GitError> {
        self.add_named(&["--force"], paths).await
    }

    async fn add_named(&self, options: &[&str], paths: &[PathBuf]) -> Result<(), GitError> {
        let args = ["--pathspec-from-file=-", "--pathspec-file-nul"];
        let git = self.git().args(["--literal-pathspecs", "add"]).args(options).args(args);
        git.input(nul_terminated(paths.iter().map(|path| path.as_os_str()))).run().await.map(drop)
    }

    /// Adds a worktree that is locked, and checks a branch out there.
    pub async fn add_worktree(&self, tree: &Path, branch: &str) -> Result<(), GitError> {
        let git = self.git().args(["worktree", "add", "--quiet", "--lock", "--reason", "flower"]);
        git.args([tree.as_os_str(), branch.as_ref()]).run().await.map(drop)
    }

    /// Merges a commit into the branch that is checked out, and commits the merge. A merge with conflicts stays open.
    pub async fn merge(&self, commit: &CommitId) -> Result<Merge, GitError> {
        let output = self.git().args(["merge", "--no-edit", "--quiet", commit.as_str()]).output().await?;
        if output.code == 0 {
            return Ok(Merge::Done);
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("CONFLICT")).take(10).collect();
        Ok(Merge::Conflict(if lines.is_empty() { output.stderr } else { lines.join("; ") }))
    }

    /// Records a commit as merged into the branch that is checked out, whose files stay as they are.
    pub async fn merge_without_changes(&self, commit: &CommitId) -> Result<(), GitError> {
        let args = ["merge", "--no-edit", "--quiet", "--strategy=ours", commit.as_str()];
        self.git().args(args).run().await.map(drop)
    }

    /// Aborts an open merge. Succeeds if there is none.
    pub async fn abort_merge(&self) -> Result<(), GitError> {
        self.git().args(["merge", "--abort"]).output().await.map(drop)
    }
}

/// Paths in the format of `-z --stdin`: each ends with NUL.
fn nul_terminated<'a>(paths: impl Iterator<Item = &'a OsStr>) -> Vec<u8> {
    paths.flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect()
}

/// From `S 160000 12ab 0\tpath`.
fn gitlink(line: &[u8]) -> Option<(PathBuf, bool)> {
    let (&tag, rest) = line.split_first()?;
    let rest = rest.strip_prefix(b" 160000 ")?;
    let at = rest.iter().position(|&byte| byte == b'\t')?;
    Some((path_of(&rest[at + 1..]).into(), tag == b'S'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gitlinks_are_found_whatever_their_names_are() {
        assert_eq!(gitlink(b"S 160000 12ab 0\tlib"), Some(("lib".into(), true)));
        assert_eq!(gitlink(b"H 160000 12ab 0\tlib"), Some(("lib".into(), false)));
        assert_eq!(gitlink(b"H 160000 12ab 0\ta\xffb").unwrap().0.as_os_str().as_bytes(), b"a\xffb");
        assert_eq!(gitlink(b"H 100644 12ab 0\ta"), None);
    }
}
