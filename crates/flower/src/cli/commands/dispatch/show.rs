//! `flower dispatch show`

use crate::cli::Context;
use crate::cli::dispatch::page;
use flower_contract::error::Problem;
use flower_contract::view::DispatchView;

/// One dispatch: where it stands, who holds it, and why it waits
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The dispatch
    #[arg(value_name = "D")]
    number: u64,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let dispatch: DispatchView = context.client().await?.get(&format!("/api/dispatches/{}", args.number)).await?;
    context.answer(&dispatch, |dispatch| page(dispatch, context.style))
}
