//! A scripted agent: speaks ACP and plays what the spec of its brief says, for tests and the demo.

mod agent;
mod command;
mod memory;
mod play;
mod script;
mod step;
mod tools;
mod wire;

pub use agent::{Options, run};
