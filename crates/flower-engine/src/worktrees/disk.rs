//! Copies, moves and deletes directory trees, and reads and replaces small files.

use rustix::fs::OFlags;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// Makes a directory, and its parents, that only the owner can access.
pub(crate) fn make_private(dir: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The content of a regular file of at most `most` bytes. No link is followed: an untrusted repository may have one.
pub(crate) fn read_small(file: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let options = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(file);
    let file = options.ok()?;
    file.metadata().ok().filter(|found| found.is_file() && found.len() <= most)?;
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Like [`read_small`], if the content is text.
pub(crate) fn read_small_text(file: &Path, most: u64) -> Option<String> {
    String::from_utf8(read_small(file, most)?).ok()
}

/// Replaces a file, or a symbolic link of its name, by a new file. No link is followed.
pub(crate) fn replace_file(file: &Path, content: &[u8]) -> io::Result<()> {
    let mut draft = file.as_os_str().to_owned();
    draft.push(format!(".draft-{}", std::process::id()));
    let draft = PathBuf::from(draft);
    let _ = fs::remove_file(&draft);
    let mut new = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&draft)?;
    new.write_all(content)?;
    new.sync_all()?;
    fs::rename(&draft, file)
}

/// Deletes a tree, also if its directories are read-only. Succeeds if it does not exist.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let attempt = || match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match attempt() {
        Err(error) if gone(&error) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unlock(path);
            attempt().or_else(|error| if gone(&error) { Ok(()) } else { Err(error) })
        }
        done => done,
    }
}

/// Makes every directory of a tree writable for the owner. Symbolic links are not followed.
fn unlock(path: &Path) {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
        return;
    }
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        unlock(&entry.path());
    }
}

/// The bytes and the number of files of a tree. Stops counting beyond `max_bytes`.
pub(super) fn size(path: &Path, max_bytes: u64) -> (u64, u64) {
    let Ok(found) = fs::symlink_metadata(path) else { return (0, 0) };
    if !found.is_dir() {
        return (found.len(), 1);
    }
    let (mut bytes, mut files) = (0, 0);
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let (more, count) = size(&entry.path(), max_bytes.saturating_sub(bytes));
        bytes += more;
        files += count;
        if bytes > max_bytes {
            break;
        }
    }
    (bytes, files)
}

/// A digest of the names, kinds, sizes, times and permissions of all files below `paths`, which are relative to `root`. It does not
/// read their content.
pub(crate) fn digest(root: &Path, paths: &[PathBuf]) -> io::Result<String> {
    let mut lines = Vec::new();
    for path in paths {
        describe(root, path, &mut lines)?;
    }
    Ok(flower_core::chain::sha256(&lines))
}

fn describe(root: &Path, path: &Path, lines: &mut Vec<u8>) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    let at = root.join(path);
    let found = fs::symlink_metadata(&at)?;
    lines.extend(path.as_os_str().as_bytes());
    lines.extend(format!("\0{} {} {}.{}", found.mode(), found.len(), found.mtime(), found.mtime_nsec()).as_bytes());
    if found.is_symlink() {
        lines.extend(fs::read_link(&at)?.as_os_str().as_bytes());
    }
    lines.push(0);
    if found.is_dir() {
        let mut names =
            fs::read_dir(&at)?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<Vec<_>, _>>()?;
        names.sort();
        for name in names {
            describe(root, &path.join(name), lines)?;
        }
    }
    Ok(())
}

/// Moves a file or tree, makes the parents of its target, and replaces the target. Succeeds if the source does not exist: it was moved
/// before a crash.
pub(super) fn move_replacing(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from).is_err() {
        return Ok(());
    }
    if let Some(above) = to.parent() {
        fs::create_dir_all(above)?;
    }
    match rename(from, to) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory | io::ErrorKind::DirectoryNotEmpty
            ) =>
        {
            delete(to)?;
            rename(from, to)
        }
        // The repository need not lie on the file system of FLOWER_HOME.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut draft = to.as_os_str().to_owned();
            draft.push(".draft");
            let draft = PathBuf::from(draft);
            delete(&draft)?;
            copy(from, &draft)?;
            delete(to)?;
            fs::rename(&draft, to)?;
            delete(from)
        }
        done => done,
    }
}

/// Renames also if the old parent, the new parent, or the directory itself is read-only: a move writes its entry `..`. Restores their
/// permissions afterwards.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let around = [from.parent(), to.parent()].into_iter().flatten();
            let own = is_dir(from).then_some(from);
            let mut before = Vec::new();
            for dir in around.chain(own) {
                let permissions = fs::symlink_metadata(dir)?.permissions();
                // This fails for another user's directory; then the rename fails too, and reports it.
                let _ = fs::set_permissions(dir, fs::Permissions::from_mode(permissions.mode() | 0o700));
                before.push((dir, permissions));
            }
            let renamed = fs::rename(from, to);
            for (dir, permissions) in before {
                let now = if renamed.is_ok() && dir == from { to } else { dir };
                let _ = fs::set_permissions(now, permissions);
            }
            renamed
        }
        done => done,
    }
}

/// Whether the path is a directory, and not a link to one.
pub(super) fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Copies a tree with permissions and times. Shares blocks if the file system can; never makes hard links, through which a write
/// would reach the original.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    if found.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        fs::set_permissions(to, found.permissions())?;
        return keep_time(to, &found);
    }
    if !found.is_file() {
        // Sockets, pipes and devices are not copied.
        return Ok(());
    }
    let source = fs::File::open(from)?;
    let mut target = fs::File::create(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        io::copy(&mut &source, &mut target)?;
    }
    target.set_permissions(found.permissions())?;
    target.set_modified(found.modified()?)
}

fn keep_time(dir: &Path, found: &fs::Metadata) -> io::Result<()> {
    fs::File::open(dir)?.set_modified(found.modified()?)
}

/// Copies an index of git together with its time. git takes a file for unchanged if size and time are those in the index, and compares
/// the times by the second. Only a file that is not older than the index is compared by content, so a younger copy would hide a change
/// that was made in the second of the last look.
pub(crate) fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let written = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    fs::File::options().write(true).open(to)?.set_modified(written)
}

/// Parses a path from a file. `None` unless it stays inside of the directory that it is relative to.
pub(crate) fn relative_path(raw: &str) -> Option<PathBuf> {
    let path = Path::new(raw.trim_end_matches('/'));
    if path.as_os_str().is_empty() {
        return None;
    }
    let plain = path.components().all(|part| matches!(part, Component::Normal(name) if name != ".git"));
    (plain && !raw.contains('\0')).then(|| path.to_owned())
}

/// `path` below `root`, if it exists and none of its parents is a symbolic link: a program that works in a directory can replace a
/// folder by a link, and the path would then lead to a file outside.
pub(crate) fn existing_beneath(root: &Path, path: &Path) -> Option<PathBuf> {
    let at = path_beneath(root, path)?;
    fs::symlink_metadata(&at).is_ok().then_some(at)
}

/// Like [`existing_beneath`], for a path that may not exist yet.
pub(crate) fn path_beneath(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = root.to_owned();
    for part in path.components() {
        match fs::symlink_metadata(&at) {
            Ok(found) if !found.is_dir() => return None,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return None,
            Ok(_) | Err(_) => at.push(part),
        }
    }
    Some(at)
}

/// Deletes parents of `path` below `root` that are not directories.
pub(super) fn clear_path(root: &Path, path: &Path) -> io::Result<()> {
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty()).collect();
    for part in above.into_iter().rev().map(|part| root.join(part)) {
        if fs::symlink_metadata(&part).is_ok_and(|found| !found.is_dir()) {
            delete(&part)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_paths_stay_inside() {
        for good in ["target", "node_modules/", "a/b.md", ".claude"] {
            assert!(relative_path(good).is_some(), "{good}");
        }
        for bad in ["", "/", "//", "/etc", "../../.ssh/id_rsa", "a/../b", "./a", ".git", "a/.git/hooks", "a\0b"] {
            assert!(relative_path(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn nothing_is_made_or_deleted_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir_all(root.join("real")).unwrap();
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("link")).unwrap();
        for (path, stays) in [("real/a", true), ("new/er/a", true), ("a", true), ("link", true), ("link/a", false)] {
            assert_eq!(path_beneath(&root, Path::new(path)).is_some(), stays, "{path}");
        }
        clear_path(&root, Path::new("link/a/b")).unwrap();
        assert!(fs::symlink_metadata(root.join("link")).is_err() && outside.exists());
        clear_path(&root, Path::new("real/a")).unwrap();
        assert!(root.join("real").exists());
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("real")).unwrap();
        fs::write(dir.path().join("real/file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("link")).unwrap();
        assert!(existing_beneath(dir.path(), Path::new("real/file")).is_some());
        assert_eq!(existing_beneath(dir.path(), Path::new("link/passwd")), None);
        assert_eq!(existing_beneath(dir.path(), Path::new("absent")), None);
        assert_eq!(
            existing_beneath(dir.path(), Path::new("link")),
            Some(dir.path().join("link")),
            "the link itself is ours"
        );
        assert!(path_beneath(dir.path(), Path::new("new/folder/file")).is_some());
        assert_eq!(path_beneath(dir.path(), Path::new("link/new")), None);
        assert_eq!(path_beneath(dir.path(), Path::new("real/file/new")), None);
    }

    #[test]
    fn a_copy_has_times_permissions_and_links_of_its_own() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("sub/tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.join("sub/tool"), fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("sub/tool", from.join("link")).unwrap();
        let to = dir.path().join("to");
        copy(&from, &to).unwrap();
        let (old, new) = (fs::metadata(from.join("sub/tool")).unwrap(), fs::metadata(to.join("sub/tool")).unwrap());
        assert_eq!((old.mode(), old.modified().unwrap()), (new.mode(), new.modified().unwrap()));
        assert_eq!((new.nlink(), new.ino() == old.ino()), (1, false));
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("sub/tool"));
        fs::write(to.join("sub/tool"), "changed").unwrap();
        assert_eq!(fs::read_to_string(from.join("sub/tool")).unwrap(), "#!/bin/sh\n");
    }

    #[test]
    fn a_digest_changes_with_any_file_and_is_otherwise_the_same() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("target/debug")).unwrap();
        fs::write(dir.path().join("target/debug/a"), "one").unwrap();
        let digest = || digest(dir.path(), &["target".into()]).unwrap();
        let before = digest();
        assert_eq!(before, digest());
        fs::write(dir.path().join("target/debug/a"), "other").unwrap();
        let changed = digest();
        std::os::unix::fs::symlink("a", dir.path().join("target/debug/b")).unwrap();
        assert!(before != changed && changed != digest());
        assert!(super::digest(dir.path(), &["absent".into()]).is_err());
    }

    #[test]
    fn what_forbids_its_move_moves_and_forbids_it_still() {
        let dir = tempfile::tempdir().unwrap();
        let locked = dir.path().join("locked");
        fs::create_dir_all(locked.join("in")).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
        let to = dir.path().join("other/place");
        move_replacing(&locked, &to).unwrap();
        assert!(!locked.exists() && to.join("in").exists());
        assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o555);
        delete(&to).unwrap();
    }

    #[test]
    fn what_forbids_its_deletion_goes_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let locked = dir.path().join("a/b");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("file"), "x").unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        delete(&dir.path().join("a")).unwrap();
        assert!(!dir.path().join("a").exists());
        delete(&dir.path().join("a")).unwrap();
    }
}
