//! Drops all privileges that the command must not have.

use super::error::{Context, SetupResult};
use super::sys;
use rustix::io::Errno;
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Closes all descriptors but the standard streams: an open descriptor gives access regardless of mounts and rules. No value in
/// this process may own one at this moment.
pub(super) fn close_descriptors() -> SetupResult<()> {
    sys::close_from(3).context("closing descriptors")
}

/// Drops all capabilities and all ways to gain one.
pub(super) fn drop_capabilities() -> SetupResult<()> {
    let drop_all = || -> rustix::io::Result<()> {
        rustix::thread::clear_ambient_capability_set()?;
        for number in 0..64 {
            match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                Ok(()) => {}
                // The kernel has no further capabilities.
                Err(Errno::INVAL) if number > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, sets)?;
        rustix::thread::set_no_new_privs(true)
    };
    drop_all().context("capabilities")
}

/// Hides the memory of this process from the jail: it still contains the caller's environment.
pub(super) fn hide_memory() -> SetupResult<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).context("hiding memory")
}
