//! `flower brief trace`

use crate::cli::Context;
use crate::cli::commands::trace::{WindowArgs, show};
use flower_contract::error::Problem;

/// Show all events of a brief, newest last
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    #[command(flatten)]
    window: WindowArgs,
}

pub(super) async fn run(context: &Context, args: &TraceArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    show(context, &client, Some(args.number), &args.window).await
}
