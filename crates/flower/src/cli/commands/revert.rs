//! `flower revert`

use crate::cli::landing::{conclude, follow_hint, page};
use crate::cli::{Context, wait};
use crate::error::Problem;
use crate::view::LandingView;

/// Take back what a landing brought, by a landing of its own
///
/// The reverse of it goes through the queue and the checks like everything else, before what waits there.
#[derive(clap::Args)]
pub(crate) struct RevertArgs {
    /// The landing
    #[arg(value_name = "L")]
    number: u64,
    /// Stay until it has landed, or will not
    #[arg(long)]
    wait: bool,
}

pub(crate) async fn run(context: &Context, args: &RevertArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let landing: LandingView = client.post(&format!("/api/landings/{}/revert", args.number), &()).await?;
    if args.wait {
        return conclude(context, &wait::until_settled(context, &client, landing.id).await?);
    }
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
