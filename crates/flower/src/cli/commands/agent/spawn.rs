//! `flower agent spawn`

use crate::cli::Context;
use crate::cli::agent::{give_keys, page};
use flower_contract::error::Problem;
use flower_contract::request::SpawnAgent;
use flower_contract::view::AgentView;
use flower_core::Role;

/// Start an agent: for a brief, or to stay in a worktree
#[derive(clap::Args)]
pub(super) struct SpawnArgs {
    /// See `flower agent profiles`
    profile: String,
    /// Where it works; made if it is not there
    #[arg(long, value_name = "W")]
    worktree: Option<String>,
    /// What it works on
    #[arg(long, value_name = "N")]
    brief: Option<u64>,
    /// It stays when its work is done, and gets further dispatches of that worktree
    #[arg(long)]
    standing: bool,
    /// What it may do: worker, orchestrator or ops
    #[arg(long, value_name = "R", default_value = "worker")]
    role: Role,
    /// Otherwise it is named after its profile
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
