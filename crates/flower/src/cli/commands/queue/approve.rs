//! `flower queue approve`

use crate::cli::Context;
use crate::cli::landing::{conclude, follow_hint, page};
use crate::cli::wait::WaitArgs;
use flower_contract::error::Problem;
use flower_contract::view::LandingView;

/// Approve a landing that waits for you, with the commands that it adds
///
/// `flower queue show L` shows why it waits. It must still pass all checks, including checks of MAIN that it removes or
/// changes.
#[derive(clap::Args)]
pub(super) struct ApproveArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    number: u64,
    /// Do not run checks that the landing removes from flower.toml or changes
    #[arg(long)]
    waive_checks: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

pub(super) async fn run(context: &Context, args: &ApproveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/landings/{}/approve?waive={}", args.number, args.waive_checks);
    let landing: LandingView = client.post(&address, &()).await?;
    if args.wait.is_wanted() {
        return conclude(context, &args.wait.until_settled(context, &client, landing.id).await?);
    }
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
