//! The terminal of an agent, around a real jail, without a daemon.

mod attach;
#[path = "../common/mod.rs"]
mod common;
mod daemon;
mod ending;
mod keys;
mod output;
mod world;
