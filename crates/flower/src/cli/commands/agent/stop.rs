//! `flower agent stop`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::AgentView;

/// Stop an agent and all its processes; its dispatch can be claimed again
#[derive(clap::Args)]
pub(super) struct StopArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// The reason, for the trace
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: StopArgs) -> Result<(), Problem> {
    let body = Why { why: args.why };
    let agent: AgentView = context.client().await?.post(&super::address(&args.name, "/stop"), &body).await?;
    context.answer(&agent, |agent| format!("{} is stopped\n", plain(&agent.name)))
}
