//! flower's rules, and nothing else: what may happen, and what follows from it.
//!
//! [`decide`] takes the [`World`] as it is and a [`Command`], and answers with the events that should be recorded or with
//! the [`Refusal`]. [`World::apply`] takes an event and moves the world on. There is no file, clock, network, database or
//! randomness in this crate: time and ids come in from outside.

#![forbid(unsafe_code)]

pub mod actor;
pub mod agent;
pub mod boot_time;
pub mod brief;
pub mod chain;
pub mod command;
pub mod description;
pub mod dispatch;
pub mod event;
pub mod landing;
pub mod lease;
pub mod link;
pub mod main_branch;
pub mod message;
pub mod pattern;
pub mod permission;
pub mod policy;
pub mod project;
pub mod queue;
pub mod readiness;
pub mod recall;
pub mod refusal;
pub mod review;
pub mod scratchpad;
pub mod text;
pub mod token;
mod word;
pub mod worktree;
pub mod world;

pub use actor::{Actor, ActorType, Binding, Caller, Door, Role};
pub use agent::Agent;
pub use boot_time::{BootTime, Heartbeat};
pub use brief::{Brief, BriefKind, Participant, Status};
pub use command::Command;
pub use description::{Description, News, Topic};
pub use dispatch::Dispatch;
pub use event::{Draft, Event, Recorded, Stream};
pub use landing::Landing;
pub use lease::Lease;
pub use link::LinkKind;
pub use main_branch::Main;
pub use pattern::Pattern;
pub use permission::Permission;
pub use refusal::{Refusal, RefusalKind};
pub use worktree::Worktree;
pub use world::{World, decide};
