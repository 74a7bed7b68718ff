//! Giving up whatever would make the inside more than an ordinary program.

use super::failure::{During, Step};
use super::sys;
use rustix::io::Errno;
use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// No descriptor of the caller but the three streams: an open one keeps its rights, wherever it leads. Nothing in this
/// process may own one at this moment.
pub(super) fn close_descriptors() -> Step<()> {
    sys::close_from(3).during("closing descriptors")
}

/// No capability, and no way to get one.
pub(super) fn drop_capabilities() -> Step<()> {
    let drop_all = || -> rustix::io::Result<()> {
        rustix::thread::clear_ambient_capability_set()?;
        for number in 0..64 {
            match rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                Ok(()) => {}
                // The kernel knows no more of them.
                Err(Errno::INVAL) if number > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        let none = CapabilitySet::empty();
        let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
        rustix::thread::set_capabilities(None, sets)?;
        rustix::thread::set_no_new_privs(true)
    };
    drop_all().during("capabilities")
}

/// The memory of this process still has the environment of the caller: nobody inside may look into it.
pub(super) fn hide_memory() -> Step<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).during("hiding memory")
}
