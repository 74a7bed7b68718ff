//! `flower freeze`

use super::main::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::MainView;

/// Stop all landings on MAIN until `flower thaw`
///
/// Landings stay in the queue. A landing whose checks are running returns to the queue and does not move MAIN.
#[derive(clap::Args)]
pub(crate) struct FreezeArgs {
    /// The reason, shown with each waiting landing
    why: Option<String>,
}

pub(crate) async fn run(context: &Context, args: FreezeArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/main/freeze?{}", context.project_query());
    let main: MainView = client.post(&address, &Why { why: args.why }).await?;
    context.answer(&main, |m| page(m, context.style))
}
