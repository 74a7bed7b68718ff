//! What crosses flower's doors: requests, views and errors, with their OpenAPI schema. Server and clients share it.

#![forbid(unsafe_code)]

pub mod error;
pub mod request;
pub mod schema;
pub mod view;

/// The version that CLI and daemon compare.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
