//! Reads and writes files for an agent over ACP. flower does not announce this capability, but some agents use it anyway.
//! Only regular files of the agent's worktree are accessible, and links are not followed.

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 8 << 20;

/// The response to a request `fs/*`, or the error.
pub(super) fn answer(tree: &Path, method: &str, params: &Value) -> Result<Value, String> {
    let path = params["path"].as_str().map(PathBuf::from).ok_or("`path` is missing")?;
    let below = path.strip_prefix(tree).unwrap_or(&path);
    if below.is_absolute() || below.starts_with(".git") {
        return Err(format!("{} is not in your worktree", path.display()));
    }
    let done = match method {
        "fs/read_text_file" => read(tree, below, params).map(|content| json!({ "content": content })),
        "fs/write_text_file" => {
            write(tree, below, params["content"].as_str().unwrap_or_default()).map(|()| Value::Null)
        }
        _ => return Err(format!("`{method}` is not offered")),
    };
    done.map_err(|error| format!("{}: {error}", path.display()))
}

fn open(tree: &Path, path: &Path, flags: OFlags) -> io::Result<File> {
    let root = File::open(tree)?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mode = if flags.contains(OFlags::CREATE) { Mode::from_raw_mode(0o644) } else { Mode::empty() };
    let file = File::from(openat2(&root, path, flags, mode, resolve)?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

fn read(tree: &Path, path: &Path, params: &Value) -> io::Result<String> {
    let mut text = String::new();
    open(tree, path, OFlags::RDONLY)?.take(MAX_BYTES).read_to_string(&mut text)?;
    let from = params["line"].as_u64().unwrap_or(1).max(1) - 1;
    let lines = text.split_inclusive('\n').skip(usize::try_from(from).unwrap_or(usize::MAX));
    Ok(match params["limit"].as_u64() {
        Some(limit) => lines.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect(),
        None => lines.collect(),
    })
}

fn write(tree: &Path, path: &Path, text: &str) -> io::Result<()> {
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("the text is too large"));
    }
    open(tree, path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_files_of_the_worktree_are_touched() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path();
        std::fs::write(tree.join("a"), "one\ntwo\nthree\n").unwrap();
        std::os::unix::fs::symlink(outside.path(), tree.join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), tree.join("file")).unwrap();
        let read = |path: &str| answer(tree, "fs/read_text_file", &json!({ "path": path, "line": 2, "limit": 1 }));
        assert_eq!(read("a").unwrap()["content"], "two\n");
        assert_eq!(read(tree.join("a").to_str().unwrap()).unwrap()["content"], "two\n");
        let secret = outside.path().join("secret");
        for path in ["link/secret", "file", "../x", ".git", ".git/config", ".", secret.to_str().unwrap()] {
            assert!(read(path).is_err(), "{path}");
            assert!(answer(tree, "fs/write_text_file", &json!({ "path": path, "content": "x" })).is_err(), "{path}");
        }
        answer(tree, "fs/write_text_file", &json!({ "path": "b", "content": "new" })).unwrap();
        assert_eq!(std::fs::read_to_string(tree.join("b")).unwrap(), "new");
        assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
    }
}
