//! Reliability: the real program is killed, starved, lied to by its disk and raced against itself; what it has
//! acknowledged must be there afterwards.
//!
//! Short by default; `FLOWER_SOAK=1` runs the full counts. Each test prints its figures.

mod ending;
mod faults;
mod files;
mod full_disk;
mod harness;
mod http;
mod kills;
mod landing;
mod ledger;
mod leftovers;
pub mod namespace;
mod races;
mod restart;
mod tampering;
mod worktrees;
