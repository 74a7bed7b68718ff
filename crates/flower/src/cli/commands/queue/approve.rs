//! `flower queue approve`

use crate::cli::Context;
use crate::cli::landing::{follow_hint, page};
use crate::error::Problem;
use crate::view::LandingView;

/// Let a landing in that waits for you, with the commands that it brings along
///
/// `flower queue show L` says why it waits. It still has to pass the checks.
#[derive(clap::Args)]
pub(super) struct ApproveArgs {
    /// The landing
    #[arg(value_name = "L")]
    number: u64,
}

pub(super) async fn run(context: &Context, args: &ApproveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let landing: LandingView = client.post(&format!("/api/landings/{}/approve", args.number), &()).await?;
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
