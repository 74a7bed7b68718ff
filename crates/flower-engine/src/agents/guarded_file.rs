//! One file in a home that an agent can change at the same time: every path component is opened relative to the one before,
//! and no symbolic link is followed.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Credentials have a few kilobytes.
pub(super) const MAX_BYTES: usize = 1 << 20;

pub(super) struct GuardedFile {
    dir: OwnedFd,
    file: OsString,
}

impl GuardedFile {
    /// The file `home/below`. Fails if its directory does not exist or a link leads to it.
    pub(super) fn open(home: &Path, below: &Path) -> io::Result<GuardedFile> {
        GuardedFile::walk(home, below, |dir, name| open_dir(dir, name).map_err(io::Error::from))
    }

    /// Like `open`, but creates missing directories, for their owner only. A link or a file in place of a directory is deleted.
    pub(super) fn create(home: &Path, below: &Path) -> io::Result<GuardedFile> {
        GuardedFile::walk(home, below, |dir, name| {
            let opened = match open_dir(dir, name) {
                Err(Errno::NOENT) => make_dir(dir, name)?,
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    rustix::fs::unlinkat(dir, name, AtFlags::empty())?;
                    make_dir(dir, name)?
                }
                opened => opened?,
            };
            rustix::fs::fchmod(&opened, Mode::RWXU)?;
            Ok(opened)
        })
    }

    fn walk(
        home: &Path,
        below: &Path,
        step: impl Fn(&OwnedFd, &OsStr) -> io::Result<OwnedFd>,
    ) -> io::Result<GuardedFile> {
        let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "not a plain path below a home");
        let mut dir =
            rustix::fs::openat(CWD, home, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let mut parts = below.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(invalid()) };
            if parts.peek().is_none() {
                return Ok(GuardedFile { dir, file: name.to_owned() });
            }
            dir = step(&dir, name)?;
        }
        Err(invalid())
    }

    /// Replaces the file atomically, readable by its owner only.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let draft = format!(".flower-{}", random_name());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.dir, &draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(content).and_then(|()| self.replace_with(&draft));
        written.inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&self.dir, &draft, AtFlags::empty());
        })
    }

    fn replace_with(&self, draft: &str) -> io::Result<()> {
        match rustix::fs::renameat(&self.dir, draft, &self.dir, &self.file) {
            // A directory is in its place. It is renamed, because deleting a deep one takes long.
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                let aside = format!(".flower-aside-{}", random_name());
                rustix::fs::renameat(&self.dir, &self.file, &self.dir, &aside)?;
                Ok(rustix::fs::renameat(&self.dir, draft, &self.dir, &self.file)?)
            }
            renamed => Ok(renamed?),
        }
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        // Non-blocking, so that a pipe in its place is opened at once and then rejected.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        read_file(File::from(rustix::fs::openat(&self.dir, &self.file, flags, Mode::empty())?))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.file, AtFlags::empty())?)
    }
}

/// Reads a file of the operator. Links are followed.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    read_file(File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
}

pub(super) fn random_name() -> String {
    crate::home::random_hex()[..16].to_owned()
}

fn read_file(file: File) -> io::Result<Vec<u8>> {
    let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why);
    if !file.metadata()?.is_file() {
        return Err(invalid("not a regular file"));
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut content)?;
    if content.len() > MAX_BYTES { Err(invalid("larger than 1 MB")) } else { Ok(content) }
}

fn open_dir(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(dir, name, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn make_dir(dir: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(dir, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => open_dir(dir, name),
        Err(error) => Err(error),
    }
}
