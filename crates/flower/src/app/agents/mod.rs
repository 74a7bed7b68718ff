//! Agents that flower starts, watches and retires.

pub mod credentials;
mod folder;
pub mod keys;
mod known;
pub mod mask;
mod node;
pub mod profiles;
pub mod program;
mod raw;
