//! flower: keeps MAIN stable while many coding agents change the code at once.
//!
//! Doors ([`cli`], [`api`], [`mcp`]) translate; [`app`] has one file per use case; [`store`] keeps the log; the rules are in
//! `flower-core`. `ARCHITECTURE.md` is the map.

pub mod acp;
pub mod api;
pub mod app;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod error;
pub mod failpoint;
pub mod git;
pub mod home;
pub mod jail;
pub mod lock;
pub mod mcp;
pub mod repository;
pub mod request;
pub mod scripted;
pub mod store;
pub mod terminal;
pub mod view;

/// The version that CLI and daemon compare.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
