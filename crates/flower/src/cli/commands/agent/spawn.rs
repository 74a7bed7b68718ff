//! `flower agent spawn`

use crate::cli::Context;
use crate::cli::agent::{give_keys, page};
use flower_contract::error::Problem;
use flower_contract::request::SpawnAgent;
use flower_contract::view::AgentView;
use flower_core::Role;

/// Start an agent for a brief, or a standing agent in a worktree
#[derive(clap::Args)]
pub(super) struct SpawnArgs {
    /// The profile, from `flower agent profiles`
    profile: String,
    /// The worktree; created if it does not exist
    #[arg(long, value_name = "W")]
    worktree: Option<String>,
    /// The brief
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    brief: Option<u64>,
    /// Keep the agent after its work is done, for further dispatches of the worktree
    #[arg(long)]
    standing: bool,
    /// The rights of the agent: worker, orchestrator or ops
    #[arg(long, value_name = "R", default_value = "worker")]
    role: Role,
    /// The name of the agent; by default that of its profile
    #[arg(long)]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: SpawnArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    give_keys(context, &client).await?;
    let body = SpawnAgent {
        profile: args.profile,
        name: args.name,
        worktree: args.worktree,
        brief: args.brief,
        standing: args.standing,
        role: Some(args.role),
    };
    let agent: AgentView = client.post(&format!("/api/agents?{}", context.project_query()), &body).await?;
    context.answer(&agent, |agent| page(agent, context.style))
}
