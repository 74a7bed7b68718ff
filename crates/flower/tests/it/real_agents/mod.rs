//! Real agents against a scripted model, inside flower's jail. `cargo xtask test --real-agents` runs them; without it only
//! the model is tested.

mod acp;
pub mod agent;
mod by_hand;
mod claude;
mod codex;
mod figures;
mod gemini;
mod model;
mod opencode;
mod qwen;
mod terminal;
mod wire;
