//! `flower agent show`

use crate::cli::Context;
use crate::cli::agent::page;
use flower_contract::error::Problem;
use flower_contract::view::AgentView;

/// Show the state of an agent, the evidence for it, its context and its cost
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let agent: AgentView = context.client().await?.get(&super::address(&args.name, "")).await?;
    context.answer(&agent, |agent| page(agent, context.style))
}
