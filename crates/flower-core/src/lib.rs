//! flower's rules, and nothing else: they decide which commands are allowed and which events follow from them.
//!
//! [`decide`] takes the current [`World`] and a [`Command`], and returns the events to record or the [`Refusal`].
//! [`World::apply`] applies a recorded event to the world. This crate uses no file, clock, network, database or
//! randomness: time and ids are arguments.

#![forbid(unsafe_code)]

pub mod actor;
pub mod agent;
pub mod aggregate;
pub mod attention;
pub mod boot_time;
pub mod brief;
pub mod chain;
pub mod command;
pub mod description;
pub mod dispatch;
pub mod event;
pub mod ids;
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
pub mod scorecard;
pub mod scratchpad;
pub mod text;
pub mod token;
mod word;
pub mod worktree;
pub mod world;

pub use actor::{Actor, ActorType, Binding, Caller, Door, Role};
pub use agent::Agent;
pub use aggregate::{Aggregate, Context};
pub use boot_time::{BootTime, Heartbeat};
pub use brief::{Brief, BriefKind, Participant, SpecOrigin, Status};
pub use command::Command;
pub use description::{Description, News, Topic};
pub use dispatch::Dispatch;
pub use event::{Draft, Event, Recorded, Stream};
pub use ids::{
    AgentId, BriefId, DispatchId, Fence, LandingId, LeaseId, MessageId, PermissionId, ScratchpadId, WorktreeId,
};
pub use landing::Landing;
pub use lease::Lease;
pub use link::LinkKind;
pub use main_branch::Main;
pub use pattern::Pattern;
pub use permission::Permission;
pub use refusal::{Refusal, RefusalKind};
pub use worktree::Worktree;
pub use world::{World, decide};
