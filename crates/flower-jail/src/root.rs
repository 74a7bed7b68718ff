//! Builds the root file system of a jail: an empty one with only the planned mounts, which then replaces `/`.

use super::dev;
use super::error::{Context, SetupError, SetupResult, report};
use super::limits;
use super::mount_plan::{Mount, MountPlan};
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

/// The share of memory that all scratch folders together can use. The number of files is limited too: each takes about a
/// kilobyte that does not count towards the size.
const SCRATCH_SIZE: &str = "25%";
const SCRATCH_FILES: &str = "500000";

/// Files that only user id 0 may read. A jail that runs as root could read them even without capabilities.
const ROOT_SECRETS: &[&str] = &[
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

/// What the mount plan does not contain.
pub(super) struct RootConfig<'a> {
    pub(super) limits: &'a Limits,
    pub(super) own_user_namespace: bool,
    /// The caller's terminal.
    pub(super) terminal: Option<&'a Path>,
}

/// Builds the root and enters it.
pub(super) fn build(mount_plan: &MountPlan, config: &RootConfig<'_>) -> SetupResult<()> {
    // Mounts must not propagate between the host and the jail.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(support::namespace_error)?;
    let root = Root::mount()?;
    for (at, mount) in mount_plan {
        root.mount_entry(at, mount, config).map_err(|why| SetupError::new(at.display().to_string(), why))?;
    }
    for at in mount_plan.iter().filter(|(_, mount)| **mount == Mount::Covered).map(|(at, _)| at) {
        root.seal_cover(at).map_err(|why| SetupError::new(at.display().to_string(), why))?;
    }
    if rustix::process::geteuid().is_root() {
        root.hide(ROOT_SECRETS)?;
    }
    root.seal().context("making the root read-only")?;
    root.enter().context("entering the root")
}

/// A tmpfs mounted over `/`. Path lookups start below it, so it is reached by its descriptor only. The scratch folders are on
/// it, so that they share one size limit.
pub(super) struct Root {
    fd: OwnedFd,
}

impl Root {
    fn mount() -> SetupResult<Root> {
        let options = [("mode", "0755"), ("size", SCRATCH_SIZE), ("nr_inodes", SCRATCH_FILES)];
        let fd = new_filesystem("tmpfs", &options, NO_SUID | NO_DEV).context("mounting the root")?;
        move_mount(&fd, "", CWD, "/", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).context("mounting the root")?;
        Ok(Root { fd })
    }

    fn mount_entry(&self, at: &Path, mount: &Mount, config: &RootConfig<'_>) -> io::Result<()> {
        match mount {
            Mount::Host { from, write } => {
                let tree = clone_host_tree(from, if *write { 0 } else { READ_ONLY } | NO_SUID | NO_DEV)?;
                self.attach(&tree, at)
            }
            Mount::Overlay(overlay) => {
                let mounted = mount_overlay(overlay, config.own_user_namespace);
                match mounted.and_then(|tree| self.attach(&tree, at)) {
                    Err(error) if overlay.or_read_only => {
                        report(format_args!("{} is read-only: no overlay: {error}", at.display()));
                        self.attach(&clone_host_tree(&overlay.lower, READ_ONLY | NO_SUID | NO_DEV)?, at)
                    }
                    Err(error) => {
                        report(format_args!("{} is left out: no overlay: {error}", at.display()));
                        Ok(())
                    }
                    Ok(()) => Ok(()),
                }
            }
            Mount::Symlink(to) => {
                let (parent, name) = self.parent(at)?;
                match rustix::fs::symlinkat(to, &parent, name) {
                    Ok(()) | Err(Errno::EXIST) => Ok(()),
                    Err(errno) => Err(errno.into()),
                }
            }
            Mount::Scratch { mode } => self.mount_scratch(at, *mode),
            Mount::Empty => self.folder(at).map(drop),
            Mount::Covered => {
                self.attach(&new_filesystem("tmpfs", &[("mode", "0755"), ("size", "64k")], NO_SUID | NO_DEV)?, at)
            }
            Mount::Dev => dev::mount(self, at, config.terminal),
            Mount::Proc => self.mount_proc(at, config.limits),
        }
    }

    /// Mounts a scratch folder, which stays writable when the root becomes read-only. If the folder is on a mount of the host, a
    /// new tmpfs covers it.
    fn mount_scratch(&self, at: &Path, mode: u32) -> io::Result<()> {
        let folder = self.folder(at)?;
        if rustix::fs::fstat(&folder)?.st_dev != rustix::fs::fstat(&self.fd)?.st_dev {
            let options = [("mode", &*format!("{mode:o}")), ("size", SCRATCH_SIZE), ("nr_inodes", SCRATCH_FILES)];
            return self.attach(&new_filesystem("tmpfs", &options, NO_SUID | NO_DEV)?, at);
        }
        let (parent, name) = self.parent(at)?;
        rustix::fs::chmodat(&parent, name, Mode::from(mode), AtFlags::empty())?;
        Ok(move_mount(&open_tree(&folder, "", COPY)?, "", &folder, "", onto_descriptor())?)
    }

    /// Mounts `/proc` of the new process namespace, which shows only processes of the jail. Read-only, because root can write
    /// settings of the whole machine there without any capability.
    fn mount_proc(&self, at: &Path, limits: &Limits) -> io::Result<()> {
        let processes = new_filesystem("proc", &[], NO_SUID | NO_DEV | NO_EXEC).map_err(|error| {
            io::Error::other(format!(
                "{error}: a new `/proc` cannot be mounted; in a container, its `/proc` must not be partly covered \
                 (`--security-opt systempaths=unconfined`)"
            ))
        })?;
        limits::set_pid_max(&processes, limits)?;
        sys::set_mount_attributes(processes.as_fd(), READ_ONLY, false)?;
        self.attach(&processes, at)
    }

    /// Covers existing secrets with an unreadable file or folder.
    fn hide(&self, secrets: &[&str]) -> SetupResult<()> {
        let cover = || -> io::Result<(OwnedFd, OwnedFd)> {
            rustix::fs::mkdirat(&self.fd, ".hidden", Mode::RUSR | Mode::XUSR)?;
            rustix::fs::mkdirat(&self.fd, ".hidden/folder", Mode::empty())?;
            let create = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            drop(rustix::fs::openat(&self.fd, ".hidden/file", create, Mode::empty())?);
            // The covers are copies of this mount and read-only like it.
            self.seal()?;
            Ok((self.open(Path::new("/.hidden/folder"))?, self.open(Path::new("/.hidden/file"))?))
        };
        let (folder, file) = cover().context("hiding root's secrets")?;
        for secret in secrets {
            let how = OFlags::PATH | OFlags::CLOEXEC;
            // Links are followed within the new root, because their targets must be hidden.
            let target = match rustix::fs::openat2(&self.fd, *secret, how, Mode::empty(), ResolveFlags::IN_ROOT) {
                Ok(target) => target,
                Err(Errno::NOENT | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno).with_context(|| format!("hiding {secret}")),
            };
            let covered = || -> io::Result<()> {
                let cover = if is_folder(&target)? { &folder } else { &file };
                Ok(move_mount(&open_tree(cover, "", COPY)?, "", &target, "", onto_descriptor())?)
            };
            covered().with_context(|| format!("hiding {secret}"))?;
        }
        Ok(())
    }

    /// Makes the root read-only.
    fn seal(&self) -> io::Result<()> {
        sys::set_mount_attributes(self.fd.as_fd(), READ_ONLY, false)
    }

    /// Makes a cover read-only, after all mounts below it.
    fn seal_cover(&self, at: &Path) -> io::Result<()> {
        sys::set_mount_attributes(self.open(at)?.as_fd(), READ_ONLY, false)
    }

    fn enter(self) -> io::Result<()> {
        rustix::process::fchdir(&self.fd)?;
        // This stacks the old root over the new one at the same path, where it is then unmounted.
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)?;
        Ok(rustix::process::chdir("/")?)
    }

    /// Attaches a mount at a path, which is created if it does not exist.
    pub(super) fn attach(&self, tree: &OwnedFd, at: &Path) -> io::Result<()> {
        let target = if is_folder(tree)? { self.folder(at)? } else { self.file(at)? };
        Ok(move_mount(tree, "", &target, "", onto_descriptor())?)
    }

    /// Opens a folder, and creates it if it does not exist.
    pub(super) fn folder(&self, at: &Path) -> io::Result<OwnedFd> {
        match self.open(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        // One component at a time, so that no link is followed.
        let (parent, name) = self.parent(at)?;
        match rustix::fs::mkdirat(&parent, name, Mode::from(0o755)) {
            // In a folder of the host another jail may create the same folder at the same time.
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(rustix::fs::openat2(&parent, name, PATH_ONLY, Mode::empty(), NO_LINKS)?)
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
        Ok(rustix::fs::openat2(&parent, name, PATH_ONLY, Mode::empty(), NO_LINKS)?)
    }

    fn parent<'a>(&self, at: &'a Path) -> io::Result<(OwnedFd, &'a Path)> {
        let parent = at.parent().unwrap_or(Path::new("/"));
        let name = at.file_name().ok_or(Errno::INVAL)?;
        Ok((self.folder(parent)?, Path::new(name)))
    }

    fn open(&self, at: &Path) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat2(&self.fd, at, PATH_ONLY, Mode::empty(), NO_LINKS)?)
    }
}

const PATH_ONLY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NO_LINKS: ResolveFlags = ResolveFlags::IN_ROOT.union(ResolveFlags::NO_SYMLINKS);
const COPY: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_EMPTY_PATH)
    .union(OpenTreeFlags::AT_RECURSIVE);

fn onto_descriptor() -> MoveMountFlags {
    MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH
}

/// Clones a file or folder of the host, with all mounts in it, as a new mount.
pub(super) fn clone_host_tree(path: &Path, attributes: u64) -> io::Result<OwnedFd> {
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

/// Creates a file system that is not attached yet.
pub(super) fn new_filesystem(kind: &str, options: &[(&str, &str)], attributes: u64) -> io::Result<OwnedFd> {
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
    // By descriptor, because a path could contain separators of mount options.
    let [lower, upper, work] = layers.each_ref().map(|layer| format!("/proc/self/fd/{}", layer.as_raw_fd()));
    let mut options = vec![("lowerdir", &*lower), ("upperdir", &*upper), ("workdir", &*work)];
    if own_user_namespace || !support::is_initial_user_namespace() {
        // Only root of the initial user namespace may use the default attributes (`trusted.overlay`).
        options.push(("userxattr", ""));
    }
    new_filesystem("overlay", &options, NO_SUID | NO_DEV)
}

fn is_folder(fd: &OwnedFd) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) == FileType::Directory)
}
