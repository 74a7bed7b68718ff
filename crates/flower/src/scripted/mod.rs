//! An agent for tests and the demo: speaks ACP, and executes the scripts in the spec of its brief.

mod agent;
mod command;
mod memory;
mod play;
mod script;
mod step;
mod tools;
mod wire;

pub use agent::{Options, run};
