//! `flower dispatch cancel`

use crate::cli::Context;
use crate::cli::dispatch::page;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::DispatchView;

/// Cancel a dispatch; the agent that works on it is told
#[derive(clap::Args)]
pub(super) struct CancelArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", value_parser = crate::cli::input::number)]
    number: u64,
    /// The reason, for the trace
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: CancelArgs) -> Result<(), Problem> {
    let path = format!("/api/dispatches/{}/cancel", args.number);
    let dispatch: DispatchView = context.client().await?.post(&path, &Why { why: args.why }).await?;
    context.answer(&dispatch, |dispatch| page(dispatch, context.style))
}
