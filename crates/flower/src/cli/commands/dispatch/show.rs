//! `flower dispatch show`

use crate::cli::Context;
use crate::cli::dispatch::page;
use flower_contract::error::Problem;
use flower_contract::view::DispatchView;

/// Show a dispatch: its state, its holder, and why it waits
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", value_parser = crate::cli::input::number)]
    number: u64,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let dispatch: DispatchView = context.client().await?.get(&format!("/api/dispatches/{}", args.number)).await?;
    context.answer(&dispatch, |dispatch| page(dispatch, context.style))
}
