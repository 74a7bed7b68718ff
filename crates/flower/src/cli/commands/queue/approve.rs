//! `flower queue approve`

use crate::cli::Context;
use crate::cli::landing::{follow_hint, page};
use flower_contract::error::Problem;
use flower_contract::view::LandingView;

/// Let a landing in that waits for you, with the commands that it brings along
///
/// `flower queue show L` says why it waits. It still has to pass the checks, and those of MAIN that it removes or changes.
#[derive(clap::Args)]
pub(super) struct ApproveArgs {
    /// The landing
    #[arg(value_name = "L")]
    number: u64,
    /// Let it in without the checks of MAIN that it removes or changes in flower.toml
    #[arg(long)]
    waive_checks: bool,
}

pub(super) async fn run(context: &Context, args: &ApproveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/landings/{}/approve?waive={}", args.number, args.waive_checks);
    let landing: LandingView = client.post(&address, &()).await?;
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
