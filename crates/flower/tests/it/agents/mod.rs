//! Agents that flower starts, watches and retires: a real daemon, real git, a real jail, and scripted agents in it.
//!
//! Short by default; `FLOWER_SOAK=1` runs the full counts. Each of those prints its figures.

mod confined;
mod kills;
mod life;
mod oddities;
pub mod stage;
mod stats;
mod supervision;
