//! The uncommitted changes of a worktree as a patch: changed files against the newest commit, and untracked files.
//!
//! Programs inside can change the files at the same time. git runs without the programs that a configuration names, under a deadline,
//! and untracked files are read without following links.

use super::paths::WorktreePaths;
use super::special_files::{self, ASK_TIMEOUT};
use flower_contract::error::Problem;
use flower_git::GitError;
use flower_git::lfs::Lfs;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Untracked files in one patch; a person reads no more.
const MAX_FILES: usize = 500;
/// The largest untracked file that is shown. A larger one is named only.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// All untracked files together.
const MAX_BYTES: usize = 8 << 20;

/// The uncommitted changes as a patch, or with `stat` only the number of changed lines of each file.
pub(crate) async fn uncommitted_diff(place: &WorktreePaths, stat: bool) -> Result<Vec<u8>, Problem> {
    let linked = place.linked().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
    special_files::require_plain_files(place)?;
    let linked = linked.with_lfs(Lfs::Pointers).with_deadline(ASK_TIMEOUT);
    let slow = |error: GitError| match error {
        GitError::Deadline { .. } => special_files::too_slow(place, ASK_TIMEOUT),
        error => Problem::from(error),
    };
    let mut patch = linked.diff_checkout(stat).await.map_err(slow)?;
    let untracked = linked.untracked_files().await.map_err(slow)?;
    let tree = place.tree.clone();
    let added = tokio::task::spawn_blocking(move || untracked_patch(&tree, &untracked, stat));
    patch.extend(added.await.map_err(|error| Problem::bug(error.to_string()))?);
    Ok(patch)
}

fn untracked_patch(tree: &Path, paths: &[OsString], stat: bool) -> Vec<u8> {
    let mut patch = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        if at == MAX_FILES || patch.len() > MAX_BYTES {
            patch.extend(format!("# {} more untracked files are not shown\n", paths.len() - at).into_bytes());
            break;
        }
        // A file that disappears meanwhile is no change any more.
        let Ok(file) = Untracked::read(tree, path) else { continue };
        patch.extend(if stat { file.stat(path) } else { file.patch(path) });
    }
    patch
}

struct Untracked {
    mode: &'static str,
    content: Content,
}

enum Content {
    Text(Vec<u8>),
    Binary,
    TooLarge(u64),
}

impl Untracked {
    fn read(tree: &Path, path: &OsStr) -> io::Result<Untracked> {
        let root = File::open(tree)?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let place_only = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let entry = openat2(&root, Path::new(path), place_only, Mode::empty(), resolve)?;
        if rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&entry)?.st_mode).is_symlink() {
            let target = rustix::fs::readlinkat(&entry, "", Vec::new())?;
            return Ok(Untracked { mode: "120000", content: Content::Text(target.into_bytes()) });
        }
        // Non-blocking, so that a pipe in its place is opened at once and then skipped.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(openat2(&root, Path::new(path), flags, Mode::empty(), resolve)?);
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        let mode = if found.permissions().mode() & 0o100 != 0 { "100755" } else { "100644" };
        if found.len() > MAX_FILE_BYTES {
            return Ok(Untracked { mode, content: Content::TooLarge(found.len()) });
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        // As git decides it: a zero byte in the first 8000.
        let is_binary = bytes.iter().take(8000).any(|&byte| byte == 0);
        Ok(Untracked { mode, content: if is_binary { Content::Binary } else { Content::Text(bytes) } })
    }

    /// As git writes a new file.
    fn patch(&self, path: &OsStr) -> Vec<u8> {
        let (old, new) = (quoted("a/", path), quoted("b/", path));
        let mut patch = [b"diff --git ", &old[..], b" ", &new, b"\n"].concat();
        patch.extend(format!("new file mode {}\n", self.mode).into_bytes());
        match &self.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => {
                let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
                patch.extend([b"--- /dev/null\n+++ ", &new[..], b"\n"].concat());
                let count = if lines.len() == 1 { "1".to_owned() } else { format!("1,{}", lines.len()) };
                patch.extend(format!("@@ -0,0 +{count} @@\n").into_bytes());
                for line in &lines {
                    patch.push(b'+');
                    patch.extend_from_slice(line);
                }
                if !text.ends_with(b"\n") {
                    patch.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
            Content::Binary | Content::TooLarge(_) => {
                patch.extend([b"Binary files /dev/null and ", &new[..], b" differ\n"].concat());
            }
        }
        patch
    }

    /// As a line of `git diff --stat`.
    fn stat(&self, path: &OsStr) -> Vec<u8> {
        let size = match &self.content {
            Content::Text(text) => format!("{} +", text.split_inclusive(|&byte| byte == b'\n').count()),
            Content::Binary => "Bin".to_owned(),
            Content::TooLarge(bytes) => format!("{bytes} bytes"),
        };
        [b" ", &quoted("", path)[..], format!(" | {size} (untracked)\n").as_bytes()].concat()
    }
}

/// A path as git writes it: in quotes and with escapes if it has characters that would break the patch.
fn quoted(prefix: &str, path: &OsStr) -> Vec<u8> {
    let path = path.as_bytes();
    if !path.iter().any(|&byte| byte < b' ' || byte == b'"' || byte == b'\\' || byte == 127) {
        return [prefix.as_bytes(), path].concat();
    }
    let mut text = vec![b'"'];
    text.extend_from_slice(prefix.as_bytes());
    for &byte in path {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b'\n' => text.extend(b"\\n"),
            b'\t' => text.extend(b"\\t"),
            byte if byte < b' ' || byte == 127 => {
                let mut octal = String::new();
                let _ = write!(octal, "\\{byte:03o}");
                text.extend(octal.into_bytes());
            }
            byte => text.push(byte),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn untracked_files_are_shown_as_new_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(dir.path().join("secret"), "canary").unwrap();
        fs::write(tree.join("one"), "a\nb").unwrap();
        fs::write(tree.join("zero"), [0, 1, 2]).unwrap();
        fs::write(tree.join("odd\n\"name"), "x\n").unwrap();
        symlink("../secret", tree.join("link")).unwrap();
        symlink("..", tree.join("up")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, tree.join("pipe"), Mode::RUSR).unwrap();
        let paths = ["one", "zero", "odd\n\"name", "link", "up/secret", "pipe", "gone"].map(OsString::from);
        let patch = String::from_utf8(untracked_patch(&tree, &paths, false)).unwrap();
        assert_eq!(
            patch,
            "diff --git a/one b/one\nnew file mode 100644\n--- /dev/null\n+++ b/one\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n\
             diff --git a/zero b/zero\nnew file mode 100644\nBinary files /dev/null and b/zero differ\n\
             diff --git \"a/odd\\n\\\"name\" \"b/odd\\n\\\"name\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/odd\\n\\\"name\"\n@@ -0,0 +1 @@\n+x\n\
             diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+../secret\n\\ No newline at end of file\n"
        );
        let stat = String::from_utf8(untracked_patch(&tree, &paths, true)).unwrap();
        assert!(stat.starts_with(" one | 2 + (untracked)\n zero | Bin (untracked)\n"), "{stat}");
    }

    #[test]
    fn many_untracked_files_are_counted_and_a_large_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("large"), vec![b'x'; 2 << 20]).unwrap();
        let large = String::from_utf8(untracked_patch(dir.path(), &["large".into()], false)).unwrap();
        assert!(large.ends_with("Binary files /dev/null and b/large differ\n"), "{large}");
        let many: Vec<OsString> = (0..MAX_FILES + 7).map(|n| n.to_string().into()).collect();
        assert_eq!(untracked_patch(dir.path(), &many, false), b"# 7 more untracked files are not shown\n");
    }
}
