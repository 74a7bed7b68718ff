//! The fresh root: an empty file system on which only the listed places are put, and which then takes the place of `/`.

use super::dev;
use super::failure::{During, Failure, Step, say};
use super::limits;
use super::places::{Place, Places};
use super::spec::{Limits, Overlay};
use super::support;
use super::sys;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
    unmount,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub(super) const NO_SUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub(super) const NO_DEV: u64 = libc::MOUNT_ATTR_NODEV;
pub(super) const NO_EXEC: u64 = libc::MOUNT_ATTR_NOEXEC;

/// How much of the memory all scratch folders together can fill, and with how many files: each takes about a kilobyte that
/// is not in the size.
const SCRATCH_SIZE: &str = "25%";
const SCRATCH_FILES: &str = "500000";

/// What only the user id 0 may read, and which therefore protects nothing against a root without capabilities.
const ROOTS_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/doas.conf",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/ipsec.secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/mysql/debian.cnf",
    "/etc/docker/key.json",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/firmware",
    "/sys/fs/pstore",
];

/// What the places alone do not say.
pub(super) struct Surroundings<'a> {
    pub(super) limits: &'a Limits,
    /// Whether to the kernel we are an ordinary user.
    pub(super) own_user_namespace: bool,
    /// That of the caller.
    pub(super) terminal: Option<&'a Path>,
}

/// Makes the root and enters it.
pub(super) fn build(places: &Places, surroundings: &Surroundings<'_>) -> Step<()> {
    // Nothing that is mounted here may reach the host, and nothing of the host appears here later.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(support::no_namespaces)?;
    let root = Root::mount()?;
    for (at, place) in places {
        root.put(at, place, surroundings).map_err(|why| Failure::new(at.display().to_string(), why))?;
    }
    for at in places.iter().filter(|(_, place)| **place == Place::Covered).map(|(at, _)| at) {
        root.seal_cover(at).map_err(|why| Failure::new(at.display().to_string(), why))?;
    }
    if rustix::process::geteuid().is_root() {
        root.hide(ROOTS_SECRETS)?;
    }
    root.seal().during("sealing the fresh root")?;
    root.enter().during("entering the fresh root")
}

/// Not at a path of its own: it lies over `/`, where lookups begin beneath it, and is reached by its descriptor. The scratch
/// folders are on it as well, so that they share one size.
pub(super) struct Root {
    fd: OwnedFd,
}

impl Root {
    fn mount() -> Step<Root> {
        let options = [("mode", "0755"), ("size", SCRATCH_SIZE), ("nr_inodes", SCRATCH_FILES)];
        let fd = fresh("tmpfs", &options, NO_SUID | NO_DEV).during("a fresh root")?;
        move_mount(&fd, "", CWD, "/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).during("a fresh root")?;
        Ok(Root { fd })
    }

    fn put(&self, at: &Path, place: &Place, surroundings: &Surroundings<'_>) -> io::Result<()> {
        match place {
            Place::Host { from, write } => {
                let tree = host_tree(from, if *write { 0 } else { READ_ONLY } | NO_SUID | NO_DEV)?;
                self.attach(&tree, at)
            }
            Place::Overlay(overlay) => {
                let mounted = mount_overlay(overlay, surroundings.own_user_namespace);
                match mounted.and_then(|tree| self.attach(&tree, at)) {
                    Err(error) if overlay.or_read_only => {
                        say(format_args!("{} is read-only: no overlay: {error}", at.display()));
                        self.attach(&host_tree(&overlay.lower, READ_ONLY | NO_SUID | NO_DEV)?, at)
                    }
                    Err(error) => {
                        say(format_args!("{} is left out: no overlay: {error}", at.display()));
                        Ok(())
                    }
                    Ok(()) => Ok(()),
                }
            }
            Place::Link(to) => {
                let (parent, name) = self.parent(at)?;
                match rustix::fs::symlinkat(to, &parent, name) {
                    Ok(()) | Err(Errno::EXIST) => Ok(()),
                    Err(errno) => Err(errno.into()),
                }
            }
            Place::Scratch { mode } => self.put_scratch(at, *mode),
            Place::Empty => self.folder(at).map(drop),
            Place::Covered => self.attach(&fresh("tmpfs", &[("mode", "0755"), ("size", "64k")], NO_SUID | NO_DEV)?, at),
            Place::Devices => dev::put(self, at, surroundings.terminal),
            Place::Processes => self.put_processes(at, surroundings.limits),
        }
    }

    /// A mount of its own, which stays writable when the root is sealed. Where the host has something at this place, or
    /// around it, the folder is not ours to give away, and is covered by a fresh one.
    fn put_scratch(&self, at: &Path, mode: u32) -> io::Result<()> {
        let folder = self.folder(at)?;
        if rustix::fs::fstat(&folder)?.st_dev != rustix::fs::fstat(&self.fd)?.st_dev {
            let options = [("mode", &*format!("{mode:o}")), ("size", SCRATCH_SIZE), ("nr_inodes", SCRATCH_FILES)];
            return self.attach(&fresh("tmpfs", &options, NO_SUID | NO_DEV)?, at);
        }
        let (parent, name) = self.parent(at)?;
        rustix::fs::chmodat(&parent, name, Mode::from(mode), AtFlags::empty())?;
        Ok(move_mount(&open_tree(&folder, "", COPY)?, "", &folder, "", onto_descriptor())?)
    }

    /// Of the new process namespace, so that only what runs inside is in it. Read-only: among it are the switches of the
    /// whole machine, which are root's without any capability.
    fn put_processes(&self, at: &Path, limits: &Limits) -> io::Result<()> {
        let processes = fresh("proc", &[], NO_SUID | NO_DEV | NO_EXEC).map_err(|error| {
            io::Error::other(format!(
                "{error}: a fresh one cannot be mounted; in a container, its own must not be partly covered \
                 (`--security-opt systempaths=unconfined`)"
            ))
        })?;
        limits::bound_processes(&processes, limits)?;
        sys::set_mount_attributes(processes.as_fd(), READ_ONLY, false)?;
        self.attach(&processes, at)
    }

    /// Covers what is there with something that cannot be read.
    fn hide(&self, secrets: &[&str]) -> Step<()> {
        let cover = || -> io::Result<(OwnedFd, OwnedFd)> {
            rustix::fs::mkdirat(&self.fd, ".hidden", Mode::RUSR | Mode::XUSR)?;
            rustix::fs::mkdirat(&self.fd, ".hidden/folder", Mode::empty())?;
            let create = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            drop(rustix::fs::openat(&self.fd, ".hidden/file", create, Mode::empty())?);
            // The covers are copies of this mount, and as read-only as it is.
            self.seal()?;
            Ok((self.open(Path::new("/.hidden/folder"))?, self.open(Path::new("/.hidden/file"))?))
        };
        let (folder, file) = cover().during("hiding root's secrets")?;
        for secret in secrets {
            let how = OFlags::PATH | OFlags::CLOEXEC;
            // Links are followed, but not out of the fresh root: it is what they lead to that must be hidden.
            let target = match rustix::fs::openat2(&self.fd, *secret, how, Mode::empty(), ResolveFlags::IN_ROOT) {
                Ok(target) => target,
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno).during_with(|| format!("hiding {secret}")),
            };
            let covered = || -> io::Result<()> {
                let cover = if is_folder(&target)? { &folder } else { &file };
                Ok(move_mount(&open_tree(cover, "", COPY)?, "", &target, "", onto_descriptor())?)
            };
            covered().during_with(|| format!("hiding {secret}"))?;
        }
        Ok(())
    }

    /// Nothing more can be put there.
    fn seal(&self) -> io::Result<()> {
        sys::set_mount_attributes(self.fd.as_fd(), READ_ONLY, false)
    }

    /// Once everything that belongs below a cover is in its place.
    fn seal_cover(&self, at: &Path) -> io::Result<()> {
        sys::set_mount_attributes(self.open(at)?.as_fd(), READ_ONLY, false)
    }

    fn enter(self) -> io::Result<()> {
        rustix::process::fchdir(&self.fd)?;
        // The old root then lies over the new one, at the same place, and is taken off.
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    }

    /// Puts a mount at a path, which is made if it is not there.
    pub(super) fn attach(&self, tree: &OwnedFd, at: &Path) -> io::Result<()> {
        let target = if is_folder(tree)? { self.folder(at)? } else { self.file(at)? };
        Ok(move_mount(tree, "", &target, "", onto_descriptor())?)
    }

    /// The folder, made if it is not there.
    pub(super) fn folder(&self, at: &Path) -> io::Result<OwnedFd> {
        match self.open(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // Step by step, so that no link is followed, wherever it may lead.
        let (parent, name) = self.parent(at)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from(0o755)) {
            // In a folder of the host another jail may make the same place at this moment.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(rustix::fs::openat2(&parent, name, PLACE, Mode::empty(), WITHOUT_LINKS)?)
    }

    fn file(&self, at: &Path) -> io::Result<OwnedFd> {
        match self.open(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let (parent, name) = self.parent(at)?;
        let create = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&parent, name, create, Mode::from(0o644)) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(rustix::fs::openat2(&parent, name, PLACE, Mode::empty(), WITHOUT_LINKS)?)
    }

    fn parent<'a>(&self, at: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
        let parent = at.parent().unwrap_or(Path::new("/"));
        let name = at.file_name().ok_or(Errno::INVAL)?;
        Ok((self.folder(parent)?, Path::new(name)))
    }

    fn open(&self, at: &Path) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat2(&self.fd, at, PLACE, Mode::empty(), WITHOUT_LINKS)?)
    }
}

const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const WITHOUT_LINKS: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_SYMLINKS);
const COPY: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_EMPTY_PATH)
    .union(OpenTreeFlags::AT_RECURSIVE);

fn onto_descriptor() -> MoveMountFlags {
    MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH
}

/// A file or folder of the host with all that is mounted in it, as a mount of its own.
pub(super) fn host_tree(path: &Path, attributes: u64) -> io::Result<OwnedFd> {
    clone_tree(host_path(path)?.as_fd(), attributes)
}

fn host_path(path: &Path) -> io::Result<OwnedFd> {
    let how = OFlags::PATH | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

fn clone_tree(what: BorrowedFd<'_>, attributes: u64) -> io::Result<OwnedFd> {
    let tree = open_tree(what, "", COPY)?;
    sys::set_mount_attributes(tree.as_fd(), attributes, true)?;
    Ok(tree)
}

/// A new file system that is not attached anywhere.
pub(super) fn fresh(kind: &str, options: &[(&str, &str)], attributes: u64) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(&context, *name)?;
        } else {
            fsconfig_set_string(&context, *name, *value)?;
        }
    }
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::from_bits_retain(u32::try_from(attributes).map_err(io::Error::other)?);
    Ok(fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn mount_overlay(overlay: &Overlay, own_user_namespace: bool) -> io::Result<OwnedFd> {
    let layers = [host_path(&overlay.lower)?, host_path(&overlay.upper)?, host_path(&overlay.work)?];
    // By descriptor: no character of a path can be taken for a separator of options.
    let [lower, upper, work] = layers.each_ref().map(|layer| format!("/proc/self/fd/{}", layer.as_raw_fd()));
    let mut options = vec![("lowerdir", &*lower), ("upperdir", &*upper), ("workdir", &*work)];
    if own_user_namespace || !support::is_first_user_namespace() {
        // The other attributes, which it would use, belong to the real root.
        options.push(("userxattr", ""));
    }
    fresh("overlay", &options, NO_SUID | NO_DEV)
}

fn is_folder(fd: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Directory)
}
