//! `flower agent refresh`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::view::AgentView;

/// Replace an agent by a fresh session with the same name, worktree and claim, after a hand-over note
#[derive(clap::Args)]
pub(super) struct RefreshArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &RefreshArgs) -> Result<(), Problem> {
    let agent: AgentView = context.client().await?.post(&super::address(&args.name, "/refresh"), &()).await?;
    context.answer(&agent, |agent| {
        let name = plain(&agent.name);
        format!("{name} writes a hand-over note; see `flower agent log {name} --follow`\n")
    })
}
