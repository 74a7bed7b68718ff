//! The `flower` program: keeps MAIN stable while many coding agents change the code at once.
//!
//! Doors ([`cli`], [`http`], [`mcp`]) translate; the services are in `flower-engine`, the rules in `flower-core`.
//! `ARCHITECTURE.md` is the map.

#![forbid(unsafe_code)]

mod cli;
mod client;
mod daemon;
#[cfg(test)]
mod generated;
mod http;
mod mcp;
mod scripted;

fn main() -> std::process::ExitCode {
    cli::main()
}
