//! Landlock rules: a second enforcement of the mount plan by another part of the kernel. They also restrict what mounts cannot:
//! descriptors of files outside, signals and abstract sockets.

use super::error::{SetupError, SetupResult};
use super::mount_plan::{Mount, MountPlan};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::stdio::{stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The newest version that the crate supports; rights that the kernel lacks are left out.
const NEWEST: ABI = ABI::V9;

#[derive(Debug, thiserror::Error)]
enum LandlockError {
    #[error(transparent)]
    Ruleset(#[from] RulesetError),
    #[error("{0}: {1}")]
    Path(String, rustix::io::Errno),
    #[error("the kernel accepted the rules but does not enforce them")]
    NotEnforced,
}

/// Restricts this process and its children. With `scopes`, restricting signals and abstract sockets is required, because no
/// namespace does it.
pub(super) fn apply(mount_plan: &MountPlan, scopes: bool) -> SetupResult<()> {
    restrict(mount_plan, scopes).map_err(|error| SetupError::new("Landlock", error))
}

fn restrict(mount_plan: &MountPlan, scopes: bool) -> Result<(), LandlockError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?;
    if scopes {
        rules = rules.scope(Scope::from_all(ABI::V6))?;
    }
    rules = rules.set_compatibility(CompatLevel::BestEffort).handle_access(AccessFs::from_all(NEWEST))?;
    if !scopes {
        rules = rules.scope(Scope::from_all(ABI::V6))?;
    }
    let mut rules = rules.create()?;
    rules = allow(rules, open(Path::new("/"))?, AccessFs::from_read(ABI::V3))?;
    rules = allow(rules, open(Path::new("/dev"))?, device_rights() | AccessFs::ReadDir)?;
    for (at, mount) in mount_plan {
        rules = match mount {
            Mount::Host { write: true, .. } | Mount::Scratch { .. } => allow(rules, open(at)?, write_rights())?,
            // An overlay that could not be mounted is left out.
            Mount::Overlay(_) => match open(at) {
                Ok(folder) => allow(rules, folder, write_rights())?,
                Err(_) => rules,
            },
            Mount::Host { write: false, .. }
            | Mount::Symlink(_)
            | Mount::Empty
            | Mount::Covered
            | Mount::Dev
            | Mount::Proc => rules,
        };
    }
    rules = allow_streams(rules)?;
    let status = rules.restrict_self()?;
    // `PartiallyEnforced` means that optional rights were left out; missing required rights have failed above.
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(LandlockError::NotEnforced);
    }
    Ok(())
}

/// Allows programs to reopen the standard streams, as writing to `/dev/stdout` does, with the rights that the open stream has.
/// The caller's file or terminal is outside the jail.
fn allow_streams(mut rules: RulesetCreated) -> Result<RulesetCreated, LandlockError> {
    let failed = |errno| LandlockError::Path("standard streams".into(), errno);
    for stream in [stdin(), stdout(), stderr()] {
        let kind = FileType::from_raw_mode(rustix::fs::fstat(stream).map_err(failed)?.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::CharacterDevice) {
            continue;
        }
        let mode = rustix::fs::fcntl_getfl(stream).map_err(failed)? & OFlags::RWMODE;
        let mut rights: BitFlags<AccessFs> = BitFlags::empty();
        if mode != OFlags::WRONLY {
            rights |= AccessFs::ReadFile;
        }
        if mode != OFlags::RDONLY {
            rights |= AccessFs::WriteFile | AccessFs::Truncate;
        }
        if kind == FileType::CharacterDevice {
            rights |= AccessFs::IoctlDev;
        }
        rules = rules.add_rule(PathBeneath::new(stream, rights))?;
    }
    Ok(rules)
}

/// All rights but creating devices and using device files that exist in a writable folder.
fn write_rights() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

fn device_rights() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

fn allow(
    rules: RulesetCreated,
    at: (OwnedFd, bool),
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let (fd, is_folder) = at;
    let rights = if is_folder { rights } else { rights & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(fd.as_fd(), rights))
}

fn open(at: &Path) -> Result<(OwnedFd, bool), LandlockError> {
    let opened = || {
        let how = OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::openat2(CWD, at, how, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Directory;
        Ok((fd, is_folder))
    };
    opened().map_err(|errno| LandlockError::Path(at.display().to_string(), errno))
}
