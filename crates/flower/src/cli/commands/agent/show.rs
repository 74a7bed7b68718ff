//! `flower agent show`

use crate::cli::Context;
use crate::cli::agent::page;
use flower_contract::error::Problem;
use flower_contract::view::AgentView;

/// What it does, how that is known, how full its context is, and what it has cost
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let agent: AgentView = context.client().await?.get(&super::address(&args.name, "")).await?;
    context.answer(&agent, |agent| page(agent, context.style))
}
