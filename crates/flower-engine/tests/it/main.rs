//! The services without a daemon: a home, a store and a repository in a temporary directory, and no door.

mod briefs;
mod harness;
mod main_branch;
mod registration;
