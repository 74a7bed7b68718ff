//! Lists, compares, merges and writes trees.

use crate::config::Identity;
use crate::history::Author;
use crate::process::Output;
use crate::{CommitId, GitError, ObjectId, Repo, TreeId, Treeish};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// One path that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: ChangeKind,
    /// The new mode, such as `100644`; zeros if the path is deleted.
    pub mode: String,
    pub path: OsString,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
    /// The kind of entry has changed, for instance from a file to a link.
    Retyped,
    /// A kind that this version of flower does not know.
    Other,
}

impl Change {
    /// The path for people.
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// The entries of a tree, as git listed them.
#[derive(Clone, Debug)]
pub struct TreeListing {
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntry<'a> {
    /// Such as `100644`.
    pub mode: &'a str,
    /// `blob`, `tree` or `commit`.
    pub kind: &'a str,
    pub id: &'a str,
    /// The size of a file, if sizes were requested.
    pub size: Option<u64>,
    /// Relative to the top of the tree.
    pub path: &'a OsStr,
}

impl TreeEntry<'_> {
    pub fn is_gitlink(&self) -> bool {
        self.mode == "160000"
    }

    pub fn object(&self) -> Result<ObjectId, GitError> {
        ObjectId::parse(self.id)
    }
}

impl TreeListing {
    /// Parses the output of `git ls-tree -z`, with or without sizes.
    pub fn parse(bytes: Vec<u8>) -> TreeListing {
        TreeListing { bytes }
    }

    pub fn entries(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        self.bytes.split(|&byte| byte == 0).filter_map(entry)
    }
}

/// Parses `100644 blob ID      SIZE\tpath`, with or without a size.
fn entry(item: &[u8]) -> Option<TreeEntry<'_>> {
    let tab = item.iter().position(|&byte| byte == b'\t')?;
    let mut facts = str::from_utf8(&item[..tab]).ok()?.split_whitespace();
    let (mode, kind, id) = (facts.next()?, facts.next()?, facts.next()?);
    let size = facts.next().and_then(|size| size.parse().ok());
    Some(TreeEntry { mode, kind, id, size, path: OsStr::from_bytes(&item[tab + 1..]) })
}

/// The result of a merge of two trees.
#[derive(Clone, Debug)]
pub struct MergedTrees {
    pub tree: TreeId,
    /// Paths that git could not merge; the tree has them with conflict markers.
    pub conflicts: Vec<OsString>,
}

/// A commit to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewCommit<'a> {
    pub tree: &'a TreeId,
    pub parents: &'a [&'a CommitId],
    pub message: &'a str,
    /// `flower` for missing parts.
    pub committer: &'a Identity,
    /// The committer by default.
    pub author: Option<&'a Author>,
}

impl Repo {
    /// What differs between two trees, without detection of renames. Fails if it does not exist.
    pub async fn diff_trees(&self, from: &impl Treeish, to: &impl Treeish) -> Result<Vec<Change>, GitError> {
        let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options"];
        let output = self.git().args(args).args([from.name(), to.name()]).run().await?;
        let mut items = output.items();
        let mut changes = Vec::new();
        while let (Some(head), Some(path)) = (items.next(), items.next()) {
            // `:100644 100755 old new M`
            let head = String::from_utf8_lossy(head);
            let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
            let [_, mode, _, _, kind] = words[..] else { return Err(GitError::Unreadable("diff-tree")) };
            let kind = match kind.bytes().next() {
                Some(b'A') => ChangeKind::Added,
                Some(b'D') => ChangeKind::Deleted,
                Some(b'M') => ChangeKind::Modified,
                Some(b'T') => ChangeKind::Retyped,
                _ => ChangeKind::Other,
            };
            changes.push(Change { kind, mode: mode.to_owned(), path: path_of(path) });
        }
        Ok(changes)
    }

    /// Files that git takes for renamed between two commits: the old and the new path of each.
    pub async fn renames(&self, from: &CommitId, to: &CommitId) -> Result<Vec<(OsString, OsString)>, GitError> {
        let args = ["diff-tree", "-r", "-z", "-M", "--diff-filter=R", "--name-status", "--end-of-options"];
        let output = self.git().args(args).args([from.as_str(), to.as_str()]).run().await?;
        let items: Vec<&[u8]> = output.items().collect();
        Ok(items.chunks_exact(3).map(|renamed| (path_of(renamed[1]), path_of(renamed[2]))).collect())
    }

    /// The differences as a patch, or with `stat` only the number of changed lines of each file.
    pub async fn diff_text(
        &self,
        from: &impl Treeish,
        to: &impl Treeish,
        only_figures: bool,
    ) -> Result<Vec<u8>, GitError> {
        let style = if only_figures { "--stat" } else { "--patch" };
        let args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", style, from.name(), to.name(), "--"];
        Ok(self.git().args(args).run().await?.stdout)
    }

    /// Merges two commits without a checkout, relative to `base` or else to their merge base. Fails if a commit does not exist; a conflict
    /// is part of the result.
    pub async fn merge_trees(
        &self,
        base: Option<&CommitId>,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<MergedTrees, GitError> {
        // The detection of renamed folders moves files that no commit has touched.
        let args = ["-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "-z", "--name-only"];
        let base = base.map(|base| format!("--merge-base={base}"));
        let git = self.git().args(args).args(["--no-messages", "--allow-unrelated-histories"]).args(base);
        let output = git.args([ours.as_str(), theirs.as_str()]).output().await?;
        let mut items = output.items();
        let tree = TreeId::parse(&String::from_utf8_lossy(items.next().unwrap_or_default()));
        match (output.code, tree) {
            // The exit code 1 means an unknown name or a conflict.
            (0 | 1, Ok(tree)) => Ok(MergedTrees { tree, conflicts: items.map(path_of).collect() }),
            _ => Err(GitError::CannotMerge { theirs: theirs.to_string(), stderr: output.stderr.clone() }),
        }
    }

    /// Whether a merge of `theirs` would not change `ours`. False if there are conflicts.
    pub async fn merge_changes_nothing(&self, ours: &CommitId, theirs: &CommitId) -> Result<bool, GitError> {
        let args = ["merge-tree", "--write-tree", ours.as_str(), theirs.as_str()];
        let merged = self.git().args(args).output().await?;
        let tree = self.tree_of(ours).await?;
        Ok(merged.code == 0 && merged.line() == tree.as_str())
    }

    /// Makes a commit without a ref.
    pub async fn commit_tree(&self, new: NewCommit<'_>) -> Result<CommitId, GitError> {
        let name = new.committer.name.as_deref().unwrap_or("flower");
        let email = new.committer.email.as_deref().unwrap_or("flower@localhost");
        let mut git = self
            .git()
            .args(["commit-tree", new.tree.as_str()])
            .args(new.parents.iter().flat_map(|parent| ["-p", parent.as_str()]))
            .env("GIT_COMMITTER_NAME", name)
            .env("GIT_COMMITTER_EMAIL", email)
            .input(new.message.as_bytes().to_vec());
        git = match new.author {
            Some(author) => git
                .env("GIT_AUTHOR_NAME", &author.name)
                .env("GIT_AUTHOR_EMAIL", &author.email)
                .env("GIT_AUTHOR_DATE", &author.date),
            None => git.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email),
        };
        CommitId::parse(&git.line().await?)
    }

    /// The entries at the top of a tree. Fails if it does not exist.
    pub async fn list_top(&self, tree: &impl Treeish) -> Result<TreeListing, GitError> {
        self.listing(&["ls-tree", "-z", "--full-tree", tree.name()]).await
    }

    /// All files of a tree. Fails if it does not exist.
    pub async fn list_files(&self, tree: &impl Treeish) -> Result<TreeListing, GitError> {
        self.listing(&["ls-tree", "-r", "-z", "--full-tree", tree.name()]).await
    }

    /// All files of a tree with their sizes. Fails if it does not exist.
    pub async fn list_files_with_sizes(&self, tree: &impl Treeish) -> Result<TreeListing, GitError> {
        self.listing(&["ls-tree", "-r", "-l", "-z", "--full-tree", tree.name()]).await
    }

    /// All files and folders of a tree. Fails if it does not exist.
    pub async fn list_everything(&self, tree: &impl Treeish) -> Result<TreeListing, GitError> {
        self.listing(&["ls-tree", "-r", "-t", "-z", "--full-tree", tree.name()]).await
    }

    /// The entry of a tree at one path, with its size; empty if the path or the tree does not exist.
    pub async fn list_path(&self, tree: &impl Treeish, path: &str) -> Result<TreeListing, GitError> {
        let args = ["ls-tree", "-z", "--long", "--full-tree", tree.name(), "--", path];
        Ok(TreeListing { bytes: self.git().args(args).output().await?.stdout })
    }

    async fn listing(&self, args: &[&str]) -> Result<TreeListing, GitError> {
        Ok(TreeListing { bytes: self.git().args(args).run().await?.stdout })
    }

    /// Writes a tree: that of a commit, with this file at its top.
    pub async fn tree_with_file(&self, commit: &CommitId, name: &str, content: &[u8]) -> Result<TreeId, GitError> {
        let blob = self.git().args(["hash-object", "-w", "--stdin"]).input(content.to_vec()).line().await?;
        let blob = ObjectId::parse(&blob)?;
        let mut input = Vec::new();
        for entry in self.list_top(commit).await?.entries().filter(|entry| entry.path != name) {
            input.extend_from_slice(format!("{} {} {}\t", entry.mode, entry.kind, entry.id).as_bytes());
            input.extend_from_slice(entry.path.as_bytes());
            input.push(0);
        }
        input.extend_from_slice(format!("100644 blob {blob}\t{name}\0").as_bytes());
        TreeId::parse(&self.git().args(["mktree", "-z"]).input(input).line().await?)
    }

    /// The empty tree, which git knows without storing it.
    pub async fn empty_tree(&self) -> Result<TreeId, GitError> {
        TreeId::parse(&self.git().args(["hash-object", "-t", "tree", "/dev/null"]).line().await?)
    }

    /// Those of `paths` whose `filter`, by the attributes of this tree, is `filter`.
    pub async fn filtered_paths(
        &self,
        tree: &TreeId,
        paths: &[&OsStr],
        filter: &str,
    ) -> Result<Vec<OsString>, GitError> {
        let input: Vec<u8> = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"].concat()).collect();
        let source = format!("--source={tree}");
        let output = self.git().args(["check-attr", &source, "-z", "--stdin", "filter"]).input(input).run().await?;
        let items: Vec<&[u8]> = output.items().collect();
        let is_it = |item: &&[&[u8]]| item[2] == filter.as_bytes();
        Ok(items.chunks_exact(3).filter(is_it).map(|item| path_of(item[0])).collect())
    }

    /// Whether a `.gitattributes` of a tree contains this text.
    pub async fn attributes_mention(&self, tree: &impl Treeish, text: &str) -> Result<bool, GitError> {
        let args = ["grep", "--quiet", "--fixed-strings", "-e", text, tree.name(), "--"];
        self.git().args(args).args([":(top,glob)**/.gitattributes"]).succeeds().await
    }

    /// Writes the index as a tree. Fails if it has conflicts.
    pub async fn write_tree(&self) -> Result<TreeId, GitError> {
        TreeId::parse(&self.git().args(["write-tree"]).line().await?)
    }

    /// Writes the index as a tree; `None` if it has conflicts.
    pub async fn staged_tree(&self) -> Result<Option<TreeId>, GitError> {
        let output: Output = self.git().args(["write-tree"]).output().await?;
        if output.code == 0 { TreeId::parse(&output.line()).map(Some) } else { Ok(None) }
    }
}

/// A path in git's output.
pub(crate) fn path_of(item: &[u8]) -> OsString {
    OsString::from_vec(item.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_with_and_without_sizes_whatever_their_names_are() {
        let bytes =
            [&b"160000 commit 12ab       -\ta\xffb\0"[..], b"100644 blob 34cd 7\tx\ny\0", b"120000 blob 56ef\tlink\0"]
                .concat();
        let listing = TreeListing::parse(bytes);
        let entries: Vec<TreeEntry<'_>> = listing.entries().collect();
        assert_eq!(entries.len(), 3);
        assert!(entries[0].is_gitlink() && entries[0].size.is_none());
        assert_eq!(entries[0].path.as_bytes(), b"a\xffb");
        assert_eq!((entries[1].kind, entries[1].id, entries[1].size), ("blob", "34cd", Some(7)));
        assert_eq!(entries[1].path, "x\ny");
        assert_eq!((entries[2].mode, entries[2].size), ("120000", None));
    }
}
