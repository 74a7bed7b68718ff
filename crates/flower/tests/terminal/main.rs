//! The terminal of an agent, around a real jail, and the ways to it.

mod attach;
#[path = "../common/mod.rs"]
mod common;
mod daemon;
mod ending;
mod http;
mod keys;
mod output;
mod world;
