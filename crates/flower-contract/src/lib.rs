//! Requests, views and errors of the API with their OpenAPI schema. Server and clients share them.

#![forbid(unsafe_code)]

pub mod error;
pub mod request;
pub mod schema;
pub mod view;
mod word;

/// Command line and daemon must have the same version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
