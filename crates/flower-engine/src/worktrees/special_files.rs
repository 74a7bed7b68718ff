//! FIFOs, sockets and devices in place of files that git reads: git opens them and blocks until another program writes to them. Those
//! at known places are reported; for others git has a deadline.

use super::paths::WorktreePaths;
use flower_contract::error::{Problem, ProblemKind};
use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::Duration;

/// For the whole observation of one worktree.
pub(super) const OBSERVE_TIMEOUT: Duration = Duration::from_secs(2);
/// For one query whose answer is needed, such as whether everything is committed. A very large worktree on a slow disk takes seconds.
pub(super) const ASK_TIMEOUT: Duration = Duration::from_secs(20);

/// Files that git reads in a working directory.
const IN_TREE: &[&str] = &[".gitattributes", ".gitignore", ".gitmodules"];
/// Files that git reads in a repository before anything else.
const IN_REPOSITORY: &[&str] = &[
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "packed-refs",
    "shallow",
    "refs",
    "refs/heads",
    "info",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "logs/HEAD",
    "objects/info/alternates",
    "objects/info/commit-graph",
    "objects/pack/multi-pack-index",
];

/// Fails if git would block on a file of the private repository.
pub(super) fn require_plain_repository(place: &WorktreePaths) -> Result<(), Problem> {
    let private = place.private();
    let branch = place.full_branch();
    let all = IN_REPOSITORY.iter().copied().chain([branch.as_str()]);
    all.map(|name| private.join(name)).find_map(|path| special(place, &path)).map_or(Ok(()), Err)
}

/// Fails if git would block on a file at the top of the worktree.
pub(super) fn require_plain_files(place: &WorktreePaths) -> Result<(), Problem> {
    let all = IN_TREE.iter().map(|name| place.tree.join(name));
    all.into_iter().find_map(|path| special(place, &path)).map_or(Ok(()), Err)
}

/// The error for a git that did not end in time.
pub(super) fn too_slow(place: &WorktreePaths, timeout: Duration) -> Problem {
    Problem::new(
        ProblemKind::Timeout,
        format!(
            "git did not end within {} s in `{}`, so that what changed there is not known",
            timeout.as_secs(),
            place.name
        ),
        format!(
            "it may be very large or the machine busy; otherwise look for FIFOs, sockets and devices named like files of git's: `flower worktree shell {} -- find . -name \
             '.git*' -not -type f -not -type d`, and delete them",
            place.name
        ),
    )
}

/// Deletes special files below a folder that is about to be archived. They have no content to keep.
pub(super) fn delete_below(root: &Path) -> std::io::Result<()> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(entry.path());
            } else if is_special(kind) && IN_TREE.iter().any(|name| entry.file_name() == *name) {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

fn special(place: &WorktreePaths, path: &Path) -> Option<Problem> {
    // Links are followed, as git does.
    let kind = fs::metadata(path).ok()?.file_type();
    let what = if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if is_special(kind) {
        "a device"
    } else {
        return None;
    };
    Some(Problem::new(
        ProblemKind::Refused,
        format!("{} is {what}, and git would wait for it", path.display()),
        format!("delete it inside: `flower worktree shell {} -- rm {}`", place.name, path.display()),
    ))
}

fn is_special(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device()
}
