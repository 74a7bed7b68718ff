//! The terminal of an agent, around a real jail, and the ways to it.

mod attach;
mod daemon;
mod ending;
mod keys;
mod output;
mod world;
