//! The `flower` program: keeps MAIN stable while many coding agents change the code at once.
//!
//! [`cli`], [`http`] and [`mcp`] translate requests; the services are in `flower-engine`, the rules in `flower-core`.
//! `ARCHITECTURE.md` describes where to find what.

#![forbid(unsafe_code)]

mod cli;
mod client;
mod daemon;
mod demo;
#[cfg(test)]
mod generated;
mod http;
mod mcp;
mod scripted;

fn main() -> std::process::ExitCode {
    cli::main()
}
