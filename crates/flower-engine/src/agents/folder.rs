//! One file in a home that others may write to while we do: every step is relative to an open folder and follows no link.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

/// Credentials have some kilobytes.
pub(super) const MOST_BYTES: usize = 1 << 20;

pub(super) struct Folder {
    dir: OwnedFd,
    file: OsString,
}

impl Folder {
    /// The folder of `home/below`, if it is there and none of the way is a link.
    pub(super) fn open(home: &Path, below: &Path) -> io::Result<Folder> {
        Folder::walk(home, below, |dir, name| open_dir(dir, name).map_err(io::Error::from))
    }

    /// The same, made for the owner alone where it is not there; whatever stands in its way goes.
    pub(super) fn make(home: &Path, below: &Path) -> io::Result<Folder> {
        Folder::walk(home, below, |dir, name| {
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

    fn walk(home: &Path, below: &Path, step: impl Fn(&OwnedFd, &OsStr) -> io::Result<OwnedFd>) -> io::Result<Folder> {
        let odd = || io::Error::new(io::ErrorKind::InvalidInput, "it is no plain path below a home");
        let mut dir =
            rustix::fs::openat(CWD, home, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let mut parts = below.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else { return Err(odd()) };
            if parts.peek().is_none() {
                return Ok(Folder { dir, file: name.to_owned() });
            }
            dir = step(&dir, name)?;
        }
        Err(odd())
    }

    /// Whole or not at all, for the owner alone.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        let draft = format!(".flower-{}", random_name());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.dir, &draft, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(content).and_then(|()| self.put(&draft));
        written.inspect_err(|_| {
            let _ = rustix::fs::unlinkat(&self.dir, &draft, AtFlags::empty());
        })
    }

    fn put(&self, draft: &str) -> io::Result<()> {
        match rustix::fs::renameat(&self.dir, draft, &self.dir, &self.file) {
            // A folder stands there: it is moved aside, for it may be deep.
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => {
                let aside = format!(".flower-aside-{}", random_name());
                rustix::fs::renameat(&self.dir, &self.file, &self.dir, &aside)?;
                Ok(rustix::fs::renameat(&self.dir, draft, &self.dir, &self.file)?)
            }
            put => Ok(put?),
        }
    }

    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        // A pipe answers at once, and is then seen to be one.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        read_file(File::from(rustix::fs::openat(&self.dir, &self.file, flags, Mode::empty())?))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.dir, &self.file, AtFlags::empty())?)
    }
}

/// A file of the operator's own, behind whatever links lead to it.
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
        return Err(invalid("it is no file"));
    }
    let mut content = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut content)?;
    if content.len() > MOST_BYTES { Err(invalid("it is larger than 1 MB")) } else { Ok(content) }
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
