//! The MCP door as agents meet it: both eras of the protocol, over HTTP and over standard input and output, against a
//! real daemon.

#[path = "../common/mod.rs"]
mod common;
mod tools;
