//! Landlock: once more, and in the kernel's other way, what the mounts already say. It also covers what no mount does:
//! descriptors that lead outside, TCP ports, signals and abstract sockets.

use super::failure::{Failure, Step};
use super::places::{Place, Places};
use super::spec::{Network, Spec};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::stdio::{stderr, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The newest version that the crate knows; what this kernel lacks of it is left out.
const NEWEST: ABI = ABI::V9;
/// DNS over TCP, and the web.
const WEB_PORTS: &[u16] = &[53, 80, 443];

#[derive(Debug, thiserror::Error)]
enum Unruly {
    #[error(transparent)]
    Ruleset(#[from] RulesetError),
    #[error("{0}: {1}")]
    Path(String, rustix::io::Errno),
    #[error("the kernel took the rules but enforces none")]
    NotEnforced,
}

/// From here on this process and its children are bound. `scopes` says whether signals and abstract sockets must be
/// covered here, because no namespace does it.
pub(super) fn apply(spec: &Spec, places: &Places, scopes: bool) -> Step<()> {
    restrict(spec, places, scopes).map_err(|error| Failure::new("Landlock", error))
}

fn restrict(spec: &Spec, places: &Places, scopes: bool) -> Result<(), Unruly> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))?;
    if spec.network == Network::Web {
        rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
    }
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
    for (at, place) in places {
        rules = match place {
            Place::Host { write: true, .. } | Place::Scratch { .. } => allow(rules, open(at)?, write_rights())?,
            // It may have been left out.
            Place::Overlay(_) => match open(at) {
                Ok(folder) => allow(rules, folder, write_rights())?,
                Err(_) => rules,
            },
            Place::Host { write: false, .. }
            | Place::Link(_)
            | Place::Empty
            | Place::Covered
            | Place::Devices
            | Place::Processes => rules,
        };
    }
    rules = allow_streams(rules)?;
    if spec.network == Network::Web {
        for port in WEB_PORTS.iter().chain(&spec.connect) {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
        for port in &spec.listen {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp))?;
        }
    }
    let status = rules.restrict_self()?;
    // Partly is what it says when something newer was left out; what is required has failed above.
    if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
        return Err(Unruly::NotEnforced);
    }
    Ok(())
}

/// Whoever writes to `/dev/stdout` opens the caller's file or terminal once more, which lies outside. It gets the rights
/// that the open stream has.
fn allow_streams(mut rules: RulesetCreated) -> Result<RulesetCreated, Unruly> {
    let failed = |errno| Unruly::Path("standard streams".into(), errno);
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

/// No device can be made, and none that lies around be talked to.
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

fn open(at: &Path) -> Result<(OwnedFd, bool), Unruly> {
    let opened = || {
        let how = OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::openat2(CWD, at, how, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let is_folder = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) == FileType::Directory;
        Ok((fd, is_folder))
    };
    opened().map_err(|errno| Unruly::Path(at.display().to_string(), errno))
}
