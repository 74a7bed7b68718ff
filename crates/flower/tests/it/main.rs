//! The whole program, from outside: real daemons, real git, real jails.

mod agent_bounds;
mod agent_load;
mod agents;
mod architecture;
mod cli_pages;
mod commands;
mod common;
mod dispatch;
mod jail;
mod landing;
mod live;
mod mcp;
mod real_agents;
mod real_repositories;
mod reliability;
mod repositories;
mod scripted;
mod security;
mod terminal;
mod worktrees;
