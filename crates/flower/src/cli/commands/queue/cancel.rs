//! `flower queue cancel`

use crate::cli::Context;
use crate::cli::landing::page;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::LandingView;

/// Remove a landing from the queue; its worktree is not changed
#[derive(clap::Args)]
pub(super) struct CancelArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    number: u64,
    /// The reason, shown with the landing
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: CancelArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/landings/{}/cancel", args.number);
    let landing: LandingView = client.post(&address, &Why { why: args.why }).await?;
    context.answer(&landing, |l| page(l, context.style))
}
