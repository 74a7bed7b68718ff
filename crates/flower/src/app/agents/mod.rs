//! Agents that flower starts, watches and retires.

pub mod credentials;
pub mod keys;
pub mod mask;
pub mod profiles;
pub mod program;
mod raw;
